"""Which words a tagger learns from: plain, stems, dictionary forms or runs of letters, as held-out rows prefer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scipy import sparse

from labelwood.features.languages import AUTO, checked_codes, language_name, languages_of
from labelwood.features.stems import has_lemmas
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.metrics.evaluate import evaluate
from labelwood.models.base import SCORED_AT
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.tagger.trial_rows import FEWEST_HELD_OUT, TRIAL_ROWS, Rows, trial_rows

PLAIN, STEMS, LEMMAS, LETTERS = "plain words", "stems", "dictionary forms", "runs of letters"
# Points of nDCG@5 that a kind of words must gain. Below 0.2 it is noise, and plain words are simpler to explain; runs
# of letters, which find the parts of compound words, train longer, take more room and explain worse.
SMALLEST_GAIN = {PLAIN: 0.0, STEMS: 0.2, LEMMAS: 0.2, LETTERS: 1.0}
RUNS = {"analyzer": "char_wb", "ngram_range": (3, 5)}
# Longer texts have enough words, and so many runs of letters that even the trial would take long.
LONGEST_FOR_LETTERS = 300


def chosen_words(
    texts: Sequence[str],
    y: sparse.csr_matrix,
    features: Mapping[str, Any],
    lang: str,
    seed: int,
    *,
    letters: bool = True,
    groups: Rows | None = None,
) -> tuple[dict[str, Any], str]:
    """(the features with the words chosen, one line that says which and why) for a language code or "auto".

    letters: whether runs of letters may be chosen in place of words. groups: of each text; those of one are on one side
    of the trial.
    """
    if lang != AUTO:
        codes = checked_codes(lang, "lang")
        kind = LEMMAS if features.get("lemmas") else STEMS
        return {**features, "stems": "+".join(codes)}, f"{kind} of {_named(codes)}"
    codes = languages_of(texts)
    if not codes:
        return {**features, "stems": None, "lemmas": False}, f"{PLAIN}: no language that is known here shows"
    with_stems = {**features, "stems": "+".join(codes)}
    rows = trial_rows(len(texts), seed, groups=groups)
    if len(rows[1]) < FEWEST_HELD_OUT:  # stems without a trial, for few texts show few forms
        return with_stems, f"{STEMS} of {_named(codes)}: detected; too few rows to try plain words beside them"
    kinds = {PLAIN: {**features, "stems": None, "lemmas": False}, STEMS: {**with_stems, "lemmas": False}}
    if has_lemmas():
        kinds[LEMMAS] = {**with_stems, "lemmas": True}
    if letters and _suits_letters(features, texts):
        kinds[LETTERS] = {**kinds[PLAIN], **RUNS}
    scores = {kind: _score(texts, y, values, rows, seed) for kind, values in kinds.items()}
    best = max(scores, key=lambda kind: scores[kind] - SMALLEST_GAIN[kind])
    figures = ", ".join(f"{kind} {score:.1f}" for kind, score in scores.items())
    return kinds[best], f"{best} of {_named(codes)}: nDCG@{SCORED_AT} on held-out rows: {figures}"


def _suits_letters(features: Mapping[str, Any], texts: Sequence[str]) -> bool:
    """True for short texts, unless a setting asks for words."""
    usual = TfidfVectorizer.Parameters.defaults()
    about_words = ("analyzer", "ngram_range", "stop_words", "min_token_length")
    if any(features.get(name, usual[name]) != usual[name] for name in about_words):
        return False
    some = texts[:: -(-len(texts) // TRIAL_ROWS)]
    return sum(map(len, some)) <= LONGEST_FOR_LETTERS * len(some)


def _named(codes: Sequence[str]) -> str:
    return " and ".join(language_name(code) for code in codes)


def _score(
    texts: Sequence[str],
    y: sparse.csr_matrix,
    features: Mapping[str, Any],
    rows: tuple[Rows, Rows],
    seed: int,
) -> float:
    training, judging = rows
    vectorizer = TfidfVectorizer(**features)
    x = vectorizer.fit_transform([texts[row] for row in training.tolist()])
    tree = LinearTree(C=1.0, seed=seed, n_threads=vectorizer.n_threads).fit(x, y[training])
    top = tree.predict(vectorizer.transform([texts[row] for row in judging.tolist()]), SCORED_AT)
    return evaluate(top, y[judging], ks=(SCORED_AT,))[f"nDCG@{SCORED_AT}"]
