"""The experiments of the papers as data: every setting is one that its model takes, every printed line has a run."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.data.catalogue import find
from labelwood.data.dataset import Dataset
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.data.writing.write import write
from labelwood.errors import DataError, ParamError
from labelwood.models.registry import model_class
from labelwood.report.compare_data import Parts
from labelwood.report.papers.all_papers import PAPERS, chosen_experiments, find_paper, with_lines
from labelwood.report.papers.experiment import ANSWERS
from labelwood.report.papers.measures import imbalance, measured
from labelwood.report.papers.rows import QUICK_ROWS, data_folder, drawn_split, splits

EXPERIMENTS = [(paper, each) for paper in PAPERS.values() for each in paper.experiments]


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS, ids=lambda value: value.name)
def test_settings_are_the_models_own_and_data_sets_are_known(paper, experiment):
    for variant in experiment.variants:
        cls = model_class(variant.model)
        preset = {} if variant.preset is None else cls.preset_settings(variant.preset)
        cls.Parameters.check_names(variant.changes, cls.__name__)
        cls.Parameters.checked({**preset, **variant.changes}, cls.__name__)
    for name in (*experiment.data, *(row.data for row in experiment.printed)):
        assert find(name).name == name
    titles = [variant.title for variant in experiment.variants]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS, ids=lambda value: value.name)
def test_what_variants_are_compared_with_is_printed(paper, experiment):
    if experiment.group != ANSWERS or not experiment.printed:
        return
    printed = {row.line for row in experiment.printed}
    assert {variant.printed_as for variant in experiment.variants if variant.printed_as} <= printed
    assert all(set(row.values) <= set(experiment.metrics) for row in experiment.printed)


def test_some_printed_values():
    """Read from the papers' tables."""
    table_2, table_8 = (chosen_experiments(find_paper(name), [number], [])[0] for name, number in
                        (("dxml", "2"), ("elias", "8")))  # fmt: skip
    assert table_2.values_printed("delicious", "DXML") == {"P@1": 68.17, "P@3": 62.02, "P@5": 57.45}
    assert table_8.values_printed("amazon-670k", "+ ensemble")["R@100"] == 72.07
    (gap,) = chosen_experiments(find_paper("glas"), ["2"], [])
    for row in gap.printed:
        assert row.values["gap"] == pytest.approx(row.values["train P@1"] - row.values["P@1"], abs=0.005)


def test_tables_and_figures_are_chosen_by_number():
    elias = find_paper("elias")
    assert [each.name for each in chosen_experiments(elias, ["3"], ["7"])] == ["table 3", "figure 7a", "figure 7b"]
    assert chosen_experiments(elias, [], []) == elias.experiments
    with pytest.raises(ParamError, match=r"table 99.*table 3"):
        chosen_experiments(elias, ["99"], [])
    with pytest.raises(ParamError, match=r"elais.*elias"):
        find_paper("elais")


def test_lines_are_chosen_by_their_titles():
    chosen = with_lines(chosen_experiments(find_paper("dxml"), ["2", "4"], []), ["preset paper", "LEML"])
    assert [[each.title for each in table.variants] for table in chosen] == [["DXML, preset paper", "LEML"]] * 2
    with pytest.raises(ParamError, match=r"'LMEL'.*KNN"):
        with_lines(find_paper("dxml").experiments, ["LMEL"])


@pytest.fixture
def rows():
    random = np.random.default_rng(1)
    x = sparse.csr_matrix(np.arange(1, 41, dtype=np.float32)[:, None])  # the value tells the row
    return Dataset(x, sparse.csr_matrix((random.uniform(size=(40, 3)) < 0.5).astype(np.float32)))


def values(part):
    return part.features().toarray()[:, 0].tolist()


def test_folders_are_found_by_any_spelling(tmp_path):
    (tmp_path / "EURLex_4K").mkdir()
    assert data_folder(tmp_path, "eurlex-4k") == tmp_path / "EURLex_4K"
    assert data_folder(tmp_path, "bibtex") is None
    assert data_folder(tmp_path / "nowhere", "bibtex") is None


def test_several_splits_are_the_columns_of_a_file_else_drawn(rows, tmp_path):
    write(rows, tmp_path / "data.txt")
    (tmp_path / "x_trSplit.txt").write_text("1 4\n2 5\n3 6\n")
    (tmp_path / "x_tstSplit.txt").write_text("4 1\n5 2\n")
    first, second = splits(tmp_path, 2)
    assert (values(first.train), values(first.test)) == ([1, 2, 3], [4, 5])
    assert (values(second.train), values(second.test)) == ([4, 5, 6], [1, 2])
    (one,) = splits(tmp_path, 1)
    assert values(one.train) == [1, 2, 3]
    drawn = list(splits(tmp_path, 3))  # more than the file has columns: drawn, in the sizes of the first
    for number, parts in enumerate(drawn):
        train, test = drawn_split(40, 3, number)
        assert values(parts.train) == (train + 1).tolist()
        assert values(parts.test) == (test + 1).tolist()
    assert values(drawn[0].train) != values(drawn[1].train)


def test_training_and_test_files_are_joined_for_drawn_splits(rows, tmp_path):
    write(rows.take(np.arange(30)), tmp_path / "train.txt")
    write(rows.take(np.arange(30, 40)), tmp_path / "test.txt")
    (given,) = splits(tmp_path, 1)
    assert values(given.train) == list(range(1, 31))
    for parts in splits(tmp_path, 2):
        assert (parts.train.n_rows, parts.test.n_rows) == (30, 10)
        assert sorted(values(parts.train) + values(parts.test)) == list(range(1, 41))


def test_quick_takes_few_rows(tmp_path):
    n = 2 * QUICK_ROWS[0]
    x = sparse.csr_matrix(np.arange(1, n + 1, dtype=np.float32)[:, None])
    data = Dataset(x, sparse.csr_matrix(np.ones((n, 1), np.float32)))
    write(data, tmp_path / "train.txt")
    write(data, tmp_path / "test.txt")
    (parts,) = splits(tmp_path, 1, quick=True)
    assert (parts.train.n_rows, parts.test.n_rows) == QUICK_ROWS


def test_a_folder_without_rows_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(DataError, match=r"training and a test file.*README\.md"):
        list(splits(tmp_path, 1))


def test_a_part_of_the_training_rows(rows, tmp_path):
    write(rows, tmp_path / "train.txt")
    write(rows, tmp_path / "test.txt")
    (parts,) = splits(tmp_path, 1, most_rows=7)
    assert (parts.train.n_rows, parts.test.n_rows) == (7, 40)
    assert values(parts.train) == sorted(values(parts.train))


def test_what_the_most_frequent_labels_hold():
    """By hand: 100 labels, of which label 0 is in rows 0 to 2, label 1 in rows 0 and 1, all others once, in row 3."""
    y = np.zeros((4, 100), np.float32)
    y[:3, 0] = y[:2, 1] = y[3, 2:] = 1
    lines = imbalance(sparse.csr_matrix(y))
    one, three = lines["1 % of the labels"], lines["3 % of the labels"]
    assert one["positives, per cent"] == pytest.approx(100 * 3 / 103)
    assert (one["rows with one, per cent"], one["rows with three, per cent"]) == (75, 25)
    assert (three["rows with one, per cent"], three["rows with all, per cent"]) == (100, 75)
    assert set(lines["100 % of the labels"].values()) == {100}


def test_deciles_of_labels_add_up_to_the_recall():
    pytest.importorskip("torch")
    train, test = make_sparse_pair(300, 100, n_features=400, n_labels=30, seed=3)
    model = lw.GLaS(epochs=2, dim=16, n_threads=1).fit(train)
    groups = measured(model, Parts(train, test), (0.55, 1.5))
    assert groups[ANSWERS][""]["epochs"] == 2
    deciles = groups["deciles"]
    assert list(deciles) == [f"decile {number}" for number in range(1, 11)]
    assert sum(line["R@5"] for line in deciles.values()) == pytest.approx(groups[ANSWERS][""]["R@5"])
