"""AsyncEncoder and AsyncSearcher: the calls of Encoder and Searcher as coroutines."""
import asyncio
import os
import time

from suf import _suf
from suf._core import Owner, whole
from suf._encoder import EncoderMethods
from suf._search import SearcherMethods


class AsyncOwner(Owner):
    """The calls of an Owner in an event loop, with the rules of AsyncEncoder."""

    def __init__(self, *args, **options):
        """As the class without Async. Blocks while it opens; `await AsyncEncoder.open(..)` does not."""
        super().__init__(*args, **options)
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._ended = _suf.EndedCalls(self._event)
        self._loop, self._futures, self._count = None, {}, 0

    @classmethod
    async def open(cls, *args, **options):
        """Opens an object without blocking the loop."""
        return await asyncio.to_thread(cls, *args, **options)

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, *_):
        await self.close(kind is not None)

    async def close(self, at_once=False):  # type: ignore[override]
        """As Owner.close."""
        await asyncio.to_thread(self._shut, at_once)

    def _shut(self, at_once=False):
        super()._shut(at_once)  # all calls have ended then
        event, self._event = getattr(self, '_event', None), None
        if event is not None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._forget, self._loop, event)
            else:
                os.close(event)

    def _forget(self, loop, event):
        loop.remove_reader(event)
        os.close(event)
        self._wake_calls()

    def _wake(self):
        """Called by the loop when a call has ended."""
        try:
            os.eventfd_read(self._event)
        except BlockingIOError:
            pass
        self._wake_calls()

    def _wake_calls(self):
        for number in self._ended.take():
            future = self._futures.pop(number, None)
            if future is not None and not future.done():
                future.set_result(None)

    def _begin(self, ids, batch=1, resume=None, priority=0):
        """Submits texts. Returns the call, and a future of the loop that is done when all texts have ended."""
        batch = whole('batch_size', batch, 1, 64)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(self._event)
            self._loop = loop
            loop.add_reader(self._event, self._wake)
        self._count += 1
        number, future = self._count, loop.create_future()
        self._futures[number] = future
        try:
            return self._open().submit(ids, priority, batch, '' if resume is None else os.fspath(resume), self._ended, number), future
        except BaseException:
            del self._futures[number]
            raise

    async def _submit(self, ids, batch=1, resume=None, priority=0):
        begun = time.monotonic()
        path = await asyncio.to_thread(self._settle, resume) if resume is not None else None
        call, future = self._begin(ids, batch, resume, priority)
        try:
            await future
        except asyncio.CancelledError:
            call.cancel()
            if path:
                self._ending[path] = call
            raise
        return self._finish(call, len(ids), begun)


class AsyncEncoder(EncoderMethods, AsyncOwner):
    """Embeds texts in an event loop. A coroutine that is cancelled takes its texts back: those that have not begun cost
    nothing. One object serves one loop at a time; it needs no thread of Python."""

    async def encode(self, inputs, prompt_name=None, prompt=None, batch_size=1, output_value='sentence_embedding', precision='float32',
                     convert_to_numpy=True, convert_to_tensor=False, device=None, normalize_embeddings=False, truncate_dim=None, pool=None,
                     chunk_size=None, resume=None, priority=0, **others):
        """As Encoder.encode. Texts of a higher priority run first."""
        ids, one = self._prepare(inputs, prompt_name, prompt, precision, output_value, convert_to_numpy, convert_to_tensor, device,
                                 truncate_dim, pool, chunk_size, others)
        results = await self._submit(ids, batch_size, resume, priority)
        return self._convert(results, one, normalize_embeddings, truncate_dim, convert_to_numpy, convert_to_tensor)


class AsyncSearcher(SearcherMethods, AsyncOwner):
    """Searches texts in an event loop, with the rules of AsyncEncoder."""

    async def search(self, texts, prompt_name=None, prompt=None, truncate=False, priority=0):
        """As Searcher.search. Texts of a higher priority run first."""
        ids, one = self._prepare(texts, prompt_name, prompt, truncate)
        return self._hits(await self._submit(ids, priority=priority), one)
