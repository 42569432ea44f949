"""Client: the Tagger's methods, answered by a service that `labelwood serve` runs."""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
from scipy import sparse

from labelwood.calibration.rule import asked_threshold
from labelwood.errors import DataError, LabelwoodError, ParamError
from labelwood.metrics.evaluate import evaluate
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.tagger.reasons import TagReason, Voter
from labelwood.topk import TopK

ROWS_AT_ONCE = 256
_LONGEST_WAIT = 30.0  # seconds, whatever a service asks for


class ServiceError(LabelwoodError):
    """The service cannot be reached, refuses the client, or fails."""


class _Kept:
    """A connection that is closed when nobody holds it any more: its thread or its client has gone."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class Client:
    """Labels texts through a service, such as Client("http://127.0.0.1:8000").

    token: for services that want one. model: the name of one of its models; the first if None. timeout: seconds for one
    answer. retries: how often a request is sent again after a broken connection or a 429 or 503, with pauses that grow.
    A client may be shared by threads (each has a connection of its own) and pickled.
    """

    def __init__(
        self, url: str, *, token: str | None = None, model: str | None = None, timeout: float = 30.0, retries: int = 3
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParamError(f"url must be like http://127.0.0.1:8000, but is {url!r}")
        if not timeout > 0 or retries < 0:
            raise ParamError(f"timeout must be above 0 and retries 0 or more, but are {timeout!r} and {retries!r}")
        self.url = url.rstrip("/")
        self.token = token
        self.model = model
        self.timeout = timeout
        self.retries = retries
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _local=threading.local())

    def close(self) -> None:
        """Close this thread's connection; the next question opens a new one."""
        if hasattr(self._local, "kept"):
            del self._local.kept

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # the Tagger's methods

    def predict(
        self,
        texts: Iterable[str],
        k: int | None = None,
        *,
        assign: bool | str = False,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> list[list[tuple[str, float]]]:
        """The k best labels of each text as (name, score), best first; k: 5 if it is not given.

        assign: the labels that the tagger's rule gives, at most k, as (name, probability); with "threshold=0.5" those
        that are at least so probable. include, exclude: labels, or "below:ID" and "scheme:ID" of the tagger's
        vocabulary.
        """
        value, threshold = "probability" if assign else "score", asked_threshold(assign)
        rows = self._rows(
            texts, k, assign=bool(assign), threshold=threshold, allow=list(include) or None, deny=list(exclude) or None
        )
        return [[(label["name"], label[value]) for label in row] for row in rows]

    def explain(self, text: str, label: str) -> TagReason:
        """Why one text gets a label: its words and how much each pushes for (+) or against (-) it."""
        if not isinstance(text, str):
            raise DataError(f"explain takes one text, but got {text!r}")
        why = self._ask("POST", "/v1/explain", self._named({"text": text, "label": label, "words": 1000}))
        words = tuple((word["word"], word["push"]) for word in why["words"])
        voters = tuple(Voter(voter["row"], voter["text"], voter["push"]) for voter in why["rows"])
        nodes = tuple(NodeScore(node["node"], node["margin"], node["log_score"]) for node in why["path"])
        sides = tuple((side["word"], side["push"]) for side in why["sides"])
        pushes = [push for _, push in words] + [voter.push for voter in voters]
        contributions = [Contribution(0, number, math.nan, math.nan, push) for number, push in enumerate(pushes)]
        contributions.append(Contribution(0, -1, 1.0, why["rest"], why["rest"]))
        contributions += [Contribution(0, -1, 1.0, push, push, side=side) for side, push in sides]
        explanation = Explanation(why["label"], why["score"], nodes, tuple(contributions))
        return TagReason(why["name"], why["score"], words, voters, why["rest"], explanation, sides)

    def evaluate(
        self, texts: Iterable[str], labels: Sequence[Sequence[str]], *, ks: Sequence[int] = (1, 3, 5)
    ) -> dict[str, float]:
        """The metrics of the service's answers to texts whose labels are known: name -> per cent.

        Metrics with propensities need the training labels and are left out.
        """
        rows = self._rows(texts, max(ks))
        if len(rows) != len(labels):
            raise DataError(f"there are {len(rows)} texts but {len(labels)} lists of labels")
        # Names that the service gave keep their numbers; the others are numbers behind them, which no answer hits.
        numbers: dict[str, int] = {}
        for row in rows:
            for label in row:
                numbers.setdefault(label["name"], len(numbers))
        top = TopK.from_lists([[(numbers[one["name"]], one["score"]) for one in row] for row in rows], max(ks))
        columns = [[numbers.setdefault(name, len(numbers)) for name in sorted(set(names))] for names in labels]
        indptr = np.cumsum([0, *map(len, columns)])
        indices = np.array([column for row in columns for column in row], np.int32)
        y = sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), len(numbers)))
        y.sort_indices()
        return evaluate(top, y, ks=ks)

    def learn(self, texts: Sequence[str], labels: Sequence[Sequence[str]]) -> list[str]:
        """The labels among the corrections that the model does not know yet; the service has kept all corrections.

        They change its answers once `labelwood learn` has applied them. Needs a token for writing.
        """
        body = self._named({"texts": list(texts), "labels": [list(names) for names in labels]})
        unknown: list[str] = self._ask("POST", "/v1/learn", body, repeat_broken=False)["unknown_labels"]
        return unknown

    def change_labels(self, action: str, *names: str, text: str | None = None) -> str:
        """What was done, for people: "add" names, "rename" or "merge" one into another, "retire" or "forbid" names.

        The service answers with the change at once. It must allow changes; needs a token for writing.
        """
        body = self._named({"action": action, "names": list(names), "text": text})
        message: str = self._ask("POST", "/v1/labels", body, repeat_broken=False)["message"]
        return message

    # more of the service

    def find_labels(self, question: str, limit: int = 20) -> list[str]:
        """The names of labels that begin with the question, or have a word that does."""
        fields: dict[str, Any] = self._named({"q": question, "limit": limit})
        answer = self._ask("GET", f"/v1/labels?{urlencode(fields, quote_via=quote)}")
        return [label["name"] for label in answer["labels"]]

    def info(self) -> dict[str, Any]:
        """What the model of the service is: its name, kind, labels, version and so on."""
        fields = urlencode(self._named({}), quote_via=quote)
        answer: dict[str, Any] = self._ask("GET", f"/v1/model?{fields}")
        return answer

    # asking

    def _named(self, body: dict[str, Any]) -> dict[str, Any]:
        return body if self.model is None else {**body, "model": self.model}

    def _rows(self, texts: Iterable[str], k: int | None, **conditions: Any) -> list[list[dict[str, Any]]]:
        if isinstance(texts, (str, bytes)):
            raise DataError("texts must be a list of texts, but one string came; write [text]")
        asked = list(texts)
        rows: list[list[dict[str, Any]]] = []
        for start in range(0, len(asked), ROWS_AT_ONCE):
            body = self._named({"texts": asked[start : start + ROWS_AT_ONCE], "k": k, **conditions})
            rows += [row["labels"] for row in self._ask("POST", "/v1/predict", body)["results"]]
        return rows

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None, *, repeat_broken: bool = True) -> Any:
        """The JSON of an answer. repeat_broken: whether a request that may have been done is sent again."""
        try:
            raw = None if body is None else json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            raise DataError(f"this cannot be sent as JSON: {error}") from None
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            pause = 0.1 * 2**attempt
            try:
                status, headers, answer = self._exchange(method, path, raw)
            except ConnectionRefusedError as error:
                self.close()
                if last:
                    raise ServiceError(f"{self.url}: cannot be reached ({error.strerror})") from None
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last or not repeat_broken:
                    raise ServiceError(f"{self.url}: the connection broke ({error or type(error).__name__})") from None
            else:
                if status < 300:
                    return self._parsed(answer)
                if status not in (429, 503) or last:
                    raise _refusal(self.url, status, answer)
                pause = max(pause, _seconds(headers.get("Retry-After")))
            time.sleep(min(pause, _LONGEST_WAIT))
        raise ServiceError(f"{self.url}: no answer")

    def _exchange(self, method: str, path: str, raw: bytes | None) -> tuple[int, http.client.HTTPMessage, bytes]:
        parts = urlsplit(self.url)
        if not hasattr(self._local, "kept"):
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            self._local.kept = _Kept(kind(parts.hostname or "", parts.port, timeout=self.timeout))
        connection: http.client.HTTPConnection = self._local.kept.connection
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, parts.path + path, raw, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except ValueError as error:  # a token with a line break and the like
            raise ParamError(f"the request cannot be written: {error}") from None

    def _parsed(self, answer: bytes) -> Any:
        try:
            return json.loads(answer)
        except ValueError:
            raise ServiceError(f"{self.url}: the answer is not JSON; is this a labelwood service?") from None


def _refusal(url: str, status: int, answer: bytes) -> LabelwoodError:
    try:
        detail = str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = "no reason given"
    wrong_data = status in (400, 413, 422)
    return DataError(f"{url}: {detail}") if wrong_data else ServiceError(f"{url}: {status}, {detail}")


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isascii() and text.isdigit() else 0.0
