"""Native calls of several seconds, to be stopped by Ctrl-C: `python interrupted_calls.py CASE`.

Prints "begin" when the call begins, then the clock at KeyboardInterrupt, then "works" after calls that must still work.
"""

import sys
import time

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.models.linear.weight_blocks import Nodes, Rows, SolverOptions, train_blocks
from labelwood.progress import SILENT

RANDOM = np.random.default_rng(0)


def sparse_rows(n_rows, n_columns, per_row):
    """(starts, columns, values) of random rows of one length."""
    columns = RANDOM.integers(0, n_columns, (n_rows, per_row), dtype=np.int32)
    columns.sort(axis=1)
    values = RANDOM.random(n_rows * per_row, dtype=np.float32)
    return np.arange(n_rows + 1, dtype=np.int64) * per_row, columns.ravel(), values


def trained(n_rows=20_000, n_labels=64, max_passes=1, n_threads=2):
    starts, columns, values = sparse_rows(n_rows, 1000, 50)
    y = sparse.csc_matrix(RANDOM.random((n_rows, n_labels)) < 0.1, dtype=np.float32)
    bounds = np.arange(n_labels + 1, dtype=np.int64)
    nodes = Nodes(np.array([0, n_labels + 1]), bounds, np.zeros(2, np.int64), np.zeros(0, np.int32), all_rows=True)
    options = SolverOptions("squared-hinge", 0.0, max_passes, 1.0, 0.0, 1.0, 1.0, 0.0, 0, n_threads)
    return lambda: train_blocks(Rows(starts, columns, values), 1000, y, nodes, options, SILENT, "labels")


def solver():
    return trained(max_passes=10**6)


def solver_one_thread():
    return trained(max_passes=10**6, n_labels=16, n_threads=1)


def flat_search():
    blocks = trained(500, 4096)().native
    rows = sparse_rows(50_000, 1000, 50)
    labels, margins = np.empty((50_000, 5), np.int32), np.empty((50_000, 5), np.float32)
    return lambda: blocks.top_k(*rows, labels, margins, 2)


def tree_search():
    blocks = trained(500, 2048)()
    n = 50_000
    rows, none = sparse_rows(n, 1000, 50), np.zeros(0, np.uint8)
    one_leaf = [np.array(entry, np.int32) for entry in ([0], [0], [0], [2048])]
    tree = _native.SearchTree(blocks.native, *one_leaf, np.arange(2048, dtype=np.int32), np.array([0, 8]))
    forest = _native.Forest([blocks.native] * 4, [tree] * 4, np.arange(1000, dtype=np.int32))
    labels, scores, used = np.empty((n, 5), np.int32), np.empty((n, 5), np.float32), np.empty(n, np.int32)
    return lambda: forest.top_k(*rows, 0, 0, 0, 5, none, none, labels, scores, used, 2)


def code_tree(n_labels):
    """A chain: the right child of inner node i is label i, the left one is the next inner node."""
    child, place_of_label = np.zeros(2 * (n_labels - 1), np.int32), np.zeros(n_labels, np.int32)
    place_of_inner = np.full(n_labels - 1, -1, np.int32)
    for i in range(n_labels - 1):
        child[2 * i + 1], place_of_label[i] = ~i, 2 * i + 1
        if i + 1 < n_labels - 1:
            child[2 * i], place_of_inner[i + 1] = i + 1, 2 * i
        else:
            child[2 * i], place_of_label[n_labels - 1] = ~(n_labels - 1), 2 * i
    return child, place_of_label, place_of_inner


def softmax_training():
    n, tree = 16_384, code_tree(2000)
    rows, bias = sparse_rows(n, 1000, 20), np.ones(n, np.float32)
    label_starts, labels = np.arange(n + 1, dtype=np.int64), RANDOM.integers(0, 2000, n, dtype=np.int32)
    vectors = [RANDOM.random((m, 64), dtype=np.float32) / 64 for m in (1001, 1999)]
    options = {"plt": False, "rate": 0.01, "epochs": 1000, "seed": 0, "n_threads": 2, "progress": lambda *_: None}
    order = np.arange(n, dtype=np.int32)
    return lambda: _native.hsoftmax_fit(*rows, bias, label_starts, labels, *tree, *vectors, order, **options)


def softmax_search():
    n, none = 200_000, np.zeros(0, np.float32)
    inner, outer = [RANDOM.random((m, 64), dtype=np.float32) / 1000 for m in (1001, 1999)]
    model = _native.HierarchicalSoftmax(*code_tree(2000), inner, none, outer, none, False)
    rows, bias = sparse_rows(n, 1000, 20), np.ones(n, np.float32)
    labels, scores = np.empty((n, 1000), np.int32), np.empty((n, 1000), np.float32)
    return lambda: model.top_k(*rows, bias, labels, scores, np.empty(n, np.int32), 2)


def label_vectors_of(size):
    vectors = _native.LabelVectors(200)
    vectors.add(*sparse_rows(size, 200, 100))
    return vectors


def two_means(size, n_threads):
    vectors = label_vectors_of(size)
    n = 10_000  # nodes over the same labels, split one after the other
    first, sizes = np.zeros(n, np.int64), np.full(n, size, np.int64)
    options = _native.SplitOptions()
    options.weighted, options.similarity, options.n_threads = False, 1.0, n_threads
    options.max_iterations, options.tolerance = 20, 0.0
    none, order = np.zeros(0), np.arange(size, dtype=np.int32)
    ends = np.zeros(n, np.int64), np.zeros(n)
    return lambda: _native.split_nodes(
        vectors, none, none, first, sizes, np.zeros(n, np.int64), np.arange(n), order, *ends, options
    )


def small_splits():
    return two_means(4000, 1)


def large_splits():
    return two_means(20_000, 2)


def wide_splits(size=20_000, n_threads=2):
    vectors, n = label_vectors_of(size), 10_000
    first, sizes, counts = np.zeros(n, np.int64), np.full(n, size, np.int64), np.zeros((n, 32), np.int64)
    order = np.arange(size, dtype=np.int32)
    return lambda: _native.kmeans_nodes(vectors, first, sizes, np.arange(n), 32, 20, 0.0, 0, n_threads, order, counts)


def small_wide_splits():
    return wide_splits(4000, 1)


def label_vectors():
    x, n_labels = sparse_rows(2000, 5000, 500), 10_000
    label_starts = np.arange(n_labels + 1, dtype=np.int64) * 2000
    label_rows, counts = np.tile(np.arange(2000, dtype=np.int32), n_labels), np.empty(n_labels, np.int64)
    return lambda: _native.pifa_counts(*x, 5000, label_starts, label_rows, 0, 2, counts)


def cover():
    n = 1_000_000
    starts, labels, _ = sparse_rows(n, 100_000, 30)
    y = sparse.csr_matrix((np.ones(len(labels), np.int8), labels, starts), shape=(n, 100_000))
    y.sum_duplicates()
    by_label = y.tocsc()
    arrays = [a.astype(t) for m in (y, by_label) for a, t in ((m.indptr, np.int64), (m.indices, np.int32))]
    return lambda: _native.greedy_cover(*arrays, np.ones(n), 10, np.empty(100_000))


def graph():
    n = 20_000
    return (
        np.arange(n + 1, dtype=np.int64) * 50,
        RANDOM.integers(0, n, n * 50, dtype=np.int32),
        np.cumsum(np.ones((n, 50)), axis=1).ravel(),
    )


def random_walks():
    arrays, out = graph(), np.empty((20_000 * 50, 100), np.int32)
    return lambda: _native.random_walks(*arrays, 50, 0, 1, out)


def skip_gram():
    steps = RANDOM.integers(0, 1000, (20_000, 40), dtype=np.int32)
    vectors, contexts = [RANDOM.random((1000, 64), dtype=np.float32) for _ in range(2)]
    return lambda: _native.skip_gram(steps, np.cumsum(np.ones(1000)), 5, 5, 1000, 0.01, 0, vectors, contexts)


def neighbors():
    vectors, queries = [RANDOM.random((n, 256), dtype=np.float32) for n in (50_000, 40_000)]
    found, scores = np.empty((40_000, 10), np.int32), np.empty((40_000, 10), np.float32)
    ends = np.array([0, 50_000])
    return lambda: _native.search_ranges(vectors, None, None, ends, None, None, queries, 2, found, scores)


def long_line():
    parser = _native.RowParser(labels=True)
    line = np.frombuffer(b"1 " + b"7:1 3:1 5:2 " * 8_000_000, np.uint8)
    return lambda: parser.feed(line, True, 2)


def written_rows():
    starts, columns, values = sparse_rows(200_000, 1000, 100)
    return lambda: _native.format_rows(
        starts, columns, values, np.zeros(200_001, np.int64), np.zeros(0, np.int32), 0, 200_000, True, False, 0, 1
    )


def rules(analyzer):
    return _native.TokenRules(analyzer=analyzer, min_n=1, max_n=3, lowercase=True, min_length=1, stop_words=[])


def many_texts():
    texts = ("some words and some more words of a text " * 200,) * 40_000
    limits = {"min_rows": 1, "max_rows": 1e9, "max_tokens": 0, "want_totals": True, "want_rows": True}
    return lambda: _native.count_tokens(texts, rules("word"), **limits, n_threads=2)


def long_text():
    text = "some words and some more words of a text " * 4_000_000
    limits = {"min_rows": 1, "max_rows": 1e9, "max_tokens": 0, "want_totals": True, "want_rows": True}
    return lambda: _native.count_tokens((text,), rules("char_wb"), **limits, n_threads=2)


def sorted_vocabulary():
    texts = tuple(" ".join(map(str, RANDOM.integers(0, 10**15, 1000))) for _ in range(3000))
    limits = {"min_rows": 1, "max_rows": 1e9, "max_tokens": 0, "want_totals": True, "want_rows": True}
    return lambda: _native.count_tokens(texts, rules("char"), **limits, n_threads=2)


def loaded_vocabulary():
    """Runs with the GIL held."""
    n = 6_000_000
    bytes_ = np.frombuffer(b"".join(b"%08d" % i for i in range(n)), np.uint8)
    return lambda: _native.Vocabulary(bytes_, np.arange(n + 1, dtype=np.int64) * 8)


def hits():
    labels = RANDOM.integers(0, 10**9, (4000, 10_000), dtype=np.int32)
    none, out = np.zeros(4001, np.int64), np.empty((4000, 10_000), np.uint8)
    labels[:] = RANDOM.permutation(10**7)[:10_000]
    return lambda: _native.hit_matrix(labels, none, np.zeros(0, np.int32), 10**9, out, 1)


def dense_products():
    rows, table = RANDOM.random((8000, 4096), dtype=np.float32), RANDOM.random((4096, 2048), dtype=np.float32)
    return lambda: _native.dense_rows_times_dense(rows, table, np.empty((8000, 2048), np.float32), 2)


def index_search():
    def matrix(*shape):
        return RANDOM.random(shape, dtype=np.float32)

    edges = RANDOM.integers(0, 10_000, (4096, 50), dtype=np.int32)
    index = _native.LabelIndex(
        *(matrix(1000, 32), matrix(32), None, None, None, None, 0, 0, matrix(32, 4096), matrix(4096)),
        *(edges, matrix(4096, 50), matrix(10_000, 32), matrix(10_000), 1.0, 64),
    )
    rows, n = sparse_rows(50_000, 1000, 10), 50_000
    found = [np.empty((n, 200), np.int32), *(np.empty((n, 200), np.float32) for _ in range(3))]
    return lambda: index.search(*rows, *found, 2)


CASES = {
    case.__name__: case
    for case in (
        *(solver, solver_one_thread, flat_search, tree_search, softmax_training, softmax_search, small_splits),
        *(large_splits, wide_splits, small_wide_splits, label_vectors, cover, random_walks, skip_gram, neighbors),
        *(long_line, written_rows, many_texts, long_text, sorted_vocabulary, loaded_vocabulary, hits),
        *(dense_products, index_search),
    )
}


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def check_that_calls_work():
    """Small calls with threads after the interrupt."""
    a, b = RANDOM.random((100, 30), dtype=np.float32), RANDOM.random((30, 20), dtype=np.float32)
    out = np.empty((100, 20), np.float32)
    _native.dense_rows_times_dense(a, b, out, 2)
    np.testing.assert_allclose(out, a @ b, rtol=1e-4)
    assert len(trained(500, 32)().arrays["bias"]) == 32


def main():
    call = CASES[sys.argv[1]]()
    try:
        say("begin")
        call()
    except KeyboardInterrupt:
        say(str(time.monotonic()))
    else:
        say("the call ended before the signal came")
    check_that_calls_work()
    say("works")


if __name__ == "__main__":
    main()
