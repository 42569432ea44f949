"""The text encoder as a part of the ELIAS network: it learns from the losses of the index (Gupta et al., section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from labelwood.matrices import normalized_rows
from labelwood.models.neural.elias.inputs import Floats, TextReader, joined
from labelwood.models.neural.elias.settings import ELIASParams
from labelwood.models.neural.encoders import BagEncoder
from labelwood.models.neural.optimizers import ParameterGroup
from labelwood.models.neural.runtime import torch_threads, uses_bf16
from labelwood.models.neural.sampling import Rows, row_batch
from labelwood.models.neural.text_tuning import encoder_weights, layer_groups
from labelwood.storage.schema import Arrays

CHUNK = 32  # texts of a batch that are read together: texts of like length, so that little is padded


class ReadTexts:
    """Texts with a text encoder that can be trained, and the features beside them.

    features (n, n_features): unit rows, or None if the texts alone are read. The encoder is the reader's own copy.
    """

    def __init__(
        self, reader: TextReader, texts: Sequence[str], features: sparse.csr_matrix | None, settings: ELIASParams
    ) -> None:
        self.encoder = reader.trainable_encoder()
        self.settings = settings
        self.ids = self.encoder.token_ids(texts)
        self.lengths: npt.NDArray[np.int64] = np.fromiter(map(len, self.ids), np.int64, len(self.ids))
        self.features = features
        self.n_features = 0 if features is None else int(features.shape[1])
        # A row of features and text is scaled to length 1; both parts have length 1, but a row may have no features.
        n_parts = 1 + (np.diff(features.indptr) > 0 if features is not None else np.zeros(len(self.ids)))
        self.scale = np.asarray(1 / np.sqrt(n_parts), np.float32)
        self.scaled = None if features is None else sparse.csr_matrix(sparse.diags(self.scale) @ features)
        if settings.recompute:
            # Not the reentrant kind, which finds no gradient where the first layer's input needs none.
            self.encoder.transformer.gradient_checkpointing_enable({"use_reentrant": False})

    def vectors(self, rows: Rows) -> Tensor:
        """The vectors (n, width) of the texts of some rows, read in chunks of like length, in the order of the rows.

        On CUDA they are computed in bfloat16 where the GPU has it; never on a CPU.
        """
        by_length = np.argsort(self.lengths[rows], kind="stable")
        order, back = rows[by_length], np.argsort(by_length, kind="stable")
        device = next(self.encoder.parameters()).device
        mixed = device.type == "cuda" and uses_bf16("auto", device)
        with torch.autocast(device.type, torch.bfloat16) if mixed else nullcontext():
            parts = [
                self.encoder(self.encoder.padded([self.ids[row] for row in order[first : first + CHUNK]]))
                for first in range(0, len(order), CHUNK)
            ]
        found = torch.cat(parts).float()
        # Not [back], whose gradient is summed by index: every row is taken once.
        return found.index_select(0, torch.from_numpy(back).to(found.device))

    def columns(self, n_threads: int | None) -> sparse.csr_matrix:
        """All rows as the index sees them, unit rows of features and text vectors, with the encoder as it is now."""
        before = self.encoder.training
        self.encoder.eval()
        with torch_threads(n_threads), torch.no_grad():
            parts = [
                self.vectors(np.arange(first, min(first + 1024, len(self.ids)))).cpu().numpy()
                for first in range(0, len(self.ids), 1024)
            ]
        self.encoder.train(before)
        found: Floats = np.concatenate(parts)
        return normalized_rows(joined(self.features, found, self.settings.encoder))

    def weights(self) -> Arrays:
        """Copies of the text encoder's weights."""
        return encoder_weights(self.encoder)


class ReadingEncoder(nn.Module):
    """A BagEncoder over features and text vectors whose text vectors are made in the forward pass.

    The table of the bag is cut in two: features keep their sparse gradients, the text columns are a dense layer.
    """

    def __init__(self, bag: BagEncoder, texts: ReadTexts) -> None:
        super().__init__()
        self.bag = bag
        self.text = texts.encoder
        self._texts = texts
        self.cut()

    def forward(self, rows: Rows) -> Tensor:
        """The vectors (n, dim) of some rows."""
        texts = self._texts
        read = texts.vectors(rows)
        sums = (torch.from_numpy(texts.scale[rows]).to(read.device)[:, None] * read) @ self.text_table
        if texts.scaled is not None:
            sums = sums + self.bag.table(row_batch(texts.scaled, rows, sums.device))
        vectors: Tensor = self.bag.block(sums)
        return vectors

    def cut(self) -> None:
        """Cut the table of the bag in two again, after the bag was trained alone as `whole_bag` gave it."""
        whole = self.bag.table.weight.detach()
        self.text_table = nn.Parameter(whole[self._texts.n_features :].clone())
        self.bag.table.weight = nn.Parameter(whole[: self._texts.n_features].clone())

    def whole_bag(self) -> BagEncoder:
        """The bag with both tables in one, for rows with text vectors that no longer change; `cut` undoes it."""
        self.bag.table.weight = nn.Parameter(torch.cat([self.bag.table.weight, self.text_table]).detach())
        return self.bag

    def table_parameters(self) -> list[nn.Parameter]:
        """The tables of the features, if there are any, and of the text columns."""
        return [*(self.bag.table_parameters() if self._texts.n_features else []), self.text_table]

    def dense_parameters(self) -> list[nn.Parameter]:
        """The parameters of the block behind the tables."""
        return self.bag.dense_parameters()

    def text_groups(self) -> list[ParameterGroup]:
        """The text encoder's parameters with the rates of their layers."""
        settings = self._texts.settings
        return layer_groups(self.text, settings.text_lr, settings.layer_decay)

    def arrays(self) -> Arrays:
        """The encoder of rows with text vectors for `forward.bag_forward`: float32 copies."""
        table = torch.cat([self.bag.table.weight.detach(), self.text_table.detach()])
        return {**self.bag.arrays(), "table": table.cpu().numpy().astype(np.float32)}
