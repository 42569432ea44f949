"""Every model with its defaults on real data: no worse than its page says, within what another machine may change."""

import pytest

import labelwood as lw
from labelwood.report.papers.rows import splits

QUICK = [
    ("OneVsAll", "Bibtex", {"P@1": 64.0, "P@5": 28.1}),
    ("OneVsAll", "Delicious", {"P@1": 67.0}),
    ("LinearTree", "Bibtex", {"P@1": 63.5, "P@5": 28.3}),
    ("LinearTree", "CookingStackExchange", {"P@1": 71.0, "P@5": 30.3}),
    # One-vs-all has 64.1 there; the published system of this name had P@5 4.1.
    ("HierarchicalXC", "Bibtex", {"P@1": 64.1 - 5, "P@5": 24}),
    ("HSoftmax", "CookingStackExchange", {"P@1": 50}),
]
NEURAL = [
    ("DXML", "Bibtex", {"P@1": 64.5}),
    ("DXML", "Delicious", {"P@1": 69.0}),
    ("NeuralXC", "Bibtex", {"P@1": 60.0}),
    ("NeuralXC", "Delicious", {"P@1": 64.0}),
    ("GLaS", "CookingStackExchange", {"P@1": 70.0}),
    ("ELIAS", "CookingStackExchange", {"P@1": 72.3, "P@5": 30.5}),
    ("GLaS", "EURLEX57K", {"P@1": 89.5}),  # the linear tree has 91.1
]


def check(data_file, model, name, least):
    train, test = (lw.read(data_file(name, f"{part}.txt.gz")) for part in ("train", "test"))
    found = lw.evaluate(getattr(lw, model)(n_threads=1).fit(train).predict(test, 5), test.y)
    for metric, bound in least.items():
        assert found[metric] >= bound, metric


@pytest.mark.parametrize(("model", "name", "least"), QUICK)
def test_linear_and_tree_models(data_file, model, name, least):
    check(data_file, model, name, least)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name", "least"), NEURAL)
def test_neural_models(data_file, model, name, least):
    pytest.importorskip("torch")
    check(data_file, model, name, least)


# Zhang et al., ICMR 2018, table 2: means over ten splits, here the given one. LEML's and KNN's settings are not printed
# there; ours were chosen on training rows, so they may be ahead, but not behind.
CLASSIC = [
    ("KNN", "Bibtex", {"temperature": float("inf")}, (57.04, 34.38, 25.44)),
    ("KNN", "Delicious", {"temperature": float("inf")}, (64.95, 58.89, 54.11)),
    ("LEML", "Bibtex", {}, (62.54, 38.41, 28.21)),
    ("LEML", "Delicious", {}, (65.67, 60.55, 56.08)),
    ("FastXML", "Bibtex", {}, (63.42, 39.23, 28.86)),
    ("FastXML", "Delicious", {}, (69.61, 64.12, 59.27)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name", "settings", "printed"), CLASSIC)
def test_classic_baselines_are_as_published(data_file, model, name, settings, printed):
    train, test = (lw.read(data_file(name, f"{part}.txt.gz")) for part in ("train", "test"))
    found = lw.evaluate(getattr(lw, model)(n_threads=1, **settings).fit(train).predict(test, 5), test.y)
    for k, published in zip((1, 3, 5), printed, strict=True):
        assert published - 2.5 <= found[f"P@{k}"] <= published + 3.5, f"P@{k}"


@pytest.mark.slow
def test_dxml_as_published_is_as_its_page_says(data_file):
    """The first of the ten splits of Bibtex behind docs/measurements/presets.md: 62.93 / 36.99 / 27.02 on average."""
    pytest.importorskip("torch")
    parts = next(splits(data_file("Bibtex"), 10))
    found = lw.DXML.preset("paper", n_threads=1).fit(parts.train).evaluate(parts.test)
    assert found["P@1"] >= 61
    assert found["P@3"] >= 35.5
    assert found["P@5"] >= 25.7


# fastText 0.9.2 with the same words, means over three seeds (docs/measurements/baselines.md).
FLAT = [("softmax", {}, (18.74, 10.60, 7.38)), ("softmax", {"epochs": 25, "rate": 0.5}, (57.71, 36.76, 26.07))]


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "settings", "theirs"), FLAT)
def test_flat_losses_answer_as_fasttext_does(data_file, loss, settings, theirs):
    train, test = (lw.read(data_file("CookingStackExchange", f"{part}_raw.jsonl.gz")) for part in ("train", "test"))
    model_params = {**lw.FastText.PRESETS["fasttext"], **settings, "loss": loss, "n_threads": 1}
    tagger = lw.Tagger("fasttext", features={"word_ngrams": 1, "min_count": 1}, model_params=model_params)
    tagger.fit(train)
    found = tagger.evaluate(test)
    for k, figure in zip((1, 3, 5), theirs, strict=True):
        assert found[f"P@{k}"] == pytest.approx(figure, abs=1.5), f"P@{k}"
