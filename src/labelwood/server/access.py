"""Who may ask: bearer tokens, kept as hashes and compared in constant time, and a rate limit for each client."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from labelwood.errors import DataError

READ, WRITE = "read", "write"
_LINE = re.compile(r"(read|write)\s+sha256:([0-9a-f]{64})")
_MOST_CLIENTS = 10_000  # buckets kept; the client that was silent longest is forgotten first


@dataclass(frozen=True)
class Tokens:
    """The SHA-256 of the tokens for reading and writing; who may write may read. No read token: reading is open."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def allow(self, need: str, authorization: str) -> bool:
        """True if an Authorization header is enough for READ or WRITE."""
        if need == READ and not self.read:
            return True
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return False
        digest = hashlib.sha256(token.strip().encode("utf-8", "surrogateescape")).hexdigest()
        known = self.write if need == WRITE else (*self.read, *self.write)
        equal = [hmac.compare_digest(digest, known_digest) for known_digest in known]  # all: no early end to measure
        return any(equal)


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file with a line `read sha256:HEX` or `write sha256:HEX` for each."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    hashes: dict[str, list[str]] = {READ: [], WRITE: []}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:  # the line is not shown: someone may have written the token itself
            raise DataError(f"{path}, line {number}: expected `read sha256:` or `write sha256:` and 64 hex digits")
        hashes[match[1]].append(match[2])
    return Tokens(tuple(hashes[READ]), tuple(hashes[WRITE]))


class RateLimit:
    """A bucket of requests for each client: it fills at `rate` a second, up to two seconds' worth."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._most = max(1.0, 2 * rate)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client -> (requests left, when)

    def wait(self, client: str, now: float) -> float:
        """0.0 if the client may ask now (and has asked), else the seconds until it may."""
        left, when = self._buckets.pop(client, (self._most, now))
        left = min(self._most, left + (now - when) * self._rate)
        allowed = left >= 1.0
        self._buckets[client] = (left - 1.0 if allowed else left, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / self._rate
