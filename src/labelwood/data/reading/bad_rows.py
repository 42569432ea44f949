"""What to do with a damaged row: stop with file and line, or skip it, count it and say so."""

from __future__ import annotations

from pathlib import Path

from labelwood.errors import DataError, ParamError
from labelwood.wording import Argument, Message

POLICIES = ("error", "skip")
SHOWN = 3


class BadRows:
    """Collects the damaged rows of one file under a policy ('error' or 'skip'); unit: what a row is called there."""

    def __init__(self, path: str | Path, policy: str = "error", unit: str = "line") -> None:
        if policy not in POLICIES:
            raise ParamError(
                Message(Argument("on_bad_row"), f" must be one of {', '.join(POLICIES)}, but is ", repr(policy))
            )
        self.path = str(path)
        self.policy = policy
        self.unit = unit
        self.count = 0
        self.first: list[str] = []
        self.left_out: dict[str, tuple[int, int]] = {}
        self.told: list[str] = []

    def report(self, line: int, message: str) -> None:
        """Take note of one damaged row: raises DataError under 'error', counts under 'skip'."""
        if self.policy == "error":
            said = message.parts if isinstance(message, Message) else (message,)
            raise DataError(Message(f"{self.path}, {self.unit} {line}: ", *said))
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(f"{self.unit} {line}: {message}")

    def tell(self, note: str) -> None:
        """Keep a note on the whole file."""
        self.told.append(note)

    def leave_out(self, what: str, line: int) -> None:
        """Take note of a line that is no row, such as ("blank line", 7); `notes` tells how many there were."""
        count, first = self.left_out.get(what, (0, line))
        self.left_out[what] = (count + 1, first)

    def clear(self) -> None:
        """Forget everything, because the file is read again."""
        self.count = 0
        self.first = []
        self.left_out = {}
        self.told = []

    def notes(self) -> tuple[str, ...]:
        """For Dataset.notes: what was left out because it is no row, and how many damaged rows were skipped."""
        passed = (
            *self.told,
            *(
                f"{self.path}: left out {count} {what}{'s' * (count > 1)} (first: {self.unit} {first})"
                for what, (count, first) in self.left_out.items()
            ),
        )
        if not self.count:
            return passed
        rows = "row" if self.count == 1 else "rows"
        more = ", ..." if self.count > len(self.first) else ""
        return (
            *passed,
            f"{self.path}: skipped {self.count} bad {rows} ({'; '.join(self.first)}{more})",
        )
