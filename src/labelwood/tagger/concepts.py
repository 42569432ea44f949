"""What a vocabulary brings to a training: concepts that no row has, names in one language, and what there is to say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scipy import sparse

from labelwood.features.languages import AUTO as DETECT
from labelwood.features.languages import languages_of
from labelwood.labelspace.names import SHOWN, renumbered
from labelwood.vocabulary.read import read_vocabulary
from labelwood.vocabulary.vocabulary import Vocabulary

# So many of the labels must be concepts before other concepts become labels, too.
LEAST_KNOWN = 0.5


def opened(vocabulary: Vocabulary | str | Path | None) -> Vocabulary | None:
    """The vocabulary itself, or that of a file; None for none."""
    return read_vocabulary(vocabulary) if isinstance(vocabulary, (str, Path)) else vocabulary


def spoken(vocabulary: Vocabulary, lang: str | None, texts: Sequence[str]) -> Vocabulary:
    """The vocabulary in the language of most of the texts: as given, else as detected."""
    codes = languages_of(texts) if lang in (None, DETECT) else str(lang).split("+")
    return vocabulary.speaking(next(iter(codes), None))


def are_concepts(labels: Sequence[str], vocabulary: Vocabulary) -> bool:
    """True if at least half of the labels are concepts, by id or by name: else labels mean something else."""
    known = sum(label in vocabulary or vocabulary.concept_named(label) is not None for label in labels)
    return bool(labels) and known >= LEAST_KNOWN * len(labels)


def as_concepts(
    y: sparse.csr_matrix, labels: tuple[str, ...], vocabulary: Vocabulary
) -> tuple[sparse.csr_matrix, tuple[str, ...], list[str]]:
    """(y, labels, notes) in which labels that are names of concepts have become their ids."""
    named = {
        label: concept
        for label in labels
        if label not in vocabulary and (concept := vocabulary.concept_named(label)) is not None
    }
    if not named or not are_concepts(labels, vocabulary):
        return y, labels, []
    meant = [named.get(label, label) for label in labels]
    ids = {label: column for column, label in enumerate(sorted(set(meant)))}
    y, _ = renumbered(y, meant, ids)
    some = next(iter(named.items()))
    note = f"{len(named):,} of {len(labels):,} labels are names in the vocabulary, and are read as its concepts"
    return y, tuple(ids), [f"{note}, such as {some[0]!r} as {some[1]}"]


def unseen_concepts(labels: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """The concepts that are no labels yet, have a name and are not deprecated.

    None where fewer than half of the labels are concepts: labels then mean something else.
    """
    known = set(labels)
    if sum(label in vocabulary for label in labels) < LEAST_KNOWN * len(labels):
        return []
    return [
        concept
        for concept, gone in zip(vocabulary.ids, vocabulary.deprecated.tolist(), strict=True)
        if concept not in known and not gone and vocabulary.name(concept) != concept
    ]


def with_concepts(
    y: sparse.csr_matrix, labels: Sequence[str], vocabulary: Vocabulary
) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
    """(y, labels) with a column behind the others for every one of `unseen_concepts`."""
    more = unseen_concepts(labels, vocabulary)
    wide = sparse.csr_matrix((y.data, y.indices, y.indptr), shape=(y.shape[0], y.shape[1] + len(more)))
    return wide, (*labels, *more)


def notes_about(labels: Sequence[str], vocabulary: Vocabulary, *, by_name: bool) -> list[str]:
    """What a person should know: labels that are no concepts or deprecated, and concepts without a training row.

    by_name: whether the model finds those by their names.
    """
    notes = []
    unknown = [label for label in labels if label not in vocabulary]
    retired = [label for label in labels if label in vocabulary and vocabulary.deprecated[vocabulary.numbers[label]]]
    for some, what in ((unknown, "not in the vocabulary"), (retired, "deprecated, and will not be suggested")):
        if some:
            shown = ", ".join(some[:SHOWN]) + (", ..." if len(some) > SHOWN else "")
            notes.append(f"{len(some):,} of {len(labels):,} labels are {what}: {shown}")
    if unseen := len(unseen_concepts(labels, vocabulary)):
        found = "they can be" if by_name else "with --name-rows or --best they are"
        notes.append(f"{unseen:,} concepts of the vocabulary have no training row; {found} found by their names")
    return notes
