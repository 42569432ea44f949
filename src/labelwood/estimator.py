"""Estimator: what models, vectorizers and the tagger share: parameters, one fitted state, scikit-learn's manners.

scikit-learn itself is never loaded here: what it asks for is answered when it asks.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from labelwood.errors import not_fitted
from labelwood.params import Declared

E = TypeVar("E", bound="Estimator")


class Estimator:
    """Something that is told its settings by the constructor and learns its fitted state in `fit`.

    The constructor only stores; `fit` validates. What was learnt is one immutable value, taken over in one assignment:
    whatever interrupts a fit, the estimator is as it was before.
    """

    Parameters: ClassVar[type[Declared]]
    # Of the class, so that the constructor sets nothing but parameters.
    _fitted: Any = None

    def __init__(self, **parameters: Any) -> None:
        self.Parameters.check_names(parameters, type(self).__name__)
        for name, default in self.Parameters.defaults().items():
            setattr(self, name, parameters.get(name, default))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared = getattr(cls, "Parameters", None)
        if declared is not None and "__init__" not in vars(cls):
            # help(), editors and notebooks then show the real parameters instead of **parameters.
            cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [
                    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                    for name, default in declared.defaults().items()
                ]
            )

    # parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as given to the constructor."""
        return {name: getattr(self, name) for name in self.Parameters.ranges()}

    def set_params(self: E, **parameters: Any) -> E:
        """The estimator itself with some parameters changed; takes effect at the next fit."""
        self.Parameters.check_names(parameters, type(self).__name__)
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self.Parameters.defaults()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if value is not defaults[name] and not _same(value, defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # the fitted state

    def _state(self) -> Any:
        """The fitted state; NotFittedError before fit."""
        if self._fitted is None:
            raise not_fitted(type(self).__name__, self._how_to_train())
        return self._fitted

    def _how_to_train(self) -> str:
        return "call fit, or labelwood.load a saved one"

    # what scikit-learn and notebooks ask for

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=None,
            input_tags=InputTags(sparse=True),
        )

    def _repr_html_(self) -> str | None:
        """What a notebook shows: scikit-learn's drawing where the caller has loaded it, else the plain repr."""
        shown = getattr(sys.modules.get("sklearn.utils"), "estimator_html_repr", None)
        return None if shown is None else str(shown(self))


def nested(prefix: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a part under the names by which scikit-learn reaches them: "model__C"."""
    return {f"{prefix}__{name}": value for name, value in parameters.items()}


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except ValueError:  # arrays compare element by element
        return False
