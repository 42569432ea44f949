"""Answers to training rows by models that have not seen them: what calibration learns from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.calibration.rule import Assignment
from labelwood.data.groups import stretches
from labelwood.models.base import Model
from labelwood.models.fit_input import FitInput
from labelwood.models.fitted import Fitted
from labelwood.params import Params
from labelwood.progress import named_progress
from labelwood.topk import TopK, joined

SMALLEST_ROWS = 50  # fewer rows say too little about probabilities
MANY_ROWS = 20_000  # from here on one part of a tenth is enough: at most 0.9 of a fit
MOST_HELD = 20_000
ENOUGH_HELD = 15_000  # answers to a third of them leave an asked precision of 0.9 uncertain by 0.01
ENOUGH_OF_SLOW = 2_500  # of models that train several others inside, so that each part costs seconds
# More where that takes few models: which 2,800 rows are held out moves an asked precision of 0.9 by 0.011 (one standard
# deviation), which 5,600 by 0.007 (CookingStackExchange).
PLENTY, FEW_MODELS = 5_000, 5
# Numbers of x times labels up to which a linear model trains in about a second, so that several parts can be held out.
CHEAP_WORK = 2e8
CHEAP_VALUES = 1e7  # numbers of x up to which a label tree trains in a few seconds
LEAST_PLACES, MOST_PLACES = 20, 100


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Answers to held-out rows: top (n_rows, width), y CSR (n_rows, n_labels), and the number of models trained.

    groups: of each row, if rows of one group were held out together. seen: then, for each answer (n_rows, width), the
    rows of its label that the model learnt from, scaled as if it had learnt from all rows.
    """

    top: TopK
    y: sparse.csr_matrix
    n_models: int
    groups: npt.NDArray[np.int64] | None = None
    seen: npt.NDArray[np.float64] | None = None


def places(y: sparse.csr_matrix, rule: Assignment) -> int:
    """How many answers a row are looked at: twice as many as nearly every row has labels, 20..100."""
    wanted = 2.0 * float(np.quantile(np.diff(y.indptr), 0.99))
    if rule.goal == "recall":
        wanted = MOST_PLACES  # labels far down count as well
    elif rule.goal == "count":
        wanted = max(wanted, 3 * (rule.number or 0))
    return int(min(max(LEAST_PLACES, wanted), MOST_PLACES, y.shape[1]))


def parts_of(
    model: type[Model[Any, Any]], settings: Params, data: FitInput, texts: npt.NDArray[np.bool_] | None = None
) -> list[npt.NDArray[np.int64]]:
    """The rows of each part that is held out in turn; no row is in two parts, nor is a group. texts: as in `held_out`.

    One tenth of many rows, one fifth of fewer. Where training is quick, as many tenths as give ENOUGH_HELD rows, most
    often all; of models that train several others inside ENOUGH_OF_SLOW, or PLENTY if FEW_MODELS give them. Not fifths:
    a model of four fifths of the rows is less sure than that of all, and an asked precision would come out too high.
    """
    asked = np.arange(data.x.shape[0]) if texts is None else np.flatnonzero(texts)
    n_rows = len(asked)
    n_values = float(data.x.nnz) * getattr(settings, "n_trees", 1)
    quick = n_values <= CHEAP_VALUES if model.is_label_tree else n_values * data.n_labels <= CHEAP_WORK
    quick = quick and not model.trains_by_epochs(settings)
    tenths = n_rows >= MANY_ROWS or quick
    n_held = min(max(1, n_rows // (10 if tenths else 5)), MOST_HELD)
    enough = ENOUGH_OF_SLOW if model.trains_several else ENOUGH_HELD
    n_parts = min(10 if tenths else 5, -(-enough // n_held)) if quick else 1
    if quick and model.trains_several:
        n_parts = max(n_parts, min(FEW_MODELS, -(-PLENTY // n_held)))
    if model.trains_several and n_rows >= MANY_ROWS and n_values <= CHEAP_VALUES:
        n_parts = 2  # one tenth leaves more to chance, and here it takes up to half a minute
    order = asked[np.random.default_rng(settings.seed).permutation(n_rows)]
    cheap = model._cheap_to_leave_out(settings, data)
    if cheap is not None:
        # As many of these rows as there are, and in each part the same share.
        order = order[np.argsort(~cheap[order], kind="stable")]
        drawn = np.sort(stretches(order, n_held * n_parts, 1, data.groups)[0])
        order = np.random.default_rng([settings.seed, 1]).permutation(drawn)
    return [np.sort(part) for part in stretches(order, n_held, n_parts, data.groups)]


def held_out(
    model: type[Model[Any, Any]],
    settings: Params,
    data: FitInput,
    width: int,
    like: Fitted[Any] | None = None,
    texts: npt.NDArray[np.bool_] | None = None,
) -> HeldOut:
    """The `width` best answers to the rows of every part, by a model trained on all other rows.

    like: the model of all rows, if it is trained; the others then scale their scores as it does. texts: which rows are
    texts, where others are names of labels, which every model learns from and none is asked; None for all.
    """
    if hasattr(settings, "checkpoint"):
        # That folder is for the model of all rows.
        settings = replace(settings, checkpoint=None)  # type: ignore[call-arg]
    parts = parts_of(model, settings, data, texts)
    told = data.with_progress(named_progress(data.progress, "probabilities"))
    n_rows, answers, seen = data.x.shape[0], [], []
    columns, counts = _stored(data.x), _stored(data.y)
    for held, state in zip(parts, model._train_without(settings, told, parts, like), strict=True):
        rows = _of_known(data.x[held], columns > _stored(data.x[held]))
        said = None if data.texts is None else [data.texts[row] for row in held]
        inputs = state.inputs(rows, said, settings.n_threads)
        answers.append(state.predict(inputs, width, settings.n_threads))
        learnt_from = (counts - _stored(data.y[held])) * (n_rows / (n_rows - len(held)))
        seen.append(learnt_from[answers[-1].labels])
    asked = np.concatenate(parts)
    found = HeldOut(joined(answers), data.y[asked], len(parts))
    return found if data.groups is None else replace(found, groups=data.groups[asked], seen=np.concatenate(seen))


def as_unseen(rows: sparse.csr_matrix, taught: sparse.csr_matrix) -> sparse.csr_matrix:
    """The rows as they would be if they were new: without features that the other rows lack; unit rows stay unit rows.

    A word that only a held-out text has would take its share of the length of the row, as it never does in a new text.
    """
    return _of_known(rows, _stored(taught) > 0)


def _of_known(rows: sparse.csr_matrix, known: npt.NDArray[np.bool_]) -> sparse.csr_matrix:
    """The rows without the features that nobody knows; unit rows stay unit rows."""
    unit = np.allclose(_lengths(rows)[np.diff(rows.indptr) > 0], 1, atol=1e-3)
    kept = rows.multiply(known[None, :]).tocsr().astype(np.float32)
    kept.eliminate_zeros()
    if unit:
        lengths = _lengths(kept)
        kept.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(kept.indptr)).astype(np.float32)
    kept.sort_indices()
    return kept


def _stored(matrix: sparse.csr_matrix) -> npt.NDArray[np.int64]:
    """In how many rows each column is stored."""
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


def _lengths(rows: sparse.csr_matrix) -> npt.NDArray[np.float64]:
    return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel())
