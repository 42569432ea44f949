"""Where the real data sets are; tests that need an absent one are skipped."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


@pytest.fixture(scope="session")
def data_file():
    """The path of a file (or of the folder itself) of a data set, by the names of both."""

    def path_of(name, part=""):
        path = FOLDER / name / part
        if not path.exists():
            pytest.skip(f"no real data in {path}; set LABELWOOD_DATA")
        return path

    return path_of
