"""TaggerSettings: what a tagger is told before it learns, checked, and the untrained parts that this asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.errors import ParamError
from labelwood.features.bag import BagVectorizer
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.models.base import Model
from labelwood.models.registry import AUTO, model_class
from labelwood.params import Params
from labelwood.tagger.fitted import Vectorizers, vectorizer_class
from labelwood.vocabulary.vocabulary import Vocabulary

# Measured on a fifth of the training rows of CookingStackExchange and EURLEX57K (its first 8,000 rows), one-vs-all,
# P@5: leaving out words that occur once -0.5 and +0.2; pairs of words as well -0.3 and -0.2, at six times the training
# time; plain counts in place of their logarithm -0.1 and 0.0. So: single words, all of them, sublinear.
FEATURES_FOR_TAGGING: Mapping[str, Any] = {"sublinear_tf": True}
ONE_VS_ALL, LINEAR_TREE = "one-vs-all", "linear-tree"


@dataclass(frozen=True)
class TaggerSettings:
    """The parameters of a Tagger, as they were given; nothing is checked before `check` or `new_model`."""

    model: str | Model[Any, Any]
    seed: int
    n_threads: int | None
    features: Mapping[str, Any] | None
    model_params: Mapping[str, Any] | None
    assign: str | None
    keep_rows: bool | None
    lang: str | None
    vocabulary: Vocabulary | str | Path | None
    name_rows: bool | None

    def check(self) -> None:
        """ParamError for a wrong name or value, before the texts are worked through."""
        for name in ("keep_rows", "name_rows"):
            if getattr(self, name) not in (None, True, False):
                raise ParamError(f"Tagger: {name} must be True, False or None, but is {getattr(self, name)!r}")
        if self.model != AUTO:
            self.new_model(AUTO)
        else:
            self._check_auto_params()
        kind = self.vectorizer_type
        kind.Parameters.checked(self.feature_values(), kind.__name__)

    def model_values(self) -> dict[str, Any]:
        """The parameters of the model, with its defaults."""
        if isinstance(self.model, Model):
            return self.model.get_params()
        declared = Params if self.model == AUTO else model_class(self.model).Parameters
        return {**declared.defaults(), "seed": self.seed, "n_threads": self.n_threads, **(self.model_params or {})}

    def feature_values(self) -> dict[str, Any]:
        """The parameters of the vectorizer, with the defaults of taggers."""
        kind = self.vectorizer_type
        usual = {} if kind is BagVectorizer else FEATURES_FOR_TAGGING
        return {**kind.Parameters.defaults(), **usual, "n_threads": self.n_threads, **(self.features or {})}

    @property
    def vectorizer_type(self) -> Vectorizers:
        """What makes features of the kind that the model takes."""
        name = self.model.name if isinstance(self.model, Model) else self.model
        return TfidfVectorizer if name == AUTO else vectorizer_class(name)

    def new_model(self, recommended: str) -> Model[Any, Any]:
        """An untrained model with checked settings; recommended: what "auto" stands for."""
        if isinstance(self.model, Model):
            model = type(self.model)(**self.model.get_params())
            if model.n_threads is None:
                model.n_threads = self.n_threads
        else:
            name = recommended if self.model == AUTO else self.model
            given = {"seed": self.seed, "n_threads": self.n_threads, **(self.model_params or {})}
            model = model_class(name)(**given)
        model.Parameters.checked(model.get_params(), type(model).__name__)
        return model

    def _check_auto_params(self) -> None:
        """ParamError for a parameter that one of the models behind "auto" lacks: which it will be is not known yet."""
        for name in (ONE_VS_ALL, LINEAR_TREE):
            known = model_class(name).Parameters.ranges()
            lacking = next((given for given in self.model_params or {} if given not in known), None)
            if lacking is not None:
                either = f"{AUTO!r} may be {ONE_VS_ALL} or {LINEAR_TREE}"
                raise ParamError(f"Tagger: {name} has no parameter {lacking!r}, and {either}: name the model")
