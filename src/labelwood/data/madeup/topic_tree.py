"""The hidden truth of synthetic data: how often a label occurs, its topic, and the tokens it brings.

Labels stand in tree order: topics are runs of labels, branches are runs of topics. Outside numbers are
shuffled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood.data.keyed_random import keyed_below, keyed_order, keyed_uniform

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TOPICS_OF_BRANCH = 10
TOKENS_OF_LABEL, TOKENS_OF_TOPIC, TOKENS_OF_BRANCH = 30, 60, 300
# Companions of a label come from its topic, else from its branch, else from anywhere.
SAME_TOPIC, SAME_BRANCH = 0.65, 0.88
# Labels expected to occur more often than this are seen without help (they are missed once in 160,000 times).
SURELY_SEEN = 12

_LABEL, _TOPIC, _BRANCH, _FREQUENCY, _NAME, _TOKEN, _HOME = range(1, 8)


class TopicTree:
    """Label frequencies, topics and tokens of one seed."""

    def __init__(self, n_labels: int, n_features: int, topic_labels: int, zipf: float, seed: int) -> None:
        self.n_labels, self.n_features, self.seed = n_labels, n_features, seed
        self.topic_labels = min(topic_labels, n_labels)
        self.n_topics = max(1, n_labels // self.topic_labels)
        self.n_branches = max(1, self.n_topics // TOPICS_OF_BRANCH)
        share = 1.0 / (np.arange(n_labels) + 1.0 + 0.0025 * n_labels**0.8) ** zipf
        self._share = (share / share.sum())[keyed_order(n_labels, seed, _FREQUENCY)]
        self._cumulative = np.concatenate([[0.0], np.cumsum(self._share)])
        self._public = keyed_order(n_labels, seed, _NAME)
        self._shuffled = keyed_order(n_features, seed, _TOKEN)
        self._label_draw = zipf_cumulative(TOKENS_OF_LABEL, 0.6, 0)
        self._topic_draw = zipf_cumulative(TOKENS_OF_TOPIC, 0.7, 0)

    def topic_of(self, labels: Ints) -> Ints:
        """The topics of labels."""
        return np.minimum(labels // self.topic_labels, self.n_topics - 1)

    def branch_of(self, topics: Ints) -> Ints:
        """The branches of topics."""
        return np.minimum(topics // TOPICS_OF_BRANCH, self.n_branches - 1)

    def public_labels(self, labels: Ints) -> Ints:
        """The column numbers of labels, which tell nothing of topic or frequency."""
        return self._public[labels]

    def shuffled_tokens(self, ranks: Ints) -> Ints:
        """The column numbers of background tokens of given ranks of frequency."""
        return self._shuffled[np.minimum(ranks, self.n_features - 1)]

    def draw(self, uniform: Floats) -> Ints:
        """Labels by frequency."""
        return self._draw_between(np.zeros(len(uniform), np.int64), np.full(len(uniform), self.n_labels), uniform)

    def draw_near(self, labels: Ints, nearness: Floats, uniform: Floats) -> Ints:
        """Companions of labels by frequency: most from the same topic, some from its branch, few others."""
        topic = self.topic_of(labels)
        branch = self.branch_of(topic)
        topic_low, topic_high = self._bounds(topic, topic + 1)
        last = branch == self.n_branches - 1
        end = np.where(last, self.n_topics, (branch + 1) * TOPICS_OF_BRANCH)
        branch_low, branch_high = self._bounds(branch * TOPICS_OF_BRANCH, end)
        in_topic, in_branch = nearness < SAME_TOPIC, nearness < SAME_BRANCH
        low = np.where(in_topic, topic_low, np.where(in_branch, branch_low, 0))
        high = np.where(in_topic, topic_high, np.where(in_branch, branch_high, self.n_labels))
        return self._draw_between(low, high, uniform)

    def label_tokens(self, labels: Ints, uniform: Floats) -> Ints:
        """A token for each label, by its rank among the label's own: half of them shared with its branch."""
        rank = np.searchsorted(self._label_draw, uniform, side="right")
        branch = self.branch_of(self.topic_of(labels))
        return self._mixed(_LABEL, labels, rank, branch, 0.5)

    def topic_tokens(self, topics: Ints, uniform: Floats) -> Ints:
        """A token for each topic, by its rank among the topic's own: 60 per cent shared with its branch."""
        rank = np.searchsorted(self._topic_draw, uniform, side="right")
        return self._mixed(_TOPIC, topics, rank, self.branch_of(topics), 0.6)

    def rare_labels(self, n_rows: int, labels_per_row: float) -> Ints:
        """The labels that a data set of that size might not hold."""
        return np.flatnonzero(self._share * n_rows * labels_per_row < SURELY_SEEN)

    def _bounds(self, first_topic: Ints, end_topic: Ints) -> tuple[Ints, Ints]:
        high = np.where(end_topic >= self.n_topics, self.n_labels, end_topic * self.topic_labels)
        return first_topic * self.topic_labels, high

    def _draw_between(self, low: Ints, high: Ints, uniform: Floats) -> Ints:
        start, end = self._cumulative[low], self._cumulative[high]
        places = np.searchsorted(self._cumulative, start + uniform * (end - start), side="right") - 1
        return np.asarray(np.clip(places, low, high - 1))

    def _mixed(self, kind: int, owner: Ints, rank: Ints, branch: Ints, shared: float) -> Ints:
        draw = keyed_uniform(self.seed, kind, owner, rank)
        # The upper part of the draw decides between own and shared, the rest of it picks the token.
        anywhere = ((draw - shared) / (1 - shared) * self.n_features).astype(np.int64)
        place = (draw / shared * TOKENS_OF_BRANCH).astype(np.int64)
        from_branch = keyed_below(self.n_features, self.seed, _BRANCH, branch, place)
        return np.where(draw < shared, from_branch, np.clip(anywhere, 0, self.n_features - 1))


class RareLabels:
    """Gives every rare label a block of rows where it is to be placed, so that none is without a row."""

    def __init__(self, tree: TopicTree, n_rows: int, block_rows: int, labels_per_row: float) -> None:
        rare = tree.rare_labels(n_rows, labels_per_row)
        home = keyed_below(n_rows, tree.seed, _HOME, rare) // block_rows
        order = np.argsort(home, kind="stable")
        self._labels, self._home = rare[order], home[order]

    def __len__(self) -> int:
        return len(self._labels)

    def of_block(self, block: int) -> Ints:
        """The labels to be placed in one block, in tree order."""
        return self._labels[np.searchsorted(self._home, block) : np.searchsorted(self._home, block, side="right")]


def zipf_cumulative(n: int, exponent: float, shift: float) -> Floats:
    """Cumulative shares of ranks 1..n under Zipf's law, the last left out, for searchsorted."""
    share = 1.0 / (np.arange(n) + 1.0 + shift) ** exponent
    return np.cumsum(share / share.sum())[:-1]
