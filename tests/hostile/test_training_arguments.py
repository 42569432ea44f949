"""Arguments of the native training that do not fit together: refused, with what came and what was allowed."""

import numpy as np
import pytest

from labelwood import _native


def arguments(**changed):
    """Three rows, two features, two labels in one node."""
    given = {
        "indptr": np.array([0, 1, 2, 3]),
        "indices": np.array([0, 1, 0], np.int32),
        "data": np.ones(3, np.float32),
        "n_features": 2,
        "label_start": np.array([0, 1, 2]),
        "label_rows": np.array([0, 1], np.int32),
        "child_start": np.array([0, 3]),
        "child_bound": np.array([0, 1, 2]),
        "extra_start": np.array([0, 1]),
        "extra_rows": np.array([2], np.int32),
        "loss": 0,
        "eps": 0.1,
        "max_passes": 10,
        "bias": 1.0,
        "prune": 0.0,
        "untrained": -10.0,
        "cost_positive": 1.0,
        "cost_negative": 1.0,
        "rare_power": 0.0,
        "cluster_cost": 1.0,
        "seed": 0,
        "n_threads": 1,
        "progress": lambda done, total: None,
    }
    return given | changed


def ints(*values):
    return np.array(values, np.int32)


def longs(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


def test_what_fits_is_trained():
    arrays, groups, passes = _native.train_nodes(**arguments(child_cost=floats(1, 2, 0)))
    assert (len(arrays["bias"]), groups) == (2, 1)
    assert passes >= 1


@pytest.mark.parametrize("rows_below", [ints(0, 1, 2), ints(0, 1)], ids=["all rows", "some rows"])
def test_columns_with_numbers_and_a_scale_train_what_a_copy_in_these_numbers_trains(rows_below):
    """Both where the training rows themselves are used and where those of a node are gathered."""
    of_copy = {"indices": ints(1, 0, 1), "data": floats(0.5, 2, 1), "label_start": longs(0, 1, len(rows_below))}
    of_columns = of_copy | {"indices": ints(0, 3, 0), "data": floats(1, 1, 4), "numbers": ints(1, -1, -1, 0)}
    of_columns["row_scale"] = floats(0.5, 2, 0.25)
    shared = {"label_rows": rows_below, "extra_start": longs(0, 0), "extra_rows": ints(), "eps": 0.001}
    copied = _native.train_nodes(**arguments(**of_copy, **shared))[0]
    lent = _native.train_nodes(**arguments(**of_columns, **shared))[0]
    assert len(copied["payload"])
    for name, array in copied.items():
        np.testing.assert_allclose(np.asarray(lent[name], np.float64), np.asarray(array, np.float64), atol=1e-6)


def test_all_arguments_have_names():
    with pytest.raises(TypeError):
        _native.train_nodes(*arguments().values())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indptr": longs()}, "indptr and label_start need one entry more"),
        ({"indptr": longs(1, 1, 2, 3)}, r"indptr\[0\] is 1, allowed is 0"),
        ({"indptr": longs(0, 2, 1, 3)}, r"indptr\[2\] is 1 after 2, allowed is 2 or more"),
        ({"indptr": longs(0, 1, 2, 4)}, "indptr ends with 4, but indices has 3 entries"),
        ({"data": floats(1)}, "indices has 3 entries, but data has 1"),
        ({"indices": ints(0, 2, 0)}, r"indices\[1\] is 2, allowed is 0..1"),
        ({"indices": ints(0, -1, 0)}, r"indices\[1\] is -1, allowed is 0..1"),
        ({"n_features": -1}, "n_features is -1, allowed is 0 or more"),
        ({"label_rows": ints(0, 3)}, r"label_rows\[1\] is 3, allowed is 0..2"),
        ({"label_start": longs(0, 1, 3)}, "label_start ends with 3, but label_rows has 2 entries"),
        ({"child_start": longs()}, "child_start needs one entry more than there are nodes"),
        ({"child_start": longs(0, 4)}, "child_start ends with 4, but child_bound has 3 entries"),
        ({"child_start": longs(0, 0, 3)}, r"child_start\[1\] is 0 after 0, allowed is 1 or more"),
        ({"child_bound": longs(0, 1, 3)}, r"child_bound\[2\] is 3, allowed is 0..2"),
        ({"child_bound": longs(1, 0, 2)}, r"child_bound\[1\] is 0 after 1, allowed is 1 or more"),
        ({"extra_start": longs(0)}, "extra_start has 1 entries, allowed is 2"),
        ({"extra_rows": ints(3)}, r"extra_rows\[0\] is 3, allowed is 0..2"),
        ({"child_cost": floats(1, 1)}, "child_cost has 2 entries, but child_bound has 3"),
        ({"child_cost": floats(1, 0, 1)}, "a child_cost is 0, allowed are finite numbers above 0"),
        ({"child_cost": floats(np.inf, 1, 1)}, "a child_cost is inf"),
        ({"loss": 2}, r"loss is 2, allowed are 0 \(squared hinge\) and 1 \(logistic\)"),
        ({"eps": np.nan}, "eps is nan, allowed are finite numbers from 0"),
        ({"eps": -1.0}, "eps is -1, allowed are finite numbers from 0"),
        ({"max_passes": 0}, "max_passes is 0, allowed is 1 or more"),
        ({"bias": np.inf}, "bias is inf"),
        ({"prune": -0.5}, "prune is -0.5"),
        ({"cost_positive": 0.0}, "cost_positive is 0, allowed are finite numbers above 0"),
        ({"cost_negative": 1e300}, "cost_negative is inf"),
        ({"cluster_cost": -1.0}, "cluster_cost is -1"),
        ({"rare_power": np.nan}, "rare_power is nan, allowed are finite numbers"),
        ({"untrained": np.inf}, "untrained is inf, allowed are finite numbers"),
        ({"numbers": ints(0)}, r"indices\[1\] is 1, allowed is 0..0"),
        ({"numbers": ints(0, 2)}, r"numbers\[1\] is 2, allowed is -1..1"),
        ({"numbers": ints(1, 1)}, r"numbers\[1\] is 1, which another column has"),
        ({"numbers": ints(0, -1)}, r"indices\[1\] is the column 1, which has no number"),
        ({"row_scale": floats(1, 1)}, "row_scale has 2 entries, allowed is 3"),
        ({"row_scale": floats(1, 0, 1)}, "a row_scale is 0, allowed are finite numbers above 0"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        _native.train_nodes(**arguments(**changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"start_first_block": None}, "start_first_block and start_children need one entry for each of the 1 nodes"),
        (
            {"start_children": longs(1, 1)},
            "start_first_block and start_children need one entry for each of the 1 nodes",
        ),
        ({"first_new_row": 4}, "first_new_row is 4, allowed is 0..3"),
        (
            {"start_first_block": longs(1)},
            "node 0 starts from 2 children in block 1 and behind, but there are 1 blocks",
        ),
        (
            {"start_children": longs(257)},
            "node 0 starts from 257 children in block 0 and behind, but there are 1 blocks",
        ),
        ({"start_first_block": longs(-2)}, "node 0 starts from 2 children in block -2"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(changed, message):
    arrays, _, _ = _native.train_nodes(**arguments())
    start = {
        "start_blocks": _native.WeightBlocks(2, **arrays),
        "start_first_block": longs(0),
        "start_children": longs(2),
        "first_new_row": 3,
    }
    assert _native.train_nodes(**arguments(**start))[1] == 1
    with pytest.raises(ValueError, match=message):
        _native.train_nodes(**arguments(**(start | changed)))
