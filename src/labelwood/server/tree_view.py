"""The label tree of a model as people open it: one node at a time, with what it says of a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.server.batching import TEXTS
from labelwood.server.labelling import check_rows, chosen_model
from labelwood.server.problems import Problem
from labelwood.server.requests import Request, Response
from labelwood.server.schemas import TreeAnswer, TreeChild, TreeLabel, TreeRequest, decoder, encode
from labelwood.server.served import ServedModel
from labelwood.tagger.tagger import Tagger

if TYPE_CHECKING:
    from labelwood.server.app import App

_tree_request = decoder(TreeRequest)
NAMES_OF_A_NODE = 3  # a node has no name: these of its labels stand for it
MOST_LABELS = 1_000  # of a leaf that are shown
Int32 = npt.NDArray[np.int32]


async def tree(app: App, request: Request) -> Response:
    """One node of the label tree: its children or labels, and how probable they are for a text."""
    asked: TreeRequest = await request.json(_tree_request)
    served = chosen_model(app, asked.model)
    if asked.text is not None:
        check_rows(app, TEXTS, [asked.text], 1)
        if not served.takes_texts:
            raise Problem(400, f"the model {served.name!r} takes features, not texts")
    if not n_trees(served):
        raise Problem(400, f"the model {served.name!r} ({served.manifest['name']}) has no label tree")
    return Response(encode(await app.batcher.run(partial(_node, served, asked))))


def n_trees(served: ServedModel) -> int:
    """How many label trees a model has; 0 if it finds labels in another way."""
    state = served.model.fitted_
    return len(state.trees) if isinstance(state, FittedLinearTree) else 0


def _node(served: ServedModel, asked: TreeRequest) -> TreeAnswer:
    state = served.model.fitted_
    assert isinstance(state, FittedLinearTree)
    if asked.tree >= len(state.trees):
        raise Problem(400, f"tree {asked.tree} is outside 0..{len(state.trees) - 1}")
    label_tree = state.trees[asked.tree]
    if asked.node >= label_tree.n_nodes:
        raise Problem(400, f"node {asked.node} is outside 0..{label_tree.n_nodes - 1}")
    answer = TreeAnswer(len(state.trees), label_tree.n_nodes, int(label_tree.n_labels_below[asked.node]), [], [])
    row = None
    if asked.text is not None and isinstance(served.loaded, Tagger):
        row = served.loaded.fitted_.inputs([asked.text], 1)
    counts = served.label_counts
    children = label_tree.children(asked.node)
    if children:
        chances = None if row is None else state.child_scores(row, asked.tree, asked.node)
        for place, child in enumerate(children):
            below = label_tree.labels_below(child)
            names = _most_frequent(below, counts, served.label_names)
            entry = TreeChild(child, len(below), bool(label_tree.n_children[child] == 0), names)
            if chances is not None:
                entry.chance = round(float(chances[place]), 6)
            answer.children.append(entry)
        return answer
    labels = label_tree.labels_below(asked.node)[:MOST_LABELS]
    scores: dict[int, float] = {}
    if row is not None:
        (scored,) = state.search(row, len(labels), allow=labels.tolist(), n_threads=1).top
        scores = dict(scored)
    for label in labels.tolist():
        leaf_label = TreeLabel(label, served.label_names[label], int(counts[label]))
        if label in scores:
            leaf_label.score = round(float(scores[label]), 6)
        answer.labels.append(leaf_label)
    return answer


def _most_frequent(labels: Int32, counts: npt.NDArray[np.int64], names: Sequence[str]) -> list[str]:
    """The names of the labels with most training rows, the most frequent first."""
    order = np.lexsort((labels, -counts[labels]))[:NAMES_OF_A_NODE]
    return [names[label] for label in labels[order].tolist()]
