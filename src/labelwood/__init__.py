"""labelwood: give an item the few right labels out of hundreds to millions.

Public names are loaded when first used, so that `import labelwood` costs milliseconds and pulls in nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# public name -> module that holds it
_HOMES = {
    "DXML": "models.neural.dxml",
    "BudgetError": "errors",
    "DataError": "errors",
    "Dataset": "data.dataset",
    "ELIAS": "models.neural.elias.model",
    "Ensemble": "models.ensemble",
    "Explanation": "models.explanation",
    "HSoftmax": "models.hsoftmax",
    "HierarchicalXC": "models.hierarchicalxc",
    "GLaS": "models.neural.glas",
    "LabelwoodError": "errors",
    "LinearTree": "models.linear.linear_tree",
    "Model": "models.base",
    "ModelFileError": "errors",
    "NeuralXC": "models.neural.neuralxc",
    "NotFittedError": "errors",
    "OneVsAll": "models.linear.one_vs_all",
    "ParamError": "errors",
    "Popular": "models.popular",
    "Tagger": "tagger.tagger",
    "TfidfVectorizer": "features.tfidf",
    "TopK": "topk",
    "evaluate": "metrics.evaluate",
    "load": "loading",
    "read": "data.reading.read",
    "scorer": "metrics.scorer",
    "write": "data.writing.write",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.data.reading.read import read
    from labelwood.data.writing.write import write
    from labelwood.errors import BudgetError, DataError, LabelwoodError, ModelFileError, NotFittedError, ParamError
    from labelwood.features.tfidf import TfidfVectorizer
    from labelwood.loading import load
    from labelwood.metrics.evaluate import evaluate
    from labelwood.metrics.scorer import scorer
    from labelwood.models.base import Model
    from labelwood.models.ensemble import Ensemble
    from labelwood.models.explanation import Explanation
    from labelwood.models.hierarchicalxc import HierarchicalXC
    from labelwood.models.hsoftmax import HSoftmax
    from labelwood.models.linear.linear_tree import LinearTree
    from labelwood.models.linear.one_vs_all import OneVsAll
    from labelwood.models.neural.dxml import DXML
    from labelwood.models.neural.elias.model import ELIAS
    from labelwood.models.neural.glas import GLaS
    from labelwood.models.neural.neuralxc import NeuralXC
    from labelwood.models.popular import Popular
    from labelwood.tagger.tagger import Tagger
    from labelwood.topk import TopK


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'labelwood' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    value = getattr(importlib.import_module(f"labelwood.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
