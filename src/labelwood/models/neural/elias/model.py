"""ELIAS: labels found through a learned index of clusters; ELIAS++ with a sparse ranker and calibrated scores."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.matrices import normalized_rows
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.linear.linear_reasons import classifier_reasons, columns_of_ranks
from labelwood.models.linear.weight_blocks import ranked_rows, training_memory
from labelwood.models.mixing import mean_scores
from labelwood.models.neural.elias.analysis import decile_recall, label_deciles, recall_curve
from labelwood.models.neural.elias.calibration import HeldOut, Scoring, choose_scoring, held_out, hits_of, log_q
from labelwood.models.neural.elias.index import Floats, Int32, edges_above, strongest_edges
from labelwood.models.neural.elias.inputs import (
    BOTH,
    BOW,
    WIDTH_GUESS,
    TextReader,
    joined,
    saved_reader,
    texts_of,
)
from labelwood.models.neural.elias.ranker import (
    Ranker,
    judged_rows,
    ranker_of,
    ranker_plan,
)
from labelwood.models.neural.elias.search import CHUNK, LearnedIndex, UnitRows, top_of
from labelwood.models.neural.elias.settings import ELIASParams
from labelwood.models.neural.elias.sizes import index_sizes
from labelwood.models.neural.elias.tree_votes import Scored, TreeVotes, chosen_weight, trained_forests
from labelwood.models.neural.elias.zero_shot import ZeroShot, fit_zero_shot, spoken
from labelwood.models.neural.forward import unit_rows
from labelwood.models.neural.runtime import require_torch
from labelwood.progress import Progress
from labelwood.topk import TopK, empty

MIN_HELD_OUT = 50  # fewer held-out rows choose nothing
MAX_HELD_OUT = 4000
MAX_RUN, MIN_RUNS = 25, 80  # neighbouring rows that are held out together; of how many runs at least
_FIGURES = "figures."  # prefix of what was measured on held-out rows


@dataclass(frozen=True)
class Member:
    """One index of the ensemble, how its scores are made, and how many labels had to be inserted into it."""

    index: LearnedIndex
    scoring: Scoring
    n_inserted: int


class ELIAS(Model):
    """End-to-end learning to index and search in large output spaces (Gupta et al., NeurIPS 2022).

    An encoder gives each row a vector; clusters and their labels are found through a learned sparse graph; label
    classifiers and a sparse linear ranker score the labels found. Scores lie in 0..1.
    """

    name = "elias"
    Parameters = ELIASParams

    # training

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        require_torch("ELIAS")
        from labelwood.models.neural.elias.staged import Trainer
        from labelwood.models.neural.sampling import validation_split

        p = parameters
        self._reader: TextReader | None = None
        vectors = None
        run = min(MAX_RUN, max(1, int(x.shape[0] * p.validation) // MIN_RUNS))
        trained, kept = validation_split(x.shape[0], p.validation, p.seed, MAX_HELD_OUT, run)
        if len(kept) < MIN_HELD_OUT or not (p.ranker or p.calibration):
            trained, kept = np.arange(x.shape[0]), np.zeros(0, np.int64)
        if p.encoder != BOW:
            texts = texts_of(self._words.texts, p.encoder, "fit")
            self._reader = TextReader(p.text_model, p.max_tokens, p.n_threads)
            if p.tune_epochs:
                self._reader.tune([texts[row] for row in trained], y[trained], p.tune_epochs, p.seed, progress)
            vectors = self._reader.vectors(texts, progress)
        rows = normalized_rows(joined(x, vectors, p.encoder))
        self.zero_shot_ = self._taught_names(vectors, y, p) if p.zero_shot else None
        counts = np.bincount(y.indices, minlength=y.shape[1]).astype(np.int64)
        sizes = index_sizes(y.shape[1], p)
        stages = [
            Trainer(rows[trained], y[trained], sizes, p, p.seed + number, progress).run()
            for number in range(p.n_models)
        ]
        indexes = [stage.learned for stage in stages]
        self.ranker_: Ranker | None = None
        self.votes_: TreeVotes | None = None
        self.held_out_: Arrays = {}
        self.candidates_, self.C_ = 0, 0.0
        scorings = [Scoring()] * p.n_models
        if p.ranker:
            plan = ranker_plan(rows, y, x.shape[1] if p.encoder == BOTH else rows.shape[1], p, progress)
            self.C_ = plan.cost
            # Of labels that a classifier never saw as negatives its margins say little.
            self.candidates_ = min(p.candidates, y.shape[1]) if plan.all_negatives else 0
            self.ranker_ = ranker_of(rows[trained], y[trained], stages[0].partition, indexes, plan, p, progress)
        if len(kept):
            chosen = [
                _chosen_scoring(index, self.ranker_, self.candidates_, rows[kept], y[kept], counts, p)
                for index in indexes
            ]
            scorings = [pair[0] for pair in chosen]
            found = mean_scores([pair[1] for pair in chosen])
            if p.ranker and p.trees != 0:
                views = sorted({x.shape[1], rows.shape[1]}) if p.encoder == BOTH else [rows.shape[1]]
                found = self._take_votes(rows, y, views, trained, kept, found, p, progress)
            pairs = held_out(found[0], found[1].astype(np.float32), None, y[kept])
            self.held_out_ = _figures(pairs, found[1], counts)
            if self.zero_shot_ is not None:
                self.zero_shot_ = self.zero_shot_.on_the_scale_of(found[1], pairs.truth)
            if p.ranker:  # now that the scoring is chosen, the ranker learns from all rows
                every, start = np.concatenate([trained, kept]), (self.ranker_, len(trained))
                self.ranker_ = ranker_of(rows[every], y[every], stages[0].partition, indexes, plan, p, progress, *start)
        self.members_ = [
            Member(stage.learned, scoring, stage.n_inserted) for stage, scoring in zip(stages, scorings, strict=True)
        ]
        self.partition_ = stages[0].partition
        self.first_stage_ = stages[0].first  # to compare with; not saved

    def _take_votes(
        self,
        rows: sparse.csr_matrix,
        y: sparse.csr_matrix,
        views: list[int],
        trained: npt.NDArray[np.int64],
        kept: npt.NDArray[np.int64],
        found: Scored,
        parameters: Any,
        progress: Progress,
    ) -> Scored:
        """What was found for the rows held out, with the votes of linear trees; they join if these rows want them."""
        n_trees = parameters.n_models if parameters.trees is None else parameters.trees
        forests = trained_forests(rows[trained], y[trained], views, n_trees, parameters, progress)
        weight = chosen_weight(forests, rows[kept], y[kept], found)
        if not weight:
            return found
        self.votes_ = TreeVotes(trained_forests(rows, y, views, n_trees, parameters, progress), weight)
        return TreeVotes(forests, weight).added(rows[kept], *found)

    def _taught_names(self, vectors: Any, y: sparse.csr_matrix, parameters: Any) -> ZeroShot | None:
        """What finds labels without rows by their names; None if there are no such labels."""
        if self._reader is None or vectors is None:
            raise ParamError("zero_shot compares texts with label names: it needs encoder='minilm' or 'both'")
        if self._words.label_names is None:
            raise DataError("zero_shot needs the names of the labels, but the data has none")
        return fit_zero_shot(vectors, y, self._reader.vectors(spoken(self._words.label_names)), parameters.seed)

    @property
    def reads_texts(self) -> bool:
        """True unless the encoder is "bow"."""
        fitted = getattr(self, "parameters_", None)
        return bool((fitted.encoder if fitted is not None else self.get_params()["encoder"]) != BOW)

    def _checked_features(self, x: Any) -> sparse.csr_matrix:
        if self._reader is None:
            return x if self._is_plain(x) else super()._checked_features(x)
        features = super()._checked_features(x)
        texts = texts_of(x.texts if isinstance(x, Dataset) else None, self.parameters_.encoder, "it")
        return joined(features, self._reader.vectors(texts), self.parameters_.encoder)

    def _is_plain(self, x: Any) -> bool:
        """True for a CSR matrix that the kernels can take as it is: a single query is spared the general checks."""
        return bool(
            type(x) is sparse.csr_matrix
            and x.shape[1] == self.n_features_
            and x.data.dtype == np.float32
            and x.indptr[-1] == len(x.data)
            and x.has_canonical_format
            and math.isfinite(float(np.dot(x.data, x.data)))
        )

    def _n_inputs(self) -> int:
        """The columns that encoder and ranker see."""
        if self._reader is None:
            return self.n_features_
        return self._reader.width + (self.n_features_ if self.parameters_.encoder == BOTH else 0)

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        # weights, two moments, a gradient and the copy that is kept, of feature table and label classifiers
        tables = (
            20 * parameters.dim * (x.shape[1] + y.shape[1])
            + 4 * parameters.dim * (parameters.n_models + 1) * x.shape[1]
        )
        # [features, vectors] of all rows, and the label vectors made from them
        vectors = 16 * parameters.dim * (x.shape[0] + y.shape[1])
        if parameters.encoder != BOW:  # text vectors as sparse columns, a few copies of them, and their weights
            vectors += 60 * WIDTH_GUESS * (x.shape[0] + y.shape[1]) + 500_000_000
        return int(tables + vectors + training_memory(x, y, parameters.n_threads, per_weight=60) + 200_000_000)

    # answering

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        top = empty(x.shape[0], k)
        for first in range(0, x.shape[0], CHUNK):
            rows = slice(first, min(first + CHUNK, x.shape[0]))
            self._answer(x if x.shape[0] <= CHUNK else x[rows], top.labels[rows], top.scores[rows])
        return top

    def _answer(self, x: sparse.csr_matrix, labels: Int32, scores: npt.NDArray[np.float32]) -> None:
        """Fill in the best labels of some rows."""
        if self.zero_shot_ is not None or len(self.members_) > 1:
            found, best = top_of(*self._scored(x), labels.shape[1])
            labels[:, : found.shape[1]], scores[:, : found.shape[1]] = found, best
            return
        member = self.members_[0]
        short, log_p, margins = self._judged(member, UnitRows(x))
        votes = None
        if self.votes_ is not None:
            top = self.votes_.given(x)
            votes = self.votes_.weight, top.labels, top.scores
        member.scoring.fill_top((short, log_p), margins, self.label_counts_, labels, scores, votes)

    def _judged(self, member: Member, rows: UnitRows) -> tuple[Int32, Floats, Floats | None]:
        return judged_rows(member.index, self.ranker_, rows, self.candidates_, self.parameters_.n_threads)

    def _scored(self, x: sparse.csr_matrix) -> tuple[Int32, npt.NDArray[np.float64]]:
        """(labels ascending with -1 last, scores), both (n, m): what any member shortlists, with mean scores."""
        rows = UnitRows(x)
        found = [self._member_scores(member, rows) for member in self.members_]
        labels, scores = found[0] if len(found) == 1 else mean_scores(found)
        if self.votes_ is not None:
            labels, scores = self.votes_.added(x, labels, scores)
        if self.zero_shot_ is None or self._reader is None:
            return labels, scores
        vectors = unit_rows(x[:, self._n_inputs() - self._reader.width :].toarray())
        return self.zero_shot_.added(labels, scores, vectors, self.parameters_.n_threads)

    def _member_scores(self, member: Member, rows: UnitRows) -> tuple[Int32, npt.NDArray[np.float64]]:
        labels, log_p, margins = self._judged(member, rows)
        logs = None if margins is None else log_q(margins)
        return labels, member.scoring.scores(log_p, logs, self.label_counts_[np.maximum(labels, 0)])

    # explanations

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        """Node 0: the ranker with the row's features, node 1: the index, node 2: calibration, trees and ensemble."""
        labels, scores = self._scored(row)
        at = np.flatnonzero(labels[0] == label)
        score = float(np.float32(scores[0, at[0]])) if len(at) else 0.0
        member = self.members_[0]
        short, logs, _ = self._judged(member, UnitRows(row))
        own = np.flatnonzero(short[0] == label)
        log_p = float(logs[0, own[0]]) if len(own) else -math.inf
        nodes, parts, told = [], [], 0.0
        if self.ranker_ is not None:
            ranked = ranked_rows(row, self.ranker_.feature_rank, True)
            columns = columns_of_ranks(self.ranker_.feature_rank, self.ranker_.blocks.n_features)
            parts = classifier_reasons(self.ranker_.blocks, int(self.ranker_.place[label]), 0, ranked, columns)
            margin = math.fsum(part.contribution for part in parts)
            if self._reader is not None:
                parts = _without_text_columns(parts, self._n_inputs() - self._reader.width)
            told = member.scoring.power_q * float(log_q(np.array([margin], np.float32))[0])
            nodes.append(NodeScore(0, margin, told))
        from_index = member.scoring.power_p * log_p if len(own) else -math.inf
        nodes.append(NodeScore(1, from_index, from_index))
        parts.append(Contribution(1, -1, 1.0, from_index, from_index))
        if score > 0 and math.isfinite(from_index):
            rest = math.log(score) - told - from_index
            nodes.append(NodeScore(2, rest, rest))
            parts.append(Contribution(2, -1, 1.0, rest, rest))
        return Explanation(label, score, tuple(nodes), tuple(parts))

    # figures

    def structure(self) -> dict[str, float]:
        """Clusters, edges and how they are used, of the first index."""
        self._check_fitted()
        index = self.members_[0].index
        real = index.edges >= 0
        scores = index.edge_scores[real]
        homes = np.bincount(index.edges[real & (index.edge_scores > 0.25)], minlength=self.n_labels_)
        return {
            "indexes": len(self.members_),
            "clusters": len(index.edges),
            "edges": int(real.sum()),
            "edges above 0.25": int((scores > 0.25).sum()),
            "clusters of a label, above 0.25": float(homes.mean()),
            "beam": index.beam,
            "shortlist": index.room,
            "vector length": int(index.label_weight.shape[1]),
            "power of p": self.members_[0].scoring.power_p,
            "C of the ranker": self.C_,
            "weight of the calibration tree": self.members_[0].scoring.weight,
            "linear trees": 0 if self.votes_ is None else self.votes_.n_trees,
            "weight of the linear trees": 0.0 if self.votes_ is None else self.votes_.weight,
        }

    def pruned(self, *, threshold: float | None = None, top: int | None = None, renormalize: bool = False) -> ELIAS:
        """A copy whose clusters keep only edges with a score from `threshold` up, or their `top` strongest edges.

        renormalize: the softmax of a cluster is taken over the edges that remain (as in the authors' code) instead of
        keeping their scores (as in the paper). Labels that lose all edges are never found.
        """
        self._check_fitted()
        if (threshold is None) == (top is None):
            raise ParamError("pruned takes a threshold or a number of edges (top), one of them")
        members = []
        for member in self.members_:
            index = member.index
            keep = (
                strongest_edges(index.edges, index.edge_scores, int(top))
                if top is not None
                else edges_above(index.edges, index.edge_scores, float(threshold or 0))
            )
            members.append(replace(member, index=index.pruned(keep, renormalize)))
        found = copy.copy(self)
        found.members_ = members
        return found

    # storage

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"partition": self.partition_}
        arrays |= {_FIGURES + name: array for name, array in self.held_out_.items()}
        for number, member in enumerate(self.members_):
            arrays |= member.index.to_arrays(f"index{number}.")
            arrays |= member.scoring.to_arrays(f"scoring{number}.")
        if self._reader is not None:
            arrays |= self._reader.to_arrays()
        if self.zero_shot_ is not None:
            arrays |= self.zero_shot_.to_arrays()
        if self.ranker_ is not None:
            arrays |= self.ranker_.to_arrays()
        if self.votes_ is not None:
            arrays |= self.votes_.to_arrays()
        return arrays

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "inserted": [member.n_inserted for member in self.members_],
            "candidates": self.candidates_,
            "C": self.C_,
        }
        if self._reader is not None:
            facts["text_encoder"] = self._reader.facts
        if self.votes_ is not None:
            facts["trees"] = self.votes_.facts()
        return facts

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        inserted = facts["inserted"]
        n_models = self.parameters_.n_models
        if not isinstance(inserted, list) or len(inserted) != n_models or any(type(n) is not int for n in inserted):
            raise ModelFileError(f"elias: 'inserted' must hold {n_models} whole numbers, but is {inserted!r:.60}")
        self.candidates_ = facts.get("candidates", 0)  # models of before had none
        if type(self.candidates_) is not int or not 0 <= self.candidates_ <= self.n_labels_:
            raise ModelFileError(f"elias: {self.candidates_!r:.60} candidates for {self.n_labels_} labels")
        self.C_ = facts.get("C", self.parameters_.C or 0.0)  # models of before have it among the parameters
        if not isinstance(self.C_, (int, float)) or not 0 <= self.C_ < math.inf:
            raise ModelFileError(f"elias: the cost C must be a number from 0 up, but is {self.C_!r:.60}")
        partition = arrays["partition"]
        if partition.dtype != np.int32 or partition.shape != (self.n_labels_,):
            raise ModelFileError(f"elias: a partition of {partition.shape} for {self.n_labels_} labels")
        self._reader = saved_reader(facts, arrays, self.parameters_)
        self.partition_ = partition
        self.held_out_ = {name[len(_FIGURES) :]: array for name, array in arrays.items() if name.startswith(_FIGURES)}
        self.members_ = [
            Member(
                LearnedIndex.from_arrays(arrays, f"index{number}.", self._n_inputs(), self.n_labels_),
                Scoring.from_arrays(arrays, f"scoring{number}."),
                inserted[number],
            )
            for number in range(n_models)
        ]
        self.zero_shot_ = None
        if self._reader is not None and "zero_shot.labels" in arrays:
            self.zero_shot_ = ZeroShot.from_arrays(arrays, self._reader.width, self.n_labels_)
        self.ranker_ = None
        if self.parameters_.ranker:
            self.ranker_ = Ranker.from_arrays(arrays, self._n_inputs(), self.n_labels_)
        self.votes_ = None
        if "trees" in facts:
            self.votes_ = TreeVotes.from_saved(
                facts["trees"], arrays, self._n_inputs(), self.n_labels_, self.parameters_.n_threads
            )


def _without_text_columns(parts: list[Contribution], n_features: int) -> list[Contribution]:
    """The contributions with those of all text columns (from n_features on) as one, which belongs to no feature."""
    own = [part for part in parts if part.feature < n_features]
    of_text = math.fsum(part.contribution for part in parts if part.feature >= n_features)
    return [*own, Contribution(0, -1, 1.0, of_text, of_text)]


def _chosen_scoring(
    index: LearnedIndex,
    ranker: Ranker | None,
    n_candidates: int,
    rows: sparse.csr_matrix,
    y: sparse.csr_matrix,
    counts: npt.NDArray[np.int64],
    parameters: Any,
) -> tuple[Scoring, tuple[Int32, npt.NDArray[np.float64]]]:
    """(scoring of one index, chosen on held-out rows; their labels and scores)."""
    found, log_p, margins = judged_rows(index, ranker, rows, n_candidates, parameters.n_threads)
    logs = None if margins is None else log_q(margins)
    pairs = held_out(found, log_p, logs, y)
    scoring = choose_scoring(pairs, counts, calibrate=parameters.calibration)
    scores = scoring.scores(log_p, logs, counts[np.maximum(found, 0)])
    return scoring, (found, np.where(found < 0, 0.0, scores))


def _figures(pairs: HeldOut, scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> Arrays:
    """How well the scores of held-out pairs find the labels of their rows: recall by answers, and by decile."""
    labels, _ = top_of(pairs.labels, scores, 100)
    hits = hits_of(pairs, labels)
    return {
        "recall": recall_curve(hits, pairs.n_true),
        "deciles": decile_recall(labels, hits, pairs.n_true, label_deciles(counts)),
    }
