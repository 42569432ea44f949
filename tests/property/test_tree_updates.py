"""partial_fit, retired labels and kept rows of LinearTree: what changes, what must not, what is refused."""

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ModelFileError
from labelwood.models.linear.kept_rows import EarlierRows
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.models.linear.tree_growth import LEAF_SLACK, with_labels
from labelwood.models.linear.tree_nodes import first_blocks
from labelwood.models.persistence import restored, state_of

SMALL = {"arity": 4, "max_leaf": 4, "n_threads": 1}


def problem(seed=4, n_rows=200, n_features=60, n_labels=24):
    """Rows that show their labels in four features each."""
    random = np.random.default_rng(seed)
    own = random.choice(n_features, size=(n_labels, 4))
    x, y = np.zeros((n_rows, n_features), np.float32), np.zeros((n_rows, n_labels), np.float32)
    for row in range(n_rows):
        labels = random.choice(n_labels, size=random.integers(1, 4), replace=False)
        y[row, labels] = 1
        for label in labels:
            x[row, own[label]] += random.uniform(0.5, 1.5, 4)
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


def precision(model, x, y):
    return labelwood.evaluate(model.predict(x, 3), y)["P@1"]


def node_weights(model, number, node):
    """The arrays of one node's blocks, decoded by asking for every feature."""
    blocks, tree = model.fitted_.blocks[number], model.fitted_.trees[number]
    first = first_blocks(tree)
    one = np.ones(1, np.float32)
    return [
        [blocks.margins(b, np.array([f], np.int32), one).tolist() for f in range(blocks.n_features)]
        for b in range(first[node], first[node + 1])
    ]


@pytest.mark.parametrize(
    "more", [{}, {"n_trees": 2}, {"weights": "int8"}, {"negatives": "tfn+man"}, {"loss": "logistic"}]
)
def test_half_then_half_is_as_good_as_all_at_once(more):
    x, y = problem(n_rows=600)
    train, test = slice(0, 400), slice(400, 600)
    full = LinearTree(**SMALL, **more).fit(x[train], y[train])
    model = LinearTree(**SMALL, **more, keep_rows=True).fit(x[:200], y[:200])
    before = precision(model, x[test], y[test])
    model.partial_fit(x[200:400], y[200:400])
    after = precision(model, x[test], y[test])
    assert after >= precision(full, x[test], y[test]) - 3
    assert after > before - 1
    assert model.n_rows_ == 400
    np.testing.assert_array_equal(model.label_counts_, full.label_counts_)


def test_earlier_rows_are_as_good_as_kept_ones():
    x, y = problem()
    kept = LinearTree(**SMALL, keep_rows=True).fit(x[:120], y[:120]).partial_fit(x[120:], y[120:])
    given = LinearTree(**SMALL).fit(x[:120], y[:120])
    given.partial_fit(x[120:], y[120:], earlier=(x[:120], y[:120]))
    for one, other in zip(kept.fitted_.blocks, given.fitted_.blocks, strict=True):
        for name in one.arrays:
            np.testing.assert_array_equal(one.arrays[name], other.arrays[name])
    given.partial_fit(x[:5], y[:5], earlier=Dataset(x, y))
    with pytest.raises(DataError, match="keep_rows=True, or give"):
        given.partial_fit(x[:5], y[:5])


def test_an_untrained_model_is_fitted():
    x, y = problem()
    one, other = LinearTree(**SMALL).partial_fit(x, y), LinearTree(**SMALL).fit(x, y)
    np.testing.assert_array_equal(one.predict(x).scores, other.predict(x).scores)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_only_nodes_above_the_new_labels_change(n_threads):
    x, y = problem()
    model = LinearTree(**{**SMALL, "n_threads": n_threads}, keep_rows=True).fit(x, y)
    tree = model.fitted_.trees[0]
    before = [node_weights(model, 0, node) for node in range(tree.n_nodes)]
    label = int(tree.labels_below(int(tree.leaves[-1]))[0])
    rows = np.zeros((3, y.shape[1]), np.float32)
    rows[:, label] = 1
    model.partial_fit(-x[:3], rows)  # features that speak against everything learnt
    assert model.fitted_.trees[0].same_as(tree)
    changed = [node for node in range(tree.n_nodes) if node_weights(model, 0, node) != before[node]]
    assert changed
    assert set(changed) <= set(tree.path(label).tolist())


def test_rows_that_teach_nothing_change_nothing():
    """Rows on which every classifier is already right within eps: the weights stay, to the bit."""
    x, y = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)
    model = LinearTree(max_leaf=4, C=1000.0, keep_rows=True, n_threads=1).fit(x, y)
    before = model.fitted_.blocks[0].arrays["payload"].copy()
    model.partial_fit(x, y)
    np.testing.assert_array_equal(model.fitted_.blocks[0].arrays["payload"], before)


@pytest.mark.parametrize("n_trees", [1, 2])
def test_new_labels_are_learnt_and_old_ones_stay(n_trees):
    x, y = problem(n_rows=500)
    old_labels = y[:, :20]
    rows = np.asarray(y[:, 20:].sum(axis=1)).ravel() > 0
    model = LinearTree(**SMALL, n_trees=n_trees, keep_rows=True).fit(x[~rows], old_labels[~rows])
    before = precision(model, x[~rows], old_labels[~rows])
    model.partial_fit(x[rows], y[rows])
    assert model.n_labels_ == 24
    for tree in model.fitted_.trees:
        assert sorted(tree.label_order.tolist()) == list(range(24))
        assert tree.n_labels_in.max() <= LEAF_SLACK * SMALL["max_leaf"]
    assert precision(model, x[~rows], y[~rows]) >= before - 3
    top = model.predict(x[rows], 3)
    for label in range(20, 24):
        mine = np.flatnonzero(np.asarray(y[rows][:, label].todense()).ravel())
        assert np.mean([label in top.labels[row] for row in mine]) > 0.6
    assert model.explain(x[0], 23).score > 0


def test_a_full_leaf_is_split_and_the_other_nodes_keep_their_place():
    x, y = problem()
    tree = LinearTree(**SMALL).fit(x, y).fitted_.trees[0]
    leaf = int(tree.leaves[0])
    vectors = sparse.random(30, 60, density=0.3, random_state=1, format="csr", dtype=np.float32)
    grown = with_labels(tree, np.full(6, leaf), lambda labels: vectors[labels], 4, 0)
    assert sorted(grown.tree.label_order.tolist()) == list(range(30))
    assert grown.tree.n_labels_in.max() <= 4
    for node in range(grown.tree.n_nodes):
        old = grown.old_nodes[node]
        if old >= 0:
            own = [label for label in grown.tree.labels_below(node).tolist() if label < 24]
            assert sorted(own) == sorted(tree.labels_below(int(old)).tolist())
            if grown.tree.n_children[node] == 0 and old != leaf:
                assert own == tree.labels_below(int(old)).tolist()
    assert set(range(tree.n_nodes)) <= set(grown.old_nodes.tolist())


def test_features_never_seen_before_are_learnt():
    """Over 4096 of them, so that the blocks' bitmaps must widen."""
    random = np.random.default_rng(0)
    y = sparse.csr_matrix(np.eye(6, dtype=np.float32)[np.arange(60) % 6])
    x = sparse.lil_matrix((60, 9000), dtype=np.float32)
    for row in range(60):
        x[row, (0 if row < 30 else 6) + row % 6] = 1
        x[row, random.integers(20, 4000 if row < 30 else 9000, 80)] = 0.2
    x = x.tocsr()
    model = LinearTree(max_leaf=2, arity=2, keep_rows=True, n_threads=1).fit(x[:30], y[:30]).partial_fit(x[30:], y[30:])
    assert precision(model, x, y) == 100


def test_features_may_come_in_columns_of_their_own():
    x, y = problem(n_rows=300)
    wide = sparse.hstack([x, sparse.csr_matrix(np.eye(300, 7, dtype=np.float32))], format="csr")
    model = LinearTree(**SMALL, n_trees=2, keep_rows=True).fit(x[:200], y[:200]).partial_fit(wide[200:], y[200:])
    assert model.n_features_in_ == 67
    same = LinearTree(**SMALL, n_trees=2, keep_rows=True).fit(wide[:, :67][:200], y[:200])
    assert precision(model, wide, y) >= precision(same.partial_fit(wide[200:], y[200:]), wide, y) - 2
    with pytest.raises(DataError, match="X has 60 features, but LinearTree is expecting 67"):
        model.partial_fit(x, y)
    with pytest.raises(DataError, match="the earlier rows have 70 features, the new rows 67"):
        model.partial_fit(wide, y, earlier=(sparse.csr_matrix((300, 70), dtype=np.float32), y))


def test_a_row_that_was_taken_back_is_unlearnt():
    """Ten rows with the wrong label: without them among the earlier rows, and their label named, it is not answered."""
    x, y = problem(n_rows=300)
    label = 3
    tricked = sparse.csr_matrix(np.tile(np.eye(1, 60, 59, dtype=np.float32) * 5, (10, 1)))
    lies = sparse.csr_matrix(np.tile(np.eye(1, 24, label, dtype=np.float32), (10, 1)))
    wrong = sparse.vstack([y, lies], format="csr")
    model = LinearTree(**SMALL).fit(sparse.vstack([x, tricked], format="csr"), wrong)
    assert model.predict(tricked[:1], 1).labels[0, 0] == label
    right = sparse.csr_matrix(np.tile(np.eye(1, 24, 20, dtype=np.float32), (10, 1)))
    model.partial_fit(tricked, right, earlier=(x, y), changed=[label])
    assert model.predict(tricked[:1], 1).labels[0, 0] == 20
    with pytest.raises(DataError, match=r"label 24 of changed is outside"):
        model.partial_fit(tricked, right, earlier=(x, y), changed=[24])


def test_of_many_earlier_rows_a_sample_is_enough(monkeypatch):
    """Labels and features that the sample does not show keep their weights."""
    from labelwood.models.linear import tree_update

    monkeypatch.setattr(tree_update, "FEWEST_EARLIER", 20)
    x, y = problem(n_rows=600)
    model = LinearTree(**SMALL).fit(x[:500], y[:500])
    before = precision(model, x[:500], y[:500])
    model.partial_fit(x[500:510], y[500:510], earlier=(x[:500], y[:500]))
    assert precision(model, x[:500], y[:500]) >= before - 3


def test_only_rows_that_are_read_are_asked_for(monkeypatch):
    """Of rows that are costly to make, an update wants the sample, and all rows of a leaf that begins again."""
    from labelwood.models.linear import tree_update

    monkeypatch.setattr(tree_update, "FEWEST_EARLIER", 20)
    x, y = problem(n_rows=600)
    asked = []

    def x_of(places):
        asked.append(len(places))
        return x[places]

    plain, lazy = (LinearTree(**SMALL).fit(x[:500], y[:500]) for _ in range(2))
    plain.partial_fit(x[500:510], y[500:510], earlier=(x[:500], y[:500]), changed=[3])
    lazy.partial_fit(x[500:510], y[500:510], earlier=EarlierRows(y[:500], x_of), changed=[3])
    leaf = lazy.fitted_.trees[0].leaf_of_labels[3]
    in_leaf = np.flatnonzero(lazy.fitted_.trees[0].leaf_of_labels == leaf)
    assert asked == [30, int((y[:500][:, in_leaf].sum(axis=1) > 0).sum())]
    assert np.array_equal(plain.predict(x, 5).scores, lazy.predict(x, 5).scores)
    with pytest.raises(DataError, match="the earlier rows have 24 labels"):
        LinearTree(**SMALL).fit(x[:, :], y[:, :10]).partial_fit(x, y[:, :10], earlier=EarlierRows(y, x_of))


def test_retired_labels_are_never_answered(tmp_path):
    x, y = problem()
    model = LinearTree(**SMALL, n_trees=2, keep_rows=True).fit(x, y)
    gone = [0, 5, 7]
    assert model.retire(gone[:1]) is model
    model.retire(gone[1:])
    model.save(tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    for found in (model, loaded):
        assert found.fitted_.retired.tolist() == gone
        assert not np.isin(found.predict(x, 24).labels, gone).any()
        assert (found.predict(x, 24).labels >= 0).sum() == x.shape[0] * 21
        assert not np.isin(found.predict(x[0], 5).labels, gone).any()
        assert not np.isin(found.predict(x, 5, allow=[0, 1, 2]).labels, gone).any()
        assert not np.isin(found.predict(x, 24, deny=[1]).labels, [*gone, 1]).any()
        assert not np.isin(found.query(x[0].indices, x[0].data, 24)[0], gone).any()
    model.unretire([5])
    assert 5 in model.predict(x, 24).labels
    rows = np.flatnonzero(np.asarray(y[:, 7].todense()).ravel())[:2]
    model.partial_fit(x[rows], y[rows])
    assert 7 not in model.fitted_.retired
    assert 7 in model.predict(x[rows], 3).labels
    with pytest.raises(DataError, match=r"label 24 of retire is outside 0\.\.23"):
        model.retire([24])
    assert LinearTree(**SMALL).fit(x, y).predict(x, 24).labels.min() == 0


def test_kept_rows_are_saved_and_serve_after_loading(tmp_path):
    x, y = problem()
    model = LinearTree(**SMALL, keep_rows=True).fit(x[:150], y[:150])
    model.save(tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model").partial_fit(x[150:], y[150:])
    model.partial_fit(x[150:], y[150:])
    np.testing.assert_array_equal(loaded.predict(x, 5).scores, model.predict(x, 5).scores)
    np.testing.assert_array_equal(loaded.fitted_.kept_rows.x.toarray(), x.toarray())


def test_damaged_kept_rows_are_refused():
    x, y = problem()
    model = LinearTree(**SMALL, keep_rows=True).fit(x, y)
    fields, arrays = state_of(model.fitted_)
    for name, damage, message in (
        ("rows.x_start", 1, "kept rows are damaged: x"),
        ("rows.y_columns", 99, "'rows.y_columns' holds 99, but must stay below 24"),
        ("rows.x_columns", -1, "'rows.x_columns' holds -1, below 0"),
        ("rows.x_values", np.nan, "'rows.x_values' holds numbers that are not finite"),
    ):
        damaged = {**arrays, name: arrays[name].copy()}
        damaged[name][-1] = damage
        with pytest.raises(ModelFileError, match=message):
            restored(fields, damaged, "here")
    for name in (name for name in arrays if name.startswith("rows.")):
        with pytest.raises(ModelFileError, match=f"'{name}' is missing"):
            restored(fields, {key: array for key, array in arrays.items() if key != name}, "here")


def test_label_names_grow_with_the_labels():
    x, y = problem()
    names = [f"label {n}" for n in range(24)]
    model = LinearTree(**SMALL, keep_rows=True).fit(Dataset(x, y[:, :22], label_names=names[:22]))
    with pytest.raises(DataError, match="2 labels are new"):
        model.partial_fit(x, y)
    with pytest.raises(DataError, match="label 0 is 'label 0' in the model but 'other'"):
        model.partial_fit(Dataset(x, y, label_names=["other", *names[1:]]))
    with pytest.raises(DataError, match="y has 3 label columns, but the model knows 22"):
        model.partial_fit(x, y[:, :3])
    assert model.n_labels_ == 22
    model.partial_fit(Dataset(x, y, label_names=names))
    assert model.label_names_ == tuple(names)


@pytest.mark.parametrize("more", [{"n_trees": 2}, {"negatives": "man"}])
def test_threads_change_no_byte_of_an_update(more):
    x, y = problem()
    one, two = (
        LinearTree(**{**SMALL, "n_threads": n}, **more, keep_rows=True).fit(x[:100], y[:100, :20]).partial_fit(x, y)
        for n in (1, 2)
    )
    for name, array in one.fitted_.arrays().items():
        np.testing.assert_array_equal(array, two.fitted_.arrays()[name])


def test_labels_of_an_update_may_come_by_id_and_by_name(tmp_path):
    x, y = problem()
    ids = [[10 * int(label) for label in row.indices] for row in y]
    plain = LinearTree(**SMALL, keep_rows=True).fit(x[:150], y[:150]).partial_fit(x[150:], y[150:])
    for lists in (ids, [[f"{label:03}" for label in labels] for labels in ids]):
        model = LinearTree(**SMALL).fit(x[:150], lists[:150])
        model.partial_fit(x[150:], lists[150:], earlier=(x[:150], lists[:150]))
        np.testing.assert_array_equal(model.predict(x, 5).labels, plain.predict(x, 5).labels)
        more = [[*labels, 7] if isinstance(labels[0], int) else [*labels, "new"] for labels in lists[:20]]
        model.partial_fit(x[:20], more, earlier=(x, lists))
        assert model.classes_[-1] in (7, "new")
        assert model.n_labels_ == 25
        model.save(tmp_path / "m")
        assert labelwood.load(tmp_path / "m").classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize(
    ("earlier", "message"),
    [(7, "a pair .* but is int"), ((1, 2, 3), "has 3 parts"), ((np.ones((2, 60)), np.ones((2, 30))), "have 30 labels")],
)
def test_earlier_rows_that_do_not_fit_are_refused(earlier, message):
    x, y = problem()
    with pytest.raises(DataError, match=message):
        LinearTree(**SMALL).fit(x, y).partial_fit(x, y, earlier=earlier)


def test_kept_rows_are_those_that_were_given(tmp_path):
    """Other earlier rows than the model had: it keeps what it was taught from, and loads again."""
    x, y = problem()
    model = LinearTree(**SMALL, keep_rows=True).fit(x, y).partial_fit(x[:5], y[:5], earlier=(x[:80], y[:80]))
    assert model.n_rows_ == 85
    model.save(tmp_path / "m")
    assert labelwood.load(tmp_path / "m").fitted_.kept_rows.x.shape == (85, 60)
