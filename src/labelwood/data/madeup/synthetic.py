"""Synthetic sparse data sets of any size: Zipf labels in a hidden topic tree, tf-idf rows of unit length.

A row has a main label and companions, mostly of the same topic. Its tokens come from its labels, from its
topic, and from a background that all rows share. The tokens of a label or topic are hashes of its number, so
the tables of a three-million-label set need no memory, and rows are made in blocks keyed by (seed, part,
block): a block is the same whether it is made alone, for memory, or for a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.madeup.topic_tree import RareLabels, TopicTree, zipf_cumulative
from labelwood.data.writing.atomic_file import atomic_output
from labelwood.errors import ParamError
from labelwood.progress import SILENT, Progress

BLOCK_ROWS = 4096
TRAIN, TEST = 0, 1
# Values are multiples of 1e-6, so that six digits of text hold them exactly.
VALUE_UNIT = 1_000_000
# The share of companions that stays when many rare labels are placed: rows keep some of their topic's labels.
LEAST_COMPANIONS = 0.2

Block = tuple[sparse.csr_matrix, sparse.csr_matrix]


@dataclass(frozen=True)
class _SparseRecipe:
    """What a synthetic data set is made of; the same recipe gives the same rows.

    Of a row's tokens the shares label_share and topic_share come from its labels and its topic, the rest is
    background. Labels are lost with probability missing (never the main one) and wrong ones are added at the
    rate noise. zipf: exponent of the label frequencies. topic_labels: labels of one topic.
    """

    n_features: int
    n_labels: int
    labels_per_row: float = 5.0
    nnz_per_row: int = 75
    seed: int = 0
    zipf: float = 0.85
    topic_labels: int = 50
    label_share: float = 0.33
    topic_share: float = 0.22
    noise: float = 0.05
    missing: float = 0.10

    def __post_init__(self) -> None:
        checks = (
            ("n_features", self.n_features >= 20, "at least 20"),
            ("n_labels", 1 <= self.n_labels <= 2**31 - 1, "from 1 to 2^31 - 1"),
            (
                "labels_per_row",
                1 <= self.labels_per_row <= max(1, self.n_labels / 2),
                "from 1 to half of n_labels",
            ),
            (
                "nnz_per_row",
                1 <= self.nnz_per_row <= self.n_features / 4,
                "from 1 to a quarter of n_features",
            ),
            ("seed", self.seed >= 0, "from 0 up"),
            ("zipf", 0 <= self.zipf <= 3, "from 0 to 3"),
            ("topic_labels", self.topic_labels >= 2, "at least 2"),
            ("label_share", 0 <= self.label_share <= 1, "from 0 to 1"),
            ("topic_share", 0 <= self.topic_share <= 1 - self.label_share, "from 0 to 1 - label_share"),
            ("noise", 0 <= self.noise <= 1, "from 0 to 1"),
            ("missing", 0 <= self.missing < 1, "from 0 up to below 1"),
        )
        for name, holds, allowed in checks:
            if not holds:
                raise ParamError(f"{name} must be {allowed}, but is {getattr(self, name)!r}")


def make_sparse_pair(
    n_train: int,
    n_test: int,
    n_features: int,
    n_labels: int,
    *,
    labels_per_row: float = 5.0,
    nnz_per_row: int = 75,
    seed: int = 0,
    every_label: bool = True,
    zipf: float = 0.85,
    progress: Progress = SILENT,
) -> tuple[Dataset, Dataset]:
    """(training set, test set) of the same labels and topics, in memory.

    every_label: give each rare label one row of its topic (when it fits), so that no label is without a
    training row.
    """
    recipe = _SparseRecipe(n_features, n_labels, labels_per_row, nnz_per_row, seed, zipf)
    source = _Source(recipe)
    return source.dataset(TRAIN, n_train, every_label, progress), source.dataset(TEST, n_test, False, progress)


def write_sparse(
    path: str | Path,
    n_rows: int,
    n_features: int,
    n_labels: int,
    *,
    part: str = "train",
    labels_per_row: float = 5.0,
    nnz_per_row: int = 75,
    seed: int = 0,
    every_label: bool = True,
    zipf: float = 0.85,
    progress: Progress = SILENT,
) -> None:
    """Write the training half (part "train") or the test half (part "test") of `make_sparse_pair` as XMC text.

    Block by block, so that memory depends on the number of labels and features, not of rows. .gz and .zst
    compress.
    """
    if part not in ("train", "test"):
        raise ParamError(f"part must be 'train' or 'test', but is {part!r}")
    recipe = _SparseRecipe(n_features, n_labels, labels_per_row, nnz_per_row, seed, zipf)
    source = _Source(recipe)
    which, cover = (TRAIN, every_label) if part == "train" else (TEST, False)
    done = 0
    with atomic_output(path) as stream:
        stream.write(f"{_checked_rows(n_rows)} {n_features} {n_labels}\n".encode())
        for x, y in source.blocks(which, n_rows, cover):
            stream.write(xmc_lines(x, y).encode("ascii"))
            done += x.shape[0]
            progress.step("writing rows", done, n_rows)


def xmc_lines(x: sparse.csr_matrix, y: sparse.csr_matrix) -> str:
    """The rows as XMC text lines `l1,l2 f:v f:v`, values with six digits."""
    lines = []
    x_starts, y_starts = x.indptr.tolist(), y.indptr.tolist()
    columns, values, labels = x.indices.tolist(), x.data.tolist(), y.indices.tolist()
    for row in range(x.shape[0]):
        start, end = x_starts[row], x_starts[row + 1]
        items: list[float] = [0.0] * (2 * (end - start))
        items[0::2], items[1::2] = columns[start:end], values[start:end]
        names = ",".join(map(str, labels[y_starts[row] : y_starts[row + 1]]))
        lines.append(f"{names}{' %d:%.6f' * (end - start) % tuple(items)}\n" if end > start else f"{names} \n")
    return "".join(lines)


class _Source:
    """Makes blocks of rows by a recipe; sizes and idf are tuned on its first block, whatever is asked for."""

    def __init__(self, recipe: _SparseRecipe) -> None:
        self.recipe = recipe
        self.tree = TopicTree(recipe.n_labels, recipe.n_features, recipe.topic_labels, recipe.zipf, recipe.seed)
        self._background = zipf_cumulative(recipe.n_features, 1.05, 2.7)
        self._idf: npt.NDArray[np.float64] | None = None
        self._companions = recipe.labels_per_row - 1
        self._tokens = float(recipe.nnz_per_row)
        self._tune()

    def dataset(self, part: int, n_rows: int, every_label: bool, progress: Progress) -> Dataset:
        """All rows of a part."""
        xs, ys, done = [], [], 0
        for x, y in self.blocks(part, n_rows, every_label):
            xs.append(x)
            ys.append(y)
            done += x.shape[0]
            progress.step("making rows", done, n_rows)
        recipe = self.recipe
        kind = "train" if part == TRAIN else "test"
        name = f"synthetic {kind} (features {recipe.n_features}, labels {recipe.n_labels}, seed {recipe.seed})"
        return Dataset(sparse.vstack(xs, format="csr"), sparse.vstack(ys, format="csr"), source=name)

    def blocks(self, part: int, n_rows: int, every_label: bool) -> Iterator[Block]:
        """(x, y) of each block in turn, the last one cut to the number of rows."""
        _checked_rows(n_rows)
        extra = RareLabels(self.tree, n_rows, BLOCK_ROWS, self.recipe.labels_per_row) if every_label else None
        # Companions make room for the rare labels that are placed, so that the labels of a row stay as many
        # as asked.
        thin = 1.0
        if extra and self.recipe.labels_per_row > 1:
            thin = max(1.0 - len(extra) / n_rows / (self.recipe.labels_per_row - 1), LEAST_COMPANIONS)
        for block, start in enumerate(range(0, n_rows, BLOCK_ROWS)):
            rows = min(BLOCK_ROWS, n_rows - start)
            yield self._block(part, block, rows, extra.of_block(block) if extra else None, thin)

    def _tune(self) -> None:
        """Set how many labels and tokens to draw for the wanted numbers after duplicates and losses."""
        recipe = self.recipe
        for _ in range(3):
            x, y = self._block(TRAIN, 0, BLOCK_ROWS)
            labels, tokens = y.nnz / BLOCK_ROWS, x.nnz / BLOCK_ROWS
            if recipe.labels_per_row > 1:
                ratio = (recipe.labels_per_row - 0.999) / max(labels - 0.999, 1e-3)
                self._companions = min(self._companions * ratio, recipe.n_labels * 4.0)
            self._tokens = min(self._tokens * recipe.nnz_per_row / max(tokens, 1e-3), recipe.n_features * 4.0)
        x, _ = self._block(TRAIN, 0, BLOCK_ROWS)
        rows_with = np.bincount(x.indices, minlength=recipe.n_features)
        self._idf = np.log((1.0 + BLOCK_ROWS) / (1.0 + rows_with)) + 1.0

    def _block(
        self, part: int, block: int, rows: int, extra: npt.NDArray[np.int64] | None = None, thin: float = 1.0
    ) -> Block:
        """The first rows of a block, which is made whole: so a longer data set begins with a shorter one."""
        random = np.random.Generator(np.random.PCG64([self.recipe.seed, part, block]))
        main = self.tree.draw(random.random(BLOCK_ROWS))
        row, label = self._labels(random, main, thin)
        if extra is not None and len(extra):
            # A label goes to the row whose topic stands nearest: topics with near numbers share a branch of
            # the tree.
            topics = self.tree.topic_of(main[:rows])
            order = np.argsort(topics, kind="stable")
            near = np.searchsorted(topics[order], self.tree.topic_of(extra))
            # Labels of one topic take turns among the rows from there on.
            near = (near + np.arange(len(extra)) % 8) % rows
            row, label = np.concatenate([row, order[near]]), np.concatenate([label, extra])
        inside = row < rows
        y = _ones(row[inside], label[inside], (rows, self.recipe.n_labels))
        x = self._features(random, main, y)
        y = sparse.csr_matrix((y.data, self.tree.public_labels(y.indices), y.indptr), shape=y.shape)
        y.sort_indices()
        return x, y

    def _labels(
        self, random: np.random.Generator, main: npt.NDArray[np.int64], thin: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(row, label) entries: main labels, companions by nearness in the tree, some lost, some wrong."""
        recipe = self.recipe
        rows = np.arange(BLOCK_ROWS)
        count = _poisson(random.random(BLOCK_ROWS), self._companions)
        row = np.repeat(rows, count)
        companion = self.tree.draw_near(main[row], random.random(len(row)), random.random(len(row)))
        kept = random.random(len(row)) < (1 - recipe.missing) * thin
        wrong = np.flatnonzero(random.random(BLOCK_ROWS) < recipe.noise)
        noise = self.tree.draw(random.random(len(wrong)))
        return np.concatenate([rows, row[kept], wrong]), np.concatenate([main, companion[kept], noise])

    def _features(
        self, random: np.random.Generator, main: npt.NDArray[np.int64], y: sparse.csr_matrix
    ) -> sparse.csr_matrix:
        """Tf-idf rows of length 1. Every draw is made for the whole block, then cut to y's rows."""
        recipe, rows = self.recipe, y.shape[0]
        normal = np.sqrt(-2 * np.log(1 - random.random(BLOCK_ROWS))) * np.cos(2 * np.pi * random.random(BLOCK_ROWS))
        count = np.maximum(self._tokens * np.exp(0.4 * normal - 0.08), 1).astype(np.int64)
        row = np.repeat(np.arange(BLOCK_ROWS), count)
        kind, which, token_draw = random.random((3, len(row)))
        row = row[: int(count[:rows].sum())]
        kind, which, token_draw = kind[: len(row)], which[: len(row)], token_draw[: len(row)]
        token = np.empty(len(row), np.int64)
        labelled = kind < recipe.label_share
        topical = ~labelled & (kind < recipe.label_share + recipe.topic_share)
        rest = ~(labelled | topical)
        # Some labels of a row are more prominent than others.
        place = (which[labelled] ** 1.3 * np.diff(y.indptr)[row[labelled]]).astype(np.int64)
        token[labelled] = self.tree.label_tokens(y.indices[y.indptr[row[labelled]] + place], token_draw[labelled])
        token[topical] = self.tree.topic_tokens(self.tree.topic_of(main[row[topical]]), token_draw[topical])
        token[rest] = self.tree.shuffled_tokens(np.searchsorted(self._background, token_draw[rest], side="right"))
        x = sparse.csr_matrix((np.ones(len(row)), (row, token)), shape=(rows, recipe.n_features))
        x.sum_duplicates()
        return x if self._idf is None else _unit_tfidf(x, self._idf)


def _unit_tfidf(counts: sparse.csr_matrix, idf: npt.NDArray[np.float64]) -> sparse.csr_matrix:
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    lengths = np.sqrt(np.add.reduceat(np.square(values), counts.indptr[:-1]))  # every row has a token
    values /= np.repeat(lengths, np.diff(counts.indptr))
    values = np.maximum(np.rint(values * VALUE_UNIT), 1) / VALUE_UNIT
    return sparse.csr_matrix((values.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape)


def _ones(row: npt.NDArray[np.int64], column: npt.NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_matrix:
    matrix = sparse.csr_matrix((np.ones(len(row), np.float32), (row, column)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _poisson(uniform: npt.NDArray[np.float64], mean: float) -> npt.NDArray[np.int64]:
    """Poisson numbers by inversion: NumPy's own may differ between its versions."""
    if mean <= 0:
        return np.zeros(len(uniform), np.int64)
    largest = int(mean + 12 * np.sqrt(mean) + 12)
    steps = np.arange(1, largest + 1)
    log_probability = np.concatenate([[0.0], np.cumsum(np.log(mean) - np.log(steps))]) - mean
    return np.searchsorted(np.cumsum(np.exp(log_probability))[:-1], uniform, side="right").astype(np.int64)


def _checked_rows(n_rows: int) -> int:
    if n_rows < 1:
        raise ParamError(f"the number of rows must be at least 1, but is {n_rows}")
    return n_rows
