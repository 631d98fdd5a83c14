"""The common part of encoders, classifiers and rerankers: the process of a data owner, its calls and their results."""
import contextvars
import dataclasses
import math
import operator
import os
import sys
import time
import weakref

import numpy as np

from suf import _suf
from suf._errors import Error, InputError

POLL = 0.1  # seconds between two checks of Python's signals


@dataclasses.dataclass(frozen=True)
class LastCall:
    """The facts about a call. Lists have an entry for each text, in the order of the inputs."""

    plan: str  # hash
    weights: str  # id of the model owner's weights
    serials: list[int]
    integers: list[np.ndarray]  # (d,) int64 each, equal to those of `suf simulate`
    scales: list[int]  # a value v means v / 2**scale; empty for searches
    flights: list[int | None]  # None: of an earlier run (resume=)
    bytes: dict[str, int]  # sent by p0 and p1, p1_offline, setup
    ms: float  # of the call
    receipts: list[str]  # lines of JSON, for suf receipt check


def to_bytes(text, where):
    """Returns a text as UTF-8."""
    if not isinstance(text, str):
        raise InputError(f'{where} is of type {type(text).__name__}; give a str')
    try:
        return text.encode()
    except UnicodeEncodeError as x:
        raise InputError(f'{where} is no valid text: the character {x.start + 1} is half of a surrogate pair; remove it') from None


def check_choice(name, value, allowed):
    """Refuses a value of an option that is not provided."""
    if value not in allowed:
        raise ValueError(f'{name}={value!r} is not provided; use {" or ".join(map(repr, allowed))}')


def whole(name, value, least, most):
    """Returns a whole number within its limits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f'{name}={value!r} is no whole number; give one from {least} to {most}') from None
    if not least <= number <= most or isinstance(value, bool):
        raise InputError(f'{name}={value!r} is not possible; give a whole number from {least} to {most}')
    return number


def seconds(name, value, least=0.0):
    """Returns a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise InputError(f'{name}={value!r} is not possible; give seconds, at least {least:g}')
    return float(value)


def as_list(inputs, what='inputs'):
    """Returns the texts of a call as a list."""
    if inputs is None or isinstance(inputs, (bytes, bytearray, dict)) or hasattr(inputs, 'columns'):
        raise InputError(f'{what} are of type {type(inputs).__name__}; give a str or a list of str')
    try:
        return list(inputs)
    except TypeError:
        raise InputError(f'{what} are of type {type(inputs).__name__}; give a str or a list of str') from None


class Bar:
    """A line of progress on stderr."""

    def __init__(self, shown, count):
        self.shown, self.count, self.begun, self.last = shown and sys.stderr is not None, count, time.monotonic(), None

    def at(self, done):
        if not self.shown or done == self.last:
            return
        self.last, seconds = done, time.monotonic() - self.begun
        rest = f', about {(self.count - done) * seconds / done:.0f} s left' if done and done < self.count else ''
        sys.stderr.write(f'\r{done} of {self.count} texts, {seconds:.0f} s{rest}\033[K')
        sys.stderr.flush()

    def end(self):
        if self.shown and self.last is not None:
            sys.stderr.write('\n')


def flag(name, value):
    """Returns a bool."""
    if not isinstance(value, bool):
        raise InputError(f'{name}={value!r} is not possible; give True or False')
    return value


def path(name, value, needed=False):
    """Returns a path as text; an empty one for None."""
    if value is None and not needed:
        return ''
    try:
        text = os.fspath(value)
    except TypeError:
        text = ''
    if not isinstance(text, str) or not text:
        raise InputError(f'{name}={value!r} is no path; give a str or a Path')
    return text


def settings_of(connect, dealer, certs, store, *, plan=None, vocab=None, table=None, expect=None, pins=(), variant='auto',
                backend='auto', kernels=None, parallel=2, streams=1, memory=None, timeout=60, retry=60, receipts=False):
    def listed(name, value):
        rows = [value] if isinstance(value, str) else list(value) if isinstance(value, (list, tuple)) else []
        if not rows or not all(isinstance(r, str) and r for r in rows):
            raise InputError(f'{name}={value!r} is no address; give "HOST:PORT", or a list of these')
        return rows

    def word(name, value):
        if not isinstance(value, str):
            raise InputError(f'{name}={value!r} is no str; give one, or leave it out')
        return value
    if expect is not None and not expect:
        raise InputError('expect is empty; give the 64 hex digits of the plan, or leave it out')
    return {'connect': ','.join(listed('connect', connect)), 'dealer': ','.join(listed('dealer', dealer)),
            'certs': path('certs', certs, True), 'store': path('store', store, True), 'plan': path('plan', plan),
            'vocabulary': path('vocab', vocab), 'table': path('table', table), 'index_plan': '',
            'expect': word('expect', expect) if expect is not None else '', 'pins': listed('pins', pins) if pins else [],
            'variant': word('variant', variant), 'backend': word('backend', backend),
            'kernels': word('kernels', kernels) if kernels is not None else '', 'parallel': whole('parallel', parallel, 1, 64),
            'streams': whole('streams', streams, 1, 16), 'memory': 0 if memory is None else whole('memory', memory, 1, 1 << 30),
            'timeout': seconds('timeout', timeout, 0.001), 'retry': seconds('retry', retry), 'receipts': flag('receipts', receipts),
            'search': False, 'fetch': False}


def opened(settings):
    """Opens a core. Ctrl-C ends that."""
    opening = _suf.open(**settings)
    while not opening.wait(POLL):
        pass  # Python takes its signals here
    return opening.take()


class Owner:
    """A data owner: one store, one model owner, sessions that stay open between calls. Safe from several threads. A
    `with` closes it; so does the end of the program."""

    ENDING: str | None = None  # 'embedding' or 'scores'

    def __init__(self, connect, dealer, certs, store, **options):
        """Opens the store and the plan. Nothing is sent before the first text, unless plan and tokenizer are pulled.

        * connect: "HOST:PORT" of the model owner, or a list of its processes.
        * dealer: "HOST:PORT", or a list of dealers; `pins` then has the key of each.
        * certs: folder of this data owner's certificate.
        * store: folder of keys and ledgers, for this object alone.
        * plan, vocab: files. Without them, both are pulled once from the model owner into the store.
        * expect: hash of the plan. A pulled tokenizer that nobody has published needs it.
        * parallel: texts that run side by side, each in a lane.
        * retry: seconds for which a broken peer is dialled again.
        * memory: MB of everything that runs side by side. The default is three quarters of the machine's.
        * receipts: True requests a receipt for each text, and for each fetch (`last.receipts`).

        Raises InputError, PeerError, RefusedError, ResourceError."""
        self._core = None
        self._ending = {}  # calls that were interrupted, by their resume file
        self._last = contextvars.ContextVar('last', default=None)
        self._core = opened(self._settings(connect, dealer, certs, store, **options))
        self._finalizer = weakref.finalize(self, self._core.close, True)  # also when the program ends
        self._about = self._core.about()
        if self.ENDING and (self._about['scores'] != (self.ENDING == 'scores')):
            self._shut()
            kind = 'scores of a classifier or reranker' if self._about['scores'] else 'embeddings'
            raise InputError(f"the plan gives {kind}, which {type(self).__name__} does not return; use "
                             f"{'Classifier or CrossEncoder' if self._about['scores'] else 'Encoder'}")

    def _settings(self, *args, **options):
        """Returns the arguments of _suf.open."""
        return settings_of(*args, **options)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(at_once=kind is not None)

    def close(self, at_once=False):
        """Ends the sessions. Running texts end first; with at_once their keys are burnt instead."""
        self._shut(at_once)

    def _shut(self, at_once=False):
        core, self._core = self._core, None
        if core is not None:
            self._finalizer.detach()
            core.close(at_once)

    @property
    def last(self):
        """The facts about the last call of this thread or task (LastCall); None before one."""
        return self._last.get()

    @property
    def plan(self):
        """The hash of the plan."""
        return self._about['plan']

    def notices(self):
        """Returns messages about faults that were overcome, each once."""
        return self._open().notices()

    def _weights(self):
        return self._core.weights() if self._core else ''

    def _open(self):
        core = self._core
        if core is None:
            raise InputError('this object is closed; make a new one')
        return core

    def _limit(self):
        longest = self._about['longest']
        return min(self._about['max_tokens'], longest) if longest else self._about['max_tokens']

    def _ids(self, texts, prompt=b'', limit=None, cut=True):
        """Tokenizes [(first, second or None)] of UTF-8. Without `cut`, a text over the limit is an error."""
        return self._open().tokenize(texts, prompt, limit or self._limit(), cut)

    def _settle(self, resume):
        """Waits for the running texts of a call with the same file that was interrupted."""
        path = None if resume is None else os.path.abspath(os.fspath(resume))
        call = self._ending.get(path)
        while call is not None and not call.wait(POLL):
            pass
        if call is not None:
            self._ending.pop(path, None)
            call.results(0)  # closes the file
        return path

    def _run(self, ids, batch=1, resume=None, progress=False, priority=0):
        """Runs texts. Returns [(values, facts)]. Raises the error of the first text that failed; it has all results."""
        begun, batch = time.monotonic(), whole('batch_size', batch, 1, 64)
        path = self._settle(resume)
        call = self._open().submit(ids, priority, batch, '' if resume is None else os.fspath(resume))
        bar = Bar(progress, len(ids))
        try:
            while not call.wait(POLL):
                bar.at(call.ended())
        except BaseException:  # Ctrl-C: running texts end without us
            call.cancel()
            if path:
                self._ending[path] = call
            raise
        finally:
            bar.at(call.ended())
            bar.end()
        return self._finish(call, len(ids), begun)

    def _finish(self, call, count, begun):
        results = call.results(count)
        good = [r for r in results if isinstance(r, tuple)]
        facts = [f for _, f in good]
        total = {name: sum(f['bytes'][name] // f['texts'] for f in facts if 'bytes' in f) for name in ('p0', 'p1', 'p1_offline', 'setup')}
        self._last.set(LastCall(
            plan=self.plan, weights=self._weights(), serials=[f['serial'] for f in facts], integers=[f['y'] for f in facts],
            scales=[f['f'] for f in facts if 'f' in f], flights=[f.get('flights') for f in facts], bytes=total,
            ms=(time.monotonic() - begun) * 1e3, receipts=[r for f in facts for r in f.get('receipts', ())]))
        failed = {}
        for i, r in enumerate(results):
            if r is None:
                failed[i] = InputError('this text was taken back; it has no result')
            elif isinstance(r, Error):
                failed[i] = r
            elif self._about['unit'] and not r[0].any():
                failed[i] = InputError('the pooled vector of this text is zero, so it has no direction and no embedding; change the text')
                failed[i].own = True
        if failed:
            first = min(failed)
            error = failed[first]
            if count > 1:
                error = type(error)(f'{len(failed)} of {count} texts failed; text {first + 1}: {error}')
                error.refusal, error.retry_after, error.own = failed[first].refusal, failed[first].retry_after, failed[first].own
            error.failed = failed
            error.results = [None if i in failed else r[0] for i, r in enumerate(results)]
            raise error
        return results


class PromptedOwner(Owner):
    """An Owner whose texts stand behind a prompt of the plan."""

    @property
    def prompts(self):
        """The prompts of the plan, {name: text}."""
        return dict(self._about['prompts'])

    @property
    def default_prompt_name(self):
        """The prompt that stands before each text unless a call names another one; None if there is none."""
        return self._about['default_prompt'] or None

    def _prompt(self, prompt_name, prompt):
        if prompt is not None:
            return to_bytes(prompt, 'the prompt')
        name = prompt_name if prompt_name is not None else self.default_prompt_name
        if name is None:
            return b''
        if name not in self._about['prompts']:
            raise ValueError(f"prompt_name={name!r} is none of the plan's prompts: {sorted(self._about['prompts']) or 'it has none'}")
        return to_bytes(self._about['prompts'][name], 'the prompt')

    def _texts(self, inputs, prompt_name, prompt, limit=None, cut=True):
        """Tokenizes the texts of a call behind their prompt. Returns (ids, whether one text was given)."""
        one = isinstance(inputs, str)
        texts = [inputs] if one else as_list(inputs)
        start = self._prompt(prompt_name, prompt)
        rows = [(to_bytes(t, f'text {i + 1}' if not one else 'the text'), None) for i, t in enumerate(texts)]
        return self._ids(rows, start, limit, cut), one
