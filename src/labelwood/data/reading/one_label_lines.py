"""Tables with a line for every label of a text, as a database joins them -> one row a text with all its labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from labelwood.data.groups import is_alone
from labelwood.data.reading.label_cells import Label

# Of the rows, how many must repeat a text with another label, and how many such texts there must be: fewer are a matter
# of opinion among labellers.
JOINED_SHARE, LEAST_TEXTS = 0.5, 10


def join_lines(
    texts: Sequence[str],
    row_ids: Sequence[str],
    labels: list[list[Label] | None],
    groups: Sequence[Hashable] | None = None,
) -> str | None:
    """A note if lines of the same text (and id, and group) were joined, else None and nothing is changed.

    The first line of a text then has the labels of all; the others are None in `labels`, as rows that are left out.
    """
    if any(row is not None and len(row) > 1 for row in labels):
        return None
    ids_say_nothing = len(set(row_ids)) == len(row_ids)  # numbers of the lines
    of_groups = [None if is_alone(group) else group for group in groups or ()]
    said = [texts, *([] if ids_say_nothing else [row_ids]), *([] if groups is None else [of_groups])]
    keys = list(zip(*said, strict=True))
    lines: dict[tuple[Hashable, ...], list[int]] = {}
    for line, key in enumerate(keys):
        if labels[line]:
            lines.setdefault(key, []).append(line)
    several = [same for same in lines.values() if len({row[0] for line in same if (row := labels[line])}) > 1]
    n_lines = sum(map(len, several))
    if n_lines < JOINED_SHARE * len(texts) or len(several) < LEAST_TEXTS:
        return None
    for same in several:
        labels[same[0]] = list(dict.fromkeys(label for line in same for label in labels[line] or ()))
        for line in same[1:]:
            labels[line] = None
    front = f"{n_lines:,} of {len(texts):,} lines say one label each of {len(several):,} texts"
    return f"{front}: they are joined to one row a text"
