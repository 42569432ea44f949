"""A saved tagger that a command changes: loaded, changed in memory, and put in the place of the old one at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.tagger.tagger import Tagger


class FolderChangedError(DataError):
    """Someone else saved to the folder meanwhile."""


class Changing:
    """The tagger of a folder, and the way to save it there again unless someone else did so meanwhile."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        from labelwood.loading import load
        from labelwood.storage.load import read_manifest
        from labelwood.tagger.tagger import Tagger

        self.folder = folder
        self.manifest: dict[str, Any] = read_manifest(folder)
        loaded = load(folder)
        if not isinstance(loaded, Tagger):
            raise DataError(f"{folder}: is a model of feature rows; only a tagger learns from texts")
        loaded.n_threads = threads
        self.tagger: Tagger = loaded

    def save(self) -> None:
        """Put the changed tagger in the place of the old one, in one step; what was kept beside it stays."""
        from labelwood.storage.load import read_manifest

        if read_manifest(self.folder)["manifest_sha256"] != self.manifest["manifest_sha256"]:
            raise FolderChangedError(
                f"{self.folder}: another program changed it meanwhile; nothing was saved, run this again"
            )
        self.tagger.save(self.folder, extra=self.manifest["extra"])
