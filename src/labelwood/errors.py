"""Every error that a caller can cause; the CLI and the server translate them, the library knows neither."""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Iterable


class LabelwoodError(Exception):
    """Base of all errors that input, parameters or files can cause."""


class DataError(LabelwoodError, ValueError):
    """Input data is damaged or does not fit: says where, what came and what was allowed."""


class ParamError(LabelwoodError, ValueError):
    """A parameter is unknown or outside its range."""


class NotFittedError(LabelwoodError, ValueError, AttributeError):
    """A model was asked before it was trained; `not_fitted` makes one."""


class ModelFileError(LabelwoodError):
    """A saved model is missing, damaged, or from an incompatible version."""


class BudgetError(LabelwoodError):
    """The work does not fit into the memory that was allowed."""


class MissingExtraError(LabelwoodError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


def not_fitted(what: str, how: str) -> NotFittedError:
    """The error for something that is not trained yet, such as ("Tagger", "call fit, or labelwood.load a saved one").

    If the caller has loaded scikit-learn (it is never loaded here), the error is also one of scikit-learn's own.
    """
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = NotFittedError if theirs is None else _joined(theirs)
    return kind(f"this {what} is not trained yet: {how}")


@functools.cache
def _joined(theirs: type[Exception]) -> type[NotFittedError]:
    """Our error with another library's among its bases; pickled as ours, so that it reaches other processes."""
    return type("NotFittedError", (NotFittedError, theirs), {"__reduce__": lambda self: (NotFittedError, self.args)})


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown name: the nearest known one, then all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {name!r}{hint} (known: {', '.join(names)})"
