"""A label hierarchy from a file: one line a name, tab-separated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labelwood.errors import DataError
from labelwood.labelindex.hierarchy import tree_from_clusters, tree_from_parents
from labelwood.labelindex.tree import LabelTree
from labelwood.vocabulary.read import notation_of, read_vocabulary
from labelwood.vocabulary.skos import NOTATIONS
from labelwood.vocabulary.vocabulary import Vocabulary

UNKNOWN = "(not in the thesaurus)"


def read_hierarchy(path: str | Path, n_labels: int, label_names: Sequence[str] | None = None) -> LabelTree:
    """The label tree of a file; DataError with file and line if it holds none for these labels.

    Two columns, `name TAB parent`: a parent may have a line of its own, or none (then it is at the top, as is a name
    with an empty parent). Three columns or more, `label TAB cluster TAB cluster inside it ...`: the clusters from the
    top down. Names are label_names, or the numbers 0 .. n_labels - 1 where labels have no names. Every label needs a
    line; names that are no labels are allowed. Empty lines and lines that begin with # are left out.

    A SKOS file (.ttl, .rdf, ...) gives its own hierarchy: the first broader concept of each label, and so on up. Labels
    that it does not know share one place.
    """
    names = [str(n) for n in range(n_labels)] if label_names is None else list(label_names)
    if notation_of(Path(path)) in NOTATIONS:
        return _tree_of_parents(_lines_of_thesaurus(read_vocabulary(path), names), names, path)
    lines = _lines(Path(path))
    known = {fields[0] for _, fields in lines}
    missing = [name for name in names if name not in known]
    if missing:
        kind = "label number" if label_names is None else "label"
        raise DataError(f"{path}: {len(missing)} of {n_labels} labels have no line; the first is {kind} {missing[0]!r}")
    if any(len(fields) > 2 for _, fields in lines):
        clusters = {fields[0]: tuple(part for part in fields[1:] if part) for _, fields in lines}
        return tree_from_clusters([clusters[name] for name in names])
    return _tree_of_parents(lines, names, path)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    if not path.exists():
        raise DataError(f"{path}: no such file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: the label hierarchy cannot be read ({error})") from None
    lines: list[tuple[int, list[str]]] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) < 2 or not fields[0]:
            raise DataError(f"{path}, line {number}: expected a name, a tab and a parent, but got {line[:80]!r}")
        if fields[0] in seen:
            raise DataError(f"{path}, line {number}: {fields[0]!r} already has line {seen[fields[0]]}")
        seen[fields[0]] = number
        lines.append((number, fields))
    if not lines:
        raise DataError(f"{path}: the label hierarchy is empty")
    return lines


def _lines_of_thesaurus(vocabulary: Vocabulary, names: list[str]) -> list[tuple[int, list[str]]]:
    """The lines `name, parent` of the labels and of all that stands above them; a circle is cut where it closes."""
    parent_of: dict[str, str] = {}
    for name in names:
        if name not in vocabulary:
            parent_of[name] = UNKNOWN
        while name not in parent_of:
            parent_of[name] = ""  # for now: whoever leads back here closes a circle
            above = next((up for up in vocabulary.parents(name) if not _leads_to(up, name, parent_of)), "")
            parent_of[name] = above
            name = above or name
    return [(number, [name, parent]) for number, (name, parent) in enumerate(parent_of.items(), 1)]


def _leads_to(start: str, goal: str, parent_of: dict[str, str]) -> bool:
    """True if the parents that are known so far lead from one name up to another."""
    while start and start != goal:
        start = parent_of.get(start, "")
    return start == goal


def _tree_of_parents(lines: list[tuple[int, list[str]]], names: list[str], path: str | Path) -> LabelTree:
    parent_of = {fields[0]: fields[1] for _, fields in lines}
    number: dict[str, int] = {}
    for name, parent in parent_of.items():
        for node in (parent, name):
            if node:
                number.setdefault(node, len(number))
    parents = [-1] * len(number)
    has_children = set()
    for line, (name, parent) in zip((line for line, _ in lines), parent_of.items(), strict=True):
        above, seen = parent, {name}
        while above:
            if above in seen:
                raise DataError(f"{path}, line {line}: {name!r} is below itself")
            seen.add(above)
            above = parent_of.get(above, "")
        if parent:
            parents[number[name]] = number[parent]
            has_children.add(parent)
    # A label that is nobody's parent is held by its parent: sibling labels share a leaf. At the top it stands alone.
    holders = [
        number[name] if name in has_children or not parent_of[name] else number[parent_of[name]] for name in names
    ]
    return tree_from_parents(parents, holders)
