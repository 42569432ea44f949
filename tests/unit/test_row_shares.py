"""Rows of a batch that several processes share: each takes other rows, and what is random is that of one process."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from labelwood.models.neural.ranks import Ranks  # noqa: E402
from labelwood.models.neural.row_shares import (  # noqa: E402
    RowDropout,
    RowShare,
    batch_normed,
    current_share,
    own_rows,
    sharing_rows,
)

pytestmark = pytest.mark.torch


class AllThere:
    """Two processes in one: the sum over both of what is given, where both give the same rows' sums."""

    def __init__(self, wholes):
        self.wholes = iter(wholes)
        self.size, self.rank = 2, 0

    def own(self, n):
        return slice(0, n, 2)

    def summed(self, tensor):
        return next(self.wholes)


@pytest.mark.parametrize(("n_rows", "size"), [(7, 2), (8, 3), (1, 2), (2, 3), (3, 3)])
def test_shares_of_a_batch_add_up_to_its_mean(n_rows, size):
    losses = np.arange(1.0, n_rows + 1)
    mean = 0.0
    n_computed = 0
    for rank in range(size):
        share = RowShare(Ranks(rank, size), n_rows)
        with sharing_rows(share):
            own = own_rows(losses)
        mean += own.mean() * share.weight
        n_computed += len(own)
    assert mean == pytest.approx(losses.mean())
    assert n_computed == RowShare(Ranks(0, size), n_rows).n_computed


def test_outside_of_a_share_all_rows_are_ones_own():
    rows = np.arange(5)
    with sharing_rows(RowShare(Ranks(1, 2), 5)):
        assert own_rows(rows).tolist() == [1, 3]
    assert current_share() is None
    assert own_rows(rows) is rows


def test_dropout_of_shared_rows_is_that_of_one_process():
    dropout, rows = RowDropout(0.4), torch.randn(9, 6)
    torch.manual_seed(3)
    whole = dropout(rows)
    assert (whole == 0).any()
    for rank in range(2):
        share = RowShare(Ranks(rank, 2), 9)
        torch.manual_seed(3)
        with sharing_rows(share):
            torch.testing.assert_close(dropout(rows[share.own]), whole[share.own])
    with sharing_rows(RowShare(Ranks(0, 2), 9)):
        assert dropout.eval()(rows) is rows


def test_a_batch_norm_takes_the_statistics_of_the_whole_batch():
    rows = torch.randn(10, 4)
    alone, shared = torch.nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4)
    whole = batch_normed(alone, rows)
    sums = [rows.sum(dim=0), (rows - rows.mean(dim=0)).square().sum(dim=0)]
    with sharing_rows(RowShare(AllThere(sums), 10)):
        torch.testing.assert_close(batch_normed(shared, rows[::2]), whole[::2])
    torch.testing.assert_close(shared.running_mean, alone.running_mean)
    torch.testing.assert_close(shared.running_var, alone.running_var)
    assert int(shared.num_batches_tracked) == 1
