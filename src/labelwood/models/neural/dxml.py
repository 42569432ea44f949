"""DXML: a network maps rows into the space of label vectors; the labels come from the nearest training rows there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ModelFileError
from labelwood.labelindex.graph import checked_graph, label_graph
from labelwood.matrices import as_labels, check_same_rows, normalized_rows
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.neural.forward import bag_forward, check_encoder, dense_product, unit_rows
from labelwood.models.neural.label_targets import EMBEDDINGS, graph_vectors, label_dim, new_label_vectors, row_targets
from labelwood.models.neural.neighbor_votes import NEIGHBORS, VoteRule, best_labels, chosen_rule, vote_weights, voted
from labelwood.models.neural.point_index import PointIndex, kmeans_centroids
from labelwood.models.neural.runtime import DEVICES, require_torch
from labelwood.params import Params, param
from labelwood.progress import SILENT, Progress
from labelwood.topk import TopK

D = TypeVar("D", bound="DXML")
POINTS_PER_CLUSTER = 5_000
MOST_VALIDATION_ROWS = 2_000
FEWEST_VALIDATION_ROWS = 30  # a vote rule chosen on fewer is chance
ROWS_AT_ONCE = 4_096
FALLBACK = VoteRule(10, 0.1, 0.0)


@dataclass(frozen=True)
class DXMLParams(Params):
    """Parameters of DXML."""

    dim: int | None = param(
        None, "numbers in a label vector; None: as many as labels, at most 300", low=1, high=1 << 16, kind=int
    )
    embedding: str = param("netmf", "how label vectors come from the label graph", choices=EMBEDDINGS)
    weighted: bool = param(True, "edges weigh the number of rows with both labels; False: 1, as in the paper")
    self_weight: float = param(
        10.0, "a label is its own neighbour this many times as often as it occurs; 0: not at all", low=0, high=1e6
    )
    window: int = param(1, "steps of a walk that count as near", low=1, high=100)
    n_walks: int = param(10, "walks from every label (deepwalk)", low=1, high=10_000)
    walk_length: int = param(40, "labels in a walk (deepwalk)", low=2, high=10_000)
    hidden: int = param(512, "width of the hidden layer", low=1, high=1 << 16)
    nonlinear: bool = param(True, "ReLU after the hidden layer; False: a linear map")
    residual: bool = param(True, "the hidden layer also counts as it is, and what went through the ReLU corrects it")
    input_dropout: float = param(0.4, "share of the features that a training step leaves out", low=0, high=0.95)
    dropout: float = param(0.5, "share of the hidden units that a training step leaves out", low=0, high=0.95)
    out_norm: bool = param(True, "the network's vectors and its targets have length 1 while it learns")
    n_models: int = param(
        3, "networks side by side, each with its own seed; their cosines are averaged", low=1, high=64
    )
    epochs: int = param(20, "passes over the training rows", low=0, high=100_000)
    batch_size: int = param(128, "rows in a training step", low=1)
    optimizer: str = param(
        "even",
        "adam; even: adam, but feature weights by steps in proportion to their gradients; sgd: as in the paper",
        choices=("even", "adam", "sgd"),
    )
    learning_rate: float = param(0.002, "size of a training step", low=0, low_open=True)
    weight_decay: float = param(0.0, "pull of the weights to zero", low=0)
    swa_start: float = param(1.0, "share of the epochs after which weights are averaged; 1: never", low=0, high=1)
    n_clusters: int | None = param(
        None, "k-means parts of the training rows; None: one per 5,000 rows", low=1, high=1 << 20, kind=int
    )
    nprobe: int = param(4, "parts that are looked into", low=1)
    n_neighbors: int | None = param(
        None, "training rows that vote; None: chosen on held-out rows", low=1, high=100_000, kind=int
    )
    temperature: float | None = param(
        None,
        "a neighbour votes with exp(cosine / temperature), inf: all alike; None: chosen",
        low=0,
        low_open=True,
        kind=float,
    )
    blend: float | None = param(
        None, "weight of a label's own cosine beside the votes; None: chosen on held-out rows", low=0, kind=float
    )
    validation: float = param(0.1, "share of the rows held out to choose how neighbours vote", low=0, high=0.5)
    device: str = param("auto", "where the network is trained", choices=DEVICES)


class DXML(Model):
    """Label vectors from the label graph, a network that regresses to their mean, k nearest rows vote.

    Zhang et al., "Deep extreme multi-label learning", ICMR 2018. A score is the share of votes (plus `blend` times the
    label's own cosine). `partial_fit` adds rows and labels without training. Prediction needs no torch.
    """

    name = "dxml"
    Parameters = DXMLParams
    _label_graph: Any = None

    # training

    def fit(
        self: D,
        x: Any,
        y: Any = None,
        *,
        label_graph: Any = None,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> D:
        """The model itself, trained on features x and labels y, or a Dataset.

        label_graph: symmetric weights (n_labels, n_labels) instead of co-occurrence, such as a hierarchy
        (labelindex.graph.edge_graph). memory: see Model.fit.
        """
        self._label_graph = label_graph
        try:
            return super().fit(x, y, memory=memory, progress=progress)
        finally:
            del self._label_graph

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        require_torch("dxml")
        rows = normalized_rows(x)
        if self._label_graph is None:
            options = {"weighted": parameters.weighted, "self_weight": parameters.self_weight, "seed": parameters.seed}
            graph = label_graph(y, **options)
        else:
            graph = checked_graph(self._label_graph, y.shape[1])
        progress.step("label vectors", 0, 1)
        vectors = graph_vectors(graph, rows, y, parameters)
        progress.step("label vectors", 1, 1)
        labelled = np.flatnonzero(np.diff(y.indptr))
        rule, p1 = self._choose_rule(rows[labelled], y[labelled], vectors, parameters, progress)
        networks, loss = _networks(rows[labelled], y[labelled], vectors, parameters, progress)
        points = embedded(networks, rows[labelled], parameters.n_threads)
        index = _indexed(points, y[labelled], labelled, parameters)
        self._take(networks, vectors, vectors.shape[0], index, rule, {"validation_p1": p1, "loss": loss})

    def _choose_rule(
        self, rows: sparse.csr_matrix, y: sparse.csr_matrix, vectors: Any, parameters: Any, progress: Progress
    ) -> tuple[VoteRule, float | None]:
        """(the rule by which neighbours vote, its P@1 on held-out rows): from one network that has not seen them."""
        from labelwood.models.neural.sampling import validation_split

        fixed = (parameters.n_neighbors, parameters.temperature, parameters.blend)
        if None not in fixed:
            return VoteRule(*fixed), None
        seen, held = validation_split(rows.shape[0], parameters.validation, parameters.seed, MOST_VALIDATION_ROWS)
        if len(held) < FEWEST_VALIDATION_ROWS:
            k, temperature, blend = (
                given if given is not None else usual
                for given, usual in zip(fixed, (FALLBACK.k, FALLBACK.temperature, FALLBACK.blend), strict=True)
            )
            return VoteRule(int(k), temperature, blend), None
        one = dataclasses.replace(parameters, n_models=1)
        networks, _ = _networks(rows[seen], y[seen], vectors, one, progress)
        index = _indexed(embedded(networks, rows[seen], parameters.n_threads), y[seen], seen, parameters)
        queries = embedded(networks, rows[held], parameters.n_threads)
        width = parameters.n_neighbors or min(max(NEIGHBORS), len(index))
        ids, cosines = index.nearest(queries, width, parameters.nprobe, parameters.n_threads)
        return chosen_rule(ids, cosines, index.y, queries, vectors, y[held], fixed)

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        n_labels, dim = y.shape[1], label_dim(parameters.dim, y.shape[1])
        widths = parameters.hidden * (x.shape[1] + parameters.hidden + dim) * 4
        # Weights, their gradients and two moments; averaged weights; then the finished networks.
        network = widths * (4 + (parameters.swa_start < 1)) + parameters.n_models * widths
        points = x.shape[0] * dim * parameters.n_models * 4 * 5
        graph = 16 * min(float(n_labels) ** 2, 60 * float((np.diff(y.indptr).astype(np.float64) ** 2).sum()))
        votes = ROWS_AT_ONCE * max(NEIGHBORS) * (16 + 12 * max(1, y.nnz // max(1, y.shape[0])))
        return int(network + points + graph + votes + 24 * x.nnz + (300 << 20))

    # more rows and labels

    def partial_fit(self: D, x: Any, y: Any = None) -> D:
        """The model itself with more rows, and perhaps more labels, to answer from; the network stays as it is.

        y may have more columns than before: these labels are new, and their vectors are the mean of the labels they
        occur with. Adding rows one by one or all at once gives the same model. An untrained model is trained.
        """
        if not hasattr(self, "n_labels_"):
            return self.fit(x, y)
        names = None
        if isinstance(x, Dataset):
            if y is not None:
                raise DataError("partial_fit takes a Dataset alone, or x and y")
            names = None if x.label_names is None else tuple(x.label_names)
            x, y = x.features(), x.y
        elif y is None:
            raise DataError("partial_fit needs labels: partial_fit(x, y) or partial_fit(dataset)")
        features, labels = self._checked_features(x), as_labels(y)
        check_same_rows(features, labels)
        n_labels = labels.shape[1]
        if n_labels < self.n_labels_:
            raise DataError(f"y has {n_labels} labels, but the model already has {self.n_labels_}")
        self._check_new_names(names, n_labels)
        labelled = np.flatnonzero(np.diff(labels.indptr))
        points = embedded(self.networks_, normalized_rows(features)[labelled], self.parameters_.n_threads)
        index = self.index_.grown(points, labels[labelled], self.n_rows_ + labelled)
        trained = self.label_vectors_[: self.n_trained_labels_]
        vectors = trained
        if n_labels > self.n_trained_labels_:
            added = new_label_vectors(index.y, trained, n_labels - self.n_trained_labels_)
            vectors = np.concatenate([trained, added])
        self._take(self.networks_, vectors, self.n_trained_labels_, index, self.rule_, self.training_)
        self.n_rows_ += features.shape[0]
        self.n_labels_ = n_labels
        self.label_counts_ = np.bincount(index.y.indices, minlength=n_labels).astype(np.int64)
        if names is not None:
            self.label_names_ = names
        return self

    def _check_new_names(self, names: tuple[str, ...] | None, n_labels: int) -> None:
        known = self.label_names_
        if known is not None and names is None and n_labels > len(known):
            raise DataError(f"{n_labels - len(known)} new labels need names: give a Dataset with label_names")
        if known is not None and names is not None and names[: len(known)] != known:
            raise DataError("the first label names must be those that the model knows, in the same order")

    # answering

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        rows = normalized_rows(x)
        parts = [
            self._answers(rows[begin : begin + ROWS_AT_ONCE], k) for begin in range(0, rows.shape[0], ROWS_AT_ONCE)
        ]
        return TopK(np.vstack([part.labels for part in parts]), np.vstack([part.scores for part in parts]))

    def _answers(self, rows: sparse.csr_matrix, k: int) -> TopK:
        queries, ids, cosines = self._neighbors(rows)
        whole = _tiled(self.label_vectors_, len(self.networks_))
        return best_labels(voted(ids, cosines, self.index_.y, self.rule_, queries, whole), k)

    def _neighbors(self, rows: sparse.csr_matrix) -> tuple[Any, Any, Any]:
        queries = embedded(self.networks_, rows, self.parameters_.n_threads)
        found = self.index_.nearest(queries, self.rule_.k, self.parameters_.nprobe, self.parameters_.n_threads)
        return (queries, *found)

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        queries, ids, cosines = self._neighbors(normalized_rows(row))
        weights = vote_weights(cosines, self.rule_.temperature)[0]
        parts = []
        for place, weight in zip(ids[0].tolist(), weights.tolist(), strict=True):
            if (
                place >= 0
                and label in self.index_.y.indices[self.index_.y.indptr[place] : self.index_.y.indptr[place + 1]]
            ):
                parts.append(Contribution(0, -1, weight, 1.0, weight, row=int(self.index_.rows[place])))
        if parts and self.rule_.blend:
            whole = _tiled(self.label_vectors_, len(self.networks_))
            cosine = max(0.0, float((queries[0] * whole[label]).sum(dtype=np.float64)))
            parts.append(Contribution(0, -1, cosine, self.rule_.blend, cosine * self.rule_.blend))
        score = math.fsum(part.contribution for part in parts)
        return Explanation(
            label, score, (NodeScore(0, score, math.log(score) if score > 0 else -math.inf),), tuple(parts)
        )

    def structure(self) -> dict[str, float]:
        """How many points, clusters and votes there are, and how even the clusters."""
        sizes = np.diff(self.index_.starts)
        return {
            "points": float(len(self.index_)),
            "clusters": float(len(sizes)),
            "largest cluster": float(sizes.max(initial=0)),
            "neighbours that vote": float(self.rule_.k),
            "vector length": float(self.index_.store.dim),
        }

    # the saved state

    def _take(
        self,
        networks: list[Arrays],
        vectors: Any,
        n_trained: int,
        index: PointIndex,
        rule: VoteRule,
        training: Mapping[str, float | None],
    ) -> None:
        self.networks_, self.label_vectors_, self.n_trained_labels_ = networks, vectors, n_trained
        self.index_, self.rule_, self.training_ = index, rule, dict(training)

    def _arrays(self) -> Arrays:
        found: Arrays = {"label_vectors": self.label_vectors_}
        for number, network in enumerate(self.networks_):
            found |= {f"network{number}.{name}": array for name, array in network.items()}
        return found | {f"index.{name}": array for name, array in self.index_.arrays().items()}

    def _facts(self) -> dict[str, Any]:
        temperature = self.rule_.temperature
        return {
            "n_neighbors": self.rule_.k,
            "temperature": None if math.isinf(temperature) else temperature,  # JSON has no infinity
            "blend": self.rule_.blend,
            "n_models": len(self.networks_),
            "n_trained_labels": self.n_trained_labels_,
            **self.training_,
        }

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        vectors = arrays["label_vectors"]
        if vectors.dtype != np.float32 or vectors.ndim != 2 or vectors.shape[0] != self.n_labels_:
            raise ModelFileError(f"dxml: {vectors.dtype} label vectors {vectors.shape} for {self.n_labels_} labels")
        networks = []
        n_models = facts["n_models"]
        if isinstance(n_models, bool) or not isinstance(n_models, int) or not 1 <= n_models <= 64:
            raise ModelFileError(f"dxml: {n_models!r:.40} networks")
        for number in range(n_models):
            own = f"network{number}."
            network = {name.removeprefix(own): array for name, array in arrays.items() if name.startswith(own)}
            hidden = check_encoder(network, self.n_features_, "dxml")
            for name, shape in (("out", (hidden, vectors.shape[1])), ("out_bias", (vectors.shape[1],))):
                if network[name].dtype != np.float32 or network[name].shape != shape:
                    raise ModelFileError(f"dxml: {name} must be float32 {shape}, but is {network[name].shape}")
            networks.append(network)
        own = "index."
        parts = {name.removeprefix(own): array for name, array in arrays.items() if name.startswith(own)}
        index = PointIndex.restore(parts, self.n_labels_, n_models * vectors.shape[1])
        temperature = math.inf if facts["temperature"] is None else float(facts["temperature"])
        rule = VoteRule(int(facts["n_neighbors"]), temperature, float(facts["blend"]))
        if not 1 <= rule.k <= 1 << 30 or not temperature > 0 or not 0 <= rule.blend < math.inf:
            raise ModelFileError(f"dxml: votes by {rule}")
        n_trained = facts["n_trained_labels"]
        if isinstance(n_trained, bool) or not isinstance(n_trained, int) or not 0 <= n_trained <= self.n_labels_:
            raise ModelFileError(f"dxml: {n_trained!r:.40} of {self.n_labels_} labels were there in training")
        training = {name: facts[name] for name in ("validation_p1", "loss")}
        self._take(networks, vectors, n_trained, index, rule, training)


def embedded(networks: list[Arrays], rows: sparse.csr_matrix, n_threads: int | None) -> Any:
    """The points (n, dim * n_models) of normalised rows: unit vectors of every network, side by side, of length 1.

    The product of two points is then the mean of the networks' cosines.
    """
    parts = []
    for network in networks:
        found = dense_product(bag_forward(network, rows, n_threads), network["out"], n_threads)
        found += network["out_bias"]
        parts.append(unit_rows(found))
    if len(parts) == 1:
        return parts[0]
    return np.hstack(parts) * np.float32(len(parts) ** -0.5)


def _tiled(vectors: Any, n_models: int) -> Any:
    """Label vectors in the space of the points."""
    return vectors if n_models == 1 else np.tile(vectors, n_models) * np.float32(n_models**-0.5)


def _networks(
    rows: sparse.csr_matrix, y: sparse.csr_matrix, vectors: Any, parameters: Any, progress: Progress
) -> tuple[list[Arrays], float]:
    from labelwood.models.neural.dxml_training import trained_network

    targets = row_targets(y, vectors, unit=parameters.out_norm)
    found = [trained_network(rows, targets, parameters, number, progress) for number in range(parameters.n_models)]
    return [arrays for arrays, _ in found], float(np.mean([loss for _, loss in found]))


def _indexed(points: Any, y: sparse.csr_matrix, rows: Any, parameters: Any) -> PointIndex:
    n_clusters = parameters.n_clusters or max(1, len(points) // POINTS_PER_CLUSTER)
    centroids = kmeans_centroids(points, n_clusters, parameters.seed, parameters.n_threads)
    return PointIndex(points, y, np.asarray(rows, np.int64), centroids)
