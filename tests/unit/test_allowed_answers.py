"""The k best allowed labels of each row: the same as all labels ranked and cut."""

import numpy as np
import pytest

from labelwood.tagger.allowed import allowed_answers
from labelwood.topk import TopK, empty


def ranking(scores):
    order = np.argsort(-scores, axis=1, kind="stable")
    return TopK(order, np.take_along_axis(scores, order, axis=1))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("k", [1, 5, 300])
def test_against_a_full_ranking(share, k):
    chance = np.random.default_rng(3)
    scores = chance.random((40, 200), np.float32)
    allowed = chance.random(200) < share
    whole = ranking(scores)
    got = allowed_answers(lambda rows, width: whole[rows].cut(width), allowed, 40, k)
    expected = empty(40, k)
    for row, answers in enumerate(whole):
        kept = [answer for answer in answers if allowed[answer[0]]][:k]
        for place, (label, score) in enumerate(kept):
            expected.labels[row, place], expected.scores[row, place] = label, score
    np.testing.assert_array_equal(got.labels, expected.labels)
    np.testing.assert_array_equal(got.scores, expected.scores)
