"""Sides: all that propose labels for a row, and the table of what they know about every candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError
from labelwood.features.tokens import blamed
from labelwood.matrices import column_ids, row_pointers
from labelwood.metrics.propensity import inverse_propensity
from labelwood.models.ensemble import (
    dense_rows,
    label_letters,
    label_words,
    learned_rows,
    name_phrases,
    near_rows,
    together,
)
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.dense_rows import MEANING, WITH_WORDS, DenseRows, MeantTexts, as_columns, with_words
from labelwood.models.ensemble.label_letters import LabelLetters
from labelwood.models.ensemble.label_words import LabelWords
from labelwood.models.ensemble.learned_rows import LearnedRows
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.near_rows import NearRows
from labelwood.models.ensemble.network import Network
from labelwood.models.ensemble.pairs import Floats, Keys, beside_each_other, unchecked_rows
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.text_view import CHARACTERS, PAIRS, TextView
from labelwood.models.ensemble.together import Together
from labelwood.models.fit_input import FitInput
from labelwood.models.fitted import Fitted
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.storage.sharing import shared
from labelwood.topk import TopK, empty

MODEL_LABELS = 50  # labels that a model inside is asked for
_MODEL = ("score", "rank", "of the best")
NETWORK, DENSE_NETWORK = "network", "network of meaning"  # what the answers of networks are called
BY_LABEL = ", label by label"  # behind the name of what a model of one classifier a label sees
# What a first ranker's chances say of a candidate: its own and its rank; how often it stands beside the ten likeliest
# labels, weighed by their chances, and beside each of the first three; the largest chance and the sum of all.
AGAIN = ("chance", "rank", "beside", "beside first", "beside second", "beside third", "largest", "sum")
TextRowMaker = _native.TextRows
Columns = tuple[tuple[str, tuple[str, ...]], ...]
# Row pointers, columns, values, first column of names in texts; labels and scores of the models, their number; threads.
Int32 = npt.NDArray[np.int32]
Asked = tuple[npt.NDArray[np.int64], Int32, Floats, int, Int32, Floats, int, int]


def groups(
    models: Sequence[str] = ("words",), learned: bool = False, dense: bool = False, again: bool = False
) -> Columns:
    """The groups of the table's columns, in the order of native/models/ensemble/candidates.hpp.

    models: what each is called; learned: whether there is a learned space; dense: whether texts have dense vectors;
    again: what a second ranker sees.
    """
    of_row = ("features", *(f"best score of {model}" for model in models), "closest row")
    return (
        *((model, _MODEL) for model in models), ("similar rows", near_rows.COLUMNS),
        ("name", label_words.COLUMNS + name_phrases.COLUMNS + label_letters.COLUMNS),
        ("beside", together.COLUMNS), ("frequency", ("label rows",)), ("row", of_row), ("agreement", ("sides",)),
        *([("learned", learned_rows.COLUMNS)] if learned else []),
        *([("meaning", dense_rows.COLUMNS)] if dense else []), *([("others", AGAIN)] if again else []),
    )  # fmt: skip


def column_names(models: Sequence[str] = ("words",), learned: bool = False, dense: bool = False) -> tuple[str, ...]:
    """The names of the table's columns."""
    return tuple(f"{group}: {column}" for group, columns in groups(models, learned, dense) for column in columns)


@dataclass(frozen=True, eq=False)
class Sides:
    """Models, the nearest rows, the words of label names (if there are names) and companions of labels.

    models: one that sees the features, one for each view of the texts, and one-vs-all for what `by_label` names: the
    features ("words") or a view. Rows come as `rows` gives them: features,
    and behind them the columns of the views, where names stand in the texts, and the texts' dense vectors.
    """

    models: tuple[Fitted[Any], ...]
    near: NearRows
    names: LabelWords | None
    beside: Together
    label_counts: npt.NDArray[np.int64]
    phrases: NamePhrases | None = None  # where names stand in texts, if there are texts
    views: tuple[TextView, ...] = ()
    letters: LabelLetters | None = None  # of the names, if there are characters
    by_label: tuple[str, ...] = ()  # what models of one classifier a label see, where they are quick to train
    learned: LearnedRows | None = None  # where rows and features are few
    network: Network | None = None  # where features, and rows times labels, are few
    dense: DenseRows | None = None  # what texts mean, if there is an encoder
    favour: float = 0.0  # 0: what is most likely first; 1: rare labels count more, by their inverse propensity
    dense_network: Network | None = None  # what sees dense vectors, where rows times labels are few
    _native: _native.CandidateSides = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sides = _native.CandidateSides(self.n_features, np.log1p(self.label_counts).astype(np.float32))
        sides.near(**self.near.arrays(), n_near=near_rows.N_NEAR, most_postings=near_rows.MOST_POSTINGS)
        if self.learned is not None:
            units, scale, bias = self._units()
            sides.learned(
                units=units, unit_scale=scale, unit_bias=bias, **self.learned.arrays(), n_near=learned_rows.N_NEAR,
                most_proposed=learned_rows.MOST_PROPOSED,
            )  # fmt: skip
        sides.beside(**self.beside.arrays(), n_sure=together.N_SURE, most_proposed=together.MOST_PROPOSED)
        if self.names is not None:
            sides.names(
                **self.names.arrays(), least_share=label_words.LEAST_SHARE, smallest_share=label_words.SMALLEST_SHARE,
                whole=label_words.WHOLE, most_proposed=label_words.MOST_PROPOSED,
            )  # fmt: skip
        if self.phrases is not None:
            sides.phrases(right=self.phrases.right)
        if self.letters is not None:
            first, _ = self._columns[1 + self.kinds.index(CHARACTERS)]
            sides.letters(
                **self.letters.arrays(), first_column=first, least_share=label_letters.LEAST_SHARE,
                most_proposed=label_letters.MOST_PROPOSED,
            )  # fmt: skip
        if self.dense is not None:
            sides.meaning(
                **self.dense.tables(), first_column=self._first_said + self._n_said, n_near=dense_rows.N_NEAR,
                most_rows=dense_rows.MOST_OF_ROWS, most_told=dense_rows.MOST_TOLD, most_names=dense_rows.MOST_OF_NAMES,
            )  # fmt: skip
        if self.favour:
            sides.favour(self.label_weights())
        object.__setattr__(self, "_native", sides)

    @property
    def n_features(self) -> int:
        """The number of features, without what comes from texts."""
        return self.models[0].n_features

    @property
    def reads_texts(self) -> bool:
        """Whether texts are needed beside features."""
        return self.phrases is not None or bool(self.views) or self.dense is not None

    @classmethod
    def of(
        cls,
        models: tuple[Fitted[Any], ...],
        data: FitInput,
        said: sparse.csr_matrix | None,
        views: tuple[TextView, ...],
        by_label: tuple[str, ...],
        settings: EnsembleParams,
        meant: MeantTexts | None = None,
        all_rows: int | None = None,
    ) -> Sides:
        """The sides of training rows, with models that were trained on them.

        said: where names stand in their texts; meant: the dense vectors of the texts; all_rows: of the data that the
        rows are a part of.
        """
        names = None
        if data.label_stems is not None and data.feature_names is not None:
            names = LabelWords.of(data.label_stems, data.feature_names, data.x).judged(data.x, data.y)
        counts = np.bincount(data.y.indices, minlength=data.n_labels).astype(np.int64)
        phrases = None
        if data.label_words is not None and said is not None:
            phrases = NamePhrases.of(data.label_words).judged(said, data.y)
        letters = None
        for view in views:
            if view.kind == CHARACTERS and phrases is not None:
                letters = LabelLetters.of(phrases.label_names, view, settings.n_threads)
        near, beside = NearRows.of(data.x, data.y), Together.of(data.y, data.label_words, settings.n_threads)
        network = Network.of(data.x, data.y, settings.seed, settings.n_threads, all_rows)
        learned = shared(
            "learned",
            lambda: [data.x, data.y, settings.seed, network is not None, all_rows],
            lambda: LearnedRows.of(data.x, data.y, settings.seed, network, settings.n_threads, all_rows),
        )
        dense = dense_network = None
        if meant is not None:
            dense = DenseRows.of(meant, data.y, settings.n_threads)
            dense_network = Network.of(as_columns(meant.rows), data.y, settings.seed, settings.n_threads, all_rows)
        return cls(
            models,
            near,
            names,
            beside,
            counts,
            phrases,
            views,
            letters,
            by_label,
            learned,
            network,
            dense,
            settings.favour,
            dense_network,
        )

    def _units(self) -> tuple[npt.NDArray[np.int8], Floats, Floats]:
        """(table, scales, biases) of the hidden units by which the learned space places rows; there may be none."""
        if self.network is None:
            nothing = np.zeros(0, np.float32)
            return np.zeros((self.n_features, 0), np.int8), np.zeros(self.n_features, np.float32), nothing
        return self.network.first, self.network.first_scale, self.network.first_bias

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        return column_names(self.model_names, self.learned is not None, self.dense is not None)

    def without(self, *kinds: str) -> Sides:
        """The same sides without some kinds of views and their models, or without dense vectors and what sees them."""
        left_out = {*kinds, WITH_WORDS} if MEANING in kinds else set(kinds)
        seen_by = ("words", *self.kinds, *self.by_label)
        models = tuple(model for model, seen in zip(self.models, seen_by, strict=True) if seen not in left_out)
        views = tuple(view for view in self.views if view.kind not in left_out)
        by_label = tuple(seen for seen in self.by_label if seen not in left_out)
        letters = None if CHARACTERS in left_out else self.letters
        kept = replace(self, models=models, views=views, by_label=by_label, letters=letters)
        return replace(kept, dense=None, dense_network=None) if MEANING in left_out else kept

    @property
    def model_names(self) -> tuple[str, ...]:
        """What each model is called; the networks come last."""
        by_label = (f"{seen}{BY_LABEL}" for seen in self.by_label)
        of_features = [NETWORK] if self.network is not None else []
        of_meaning = [DENSE_NETWORK] if self.dense_network is not None else []
        return "words", *self.kinds, *by_label, *of_features, *of_meaning

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks that there are, of features and of dense vectors."""
        return tuple(network for network in (self.network, self.dense_network) if network is not None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the views."""
        return tuple(view.kind for view in self.views)

    def by_kind(self) -> dict[str, Fitted[Any]]:
        """The model of words and that of each view, by what it sees."""
        return dict(zip(("words", *self.kinds), self.models, strict=False))

    def label_weights(self) -> Floats:
        """What the chance of each label is multiplied with, at most 1: propensities to the power of `favour`.

        To sort by chance / propensity is the best order for propensity-scored precision.
        """
        inverse = inverse_propensity(self.label_counts, n_train=self.near.y.shape[0])
        return np.asarray((inverse / inverse.max()) ** self.favour, np.float32)

    # answering

    def rows(self, x: sparse.csr_matrix, texts: Sequence[str] | None, n_threads: int | None) -> sparse.csr_matrix:
        """What the sides see of features and texts; DataError if texts are needed and missing."""
        if not self.reads_texts:
            return x
        if texts is None:
            raise DataError(
                "this Ensemble was trained on texts beside features, but is asked with features alone: give a Dataset "
                "with both, or use labelwood.Tagger"
            )
        try:
            starts, columns, values = self._text_rows.rows(
                row_pointers(x), column_ids(x), x.data, tuple(texts), n_threads or 0
            )
        except (TypeError, ValueError) as error:
            raise blamed(tuple(texts)) or error from None
        width = self._first_said + self._n_said
        if self.dense is None:
            return unchecked_rows(values, columns, starts, (x.shape[0], width))
        meant = self.dense.vectors(texts, n_threads)
        if len(meant) != 1:
            made = unchecked_rows(values, columns, starts, (x.shape[0], width))
            return beside_each_other([made, as_columns(meant)])
        # One row: to put matrices side by side would cost more than the search.
        columns = np.concatenate([columns, np.arange(width, width + meant.shape[1], dtype=np.int32)])
        values = np.concatenate([values, meant[0]])
        return unchecked_rows(values, columns, np.array([0, len(columns)]), (1, width + meant.shape[1]))

    @cached_property
    def _text_rows(self) -> TextRowMaker:
        """What makes rows of features and texts, natively."""
        made = TextRowMaker(self.n_features)
        for view in self.views:
            view.look_for(made)
        if self.phrases is not None:
            self.phrases.look_for(made)
        return made

    @property
    def _n_said(self) -> int:
        """The columns that say where names stand in texts."""
        return 0 if self.phrases is None else name_phrases.N_BLOCKS * len(self.label_counts)

    def table(self, rows: sparse.csr_matrix, n_threads: int | None) -> tuple[Keys, Floats]:
        """(keys row * n_labels + label of all candidates, rising; what is known of each, (n, columns))."""
        counts, labels, table = self._native.table(*self._asked(rows, n_threads))
        places = np.repeat(np.arange(rows.shape[0], dtype=np.int64), counts)
        return places * len(self.label_counts) + labels, table

    def again(self, keys: Keys, chances: Floats, n_threads: int | None) -> Floats:
        """(n, columns of AGAIN): what the chances of candidates, whose keys rise, say of each in its row."""
        n_labels = len(self.label_counts)
        rows, labels = keys // n_labels, (keys % n_labels).astype(np.int32)
        columns = np.empty((len(keys), len(AGAIN)), np.float32)
        counts = np.bincount(rows).astype(np.int64)
        self._native.look_again(counts, labels, chances, n_threads or 0, columns)
        return columns

    def best(
        self,
        rows: sparse.csr_matrix,
        k: int,
        ranker: BoostedTrees,
        n_threads: int | None,
        first: BoostedTrees | None = None,
    ) -> TopK:
        """The k candidates of every row that the ranker finds most likely, with their probabilities, and its nearness.

        first: a ranker whose chances the other one sees.
        """
        closest = np.empty(rows.shape[0], np.float32)
        best = empty(rows.shape[0], k, closest)
        asked = self._asked(rows, n_threads)
        before = None if first is None else first.native
        self._native.top_k(ranker.native, before, *asked, best.labels, best.scores, closest)
        return best

    def seen(self, rows: sparse.csr_matrix, model: int) -> sparse.csr_matrix:
        """The columns that one of the models sees."""
        if model >= len(self.models) - len(self.by_label) and self.by_label[model - len(self.models)] == WITH_WORDS:
            return with_words(rows[:, : self.n_features], self._vectors(rows))
        begin, end = self._columns[model]
        return rows if (begin, end) == (0, rows.shape[1]) else rows[:, begin:end]

    def _vectors(self, rows: sparse.csr_matrix) -> sparse.csr_matrix:
        """The columns of the dense vectors."""
        first = self._first_said + self._n_said
        if rows.shape[0] != 1:
            return rows[:, first:]
        begin = int(np.searchsorted(rows.indices, first))
        columns = column_ids(rows)[begin:] - np.int32(first)
        return unchecked_rows(rows.data[begin:], columns, np.array([0, len(columns)]), (1, rows.shape[1] - first))

    def _answers(self, rows: sparse.csr_matrix, k: int, n_threads: int | None) -> tuple[Int32, Floats]:
        """(labels, scores), both (n, models * k): the k best labels that each of the models gives each row."""
        if rows.shape[0] == 1:
            return self._answers_of_one(rows, k, n_threads)
        answers = [model.predict(self.seen(rows, place), k, n_threads) for place, model in enumerate(self.models)]
        answers += self._of_networks(rows, k, n_threads)
        return np.hstack([top.labels for top in answers]), np.hstack([top.scores for top in answers])

    def _answers_of_one(self, rows: sparse.csr_matrix, k: int, n_threads: int | None) -> tuple[Int32, Floats]:
        """The same for one row: matrices of their own would cost more than the answers."""
        together = empty(1, k * len(self.model_names))
        labels, scores = together.labels[0], together.scores[0]
        for place, model in enumerate(self.models):
            if isinstance(model, FittedLinearTree):
                begin, end = self._columns[place]
                first, last = rows.indices.searchsorted((begin, end))
                best, said = model.query(rows.indices[first:last] - np.int32(begin), rows.data[first:last], k)
            else:
                top = model.predict(self.seen(rows, place), k, n_threads)
                best, said = top.labels[0], top.scores[0]
            labels[place * k : place * k + len(best)], scores[place * k : place * k + len(best)] = best, said
        for place, top in enumerate(self._of_networks(rows, k, n_threads), start=len(self.models)):
            labels[place * k : (place + 1) * k], scores[place * k : (place + 1) * k] = top.labels[0], top.scores[0]
        return together.labels, together.scores

    def _of_networks(self, rows: sparse.csr_matrix, k: int, n_threads: int | None) -> list[TopK]:
        """The k best labels that each network gives each row."""
        answers = [] if self.network is None else [self.network.best(rows, k, n_threads)]
        if self.dense_network is not None:
            answers.append(self.dense_network.best(self._vectors(rows), k, n_threads))
        return answers

    @property
    def widths(self) -> list[int]:
        """The number of columns that each of the models sees."""
        return [end - begin for begin, end in self._columns]

    @cached_property
    def _columns(self) -> tuple[tuple[int, int], ...]:
        """The first column of each model's, and the one behind its last."""
        columns, end = [(0, self.n_features)], self.n_features
        for view in self.views:
            columns.append((0 if view.kind == PAIRS else end, end + view.n_columns))
            end += view.n_columns
        seen = dict(zip(("words", *self.kinds), columns, strict=True))
        if self.dense is not None:  # its columns are in two places, see `seen`; here is how many they are
            seen[WITH_WORDS] = (0, self.n_features + self.dense.width)
        return *columns, *(seen[what] for what in self.by_label)

    @property
    def _first_said(self) -> int:
        """The first column that says where names stand in texts."""
        return self.n_features + sum(view.n_columns for view in self.views)

    def _asked(self, rows: sparse.csr_matrix, n_threads: int | None) -> Asked:
        """The rows and the models' answers to them, as the kernels take them."""
        k = min(MODEL_LABELS, len(self.label_counts))
        labels, scores = self._answers(rows, k, n_threads)
        return (
            row_pointers(rows), column_ids(rows), rows.data, self._first_said, labels, scores, len(self.model_names),
            n_threads or 0,
        )  # fmt: skip
