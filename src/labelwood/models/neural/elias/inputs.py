"""What ELIAS reads of a row: its features, the vector of its text, or both side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError, ModelFileError
from labelwood.matrices import normalized_rows
from labelwood.progress import SILENT, Progress

Arrays = dict[str, np.ndarray[Any, Any]]
Floats = npt.NDArray[np.float32]
BOW, TEXT, BOTH = "bow", "minilm", "both"
ENCODERS = (BOW, TEXT, BOTH)
_TUNED = "text."  # prefix of a fine-tuned encoder's weights
WIDTH_GUESS = 768  # numbers of a text vector, where only an estimate from above is needed


class TextReader:
    """The text encoder behind a trained model: texts -> vectors of length 1.

    A reader is known by the hash of the encoder's files, so that a model never answers with another encoder than it
    was trained with. The encoder is loaded at the first text. `weights` are those of a fine-tuned encoder, else None.
    """

    def __init__(self, folder: str | None, max_tokens: int, n_threads: int | None) -> None:
        self.folder, self.max_tokens, self.n_threads = folder, max_tokens, n_threads
        self.weights: Arrays | None = None
        self._encoder: Any = None
        self._known: dict[str, Any] | None = None

    @classmethod
    def from_facts(cls, facts: Any, arrays: Arrays, parameters: Any) -> TextReader:
        """The reader of a saved model; ModelFileError if its facts are damaged."""
        fine = isinstance(facts, dict) and set(facts) == {"width", "sha256"}
        if not fine or type(facts["width"]) is not int or facts["width"] < 1 or not isinstance(facts["sha256"], str):
            raise ModelFileError(f"elias: the text encoder is told by 'width' and 'sha256', but here {facts!r:.80}")
        reader = cls(parameters.text_model, parameters.max_tokens, parameters.n_threads)
        reader._known = dict(facts)
        if parameters.tune_epochs:
            reader.weights = {name[len(_TUNED) :]: array for name, array in arrays.items() if name.startswith(_TUNED)}
        return reader

    def to_arrays(self) -> Arrays:
        """The weights of a fine-tuned encoder under the names they are saved by."""
        return {_TUNED + name: array for name, array in (self.weights or {}).items()}

    def tune(self, texts: Sequence[str], y: sparse.csr_matrix, epochs: int, seed: int, progress: Progress) -> None:
        """Train the encoder itself to tell the labels of some texts."""
        from labelwood.models.neural.text_tuning import tune_encoder

        self._load()
        self.weights = tune_encoder(
            self._encoder, texts, y, epochs, seed=seed, n_threads=self.n_threads, progress=progress
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What is saved of the reader: the width of its vectors and the hash of the encoder."""
        return dict(self._known or {})

    @property
    def width(self) -> int:
        """The numbers in a vector; known once texts were read, or from a saved model."""
        return int(self.facts["width"])

    def vectors(self, texts: Sequence[str], progress: Progress = SILENT) -> Floats:
        """The vectors (n, width); those of a thousand texts and more are kept in the cache of `text_vectors`."""
        from labelwood.models.neural import text
        from labelwood.models.neural.runtime import torch_threads

        if self._encoder is None:
            self._load()
        if len(texts) >= text.BLOCK and self.weights is None:  # the cache knows encoders by their files
            return text.text_vectors(
                texts, self.folder, self.max_tokens, device="cpu", n_threads=self.n_threads, progress=progress
            )
        import torch

        with torch_threads(self.n_threads), torch.no_grad():
            found: Floats = self._encoder.encode(list(texts))
        return found

    def _load(self) -> None:
        from labelwood.models.neural import text

        found = text.TextEncoder(self.folder, self.max_tokens).eval()
        known = {"width": found.width, "sha256": text.encoder_sha256(self.folder, self.max_tokens)}
        if self._known is not None and known != self._known:
            place = text.model_folder(self.folder)
            raise ModelFileError(f"elias: the model was trained with another text encoder than the one in {place}")
        if self.weights is not None:
            from labelwood.models.neural.text_tuning import use_weights

            try:
                use_weights(found, self.weights)
            except RuntimeError as error:
                raise ModelFileError(f"elias: the weights of the text encoder are damaged ({error!s:.200})") from None
        self._encoder, self._known = found, known


def texts_of(texts: Sequence[str] | None, encoder: str, what: str) -> Sequence[str]:
    """The texts; DataError if there are none for a model that reads them."""
    if texts is None:
        raise DataError(
            f"ELIAS(encoder={encoder!r}) reads texts, but {what} got feature rows alone: use labelwood.Tagger, or give "
            "a Dataset with features and texts"
        )
    return texts


def joined(x: sparse.csr_matrix, vectors: Floats | None, encoder: str) -> sparse.csr_matrix:
    """The rows that encoder and ranker see: features, vectors, or features (of length 1) and vectors side by side."""
    if encoder == BOW or vectors is None:
        return x
    columns = sparse.csr_matrix(np.asarray(vectors, dtype=np.float32))
    if encoder == TEXT:
        return columns
    rows = sparse.csr_matrix(sparse.hstack([normalized_rows(x), columns], format="csr"))
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows


def saved_reader(facts: Mapping[str, Any], arrays: Arrays, parameters: Any) -> TextReader | None:
    """The text reader of a saved model, None if it reads features alone."""
    return None if parameters.encoder == BOW else TextReader.from_facts(facts["text_encoder"], arrays, parameters)
