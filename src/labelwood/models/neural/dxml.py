"""DXML: a network maps rows into the space of label vectors; the labels come from the nearest training rows there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import ModelFileError
from labelwood.labelindex.graph import checked_graph, label_graph
from labelwood.labelspace.classes import Classes
from labelwood.labelspace.growth import grown_labels
from labelwood.matrices import normalized_rows
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn, checked_input
from labelwood.models.fitted import Fitted
from labelwood.models.neural.dxml_params import PRESETS, DXMLParams
from labelwood.models.neural.forward import ENCODER, bag_forward, check_encoder, dense_product, unit_rows
from labelwood.models.neural.label_targets import graph_vectors, label_dim, new_label_vectors, row_targets
from labelwood.models.neural.neighbor_votes import NEIGHBORS, VoteRule, best_labels, chosen_rule, vote_weights, voted
from labelwood.models.neural.point_index import POINTS, PointIndex, kmeans_centroids
from labelwood.models.neural.runtime import require_torch
from labelwood.progress import SILENT, Progress
from labelwood.storage.schema import ArrayRule, Arrays, Schema, number, part, prefixed, under, whole_number
from labelwood.topk import TopK

D = TypeVar("D", bound="DXML")
Floats = npt.NDArray[np.float32]
POINTS_PER_CLUSTER = 5_000
MOST_VALIDATION_ROWS = 2_000
FEWEST_VALIDATION_ROWS = 30  # a vote rule chosen on fewer is chance
MOST_MODELS = 64
ROWS_AT_ONCE = 4_096
FALLBACK = VoteRule(10, 0.1, 0.0)
_INDEX = "index."
# The hidden layer is an encoder; the last one leads to the label vectors' space.
NETWORK: Schema = {
    **ENCODER,
    "out": ArrayRule("float32", ("n_hidden", "n_out")),
    "out_bias": ArrayRule("float32", ("n_out",)),
}


@dataclass(frozen=True, eq=False)
class FittedDXML(Fitted[DXMLParams]):
    """Networks, the label vectors they aim at, the training rows as points with their labels, and how those vote.

    n_trained_labels: the labels that were there when the networks were trained; later ones follow.
    """

    name = "dxml"
    networks: tuple[Arrays, ...]
    label_vectors: Floats
    n_trained_labels: int
    index: PointIndex
    rule: VoteRule
    training: Mapping[str, float | None]

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels with the most votes of each row's neighbours; labels without a vote are no answers."""
        rows = network_rows(x, self.settings)
        parts = [
            self._answers(rows[begin : begin + ROWS_AT_ONCE], k, n_threads)
            for begin in range(0, rows.shape[0], ROWS_AT_ONCE)
        ]
        return TopK(np.vstack([part.labels for part in parts]), np.vstack([part.scores for part in parts]))

    def _answers(self, rows: sparse.csr_matrix, k: int, n_threads: int | None) -> TopK:
        queries, ids, cosines = self._neighbors(rows, n_threads)
        return best_labels(voted(ids, cosines, self.index.y, self.rule, queries, self._label_points), k)

    def _neighbors(
        self, rows: sparse.csr_matrix, n_threads: int | None
    ) -> tuple[Floats, npt.NDArray[np.int32], Floats]:
        """(points of the rows, ids of the nearest training points, cosines with them)."""
        queries = embedded(self.networks, rows, n_threads)
        return (queries, *self.index.nearest(queries, self.rule.k, self.settings.nprobe, n_threads))

    @cached_property
    def _label_points(self) -> Floats:
        """The label vectors in the space of the points, which the blend compares."""
        n_models = len(self.networks)
        if n_models == 1 or not self.rule.blend:
            return self.label_vectors
        return np.asarray(np.tile(self.label_vectors, n_models) * np.float32(n_models**-0.5), np.float32)

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The neighbours that vote for the label, each with the weight of its vote, and what the blend adds."""
        queries, ids, cosines = self._neighbors(network_rows(row, self.settings), n_threads)
        weights = vote_weights(cosines, self.rule.temperature)[0]
        y = self.index.y
        parts = [
            Contribution(0, -1, weight, 1.0, weight, row=int(self.index.rows[place]))
            for place, weight in zip(ids[0].tolist(), weights.tolist(), strict=True)
            if place >= 0 and label in y.indices[y.indptr[place] : y.indptr[place + 1]]
        ]
        if parts and self.rule.blend:
            cosine = max(0.0, float((queries[0] * self._label_points[label]).sum(dtype=np.float64)))
            parts.append(Contribution(0, -1, cosine, self.rule.blend, cosine * self.rule.blend))
        score = math.fsum(part.contribution for part in parts)
        log_score = math.log(score) if score > 0 else -math.inf
        return Explanation(label, score, (NodeScore(0, score, log_score),), tuple(parts))

    def probabilities(self, scores: Floats) -> Floats:
        """The scores as shares of the largest that there can be: all votes, and a blended cosine of 1."""
        return np.asarray(np.clip(scores / np.float32(1 + self.rule.blend), 0, 1), np.float32)

    def structure(self) -> dict[str, float]:
        """How many points, clusters and votes there are, and how even the clusters."""
        sizes = np.diff(self.index.starts)
        return {
            "points": float(len(self.index)),
            "clusters": float(len(sizes)),
            "largest cluster": float(sizes.max(initial=0)),
            "neighbours that vote": float(self.rule.k),
            "vector length": float(self.index.store.dim),
        }

    # more rows and labels

    def grown(self, x: sparse.csr_matrix, y: sparse.csr_matrix, classes: Classes, n_threads: int | None) -> FittedDXML:
        """The state with more rows to answer from; y has the columns of classes, the known ones first."""
        labelled = np.flatnonzero(np.diff(y.indptr))
        points = embedded(self.networks, network_rows(x, self.settings)[labelled], n_threads)
        n_rows = self.trained_on.n_rows
        index = self.index.grown(points, y[labelled], n_rows + labelled)
        vectors = self.label_vectors[: self.n_trained_labels]
        if classes.n > self.n_trained_labels:
            added = new_label_vectors(index.y, vectors, classes.n - self.n_trained_labels)
            vectors = np.concatenate([vectors, added])
        counts = np.bincount(index.y.indices, minlength=classes.n).astype(np.int64)
        trained_on = replace(self.trained_on, n_rows=n_rows + int(x.shape[0]), label_counts=counts, classes=classes)
        return replace(self, trained_on=trained_on, label_vectors=vectors, index=index)

    def without(self, rows: npt.NDArray[np.int64]) -> FittedDXML:
        """The state in which some training rows, by their numbers, no longer vote."""
        index = self.index.without(rows)
        counts = np.bincount(index.y.indices, minlength=self.n_labels).astype(np.int64)
        return replace(self, trained_on=replace(self.trained_on, label_counts=counts), index=index)

    # storage

    @classmethod
    def schema(cls, settings: DXMLParams, facts: Mapping[str, Any]) -> Schema:
        """The label vectors, every network and the points."""
        rules = {"label_vectors": ArrayRule("float32", ("n_labels", "n_vector")), **under(_INDEX, POINTS)}
        for prefix in _network_names(whole_number(facts, "n_models", 1, MOST_MODELS, cls.name)):
            rules |= under(prefix, NETWORK)
        return rules

    def arrays(self) -> Arrays:
        """The label vectors, the networks and the points."""
        arrays: Arrays = {"label_vectors": self.label_vectors}
        for prefix, network in zip(_network_names(len(self.networks)), self.networks, strict=True):
            arrays |= prefixed(prefix, network)
        return arrays | prefixed(_INDEX, self.index.arrays())

    def facts(self) -> dict[str, Any]:
        """How neighbours vote, how many networks and trained labels there are, and what training reached."""
        temperature = self.rule.temperature
        return {
            "n_neighbors": self.rule.k,
            "temperature": None if math.isinf(temperature) else temperature,  # JSON has no infinity
            "blend": self.rule.blend,
            "n_models": len(self.networks),
            "n_trained_labels": self.n_trained_labels,
            **self.training,
        }

    @classmethod
    def restore(
        cls, settings: DXMLParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedDXML:
        """The state of saved networks and points; ModelFileError if they do not fit together."""
        vectors = arrays["label_vectors"]
        n_models = whole_number(facts, "n_models", 1, MOST_MODELS, cls.name)
        networks = tuple(part(prefix, arrays) for prefix in _network_names(n_models))
        for network in networks:
            encoder = {name: array for name, array in network.items() if name in ENCODER}
            hidden = check_encoder(encoder, trained_on.n_features, cls.name)
            if ("outer" in encoder) != (settings.nonlinear and settings.residual):
                raise ModelFileError("dxml: the hidden layer is not the one that the parameters ask for")
            if network["out"].shape != (hidden, vectors.shape[1]):
                raise ModelFileError(
                    f"dxml: the last layer is {network['out'].shape}, not {(hidden, vectors.shape[1])}"
                )
        index = PointIndex.restore(part(_INDEX, arrays), trained_on.n_labels, n_models * vectors.shape[1])
        rule = VoteRule(
            whole_number(facts, "n_neighbors", 1, 1 << 30, cls.name),
            math.inf if facts["temperature"] is None else number(facts, "temperature", 0, cls.name, low_open=True),
            number(facts, "blend", 0, cls.name),
        )
        n_trained = whole_number(facts, "n_trained_labels", 0, trained_on.n_labels, cls.name)
        training = {name: facts[name] for name in ("validation_p1", "loss")}
        return cls(settings, trained_on, networks, vectors, n_trained, index, rule, training)


class DXML(Model[DXMLParams, FittedDXML]):
    """Label vectors from the label graph, a network that regresses to their mean, k nearest rows vote.

    Zhang et al., "Deep extreme multi-label learning", ICMR 2018. A score is the share of votes (plus `blend` times the
    label's own cosine). `partial_fit` adds rows and labels without training. Prediction needs no torch.
    """

    name = "dxml"
    Parameters = DXMLParams
    FittedState = FittedDXML
    PRESETS = PRESETS
    explains_by_rows = True

    def fit(
        self: D,
        x: Any,
        y: Any = None,
        *,
        label_graph: Any = None,
        groups: Any = None,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> D:
        """The model itself, trained on features x and labels y, or a Dataset.

        label_graph: symmetric weights (n_labels, n_labels) instead of co-occurrence, such as a hierarchy
        (labelindex.graph.edge_graph). groups, memory: see Model.fit.
        """
        return self._learn(checked_input(x, y, label_graph=label_graph, groups=groups, progress=progress), memory)

    def partial_fit(self: D, x: Any, y: Any = None) -> D:
        """The model itself with more rows, and perhaps more labels, to answer from; the network stays as it is.

        y may have labels that are new: more columns than before, or new ids or names. Their vectors are the mean of
        the labels they occur with. Adding rows one by one or all at once gives the same model, if the columns are the
        same. An untrained model is trained.
        """
        if self._fitted is None:
            return self.fit(x, y)
        state = self.fitted_
        data = checked_input(x, y, what="partial_fit")
        known = state.trained_on.classes
        labels, classes = grown_labels(known, data.y, data.classes, by_column=isinstance(x, Dataset))
        self._fitted = state.grown(self._checked_features(x), labels, classes, self._threads())
        return self

    @staticmethod
    def _train(settings: DXMLParams, data: FitInput) -> FittedDXML:
        require_torch("dxml")
        rows, y = network_rows(data.x, settings), data.y
        if data.label_graph is None:
            graph = label_graph(y, weighted=settings.weighted, self_weight=settings.self_weight, seed=settings.seed)
        else:
            graph = checked_graph(data.label_graph, data.n_labels)
        data.progress.step("label vectors", 0, 1)
        vectors, lengths = graph_vectors(graph, rows, y, settings)
        data.progress.step("label vectors", 1, 1)
        labelled = np.flatnonzero(np.diff(y.indptr))
        rows, y = rows[labelled], y[labelled]
        groups = None if data.groups is None else data.groups[labelled]
        aims = vectors * lengths[:, None] if settings.targets == "raw" else vectors
        targets = row_targets(y, aims, unit=settings.out_norm and settings.targets == "unit")
        rule, p1 = _chosen_rule(rows, y, vectors, targets, settings, groups, data.progress)
        networks, loss = _trained_networks(rows, targets, settings, data.progress)
        index = _indexed(embedded(networks, rows, settings.n_threads), y, labelled, settings)
        training = {"validation_p1": p1, "loss": loss}
        return FittedDXML(settings, data.trained_on(), networks, vectors, len(vectors), index, rule, training)

    @staticmethod
    def _training_memory(settings: DXMLParams, data: FitInput) -> int:
        x, y, n_labels = data.x, data.y, data.n_labels
        dim = label_dim(settings.dim, n_labels)
        widths = settings.hidden * (x.shape[1] + settings.hidden + dim) * 4
        # Weights, their gradients and two moments; averaged weights; then the finished networks.
        network = widths * (4 + (settings.swa_start < 1)) + settings.n_models * widths
        points = x.shape[0] * dim * settings.n_models * 4 * 5
        graph = 16 * min(float(n_labels) ** 2, 60 * float((np.diff(y.indptr).astype(np.float64) ** 2).sum()))
        votes = ROWS_AT_ONCE * max(NEIGHBORS) * (16 + 12 * max(1, y.nnz // max(1, y.shape[0])))
        return int(network + points + graph + votes + 24 * x.nnz + (300 << 20))


def network_rows(x: sparse.csr_matrix, settings: DXMLParams) -> sparse.csr_matrix:
    """The rows as the networks read them: at length 1, or as they are."""
    return normalized_rows(x) if settings.normalize else x


def embedded(networks: Sequence[Arrays], rows: sparse.csr_matrix, n_threads: int | None) -> Floats:
    """The points (n, dim * n_models) of rows as the networks read them: unit vectors of all, side by side, of length 1.

    The product of two points is then the mean of the networks' cosines.
    """
    parts = []
    for network in networks:
        sums = dense_product(bag_forward(network, rows, n_threads), network["out"], n_threads)
        sums += network["out_bias"]
        parts.append(unit_rows(sums))
    if len(parts) == 1:
        return parts[0]
    return np.asarray(np.hstack(parts) * np.float32(len(parts) ** -0.5), np.float32)


def _network_names(n_models: int) -> list[str]:
    """What the names of each network's arrays begin with."""
    return [f"network{number}." for number in range(n_models)]


def _chosen_rule(
    rows: sparse.csr_matrix,
    y: sparse.csr_matrix,
    vectors: Floats,
    targets: Floats,
    settings: DXMLParams,
    groups: npt.NDArray[np.int64] | None,
    progress: Progress,
) -> tuple[VoteRule, float | None]:
    """(the rule by which neighbours vote, its P@1 on held-out rows): from one network that has not seen them."""
    from labelwood.models.neural.sampling import validation_split

    k, temperature, blend = fixed = (settings.n_neighbors, settings.temperature, settings.blend)
    if k is not None and temperature is not None and blend is not None:
        return VoteRule(k, temperature, blend), None
    seen, held = validation_split(
        rows.shape[0], settings.validation, settings.seed, MOST_VALIDATION_ROWS, groups=groups
    )
    if len(held) < FEWEST_VALIDATION_ROWS:
        return VoteRule(
            FALLBACK.k if k is None else k,
            FALLBACK.temperature if temperature is None else temperature,
            FALLBACK.blend if blend is None else blend,
        ), None
    networks, _ = _trained_networks(rows[seen], targets[seen], replace(settings, n_models=1), progress)
    index = _indexed(embedded(networks, rows[seen], settings.n_threads), y[seen], seen, settings)
    queries = embedded(networks, rows[held], settings.n_threads)
    width = k or min(max(NEIGHBORS), len(index))
    ids, cosines = index.nearest(queries, width, settings.nprobe, settings.n_threads)
    return chosen_rule(ids, cosines, index.y, queries, vectors, y[held], fixed)


def _trained_networks(
    rows: sparse.csr_matrix, targets: Floats, settings: DXMLParams, progress: Progress
) -> tuple[tuple[Arrays, ...], float]:
    """(the networks, their mean loss)."""
    from labelwood.models.neural.dxml_training import trained_network

    trained = [trained_network(rows, targets, settings, number, progress) for number in range(settings.n_models)]
    return tuple(arrays for arrays, _ in trained), float(np.mean([loss for _, loss in trained]))


def _indexed(points: Floats, y: sparse.csr_matrix, rows: npt.NDArray[np.int64], settings: DXMLParams) -> PointIndex:
    n_clusters = settings.n_clusters or max(1, len(points) // POINTS_PER_CLUSTER)
    centroids = kmeans_centroids(points, n_clusters, settings.seed, settings.n_threads)
    return PointIndex.of(points, y, np.asarray(rows, np.int64), centroids)
