"""Vocabulary: the concepts of a thesaurus with names, broader concepts, schemes and deprecated flags; immutable."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays
from labelwood.storage.words import packed, unpacked

SCHEMA: Schema = {
    "ids_utf8": ArrayRule("uint8", ("n_id_bytes",)),
    "ids_ends": ArrayRule("int64", ("n_concepts",), low=0),
    "names_utf8": ArrayRule("uint8", ("n_name_bytes",)),
    "names_ends": ArrayRule("int64", ("n_names",), low=0),  # language by language, "" for none
    "others_utf8": ArrayRule("uint8", ("n_other_bytes",)),
    "others_ends": ArrayRule("int64", ("n_others",), low=0),
    "others_concept": ArrayRule("int32", ("n_others",), low=0, below="n_concepts"),
    "others_language": ArrayRule("int32", ("n_others",), low=0),
    "broader": ArrayRule("int32", ("n_links", 2), low=0, below="n_concepts"),
    "members": ArrayRule("int32", ("n_members", 2), low=0),
    "deprecated": ArrayRule("bool", ("n_concepts",)),
}
FACTS = ("language", "languages", "schemes")
BELOW, SCHEME = "below:", "scheme:"  # how a subtree and a scheme are named where labels are chosen
Pairs = npt.NDArray[np.int32]


@dataclass(frozen=True)
class OtherName:
    """An alternative name of a concept; concept and language are places in the vocabulary's tuples."""

    concept: int
    language: int
    text: str


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Concepts in a fixed order.

    names[i][j]: the preferred name of concept j in languages[i], "" where it has none. broader: pairs (concept, broader
    concept). members: pairs (concept, scheme). language: that of names which are asked for without one.
    """

    ids: tuple[str, ...]
    languages: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    others: tuple[OtherName, ...]
    broader: Pairs
    schemes: tuple[str, ...]
    members: Pairs
    deprecated: npt.NDArray[np.bool_]
    language: str

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, concept: object) -> bool:
        return concept in self.numbers

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} concepts, languages {', '.join(self.languages) or 'none'})"

    def __copy__(self) -> Vocabulary:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary:
        return self  # it never changes

    def __reduce__(self) -> Any:
        return type(self).restore, (self.arrays(), self.facts())

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Id -> place."""
        return {concept: number for number, concept in enumerate(self.ids)}

    @cached_property
    def _by_name(self) -> dict[str, int]:
        """Name -> the place of the one concept that has it: preferred names count first, deprecated concepts last.

        A name that several concepts have equally is nobody's, though one more may have it as a name that counts less.
        """
        preferred = [(name, place) for names in self.names for place, name in enumerate(names) if name]
        others = [(other.text, other.concept) for other in self.others]
        gone = self.deprecated.tolist()
        found: dict[str, int] = {}
        for named, old in ((others, True), (preferred, True), (others, False), (preferred, False)):
            places: dict[str, set[int]] = {}
            for name, place in named:
                if gone[place] == old:
                    places.setdefault(name.casefold(), set()).add(place)
            for name, some in places.items():
                found.pop(name, None)
                if len(some) == 1:
                    found[name] = some.pop()
        return found

    def concept_named(self, name: str) -> str | None:
        """The id of the one concept of this name, in whatever language and capitals; None for none, or several."""
        place = self._by_name.get(name.casefold())
        return None if place is None else self.ids[place]

    def number(self, concept: str) -> int:
        """The place of an id, or of the one concept of this name; DataError names the nearest ids."""
        concept = concept if concept in self.numbers else self.concept_named(concept) or concept
        if concept not in self.numbers:
            near = difflib.get_close_matches(concept, self.ids, n=3)
            raise DataError(
                f"unknown concept {concept!r}; " + (f"near: {', '.join(near)}" if near else f"{len(self)} are known")
            )
        return self.numbers[concept]

    # names

    def name(self, concept: str, language: str | None = None) -> str:
        """The preferred name of an id: in a language, else in that of the vocabulary, else in any; else the id."""
        number = self.numbers.get(concept)
        if number is None:
            return concept
        wanted = [self.checked_language(language)] if language is not None else []
        for code in dict.fromkeys([*wanted, self.language, *self.languages]):
            if code in self.languages and self.names[self.languages.index(code)][number]:
                return self.names[self.languages.index(code)][number]
        return concept

    def other_names(self, concept: str, language: str | None = None) -> list[str]:
        """The alternative names of an id, in one language or in all."""
        number, place = self.number(concept), None
        if language is not None:
            place = self.languages.index(self.checked_language(language))
        return [name.text for name in self._others_of.get(number, ()) if place is None or name.language == place]

    def called(self, labels: Sequence[str]) -> list[str]:
        """What each label is called in the vocabulary's language: all its names, one a line, the preferred one first.

        A label that the vocabulary does not know is called by itself.
        """
        place = self.languages.index(self.language) if self.language in self.languages else None
        names = []
        for label in labels:
            others = self._others_of.get(self.numbers.get(label, -1), ())
            more = [other.text for other in others if place is None or other.language == place]
            names.append("\n".join(dict.fromkeys([self.name(label), *more])))
        return names

    @cached_property
    def _others_of(self) -> dict[int, list[OtherName]]:
        by_concept: dict[int, list[OtherName]] = {}
        for name in self.others:
            by_concept.setdefault(name.concept, []).append(name)
        return by_concept

    def checked_language(self, language: str) -> str:
        """The same code; ParamError if no concept has a name in it."""
        if language not in self.languages:
            raise ParamError(
                f"the vocabulary has no names in {language!r}; it has {', '.join(self.languages) or 'none at all'}"
            )
        return language

    def speaking(self, language: str | None) -> Vocabulary:
        """The same vocabulary that answers in a language, if it has names in it."""
        return self if language not in self.languages else replace(self, language=str(language))

    # the hierarchy

    @cached_property
    def _parents(self) -> list[list[int]]:
        parents: list[list[int]] = [[] for _ in self.ids]
        for child, parent in self.broader.tolist():
            parents[child].append(parent)
        return parents

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.ids]
        for child, parent in self.broader.tolist():
            children[parent].append(child)
        return children

    def parents(self, concept: str) -> list[str]:
        """The ids right above an id."""
        return [self.ids[place] for place in self._parents[self.number(concept)]]

    def children(self, concept: str) -> list[str]:
        """The ids right below an id."""
        return [self.ids[place] for place in self._children[self.number(concept)]]

    def ancestors(self, concept: str) -> set[str]:
        """All ids above an id, without itself; concepts that form a circle are above each other."""
        start = self.number(concept)
        return {self.ids[place] for place in _reached(start, self._parents) - {start}}

    def subtree(self, concept: str) -> set[str]:
        """An id and all ids below it."""
        return {self.ids[place] for place in _reached(self.number(concept), self._children)}

    def with_ancestors(self, labels: Sequence[str]) -> sparse.csr_matrix:
        """For each label a row of ones (n_labels, n_labels + n_concepts): its concept and all above it.

        A label that is no concept is alone in a column of its own, the first n_labels of them.
        """
        columns: list[int] = []
        pointers = [0]
        for place, label in enumerate(labels):
            number = self.numbers.get(label)
            if number is None:
                columns.append(place)
            else:
                columns.extend(sorted(len(labels) + above for above in _reached(number, self._parents)))
            pointers.append(len(columns))
        shape = (len(labels), len(labels) + len(self))
        return sparse.csr_matrix((np.ones(len(columns), np.int32), columns, pointers), shape=shape)

    def branches(self, labels: Sequence[str]) -> tuple[list[str], sparse.csr_matrix]:
        """(the topmost concepts, ones (n_labels, n_branches) where a label stands below one or is one itself).

        A label that is no concept, or one of a circle that nothing stands above, is in no branch.
        """
        tops: dict[int, int] = {}
        columns: list[int] = []
        pointers = [0]
        for label in labels:
            number = self.numbers.get(label)
            reached = set() if number is None else _reached(number, self._parents)
            columns += [tops.setdefault(top, len(tops)) for top in sorted(reached) if not self._parents[top]]
            pointers.append(len(columns))
        ones = np.ones(len(columns), np.int64)
        return [self.ids[top] for top in tops], sparse.csr_matrix((ones, columns, pointers), (len(labels), len(tops)))

    # choosing

    def chosen(self, what: str) -> set[str]:
        """The ids that one choice names: an id, "below:ID" (with all below it) or "scheme:ID"."""
        if what.startswith(BELOW):
            return self.subtree(what.removeprefix(BELOW))
        if what.startswith(SCHEME):
            scheme = what.removeprefix(SCHEME)
            if scheme not in self.schemes:
                raise DataError(f"unknown scheme {scheme!r}; known: {', '.join(self.schemes) or 'none'}")
            place = self.schemes.index(scheme)
            return {self.ids[number] for number in self.members[self.members[:, 1] == place, 0].tolist()}
        return {self.ids[self.number(what)]}

    def allowed(
        self, labels: Sequence[str], include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> npt.NDArray[np.bool_]:
        """Which labels may be suggested: all, or the included ones; never the excluded and the deprecated ones."""
        included, excluded = list(include), list(exclude)
        out = {self.ids[place] for place in np.flatnonzero(self.deprecated).tolist()}
        for choice in excluded:
            out |= self.chosen(choice)
        if not included:
            return np.array([label not in out for label in labels], bool)
        wanted = set().union(*(self.chosen(choice) for choice in included))
        return np.array([label in wanted and label not in out for label in labels], bool)

    # storage

    def arrays(self) -> Arrays:
        """The vocabulary as named arrays."""
        ids_utf8, ids_ends = packed(self.ids)
        names_utf8, names_ends = packed([name for names in self.names for name in names])
        others_utf8, others_ends = packed([name.text for name in self.others])
        return {
            "ids_utf8": ids_utf8,
            "ids_ends": ids_ends,
            "names_utf8": names_utf8,
            "names_ends": names_ends,
            "others_utf8": others_utf8,
            "others_ends": others_ends,
            "others_concept": np.array([name.concept for name in self.others], np.int32),
            "others_language": np.array([name.language for name in self.others], np.int32),
            "broader": self.broader,
            "members": self.members,
            "deprecated": self.deprecated,
        }

    def facts(self) -> dict[str, Any]:
        """What is saved beside the arrays: JSON values only."""
        return {"language": self.language, "languages": list(self.languages), "schemes": list(self.schemes)}

    @classmethod
    def restore(cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Any) -> Vocabulary:
        """The vocabulary of saved arrays and facts; ModelFileError if they do not fit together."""
        where = "vocabulary"
        if not isinstance(facts, Mapping) or set(facts) != set(FACTS):
            raise ModelFileError(f"{where}: its facts are {', '.join(FACTS)}, but here {facts!r:.80}")
        languages, schemes = facts["languages"], facts["schemes"]
        for texts in (languages, schemes, [facts["language"]]):
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ModelFileError(f"{where}: languages and schemes are texts, but here {texts!r:.80}")
        sizes = check_arrays(SCHEMA, arrays, {}, where)
        n_concepts = sizes["n_concepts"]
        if sizes["n_names"] != n_concepts * len(languages):
            raise ModelFileError(f"{where}: {sizes['n_names']} names, but {n_concepts} in {len(languages)} languages")
        for name, pairs, limit in (("others_language", arrays["others_language"], len(languages)),):
            if len(pairs) and int(pairs.max()) >= limit:
                raise ModelFileError(f"{where}: {name} holds {int(pairs.max())}, but there are {limit} languages")
        members = np.ascontiguousarray(arrays["members"])
        if members.shape[1] != 2 or (len(members) and (members.max(axis=0) >= (n_concepts, len(schemes))).any()):
            raise ModelFileError(f"{where}: members lie outside the concepts and schemes")
        try:
            ids = unpacked(arrays["ids_utf8"], arrays["ids_ends"])
            names = unpacked(arrays["names_utf8"], arrays["names_ends"])
            texts = unpacked(arrays["others_utf8"], arrays["others_ends"])
        except DataError as error:
            raise ModelFileError(f"{where}: {error}") from None
        if len(set(ids)) != len(ids):
            raise ModelFileError(f"{where}: an id stands for two concepts")
        places = zip(arrays["others_concept"].tolist(), arrays["others_language"].tolist(), texts, strict=True)
        return cls(
            ids,
            tuple(languages),
            tuple(names[start : start + n_concepts] for start in range(0, len(names), max(1, n_concepts))),
            tuple(OtherName(*place) for place in places),
            np.ascontiguousarray(arrays["broader"]),
            tuple(schemes),
            members,
            np.ascontiguousarray(arrays["deprecated"]),
            facts["language"],
        )


def _reached(start: int, neighbours: Sequence[Sequence[int]]) -> set[int]:
    """The places that can be reached from one, with itself."""
    reached, waiting = {start}, [start]
    while waiting:
        for place in neighbours[waiting.pop()]:
            if place not in reached:
                reached.add(place)
                waiting.append(place)
    return reached
