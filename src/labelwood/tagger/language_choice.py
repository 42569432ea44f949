"""Which words a tagger learns from: plain, stems, dictionary forms, pairs or runs of letters; rows or script decide."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from scipy import sparse

from labelwood.features.languages import AUTO, SYLLABIC, checked_codes, in_syllables, language_name, languages_of
from labelwood.features.stems import has_lemmas
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.metrics.evaluate import evaluate
from labelwood.models.base import SCORED_AT
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.models.linear.one_vs_all import OneVsAll
from labelwood.models.registry import recommended_model
from labelwood.tagger.trial_rows import FEWEST_HELD_OUT, TRIAL_ROWS, Rows, trial_rows

NO_LANGUAGE = "no language that is known here shows"
PLAIN, STEMS, LEMMAS, LETTERS = "plain words", "stems", "dictionary forms", "runs of letters"
# Points of nDCG@5 that a kind of words must gain. Half a point is noise on some thousand rows, and plain words are
# simpler to explain; runs of letters, which find the parts of compound words, train longer, take more room and explain
# worse.
SMALLEST_GAIN = {PLAIN: 0.0, STEMS: 0.5, LEMMAS: 0.5, LETTERS: 1.0}
RUNS = {"analyzer": "char_wb", "ngram_range": (3, 5)}
# Where a letter is a syllable or a word. On a quarter of the training rows of Debian's Japanese and Korean package
# descriptions, nDCG@10: words 65.1 and 75.1, runs of 1 to 2 letters 76.5 and 77.0, 1 to 3 77.5 and 77.5, 1 to 4 (twice
# the room) 77.4 and 77.7, 3 to 5 76.6 and 76.3. An ensemble, whose view of characters has runs of 3 to 5, gains, too:
# on a sixth of the Japanese training rows, P@1 with 512, 1,790 and 3,580 rows: words 67.0, 83.6 and 85.0, runs of 1 to
# 3 77.6, 84.6 and 86.5.
SYLLABLE_RUNS = {"analyzer": "char_wb", "ngram_range": (1, 3)}
SYLLABLES = f"{LETTERS}, one to three: spaces do not tell words apart in the script of the texts"
_ABOUT_WORDS = ("analyzer", "ngram_range", "stop_words", "min_token_length")
# Longer texts have enough words, and so many runs of letters that even the trial would take long.
LONGEST_FOR_LETTERS = 300
# Pairs of words beside the words, of such texts, too; tried by one-vs-all alone (docs/measurements/new-data.md). They
# take three to five times the room, and on fewer held-out rows half a point is chance. The work of the trial, labels
# times non-zeros, takes one or two seconds.
PAIRS = {"ngram_range": (1, 2)}
SMALLEST_GAIN_OF_PAIRS, FEWEST_FOR_PAIRS, PAIRS_WORK = 0.5, 1_000, 1e9


def chosen_words(
    texts: Sequence[str],
    y: sparse.csr_matrix,
    features: Mapping[str, Any],
    lang: str,
    seed: int,
    *,
    letters: bool = True,
    pairs: bool = False,
    groups: Rows | None = None,
    given: Collection[str] = (),
) -> tuple[dict[str, Any], str]:
    """(the features with the words chosen, one line that says which and why) for a language code or "auto".

    letters: whether runs of letters may be tried where spaces tell words apart. pairs: whether pairs of words may be,
    where one-vs-all is the model that will learn from them. groups: of each text; those of one are on one side of the
    trial. given: the names of the features that somebody has set; one about words keeps them as they are.
    """
    asked_for = not set(_ABOUT_WORDS).isdisjoint(given)
    if lang != AUTO:
        codes = checked_codes(lang, "lang")
        if any(code in SYLLABIC for code in codes):
            if asked_for:
                return {**features, "stems": None, "lemmas": False}, "words or letters as they were asked for"
            return _of_syllables(features), f"{LETTERS} of {_named(codes)}"
        kind = LEMMAS if features.get("lemmas") else STEMS
        return {**features, "stems": "+".join(codes)}, f"{kind} of {_named(codes)}"
    if not asked_for and in_syllables(texts):
        return _of_syllables(features), SYLLABLES
    codes = languages_of(texts)
    plain = {**features, "stems": None, "lemmas": False}
    with_stems = {**features, "stems": "+".join(codes)}
    rows = trial_rows(len(texts), seed, groups=groups)
    if len(rows[1]) < FEWEST_HELD_OUT:
        if not codes:
            return plain, f"{PLAIN}: {NO_LANGUAGE}"
        # Stems without a trial, for few texts show few forms.
        return with_stems, f"{STEMS} of {_named(codes)}: detected; too few rows to try plain words beside them"
    kinds = {PLAIN: plain}
    if codes:
        kinds[STEMS] = {**with_stems, "lemmas": False}
        if has_lemmas():
            kinds[LEMMAS] = {**with_stems, "lemmas": True}
    short = not asked_for and _are_short(texts)
    if letters and short:
        kinds[LETTERS] = {**plain, **RUNS}
    if len(kinds) == 1:
        return plain, f"{PLAIN}: {NO_LANGUAGE}"
    scores = {}
    for kind, values in kinds.items():
        x, asked = _trial(texts, values, rows)
        scores[kind] = _score(LinearTree(C=1.0, seed=seed, n_threads=features.get("n_threads")), x, asked, y, rows)
    best = max(scores, key=lambda kind: scores[kind] - SMALLEST_GAIN[kind])
    figures = ", ".join(f"{kind} {score:.1f}" for kind, score in scores.items())
    told = f"of {_named(codes)}" if codes else f"({NO_LANGUAGE})"
    chosen, which, more = kinds[best], f"{best} {told}", ""
    if pairs and short and best != LETTERS and (gained := _by_pairs(texts, y, chosen, rows)) is not None:
        alone, beside = gained
        more = f"; with one-vs-all {alone:.1f}, and {beside:.1f} with pairs of words"
        if beside - alone >= SMALLEST_GAIN_OF_PAIRS:
            chosen, which = {**chosen, **PAIRS}, f"{which} and pairs of them"
    return chosen, f"{which}: nDCG@{SCORED_AT} on held-out rows: {figures}{more}"


def words_by_script(
    texts: Sequence[str], features: Mapping[str, Any], given: Collection[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(the features, notes) where no language is given: runs of letters for scripts whose words spaces do not show.

    given: the names of the features that somebody has set; one about words keeps them as they are.
    """
    if {"stems", *_ABOUT_WORDS}.isdisjoint(given) and in_syllables(texts):
        return _of_syllables(features), (SYLLABLES,)
    return dict(features), ()


def _of_syllables(features: Mapping[str, Any]) -> dict[str, Any]:
    return {**features, "stems": None, "lemmas": False, **SYLLABLE_RUNS}


def _are_short(texts: Sequence[str]) -> bool:
    """True for short texts: runs of letters and pairs may be tried."""
    some = texts[:: -(-len(texts) // TRIAL_ROWS)]
    return sum(map(len, some)) <= LONGEST_FOR_LETTERS * len(some)


def _named(codes: Sequence[str]) -> str:
    return " and ".join(language_name(code) for code in codes)


def _by_pairs(
    texts: Sequence[str], y: sparse.csr_matrix, features: Mapping[str, Any], rows: tuple[Rows, Rows]
) -> tuple[float, float] | None:
    """What one-vs-all scores with these words, and with pairs of them; None where that would take long or tell little.

    Also where the model will be a tree: it gains less by pairs.
    """
    if len(rows[1]) < FEWEST_FOR_PAIRS:
        return None
    with_pairs = _trial(texts, {**features, **PAIRS}, rows)
    nonzeros, n_labels = with_pairs[0].nnz, y.shape[1]
    of_all = round(nonzeros * len(texts) / len(rows[0]))
    if n_labels * nonzeros > PAIRS_WORK or recommended_model(n_labels, of_all) != OneVsAll.name:
        return None
    model = OneVsAll(n_threads=features.get("n_threads"))
    alone, beside = (_score(model, *tried, y, rows) for tried in (_trial(texts, features, rows), with_pairs))
    return alone, beside


def _trial(
    texts: Sequence[str], features: Mapping[str, Any], rows: tuple[Rows, Rows]
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The rows of a trial as features: (to train on, to judge by)."""
    vectorizer = TfidfVectorizer(**features)
    x = vectorizer.fit_transform([texts[row] for row in rows[0].tolist()])
    return x, vectorizer.transform([texts[row] for row in rows[1].tolist()])


def _score(
    model: LinearTree | OneVsAll,
    x: sparse.csr_matrix,
    asked: sparse.csr_matrix,
    y: sparse.csr_matrix,
    rows: tuple[Rows, Rows],
) -> float:
    training, judging = rows
    top = model.fit(x, y[training]).predict(asked, SCORED_AT)
    return evaluate(top, y[judging], ks=(SCORED_AT,))[f"nDCG@{SCORED_AT}"]
