"""What the page looks at: the label tree, the model card, and figures on rows that come."""

import math

import numpy as np
import pytest

from labelwood.data.madeup.shop_texts import make_texts
from labelwood.tagger.tagger import Tagger

TEXT = "steel skillet for stews that simmer"


@pytest.fixture(scope="module")
def rows():
    return make_texts(500, n_labels=60, seed=1)


@pytest.fixture(scope="module")
def forest(rows):
    tree = {"max_leaf": 6, "arity": 4, "n_trees": 2}
    return Tagger("linear-tree", n_threads=1, assign="f1", model_params=tree).fit(rows)


@pytest.fixture
def both(forest, saved, start, tmp_path):
    forest.save(tmp_path / "shop")
    return start({"shop": tmp_path / "shop", "dishes": saved})


def node(service, **asked):
    status, answer = service.json("POST", "/v1/tree", asked)
    assert status == 200, answer
    return answer


def test_the_chances_along_a_path_are_those_of_the_explanation(both, forest):
    for number in range(2):
        label = forest.predict([TEXT], k=1)[0][0][0]
        share = forest.explain(TEXT, label).explanation.shares[number].explanation
        way = [step.node for step in share.nodes]
        above = 0
        for step in share.nodes:
            if step.node >= forest.model_.fitted_.trees[number].n_nodes:  # the label's own classifier
                break
            children = {child["node"]: child for child in node(both, text=TEXT, tree=number, node=above)["children"]}
            assert children[step.node]["chance"] == pytest.approx(math.exp(step.log_score), abs=1e-4)
            above = step.node
        leaf = node(both, text=TEXT, tree=number, node=above)
        assert leaf["children"] == []
        assert label in {entry["name"] for entry in leaf["labels"]}
        assert len(way) >= 2


def test_the_scores_in_a_leaf_are_those_of_the_model(both, forest):
    (best,) = forest.predict([TEXT], k=3)
    scores = {}
    open_nodes = [0]
    while open_nodes:
        answer = node(both, text=TEXT, node=open_nodes.pop())
        open_nodes += [child["node"] for child in answer["children"]]
        scores |= {entry["name"]: entry["score"] for entry in answer["labels"]}
    assert len(scores) == len(forest.label_names)
    for name, score in best:
        assert scores[name] == pytest.approx(score, abs=1e-5)


def test_a_tree_is_opened_without_a_text(both, forest):
    root = node(both)
    assert root["n_trees"] == 2
    assert root["n_labels"] == len(forest.label_names) == sum(child["n_labels"] for child in root["children"])
    assert all("chance" not in child for child in root["children"])
    counts = dict(zip(forest.label_names, forest.model_.fitted_.trained_on.label_counts.tolist(), strict=True))
    for child in root["children"]:
        rows = [counts[name] for name in child["names"]]
        assert rows == sorted(rows, reverse=True)
        assert len(rows) == min(3, child["n_labels"])


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"model": "dishes"}, "has no label tree"),
        ({"tree": 2}, "tree 2 is outside 0..1"),
        ({"node": 100_000}, "node 100000 is outside 0.."),
    ],
)
def test_what_is_not_there_is_told(both, asked, told):
    status, problem = both.json("POST", "/v1/tree", asked)
    assert status == 400
    assert told in problem["detail"]


def test_the_model_says_how_many_trees_it_has(both):
    assert both.json("GET", "/v1/model")[1]["trees"] == 2
    assert both.json("GET", "/v1/model?model=dishes")[1]["trees"] == 0


def test_the_card_counts_every_label_once(both, forest):
    card = both.json("GET", "/v1/card")[1]
    counts = forest.model_.fitted_.trained_on.label_counts
    assert sum(entry["n_labels"] for entry in card["label_rows"]) == len(counts)
    for entry in card["label_rows"]:
        within = (counts >= entry["least"]) & (counts <= entry["most"])
        assert entry["n_labels"] == np.count_nonzero(within)
    assert [band["band"] for band in card["bands"]] == ["head", "torso", "tail"]
    assert sum(band["n_rows"] for band in card["bands"]) == counts.sum()
    sure = forest.fitted_.sure()
    assert card["sure"]["rule"] == "f1"
    assert card["sure"]["held_out"] == dict(sure.held_out)
    assert [len(curve["scores"]) for curve in card["sure"]["curves"]] == [len(curve.scores) for curve in sure.curves]
    assert card["parameters"]["max_leaf"] == 6
    assert both.json("GET", "/v1/card?model=dishes")[1]["sure"] is None


def test_figures_on_rows_are_those_of_the_judgement(both, forest, rows):
    texts = list(rows.texts)[:50]
    labels = [[rows.label_names[label] for label in rows.y[row].indices] for row in range(50)]
    labels[0] = [*labels[0], "never heard of"]
    status, answer = both.json("POST", "/v1/judge", {"texts": texts, "labels": labels})
    assert status == 200, answer
    assert (answer["n_rows"], answer["n_unknown"], answer["places"]) == (50, 1, 5)
    assert sum(band["n_true"] for band in answer["bands"]) == sum(map(len, labels))
    given = [{name for name, _ in row} for row in forest.predict(texts, assign=True)]
    right = sum(len(names & set(row)) for names, row in zip(given, labels, strict=True))
    measured = answer["measured"]
    assert measured["figures"]["precision"][0] == pytest.approx(100 * right / sum(map(len, given)))
    assert measured["figures"]["recall"][0] == pytest.approx(100 * right / sum(map(len, labels)))
    assert sum(entry["n_answers"] for entry in measured["reliability"]) == 250
    plain = both.json("POST", "/v1/judge", {"texts": ["apple pie"], "labels": [["dessert"]], "model": "dishes"})[1]
    assert plain["measured"] is None
    assert sum(band["n_found"] for band in plain["bands"]) == 1


def test_a_label_that_came_after_training_is_on_the_card_and_judged(rows, start, tmp_path):
    changed = Tagger("hierarchicalxc", n_threads=1, assign="f1").fit(rows)
    changed.change_labels("add", "zorbing", text="a zorb ball")
    changed.save(tmp_path / "changed")
    service = start({"changed": tmp_path / "changed"})
    card = service.json("GET", "/v1/card")[1]
    assert sum(entry["n_labels"] for entry in card["label_rows"]) == len(changed.label_names)
    answer = service.json("POST", "/v1/judge", {"texts": ["a zorb ball"], "labels": [["zorbing"]]})[1]
    assert answer["n_unknown"] == 0
    assert answer["measured"]["figures"]["recall"][0] == 100


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"texts": ["a"], "labels": []}, "there are 1 texts but 0 lists of labels"),
        ({"texts": ["a"], "labels": [[]]}, "no row has a label"),
        ({"texts": ["a"] * 1001, "labels": [["b"]] * 1001}, "at most 1000"),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(both, asked, told):
    status, problem = both.json("POST", "/v1/judge", asked)
    assert status in (400, 413)
    assert told in problem["detail"]
