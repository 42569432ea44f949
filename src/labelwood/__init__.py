"""labelwood: give an item the few right labels out of hundreds to millions.

Public names are loaded when first used, so that `import labelwood` costs milliseconds and pulls in nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from labelwood.models.registry import model_homes

__version__ = "0.1.0"

# public name -> module that holds it; models come from the registry
_HOMES = model_homes() | {
    "BudgetError": "labelwood.errors",
    "Client": "labelwood.client",
    "DataError": "labelwood.errors",
    "Dataset": "labelwood.data.dataset",
    "Explanation": "labelwood.models.explanation",
    "LabelwoodError": "labelwood.errors",
    "Model": "labelwood.models.base",
    "ModelFileError": "labelwood.errors",
    "NotFittedError": "labelwood.errors",
    "ParamError": "labelwood.errors",
    "Tagger": "labelwood.tagger.tagger",
    "TfidfVectorizer": "labelwood.features.tfidf",
    "TopK": "labelwood.topk",
    "Vocabulary": "labelwood.vocabulary.vocabulary",
    "evaluate": "labelwood.metrics.evaluate",
    "load": "labelwood.loading",
    "read": "labelwood.data.reading.read",
    "read_vocabulary": "labelwood.vocabulary.read",
    "resumable": "labelwood.storage.steps",
    "scorer": "labelwood.metrics.scorer",
    "tune": "labelwood.tuning.tune",
    "write": "labelwood.data.writing.write",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from labelwood.client import Client
    from labelwood.data.dataset import Dataset
    from labelwood.data.reading.read import read
    from labelwood.data.writing.write import write
    from labelwood.errors import BudgetError, DataError, LabelwoodError, ModelFileError, NotFittedError, ParamError
    from labelwood.features.tfidf import TfidfVectorizer
    from labelwood.loading import load
    from labelwood.metrics.evaluate import evaluate
    from labelwood.metrics.scorer import scorer
    from labelwood.models.base import Model
    from labelwood.models.ensemble.model import Ensemble
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
    from labelwood.storage.steps import resumable
    from labelwood.tagger.tagger import Tagger
    from labelwood.topk import TopK
    from labelwood.tuning.tune import tune
    from labelwood.vocabulary.read import read_vocabulary
    from labelwood.vocabulary.vocabulary import Vocabulary


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'labelwood' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
