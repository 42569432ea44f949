"""What ELIAS reads of a row: its features, the vector of its text, or both side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError, ModelFileError
from labelwood.matrices import normalized_rows
from labelwood.models.neural.runtime import MEAN
from labelwood.progress import SILENT, Progress
from labelwood.storage.schema import Arrays

if TYPE_CHECKING:
    from labelwood.models.neural.text import TextEncoder

Floats = npt.NDArray[np.float32]
BOW, TEXT, BOTH, AUTO = "bow", "minilm", "both", "auto"
ENCODERS = (BOW, TEXT, BOTH, AUTO)
FROZEN, END_TO_END = "frozen", "end-to-end"
TEXT_TRAININGS = (FROZEN, END_TO_END)
_MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "vocab_size": 30522}
_BERT = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 30522}
WIDTH_GUESS = 768  # numbers of a text vector, where only an estimate from above is needed


@dataclass(frozen=True, eq=False)
class TextReader:
    """The text encoder behind a trained model: texts -> vectors (n, width) of length 1.

    A reader is known by the hash of the encoder's files, so that a model never answers with another encoder than it
    was trained with. `weights` are those of a fine-tuned encoder, else None. The encoder itself is no part of the
    value: it is loaded at the first text and kept as a cache.
    """

    folder: str | None
    max_tokens: int
    pooling: str
    width: int
    sha256: str
    weights: Arrays | None = None

    @classmethod
    def of_folder(cls, folder: str | None, max_tokens: int, pooling: str = MEAN) -> TextReader:
        """The reader of the encoder in a folder (None: the installed MiniLM) as it is now."""
        encoder, sha256 = _loaded(folder, max_tokens, pooling)
        reader = cls(folder, max_tokens, pooling, encoder.width, sha256)
        vars(reader)["_encoder"] = encoder  # the cache: it need not be loaded twice
        return reader

    @classmethod
    def restored(
        cls, folder: str | None, max_tokens: int, pooling: str, facts: Any, weights: Arrays | None
    ) -> TextReader:
        """The reader of a saved model; ModelFileError if its facts are damaged."""
        return cls(folder, max_tokens, pooling, text_width(facts), facts["sha256"], weights)

    def tuned(
        self,
        texts: Sequence[str],
        y: sparse.csr_matrix,
        epochs: int,
        *,
        seed: int,
        n_threads: int | None,
        progress: Progress,
    ) -> TextReader:
        """The reader whose encoder was trained to tell the labels y of some texts."""
        from labelwood.models.neural.text_tuning import tune_encoder

        encoder, _ = _loaded(self.folder, self.max_tokens, self.pooling)
        weights = tune_encoder(encoder, texts, y, epochs, seed=seed, n_threads=n_threads, progress=progress)
        return replace(self, weights=weights)

    def trainable_encoder(self) -> TextEncoder:
        """A text encoder of its own with the reader's weights, to be trained."""
        return self._own_encoder()

    def facts(self) -> dict[str, Any]:
        """What is saved of the reader beside its weights: the width of its vectors and the hash of the encoder."""
        return {"width": self.width, "sha256": self.sha256}

    def vectors(self, texts: Sequence[str], n_threads: int | None = None, progress: Progress = SILENT) -> Floats:
        """The vectors (n, width); those of a thousand texts and more are kept in the cache of `text_vectors`."""
        from labelwood.models.neural import text
        from labelwood.models.neural.runtime import torch_threads

        encoder = self._encoder
        if len(texts) >= text.BLOCK and self.weights is None:  # the cache knows encoders by their files
            return text.text_vectors(
                texts,
                self.folder,
                self.max_tokens,
                pooling=self.pooling,
                device="cpu",
                n_threads=n_threads,
                progress=progress,
            )
        import torch

        with torch_threads(n_threads), torch.no_grad():
            vectors: Floats = encoder.encode(list(texts))
        return vectors

    @cached_property
    def _encoder(self) -> TextEncoder:
        return self._own_encoder()

    def _own_encoder(self) -> TextEncoder:
        encoder, sha256 = _loaded(self.folder, self.max_tokens, self.pooling)
        if (encoder.width, sha256) != (self.width, self.sha256):
            from labelwood.models.neural.text import model_folder

            place = model_folder(self.folder)
            raise ModelFileError(f"elias: the model was trained with another text encoder than the one in {place}")
        if self.weights is not None:
            from labelwood.models.neural.text_tuning import use_weights

            try:
                use_weights(encoder, self.weights)
            except RuntimeError as error:
                raise ModelFileError(f"elias: the weights of the text encoder are damaged ({error!s:.200})") from None
        return encoder


def memory_of_reading(folder: str | None, max_tokens: int, n_texts: int, recompute: bool) -> int:
    """The bytes that a text encoder in training takes beside its vectors, for batches of n_texts, from above.

    Weights, gradients, two moments and a copy; 68 bytes a number of a token's vector and layer, and its attention
    (Korthikanti et al., "Reducing activation recomputation", 2022, section 4, doubled for float32). recompute: of one
    layer at a time, and 4 bytes for each number that is kept between layers.
    """
    shape = dict(_MINILM)
    if folder is not None:
        try:
            told = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            told = {}  # of a name on the hub nothing is known before it is fetched: the size of BERT
        shape = {name: told[name] if type(told.get(name)) is int else size for name, size in _BERT.items()}
    width, layers = shape["hidden_size"], shape["num_hidden_layers"]
    weights = 20 * (12 * layers * width * width + shape["vocab_size"] * width)
    token = 68 * width + 12 * shape["num_attention_heads"] * max_tokens
    kept = token + 4 * layers * width if recompute else layers * token
    return int(weights + n_texts * max_tokens * kept)


def text_width(facts: Any) -> int:
    """The numbers of a text vector, from what is saved of a reader; ModelFileError if that is damaged."""
    fine = isinstance(facts, Mapping) and set(facts) == {"width", "sha256"}
    if not fine or type(facts["width"]) is not int or facts["width"] < 1 or not isinstance(facts["sha256"], str):
        raise ModelFileError(f"elias: the text encoder is told by 'width' and 'sha256', but here {facts!r:.80}")
    return int(facts["width"])


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


def column_views(x: sparse.csr_matrix, n_features: int, width: int, n_readers: int) -> tuple[sparse.csr_matrix, ...]:
    """What each reader's index sees of rows with n_features features and then the vectors (of `width`) of all readers.

    With one reader the rows themselves.
    """
    if n_readers == 1:
        return (x,)
    features = x[:, :n_features]
    views = []
    for first in range(n_features, n_features + n_readers * width, width):
        own = x[:, first : first + width]
        views.append(sparse.csr_matrix(sparse.hstack([features, own], format="csr")))
    for view in views:
        view.has_sorted_indices = view.has_canonical_format = True
    return tuple(views)


def takes_as_it_is(x: Any, n_features: int) -> bool:
    """True for a CSR matrix that the kernels can take as it is: a single query is spared the general checks."""
    return bool(
        type(x) is sparse.csr_matrix
        and x.shape[1] == n_features
        and x.data.dtype == np.float32
        and x.indptr[-1] == len(x.data)
        and x.has_canonical_format
        and math.isfinite(float(np.dot(x.data, x.data)))
    )


def n_inputs(encoder: str, width: int) -> str | int:
    """The columns that index and ranker see, as a schema tells sizes; width: numbers of a text vector."""
    if encoder == TEXT:
        return width
    return "n_features" if encoder == BOW else f"n_features+{width}"


def _loaded(folder: str | None, max_tokens: int, pooling: str) -> tuple[TextEncoder, str]:
    from labelwood.models.neural import text

    encoder = text.TextEncoder(folder, max_tokens, pooling).eval()
    return encoder, text.encoder_sha256(folder, max_tokens, pooling)
