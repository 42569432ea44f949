"""ELIAS with text vectors beside or in place of features, by a tiny random transformer."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.models.neural.elias import tree_votes, zero_shot
from labelwood.models.neural.elias.inputs import joined

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from labelwood.models.neural import text  # noqa: E402
from labelwood.models.neural.text_tuning import tune_encoder  # noqa: E402
from labelwood.progress import Callback  # noqa: E402

pytestmark = pytest.mark.slow  # importing transformers alone takes seconds
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "oak", "pine", "birch", "nail", "screw", "and"]
SMALL = {"dim": 16, "warm_epochs": 1, "stage1_epochs": 2, "stage2_epochs": 2, "n_threads": 1}


def text_model(place, seed):
    from transformers import BertConfig, BertModel, BertTokenizerFast

    place.mkdir()
    (place / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(vocab_file=str(place / "vocab.txt")).save_pretrained(place)
    torch.manual_seed(seed)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(WORDS), **size)).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return text_model(tmp_path_factory.mktemp("text") / "model", 0)


@pytest.fixture(scope="module")
def data():
    """Texts of three of five words; each word is a label. Features know only the first two words."""
    random = np.random.default_rng(5)
    rows = [sorted(random.choice(5, 3, replace=False)) for _ in range(80)]
    texts = [" and ".join(WORDS[4 + word] for word in row) for row in rows]
    y = np.zeros((80, 5), np.float32)
    for row, words in enumerate(rows):
        y[row, words] = 1
    return Dataset(y[:, :2], y, texts, label_names=WORDS[4:9])


@pytest.fixture(scope="module")
def trained(folder, data):
    return labelwood.ELIAS(encoder="both", text_model=str(folder), **SMALL).fit(data)


def test_both_are_seen_by_index_and_ranker(trained, data):
    assert trained.reads_texts
    assert trained.n_features_ == 2
    assert trained.fitted_.members[0].index.encoder["table"].shape == (18, 16)
    assert trained.fitted_.ranker.feature_rank.shape == (18,)
    top = trained.predict(data, k=3)
    assert labelwood.evaluate(top, data.y)["P@1"] > 80


def test_text_alone(folder, data):
    model = labelwood.ELIAS(encoder="minilm", text_model=str(folder), **SMALL).fit(data)
    assert model.fitted_.members[0].index.encoder["table"].shape == (16, 16)
    other = Dataset(data.x * 0, data.y, data.texts)
    np.testing.assert_array_equal(model.predict(data, 3).labels, model.predict(other, 3).labels)


def test_a_saved_model_answers_alike(trained, data, tmp_path):
    trained.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    assert loaded.reads_texts
    np.testing.assert_array_equal(loaded.predict(data, 3).scores, trained.predict(data, 3).scores)


def test_a_copy_holds_no_encoder(trained, data):
    trained.predict(data, 1)
    pickled = pickle.dumps(trained)
    assert len(pickled) < 100_000
    again = pickle.loads(pickled)
    assert "_encoder" not in vars(again.fitted_.reader)
    np.testing.assert_array_equal(again.predict(data, 3).scores, trained.predict(data, 3).scores)


def test_missing_texts_are_told(trained, data):
    with pytest.raises(DataError, match="reads texts, but fit got feature rows alone"):
        labelwood.ELIAS(encoder="both", **SMALL).fit(data.x, data.y)
    with pytest.raises(DataError, match=r"Tagger, or give a Dataset with features and texts"):
        trained.predict(data.x, 3)


def test_another_text_encoder_is_refused(trained, data, tmp_path):
    trained.save(tmp_path / "m")
    state = labelwood.load(tmp_path / "m").fitted_
    other = replace(state.reader, folder=str(text_model(tmp_path / "other", 1)))
    with pytest.raises(ModelFileError, match="another text encoder"):
        labelwood.ELIAS.from_fitted(replace(state, reader=other)).predict(data, 1)


def test_explanations_add_up_without_text_columns(trained, data):
    row = data.take([0])
    label = int(trained.predict(row, 1).labels[0, 0])
    why = trained.explain(row, label)
    assert all(part.feature < 2 for part in why.contributions)
    of_ranker = sum(part.contribution for part in why.contributions if part.node == 0)
    assert of_ranker == pytest.approx(why.nodes[0].margin, rel=1e-5)


def test_a_tagger_hands_its_texts_on(folder, data, tmp_path):
    params = {"encoder": "both", "text_model": str(folder), **SMALL}
    tagger = labelwood.Tagger("elias", model_params=params).fit(Dataset(None, data.y, data.texts, data.label_names))
    answers = tagger.predict(["oak and pine and nail"], k=3)
    assert {name for name, _ in answers[0]} == {"oak", "pine", "nail"}
    assert tagger.explain("oak and pine and nail", "oak").score == pytest.approx(dict(answers[0])["oak"])
    tagger.save(tmp_path / "t")
    assert labelwood.load(tmp_path / "t").predict(["oak and pine and nail"], k=3) == answers


def test_joined_rows():
    x = np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)
    from labelwood.matrices import as_features

    vectors = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    both = joined(as_features(x), vectors, "both").toarray()
    np.testing.assert_allclose(both, [[0.6, 0.8, 1, 0], [0, 0, 0.6, 0.8]], rtol=1e-6)
    np.testing.assert_array_equal(joined(as_features(x), vectors, "minilm").toarray(), vectors)
    np.testing.assert_array_equal(joined(as_features(x), None, "bow").toarray(), x)


def test_zero_shot_wants_texts_and_names(folder, data):
    with pytest.raises(ParamError, match="zero_shot compares texts with label names"):
        labelwood.ELIAS(zero_shot=True, **SMALL).fit(data)
    nameless = Dataset(data.x, data.y, data.texts)
    with pytest.raises(DataError, match="needs the names of the labels"):
        labelwood.ELIAS(zero_shot=True, encoder="both", text_model=str(folder), **SMALL).fit(nameless)


def test_untrained_labels_enter_the_ranking(folder, data, tmp_path, monkeypatch):
    monkeypatch.setattr(zero_shot, "MIN_LABELS", 4)
    monkeypatch.setattr(zero_shot, "LEFT_OUT", 2)
    y = data.y.toarray()
    y[:, 4] = 0
    unseen = Dataset(data.x, y, data.texts, data.label_names)
    params = {"encoder": "both", "text_model": str(folder), **SMALL}
    model = labelwood.ELIAS(zero_shot=True, **params).fit(unseen)
    assert model.fitted_.zero_shot.labels.tolist() == [4]
    top, plain = model.predict(unseen, 5), labelwood.ELIAS(**params).fit(unseen).predict(unseen, 5)
    untrained = top.scores[top.labels == 4]
    assert untrained.shape == (80,)
    assert np.all(untrained > plain.scores[plain.labels == 4].max(initial=0))
    for row in range(80):  # nothing else changes
        others = [label for label in top.labels[row] if label != 4]
        assert others == [label for label in plain.labels[row] if label != 4]
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(labelwood.load(tmp_path / "m").predict(unseen, 5).scores, top.scores)
    row = unseen.take([0])
    scores = dict(next(iter(model.predict(row, 5))))
    for label in range(5):
        assert model.explain(row, label).score == pytest.approx(scores.get(label, 0.0), rel=1e-5)
    why = model.explain(row, 4)  # a name near the text, and nothing else
    assert why.nodes[0].margin == pytest.approx(why.total)
    assert np.exp(why.nodes[0].log_score) == pytest.approx(why.score)
    assert model.fitted_.zero_shot.scores(np.array([why.total]))[0] == pytest.approx(why.score, rel=1e-5)


def test_untrained_labels_get_the_scores_of_equally_likely_ones():
    """Trained labels with score s are true with probability s^2 / (s^2 + 1/16): an even chance has the score 1/4."""
    random = np.random.default_rng(4)
    scores = np.exp(random.uniform(-4, 0, size=(4000, 5)))
    truth = random.uniform(size=scores.shape) < scores**2 / (scores**2 + 1 / 16)
    by_name = zero_shot.ZeroShot(np.array([1], np.int32), np.ones((1, 1), np.float32), 0.0)
    scaled = by_name.on_the_scale_of(scores, truth)
    assert scaled.slope == pytest.approx(2, rel=0.1)
    labels, both = scaled.added(np.array([[0]], np.int32), np.array([[0.3]]), np.zeros((1, 1), np.float32))
    assert labels.tolist() == [[0, 1]]
    assert both[0] == pytest.approx([0.3, 0.25], rel=0.1)
    plain = by_name.added(np.array([[0]], np.int32), np.array([[0.3]]), np.zeros((1, 1), np.float32))
    assert plain[1][0].tolist() == [0.3, 0.5]


def test_the_map_finds_labels_it_was_not_taught():
    """Rows are the sum of their labels' names, turned: names alone say nothing, the learned map does."""
    random = np.random.default_rng(2)
    names = random.normal(size=(60, 12)).astype(np.float32)
    names /= np.linalg.norm(names, axis=1, keepdims=True)
    turn = np.linalg.qr(random.normal(size=(12, 12)))[0]
    y = (random.uniform(size=(500, 60)) < 0.04).astype(np.float32)
    rows = y @ names @ turn + 0.1 * random.normal(size=(500, 12))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    seen = y.copy()
    seen[:, 50:] = 0
    by_map = zero_shot.fit_zero_shot(rows, sparse.csr_matrix(seen), names, 0)
    assert by_map.labels.tolist() == list(range(50, 60))
    logits = rows @ by_map.table + by_map.shift
    truth = y[:, 50:] > 0
    assert logits[truth].mean() > logits[~truth].mean() + 1
    by_name = rows @ names[50:].T
    assert abs(by_name[truth].mean() - by_name[~truth].mean()) < 0.1
    assert zero_shot.fit_zero_shot(rows, sparse.csr_matrix(y), names, 0) is None  # every label has rows


def test_a_tuned_encoder_is_saved_with_the_model(folder, data, tmp_path):
    model = labelwood.ELIAS(encoder="minilm", text_model=str(folder), tune_epochs=2, **SMALL).fit(data)
    frozen = text.text_vectors(data.texts, folder, cache=False)
    assert np.abs(model.fitted_.reader.vectors(data.texts) - frozen).max() > 1e-3
    model.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(data, 3).scores, model.predict(data, 3).scores)
    state = labelwood.load(tmp_path / "m").fitted_
    fewer = replace(state.reader, weights=dict(list(state.reader.weights.items())[1:]))
    with pytest.raises(ModelFileError, match="weights of the text encoder are damaged"):
        labelwood.ELIAS.from_fitted(replace(state, reader=fewer)).predict(data, 3)


def test_tuning_brings_texts_of_a_label_together(folder, data):
    encoder = text.TextEncoder(folder)
    apart = _apart(encoder.eval().encode(data.texts), data.y)
    reports = []
    tune_encoder(encoder, data.texts, data.y, 8, n_threads=1, progress=Callback(lambda *r: reports.append(r)))
    assert _apart(encoder.encode(data.texts), data.y) > 1.2 * apart
    assert reports


def _apart(vectors, y):
    """The distance between the mean vectors of texts with and without a label, summed over labels."""
    y = y.toarray() > 0
    means = [(vectors[y[:, c]].mean(axis=0), vectors[~y[:, c]].mean(axis=0)) for c in range(5)]
    return sum(float(np.linalg.norm(a - b)) for a, b in means)


def test_trees_vote_with_features_alone_and_with_both(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "cache"))
    random = np.random.default_rng(3)
    rows = [sorted(random.choice(5, 3, replace=False)) for _ in range(1100)]
    texts = [" and ".join(WORDS[4 + word] for word in row) for row in rows]
    y = np.zeros((1100, 5), np.float32)
    for row, words in enumerate(rows):
        y[row, words] = 1
    data = Dataset(y[:, :2], y, texts)
    monkeypatch.setattr(tree_votes, "WEIGHTS", (0.5,))  # rows as easy as these need no votes
    model = labelwood.ELIAS(encoder="both", text_model=str(folder), **SMALL).fit(data)
    votes = model.fitted_.votes
    assert votes is not None
    assert [forest.n_features for forest in votes.forests] == [2, 18]
    assert model.structure()["linear trees"] == 2
    model.save(tmp_path / "model")
    again = labelwood.load(tmp_path / "model")
    few = data.take(np.arange(20))
    np.testing.assert_array_equal(again.predict(few, 3).labels, model.predict(few, 3).labels)
    inputs = joined(few.x, model.fitted_.reader.vectors(few.texts), "both")
    for row in range(3):
        alone = few.take([row])
        scores = dict(next(iter(model.predict(alone, 5))))
        for label in range(5):
            why = model.explain(alone, label)
            assert why.score == pytest.approx(scores.get(label, 0.0), rel=1e-5)
            assert sum(s.weight * s.explanation.score for s in why.shares) == pytest.approx(why.score, rel=1e-4)
            assert all(c.feature < 2 for c in why.contributions)
    said = [forest.predict(part, 5) for forest, part in zip(votes.forests, (few.x, inputs), strict=True)]
    top = votes.given(inputs)
    for row in range(20):
        wanted = np.zeros(5)
        for part in said:
            wanted[part.labels[row]] += part.scores[row] / 2
        np.testing.assert_allclose(top.scores[row], wanted[top.labels[row]], rtol=1e-5)
