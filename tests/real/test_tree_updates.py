"""partial_fit on real data: the second half of the rows, taught to a model of the first, against training on all."""

import numpy as np

import labelwood as lw


def test_the_second_half_of_cooking(data_file):
    train, test = (lw.read(data_file("CookingStackExchange", f"{part}.txt.gz")) for part in ("train", "test"))
    order = np.random.default_rng(0).permutation(train.n_rows)
    first, second = train.take(order[: train.n_rows // 2]), train.take(order[train.n_rows // 2 :])

    def precision(model):
        return lw.evaluate(model.predict(test.x, 5), test.y)["P@1"]

    model = lw.LinearTree(keep_rows=True).fit(first)
    half = precision(model)
    taught = precision(model.partial_fit(second.x, second.y))
    assert taught > half + 2
    assert taught >= precision(lw.LinearTree().fit(train)) - 1
