"""Notes on label names that are hardly meant so: spelt twice, or words for an empty cell."""

from __future__ import annotations

from collections.abc import Sequence

from scipy import sparse

EMPTY_WORDS = frozenset(("nan", "none", "null", "n/a", "#n/a", "na", "<na>", "nat", "-", "--", "?"))


def odd_names(names: Sequence[str], y: sparse.csr_matrix) -> list[str]:
    """What to tell about the names of y's columns; [] if nothing is odd."""
    notes = []
    words = [column for column, name in enumerate(names) if name.lower() in EMPTY_WORDS]
    if words:
        n_rows = int(y[:, words].sum())
        listed = ", ".join(repr(names[column]) for column in words[:5])
        rows = "1 row has" if n_rows == 1 else f"{n_rows:,} rows have"
        notes.append(f"{rows} the label {listed}: if that means no label, leave the cells empty")
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(" ".join(name.casefold().split()), []).append(name)
    twice = [same for same in spellings.values() if len(same) > 1]
    if twice:
        labels = "1 label is" if len(twice) == 1 else f"{len(twice):,} labels are"
        shown = " and ".join(map(repr, twice[0][:3]))
        notes.append(f"{labels} spelt in several ways that differ in capitals or spaces alone, such as {shown}")
    return notes
