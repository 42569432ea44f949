"""What to do with a damaged row: stop with file and line, or skip it, count it and say so."""

from __future__ import annotations

from pathlib import Path

from labelwood.errors import DataError, ParamError

POLICIES = ("error", "skip")
SHOWN = 3


class BadRows:
    """Collects the damaged rows of one file under a policy ('error' or 'skip')."""

    def __init__(self, path: str | Path, policy: str = "error") -> None:
        if policy not in POLICIES:
            raise ParamError(f"on_bad_row must be one of {', '.join(POLICIES)}, but is {policy!r}")
        self.path = str(path)
        self.policy = policy
        self.count = 0
        self.first: list[str] = []

    def report(self, line: int, message: str) -> None:
        """Take note of one damaged row: raises DataError under 'error', counts under 'skip'."""
        if self.policy == "error":
            raise DataError(f"{self.path}, line {line}: {message}")
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(f"line {line}: {message}")

    def clear(self) -> None:
        """Forget everything, because the file is read again."""
        self.count = 0
        self.first = []

    def notes(self) -> tuple[str, ...]:
        """One line for Dataset.notes when rows were skipped, else nothing."""
        if not self.count:
            return ()
        rows = "row" if self.count == 1 else "rows"
        more = ", ..." if self.count > len(self.first) else ""
        return (f"{self.path}: skipped {self.count} bad {rows} ({'; '.join(self.first)}{more})",)
