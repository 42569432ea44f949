"""Text vectors of a tiny random transformer: pooling, caching, refusals."""

import json
import shutil
import sys

import numpy as np
import pytest

from labelwood.errors import ParamError
from labelwood.progress import Callback

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

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


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """An empty cache of the hub, and no network."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def cached_model(hub_cache, folder):
    """Put a model into the cache under the name people/tiny, as the hub's library lays it out."""
    model = hub_cache / "models--people--tiny"
    shutil.copytree(folder, model / "snapshots" / ("c0ffee" + "0" * 34))
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("c0ffee" + "0" * 34)


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


def test_a_name_on_the_hub_comes_from_its_cache(folder, hub_cache):
    cached_model(hub_cache, folder)
    expected = text.text_vectors(TEXTS, folder, cache=False)
    np.testing.assert_array_equal(text.text_vectors(TEXTS, "people/tiny", cache=False), expected)
    assert text.encoder_sha256("people/tiny", 128) == text.encoder_sha256(folder, 128)


def test_a_name_that_cannot_be_fetched_is_told_with_all_that_was_tried(hub_cache):
    with pytest.raises(
        ParamError, match=r"'people/tiny': there is no such folder here, the cache .* does not hold it, "
    ) as told:
        text.model_folder("people/tiny")
    assert str(hub_cache) in str(told.value)
    assert "cannot be fetched from the Hugging Face hub (" in str(told.value)


@pytest.mark.parametrize("name", ["/no/such/folder", "./people", "a/b/c", "a b", "../x", "https://x/y"])
def test_what_is_no_name_of_the_hub_is_a_folder(name, hub_cache):
    with pytest.raises(ParamError, match=r"config\.json is missing"):
        text.model_folder(name)


def test_a_folder_goes_before_a_name(folder, hub_cache, tmp_path, monkeypatch):
    cached_model(hub_cache, folder)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "people" / "tiny")
    assert text.model_folder("people/tiny").resolve() == tmp_path / "people" / "tiny"


def test_a_name_needs_the_hub_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ParamError, match=r'pip install "labelwood\[text\]"'):
        text.model_folder("people/tiny")


def test_more_tokens_than_the_encoder_knows_are_refused(folder):
    with pytest.raises(ParamError, match="at most 512 tokens of a text, but max_tokens is 513"):
        text.TextEncoder(folder, 513)


def test_the_reading_half_of_an_encoder_and_decoder_is_taken(folder, tmp_path):
    from transformers import BertTokenizerFast, T5Config, T5Model

    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(tmp_path)
    T5Model(T5Config(vocab_size=len(WORDS), d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2)).save_pretrained(
        tmp_path
    )
    assert text.text_vectors(TEXTS, tmp_path, cache=False).shape == (5, 8)


def test_a_tokenizer_without_padding_is_given_one(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    settings["pad_token"] = None
    settings["eos_token"] = "[SEP]"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).pad_token is None
    expected = text.text_vectors(TEXTS, folder, cache=False)
    np.testing.assert_allclose(text.text_vectors(TEXTS, tmp_path, cache=False), expected, atol=1e-5)


def test_code_in_a_folder_is_not_run(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Mine"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(ParamError, match="cannot be loaded"):
        text.TextEncoder(tmp_path)
    assert not (tmp_path / "ran").exists()
