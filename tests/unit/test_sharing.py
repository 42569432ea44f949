"""What trainings on the same rows share: made once for equal keys, counted in seconds, the same answers."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.models.ensemble import network
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.storage.sharing import Shared, shared, sharing


class Watch:
    """A clock that making things moves on."""

    now = 0.0

    def __call__(self):
        return self.now

    def makes(self, value, seconds):
        def make():
            self.now += seconds
            return value

        return make


def test_equal_things_are_made_once_while_somebody_shares():
    watch = Watch()
    place = Shared(watch)
    array = np.arange(4)
    assert shared("x", lambda: pytest.fail("nobody shares"), lambda: 1) == 1
    with sharing(place, adds=True):
        assert shared("x", lambda: [array, 1], watch.makes("made", 3.0)) == "made"
    with sharing(place, adds=False):
        assert shared("x", lambda: [array.copy(), 1], lambda: pytest.fail("it is there")) == "made"
        assert shared("x", lambda: [array, 2], watch.makes("another", 1.0)) == "another"
        assert shared("x", lambda: [array, 2], watch.makes("made again", 1.0)) == "made again"  # it was not added
        assert shared("y", lambda: [array, 1], watch.makes("of another kind", 1.0)) == "of another kind"
    assert place.seconds == 3.0
    with sharing(None, adds=True):
        assert shared("x", lambda: pytest.fail("nobody shares"), lambda: 5) == 5


def test_what_is_made_of_shared_things_counts_with_them():
    watch = Watch()
    place = Shared(watch)

    def outer():
        return shared("inner", lambda: [1], watch.makes(2, 5.0)) + watch.makes(1, 1.0)()

    with sharing(place, adds=True):
        shared("inner", lambda: [1], watch.makes(2, 5.0))
        assert shared("outer", lambda: [1], outer) == 3
        assert place.seconds == 5.0
        assert shared("outer", lambda: [1], outer) == 3
    assert place.seconds == 11.0  # 5 of the first "outer", and 6 that it would take by itself


def rows(n=1200, seed=0):
    random = np.random.default_rng(seed)
    y = sparse.random(n, 25, 0.1, "csr", random_state=seed)
    y.data[:] = 1
    x = sparse.csr_matrix((y @ random.random((25, 60)) > 1.5).astype(np.float32)) + sparse.random(
        n, 60, 0.05, "csr", np.float32, random_state=seed + 1
    )
    return lw.Dataset(x.tocsr(), y.tocsr(), label_names=[f"label{label}" for label in range(25)])


def test_an_ensemble_that_shares_is_the_same_to_the_bit_and_trains_less(monkeypatch):
    trained = Counter()
    nets, trees = network._trained, LinearTree._train
    monkeypatch.setattr(network, "_trained", lambda *given: trained.update(["networks"]) or nets(*given))
    monkeypatch.setattr(LinearTree, "_train", lambda *given: trained.update(["trees"]) or trees(*given))
    data = rows()
    place = Shared()
    with sharing(place, adds=True):
        lw.Ensemble(n_threads=1).fit(data)
    assert trained["networks"] == 8  # two for each of three parts and for all rows
    with sharing(place, adds=False):
        other = lw.Ensemble(n_threads=1, settings="linear-tree.C=0.7").fit(data)
    assert trained["networks"] == 8
    with_new_trees = trained["trees"]
    with sharing(place, adds=False):
        again = lw.Ensemble(n_threads=1).fit(data)
    assert trained["trees"] == with_new_trees
    assert place.seconds > 0
    for settings, of_shared in ((None, again), ("linear-tree.C=0.7", other)):
        alone = lw.Ensemble(n_threads=1, settings=settings).fit(data)
        ours, theirs = alone.fitted_.arrays(), of_shared.fitted_.arrays()
        assert ours.keys() == theirs.keys()
        for name, array in ours.items():
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)
