"""The texts of all requests: results are kept for a while, and identical texts in flight run once. So a client that
repeats its request never costs a second bundle."""
import asyncio
import collections
import dataclasses
import hashlib
import hmac
import os
import time

import numpy as np

from suf._errors import Error


@dataclasses.dataclass(frozen=True)
class Result:
    """A text's embedding with its facts, or an error of its own."""

    values: np.ndarray | None
    tokens: int
    serial: int = 0
    bytes: int = 0
    error: Error | None = None


class Job:
    """A text in flight. `waiting` requests want it; at zero it is taken back, unless it runs."""

    def __init__(self):
        self.waiting, self.future, self.task = 0, asyncio.get_running_loop().create_future(), None


class QueueFull(Exception):
    """The texts of a request are more than the queue takes now."""


class Texts:
    """`encoder` is an AsyncEncoder. Results stay for `keep` seconds, within `keep_bytes`. At most `most` texts wait."""

    def __init__(self, encoder, keep, keep_bytes, most, metrics):
        self.encoder, self.keep, self.keep_bytes, self.most, self.metrics = encoder, keep, keep_bytes, most, metrics
        self.key = os.urandom(32)
        self.kept, self.size = collections.OrderedDict(), 0  # (result, end) by key, the oldest first
        self.jobs = {}  # by key
        self.weights = ''  # of the kept results
        self.pace, self.last = 0.0, 0.0  # seconds between the ends of two texts, and the time of the last end
        self.closed = False

    def key_of(self, prompt, text):
        """A keyed hash of everything that decides a result, but the weights; no text stays in memory for its sake."""
        parts = (self.encoder.plan.encode(), prompt, text)
        return hmac.new(self.key, b''.join(len(p).to_bytes(8, 'little') + p for p in parts), hashlib.sha256).digest()

    def wait_s(self):
        """Returns the seconds that the queue will take, by the pace of the last texts; 0 if none has run."""
        return len(self.jobs) * self.pace

    def find(self, key):
        """Returns a kept result, or None. Results of other weights go."""
        if (weights := self.encoder._weights()) != self.weights:
            if self.weights:
                self.kept.clear()
                self.size = 0
            self.weights = weights
        now = time.monotonic()
        while self.kept and next(iter(self.kept.values()))[1] < now:
            self._drop(next(iter(self.kept)))
        return self.kept[key][0] if key in self.kept else None

    def _drop(self, key):
        result, _ = self.kept.pop(key)
        self.size -= self._bytes(result)

    @staticmethod
    def _bytes(result):
        return 512 + (result.values.nbytes if result.values is not None else 0)

    def _keep(self, key, result):
        if not self.keep:
            return
        if key in self.kept:
            self._drop(key)
        self.kept[key] = result, time.monotonic() + self.keep
        self.size += self._bytes(result)
        while self.size > self.keep_bytes and self.kept:
            self._drop(next(iter(self.kept)))

    async def run(self, rows, prompt, priority):
        """Returns a Result for each (UTF-8, ids). Raises Error if a text could not run, QueueFull."""
        keys = [self.key_of(prompt, text) for text, _ in rows]
        found = {key: self.find(key) for key in keys}
        fresh = {key for key in keys if found[key] is None and key not in self.jobs}
        if len(self.jobs) + len(fresh) > self.most:
            raise QueueFull
        mine = {}
        try:
            for key, (_, ids) in zip(keys, rows):
                if found[key] is not None or key in mine:
                    continue
                job = self.jobs.get(key)
                if job is None:
                    job = self.jobs[key] = Job()
                    job.task = asyncio.create_task(self._one(key, job, ids, priority))
                job.waiting += 1
                mine[key] = job
            for key, job in mine.items():
                found[key] = await asyncio.shield(job.future)
        finally:
            for key, job in mine.items():
                job.waiting -= 1
                if not job.waiting and not job.future.done():
                    job.task.cancel()
        self.metrics.texts(len(rows), len(rows) - len(mine))
        return [found[key] for key in keys]

    async def _one(self, key, job, ids, priority):
        """Runs one text. If it is cancelled, it is taken back; one that runs already ends, and its result is kept."""
        begun = time.monotonic()
        try:
            call, ended = self.encoder._begin([ids], priority=priority)
            while not ended.done():
                try:
                    await asyncio.shield(ended)
                except asyncio.CancelledError:
                    if job.waiting and not self.closed:  # another request has joined
                        continue
                    if call.cancel():  # 0: it runs, or has ended and the loop does not know yet
                        raise
            result = self._result(call, ids, begun)
        except asyncio.CancelledError:
            job.future.cancel()
            raise
        except BaseException as x:
            job.future.set_exception(x)
            job.future.exception()  # perhaps nobody waits any more
        else:
            self._keep(key, result)
            job.future.set_result(result)
            now = time.monotonic()
            if len(self.jobs) > 1:
                took = now - max(self.last, begun)
                self.pace = 0.8 * self.pace + 0.2 * took if self.pace else took
            self.last = now
        finally:
            if self.jobs.get(key) is job:
                del self.jobs[key]

    def _result(self, call, ids, begun):
        """Returns the result of a call that has ended. A text's own error is one, which a retry must not repeat."""
        try:
            (values, facts), = self.encoder._finish(call, 1, begun)
        except Error as x:
            if x.own:
                return Result(None, len(ids), error=x)
            raise
        sent = facts.get('bytes', {})
        return Result(values, len(ids), facts['serial'], sum(sent.get(n, 0) for n in ('p0', 'p1', 'p1_offline')) // facts['texts'])

    def drain(self):
        """Takes back all texts that have not begun."""
        self.closed = True
        for job in list(self.jobs.values()):
            job.task.cancel()
