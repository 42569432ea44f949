"""Text vectors of a tiny random transformer: pooling, caching, refusals."""

import json

import numpy as np
import pytest

from labelwood.errors import ParamError
from labelwood.progress import Callback

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from labelwood.models.neural import text  # noqa: E402

pytestmark = pytest.mark.slow  # importing transformers alone takes seconds
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "tree", "of", "labels", "wood"]
TEXTS = ["a tree", "labels of wood", "", "a tree of labels of wood a tree", "unknown"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from transformers import BertConfig, BertModel, BertTokenizerFast

    place = tmp_path_factory.mktemp("model")
    (place / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(vocab_file=str(place / "vocab.txt")).save_pretrained(place)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(WORDS), **size)).save_pretrained(place)
    return place


def test_vectors_are_means_of_the_last_layer(folder):
    found = text.text_vectors(TEXTS, folder, cache=False)
    assert found.shape == (5, 16)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    encoder = text.TextEncoder(folder).eval()
    with torch.no_grad():
        last = encoder.transformer(**encoder.tokens([TEXTS[1]])).last_hidden_state[0].mean(dim=0)
    np.testing.assert_allclose(found[1], (last / last.norm()).numpy(), atol=1e-5)


def test_the_cache_gives_the_same_and_asks_no_model(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 2)
    reports = []
    progress = Callback(lambda *report: reports.append(report))
    first = text.text_vectors(TEXTS, folder, cache=tmp_path / "kept", progress=progress)
    assert len(list((tmp_path / "kept").iterdir())) == 3
    assert reports[-1] == ("encoding texts", 5, 5)
    monkeypatch.setattr(text, "TextEncoder", None)  # would fail if it were asked
    np.testing.assert_array_equal(text.text_vectors(TEXTS, folder, cache=tmp_path / "kept"), first)
    with pytest.raises(TypeError):
        text.text_vectors(TEXTS, folder, 5, cache=tmp_path / "kept")  # other settings: other vectors


def test_damaged_cache_files_are_made_again(folder, tmp_path):
    first = text.text_vectors(TEXTS, folder, cache=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    np.testing.assert_array_equal(text.text_vectors(TEXTS, folder, cache=tmp_path), first)


def test_the_environment_names_the_cache(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "mine"))
    text.text_vectors(TEXTS[:1], folder)
    assert len(list((tmp_path / "mine" / "text").iterdir())) == 1


def test_an_encoder_can_be_trained(folder):
    encoder = text.TextEncoder(folder)
    encoder(encoder.tokens(TEXTS)).sum().backward()
    assert all(p.grad is not None for p in encoder.transformer.embeddings.parameters())


def test_what_is_missing_is_said(folder, tmp_path, monkeypatch):
    with pytest.raises(ParamError, match=r"config\.json is missing"):
        text.text_vectors(TEXTS, tmp_path, cache=False)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ParamError, match="cannot be loaded"):
        text.text_vectors(TEXTS, tmp_path, cache=False)
    monkeypatch.setattr(text.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ParamError, match="no text encoder is installed"):
        text.text_vectors(TEXTS)
