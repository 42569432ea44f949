"""Print what each fault of the published HierarchicalXC costs on Bibtex: plain node classifiers, one fault at a time.

usage: python benchmarks/quality/hierarchicalxc_faults.py [FOLDER with train.txt.gz and test.txt.gz]
The table of docs/measurements/hierarchicalxc.md is its output (needs scikit-learn; about a minute of CPU time).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC

import labelwood
from labelwood.labelindex.agglomerative import cooccurrence_tree
from labelwood.labelindex.tree import LabelTree
from labelwood.matrices import normalized_rows
from labelwood.topk import TopK

FAULTS = ("none", "target slices", "shuffled features", "0/1 ranking", "all three")


def node_targets(left: np.ndarray, right: np.ndarray, faulty: bool) -> tuple[np.ndarray, np.ndarray]:
    """(rows, targets of both children); faulty: rows stacked as left only, right only, both, targets cut wrongly."""
    groups = [np.flatnonzero(left & ~right), np.flatnonzero(right & ~left), np.flatnonzero(left & right)]
    rows = np.concatenate(groups)
    if not faulty:
        return rows, np.column_stack([left[rows], right[rows]])
    targets = np.zeros((len(rows), 2), bool)
    first, second = len(groups[0]), len(groups[1])  # the second should be an offset, but is a count
    targets[:first, 0] = True
    targets[first:second, 1] = True
    targets[second:] = True
    return rows, targets


def margins(
    x: sparse.csr_matrix, y: np.ndarray, x_test: sparse.csr_matrix, tree: LabelTree, faulty: bool
) -> np.ndarray:
    """The margin of every node's classifier for every test row (n_test, n_nodes); the root's is large."""
    found = np.full((x_test.shape[0], tree.n_nodes), 9.0)
    for node in np.flatnonzero(tree.n_children):
        children = list(tree.children(node))
        left, right = (y[:, tree.labels_below(child)].any(axis=1) for child in children)
        rows, targets = node_targets(left, right, faulty)
        for child, target in zip(children, targets.T, strict=True):
            if target.all() or not target.any():
                found[:, child] = 9.0 if len(target) and target.all() else -9.0
            else:
                found[:, child] = LinearSVC(max_iter=200, tol=0.1).fit(x[rows], target).decision_function(x_test)
    return found


def top(found: np.ndarray, tree: LabelTree, hard: bool) -> TopK:
    """The five best labels: by the product of hinge scores along the path, or (hard) by all decisions being right."""
    scores = np.zeros_like(found)
    own = (found > 0).astype(float) - 1 if hard else -(np.maximum(0, 1 - found) ** 3)
    for node in range(1, tree.n_nodes):
        parent = scores[:, tree.parent[node]]
        scores[:, node] = np.minimum(parent, own[:, node]) if hard else parent + own[:, node]
    labels = scores[:, tree.leaf_of_labels]
    best = np.argsort(-labels, axis=1, kind="stable")[:, :5]
    return TopK(best.astype(np.int32), np.take_along_axis(labels, best, axis=1).astype(np.float32))


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/Bibtex")
    train = labelwood.read(folder / "train.txt.gz")
    test = labelwood.read(folder / "test.txt.gz", n_features=train.n_features, n_labels=train.n_labels)
    x, x_test = normalized_rows(train.features()), normalized_rows(test.features())
    y = train.y.toarray().astype(bool)
    trees = {
        "counts, chain": cooccurrence_tree(train.y, distance="counts", ties="chain"),
        "jaccard, rounds": cooccurrence_tree(train.y),
    }
    shuffled = x[np.random.default_rng(0).permutation(x.shape[0])]
    for name, tree in trees.items():
        print(f"{name}: deepest label {tree.max_depth}")
        right, slices = (margins(x, y, x_test, tree, faulty) for faulty in (False, True))
        mixed, both = (margins(shuffled, y, x_test, tree, faulty) for faulty in (False, True))
        runs = (right, False), (slices, False), (mixed, False), (right, True), (both, True)
        for fault, (found, hard) in zip(FAULTS, runs, strict=True):
            result = labelwood.evaluate(top(found, tree, hard), test.y, train_y=train.y)
            print(f"  {fault:18s} P@1 {result['P@1']:5.2f}  P@5 {result['P@5']:5.2f}", flush=True)


if __name__ == "__main__":
    main()
