"""StaticVectors: texts -> means of token vectors out of a table: thousands of texts a second."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelwood.errors import ParamError
from labelwood.models.ensemble.pairs import Floats
from labelwood.progress import SILENT, Progress

_PACKAGE = "wordllama"
_OF_PACKAGE = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
_OF_FOLDER = ("model.safetensors", "tokenizer.json")  # as model2vec saves them
_INSTALL = 'pip install "labelwood[static]"'
_BATCH = 1024
_CHARACTERS = 20  # of a token, from above: what stands behind is cut off before a long text is split


def installed_table() -> tuple[Path, Path] | None:
    """(the vectors, their tokenizer) of the installed package wordllama; None if it is not installed."""
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        return None
    weights, words = (Path(package.origin).parent / name for name in _OF_PACKAGE)
    return weights, words


@dataclass(frozen=True, eq=False)
class StaticVectors:
    """A table (n_tokens, width) with a vector for each token of a tokenizer, and the hash of both files."""

    table: Floats
    tokenizer: Any
    max_tokens: int
    sha256: str

    @classmethod
    def of_folder(cls, folder: str | None, max_tokens: int) -> StaticVectors:
        """The table in a folder (model.safetensors, tokenizer.json), or in the installed package wordllama."""
        if folder is None:
            found = installed_table()
            if found is None:
                raise ParamError(
                    f"encoder='static' needs a table of token vectors: {_INSTALL}, or give its folder as text_model"
                )
            weights, words = found
        else:
            weights, words = (Path(folder) / name for name in _OF_FOLDER)
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            raise ParamError(f"encoder='static' needs safetensors and tokenizers: {_INSTALL}") from None
        try:
            tables = [table for table in load_file(weights).values() if table.ndim == 2]
            tokenizer = Tokenizer.from_file(str(words))
        except Exception as error:  # both libraries raise errors of their own, some of them plain Exception
            raise ParamError(f"{weights.parent}: no table of token vectors with a tokenizer ({error!s:.200})") from None
        if len(tables) != 1 or len(tables[0]) < tokenizer.get_vocab_size():
            raise ParamError(f"{weights}: must hold one table with a line for each token of {words.name}")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        digest = hashlib.sha256(f"mean of {max_tokens} tokens".encode())
        for path in (weights, words):
            digest.update(path.read_bytes())
        return cls(tables[0].astype(np.float32), tokenizer, max_tokens, digest.hexdigest())

    @property
    def width(self) -> int:
        """The numbers of a vector."""
        return int(self.table.shape[1])

    def vectors(self, texts: Sequence[str], n_threads: int | None = None, progress: Progress = SILENT) -> Floats:
        """The vectors of texts, float32 (n, width), of length 1; 0 for a text without a token."""
        found = np.zeros((len(texts), self.width), np.float32)
        for begin in range(0, len(texts), _BATCH):
            progress.step("encoding texts", begin, len(texts))
            # A line break would be a token of its own, and means no more than a space.
            batch = [" ".join(text[: _CHARACTERS * self.max_tokens].split()) for text in texts[begin : begin + _BATCH]]
            for place, tokens in enumerate(self._split(batch, n_threads), start=begin):
                known = tokens.ids[: self.max_tokens]
                if known:
                    found[place] = self.table[known].mean(axis=0)
        progress.step("encoding texts", len(texts), len(texts))
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
        found /= np.maximum(lengths, np.float32(1e-12))[:, None]
        return found

    def _split(self, texts: Sequence[str], n_threads: int | None) -> Sequence[Any]:
        """The tokens of texts; a batch would take all cores, which nobody who wants one thread expects."""
        if n_threads == 1:
            return [self.tokenizer.encode(text, add_special_tokens=False) for text in texts]
        found: Sequence[Any] = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return found
