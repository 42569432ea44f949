"""ELIAS whose text encoder learns end to end with the index, by a tiny random transformer made here."""

from dataclasses import replace

import numpy as np
import pytest

import labelwood
from labelwood.data.dataset import Dataset
from labelwood.errors import ModelFileError, ParamError
from labelwood.models.neural.elias.inputs import TextReader, memory_of_reading
from labelwood.models.neural.elias.settings import ELIASParams
from labelwood.models.neural.elias.sizes import index_sizes

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from labelwood.matrices import normalized_rows  # noqa: E402
from labelwood.models.neural import text  # noqa: E402
from labelwood.models.neural.elias.inputs import joined  # noqa: E402
from labelwood.models.neural.elias.reading import ReadTexts  # noqa: E402
from labelwood.models.neural.elias.staged import Trainer  # noqa: E402
from labelwood.models.neural.text_tuning import layer_groups  # noqa: E402
from labelwood.progress import SILENT  # noqa: E402
from labelwood.report.elias_parts import part_answers  # noqa: E402

pytestmark = pytest.mark.slow  # importing transformers alone takes seconds
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "oak", "pine", "birch", "nail", "screw", "elm", "bolt", "and"]
FIRST = "encoder.layer.0.attention.self.query.weight"
SMALL = {"dim": 16, "warm_epochs": 1, "stage1_epochs": 2, "stage2_epochs": 2, "n_clusters": 4, "alpha": 1.0}
SMALL |= {"n_threads": 1, "text_lr": 3e-3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of two layers and 32 numbers."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    place = tmp_path_factory.mktemp("text") / "model"
    place.mkdir()
    (place / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(vocab_file=str(place / "vocab.txt")).save_pretrained(place)
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(WORDS), **size)).save_pretrained(place)
    return str(place)


@pytest.fixture(scope="module")
def data():
    """Texts of two to five of seven words, in which each word is a label. Features know only the first two words."""
    random = np.random.default_rng(5)
    rows = [sorted(random.choice(7, random.integers(2, 6), replace=False)) for _ in range(90)]
    y = np.zeros((90, 7), np.float32)
    for row, words in enumerate(rows):
        y[row, words] = 1
    texts = [" and ".join(WORDS[4 + word] for word in row) for row in rows]
    return Dataset(y[:, :2], y, texts, label_names=WORDS[4:11])


def model_of(folder, **changes):
    settings = {"encoder": "both", "text_model": folder, "text_training": "end-to-end", **SMALL, **changes}
    return labelwood.ELIAS(**settings)


@pytest.fixture(scope="module")
def trained(folder, data):
    return model_of(folder).fit(data)


def read_texts(folder, data, encoder="both", **changes):
    settings = ELIASParams(encoder=encoder, text_model=folder, text_training="end-to-end", **{**SMALL, **changes})
    reader = TextReader.of_folder(folder, settings.max_tokens, settings.pooling)
    features = normalized_rows(data.x) if encoder == "both" else None
    return settings, reader, ReadTexts(reader, data.texts, features, settings)


@pytest.mark.parametrize("encoder", ["both", "minilm"])
@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("stage", [1, 2])
def test_gradients_of_the_index_reach_the_first_layer(folder, data, encoder, recompute, stage):
    settings, reader, texts = read_texts(folder, data, encoder, recompute=recompute)
    rows = normalized_rows(joined(data.x, reader.vectors(data.texts, 1), encoder))
    trainer = Trainer(rows, data.y, index_sizes(7, settings), settings, 0, SILENT, texts)
    partition = trainer._partition(None)
    network = trainer._network(partition).train()
    torch.nn.init.normal_(network.label_weight)  # they begin at 0, and send nothing back then
    if stage == 2:
        trainer._use_learned_edges(network, trainer._learned(network), partition)
    batch = np.arange(40)
    vectors = network.encoder(batch)
    clusters = network.cluster_scores(vectors)
    short = network.shortlists(clusters, data.y[batch], trainer.sizes.shortlist, True, 1)
    for loss in network.losses(vectors, clusters, short, 1):
        network.zero_grad()
        loss.backward(retain_graph=True)
        gradient = dict(texts.encoder.transformer.named_parameters())[FIRST].grad
        assert gradient is not None
        assert float(gradient.abs().max()) > 0


def test_vectors_are_those_of_the_encoder_in_the_order_of_the_rows(folder, data):
    for pooling in ("mean", "cls"):
        _, reader, texts = read_texts(folder, data, pooling=pooling)
        rows = np.array([5, 80, 2, 41, *range(42, 79)])  # more than one chunk, of different lengths
        texts.encoder.eval()
        found = texts.vectors(rows).detach().numpy()
        alone = np.concatenate([reader.vectors([data.texts[row]], 1) for row in rows])
        np.testing.assert_allclose(found, alone, atol=1e-6)
        seen = normalized_rows(joined(data.x, reader.vectors(data.texts, 1), "both"))
        np.testing.assert_allclose(texts.columns(1).toarray(), seen.toarray(), atol=1e-6)


def test_the_two_poolings_differ_and_others_are_refused(folder, data):
    mean, cls = (text.text_vectors(data.texts[:4], folder, pooling=pooling, cache=False) for pooling in ("mean", "cls"))
    assert np.abs(mean - cls).max() > 1e-2
    assert text.encoder_sha256(folder, 128, "mean") != text.encoder_sha256(folder, 128, "cls")
    encoder = text.TextEncoder(folder, pooling="cls").eval()
    with torch.no_grad():
        last = encoder.transformer(**encoder.tokens(data.texts[:4])).last_hidden_state[:, 0]
    np.testing.assert_allclose(cls, torch.nn.functional.normalize(last, dim=1).numpy(), atol=1e-6)
    with pytest.raises(ParamError, match="pooling"):
        text.TextEncoder(folder, pooling="sum")


def test_every_layer_has_its_rate_and_all_parameters_are_trained_once(folder):
    encoder = text.TextEncoder(folder)
    groups = layer_groups(encoder, 1e-3, 0.5)
    names = {id(parameter): name for name, parameter in encoder.transformer.named_parameters()}
    rates = {names[id(p)]: (group.lr, group.weight_decay) for group in groups for p in group.parameters}
    assert sum(len(group.parameters) for group in groups) == len(names) == len(rates)
    assert rates["encoder.layer.1.output.dense.weight"] == (1e-3, 0.01)
    assert rates["encoder.layer.0.output.dense.weight"] == (5e-4, 0.01)
    assert rates["encoder.layer.0.output.dense.bias"] == (5e-4, 0.0)
    assert rates["encoder.layer.0.output.LayerNorm.weight"] == (5e-4, 0.0)
    assert rates["embeddings.word_embeddings.weight"] == (2.5e-4, 0.01)
    assert rates["pooler.dense.weight"] == (1e-3, 0.01)


def test_all_layers_move_in_training_and_the_model_answers(folder, data, trained):
    before = text.TextEncoder(folder).transformer.state_dict()
    after = trained.fitted_.reader.weights
    for name in ("embeddings.word_embeddings.weight", FIRST, "encoder.layer.1.output.dense.weight"):
        assert np.abs(after[name] - before[name].numpy()).max() > 1e-4, name
    assert labelwood.evaluate(trained.predict(data, 3), data.y)["P@1"] > 90


def test_a_saved_model_answers_alike_without_the_first_weights(trained, data, tmp_path):
    trained.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(data, 3).scores, trained.predict(data, 3).scores)
    np.testing.assert_array_equal(loaded.predict(data, 3).labels, trained.predict(data, 3).labels)
    state = labelwood.load(tmp_path / "m").fitted_
    fewer = replace(state.reader, weights=dict(list(state.reader.weights.items())[1:]))
    with pytest.raises(ModelFileError, match="weights of the text encoder are damaged"):
        labelwood.ELIAS.from_fitted(replace(state, reader=fewer)).predict(data, 3)


def test_the_same_seed_gives_the_same_bytes(folder, data, trained):
    again = model_of(folder).fit(data).fitted_
    arrays = trained.fitted_.arrays()
    assert arrays.keys() == again.arrays().keys()
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(array, arrays[name], err_msg=name)
    other = model_of(folder, seed=1).fit(data).fitted_.arrays()
    assert np.abs(other["text." + FIRST] - arrays["text." + FIRST]).max() > 0


@pytest.mark.parametrize("encoder", ["both", "minilm"])
def test_the_text_encoder_stops_after_its_epochs_and_the_index_goes_on(folder, data, encoder):
    """One epoch in which the encoder learns leaves it the same, however long the index goes on after it."""
    once = {"encoder": encoder, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 0, "ranker": False}
    short = model_of(folder, **once).fit(data).fitted_
    long = model_of(folder, **{**once, "stage1_epochs": 4}, text_epochs=1).fit(data).fitted_
    for name, array in short.reader.weights.items():
        np.testing.assert_array_equal(long.reader.weights[name], array, err_msg=name)
    tables = [state.members[0].index.encoder["table"] for state in (short, long)]
    assert tables[0].shape == tables[1].shape
    assert np.abs(tables[0] - tables[1]).max() > 1e-3
    again = model_of(folder, **{**once, "stage2_epochs": 2, "stage1_epochs": 2}, text_epochs=1).fit(data)
    assert np.abs(again.fitted_.reader.weights[FIRST] - short.reader.weights[FIRST]).max() > 1e-4  # stage 2 taught it
    assert (again.predict(data, 3).labels[:, 0] >= 0).all()


def test_stage_1_is_judged_with_the_encoder_of_stage_1(trained, data):
    state = trained.fitted_
    last, first = state.inputs(data.x, data.texts, 1), state.first_inputs(data.x, data.texts, 1)
    assert np.abs((last - first).toarray()).max() > 1e-4
    answers = dict(part_answers(state, last, 1, first_x=first))
    alone = dict(part_answers(state, last, 1))
    assert not np.array_equal(answers["stage 1"].scores, alone["stage 1"].scores)
    np.testing.assert_array_equal(answers["+ stage 2"].scores, alone["+ stage 2"].scores)


def test_several_indexes_share_the_encoder_of_the_first(folder, data):
    model = model_of(folder, encoder="minilm", n_models=2).fit(data)
    alone = model_of(folder, encoder="minilm").fit(data)
    for name, array in alone.fitted_.reader.weights.items():
        np.testing.assert_array_equal(model.fitted_.reader.weights[name], array)
    assert (model.predict(data, 3).labels[:, 0] >= 0).all()


@pytest.fixture(scope="module")
def own(folder, data):
    return model_of(folder, n_models=2, own_encoders=True, C=1.0).fit(data)


def test_every_index_trains_an_encoder_of_its_own(folder, data, own, trained):
    state = own.fitted_
    assert state.members[0].reader is None
    for name, array in trained.fitted_.reader.weights.items():
        np.testing.assert_array_equal(state.reader.weights[name], array)
    second = state.members[1].reader
    assert np.abs(second.weights[FIRST] - state.reader.weights[FIRST]).max() > 1e-4
    # The second index is what training gives with its seed, from the encoder as it was before the first one learned.
    kept = model_of(folder, validation=0.0, n_models=2, own_encoders=True).fit(data).fitted_
    alone = model_of(folder, validation=0.0, seed=1).fit(data).fitted_
    for name, array in alone.reader.weights.items():
        np.testing.assert_array_equal(kept.members[1].reader.weights[name], array)
    np.testing.assert_array_equal(kept.members[1].index.label_weight, alone.members[0].index.label_weight)


def test_an_index_with_an_encoder_of_its_own_sees_its_vectors(data, own):
    state = own.fitted_
    rows = state.inputs(data.x, data.texts, 1)
    first, second = state.views(rows)
    assert rows.shape[1] == 2 + 2 * 32
    for view, reader in ((first, state.reader), (second, state.members[1].reader)):
        wanted = joined(data.x, reader.vectors(data.texts, 1), "both")
        np.testing.assert_array_equal(view.toarray(), wanted.toarray())
        assert view.has_canonical_format
    assert labelwood.evaluate(own.predict(data, 3), data.y)["P@1"] > 90
    why = own.explain(data.take([3]), int(own.predict(data.take([3]), 1).labels[0, 0]))
    assert why.score == pytest.approx(float(own.predict(data.take([3]), 1).scores[0, 0]))
    names = [name for name, _ in part_answers(state, rows, 1, first_x=state.first_inputs(data.x, data.texts, 1))]
    assert names[:2] == ["stage 1", "+ stage 2"]
    assert names[-1] == "+ ensemble"


def test_encoders_of_their_own_are_saved(data, own, tmp_path):
    own.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    for part in ("labels", "scores"):
        told, wanted = (getattr(model.predict(data, 3), part) for model in (loaded, own))
        np.testing.assert_array_equal(told, wanted)
    state = labelwood.load(tmp_path / "m").fitted_
    member = state.members[1]
    fewer = replace(member.reader, weights=dict(list(member.reader.weights.items())[1:]))
    damaged = replace(state, members=(state.members[0], replace(member, reader=fewer)))
    with pytest.raises(ModelFileError, match="weights of the text encoder are damaged"):
        labelwood.ELIAS.from_fitted(damaged).predict(data, 3)


def test_encoders_of_their_own_need_texts_that_are_learned_from(folder, data):
    plain = labelwood.ELIAS(n_models=2, own_encoders=True, **SMALL).fit(data.x, data.y)
    assert plain.fitted_.views(data.x) == (data.x, data.x)
    frozen = model_of(folder, text_training="frozen", n_models=2, own_encoders=True).fit(data)
    assert [member.reader for member in frozen.fitted_.members] == [None, None]


def test_the_paper_reads_texts_where_there_are_some(folder, data):
    small = {"text_model": folder, "n_models": 1, **SMALL}
    model = labelwood.ELIAS.preset("paper", **small)
    assert model.reads_texts
    model.fit(data)
    assert model.reads_texts
    assert model.parameters_.encoder == "both"
    assert model.fitted_.reader.weights is not None
    without = labelwood.ELIAS.preset("paper", **small).fit(data.x, data.y)
    assert without.parameters_.encoder == "bow"
    assert not without.reads_texts


def test_memory_is_told_from_the_shape_of_the_encoder(folder):
    minilm = memory_of_reading(None, 64, 128, False)
    assert 4e8 < minilm < 3e9
    assert memory_of_reading(folder, 64, 128, False) < minilm / 10
    assert memory_of_reading("a/name", 64, 128, False) > 2 * minilm  # not fetched yet: the size of BERT
    assert memory_of_reading(None, 64, 128, True) < minilm
