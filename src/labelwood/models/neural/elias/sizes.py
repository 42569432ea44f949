"""The sizes of an ELIAS index that follow from the number of labels.

Both clamps of the method, min(1, alpha softmax) and min(1, beta softmax), give no gradient where they bite. The
settings of the paper suit hundreds of thousands of labels; on small label sets they would clamp most scores at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labelwood.models.neural.elias.settings import ELIASParams

MAX_CLUSTER = 100  # labels in a cluster of the first partition, as in the paper
MIN_CLUSTER = 10
MAX_BEAM = 20
MIN_SHORTLIST = 200
MAX_SHORTLIST = 2000
MAX_KAPPA = 1000
MANY_LABELS = 50_000  # from here on most labels have a few rows, and trees lend them those of their group
TREES_OF_MANY = 3
CANDIDATES = 50
RANKED_OF_MANY = 200  # labels of a shortlist that a ranker of many labels judges


@dataclass(frozen=True)
class IndexSizes:
    """Clusters, scales and widths of an index.

    alpha, beta: factors of the cluster and edge softmax before they are clamped to 1. kappa: labels stored with a
    cluster. beam: clusters that a row visits. shortlist: labels that a row keeps.
    """

    n_clusters: int
    alpha: float
    beta: float
    kappa: int
    beam: int
    shortlist: int


def index_sizes(n_labels: int, settings: ELIASParams) -> IndexSizes:
    """The sizes for so many labels; a parameter that is not None wins over the rule.

    Clusters hold about sqrt(L) / 4 labels, 10 at least and 100 at most: EURLex-4K 16, a million labels 100.
    """
    clusters = settings.n_clusters or _n_clusters(n_labels)
    clusters = min(clusters, n_labels)
    mean = n_labels / clusters
    kappa = settings.kappa or min(MAX_KAPPA, math.ceil(10 * mean))
    kappa = min(n_labels, max(kappa, math.ceil(mean)))  # all labels must find a place
    beam = min(settings.beam or _beam(clusters), clusters)
    shortlist = settings.shortlist or min(MAX_SHORTLIST, max(MIN_SHORTLIST, math.ceil(1.2 * beam * mean)))
    return IndexSizes(
        n_clusters=clusters,
        alpha=settings.alpha or min(10.0, max(1.0, clusters / 8)),
        # An edge begins at beta e^u / sum e^u, u in 0..1.5 and mostly near 0: with beta a quarter of kappa below 1.
        beta=settings.beta or min(1.5 * mean, kappa / 4),
        kappa=kappa,
        beam=beam,
        shortlist=min(shortlist, n_labels),
    )


def voting_trees(settings: ELIASParams, n_labels: int) -> int:
    """The linear trees of a forest that votes: as asked for, else as many as indexes, and with many labels three."""
    if settings.trees is not None:
        return settings.trees
    return settings.n_models if n_labels < MANY_LABELS else max(TREES_OF_MANY, settings.n_models)


def ranker_candidates(settings: ELIASParams, n_labels: int) -> int:
    """The labels that a ranker adds to a shortlist; many labels are not all looked at unless that is asked for."""
    wanted = settings.candidates
    if wanted is None:
        wanted = CANDIDATES if n_labels < MANY_LABELS else 0
    return min(wanted, n_labels)


def ranked_labels(settings: ELIASParams, n_labels: int) -> int | None:
    """The labels of a shortlist that the ranker judges, the most likely ones: as asked for; None: all of them."""
    if settings.ranker_top is None and n_labels >= MANY_LABELS:
        return RANKED_OF_MANY
    return settings.ranker_top


def batch_size(n_rows: int) -> int:
    """The rows of a batch: about 1% of all, a power of two from 32 to 256."""
    return int(min(256, max(32, 2 ** round(math.log2(max(1, n_rows / 100))))))


def _beam(n_clusters: int) -> int:
    """Two clusters more for every doubling: 6 of 64, 10 of 256, 20 (as in the paper) of 8192 and more."""
    return min(MAX_BEAM, max(2, round(2 * math.log2(n_clusters) - 6)))


def _n_clusters(n_labels: int) -> int:
    mean = min(MAX_CLUSTER, max(MIN_CLUSTER, math.sqrt(n_labels) / 4))
    return int(2 ** max(0, round(math.log2(max(1.0, n_labels / mean)))))
