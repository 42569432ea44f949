"""Which words a tagger learns from: plain ones, stems or dictionary forms, chosen on held-out rows when unsure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.data.keyed_random import keyed_uniform
from labelwood.features.languages import AUTO, checked_codes, language_name, languages_of
from labelwood.features.stems import has_lemmas
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.metrics.evaluate import evaluate
from labelwood.models.base import SCORED_AT
from labelwood.models.linear.linear_tree import LinearTree

# The trial trains a linear tree for each kind of words: seconds, not minutes, on data of any size.
TRIAL_ROWS, HELD_OUT_ROWS = 20_000, 5_000
# Below this many held-out rows chance decides: then stems are taken without a trial, for few texts show few forms.
FEWEST_HELD_OUT = 200
# A gain in points of nDCG@5 below this is noise, and plain words are simpler to explain.
SMALLEST_GAIN = 0.2
PLAIN, STEMS, LEMMAS = "plain words", "stems", "dictionary forms"


def chosen_words(
    texts: Sequence[str],
    y: sparse.csr_matrix,
    features: Mapping[str, Any],
    lang: str,
    seed: int,
) -> tuple[dict[str, Any], str]:
    """(the features with the words chosen, one line that says which and why) for a language code or "auto"."""
    if lang != AUTO:
        codes = checked_codes(lang, "lang")
        kind = LEMMAS if features.get("lemmas") else STEMS
        return {**features, "stems": "+".join(codes)}, f"{kind} of {_named(codes)}"
    codes = languages_of(texts)
    if not codes:
        return {**features, "stems": None, "lemmas": False}, f"{PLAIN}: no language that is known here shows"
    with_stems = {**features, "stems": "+".join(codes)}
    held_out = _held_out(len(texts), seed)
    if held_out.sum() < FEWEST_HELD_OUT:
        return with_stems, f"{STEMS} of {_named(codes)}: detected; too few rows to try plain words beside them"
    kinds = {PLAIN: {**features, "stems": None, "lemmas": False}, STEMS: {**with_stems, "lemmas": False}}
    if has_lemmas():
        kinds[LEMMAS] = {**with_stems, "lemmas": True}
    scores = {kind: _score(texts, y, values, held_out, seed) for kind, values in kinds.items()}
    best = max(scores, key=lambda kind: scores[kind] - (0 if kind == PLAIN else SMALLEST_GAIN))
    figures = ", ".join(f"{kind} {score:.1f}" for kind, score in scores.items())
    return kinds[best], f"{best} of {_named(codes)}: nDCG@{SCORED_AT} on held-out rows: {figures}"


def _named(codes: Sequence[str]) -> str:
    return " and ".join(language_name(code) for code in codes)


def _held_out(n_rows: int, seed: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The rows that judge: a tenth, at most 5,000, the same for the same seed."""
    share = min(0.1, HELD_OUT_ROWS / n_rows)
    return np.asarray(keyed_uniform(seed, np.arange(n_rows)) < share)


def _score(
    texts: Sequence[str],
    y: sparse.csr_matrix,
    features: Mapping[str, Any],
    held_out: np.ndarray[Any, np.dtype[np.bool_]],
    seed: int,
) -> float:
    training = np.flatnonzero(~held_out)
    training = training[:: -(-len(training) // TRIAL_ROWS)]
    judging = np.flatnonzero(held_out)
    vectorizer = TfidfVectorizer(**features)
    x = vectorizer.fit_transform([texts[row] for row in training.tolist()])
    tree = LinearTree(C=1.0, seed=seed, n_threads=vectorizer.n_threads).fit(x, y[training])
    top = tree.predict(vectorizer.transform([texts[row] for row in judging.tolist()]), SCORED_AT)
    return evaluate(top, y[judging], ks=(SCORED_AT,))[f"nDCG@{SCORED_AT}"]
