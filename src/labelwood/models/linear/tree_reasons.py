"""Why a tree gives a row a label: the classifiers on the label's path and what each feature adds to them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from labelwood.labelindex.tree import LabelTree
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.linear.linear_reasons import classifier_reasons, columns_of_ranks
from labelwood.models.linear.tree_nodes import first_blocks
from labelwood.models.linear.weight_blocks import Rows, WeightBlocks

# Path scores are cut off here, as in the native search: exp of less is 0 in a float.
LOWEST_SCORE = -80.0


def path_explanation(
    tree: LabelTree, blocks: WeightBlocks, feature_rank: npt.NDArray[np.int32], rows: Rows, label: int, link: str
) -> Explanation:
    """The score of one row's label in a tree, node by node and feature by feature."""
    columns = columns_of_ranks(feature_rank, blocks.n_features)
    nodes: list[NodeScore] = []
    parts: list[Contribution] = []
    path_score = 0.0
    for node, classifier in path_classifiers(tree, blocks, label):
        reasons = classifier_reasons(blocks, classifier, node, rows, columns)
        parts.extend(reasons)
        margin = sum(reason.contribution for reason in reasons)
        below = max(LOWEST_SCORE, path_score + log_score(link, margin))
        nodes.append(NodeScore(node, margin, below - path_score))
        path_score = below
    return Explanation(label, float(np.exp(path_score)), tuple(nodes), tuple(parts))


def path_classifiers(tree: LabelTree, blocks: WeightBlocks, label: int) -> list[tuple[int, int]]:
    """(node, number of the classifier) from the root's child down to the label's own.

    The label's own classifier counts as a node of its own, n_nodes + label, unless it is alone in its leaf: then
    the leaf's classifier is its own.
    """
    first = blocks.child_start[first_blocks(tree)]
    path = [int(node) for node in tree.path(label)]
    above = [(child, int(first[parent]) + child - int(tree.first_child[parent])) for parent, child in pairwise(path)]
    leaf = path[-1]
    if above and tree.n_labels_in[leaf] == 1:
        return above
    place = int(np.flatnonzero(tree.labels_below(leaf) == label)[0])
    return [*above, (tree.n_nodes + label, int(first[leaf]) + place)]


def log_score(link: str, margin: float) -> float:
    """What a classifier's margin adds to the log score of a path; the native search computes the same."""
    if link == "log-sigmoid":
        return float(-np.logaddexp(0, -2 * margin))
    lack = max(0.0, 1.0 - margin)
    return float(-(lack**2 if link == "hinge2" else lack**3))
