"""How near a row is reaches the calibration through everything that a tagger does to a model's answers."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.tagger.allowed import allowed_answers
from labelwood.tagger.late_answers import LateAnswers
from labelwood.topk import TopK

LABELS = np.array([[0, 1, 2], [2, 1, 0]], np.int32)
SCORES = np.array([[0.9, 0.5, 0.1]] * 2, np.float32)
NEARNESS = np.array([0.25, 0.75], np.float32)


class Model:
    """A model of three labels that gives two rows fixed answers."""

    n_labels = 3

    @staticmethod
    def predict(inputs, k, n_threads=None):
        return TopK(LABELS, SCORES, NEARNESS).cut(k)


def test_allowed_answers_keep_it_though_rows_are_asked_again():
    def ask(rows, width):
        return TopK(LABELS[rows, :width], SCORES[rows, :width], NEARNESS[rows])

    top = allowed_answers(ask, np.array([True, False, False]), 2, 1)
    assert top.labels.tolist() == [[0], [0]]
    assert top.nearness.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("targets", [[0, 1, 2, 3], [0, 0, -1, 3]], ids=["all shown", "merged and hidden"])
def test_late_answers_keep_it(targets):
    examples = sparse.csr_matrix(np.array([[1, 0]], np.float32))
    late = LateAnswers(np.array(targets, np.int32), examples, {})
    x = sparse.csr_matrix(np.array([[1, 0], [0, 1]], np.float32))
    top = late.predict(Model, x, x, ["a", "b"], 2, 1)
    assert top.nearness.tolist() == [0.25, 0.75]
