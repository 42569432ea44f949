"""Batcher: questions that wait at the same time are answered together, off the event loop, in bounded numbers.

No question waits for company: as long as a thread is free it goes alone, and while all threads work the next batch
gathers. So a lone client sees no delay and a busy service has large batches.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from labelwood.server.meters import Meters
from labelwood.server.problems import Problem
from labelwood.server.served import Answers, ServedModel

# A batch of 32 texts takes about 3 ms; larger ones gain little per text and make others wait.
BATCH_ROWS = 32
# Whole batches lie ready behind those that are worked on: a busy event loop then keeps no thread waiting.
READY_BATCHES = 3
# If the next question in the queue has waited so long, the service cannot keep up, and new ones are refused.
PATIENCE_SECONDS = 0.3
# A refused client hears so after this time: clients that ask again at once would else keep the event loop busy with
# refusals. 640 of them, measured: 68,654 refusals and 1,828 answers in 20 s without it.
REFUSAL_SECONDS = 0.5
TEXTS, FEATURES = "texts", "features"
T = TypeVar("T")


@dataclass(eq=False)
class _Job:
    rows: Sequence[Any]
    answer: asyncio.Future[Answers]
    latest: float


_Key = tuple[ServedModel, str, int]  # what may be asked in one call: model, kind of rows, k


class Batcher:
    """A bounded queue before a few threads; belongs to one event loop."""

    def __init__(self, meters: Meters, *, waiting_rows: int, seconds: float, n_threads: int) -> None:
        self._meters = meters
        self._most_waiting = waiting_rows
        self._seconds = seconds
        self._n_threads = n_threads
        self._threads = ThreadPoolExecutor(n_threads, "answers")
        self._queues: dict[_Key, list[_Job]] = {}
        self._busy = 0
        self.waiting_rows = 0

    async def ask(self, served: ServedModel, kind: str, rows: Sequence[Any], k: int) -> list[Answers]:
        """The k best labels of some rows, in parts; Problem 503 if too many rows wait already."""
        self.check_room(len(rows))
        latest = time.monotonic() + self._seconds
        loop = asyncio.get_running_loop()
        jobs = [
            _Job(rows[start : start + BATCH_ROWS], loop.create_future(), latest)
            for start in range(0, len(rows), BATCH_ROWS)
        ]
        queue = self._queues.setdefault((served, kind, k), [])
        queue.extend(jobs)
        self.waiting_rows += len(rows)
        self._start()
        if len(jobs) == 1:
            return [await jobs[0].answer]
        return list(await asyncio.gather(*(job.answer for job in jobs)))

    async def run(self, work: Callable[[], T], rows: int = 1) -> T:
        """What `work` returns, from one of the threads; it waits behind the batches and counts as some rows."""
        self.check_room(rows)
        self.waiting_rows += rows
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self.waiting_rows -= rows

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def check_room(self, rows: int) -> None:
        """Problem 503 if so many more rows would be too many."""
        # One large request is taken by an idle service, whatever its size: its rows were limited before.
        too_many = self.waiting_rows > 0 and self.waiting_rows + rows > self._most_waiting
        if too_many or self._waited() > PATIENCE_SECONDS:
            self._meters.reject("queue_full")
            detail = f"{self.waiting_rows} rows are waiting already; try again later"
            raise Problem(503, detail, retry_after=1, pause=REFUSAL_SECONDS)

    def _waited(self) -> float:
        """The seconds that the next question has been in the queue; 0.0 if there is none."""
        queue = next(iter(self._queues.values()), None)
        return 0.0 if queue is None else time.monotonic() - (queue[0].latest - self._seconds)

    def _may_start(self) -> bool:
        if self._busy < self._n_threads:
            return True
        waiting = sum(len(job.rows) for job in next(iter(self._queues.values()))[:BATCH_ROWS])
        return waiting >= BATCH_ROWS and self._busy < self._n_threads + READY_BATCHES

    def _start(self) -> None:
        while self._queues and self._may_start():
            key = next(iter(self._queues))
            queue = self._queues.pop(key)
            batch, n_rows, taken = [], 0, 0
            now = time.monotonic()
            for job in queue:
                if n_rows and n_rows + len(job.rows) > BATCH_ROWS:
                    break
                taken += 1
                self.waiting_rows -= len(job.rows)
                if job.latest < now:
                    self._meters.reject("too_late")
                    job.answer.set_exception(Problem(503, "the answer took too long; try again later", retry_after=1))
                    continue
                batch.append(job)
                n_rows += len(job.rows)
            if taken < len(queue):
                self._queues[key] = queue[taken:]  # behind the others: nobody's k keeps the threads
            if batch:
                self._busy += 1
                self._meters.batch(n_rows)
                call = asyncio.get_running_loop().run_in_executor(self._threads, _answers, key, batch)
                call.add_done_callback(lambda done, batch=batch: self._finish(done, batch))  # type: ignore[misc]

    def _finish(self, done: asyncio.Future[list[Answers | Exception]], batch: list[_Job]) -> None:
        self._busy -= 1
        self._start()  # before the answers go out: the thread works while they are written
        failure = done.exception()
        answers: Sequence[Answers | BaseException] = [failure] * len(batch) if failure is not None else done.result()
        for job, answer in zip(batch, answers, strict=True):
            if job.answer.done():  # cancelled
                continue
            if isinstance(answer, BaseException):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(answer)


def _answers(key: _Key, batch: Sequence[_Job]) -> list[Answers | Exception]:
    """The answer of each job; if the batch cannot be answered together, each job gets its own answer or error."""
    try:
        rows = [row for job in batch for row in job.rows]
        answers = _answer(key, rows)
    except Exception as error:
        if len(batch) == 1:
            return [error]
        return [answer for job in batch for answer in _answers(key, [job])]
    if len(batch) == 1:
        return [answers]
    parts: list[Answers | Exception] = []
    start = 0
    for job in batch:
        parts.append(answers[start : start + len(job.rows)])
        start += len(job.rows)
    return parts


def _answer(key: _Key, rows: Sequence[Any]) -> Answers:
    served, kind, k = key
    return served.predict_texts(rows, k) if kind == TEXTS else served.predict_features(rows, k)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
