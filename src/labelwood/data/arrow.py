"""pyarrow is optional: it is imported only when a Parquet or .zst file is opened, and asked for by name if missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from labelwood.errors import MissingExtraError


def require_pyarrow(path: str | Path, what: str) -> None:
    """Refuse with a MissingExtraError that names file and extra if pyarrow is not there; what: "Parquet", ".zst"."""
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError(
            f'{path}: {what} files need pyarrow, which is not installed: pip install "labelwood[parquet]"'
        )
