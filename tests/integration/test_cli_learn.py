"""`labelwood learn` and `labelwood labels`: corrections from a file and from the journal, tags changed by name."""

import json

import pytest

import labelwood
from labelwood.tagger.journal import journal_path, read_journal


def names(cli, folder):
    listed = json.loads(cli("labels", folder, "list", "--json").out)["labels"]
    return {label["name"]: (label["n_rows"], label["state"]) for label in listed}


@pytest.fixture
def corrections(tmp_path):
    path = tmp_path / "corrections.csv"
    path.write_text(
        "id,text,labels\nr2,chocolate cake with cream,dessert;chocolate\nx1,hot chocolate,drink;chocolate\n"
    )
    return path


def test_a_file_of_corrections(cli, tagger, corrections):
    done = cli("learn", tagger, corrections)
    assert done.code == 0, done.err
    assert done.out.startswith("1 new row, 1 corrected, 1 new tag: 'chocolate'; one-vs-all was trained again in ")
    assert names(cli, tagger)["chocolate"] == (2, "in use")
    again = json.loads(cli("learn", tagger, corrections, "--json").out)
    assert (again["n_known"], again["how"], again["applied"]) == (2, "nothing", None)
    assert cli("learn", tagger, "--refit").out.startswith("0 new rows, 0 corrected; one-vs-all was trained again")


def test_the_journal_is_applied_and_set_aside(cli, tagger):
    journal = journal_path(tagger)
    journal.write_text('{"text": "green tea", "labels": ["tea"], "id": 4}\n\n{"text": "half a li')
    done = cli("learn", tagger)
    assert done.code == 0, done.err
    assert "1 new tag: 'tea'" in done.out
    assert journal.read_text() == '{"text": "half a li'
    (applied,) = tagger.parent.glob("tagger.corrections.jsonl.applied-*")
    assert applied.read_text() == '{"text": "green tea", "labels": ["tea"], "id": 4}\n\n'
    assert applied.name in done.out
    assert read_journal(tagger) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "line 1: no JSON"),
        ('{"labels": []}', 'an object with "text" and "labels"'),
        ('{"text": "a", "labels": "b"}', '"labels" must be a list of names'),
        ('{"text": "a", "labels": ["b"], "id": 1.5}', '"id" must be a string or a whole number'),
    ],
)
def test_a_bad_journal_changes_nothing(cli, tagger, line, message):
    journal_path(tagger).write_text(line + "\n")
    before = (tagger / "manifest.json").read_bytes()
    done = cli("learn", tagger)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert (tagger / "manifest.json").read_bytes() == before
    assert journal_path(tagger).exists()


def test_what_cannot_be_learnt_is_told(cli, tagger, model, corrections):
    before = (tagger / "manifest.json").read_bytes()
    for arguments, message in (
        (("learn", tagger), "holds no corrections; give a FILE of them, or --refit"),
        (("learn", model, corrections), "only a tagger learns from texts"),
        (("labels", tagger, "drop", "x"), "unknown action 'drop'"),
        (("labels", tagger, "list", "x"), "list takes no names"),
        (("labels", tagger, "retire", "aple"), "did you mean 'apple'"),
        (("labels", tagger, "retire"), "retire takes one or more names, but got 0"),
        (("labels", tagger, "add", "apple"), "the label 'apple' is there already"),
        (("labels", tagger, "add", "soup", "soup"), "the label 'soup' is named twice"),
        (("labels", tagger, "add", ""), "a label name must have words"),
        (("labels", tagger, "rename", "apple"), "rename takes 2 names, but got 1"),
        (("labels", tagger, "rename", "apple", "drink"), "there already; merge 'apple' into it"),
        (("labels", tagger, "merge", "apple", "apple"), "cannot be merged into itself"),
        (("labels", tagger, "merge", "apple", "aple"), "did you mean 'apple'"),
        (("labels", tagger, "retire", "apple", "--text", "red"), "an example text goes with adding one label"),
        (("labels", model, "retire", "0"), "only a tagger learns from texts"),
    ):
        done = cli(*arguments)
        assert done.code == 2
        assert message in done.err
        assert "Traceback" not in done.err
        assert (tagger / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("name", ["linear-tree", "one-vs-all", "hierarchicalxc"])
def test_a_tagger_that_assigns_tags_assigns_new_ones(name, cli, tmp_path):
    kinds = (("pasta with tomato sauce", "italian"), ("cake with flour", "baking"), ("steak on the grill", "meat"))
    rows = [f"{text} number{n},{label}" for n in range(30) for text, label in kinds]
    (tmp_path / "rows.csv").write_text("text,labels\n" + "\n".join(rows) + "\n")
    train = ("train", tmp_path / "rows.csv", "--model", name, "--assign", "f1", "--threads", 1)
    assert cli(*train, "--out", tmp_path / "t").code == 0
    texts = ["sushi with raw fish", "sashimi and raw fish", *(f"sushi number{n} and raw fish" for n in range(6))]
    (tmp_path / "new.csv").write_text("text,labels\n" + "".join(f"{text},japanese\n" for text in texts))
    assert cli("learn", tmp_path / "t", tmp_path / "new.csv").code == 0
    (tmp_path / "ask.csv").write_text("text\nsushi with raw fish\nraw fish sashimi\ntomato pasta\n")
    asked = cli("predict", tmp_path / "t", tmp_path / "ask.csv")
    assert asked.code == 0, asked.err
    answers = [json.loads(line)["labels"] for line in asked.out.splitlines()]
    given = [[label["label"] for label in row] for row in answers]
    assert given == [["japanese"], ["japanese"], ["italian"]]
    assert all(0 < label["probability"] <= 1 for row in answers for label in row)
    judged = cli("evaluate", tmp_path / "t", tmp_path / "new.csv")
    assert judged.code == 0, judged.err
    assert judged.out.startswith("Of the tags it assigns, 100%")


def test_a_folder_that_someone_else_changed_is_not_overwritten(cli, tagger, corrections, monkeypatch):
    from labelwood.tagger.tagger import Tagger

    learn = Tagger.learn

    def slow(self, *arguments, **more):
        other = labelwood.load(tagger)
        other.change_labels("rename", "drink", "drinks")
        other.save(tagger)
        return learn(self, *arguments, **more)

    monkeypatch.setattr(Tagger, "learn", slow)
    done = cli("learn", tagger, corrections)
    assert done.code == 2
    assert "another program changed it meanwhile" in done.err
    assert "drinks" in names(cli, tagger)


def test_tags_are_changed_by_name(cli, tagger):
    assert cli("labels", tagger, "rename", "drink", "beverage").out == "'drink' is now 'beverage'\n"
    assert cli("labels", tagger, "add", "soup", "--text", "broth and noodles").out.startswith("1 new row")
    assert cli("labels", tagger, "forbid", "apple", "--json").code == 0
    listed = names(cli, tagger)
    assert listed["apple"] == (3, "forbidden")
    assert listed["soup"] == (1, "in use")
    assert "beverage" in cli("labels", tagger).out
    extra = json.loads((tagger / "manifest.json").read_text())["extra"]
    assert extra["data"].endswith("rows.jsonl")


def test_the_earlier_name_of_a_tag_is_that_tag(cli, tagger, tmp_path):
    cli("labels", tagger, "rename", "drink", "beverage")
    (tmp_path / "rows.csv").write_text("text,labels\ngreen tea,drink\n")
    done = cli("learn", tagger, tmp_path / "rows.csv")
    assert done.code == 0, done.err
    assert "note: tags that were renamed or merged are learnt as what they are now: 'drink' as 'beverage'\n" in done.err
    assert "drink" not in names(cli, tagger)
    cli("labels", tagger, "merge", "beverage", "dessert")
    again = json.loads(cli("learn", tagger, tmp_path / "rows.csv", "--json").out)
    assert again["renamed"] == [["drink", "dessert"]]
    assert names(cli, tagger)["beverage"] == (0, "merged into 'dessert'")


def test_train_tells_what_is_kept(cli, jsonl, tmp_path, xmc):
    done = cli("train", jsonl, "--out", tmp_path / "a")
    assert "note: the rows are kept for `labelwood learn` (" in done.err
    done = cli("train", jsonl, "--out", tmp_path / "b", "--no-keep-rows")
    assert "the rows are not kept" in done.err
    assert json.loads(cli("train", jsonl, "--out", tmp_path / "c", "--json").out)["kept_bytes"] > 0
    assert "--keep-rows is for texts" in cli("train", xmc, "--out", tmp_path / "d", "--keep-rows").err


def test_corrections_are_read_with_the_columns_of_training(cli, tmp_path):
    header = "id,subject,message,team\n"
    (tmp_path / "tickets.csv").write_text(
        header + "t1,login,my password,account/web\nt2,paper,the printer jams,printer\n"
    )
    folder = tmp_path / "router"
    columns = ["--text", "subject,message", "--labels", "team", "--separator", "/"]
    assert cli("train", tmp_path / "tickets.csv", *columns, "--out", folder).code == 0
    (tmp_path / "moved.csv").write_text(header + "t2,paper,the printer jams,hardware/printer\n")
    done = cli("learn", folder, tmp_path / "moved.csv")
    assert done.out.startswith("0 new rows, 1 corrected, 1 new tag: 'hardware'"), done.err
