"""Model names -> classes, imported only when asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from labelwood.errors import ParamError, unknown_name

if TYPE_CHECKING:
    from labelwood.models.base import Model

# registry name -> (module, class)
_MODELS = {
    "popular": ("labelwood.models.popular", "Popular"),
    "one-vs-all": ("labelwood.models.linear.one_vs_all", "OneVsAll"),
    "linear-tree": ("labelwood.models.linear.linear_tree", "LinearTree"),
    "hsoftmax": ("labelwood.models.hsoftmax", "HSoftmax"),
    "elias": ("labelwood.models.neural.elias.model", "ELIAS"),
    "neuralxc": ("labelwood.models.neural.neuralxc", "NeuralXC"),
    "hierarchicalxc": ("labelwood.models.hierarchicalxc", "HierarchicalXC"),
    "glas": ("labelwood.models.neural.glas", "GLaS"),
    "dxml": ("labelwood.models.neural.dxml", "DXML"),
    "random": ("labelwood.models.baselines.random_labels", "Random"),
    "knn": ("labelwood.models.baselines.knn", "KNN"),
    "leml": ("labelwood.models.baselines.leml", "LEML"),
    "fastxml": ("labelwood.models.baselines.fastxml", "FastXML"),
    "fasttext": ("labelwood.models.baselines.fasttext", "FastText"),
    "ensemble": ("labelwood.models.ensemble.model", "Ensemble"),
}


AUTO = "auto"
# One-vs-all is the most accurate linear model, and its cost is labels times non-zeros: this much takes about a minute
# on two cores (EURLEX57K: 4,271 labels times 8.8 million non-zeros, 99 CPU seconds). Above it the tree is chosen.
ONE_VS_ALL_WORK = 4e10


def recommended_model(n_labels: int, n_nonzeros: int) -> str:
    """The model that "auto" stands for: one-vs-all as long as it trains in about a minute, else the linear tree."""
    return "one-vs-all" if n_labels * n_nonzeros <= ONE_VS_ALL_WORK else "linear-tree"


def model_names() -> list[str]:
    """The names of all models, as `--model` and Tagger(model=...) take them."""
    return list(_MODELS)


def model_homes() -> dict[str, str]:
    """The modules of all models by class name: what `labelwood` shows under the names of the classes."""
    return {cls: module for module, cls in _MODELS.values()}


def model_class(name: str) -> type[Model[Any, Any]]:
    """The class of a model name; ParamError lists the known names."""
    if isinstance(name, type):
        raise ParamError(f"a model is given by its name or as an object: write {name.__name__}() for {name.__name__}")
    if name not in _MODELS:
        raise ParamError(unknown_name("model", name, _MODELS))
    module, cls = _MODELS[name]
    kind: type[Model[Any, Any]] = getattr(importlib.import_module(module), cls)
    return kind
