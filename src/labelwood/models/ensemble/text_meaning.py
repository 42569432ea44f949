"""TextMeaning: the encoder that gives texts dense vectors: a transformer, or a table of token vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from labelwood.errors import ModelFileError, ParamError, unknown_name
from labelwood.models.ensemble.pairs import Floats
from labelwood.models.ensemble.static_vectors import StaticVectors
from labelwood.models.neural.elias.inputs import TextReader
from labelwood.models.neural.runtime import MEAN, require_torch
from labelwood.models.registry import AUTO
from labelwood.progress import SILENT, Progress

NO_ENCODER, MINILM, STATIC = "none", "minilm", "static"
READING = (MINILM, STATIC)  # encoders that there are
ENCODERS = (AUTO, NO_ENCODER, *READING)


class Reader(Protocol):
    """What makes vectors of texts."""

    @property
    def width(self) -> int:
        """The numbers of a vector."""

    @property
    def sha256(self) -> str:
        """The hash of all that decides about vectors."""

    def vectors(self, texts: Sequence[str], n_threads: int | None = None, progress: Progress = SILENT) -> Floats:
        """The vectors of texts, float32 (n, width)."""


@dataclass(frozen=True)
class TextMeaning:
    """The name of an encoder, where it lies (None: an installed package), and the hash of what decides about vectors.

    The encoder itself is no part of the value: it is loaded at the first text and kept.
    """

    encoder: str
    text_model: str | None
    max_tokens: int
    width: int
    sha256: str

    @classmethod
    def of(cls, encoder: str, text_model: str | None, max_tokens: int) -> TextMeaning:
        """The encoder as it is now; ParamError if it is not there or cannot be loaded."""
        reader = opened(encoder, text_model, max_tokens)
        meaning = cls(encoder, text_model, max_tokens, reader.width, reader.sha256)
        vars(meaning)["_reader"] = reader  # the cache: it need not be loaded twice
        return meaning

    def vectors(self, texts: Sequence[str], n_threads: int | None = None, progress: Progress = SILENT) -> Floats:
        """The vectors of texts, float32 (n, width), of length 1 (0 for a text without a known token)."""
        return self._reader.vectors(texts, n_threads, progress)

    @cached_property
    def _reader(self) -> Reader:
        reader = opened(self.encoder, self.text_model, self.max_tokens)
        if (reader.width, reader.sha256) != (self.width, self.sha256):
            raise ModelFileError(
                f"ensemble: the model was trained with another text encoder than encoder={self.encoder!r}, "
                f"text_model={self.text_model!r} gives here"
            )
        return reader

    def __getstate__(self) -> dict[str, Any]:
        """The value without the loaded encoder."""
        return {name: value for name, value in vars(self).items() if name != "_reader"}

    def facts(self) -> dict[str, Any]:
        """What a folder keeps of it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def restored(cls, facts: Any) -> TextMeaning:
        """The encoder that a folder names; ModelFileError if the words are damaged."""
        kinds: dict[str, Any] = {
            "encoder": str,
            "text_model": (str, type(None)),
            "max_tokens": int,
            "width": int,
            "sha256": str,
        }
        fine = isinstance(facts, Mapping) and set(facts) == set(kinds)
        if not fine or not all(isinstance(facts[name], kind) for name, kind in kinds.items()) or facts["width"] < 1:
            raise ModelFileError(f"ensemble: a text encoder is told by {', '.join(kinds)}, but here {facts!r:.120}")
        if facts["encoder"] not in READING:
            raise ModelFileError(f"ensemble: {unknown_name('encoder', facts['encoder'], READING)}")
        return cls(**facts)


def opened(encoder: str, text_model: str | None, max_tokens: int) -> Reader:
    """The encoder, loaded; ParamError says what to install if it is not there."""
    if encoder == STATIC:
        return StaticVectors.of_folder(text_model, max_tokens)
    if encoder != MINILM:
        raise ParamError(f"Ensemble: {unknown_name('encoder', encoder, READING)}")
    require_torch(f"Ensemble: encoder={encoder!r}", "reads texts")
    return TextReader.of_folder(text_model, max_tokens, MEAN)
