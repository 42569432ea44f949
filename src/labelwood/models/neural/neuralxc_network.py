"""The three networks of NeuralXC and their joint loss (torch); see docs/methods/neuralxc.md."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from labelwood.models.neural.encoders import FUNCTIONS
from labelwood.models.neural.layer_stack import LayerStack
from labelwood.models.neural.neuralxc_sizes import Sizes
from labelwood.models.neural.row_shares import RowDropout, batch_normed, current_share, own_rows
from labelwood.models.neural.sampling import RowBatch, Rows, row_batch
from labelwood.models.neural.sparse_layer import SparseLinear


@dataclass(frozen=True)
class Targets:
    """Some columns of a sparse batch as dense targets: values (n, m), the columns, and what each counts in a mean.

    columns is None if they are all there. weights (m,) sum to the number of all columns.
    """

    values: Tensor
    columns: Tensor | None
    weights: Tensor


def targets(matrix: sparse.csr_matrix, rows: Rows, n_sampled: int, random: np.random.Generator) -> Targets:
    """The columns of a batch to be judged by: all, or those that occur in it and a sample of the others.

    A sampled column stands for its share of the columns that do not occur, so that means are those over all columns on
    average. n_sampled 0: all columns. Where several processes share the rows, the values are those of the own rows, and
    the columns those of the whole batch.
    """
    part = matrix[own_rows(rows)]
    n_columns = matrix.shape[1]
    if not n_sampled:
        return Targets(torch.from_numpy(part.toarray()), None, torch.ones(n_columns))
    present = np.unique(matrix[rows].indices).astype(np.int64)
    drawn = np.setdiff1d(random.integers(0, n_columns, n_sampled), present)
    columns = np.concatenate([present, drawn])
    weights = np.ones(len(columns), np.float32)
    weights[len(present) :] = (n_columns - len(present)) / max(1, len(drawn))
    place = np.searchsorted(present, part.indices)
    dense = torch.zeros(part.shape[0], len(columns))
    row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    dense[torch.from_numpy(row), torch.from_numpy(place)] = torch.from_numpy(part.data)
    return Targets(dense, torch.from_numpy(columns), torch.from_numpy(weights))


class WideLayer(nn.Module):
    """A linear layer with many outputs of which a batch may need only some; then its gradient is sparse."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_outputs, n_inputs + 1))  # the bias is the last column
        nn.init.xavier_uniform_(self.weight[:, :-1])
        nn.init.zeros_(self.weight[:, -1:])

    def forward(self, rows: Tensor, columns: Tensor | None) -> Tensor:
        """The outputs, all or those of some columns."""
        table = self.weight if columns is None else functional.embedding(columns, self.weight, sparse=True)
        return torch.addmm(table[:, -1], rows, table[:, :-1].T)


class Stack(nn.Module):
    """Dense layers with an activation between them, and a batch norm after each of the first n_norms layers."""

    def __init__(self, widths: list[int], slope: float, last: bool, n_norms: int = 0) -> None:
        super().__init__()
        self.layers: list[nn.Linear] = [nn.Linear(a, b) for a, b in pairwise(widths)]
        self.slope = slope
        self.last = last  # an activation after the last layer too
        for number, layer in enumerate(self.layers):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
            self.add_module(f"layer{number}", layer)
        self.norms: list[nn.BatchNorm1d] = [nn.BatchNorm1d(width) for width in widths[1 : n_norms + 1]]
        for number, norm in enumerate(self.norms):
            self.add_module(f"norm{number}", norm)

    def forward(self, rows: Tensor) -> Tensor:
        """The outputs of the last layer."""
        for number, layer in enumerate(self.layers):
            rows = layer(rows)
            if number < len(self.norms):
                rows = normed(self.norms[number], rows)
            if number + 1 < len(self.layers) or self.last:
                rows = functional.leaky_relu(rows, self.slope) if self.slope else torch.relu(rows)
        return rows


class NeuralXCNetwork(nn.Module):
    """Input autoencoder (phi_i, psi_i), output autoencoder (phi_o, psi_o) and the regressor f between their codes.

    plain: without batch norms, and all layers start as Xavier's.
    """

    def __init__(
        self,
        sizes: Sizes,
        last: str,
        dropout: float,
        sampled_inputs: bool = False,
        sampled_labels: bool = False,
        label_shares: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None,
        gain: float = 1.0,
        shortcut: bool = False,
        plain: bool = False,
    ) -> None:
        super().__init__()
        self.gain = gain
        i, o = list(sizes.input), list(sizes.output)
        self.sampled_inputs, self.sampled_labels = sampled_inputs, sampled_labels
        self.input_table = SparseLinear(i[0], i[1], sparse=sampled_inputs)
        self.input_bias = nn.Parameter(torch.zeros(i[1]))
        self.input_norm = None if plain else nn.BatchNorm1d(i[1])
        self.encode_input = Stack(i[1:], 0.0, last=True, n_norms=0 if plain else 1)
        self.decode_input = Stack(i[:0:-1], 0.2, last=True)
        self.input_outputs = WideLayer(i[1], i[0])
        self.output_table = SparseLinear(o[0], o[1], sparse=sampled_labels)
        self.output_bias = nn.Parameter(torch.zeros(o[1]))
        self.encode_output = Stack(o[1:], 0.1, last=False)
        self.decode_output = Stack(o[:0:-1], 0.0, last=True)
        self.label_outputs = WideLayer(o[1], o[0])
        self.shortcut = WideLayer(i[1], o[0]) if shortcut else None
        self.regressor = Stack([i[-1], sizes.middle, o[-1]], 0.0, last=False, n_norms=0 if plain else 2)
        self.dropout = RowDropout(dropout)
        self.last = FUNCTIONS[last]
        # A step of Adam is about the learning rate whatever the size of the values: the gain brings them to about 1,
        # and the batch norm allows a small start, so that what is learnt soon outweighs it.
        if plain:
            nn.init.xavier_uniform_(self.input_table.weight)
        else:
            nn.init.normal_(self.input_table.weight, std=0.1 * 2**0.5 / gain)
        nn.init.xavier_uniform_(self.output_table.weight)
        if self.shortcut is not None:
            nn.init.zeros_(self.shortcut.weight)
        if label_shares is not None:
            # Every label starts at its share of the rows: no steps are lost on learning that labels are rare.
            odds = np.log(label_shares / (1 - label_shares))
            with torch.no_grad():
                self.label_outputs.weight[:, -1] = torch.from_numpy(odds.astype(np.float32))

    def first_layer(self, batch: RowBatch) -> Tensor:
        """The first hidden layer of phi_i."""
        sums = self.gain * self.input_table(batch) + self.input_bias
        if self.input_norm is not None:
            sums = normed(self.input_norm, sums)
        first: Tensor = self.dropout(torch.relu(sums))
        return first

    def code_of_first(self, first: Tensor) -> Tensor:
        """phi_i(x) from its first hidden layer."""
        code: Tensor = self.dropout(self.encode_input(first))
        return code

    def code_of_labels(self, batch: RowBatch) -> Tensor:
        """phi_o(y)."""
        first = functional.leaky_relu(self.output_table(batch) + self.output_bias, 0.1)
        return torch.tanh(self.encode_output(first))

    def label_code(self, code: Tensor) -> Tensor:
        """f(phi_i(x))."""
        return torch.tanh(self.regressor(code))

    def label_logits(self, code: Tensor, columns: Tensor | None = None) -> Tensor:
        """psi_o before its sigmoid, for all labels or some."""
        logits: Tensor = self.label_outputs(self.decode_output(code), columns)
        return logits

    def answer_logits(self, first: Tensor, code: Tensor, columns: Tensor | None = None) -> Tensor:
        """psi_o of a predicted label code before its sigmoid, and what the shortcut adds."""
        logits = self.label_logits(code, columns)
        if self.shortcut is not None:
            logits = logits + self.shortcut(first, columns)
        return logits

    def losses(
        self, x: sparse.csr_matrix, y: sparse.csr_matrix, rows: Rows, x_targets: Targets, y_targets: Targets
    ) -> dict[str, Tensor]:
        """The parts of the loss, each a mean over the rows and all columns: input, output, labels and latent."""
        rows = own_rows(rows)
        first = self.first_layer(row_batch(x, rows))
        code = self.code_of_first(first)
        rebuilt = self.last(self.input_outputs(self.decode_input(code), x_targets.columns))
        true_code = self.code_of_labels(row_batch(y, rows))
        rebuilt_labels = torch.sigmoid(self.label_logits(true_code, y_targets.columns))
        answer_code = self.label_code(code)
        logits = self.answer_logits(first, answer_code, y_targets.columns)
        each = functional.binary_cross_entropy_with_logits(logits, y_targets.values, reduction="none")
        return {
            "input": _mean((rebuilt - x_targets.values) ** 2, x_targets.weights),
            "output": _mean((rebuilt_labels - y_targets.values) ** 2, y_targets.weights),
            "labels": _mean(each, y_targets.weights),
            "latent": _mean((answer_code - true_code.detach()) ** 2, torch.ones(answer_code.shape[1])),
        }

    def sparse_parameters(self) -> list[nn.Parameter]:
        """The tables of which a batch changes only some rows."""
        tables: list[nn.Parameter] = []
        if self.sampled_inputs:
            tables += [self.input_table.weight, self.input_outputs.weight]
        if self.sampled_labels:
            tables += [self.output_table.weight, self.label_outputs.weight]
            tables += [] if self.shortcut is None else [self.shortcut.weight]
        return tables

    def dense_parameters(self) -> list[nn.Parameter]:
        """All the other parameters."""
        sparse_ids = {id(parameter) for parameter in self.sparse_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in sparse_ids]

    def stack(self) -> LayerStack:
        """The way from x to the label logits, for answers without torch; the batch norm is multiplied in."""
        first = _folded(self.gain * self.input_table.weight, self.input_bias, self.input_norm)
        weights, biases, kinds = [first[0]], [first[1]], ["relu"]
        for stack, last in ((self.encode_input, "relu"), (self.regressor, "tanh"), (self.decode_output, "relu")):
            for number, layer in enumerate(stack.layers):
                norm = stack.norms[number] if number < len(stack.norms) else None
                weight, bias = _folded(layer.weight.T, layer.bias, norm)
                weights.append(weight)
                biases.append(bias)
                kinds.append("relu" if number + 1 < len(stack.layers) else last)
        wide = self.label_outputs.weight
        last_bias = wide[:, -1]
        if self.shortcut is not None:
            last_bias = last_bias + self.shortcut.weight[:, -1]
        return LayerStack(
            [_array(weight) for weight in (*weights, wide[:, :-1].T)],
            [_array(bias) for bias in (*biases, last_bias)],
            [*kinds, "none"],
            None if self.shortcut is None else _array(self.shortcut.weight[:, :-1].T),
        )


def _mean(each: Tensor, weights: Tensor) -> Tensor:
    # Row by row first: a sum over everything at once is cut by threads, and would round as their number says.
    return (each * weights).sum(dim=1).sum() / (each.shape[0] * weights.sum())


def normed(norm: nn.BatchNorm1d, rows: Tensor) -> Tensor:
    """The rows through a batch norm; the statistics of a single row say nothing, so it gets those gathered so far."""
    share = current_share()
    if (rows.shape[0] if share is None else share.n_rows) > 1 or not norm.training:
        return batch_normed(norm, rows)
    return functional.batch_norm(rows, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)


def _folded(table: Tensor, bias: Tensor, norm: nn.BatchNorm1d | None) -> tuple[Tensor, Tensor]:
    """A layer (inputs, outputs) with the batch norm after it multiplied in."""
    if norm is None or norm.running_mean is None or norm.running_var is None:
        return table, bias
    gain = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    return table * gain, (bias - norm.running_mean) * gain + norm.bias


def _array(tensor: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array(tensor.detach().cpu().numpy(), np.float32, order="C")
