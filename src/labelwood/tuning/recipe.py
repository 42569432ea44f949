"""Recipe: everything that is needed to train a tagger or a model, and the settings that a search changes in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labelwood.data.dataset import Dataset
from labelwood.errors import ParamError
from labelwood.models.base import Model
from labelwood.models.registry import AUTO, model_class, recommended_model
from labelwood.progress import SILENT, Progress
from labelwood.tagger.tagger import Tagger
from labelwood.topk import TopK
from labelwood.vocabulary.vocabulary import Vocabulary

# What a search changes, by name: "model", "lang", "features.KEY", "MEMBER.KEY" of an ensemble, or a model's own KEY.
Setting = Mapping[str, Any]
FEATURES = "features."
ENSEMBLE = "ensemble"


def setting_text(setting: Setting) -> str:
    """A setting for people: 'views=none linear-tree.C=2', or 'default'."""
    return " ".join(f"{name}={_shown(value)}" for name, value in sorted(setting.items())) or "default"


def setting_key(setting: Setting) -> str:
    """A setting as one line of JSON: equal settings give equal lines."""
    return json.dumps({name: setting[name] for name in sorted(setting)}, default=list)


def _shown(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


@dataclass(frozen=True)
class Recipe:
    """A model by name with its parameters and, for texts, how they become rows; `trained` follows it.

    seed and n_threads are in params. assign, keep_rows and name_rows: of the Tagger that texts give.
    """

    model: str = AUTO
    params: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    lang: str | None = None
    vocabulary: Vocabulary | None = None
    assign: str | None = None
    keep_rows: bool | None = None
    name_rows: bool | None = None

    def named(self, data: Dataset) -> str:
        """The model that is meant: "auto" depends on the data."""
        if self.model != AUTO:
            return self.model
        if data.x is not None:
            return recommended_model(data.n_labels, data.x.nnz)
        words = sum(len(text.split()) for text in data.texts or ())  # about as many as there will be non-zeros
        return recommended_model(data.n_labels, words)

    def quick(self) -> Recipe:
        """The same without what a trial does not need: learnt probabilities and kept rows."""
        return replace(self, assign=None, keep_rows=False)

    def changed(self, setting: Setting) -> Recipe:
        """The recipe with a setting; parameters of another model do not come along."""
        params, features, lang = dict(self.params), dict(self.features), self.lang
        model = str(setting.get("model", self.model))
        if model != self.model:
            params = {name: params[name] for name in ("seed", "n_threads") if name in params}
        inside = []
        for name, value in sorted(setting.items()):
            if name == "lang":
                lang = value
            elif name.startswith(FEATURES):
                features[name.removeprefix(FEATURES)] = value
            elif "." in name:
                inside.append(f"{name}={value}")
            elif name != "model":
                params[name] = value
        if inside:
            params["settings"] = " ".join([*(params.get("settings") or "").split(), *inside])
        return replace(self, model=model, params=params, features=features, lang=lang)

    def trained(
        self, data: Dataset, *, memory: int | None = None, progress: Progress = SILENT
    ) -> Tagger | Model[Any, Any]:
        """The trained tagger of texts, or the trained model of feature rows."""
        if data.x is None:
            tagger = Tagger(
                self.model,
                features=self.features,
                model_params=self.params,
                assign=self.assign,
                keep_rows=self.keep_rows,
                lang=self.lang,
                vocabulary=self.vocabulary,
                name_rows=self.name_rows,
            )
            return tagger.fit(data, memory=memory, progress=progress)
        if self.features or self.lang is not None or self.vocabulary is not None:
            raise ParamError(f"{data.source}: holds features; features, lang and vocabulary are for texts")
        model: Model[Any, Any] = model_class(self.named(data))(**self.params)
        return model.fit(data, memory=memory, progress=progress)


def answers(trained: Tagger | Model[Any, Any], data: Dataset, k: int) -> TopK:
    """The k best labels of every row, as a tagger or a model gives them."""
    if isinstance(trained, Tagger):
        return trained.predict_top(data.texts or (), k)
    return trained.predict(data, k)
