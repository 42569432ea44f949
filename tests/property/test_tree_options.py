"""Options of LinearTree: negatives, own trees, size budget, byte weights, costs, label names in the tree."""

import json

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.data.dataset import Dataset
from labelwood.errors import BudgetError, DataError, ParamError
from labelwood.labelindex.hierarchy import tree_from_clusters
from labelwood.labelspace.name_vectors import name_vectors
from labelwood.labelspace.weighting import label_costs
from labelwood.metrics.propensity import inverse_propensity
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.models.linear.tree_negatives import matched_rows, rows_above
from labelwood.models.linear.tree_nodes import first_blocks
from labelwood.models.linear.weight_blocks import ranked_rows

SMALL = {"arity": 4, "max_leaf": 4, "n_threads": 1}


def problem(seed=4, n_rows=200, n_features=60, n_labels=24):
    """Rows that show their labels in four features each, and noise; popular labels come first."""
    random = np.random.default_rng(seed)
    own = random.choice(n_features, size=(n_labels, 4))
    weight = 1 / np.arange(1, n_labels + 1)
    x, y = np.zeros((n_rows, n_features), np.float32), np.zeros((n_rows, n_labels), np.float32)
    for row in range(n_rows):
        labels = random.choice(n_labels, size=random.integers(1, 4), replace=False, p=weight / weight.sum())
        y[row, labels] = 1
        for label in labels:
            x[row, own[label]] += random.uniform(0.5, 1.5, 4)
        x[row, random.choice(n_features, 5)] += random.uniform(0, 0.6, 5)
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


def arrays_equal(one, other):
    ours, theirs = one.fitted_.arrays(), other.fitted_.arrays()
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


# negatives


def test_a_search_that_reaches_every_node_makes_all_rows_negatives():
    """L2: with a beam as wide as the tree, man and tfn+man train every node on all rows: one-vs-all in every block."""
    x, y = problem()
    wide = {**SMALL, "match_beam": 1024, "prune": 0.0, "eps": 1e-4, "max_passes": 500}
    man, both = (LinearTree(**wide, negatives=kind).fit(x, y) for kind in ("man", "tfn+man"))
    assert arrays_equal(man, both)
    tree = both.fitted_.trees[0]
    flat = labelwood.OneVsAll(C=1.0, rare_power=0.15, prune=0.0, eps=1e-4, max_passes=500, n_threads=1).fit(x, y)
    first, eye = first_blocks(tree), np.ones(1, np.float32)
    for leaf in tree.leaves:
        if tree.n_labels_in[leaf] == 1:
            continue
        for f in range(0, both.fitted_.blocks[0].n_features, 7):
            ours = both.fitted_.blocks[0].margins(int(first[leaf]), np.array([f], np.int32), eye)
            theirs = flat.fitted_.blocks.margins(0, np.array([f], np.int32), eye)[tree.labels_below(int(leaf))]
            np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_man_keeps_positives_that_the_search_misses():
    """With a beam of 1 rows miss most of their leaves; as positives they are there all the same, as negatives not."""
    x, y = problem()
    models = {kind: LinearTree(**SMALL, match_beam=1, negatives=kind).fit(x, y) for kind in ("tfn", "man", "tfn+man")}
    assert not arrays_equal(models["man"], models["tfn+man"])
    assert not arrays_equal(models["tfn"], models["tfn+man"])
    trained = models["tfn"].fitted_.blocks[0].arrays["bias"] != -10
    for model in models.values():
        np.testing.assert_array_equal(model.fitted_.blocks[0].arrays["bias"] != -10, trained)
        assert labelwood.evaluate(model.predict(x, 3), y)["P@1"] > 80


def test_matched_rows_are_those_of_a_plain_beam_search():
    x, y = problem()
    model = LinearTree(**SMALL).fit(x, y)
    tree, blocks = model.fitted_.trees[0], model.fitted_.blocks[0]
    rows = ranked_rows(x, model.fitted_.feature_rank, True)
    first, beam = first_blocks(tree), 2
    expected = set()
    for row in range(x.shape[0]):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        level = [(0.0, 0)]
        while level:
            expected |= {(row, node) for _, node in level}
            found = []
            for score, node in level:
                if tree.n_children[node]:
                    margins = blocks.margins(int(first[node]), rows.indices[part], rows.data[part])
                    below = np.maximum(-80, score - np.maximum(0, 1 - margins) ** 3)
                    found += [(-float(s), child) for s, child in zip(below, tree.children(node), strict=True)]
            level = [(-s, node) for s, node in sorted(found)[:beam]]
    for n_threads in (1, 2):
        reached = matched_rows(tree, blocks, rows, 1, beam, n_threads)
        nodes = np.repeat(np.arange(tree.n_nodes), np.diff(reached.start))
        assert set(zip(reached.rows.tolist(), nodes.tolist(), strict=True)) == expected


def test_given_negatives_join_the_leaf_and_every_node_above():
    x, y = problem()
    tree = LinearTree(**SMALL).fit(x, y).fitted_.trees[0]
    given = sparse.csr_matrix(([1.0, 1.0], ([3, 9], [2, 5])), shape=y.shape)
    found = rows_above(tree, given)
    for node in range(tree.n_nodes):
        own = [row for row, label in ((3, 2), (9, 5)) if node in tree.path(label)]
        assert found.rows[found.start[node] : found.start[node + 1]].tolist() == own
    plain = LinearTree(**SMALL).fit(x, y)
    everywhere = sparse.csr_matrix(np.ones(y.shape, np.float32))
    assert not arrays_equal(LinearTree(**SMALL).fit(x, y, negatives=everywhere), plain)
    assert arrays_equal(LinearTree(**SMALL).fit(x, y, negatives=sparse.csr_matrix(y.shape)), plain)
    with pytest.raises(DataError, match=r"negatives has the shape \(200, 3\), but must have that of y, \(200, 24\)"):
        LinearTree(**SMALL).fit(x, y, negatives=y[:, :3])


@pytest.mark.parametrize("kind", ["man", "tfn+man"])
def test_threads_change_no_byte_of_matched_training(kind):
    x, y = problem()
    one, two = (LinearTree(**{**SMALL, "n_threads": n}, negatives=kind, match_beam=2).fit(x, y) for n in (1, 2))
    assert arrays_equal(one, two)


# own trees


def test_a_tree_given_to_fit_is_the_tree(tmp_path):
    x, y = problem()
    tree = tree_from_clusters([("even" if n % 2 == 0 else "odd", n % 3) for n in range(24)])
    model = LinearTree(**SMALL, n_trees=2).fit(x, y, tree=tree)
    assert all(found.same_as(tree) for found in model.fitted_.trees)
    assert labelwood.evaluate(model.predict(x, 3), y)["P@1"] > 80
    model.save(tmp_path / "model")
    assert labelwood.load(tmp_path / "model").fitted_.trees[0].same_as(tree)
    with pytest.raises(DataError, match="the tree given has 24 labels, but y has 5"):
        LinearTree(**SMALL).fit(x, y[:, :5], tree=tree)


def test_a_hierarchy_file_makes_the_tree(tmp_path):
    """Parents with and without lines of their own, a label that is a parent, and a name that is no label."""
    file = tmp_path / "hierarchy.tsv"
    file.write_text("# comment\n\nb\ta\nc\ta\nd\tb\ne\tb\nf\tother\nnobody\ta\n", encoding="utf-8")
    x, y = np.eye(5, dtype=np.float32), np.eye(5, dtype=np.float32)
    model = LinearTree(tree=str(file), n_threads=1).fit(Dataset(x, y, label_names=list("bcdef")))
    tree = model.fitted_.trees[0]
    leaves = sorted(sorted("bcdef"[label] for label in tree.labels_below(int(leaf))) for leaf in tree.leaves)
    assert leaves == [["b", "d", "e"], ["c"], ["f"]]  # b and what is directly below it share a leaf
    assert len(tree.path(2)) > len(tree.path(4))
    model.save(tmp_path / "model")
    file.unlink()  # a saved model has its tree
    assert labelwood.load(tmp_path / "model").fitted_.trees[0].same_as(tree)


def test_a_cluster_file_makes_the_tree(tmp_path):
    file = tmp_path / "clusters.tsv"
    file.write_text("0\tlaw\ttax\n1\tlaw\ttax\n2\tlaw\tcourts\n3\thealth\n", encoding="utf-8")
    x, y = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)
    tree = LinearTree(tree=str(file), n_threads=1).fit(x, y).fitted_.trees[0]
    assert tree.same_as(tree_from_clusters([("law", "tax"), ("law", "tax"), ("law", "courts"), ("health",)]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\ta\n", "1 of 2 labels have no line; the first is label number '1'"),
        ("0\ta\n1\n", "line 2: expected a name, a tab and a parent"),
        ("0\ta\n1\ta\n0\tb\n", "line 3: '0' already has line 1"),
        ("0\ta\n1\ta\na\tb\nb\ta\n", "is below itself"),
        ("# nothing\n", "is empty"),
        (None, "no such file"),
    ],
)
def test_a_bad_hierarchy_is_refused(tmp_path, text, message):
    file = tmp_path / "hierarchy.tsv"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        LinearTree(tree=str(file)).fit(np.eye(2), np.eye(2))


# size


@pytest.mark.parametrize("more", [{}, {"n_trees": 2}, {"weights": "int8"}, {"keep_rows": True}])
def test_a_model_keeps_to_its_size_budget(tmp_path, more):
    x, y = problem(n_rows=800, n_features=3000, n_labels=200)
    whole = LinearTree(prune=0.0, n_threads=1, **more).fit(x, y)
    whole.save(tmp_path / "whole")
    size = sum(file.stat().st_size for file in (tmp_path / "whole").iterdir())
    beside = size - sum(a.nbytes for b in whole.fitted_.blocks for a in b.arrays.values())
    budget = beside + 30_000 + (size - beside) // 2
    model = LinearTree(prune=0.0, n_threads=1, size_budget=str(budget), **more).fit(x, y)
    model.save(tmp_path / "model")
    used = sum(file.stat().st_size for file in (tmp_path / "model").iterdir())
    assert 0.6 * budget < used <= budget
    if "weights" in more:  # rounded to bytes, small weights are not what they were
        return
    # The largest weights stay: no kept weight is smaller than one that was dropped.
    names = [int(f) for f in range(0, whole.fitted_.blocks[0].n_features, 11)]
    one = np.ones(1, np.float32)
    kept, dropped = [], []
    for f in names:
        a, b = (
            m.fitted_.blocks[0].margins(0, np.array([f], np.int32), one)
            - m.fitted_.blocks[0].margins(0, np.zeros(0, np.int32), one[:0])
            for m in (whole, model)
        )
        kept += np.abs(a[(a != 0) & (b != 0)]).tolist()
        dropped += np.abs(a[(a != 0) & (b == 0)]).tolist()
    assert dropped
    assert min(kept) >= max(dropped) * 0.97


def test_a_budget_that_is_kept_anyway_changes_nothing():
    x, y = problem()
    assert arrays_equal(LinearTree(**SMALL, size_budget="100M").fit(x, y), LinearTree(**SMALL).fit(x, y))


def test_an_impossible_budget_is_refused():
    x, y = problem()
    with pytest.raises(BudgetError, match="even without a single weight"):
        LinearTree(**SMALL, size_budget="1k").fit(x, y)
    with pytest.raises(ParamError, match="size_budget must be a size such as '100M', but is 'small'"):
        LinearTree(**SMALL, size_budget="small").fit(x, y)


def test_byte_weights_answer_nearly_as_half_floats_do(tmp_path):
    x, y = problem(n_rows=600)
    half, small = (LinearTree(n_threads=1, weights=kind).fit(x[:400], y[:400]) for kind in ("half", "int8"))
    assert half.fitted_.trees[0].same_as(small.fitted_.trees[0])
    np.testing.assert_allclose(half.predict(x, 24).scores.mean(), small.predict(x, 24).scores.mean(), rtol=0.02)
    assert (half.predict(x, 1).labels == small.predict(x, 1).labels).mean() > 0.97
    assert small.fitted_.blocks[0].arrays["payload"].nbytes < 0.75 * half.fitted_.blocks[0].arrays["payload"].nbytes
    small.save(tmp_path / "model")
    np.testing.assert_array_equal(labelwood.load(tmp_path / "model").predict(x, 5).scores, small.predict(x, 5).scores)
    np.testing.assert_allclose(
        small.explain(x[0], 3).score,
        small.predict(x[0], 24).scores[0][small.predict(x[0], 24).labels[0] == 3],
        rtol=1e-3,
    )


# costs


def test_factors_of_one_change_nothing_and_others_do():
    x, y = problem()
    plain = LinearTree(**SMALL).fit(x, y)
    assert arrays_equal(LinearTree(**SMALL, C_pos=1.0, C_neg=1.0, weighting="none").fit(x, y), plain)
    assert not arrays_equal(LinearTree(**SMALL, C_pos=4.0).fit(x, y), plain)
    twice = LinearTree(**SMALL, C=2.0).fit(x, y)
    assert arrays_equal(LinearTree(**SMALL, C_pos=2.0, C_neg=2.0).fit(x, y), twice)


def test_costly_positives_raise_scores():
    x, y = problem()
    low, high = (LinearTree(**SMALL, C_pos=c).fit(x, y).predict(x, 24).scores.mean() for c in (0.2, 5.0))
    assert high > low


def test_label_costs_are_one_on_average_and_follow_the_metric():
    counts = np.array([100, 10, 1, 0])
    assert label_costs(counts, 200, "none") is None
    for kind in ("propensity", "inverse-frequency"):
        costs = label_costs(counts, 200, kind)
        assert counts @ costs == pytest.approx(counts.sum())
        assert (np.diff(costs[:3]) > 0).all()
    weights = inverse_propensity(counts, n_train=200)
    np.testing.assert_allclose(label_costs(counts, 200, "propensity") / weights, (counts.sum() / (counts @ weights)))
    with pytest.raises(ParamError, match="unknown weighting"):
        label_costs(counts, 200, "tail")


@pytest.mark.parametrize("weighting", ["propensity", "inverse-frequency"])
def test_weighting_favours_rare_labels(weighting):
    x, y = problem(n_rows=400)
    plain, weighted = (LinearTree(**SMALL, rare_power=0.0, weighting=w).fit(x, y) for w in ("none", weighting))
    counts = plain.label_counts_
    mean = [counts[model.predict(x, 3).labels].mean() for model in (plain, weighted)]
    assert mean[1] < mean[0]


# label names


def test_name_vectors_are_tf_idf_of_the_known_words():
    x = sparse.csr_matrix(np.array([[1, 0, 1], [1, 0, 0], [1, 2, 0]], np.float32))
    found = name_vectors(["Cake bread", "soup", "bread-bread"], ["bread", "Cake", "rice"], x).toarray()
    idf = np.log(4 / (1 + np.array([3, 1, 1]))) + 1
    np.testing.assert_allclose(found[0], np.array([idf[0], idf[1], 0]) / np.hypot(idf[0], idf[1]), rtol=1e-6)
    assert not found[1].any()
    np.testing.assert_allclose(found[2], [1, 0, 0], rtol=1e-6)


def test_label_names_pull_labels_together():
    """Rows that say nothing of which labels belong together; the names do."""
    x, y = np.eye(8, 10, dtype=np.float32), np.eye(8, dtype=np.float32)
    names = [f"thing {'red' if n % 2 else 'blue'}" for n in range(8)]
    data = Dataset(x, y, label_names=[f"{name} {n}" for n, name in enumerate(names)],
                   feature_names=[*"abcdefgh", "red", "blue"])  # fmt: skip
    wanted = [[0, 2, 4, 6], [1, 3, 5, 7]]

    def found(weight):
        """How many of ten seeds find the two kinds; 2-means may start in two labels of one kind."""
        models = (
            LinearTree(max_leaf=4, arity=2, label_features=weight, seed=s, n_threads=1).fit(data) for s in range(10)
        )
        trees = [model.fitted_.trees[0] for model in models]
        return sum(sorted(sorted(t.labels_below(int(leaf)).tolist()) for leaf in t.leaves) == wanted for t in trees)

    assert found(1.0) >= 4
    assert found(0.0) <= 1
    with pytest.raises(DataError, match="label_features needs the names"):
        LinearTree(label_features=1.0).fit(x, y)


# restriction to a subtree


def test_a_subtree_is_searched_alone():
    x, y = problem()
    model = LinearTree(**SMALL).fit(x, y)
    tree = model.fitted_.trees[0]
    node = int(tree.children(0)[1])
    inside = tree.labels_below(node)
    found, full = model.search(x, 3, allow=inside), model.predict(x, 24)
    for row in range(20):
        wanted = [label for label in full.labels[row] if label in set(inside.tolist())][:3]
        assert found.top.labels[row][: len(wanted)].tolist() == wanted
    below = np.sum((tree.first_label >= tree.first_label[node])
                   & (tree.first_label < tree.first_label[node] + tree.n_labels_below[node]))  # fmt: skip
    assert found.n_blocks.max() <= 1 + below


# command line


def test_train_takes_a_tree(tmp_path):
    from typer.testing import CliRunner

    from labelwood.cli.main import app

    rows = [{"text": f"word{n % 4} filler", "labels": [f"l{n % 4}"]} for n in range(24)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "tree.tsv").write_text("l0\ta\nl1\ta\nl2\tb\nl3\tb\n")
    arguments = [
        "train",
        str(tmp_path / "data.jsonl"),
        "--out",
        str(tmp_path / "m"),
        "--tree",
        str(tmp_path / "tree.tsv"),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    model = labelwood.load(tmp_path / "m").model_
    assert model.name == "linear-tree"
    assert model.fitted_.trees[0].n_nodes == 3
    assert labelwood.load(tmp_path / "m").predict(["word2"], 1)[0][0][0] == "l2"
