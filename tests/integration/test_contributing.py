"""The examples of CONTRIBUTING.md, executed: a reader is one file and one line, a model is one file and one line."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
import labelwood.data.reading
import labelwood.models
from labelwood.data import formats
from labelwood.models import registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
POSTS = "Slow-cooked lamb #dinner #lamb\n\nLemon tart with cream #dessert\nLamb chops #dinner #lamb\n"


def block(file):
    """The code that the page shows for a file: the next block behind its name."""
    return re.search(rf"`src/labelwood/{re.escape(file)}`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL)[1]


def add_file(monkeypatch, folder, package, file):
    """Put the file of the page where the package finds it, as if it lay in src."""
    (folder / Path(file).name).write_text(block(file), encoding="utf-8")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    name = f"{package.__name__}.{Path(file).stem}"
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, name)  # what the test imports is forgotten behind it


@pytest.fixture
def hashtags(tmp_path, monkeypatch):
    """A file of the new format, while the format is in the table."""
    add_file(monkeypatch, tmp_path, labelwood.data.reading, "data/reading/hashtags.py")
    line = eval(block("data/formats.py").strip().removesuffix(","), {"Format": formats.Format})
    monkeypatch.setitem(formats.FORMATS, line.name, line)
    path = tmp_path / "posts.tags"
    path.write_text(POSTS)
    return path


@pytest.fixture
def centroid(tmp_path, monkeypatch):
    """The new model's class, while it is in the registry."""
    add_file(monkeypatch, tmp_path, labelwood.models, "models/centroid.py")
    line = eval("{" + block("models/registry.py") + "}")
    for name, home in line.items():
        monkeypatch.setitem(registry._MODELS, name, home)
    return registry.model_class("centroid")


def test_the_new_reader_reads(hashtags):
    data = lw.read(hashtags)
    assert data.texts == ("Slow-cooked lamb", "Lemon tart with cream", "Lamb chops")
    assert data.label_names == ("dessert", "dinner", "lamb")
    assert data.y.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [0, 1, 1]]


def test_the_new_format_is_known_everywhere(hashtags):
    other = hashtags.with_name("posts.txt")
    other.write_text(POSTS)
    assert lw.read(other, format="hashtags").n_rows == 3
    with pytest.raises(lw.DataError, match=r"give format=, one of xmc, .*, hashtags"):
        lw.read(other)
    with pytest.raises(lw.ParamError, match="hashtags is read but not written"):
        lw.write(lw.read(hashtags), hashtags)


def test_the_new_reader_names_damaged_rows(hashtags):
    hashtags.write_text("Good #one\nBad # row\n")
    with pytest.raises(lw.DataError, match=r"posts\.tags, line 2: a # without a name"):
        lw.read(hashtags)
    assert lw.read(hashtags, on_bad_row="skip").n_rows == 1


def problem():
    random = np.random.default_rng(4)
    y = sparse.csr_matrix((random.uniform(size=(60, 5)) < 0.3).astype(np.float32))
    return sparse.csr_matrix(y.toarray() @ np.eye(5, 8) + 0.1 * random.uniform(size=(60, 8))), y


def test_the_new_model_learns_and_comes_back(centroid, tmp_path):
    x, y = problem()
    model = centroid(n_threads=1).fit(x, y)
    top = model.predict(x, 3)
    assert lw.evaluate(top, y)["P@1"] > 75
    assert model.explain(x[0], top.labels[0, 0]).score == pytest.approx(top.scores[0, 0])
    model.save(tmp_path / "saved")
    for same in (lw.load(tmp_path / "saved"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.predict(x, 3).labels, top.labels)
        np.testing.assert_array_equal(same.predict(x, 3).scores, top.scores)
    assert centroid(share_rows=False).fit(x, y).parameters_.share_rows is False
    with pytest.raises(lw.BudgetError, match="would need about"):
        centroid().fit(x, y, memory=10)


def test_the_new_model_tags_texts(centroid):
    texts = ["lamb chops", "lemon tart", "lamb stew", "cream tart"]
    tagger = lw.Tagger("centroid").fit(texts, [["dinner"], ["dessert"], ["dinner"], ["dessert"]])
    assert [row[0][0] for row in tagger.predict(["roast lamb", "a tart"], k=1)] == ["dinner", "dessert"]


def test_the_names_of_labelwood_follow_the_registry():
    homes = registry.model_homes()
    assert {registry.model_class(name).__name__ for name in ("popular", "one-vs-all")} <= set(homes)
    assert set(homes) <= set(lw.__all__)


@pytest.mark.parametrize("file", ["data/reading/hashtags.py", "models/centroid.py"])
def test_the_examples_keep_the_rules_of_the_house(file):
    """Ruff as for any file; `make test` runs mypy over src alone."""
    name = ["--stdin-filename", f"src/labelwood/{file}", "-"]
    for step in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *step, *name]
        done = subprocess.run(ruff, input=block(file), cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
