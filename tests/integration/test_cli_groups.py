"""`--group`: rows that belong together, from every kind of table, in training, learning and splitting."""

import json
from dataclasses import replace

import numpy as np
import pytest

import labelwood as lw
from labelwood.cli.main import run
from labelwood.data.dataset import Dataset
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.data.writing.write import write
from labelwood.errors import DataError


def shop(n_pairs=150):
    """A table in which every text comes twice, in other words."""
    data = make_texts(n_pairs, seed=0).take(np.repeat(np.arange(n_pairs), 2))
    texts = [text if row % 2 else f"Again: {text}" for row, text in enumerate(data.texts)]
    groups = [f"item {row // 2}" for row in range(2 * n_pairs)]
    return Dataset(None, data.y, texts, data.label_names, groups=groups)


@pytest.fixture
def table(tmp_path):
    """The table as CSV; its groups are in the column `group`."""
    write(shop(), tmp_path / "shop.csv")
    return tmp_path / "shop.csv"


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
def test_groups_are_written_and_read(tmp_path, ending):
    data = shop(20)
    groups = [*data.groups[:-1], None]
    path = tmp_path / f"rows.{ending}"
    write(Dataset(None, data.y, data.texts, data.label_names, groups=groups), path)
    back = lw.read(path, group="group")
    assert back.texts == data.texts
    assert [group or None for group in back.groups] == groups
    assert lw.read(path).groups is None
    with pytest.raises(DataError, match="column 'grup'"):
        lw.read(path, group="grup")
    with pytest.raises(DataError, match="'text' holds text or labels"):
        lw.read(path, group="text")


def test_whole_numbers_are_written_as_such(tmp_path):
    data = shop(20)
    groups = [float(row // 2) if row % 5 else float("nan") for row in range(40)]  # as a data frame holds them
    write(Dataset(None, data.y, data.texts, data.label_names, groups=groups), tmp_path / "rows.csv")
    back = lw.read(tmp_path / "rows.csv", group="group")
    assert back.groups == tuple(str(row // 2) if row % 5 else "" for row in range(40))


def test_a_row_that_lacks_the_key_is_in_no_group(tmp_path):
    rows = [{"text": f"a text {n}", "labels": ["a"], **({"thread": n // 2} if n < 4 else {})} for n in range(6)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    assert lw.read(path, group="thread").groups == (0, 0, 1, 1, None, None)
    path.write_text('{"text": "a", "labels": ["x"], "thread": [1, 2]}\n')
    with pytest.raises(DataError, match="the group 'thread' must be one text or number"):
        lw.read(path, group="thread")


def test_probabilities_are_those_of_new_groups(cli, table, tmp_path):
    figures = []
    for number, more in enumerate([(), ("--group", "group")]):
        result = cli("train", table, "--out", tmp_path / f"{number}", "--model", "linear-tree", "--json", *more)
        assert result.code == 0, result.err
        figures.append(json.loads(result.out)["assign"])
    found = [lw.load(tmp_path / f"{number}").calibration_.held_out["f1"] for number in (0, 1)]
    assert found[1] < found[0] - 0.05
    assert figures[0] != figures[1]


def test_lines_of_a_text_in_different_groups_are_not_joined(tmp_path):
    lines = [f"text {n},{tag},{group}" for n in range(20) for tag, group in (("a", n), ("b", n), ("c", 100 + n))]
    path = tmp_path / "rows.csv"
    path.write_text("text,labels,thread\n" + "\n".join(lines) + "\n")
    assert lw.read(path).n_rows == 20
    data = lw.read(path, group="thread")
    assert data.groups == tuple(str(group) for n in range(20) for group in (n, 100 + n))
    assert [[data.label_names[label] for label in row.indices] for row in data.y[:2]] == [["a", "b"], ["c"]]


@pytest.fixture
def copies(tmp_path):
    """A table in which every text stands twice, with the same labels."""
    data = make_texts(150, seed=0).take(np.repeat(np.arange(150), 2))
    write(data, tmp_path / "copies.csv")
    return tmp_path / "copies.csv"


def test_a_split_keeps_copies_on_one_side(cli, copies, tmp_path):
    parts = tmp_path / "train.csv", tmp_path / "test.csv"
    files = ("--out-train", parts[0], "--out-test", parts[1], "--force")
    result = cli("data", "split", copies, *files)
    assert result.code == 0, result.err
    assert "note: 100% of the texts have an exact copy among the others; copies are held out together" in result.err
    train, test = map(lw.read, parts)
    assert not set(train.texts) & set(test.texts)
    assert (train.n_rows, test.n_rows) == (240, 60)
    assert "group" not in parts[0].read_text().splitlines()[0]
    again = cli("data", "split", copies, *files, "--stratify", "--quiet")
    assert (again.code, again.err) == (0, "")
    assert set(lw.read(parts[0]).texts) & set(lw.read(parts[1]).texts)


def test_a_split_of_rows_without_labels_keeps_copies_on_one_side(cli, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("text,labels\n" + "".join(f"text {n // 2},\n" for n in range(40)))
    parts = tmp_path / "train.csv", tmp_path / "test.csv"
    result = cli("data", "split", rows, "--out-train", parts[0], "--out-test", parts[1])
    assert result.code == 0, result.err
    train, test = map(lw.read, parts)
    assert not set(train.texts) & set(test.texts)


def test_a_comparison_keeps_copies_on_one_side(cli, copies, tmp_path):
    result = cli("compare", copies, "--models", "popular,one-vs-all", "--out", tmp_path / "page.html", "--threads", 1)
    assert result.code == 0, result.err
    assert "note: 100% of the texts have an exact copy among the others; copies are held out together" in result.err
    data = json.loads((tmp_path / "page.json").read_text())["data"]
    assert (data["train_rows"], data["test_rows"], data["test_groups"]) == (240, 60, 30)
    words = (tmp_path / "page.md").read_text()
    assert "Copies of a text are on one side; the test rows are 30 different texts." in words
    assert "resamples of whole groups of the test rows (30 groups)" in words


def test_a_split_keeps_groups_apart_and_tells_them_to_the_next_command(cli, table, tmp_path):
    parts = tmp_path / "train.csv", tmp_path / "test.csv"
    files = ("--out-train", parts[0], "--out-test", parts[1])
    result = cli("data", "split", table, *files, "--group", "group", "--test", 0.25)
    assert result.code == 0, result.err
    train, test = (lw.read(path, group="group") for path in parts)
    assert not set(train.groups) & set(test.groups)
    assert train.n_rows + test.n_rows == 300
    assert abs(test.n_rows - 75) <= 1
    refused = cli("data", "split", table, *files, "--group", "group", "--stratify", "--force")
    assert refused.code == 2
    assert "groups are drawn whole" in refused.err


def test_learn_takes_groups(cli, table, tmp_path):
    folder, more = tmp_path / "model", tmp_path / "more.csv"
    assert cli("train", table, "--out", folder, "--model", "linear-tree", "--group", "group").code == 0
    more.write_text("text,labels,group\nsomething new,a new tag,item 0\n")
    assert cli("learn", folder, more, "--group", "group").code == 0
    hashes = lw.load(folder).fitted_.rows.groups.tolist()
    assert hashes[-1] == hashes[0] != 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.txt", "4 5 3\n0,1 0:1 1:1\n1 1:1 2:0.5\n2 3:1\n0 0:2 4:1\n", "--group has no meaning for format 'xmc'"),
        ("rows.txt", "__label__a some text\n__label__b another text\n", "fasttext has no columns that --group"),
        ("rows.csv", "some long text here,a\nanother long text,b\n", "group"),
        ("rows.csv", "text,labels,who\none,a,x\ntwo,b,y\n", "column 'customer'"),
        ("rows.csv", "text,labels,customer\none,a,x\ntwo,b,x\nthree,b,y\n", "'x' has 2 of 3 rows"),
    ],
)
def test_what_has_no_groups_is_refused(tmp_path, capfd, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    assert run(["train", str(path), "--out", str(tmp_path / "out"), "--group", "customer"]) == 2
    assert message in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_evaluate_draws_whole_groups(cli, table, tmp_path):
    folder = tmp_path / "model"
    assert cli("train", table, "--out", folder, "--model", "linear-tree", "--group", "group").code == 0
    found = []
    for more in ([], ["--group", "group"]):
        result = cli("evaluate", folder, table, "--json", *more)
        assert result.code == 0, result.err
        found.append(json.loads(result.out))
    by_row, by_group = found
    assert by_group["groups"] == 150
    assert "groups" not in by_row
    assert by_group["metrics"] == by_row["metrics"]
    (value, low, high), (same, left, right) = (facts["assigned"]["f1"].values() for facts in found)
    assert same == value
    assert right - left > 1.1 * (high - low)
    told = cli("evaluate", folder, table, "--group", "group")
    assert "The intervals draw whole groups, 150 of them." in " ".join(told.out.split())
    refused = cli("evaluate", folder, table, "--group", "customer")
    assert refused.code == 2
    assert "column 'customer'" in refused.err
    assert cli("train", table, "--out", folder, "--model", "linear-tree", "--assign", "none", "--force").code == 0
    refused = cli("evaluate", folder, table, "--group", "group")
    assert refused.code == 2
    assert "has not learnt to assign tags" in refused.err


def test_compare_keeps_groups_apart_and_draws_them_whole(cli, table, tmp_path):
    reports = []
    for name, more in (("rows", []), ("groups", ["--group", "group"]), ("groups", ["--group", "group", "--force"])):
        out, work = tmp_path / f"{name}.html", tmp_path / "runs"
        asked = ("--models", "one-vs-all,popular", "--threads", 1, "--out", out, "--work", work, "--json", *more)
        result = cli("compare", table, *asked)
        assert result.code == 0, result.err
        reports.append(json.loads(result.out))
    by_row, by_group, again = reports
    assert [run["reused"] for run in by_group["runs"]] == [False, False]
    assert [run["reused"] for run in again["runs"]] == [True, True]
    data = by_group["data"]
    assert data["train_groups"] + data["test_groups"] == 150
    assert data["train_rows"] == 2 * data["train_groups"]
    assert "train_groups" not in by_row["data"]
    p1 = [report["models"]["one-vs-all"]["compared"]["P@1"]["value"] for report in (by_row, by_group)]
    assert p1[1] < p1[0]  # no sibling helps any more
    page, text = (tmp_path / f"groups.{ending}" for ending in ("html", "md"))
    for words in (page.read_text(), text.read_text()):
        assert f"They are of {data['train_groups']} and {data['test_groups']} groups" in words
        assert f"resamples of whole groups of the test rows ({data['test_groups']} groups)" in words
        assert "--group group" in words
    assert "group by group" in page.read_text()
    assert "resamples of the test rows" in (tmp_path / "rows.html").read_text()
    folders = {json.loads(path.read_text())["groups"] is None for path in work.glob("data-*/train/strings.json")}
    assert folders == {True, False}  # the runs train with them


def test_compare_estimates_and_refuses_by_groups(cli, table, tmp_path):
    from labelwood.report.compare import Entry, compare
    from labelwood.report.compare_data import parts_of

    data = shop(1000)
    train, test = data.split(0.2, 0)
    groups = ["much" if row < 700 else f"item {row}" for row in range(train.n_rows)]
    parts = parts_of(replace(train, groups=groups), test)
    report = compare(parts, [Entry("popular", "popular", {})], tmp_path / "runs", budget=300.0)
    assert report["runs"][0]["status"] == "done"
    with pytest.raises(DataError, match="'much' has 900 of 1,600 rows"):
        parts_of(replace(train, groups=["much" if row < 900 else None for row in range(1600)]), test)
    second = tmp_path / "second.csv"
    second.write_text("text,labels\na pan,cookware\n")
    asked = ("--models", "popular", "--out", tmp_path / "page.html", "--group", "group")
    refused = cli("compare", table, "--test", second, *asked)
    assert refused.code == 2
    assert "column 'group'" in refused.err


def test_train_tells_of_copies_unless_groups_are_given(cli, tmp_path):
    data = shop(60).take(np.tile(np.arange(120), 2))
    path = tmp_path / "rows.csv"
    write(Dataset(None, data.y, data.texts, data.label_names, groups=data.groups), path)
    settings = ("--model", "linear-tree", "--assign", "none", "--force")
    told = cli("train", path, "--out", tmp_path / "model", *settings)
    assert told.code == 0, told.err
    assert "note: 100% of the texts have an exact copy among the others" in " ".join(told.err.split())
    quiet = cli("train", path, "--out", tmp_path / "model", *settings, "--group", "group")
    assert "copy" not in quiet.err
