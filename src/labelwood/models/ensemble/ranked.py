"""Ranked: candidates from all sides in the order that the learned ranker gives them, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.ensemble import (
    boosting,
    dense_rows,
    label_letters,
    label_words,
    learned_rows,
    name_phrases,
    near_rows,
    network,
    together,
)
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.dense_rows import DenseRows
from labelwood.models.ensemble.label_letters import LabelLetters
from labelwood.models.ensemble.label_words import LabelWords
from labelwood.models.ensemble.learned_rows import LearnedRows
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.near_rows import NearRows
from labelwood.models.ensemble.network import Network
from labelwood.models.ensemble.pairs import Floats
from labelwood.models.ensemble.sides import AGAIN, BY_LABEL, DENSE_NETWORK, NETWORK, Sides, groups
from labelwood.models.ensemble.text_view import CHARACTERS, KINDS, TextView
from labelwood.models.ensemble.together import Together
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.storage.compressed import compressed, expanded
from labelwood.storage.schema import PART, ArrayRule, Arrays, Schema, check_arrays, part, prefixed, under
from labelwood.topk import TopK

_NAMES, _PHRASES, _LETTERS, _LEARNED, _NETWORK, _VIEW = "names.", "phrases.", "letters.", "learned.", "network.", "view"
_DENSE, _DENSE_NETWORK = "dense.", "dense_network."
_COMPRESSED = "compressed"
# Arrays that grow with the rows: where they are large, they stay as they are, to be mapped and not read into memory.
_NEAR = "near."
_MAPPED = {_NEAR: ("near.codes", "near.values"), _DENSE: (_DENSE,)}


@dataclass(frozen=True, eq=False)
class Ranked:
    """The sides that propose labels, and the trees that rank what they propose.

    first: trees whose chances the ranker sees beside the sides' columns; earlier versions had none.
    """

    sides: Sides
    ranker: BoostedTrees
    first: BoostedTrees | None = None

    # answering

    def inputs(self, x: sparse.csr_matrix, texts: Sequence[str] | None, n_threads: int | None) -> sparse.csr_matrix:
        """What the sides see of features and texts; DataError if texts are needed and missing."""
        return self.sides.rows(x, texts, n_threads)

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None) -> TopK:
        """The k candidates of every row that the ranker finds most likely, with their probabilities."""
        return self.sides.best(x, k, self.ranker, n_threads, self.first)

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None) -> Explanation:
        """What each side adds to the margin of a label; the first model's part is shared out to the words it names.

        A label that no side proposes has the score 0 and no reasons.
        """
        keys, table = self.sides.table(row, n_threads)
        place = int(np.searchsorted(keys, label))
        if place == len(keys) or keys[place] != label:
            return Explanation(label, 0.0, (), ())
        if self.first is not None:
            chances = likely(self.first.margins(table, n_threads))
            table = np.hstack([table, self.sides.again(keys, chances, n_threads)])
        item = table[place]
        score = float(likely(self.ranker.margins(table[place : place + 1], n_threads))[0])
        score *= float(self.sides.label_weights()[label]) if self.sides.favour else 1
        added, rest = self.ranker.contributions(item)
        contributions = [Contribution(0, -1, 1.0, rest, rest, side="what is usual")]
        known = dict(zip(self.sides.columns, item.tolist(), strict=False))
        column = 0
        sides = self.sides
        for group, columns in groups(
            sides.model_names, sides.learned is not None, sides.dense is not None, again=self.first is not None
        ):
            push = float(added[column : column + len(columns)].sum())
            column += len(columns)
            side = told(group, known)
            if group == "words":
                contributions += self._words(row, label, push, side, n_threads)
            else:
                contributions.append(Contribution(0, -1, 1.0, push, push, side=side))
        margin = math.fsum(c.contribution for c in contributions)
        node = NodeScore(0, margin, -math.log1p(math.exp(-margin)) if margin > -700 else margin)
        return Explanation(label, score, (node,), tuple(contributions))

    def _words(
        self, row: sparse.csr_matrix, label: int, push: float, side: str, n_threads: int | None
    ) -> list[Contribution]:
        """The first model's push shared out to the features that push the same way inside it."""
        model, row = self.sides.models[0], without_zeros(self.sides.seen(row, 0))
        pushes = model.explain(model.inputs(row, None), label, n_threads).by_feature()
        same_way = {f: amount for f, amount in pushes.items() if f >= 0 and amount * push > 0}
        total = math.fsum(same_way.values())
        if not total:
            return [Contribution(0, -1, 1.0, push, push, side=side)]
        values = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        shares = [(f, amount / total * push) for f, amount in sorted(same_way.items())]
        return [Contribution(0, f, values[f], amount / values[f], amount, side=side) for f, amount in shares]

    # storage

    @staticmethod
    def schema(facts: Mapping[str, Any]) -> Schema:
        """The arrays of the sides beside the model, and of the ranker: most of them as one array of compressed bytes.

        What is in it is checked when it is expanded.
        """
        if not facts.get("compressed"):  # earlier versions
            return Ranked.parts_schema(facts)
        rules = {_COMPRESSED: ArrayRule("uint8", ("n_compressed",))}
        return {**rules, **dict.fromkeys(_mapped(facts), PART)}

    @staticmethod
    def parts_schema(facts: Mapping[str, Any]) -> Schema:
        """The arrays of all parts; earlier versions saved them so."""
        near = near_rows.SCHEMA
        if not facts.get("compressed"):
            near = near_rows.ROWS_SCHEMA if facts.get("bytes") else near_rows.WIDE_SCHEMA
        elif _NEAR not in _mapped(facts):
            near = near_rows.SMALL_SCHEMA
        rules: dict[str, ArrayRule] = under(_NEAR, near) | under("beside.", together.SCHEMA)
        if facts["names"]:
            rules |= under(_NAMES, label_words.SCHEMA)
        if facts["phrases"]:
            rules |= under(_PHRASES, name_phrases.SCHEMA)
        if facts["letters"] and not facts.get("compressed"):
            rules |= under(_LETTERS, label_letters.SCHEMA)
        if facts.get("learned"):  # earlier versions had none
            rules |= under(_LEARNED, learned_rows.SCHEMA)
        if facts.get("network"):
            rules |= under(_NETWORK, network.SCHEMA)
        if facts.get("dense"):
            rules |= under(_DENSE, dense_rows.SCHEMA if facts.get("even") else dense_rows.EARLIER_SCHEMA)
        if facts.get("dense_network"):
            rules |= under(_DENSE_NETWORK, network.DENSE_SCHEMA)
        for number in range(len(facts["views"])):
            rules[f"{_VIEW}{number}."] = PART
        if facts.get("first"):
            rules |= under("first.", boosting.SCHEMA)
        return rules | under("ranker.", boosting.SCHEMA)

    def facts(self) -> dict[str, Any]:
        """Whether label names are one of the sides, by the words of columns and in texts; the views of texts."""
        return {
            "names": self.sides.names is not None,
            "phrases": self.sides.phrases is not None,
            "letters": self.sides.letters is not None,
            "learned": self.sides.learned is not None,
            "network": self.sides.network is not None,
            "dense": None if self.sides.dense is None else self.sides.dense.facts(),
            "even": self.sides.dense is not None and self.sides.dense.space is not None,
            "dense_network": self.sides.dense_network is not None,
            "views": [view.facts() for view in self.sides.views],
            "by_label": list(self.sides.by_label),
            "first": self.first is not None,
            "compressed": True,
            "mapped": self._mapped(),
        }

    def _mapped(self) -> list[str]:
        """The parts whose largest arrays are not compressed."""
        mapped = [] if self.sides.near.is_small else [_NEAR]
        return mapped if self.sides.dense is None or self.sides.dense.is_small else [*mapped, _DENSE]

    def arrays(self) -> Arrays:
        """The arrays that the schema declares."""
        parts = self.parts()
        large = tuple(name for one in self._mapped() for name in _MAPPED[one])
        mapped = {name: array for name, array in parts.items() if name.startswith(large)}
        rest = {name: array for name, array in parts.items() if name not in mapped}
        return {**mapped, _COMPRESSED: compressed(rest)}

    def parts(self) -> Arrays:
        """The arrays of all parts but the letters of names, which are made of the names again."""
        arrays = prefixed(_NEAR, self.sides.near.saved()) | prefixed("beside.", self.sides.beside.arrays())
        if self.sides.names is not None:
            arrays |= prefixed(_NAMES, self.sides.names.arrays())
        if self.sides.phrases is not None:
            arrays |= prefixed(_PHRASES, self.sides.phrases.arrays())
        if self.sides.learned is not None:
            arrays |= prefixed(_LEARNED, self.sides.learned.arrays())
        if self.sides.network is not None:
            arrays |= prefixed(_NETWORK, self.sides.network.arrays())
        if self.sides.dense is not None:
            arrays |= prefixed(_DENSE, self.sides.dense.arrays())
        if self.sides.dense_network is not None:
            arrays |= prefixed(_DENSE_NETWORK, self.sides.dense_network.arrays())
        for number, view in enumerate(self.sides.views):
            arrays |= prefixed(f"{_VIEW}{number}.", view.arrays())
        if self.first is not None:
            arrays |= prefixed("first.", self.first.arrays())
        return arrays | prefixed("ranker.", self.ranker.arrays())

    @classmethod
    def restore(
        cls,
        arrays: Arrays,
        facts: Mapping[str, Any],
        models: tuple[Fitted[Any], ...],
        trained_on: TrainedOn,
        favour: float,
    ) -> Ranked:
        """The ranked sides of saved arrays; ModelFileError if they do not fit together."""
        if facts.get("compressed"):
            small = expanded(arrays[_COMPRESSED], "ensemble")
            arrays = {**small, **{name: array for name, array in arrays.items() if name != _COMPRESSED}}
            check_arrays(Ranked.parts_schema(facts), arrays, sizes_of(trained_on), "ensemble")
        names = LabelWords.restore(part(_NAMES, arrays), trained_on) if facts["names"] else None
        phrases = NamePhrases.restore(part(_PHRASES, arrays)) if facts["phrases"] else None
        near = NearRows.restore(part(_NEAR, arrays), trained_on)
        beside = Together.restore(part("beside.", arrays), trained_on)
        views = tuple(
            TextView.restore(part(f"{_VIEW}{number}.", arrays), saved) for number, saved in enumerate(facts["views"])
        )
        by_label = tuple(facts.get("by_label", ()))  # earlier versions had none
        if len(models) != 1 + len(views) + len(by_label):
            raise ModelFileError(f"ensemble: {len(views)} views of texts need a member each beside the first")
        with_vectors = [dense_rows.WITH_WORDS] if facts.get("dense") else []
        if not set(by_label) <= {"words", *(view.kind for view in views), *with_vectors}:
            raise ModelFileError(f"ensemble: there is no view {by_label!r:.80} for a member to see")
        letters = None
        if facts["letters"]:
            characters = [view for view in views if view.kind == CHARACTERS]
            if len(characters) != 1 or phrases is None:
                raise ModelFileError("ensemble: the characters of names need names and a view of characters")
            if facts.get("compressed"):
                letters = LabelLetters.of(phrases.label_names, characters[0], 1)
            else:
                letters = LabelLetters.restore(part(_LETTERS, arrays), trained_on)
            if characters[0].n_columns != letters.weights.shape[0]:
                raise ModelFileError("ensemble: the characters of names are none of a view")
        nets = None
        if facts.get("network"):
            nets = Network.restore(part(_NETWORK, arrays), trained_on.n_features, trained_on)
        learned = None
        if facts.get("learned"):
            n_units = 0 if nets is None else len(nets.first_bias)
            learned = LearnedRows.restore(part(_LEARNED, arrays), trained_on, n_units)
        dense = dense_network = None
        if facts.get("dense"):  # earlier versions had none
            dense = DenseRows.restore(part(_DENSE, arrays), facts["dense"], trained_on)
        if dense is not None and facts.get("dense_network"):
            dense_network = Network.restore(part(_DENSE_NETWORK, arrays), dense.width, trained_on)
        counts = trained_on.label_counts
        sides = Sides(
            models, near, names, beside, counts, phrases, views, letters, by_label, learned, nets, dense, favour,
            dense_network,
        )  # fmt: skip
        if [model.n_features for model in models] != sides.widths or models[0].n_features != trained_on.n_features:
            raise ModelFileError("ensemble: the members of a ranker see other columns")
        n_columns = len(sides.columns)
        if not facts.get("first"):
            return cls(sides, BoostedTrees.restore(part("ranker.", arrays), n_columns))
        first = BoostedTrees.restore(part("first.", arrays), n_columns)
        return cls(sides, BoostedTrees.restore(part("ranker.", arrays), n_columns + len(AGAIN)), first)


def _mapped(facts: Mapping[str, Any]) -> list[str]:
    """The parts whose largest arrays are mapped; those of earlier versions always are."""
    mapped: list[str] = facts.get("mapped", [_NEAR, *([_DENSE] if facts.get("dense") else [])])
    if not isinstance(mapped, list) or not all(name in _MAPPED for name in mapped):
        raise ModelFileError(f"ensemble: 'mapped' names parts of a folder, but is {mapped!r:.80}")
    return mapped


def sizes_of(trained_on: TrainedOn) -> dict[str, int]:
    """The sizes that all parts share."""
    return {"n_rows": trained_on.n_rows, "n_features": trained_on.n_features, "n_labels": trained_on.n_labels}


def likely(margins: Floats) -> Floats:
    """The chance that stands for each margin: the logistic function."""
    return np.asarray(1 / (1 + np.exp(-margins.astype(np.float64))), np.float32)


def without_zeros(x: sparse.csr_matrix) -> sparse.csr_matrix:
    """The rows without stored zeros: a column that is 0 says no word."""
    if np.all(x.data):
        return x
    x = x.copy()
    x.eliminate_zeros()
    return x


def told(group: str, item: Mapping[str, float]) -> str:
    """What one group of columns says about a candidate, for people."""
    if group == "words":
        return f"the words say {item['words: score']:.2f}"
    if group in KINDS or group.endswith(BY_LABEL):
        how = BY_LABEL if group.endswith(BY_LABEL) else ""
        return f"the {group.removesuffix(BY_LABEL)} say {item[f'{group}: score']:.2f}{how}"
    if group == NETWORK:
        return f"the network says {item['network: score']:.2f}"
    if group == DENSE_NETWORK:
        return f"the network of meaning says {item[f'{DENSE_NETWORK}: score']:.2f}"
    if group == "similar rows":
        return f"{item['similar rows: first five']:.0f} of the 5 most similar rows have it"
    if group == "learned":
        return f"{item['learned: first ten']:.0f} of the 10 rows have it whose labels should be most alike"
    if group == "meaning":
        return f"{item['meaning: first ten']:.0f} of the 10 most similar texts by meaning have it"
    if group == "name":
        if item["name: times"] > 0:
            return f"its name is in the text, from word {math.expm1(item['name: first']) + 1:.0f} on"
        share = item["name: share"]
        if share >= label_words.WHOLE:
            return "its name is in the row"
        return f"{share:.0%} of its name is in the row" if share > 0 else "its name is not in the row"
    if group == "frequency":
        n_rows = round(math.expm1(item["frequency: label rows"]))
        return f"{n_rows} training row{' has' if n_rows == 1 else 's have'} it"
    return {
        "beside": "the labels beside it", "row": "the row as a whole", "agreement": "how many sides name it",
        "others": "beside the row's other candidates",
    }[group]  # fmt: skip


def hits_of(keys: npt.NDArray[np.int64], y: sparse.csr_matrix) -> npt.NDArray[np.bool_]:
    """Which candidates are labels of their rows."""
    rows = np.repeat(np.arange(y.shape[0], dtype=np.int64), np.diff(y.indptr))
    return np.isin(keys, rows * y.shape[1] + y.indices)
