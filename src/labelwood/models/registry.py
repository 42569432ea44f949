"""Model names -> classes, imported only when asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from labelwood.errors import ParamError, unknown_name

if TYPE_CHECKING:
    from labelwood.models.base import Model

# registry name -> (module, class)
_MODELS = {
    "popular": ("labelwood.models.popular", "Popular"),
    "one-vs-all": ("labelwood.models.one_vs_all", "OneVsAll"),
    "linear-tree": ("labelwood.models.linear_tree", "LinearTree"),
}


def model_names() -> list[str]:
    """The names of all models, as `--model` and Tagger(model=...) take them."""
    return list(_MODELS)


def model_class(name: str) -> type[Model]:
    """The class of a model name; ParamError lists the known names."""
    if name not in _MODELS:
        raise ParamError(unknown_name("model", name, _MODELS))
    module, cls = _MODELS[name]
    found: type[Model] = getattr(importlib.import_module(module), cls)
    return found
