"""Pairs of scipy sparse matrices: X.trn.npz and Y.trn.npz, as PECOS and others write them."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.reading.companions import feature_names_beside, filter_pairs_beside, label_names_beside
from labelwood.data.reading.declared_size import check_declared
from labelwood.errors import DataError
from labelwood.matrices import as_features, as_labels

_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}  # of each format that scipy.sparse.save_npz writes and that is read here
NAME = re.compile(r"^(?P<side>[XY])(?P<part>(?:[._-].+)?)\.npz$")


def npz_pair(path: str | Path) -> tuple[Path, Path] | None:
    """The pair (features, labels) that X.trn.npz, Y.npz or X_train.npz belongs to; None for other names.

    DataError if the partner is missing.
    """
    path = Path(path)
    match = NAME.match(path.name)
    if match is None:
        return None
    partner = path.with_name(f"{'Y' if match['side'] == 'X' else 'X'}{match['part']}.npz")
    if not partner.is_file():
        what = "labels" if match["side"] == "X" else "features"
        raise DataError(f"{path}: the file with its {what}, {partner}, is not there")
    return (path, partner) if match["side"] == "X" else (partner, path)


def read_npz(path: str | Path) -> Dataset:
    """The Dataset of a pair of npz files, found from either name."""
    pair = npz_pair(path)
    if pair is None:
        raise DataError(f"{path}: npz pairs must be named like X.trn.npz and Y.trn.npz, or X.npz and Y.npz")
    x = as_features(load_matrix(pair[0]), str(pair[0]))
    y = as_labels(load_matrix(pair[1]), str(pair[1]))
    if x.shape[0] != y.shape[0]:
        raise DataError(f"{pair[0]} has {x.shape[0]} rows, but {pair[1]} has {y.shape[0]}")
    label_names, label_notes = label_names_beside(pair[0], y.shape[1])
    feature_names, feature_notes = feature_names_beside(pair[0], x.shape[1])
    return Dataset(
        x,
        y,
        label_names=label_names,
        feature_names=feature_names,
        filter_pairs=filter_pairs_beside(pair[0], y.shape),
        source=str(pair[0]),
        notes=(*label_notes, *feature_notes),
    )


def load_matrix(path: Path) -> sparse.csr_matrix:
    """The checked CSR matrix of one file that scipy.sparse.save_npz wrote; nothing in it is unpickled."""
    try:
        # Opened here, because np.load leaves a damaged file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            kind = arrays["format"].item()
            kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
            if kind not in _PARTS:
                raise DataError(f"{path}: holds a matrix of format {kind!r}; csr, csc and coo are read")
            shape = tuple(int(size) for size in arrays["shape"].ravel())
            if len(shape) != 2 or min(shape) < 0:
                raise DataError(f"{path}: has shape {shape}; expected (rows, columns)")
            parts = [arrays[name] for name in _PARTS[kind]]
            if parts[0].dtype.kind not in "biuf":
                raise DataError(f"{path}: holds {parts[0].dtype} values; expected real numbers")
            n_bytes = sum(part.nbytes for part in parts)
            for size, what in zip(shape, ("rows", "columns"), strict=True):
                check_declared(size, what, n_bytes, str(path))
            if kind == "coo":
                matrix = sparse.coo_matrix((parts[0], (parts[1], parts[2])), shape=shape)
            else:
                make = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
                matrix = make(tuple(parts), shape=shape)
                matrix.check_format(full_check=True)
            return matrix.tocsr()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except KeyError as error:
        raise DataError(f"{path}: is no scipy sparse matrix: {str(error).strip(chr(34))}") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError) as error:
        raise DataError(f"{path}: damaged npz file ({error})") from None
    except DataError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError, MemoryError, OSError) as error:
        raise DataError(f"{path}: is no readable scipy sparse matrix ({error})") from None
