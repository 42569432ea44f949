"""Dense vectors of texts in the ensemble: what makes them, what they find, and that they are saved and explained."""

import importlib.util
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.models.ensemble import cross_fitting, dense_rows, network, static_vectors
from labelwood.models.ensemble.cross_fitting import Lessons, pays
from labelwood.models.ensemble.dense_rows import (
    WITH_WORDS,
    DenseRows,
    MeantTexts,
    as_columns,
    spoken,
    tries_static,
)
from labelwood.models.ensemble.even_space import EvenSpace
from labelwood.models.ensemble.model import Ensemble
from labelwood.models.ensemble.near_rows import NearRows
from labelwood.models.ensemble.network import N_NETWORKS, Network
from labelwood.models.ensemble.pairs import beside_each_other
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.sides import DENSE_NETWORK, Sides, column_names
from labelwood.models.ensemble.static_vectors import StaticVectors
from labelwood.models.ensemble.text_meaning import TextMeaning
from labelwood.models.ensemble.together import Together
from labelwood.models.fit_input import checked_input
from labelwood.topk import empty

tokenizers = pytest.importorskip("tokenizers")
safetensors = pytest.importorskip("safetensors.numpy")

N_LABELS, N_FORMS, WIDTH, N_HIDDEN = 12, 400, 16, 32


def static_model(folder, seed=0):
    """A folder whose tokens of one label, form0 to form399, lie together."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((N_LABELS, WIDTH)).astype(np.float32)
    words = [f"topic{label}form{form}" for label in range(N_LABELS) for form in range(N_FORMS)]
    table = np.repeat(centres, N_FORMS, axis=0) + 0.3 * random.standard_normal((len(words), WIDTH)).astype(np.float32)
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"[UNK]": 0, **{word: 1 + n for n, word in enumerate(words)}}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.vstack([np.zeros(WIDTH, np.float32), table]).astype(np.float32)
    safetensors.save_file({"embeddings": table}, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return static_model(tmp_path_factory.mktemp("static") / "model")


def problem(seed, n_rows=1000):
    """Texts that say their label in one of 400 forms, most of which stand in no other text."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, N_LABELS, n_rows)
    forms = random.integers(0, N_FORMS, n_rows)
    texts = [f"topic{label}form{form}" for label, form in zip(labels, forms, strict=True)]
    x = np.zeros((n_rows, N_LABELS * N_FORMS), np.float32)
    x[np.arange(n_rows), labels * N_FORMS + forms] = 1
    y = sparse.csr_matrix((np.ones(n_rows, np.float32), (np.arange(n_rows), labels)), shape=(n_rows, N_LABELS))
    return labelwood.Dataset(sparse.csr_matrix(x), y, texts)


def settings_of(folder, **more):
    return {"n_threads": 1, "ranker_rows": 300, "views": "none", "encoder": "static", "text_model": str(folder), **more}


@pytest.fixture(scope="module", autouse=True)
def small_networks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "N_HIDDEN", N_HIDDEN)
        yield


@pytest.fixture(scope="module")
def trained(folder):
    return Ensemble(**settings_of(folder)).fit(problem(0))


class Silent:
    """A model that answers nothing."""

    n_features = 3

    def predict(self, x, k, n_threads):
        return empty(x.shape[0], k)


def test_a_text_is_the_mean_of_its_tokens(folder):
    vectors = StaticVectors.of_folder(str(folder), 2)
    found = vectors.vectors(["topic1form0 topic2form5 topic3form3", "", "topic1form0"])
    mean = vectors.table[[1 + N_FORMS, 1 + 2 * N_FORMS + 5]].mean(axis=0)
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert not found[1].any()
    np.testing.assert_allclose(np.linalg.norm(found[[0, 2]], axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(vectors.vectors(["topic1form0", "topic2form5"], 1)[0], found[2])
    assert vectors.sha256 != StaticVectors.of_folder(str(folder), 3).sha256


def test_a_missing_table_says_what_to_install(folder, tmp_path, monkeypatch):
    with pytest.raises(ParamError, match="no table of token vectors"):
        StaticVectors.of_folder(str(tmp_path), 8)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ParamError, match=r"labelwood\[static\]"):
        StaticVectors.of_folder(None, 8)
    with pytest.raises(ParamError, match=r"reads texts with PyTorch.*labelwood\[neural\]"):
        TextMeaning.of("minilm", None, 8)
    monkeypatch.undo()
    short = tmp_path / "short"
    short.mkdir()
    (short / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    safetensors.save_file({"embeddings": np.zeros((3, 4), np.float32)}, short / "model.safetensors")
    with pytest.raises(ParamError, match="a line for each token"):
        StaticVectors.of_folder(str(short), 8)


def test_names_are_texts():
    assert spoken("p:cast-iron_pan\nskillet") == "cast iron pan"


def test_columns_are_those_of_full_products(folder):
    random = np.random.default_rng(3)
    n_rows, n_labels = 200, 30
    vectors, names, asked = (
        (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)
        for v in (random.standard_normal((n, WIDTH)) + 0.3 for n in (n_rows, n_labels, 10))
    )
    y = sparse.random(n_rows, n_labels, 0.1, "csr", np.float32, random_state=random)
    y.data[:] = 1
    x = sparse.csr_matrix((n_rows, 3), dtype=np.float32)
    meant = MeantTexts(TextMeaning.of("static", str(folder), 8), EvenSpace.of(vectors), vectors, names)
    dense = DenseRows.of(meant, y)
    counts = np.bincount(y.indices, minlength=n_labels).astype(np.int64)
    sides = Sides((Silent(),), NearRows.of(x, y), None, Together.of(y), counts, dense=dense)
    keys, table = sides.table(beside_each_other([x[:10], as_columns(asked)]), 1)
    columns = column_names(("words",), dense=True)
    assert sides.columns == columns
    assert table.shape[1] == len(columns)
    sums = y.T @ vectors
    exact = {
        "row": vectors, "centre": sums / np.linalg.norm(sums, axis=1, keepdims=True), "name": names,
        "told": np.linalg.solve(vectors.T @ vectors + np.eye(WIDTH), vectors.T @ y.toarray()).T,
    }  # fmt: skip
    kept = {
        "row": dense.rows * dense.row_scale[:, None], "centre": dense.centres * dense.centre_scale[:, None],
        "name": dense.names * dense.name_scale[:, None], "told": dense.told * dense.told_scale[:, None],
    }  # fmt: skip
    for what, lines in exact.items():
        lengths = np.linalg.norm(lines, axis=1) * np.linalg.norm(kept[what], axis=1)
        assert np.min(np.einsum("ij,ij->i", lines, kept[what]) / lengths) > 0.95
    similar, centres, of_names, told = (asked @ kept[what].T for what in ("row", "centre", "name", "told"))
    assert len(keys) > 150
    for key, item in zip(keys.tolist(), table.tolist(), strict=True):
        row, label = divmod(key, n_labels)
        known = dict(zip(columns, item, strict=True))
        order = np.argsort(-similar[row])[: dense_rows.N_NEAR]
        has = y.toarray()[order, label] > 0
        weights = similar[row, order] ** 2
        assert known["meaning: votes"] == pytest.approx((weights * has).sum() / weights.sum(), abs=0.03)
        assert known["meaning: closest"] == pytest.approx(np.max(similar[row, order] * has), abs=0.02)
        assert known["meaning: told"] == pytest.approx(told[row, label], abs=0.02)
        assert known["meaning: centre"] == pytest.approx(centres[row, label], abs=0.02)
        assert known["meaning: name"] == pytest.approx(of_names[row, label], abs=0.02)
    ten = [columns.index("meaning: first ten"), columns.index("meaning: name rank")]
    first = {divmod(key, n_labels): item for key, item in zip(keys.tolist(), table[:, ten].tolist(), strict=True)}
    best = int(np.argmax(of_names[0]))
    assert first[0, best][1] == 0
    assert sum(item[0] for (row, _), item in first.items() if row == 0) > 0


def test_meaning_tells_what_words_do_not(trained):
    new = problem(1, 300)
    words = Ensemble(n_threads=1, ranker_rows=300, views="none", encoder="none").fit(problem(0))
    right, by_words = (labelwood.evaluate(model.predict(new, 1), new.y, ks=(1,))["P@1"] for model in (trained, words))
    assert by_words < 50 < 90 < right


def test_saved_and_loaded(trained, tmp_path):
    new = problem(2, 20)
    trained.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    again = pickle.loads(pickle.dumps(trained))
    for other in (loaded, again):
        np.testing.assert_array_equal(trained.predict(new, 3).scores, other.predict(new, 3).scores)
    assert loaded.structure()["numbers of a text's dense vector"] == WIDTH
    facts = loaded.fitted_.ranked.facts()["dense"]
    assert (facts["encoder"], facts["width"], len(facts["sha256"])) == ("static", WIDTH, 64)
    assert loaded.fitted_.ranked.sides.dense.rows.dtype == np.int8
    assert loaded.fitted_.ranked.sides.dense_network.first.shape == (WIDTH, N_NETWORKS * N_HIDDEN)


def test_same_seed_same_bytes_for_any_threads(trained, folder):
    again = Ensemble(**settings_of(folder, n_threads=3)).fit(problem(0))
    for name, array in trained.fitted_.arrays().items():
        assert array.tobytes() == again.fitted_.arrays()[name].tobytes(), name


def test_a_row_alone_is_answered_as_among_others(trained):
    new = problem(2, 20)
    batch = trained.predict(new, 5)
    for row in range(0, 20, 6):
        single = trained.predict(new.take([row]), 5)
        np.testing.assert_array_equal(single.labels[0], batch.labels[row])
        np.testing.assert_array_equal(single.scores[0], batch.scores[row])


def test_an_explanation_names_the_similar_texts(trained):
    new = problem(2, 1)
    label = int(new.y.indices[0])
    sides = [c.side for c in trained.explain(new, label).contributions]
    assert any("of the 10 most similar texts by meaning have it" in side for side in sides)
    assert any(side.startswith("the words and meaning say") for side in sides)
    assert any(side.startswith("the network of meaning says") for side in sides)


def test_one_classifier_a_label_sees_words_and_vectors_where_that_is_quick(trained, folder, monkeypatch):
    sides = trained.fitted_.ranked.sides
    assert sides.by_label == ("words", WITH_WORDS)
    new = problem(2, 5)
    rows = sides.rows(new.features(), new.texts, 1)
    seen = sides.seen(rows, 2).toarray()
    assert seen.shape == (5, sides.n_features + WIDTH) == (5, sides.models[2].n_features)
    np.testing.assert_array_equal(seen[:, : sides.n_features], new.features().toarray())
    np.testing.assert_array_equal(seen[:, sides.n_features :], sides.dense.vectors(new.texts, 1))
    values = problem(0).features().nnz
    monkeypatch.setattr(cross_fitting, "_BY_LABEL_WORK", N_LABELS * values)
    slower = Ensemble(**settings_of(folder)).fit(problem(0))
    assert slower.fitted_.ranked.sides.by_label == ("words",)


def test_a_network_sees_the_vectors(trained):
    sides = trained.fitted_.ranked.sides
    assert sides.model_names[-1] == DENSE_NETWORK
    new = problem(2, 300)
    rows = sides.rows(new.features(), new.texts, 1)
    top = sides.dense_network.best(as_columns(sides.dense.vectors(new.texts, 1)), 3, 1)
    assert labelwood.evaluate(top, new.y, ks=(1,))["P@1"] > 90
    keys, table = sides.table(rows, 1)
    scores = table[:, sides.columns.index(f"{DENSE_NETWORK}: score")]
    known = dict(zip(keys.tolist(), scores.tolist(), strict=True))
    for row in range(len(top)):
        assert known[row * N_LABELS + int(top.labels[row, 0])] == pytest.approx(float(top.scores[row, 0]))
    with pytest.raises(ModelFileError, match="other features"):
        Network.restore(sides.dense_network.arrays(), WIDTH + 1, trained.fitted_.trained_on)


def test_a_model_of_before_has_no_network_of_the_vectors(trained):
    ranked = trained.fitted_.ranked
    without = replace(ranked, sides=replace(ranked.sides, dense_network=None))
    assert not any(name.startswith("dense_network.") for name in without.arrays())
    facts = {name: fact for name, fact in ranked.facts().items() if name != "dense_network"}
    assert not any(name.startswith("dense_network.") for name in type(ranked).schema(facts))


def test_a_model_of_before_takes_vectors_as_they_are(trained):
    ranked = trained.fitted_.ranked
    before = replace(ranked, sides=replace(ranked.sides, dense=replace(ranked.sides.dense, space=None)))
    facts = before.facts()
    assert not facts.pop("even")
    assert not set(before.parts()) ^ set(type(ranked).parts_schema(facts))
    assert {"dense.turn", "dense.centre"} <= set(ranked.parts()) & set(type(ranked).parts_schema(ranked.facts()))
    dense = DenseRows.restore(before.sides.dense.arrays(), facts["dense"], trained.fitted_.trained_on)
    texts = problem(2, 5).texts
    np.testing.assert_array_equal(dense.vectors(texts, 1), dense.meaning.vectors(texts, 1))


def test_another_encoder_is_refused(trained, tmp_path):
    dense = trained.fitted_.ranked.sides.dense
    other = static_model(tmp_path / "other", seed=9)
    moved = TextMeaning(**{**dense.meaning.facts(), "text_model": str(other)})
    with pytest.raises(ModelFileError, match="another text encoder"):
        moved.vectors(["topic1form0"])
    for facts in (None, {**dense.facts(), "width": 0}, {**dense.facts(), "encoder": "abacus"}):
        with pytest.raises(ModelFileError, match="encoder"):
            TextMeaning.restored(facts)
    arrays = {**dense.arrays(), "rows": dense.rows[:3], "row_scale": dense.row_scale[:3]}
    with pytest.raises(ModelFileError, match="other rows"):
        DenseRows.restore(arrays, dense.facts(), trained.fitted_.trained_on)


def test_texts_and_a_ranker_are_needed(trained, folder):
    data = problem(0)
    with pytest.raises(DataError, match="needs texts beside the features"):
        Ensemble(**settings_of(folder)).fit(replace(data, texts=None))
    with pytest.raises(DataError, match="trained on texts"):
        trained.predict(replace(data, texts=None), 3)
    with pytest.raises(ParamError, match="encoder is a choice of the ranker"):
        Ensemble(n_threads=1, encoder="static", text_model=str(folder)).fit(data.take(np.arange(100)))


def test_static_vectors_are_tried_where_they_are_installed_and_stay_if_they_help(folder, monkeypatch):
    data, new = problem(0), problem(1, 200)
    by_itself = {"n_threads": 1, "ranker_rows": 300, "views": "none"}
    monkeypatch.setattr(dense_rows, "installed_table", lambda: None)
    assert Ensemble(**by_itself).fit(data).fitted_.ranked.sides.dense is None
    table = folder / "model.safetensors", folder / "tokenizer.json"
    for module in (dense_rows, static_vectors):
        monkeypatch.setattr(module, "installed_table", lambda: table)
    model = Ensemble(**by_itself).fit(data)
    assert model.fitted_.ranked.sides.dense.meaning.encoder == "static"
    assert labelwood.evaluate(model.predict(new, 1), new.y, ks=(1,))["P@1"] > 95
    assert Ensemble(**by_itself, encoder="none").fit(data).fitted_.ranked.sides.dense is None
    assert not tries_static(EnsembleParams(), checked_input(replace(data, texts=None)))
    monkeypatch.setattr(dense_rows, "MOST_UNASKED", len(data))
    assert not tries_static(EnsembleParams(), checked_input(data))
    monkeypatch.undo()
    monkeypatch.setattr(static_vectors, "installed_table", lambda: table)
    monkeypatch.setattr(dense_rows, "installed_table", lambda: table)
    monkeypatch.setattr(
        Lessons, "quality", lambda lessons, settings: np.zeros(9)
    )  # level: vectors must show their worth
    assert Ensemble(**by_itself).fit(data).fitted_.ranked.sides.dense is None


def test_what_pays_is_above_its_standard_errors():
    level, small = np.array([1.0, -1.0] * 50), np.array([1.0, -0.9] * 50)
    assert pays(level, -1)
    assert not pays(level, 0)
    assert pays(small, 0)
    assert not pays(small, 1)
    assert pays(np.full(9, 0.01), 1)
    assert not pays(-level - 0.2, -1)


def test_many_rows_leave_the_labels_alone(folder, monkeypatch):
    monkeypatch.setattr(dense_rows, "MOST_ROWS", 100)
    model = Ensemble(**settings_of(folder)).fit(problem(0))
    assert len(model.fitted_.ranked.sides.dense.rows) == 0
    new = problem(1, 100)
    assert labelwood.evaluate(model.predict(new, 1), new.y, ks=(1,))["P@1"] > 95


@pytest.mark.slow  # importing transformers alone takes seconds
def test_a_transformer_gives_the_vectors(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from labelwood.models.neural import text

    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "cache"))
    place, words = tmp_path / "bert", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "oak", "pine", "nail"]
    place.mkdir()
    (place / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(vocab_file=str(place / "vocab.txt")).save_pretrained(place)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    transformers.BertModel(transformers.BertConfig(vocab_size=len(words), **size)).save_pretrained(place)
    texts = ["oak pine", "nail", "oak nail nail pine"]
    meaning = TextMeaning.of("minilm", str(place), 8)
    assert meaning.width == 16
    found = meaning.vectors(texts, 1)
    assert found.dtype == np.float32
    exact = text.text_vectors(texts, place, 8, cache=False, n_threads=1)
    np.testing.assert_allclose(found, exact, atol=1e-5)
