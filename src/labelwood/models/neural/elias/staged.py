"""The two stages of ELIAS: a fixed partition of the labels first, then the index learned end to end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from labelwood.labelspace.pifa import label_vectors
from labelwood.models.neural.elias import index
from labelwood.models.neural.elias.network import IndexNetwork
from labelwood.models.neural.elias.reading import ReadingEncoder, ReadTexts
from labelwood.models.neural.elias.search import CHUNK, LearnedIndex
from labelwood.models.neural.elias.settings import EVEN, UNIFORM, ELIASParams
from labelwood.models.neural.elias.sizes import IndexSizes, batch_size
from labelwood.models.neural.encoders import BagEncoder
from labelwood.models.neural.row_shares import own_rows
from labelwood.models.neural.sampling import row_batch
from labelwood.models.neural.training import ParameterGroup, TrainingPlan, train
from labelwood.progress import Progress
from labelwood.storage.schema import Arrays

Rows = npt.NDArray[np.int64]
EVEN_SPREAD = 0.1  # of the first feature vectors: features too rare to learn from stay nearly silent
EVEN_STEP = 0.12  # how far the vector of a typical row moves in a step
LOWEST_BIAS = -8.0  # of a label classifier at the start: a label seen in one row of 3,000, or never


@dataclass(frozen=True)
class Staged:
    """What training gives: the index, its partition, the index after stage 1, and how many labels were inserted.

    text_weights, first_text_weights: of a text encoder that was trained with the index, then and after stage 1.
    """

    learned: LearnedIndex
    partition: index.Int32
    first: LearnedIndex
    n_inserted: int
    text_weights: Arrays | None = None
    first_text_weights: Arrays | None = None


class Trainer:
    """Trains one index on some rows; x has unit rows. texts: the same rows with a text encoder that learns too."""

    def __init__(
        self,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        sizes: IndexSizes,
        settings: ELIASParams,
        seed: int,
        progress: Progress,
        texts: ReadTexts | None = None,
    ) -> None:
        self.texts = texts
        self.x, self.y, self.sizes, self.p, self.seed, self.progress = x, y, sizes, settings, seed, progress
        self.n_threads = settings.n_threads or torch.get_num_threads()

    def run(self) -> Staged:
        """Both stages."""
        p = self.p
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)  # the network begins on the CPU, so it begins alike everywhere
            partition = self._partition(None)
            network = self._network(partition)
            if p.warm_epochs:
                self._train(network, p.warm_epochs, p.stage1_lambda, "warm-up")
                self._read_again()
                partition = self._partition(self._learned(network).encoder)
                self._use_partition(network, partition)
            self._train(network, p.stage1_epochs, p.stage1_lambda, "stage 1")
            first, first_weights = self._learned(network), self._text_weights()
            if not p.stage2_epochs:
                return Staged(first, partition, first, 0, first_weights, first_weights)
            self._read_again()
            n_inserted = self._use_learned_edges(network, first, partition)
            self._train(network, p.stage2_epochs, p.shortlist_loss, "stage 2")
            return Staged(self._learned(network), partition, first, n_inserted, self._text_weights(), first_weights)

    # stages

    def _read_again(self) -> None:
        """The rows with text vectors of the encoder as it is now, if it learns."""
        if self.texts is not None:
            self.x = self.texts.columns(self.p.n_threads)

    def _text_weights(self) -> Arrays | None:
        return None if self.texts is None else self.texts.weights()

    def _partition(self, encoder: Any) -> index.Int32:
        """The partition of the labels by the rows they occur in: by features, and by the encoder if there is one."""
        rows = self.x
        if encoder is not None:
            from labelwood.models.neural.forward import bag_forward, unit_rows

            parts = [
                unit_rows(bag_forward(encoder, self.x[first : first + CHUNK], self.p.n_threads))
                for first in range(0, self.x.shape[0], CHUNK)
            ]
            rows = sparse.csr_matrix(sparse.hstack([self.x, sparse.csr_matrix(np.concatenate(parts))], format="csr"))
        vectors = label_vectors(rows, self.y, n_threads=self.p.n_threads)
        return index.label_partition(
            vectors, self.sizes.n_clusters, seed=self.seed, n_threads=self.p.n_threads, progress=self.progress
        )

    def _network(self, partition: index.Int32) -> IndexNetwork:
        p = self.p
        spread = EVEN_SPREAD if p.optimizer == EVEN else 1.0
        bag = BagEncoder(
            self.x.shape[1],
            p.dim,
            residual=False,
            dropout=p.dropout,
            activation="relu" if p.residual else "none",
            corrected=p.residual,
            spread=spread,
        )
        encoder = bag if self.texts is None else ReadingEncoder(bag, self.texts)
        share = (np.bincount(self.y.indices, minlength=self.y.shape[1]) + 0.1) / (self.y.shape[0] + 0.2)
        bias = np.clip(np.log(share / (1 - share)), LOWEST_BIAS, 0).astype(np.float32)
        edges = index.partition_edges(partition)
        sizes = replace(self.sizes, n_clusters=len(edges))
        network = IndexNetwork(encoder, p.dim, edges, sizes, bias, p.max_parents)
        network.set_parents(partition)
        return network

    def _use_partition(self, network: IndexNetwork, partition: index.Int32) -> None:
        edges = index.partition_edges(partition)
        network.set_edges(edges, None)
        network.set_parents(partition)
        network.clusters = torch.nn.Linear(self.p.dim, len(edges))

    def _use_learned_edges(self, network: IndexNetwork, first: LearnedIndex, partition: index.Int32) -> int:
        """Give the network the edges that rows and labels suggest; the number of labels that had to be inserted."""
        chosen = [
            first.best_clusters(first.vectors(self.x[start : start + CHUNK], self.p.n_threads), self.sizes.beam)
            for start in range(0, self.x.shape[0], CHUNK)
        ]
        clusters, scores = (np.concatenate([pair[i] for pair in chosen]) for i in (0, 1))
        n_clusters = len(first.edges)
        matching = index.matching_matrix(clusters, scores, self.y, n_clusters)
        edges, n_inserted = index.initial_edges(matching, partition, self.sizes.kappa)
        start = index.initial_values(edges, matching)
        if self.p.edge_start == UNIFORM:
            start = index.uniform_values(edges, self.seed)
        network.set_edges(edges, start)
        self._find_parents(network)
        if not self.p.keep_labels:
            torch.nn.init.zeros_(network.label_weight)
        return n_inserted

    def _find_parents(self, network: IndexNetwork) -> None:
        scores = network.edge_scores().detach().cpu().numpy()
        network.set_parents(index.parents(network.edges, scores, self.y.shape[1]))

    # training

    def _train(self, network: IndexNetwork, epochs: int, weight: float, what: str) -> None:
        """Train for so many epochs; a text encoder learns in the first `text_epochs` of them, then stays as it is."""
        reading = network.encoder
        most = self.p.text_epochs
        if not isinstance(reading, ReadingEncoder) or most is None or epochs <= most:
            self._train_all(network, epochs, weight, what)
            return
        self._train_all(network, most, weight, what)
        self._read_again()
        network.encoder = reading.whole_bag()
        self._train_all(network, epochs - most, weight, f"{what}, text encoder frozen")
        network.encoder = reading
        reading.cut()

    def _train_all(self, network: IndexNetwork, epochs: int, weight: float, what: str) -> None:
        """Train every part of the network for so many epochs."""
        p = self.p

        def batch_loss(rows: Rows, step: int) -> Tensor:
            return self._batch_loss(network, rows, weight)

        def on_epoch(epoch: int, history: Any) -> None:
            if network.edge_values is not None:
                self._find_parents(network)

        def on_resume() -> None:
            if network.edge_values is not None:
                self._find_parents(network)

        known = [] if network.parents is None else [network.parents]
        train(
            network,
            self._groups(network),
            batch_loss,
            self.x.shape[0],
            TrainingPlan(
                epochs=epochs,
                batch_size=p.batch_size or batch_size(self.x.shape[0]),
                seed=self.seed,
                warmup=0.1,
                swa_start=p.swa_start if network.edge_values is not None else 1.0,
                # Small differences of large sums tell clusters apart; only a text encoder computes in bfloat16.
                precision="float32",
                device=p.device,
                n_threads=self.n_threads,
            ),
            on_epoch=on_epoch,
            on_resume=on_resume,
            learns_from=[self.x, self.y, network.edges, *known, p.saved(), weight],
            progress=_Named(self.progress, what),
        )

    def _batch_loss(self, network: IndexNetwork, rows: Rows, weight: float) -> Tensor:
        """The loss of some rows; weight: lambda. Where the network is on a device, nothing of it comes back."""
        room = self.sizes.shortlist
        most_labels = int(
            (self.y.indptr[rows + 1] - self.y.indptr[rows]).max(initial=0)
        )  # of the batch, whoever computes its rows
        rows = own_rows(rows)
        read = isinstance(network.encoder, ReadingEncoder)
        vectors = network.encoder(rows if read else row_batch(self.x, rows, network.label_weight.device))
        clusters = network.cluster_scores(vectors)
        batch = network.shortlists(clusters, self.y[rows], room, True, self.n_threads)
        batch = replace(batch, most_labels=most_labels)
        classification, shortlist = network.losses(vectors, clusters, batch, self.n_threads)
        # Times room: a sum over labels, whose gradients are far above the epsilon of Adam.
        return room * (classification + weight * shortlist)

    def _groups(self, network: IndexNetwork) -> list[ParameterGroup]:
        p = self.p
        encoder: Any = network.encoder
        dense = [*encoder.dense_parameters(), *network.clusters.parameters()]
        rate = p.label_lr or 2 * p.lr
        groups = [
            ParameterGroup(encoder.table_parameters(), *self._feature_steps()),
            ParameterGroup(dense, p.lr, "adamw", weight_decay=p.weight_decay),
            ParameterGroup([network.label_weight], rate, "sparse_adam", p.label_decay, every=p.label_every),
            ParameterGroup([network.label_bias], rate, "sparse_adam", every=p.label_every),
        ]
        if not p.bias_decay:
            groups[1:2] = [
                ParameterGroup([w for w in dense if w.ndim > 1], p.lr, "adamw", weight_decay=p.weight_decay),
                ParameterGroup([w for w in dense if w.ndim == 1], p.lr, "adamw"),
            ]
        if isinstance(encoder, ReadingEncoder):
            groups += encoder.text_groups()
        if network.edge_values is not None:
            groups.append(ParameterGroup([network.edge_values], p.edge_lr, "adam", every=p.label_every))
        return groups

    def _feature_steps(self) -> tuple[float, str]:
        """(learning rate, optimizer) of the feature vectors."""
        if self.p.optimizer != EVEN:
            return self.p.feature_lr or self.p.lr, "sparse_adam"
        # A row's vector moves by the step times the sum of its values, which is 2.5 for titles and 11 for documents.
        mean = float(np.abs(self.x.data).sum(dtype=np.float64)) / max(1, self.x.shape[0])
        return self.p.feature_lr or EVEN_STEP / max(1.0, mean), "even_sgd"

    def _learned(self, network: IndexNetwork) -> LearnedIndex:
        def array(tensor: Tensor) -> index.Floats:
            return tensor.detach().cpu().numpy().astype(np.float32, order="C")

        encoder: Any = network.encoder
        return LearnedIndex(
            encoder=encoder.arrays(),
            cluster_weight=array(network.clusters.weight.T),
            cluster_bias=array(network.clusters.bias),
            edges=network.edges,
            edge_scores=array(network.edge_scores()),
            edge_shares=array(network.edge_shares()),
            label_weight=array(network.label_weight),
            label_bias=array(network.label_bias[:, 0]),
            alpha=self.sizes.alpha,
            beta=1.0 if network.edge_values is None else self.sizes.beta,
            beam=min(self.sizes.beam, len(network.edges)),
            room=self.sizes.shortlist,
        )


class _Named:
    """A Progress that says which stage reports."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._what = progress, what

    def step(self, what: str, done: int, total: int) -> None:
        self._progress.step(f"{self._what}, {what}", done, total)
