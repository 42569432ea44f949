"""What `train` chooses when nobody does: the model and the words, each with a sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

# The language shows in a few hundred openings of texts, which take milliseconds to look at.
LOOKED_AT, LOOKED_AT_CHARACTERS = 1_000, 1_000
# With fewer rows there are too few held-out ones to try other words on (tagger/language_choice.py).
FEWEST_TO_TRY = 2_500
# A language counts as that of the texts if at least so many of those that show one agree.
CLEAR_SHARE = 0.5
ENGLISH = "en"
NOTHING: Mapping[str, Any] = {}


def main_language(texts: Sequence[str]) -> str | None:
    """The language that most of the texts show, None if none does."""
    from collections import Counter

    from labelwood.features.languages import detect

    some = texts[:: max(1, len(texts) // LOOKED_AT)]
    votes = Counter(code for text in some if (code := detect(text[:LOOKED_AT_CHARACTERS])) is not None)
    if not votes:
        return None
    code, n = votes.most_common(1)[0]
    return code if n >= CLEAR_SHARE * sum(votes.values()) else None


def words_choice(
    texts: Sequence[str], *, views: bool, features: Mapping[str, Any] = NOTHING
) -> tuple[str | None, list[str]]:
    """("auto" if the script or held-out rows are to choose the words; else None and the sentence about plain ones).

    views: whether the model looks at letters and pairs of words by itself; then English needs no trial.
    features: those that somebody has set.
    """
    from labelwood.features.languages import AUTO, in_syllables, language_name
    from labelwood.features.tokens import as_read
    from labelwood.tagger.markup_choice import reads_markup

    some: Sequence[str] = texts[:: max(1, len(texts) // LOOKED_AT)]
    if reads_markup(texts, features)[0]:
        some = as_read(some, True)
    if in_syllables(some):
        return AUTO, []
    code = main_language(some)
    if len(texts) >= FEWEST_TO_TRY and (not views or code not in (None, ENGLISH)):
        return AUTO, []
    if code is None:
        return None, ["words: as they are, since the texts show no clear language; if you know it, name it with --lang"]
    if code == ENGLISH:
        return None, [
            "words: as they are, since the texts are English; --lang auto would also try stems and dictionary forms"
        ]
    name = language_name(code)
    return None, [f"words: as they are; the texts look {name}; --lang {code} counts inflected forms as one word"]


def model_choice(data: Dataset, trained: Any) -> str:
    """The sentence that says why the model that "auto" chose fits the size of the data."""
    from labelwood.cli.console import count
    from labelwood.models.registry import ONE_VS_ALL_WORK

    if data.x is None:
        mean = round(sum(map(len, data.texts or ())) / data.n_rows)
        rows = f"{count(data.n_rows, 'text')} of about {count(mean, 'character')}"
        name, n_nonzeros = trained.model_.name, int(trained.vectorizer_.document_frequencies_.sum())
    else:
        name, n_nonzeros = trained.name, int(data.x.nnz)
        rows = f"{count(data.n_rows, 'row')} of about {count(round(n_nonzeros / data.n_rows), 'feature')}"
    size = f"{count(data.n_labels, 'label')} and {rows}"
    if name == "one-vs-all":
        time = "seconds" if data.n_labels * n_nonzeros < ONE_VS_ALL_WORK / 10 else "a minute or two"
        return f"model: one-vs-all, the most accurate linear model; it takes {time} on {size}"
    if data.x is None and trained.model_.n_labels_ > data.n_labels:
        total = count(trained.model_.n_labels_, "label")
        return f"model: {name}; with the concepts that have no text there are {total}, where a tree is much quicker"
    minutes = max(2, round(data.n_labels * n_nonzeros / ONE_VS_ALL_WORK))
    return f"model: {name}; one-vs-all would take about {minutes:,} minutes on {size}, a tree takes a fraction of that"
