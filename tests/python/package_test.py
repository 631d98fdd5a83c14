#!/usr/bin/env python3
"""Runs the Python package against real processes of dealer and model owner. Results equal the simulator's integers, in
the order of the inputs. Wrong values, a closed object and a fork get an error and spend nothing. Ctrl-C and an
interpreter that ends are in time.

  package_test.py SUF PACKAGES [PATTERN]     PACKAGES: the folder with suf/; about a minute. PATTERN picks cases
"""
import asyncio
import concurrent.futures
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, sys.argv[2])
import numpy as np  # noqa: E402
import suf  # noqa: E402
from roles import AMPLE, Base, HeldRuns, World  # noqa: E402

CASES = []


def case(what):
    return lambda f: CASES.append((what, f)) or f


def settings(w, name='store', **options):
    """The arguments of an object in this case."""
    return {'connect': f'127.0.0.1:{w.server.port()}', 'dealer': f'127.0.0.1:{w.dealer.port()}', 'certs': w.base.certs,
            'store': w.dir / name, 'plan': w.base.plan, 'vocab': w.base.model / 'vocab.txt', **options}


def raises(kind, pattern, call):
    """Asserts that a call raises; returns the error."""
    try:
        call()
    except kind as x:
        assert re.search(pattern, str(x)), f'says {x!r}'
        return x
    raise AssertionError(f'no {kind}')


def integers(last):
    return [y.tolist() for y in last.integers]


def texts(w, count):
    return [w.base.text(3 + i % 6, i) for i in range(count)]


def hash_of(w, plan):
    return w.base.suf('plan', 'show', plan).split('plan ', 1)[1].split()[0]


def done(w):
    """The serials that the model owner has finished."""
    return sum(': serial ' in line for line in w.server.err)


def settled(w, count):
    """Waits until the model owner has finished so many; it does so after the data owner has its result."""
    end = time.monotonic() + AMPLE
    while done(w) < count and time.monotonic() < end:
        time.sleep(0.01)
    return done(w)


def held_runs(w):
    """Returns the model owner's inferences, held. A text before has fetched the masked weights."""
    with suf.Encoder(**settings(w)) as m:
        m.encode('the dog')
    return HeldRuns(w.server.port())


@case('encode has the integers of the simulator')
def _(w):
    w.both()
    all = texts(w, 6)
    with suf.Encoder(**settings(w)) as m:
        values = m.encode(all)
        wanted = w.base.simulate(all)
        assert values.shape == (6, m.get_sentence_embedding_dimension()) and values.dtype == np.float32
        assert integers(m.last) == wanted, 'in the order of the inputs'
        scaled = np.array(wanted) / 2.0 ** np.array(m.last.scales)[:, None]
        assert (values == scaled.astype(np.float32)).all()
        assert m.last.plan == m.plan and len(m.last.weights) == 64 and len(m.last.serials) == 6
        assert m.last.bytes['p0'] > 0 and m.last.bytes['p1'] > 0 and min(m.last.flights) > 0
        one = m.encode(all[2])
        assert one.shape == values[2].shape and (one == values[2]).all()
        assert (m.encode(all[:2], normalize_embeddings=True, truncate_dim=2, convert_to_numpy=False)[1]).shape == (2,)
        assert m.encode([]).shape == (0, values.shape[1])
        cut = m.encode(' '.join(all))
        assert m.max_seq_length == m._about['max_tokens'] and cut.shape == one.shape
        alike = m.similarity(values, one)
        assert alike.shape == (6, 1) and abs(alike[2, 0] - 1) < 1e-6
        rows = m.tokenize(all[:2])
        assert rows['input_ids'].shape == rows['attention_mask'].shape and rows['attention_mask'].sum() == 3 + 4
    assert settled(w, 10) == 10


@case('texts of one length share a trace')
def _(w):
    w.both()
    same = [w.base.text(5, i) for i in range(4)]
    with suf.Encoder(**settings(w, parallel=1)) as m:
        m.encode(same, batch_size=4)
        assert integers(m.last) == w.base.simulate(same)
    assert settled(w, 1) == 1, 'one inference for four texts'


@case('plan and tokenizer are pulled once')
def _(w):
    w.both()
    given = settings(w, plan=None, vocab=None)
    raises(suf.RefusedError, 'none of the published ones', lambda: suf.Encoder(**given))
    plan = hash_of(w, w.base.plan)
    raises(suf.RefusedError, 'is expected', lambda: suf.Encoder(**given, expect='0' * 64))
    raises(suf.InputError, '64 lower-case hex digits', lambda: suf.Encoder(**given, expect='abc'))
    with suf.Encoder(**given, expect=plan) as m:
        assert m.plan == plan and len(m.notices()) == 1
        m.encode('the dog')
        assert integers(m.last) == [w.expected()]
    w.server.end()
    with suf.Encoder(**given) as m:  # the files are there
        assert m.plan == plan
    found = suf.estimate(w.dir / 'store' / 'pulled' / 'plan.json', tokens=5)
    assert found['plan'] == plan and found['flights'] > 0


@case('eight threads and 200 coroutines')
def _(w):
    w.both()
    all = texts(w, 24)
    wanted = w.base.simulate(all)
    with suf.Encoder(**settings(w, parallel=4)) as m:
        def one(i):
            m.encode(all[i:i + 3])
            return integers(m.last)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(one, range(0, 24, 3)))
    assert [y for part in found for y in part] == wanted

    async def run():
        m = await suf.AsyncEncoder.open(**settings(w, parallel=4))
        async with m:
            async def one(i):
                await m.encode(all[i % 24])
                return integers(m.last)[0]
            return await asyncio.gather(*(one(i) for i in range(200)))
    for i, y in enumerate(asyncio.run(run())):
        assert y == wanted[i % 24]


@case('a cancelled coroutine costs nothing before its claim')
def _(w):
    w.both()
    held = held_runs(w)

    async def run():
        m = await suf.AsyncEncoder.open(**settings(w, connect=f'127.0.0.1:{held.port}', parallel=1))
        async with m:
            first = asyncio.ensure_future(m.encode('the dog'))
            await asyncio.to_thread(held.reached.acquire)
            others = [asyncio.ensure_future(m.encode(w.base.text(6, i))) for i in range(5)]
            await asyncio.sleep(0.2)
            for t in others:
                t.cancel()
            assert all(isinstance(x, asyncio.CancelledError) for x in await asyncio.gather(*others, return_exceptions=True))
            held.go()
            await first
    asyncio.run(run())
    assert settled(w, 2) == 2, 'the cancelled texts never ran'


@case('a pending coroutine ends when its object is closed')
def _(w):
    w.both()
    held = held_runs(w)

    async def run():
        m = await suf.AsyncEncoder.open(**settings(w, connect=f'127.0.0.1:{held.port}', parallel=1))
        pending = asyncio.ensure_future(m.encode(texts(w, 5)))
        await asyncio.to_thread(held.reached.acquire)
        closing = asyncio.ensure_future(m.close(at_once=True))
        try:
            await asyncio.wait_for(pending, AMPLE)
        except suf.Error as x:
            assert '5 of 5 texts failed' in str(x), x
        await closing
        try:
            await m.encode('the')
        except suf.InputError as x:
            assert 'is closed' in str(x)
    asyncio.run(run())


@case('wrong arguments of an object are named')
def _(w):
    w.both()
    for options, pattern in (({'parallel': 0}, 'parallel=0 is not possible'), ({'parallel': '2'}, "parallel='2' is no whole number"), ({'retry': -1}, 'retry=-1'),
                             ({'retry': float('nan')}, 'retry=nan'), ({'timeout': 0}, 'timeout=0'), ({'receipts': 'x'}, 'receipts='), ({'expect': ''}, 'expect is empty'),
                             ({'expect': 5}, 'expect=5 is no str'), ({'connect': None}, 'connect=None is no address'), ({'certs': None}, 'certs=None is no path'),
                             ({'memory': 0}, 'memory=0')):
        raises(suf.InputError, pattern, lambda: suf.Encoder(**settings(w, **options)))
    raises(suf.InputError, "store='' is no path", lambda: suf.Encoder(**{**settings(w), 'store': ''}))


@case('wrong values are refused before anything is sent')
def _(w):
    w.both()
    with suf.Encoder(**settings(w)) as m:
        raises(suf.InputError, 'type NoneType', lambda: m.encode(None))
        raises(suf.InputError, 'type bytes', lambda: m.encode(b'the dog'))
        raises(suf.InputError, 'text 2 is of type list', lambda: m.encode(['the', ['the dog']]))
        raises(suf.InputError, 'text 1 is no valid text: the character 5', lambda: m.encode(['the \ud800']))
        raises(suf.InputError, 'text 2 of 2: ', lambda: m.encode(['the', '']))
        raises(suf.InputError, 'type int', lambda: m.encode(5))
        for options, pattern in (({'precision': 'int8'}, "precision='int8' is not provided"), ({'output_value': 'token_embeddings'}, 'output_value'),
                                 ({'truncate_dim': 10_000}, 'truncate_dim=10000 is not possible'), ({'truncate_dim': 0}, 'truncate_dim=0'), ({'truncate_dim': 8.0}, 'no whole number'),
                                 ({'batch_size': 65}, 'from 1 to 64'), ({'batch_size': '2'}, 'no whole number'), ({'prompt_name': 'none'}, "none of the plan's prompts"),
                                 ({'device': 'cuda'}, 'device'), ({'convert_to_tensor': True}, 'torch')):
            raises(ValueError, pattern, lambda: m.encode('the', **options))
        raises(TypeError, 'no argument', lambda: m.encode('the', pressure=1))
        assert m.encode(t for t in ('the', 'dog')).shape[0] == 2, 'a generator is a list'
    raises(suf.InputError, 'is closed; make a new one', lambda: m.encode('the'))
    raises(suf.InputError, 'which CrossEncoder does not return; use Encoder', lambda: suf.CrossEncoder(**settings(w)))
    raises(suf.InputError, 'cannot use .*ca.pem', lambda: suf.Encoder(**settings(w, certs=w.base.model)))
    raises(suf.RefusedError, 'another role', lambda: suf.Encoder(**settings(w, certs=w.base.certs / 'model')))
    assert settled(w, 2) == 2


@case('two objects on one store')
def _(w):
    w.both()
    with suf.Encoder(**settings(w)):
        raises(suf.ResourceError, 'is in use', lambda: suf.Encoder(**settings(w)))


@case('a forked child gets an error and leaves the parent alone')
def _(w):
    w.both()
    script = f'''
        import os, sys, suf
        m = suf.Encoder(**{arguments(w)!r})
        m.encode('the dog')
        pid = os.fork()
        if not pid:
            try:
                m.encode('the dog')
            except suf.InputError as x:
                assert 'of which this one is a child' in str(x), x
                del m
                os._exit(7)
            os._exit(8)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        m.encode('the dog')
        m.close()
        '''
    assert python(script) == (0, '')


def arguments(w, **options):
    return {k: str(v) if isinstance(v, pathlib.Path) else v for k, v in settings(w, **options).items()}


def start(script):
    return subprocess.Popen([sys.executable, '-c', textwrap.dedent(script)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={'PYTHONPATH': sys.argv[2], 'PATH': '/usr/bin:/bin'})


def python(script):
    p = start(script)
    out, err = p.communicate(timeout=AMPLE)
    return p.returncode, err + out


@case('an interpreter that ends in the middle of a call')
def _(w):
    w.both()
    held = held_runs(w)
    p = start(f'''
        import os, suf, threading, time
        m = suf.Encoder(**{arguments(w, connect=f"127.0.0.1:{held.port}", parallel=1)!r})
        threading.Thread(target=m.encode, args=('the dog',), daemon=True).start()
        while not os.path.exists({str(w.dir / 'go')!r}):
            time.sleep(0.05)
        ''')
    assert held.reached.acquire(timeout=AMPLE)
    (w.dir / 'go').touch()
    begun = time.monotonic()
    p.wait(timeout=AMPLE)
    assert p.returncode == 0, p.stderr.read()
    assert time.monotonic() - begun < AMPLE / 2


@case('Ctrl-C while it opens, connects and runs')
def _(w):
    w.both()
    held = held_runs(w)
    silent = socket.create_server(('127.0.0.1', 0))
    quiet = f'127.0.0.1:{silent.getsockname()[1]}'
    for what, options in (('opens', {'plan': None, 'vocab': None, 'connect': quiet, 'store': w.dir / 'other'}), ('connects', {'connect': quiet}),
                          ('runs', {'connect': f'127.0.0.1:{held.port}'})):
        p = start(f'''
            import suf, sys
            print('begun', flush=True)
            try:
                m = suf.Encoder(**{arguments(w, **options)!r})
                m.encode('the dog')
            except KeyboardInterrupt:
                print('interrupted', flush=True)
            ''')
        assert p.stdout.readline() == 'begun\n'
        if what == 'runs':
            assert held.reached.acquire(timeout=AMPLE)
        else:
            silent.settimeout(AMPLE)
            kept = silent.accept()
        p.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert p.stdout.readline() == 'interrupted\n', (what, p.stderr.read())
        assert p.wait(timeout=AMPLE) == 0, what
        assert time.monotonic() - begun < 20, f'{what}: it took {time.monotonic() - begun:.1f} s'


@case('a batch is resumed')
def _(w):
    w.both()
    all = texts(w, 8)
    with suf.Encoder(**settings(w)) as m:
        first = m.encode(all, resume=w.dir / 'done')
        before = m.last
        again = m.encode(all, resume=w.dir / 'done')
        assert (again == first).all() and m.last.serials == before.serials and integers(m.last) == integers(before)
        raises(suf.InputError, 'results of other texts', lambda: m.encode(all[1:], resume=w.dir / 'done'))
    with suf.Encoder(**settings(w, plan=w.base.other_plan)) as m:
        raises(suf.InputError, 'results of another plan', lambda: m.encode(all, resume=w.dir / 'done'))
    assert settled(w, 8) == 8


@case('a batch is resumed after an interruption')
def _(w):
    w.both()
    all = texts(w, 4)
    held = held_runs(w)
    with suf.Encoder(**settings(w, connect=f'127.0.0.1:{held.port}', parallel=1)) as m:
        call = m._open().submit(m._ids([(t.encode(), None) for t in all]), 0, 1, str(w.dir / 'file'))
        assert held.reached.acquire(timeout=AMPLE)
        call.cancel()  # as Ctrl-C does; one text runs
        m._ending[str(w.dir / 'file')] = call
        threading.Timer(0.3, held.go).start()
        m.encode(all, resume=w.dir / 'file')
        assert integers(m.last) == w.base.simulate(all)
    assert settled(w, 5) == 5, 'the text that ran is not run again'


@case('a model owner that is gone, and comes back')
def _(w):
    w.both()
    port = w.server.port()
    with suf.Encoder(**settings(w, retry=0)) as m:
        m.encode('the dog')
        w.server.kill()
        x = raises(suf.PeerError, '2 of 2 texts failed; text 1: ', lambda: m.encode(['the dog', 'the']))
        assert sorted(x.failed) == [0, 1] and x.results == [None, None]
        w.serve(listen=f'127.0.0.1:{port}').port()
        m.encode('the dog')
        assert integers(m.last) == [w.expected()]
    with suf.Encoder(**settings(w, retry=100)) as m:
        w.server.kill()
        late = threading.Timer(0.5, lambda: w.serve(listen=f'127.0.0.1:{port}'))
        late.start()
        m.encode('the dog')
        late.join()
        assert integers(m.last) == [w.expected()]
        assert any('tried again' in n for n in m.notices())


@case('receipts')
def _(w):
    w.both()
    with suf.Encoder(**settings(w, receipts=True)) as m:
        m.encode(['the dog', 'the'])
        lines = m.last.receipts
    (w.dir / 'receipts').write_text('\n'.join(lines) + '\n')
    w.base.suf('receipt', 'check', w.dir / 'receipts', '--ca', w.base.certs / 'data' / 'ca.pem')
    assert len(lines) == 2


@case('compile, estimate, simulate and certs')
def _(w):
    plan = suf.compile(w.base.model, w.dir / 'plan.json', [w.base.text(8, i) for i in range(40)], max_tokens=8, profile='lan')
    assert suf.estimate(plan, tokens=5)['job']['tokens'] == 5
    found = suf.simulate(w.base.model, plan, 'the dog')
    assert found['integers'].tolist() == w.base.simulate(['the dog'], '--plan', plan) and found['values'].shape == found['integers'].shape
    suf.certs(w.dir / 'made', data=['alice', 'bob'])
    assert (w.dir / 'made' / 'data-bob' / 'key.pem').exists()
    raises(suf.InputError, 'cannot read the plan', lambda: suf.estimate(w.dir / 'nothing'))


PAIRS = [('how many people live here', 'three people live here'), ('the dog', 'a cat'), ('the dog runs', 'it runs')]


@case('a reranker and a classifier')
def _(w):
    for preset, kind in (('tiny-reranker', suf.CrossEncoder), ('tiny-roberta-labels', suf.Classifier)):
        model = w.dir / preset
        w.base.suf('model', 'random', '--preset', preset, '--seed', 3, '--out', model)
        plan = suf.compile(model, w.dir / f'{preset}.json', ['\t'.join(p) for p in PAIRS] * 8, max_tokens=16, profile='lan')
        vocab = next(f for f in (model / 'tokenizer.json', model / 'vocab.txt') if f.exists())
        w.deal(plan=plan, state=w.dir / f'{preset}.state').port()
        w.serve(plan=plan, model=model, store=w.dir / f'{preset}.model').port()
        given = settings(w, f'{preset}.data', plan=plan, vocab=vocab)
        raises(suf.InputError, 'which Encoder does not return; use Classifier or CrossEncoder', lambda: suf.Encoder(**given))
        with kind(**given) as m:
            if kind is suf.CrossEncoder:
                scores = m.predict(PAIRS)
                assert scores.shape == (3,) and m.predict(PAIRS[1]) == scores[1]
                ranked = m.rank(PAIRS[0][0], [second for _, second in PAIRS], top_k=2, return_documents=True)
                assert len(ranked) == 2 and ranked[0]['score'] >= ranked[1]['score'] and ranked[0]['text'] == PAIRS[ranked[0]['corpus_id']][1]
                raises(suf.InputError, 'pair 1 is no pair', lambda: m.predict(['the dog']))
            else:
                found = m.predict([first for first, _ in PAIRS])
                assert integers(m.last) == suf.simulate(model, plan, [first for first, _ in PAIRS], truncate=True)['integers'].tolist()
                assert all(f['label'] == max(f['scores'], key=f['scores'].get) and set(f['scores']) == set(m.labels) for f in found)
                assert m.predict('the dog')['label'] in m.labels
        w.server.end(), w.dealer.end()


INDEXES = {'order': ('--k', 5), 'scores': ('--k', 3, '--told', 'scores', '--fetch', 'none')}


def documents(w):
    return [w.base.text(3 + i % 8, 100 + i) for i in range(60)]


def index_of(w, name):
    """Returns the folder of an index of these documents. All cases share it, because choosing its shape takes a second."""
    folder, docs = w.base.folder / name, w.base.folder / 'docs.jsonl'
    if not folder.exists():
        docs.write_text(''.join(json.dumps({'id': f'd{i}', 'text': t}) + '\n' for i, t in enumerate(documents(w))))
        w.base.suf('index', 'create', '--model', w.base.model, '--plan', w.base.plan, '--docs', docs, '--out', folder, *INDEXES[name])
    return folder


def with_indexes(w, *folders):
    """Starts dealer and model owner with these indexes."""
    w.deal(**{'index-plan': [f / 'index.json' for f in folders]}).port()
    w.serve(index=list(folders)).port()


def told(hits):
    """The hits of one text as `suf simulate` prints them, without their documents."""
    return [{name: v for name, v in (('row', h.row), ('rank', h.rank), ('score', h.score)) if v is not None} for h in hits]


def simulated(w, index, all):
    """Returns the hits and the integers of each text by the simulator."""
    found = suf.simulate(w.base.model, w.base.plan, all, index=index)
    return [[{name: v for name, v in h.items() if name != 'document'} for h in hits] for hits in found['hits']], found['integers'].tolist()


@case('search has the hits of the simulator')
def _(w):
    index, all = index_of(w, 'order'), texts(w, 4)
    with_indexes(w, index)
    hits, words = simulated(w, index, ['the dog', *all])
    given = settings(w, plan=None, vocab=None, expect=hash_of(w, w.base.plan))
    with suf.Searcher(**given, fetch=True) as m:
        found = m.search(all)
        assert list(map(told, found)) == hits[1:] and integers(m.last) == words[1:], 'in the order of the inputs'
        assert m.k == 5 and all_of(found, lambda h: h.score is None and h.document == documents(w)[h.row])
        assert len(m.last.serials) == 4 and m.last.scales == [] and m.last.bytes['p0'] > 0 and min(m.last.flights) > 0
        assert told(m.search('dog', prompt='the ')) == hits[0] and m.default_prompt_name is None
        assert m.search([]) == [] and m.search(all[1]) == found[1]
        wrong_texts(m)
    pulled = suf.pull(given['connect'], w.base.certs, w.dir / 'pulled', given['expect'])
    assert pulled['plan'] == m.plan and pulled['indexes'] == {str(w.dir / 'pulled' / 'index.json'): m.index}
    raises(suf.InputError, 'is closed; make a new one', lambda: m.search('the'))


def all_of(found, holds):
    return all(holds(h) for hits in found for h in hits) and any(found)


def wrong_texts(m):
    """Texts and arguments that a Searcher refuses before anything is sent."""
    raises(suf.InputError, 'has 20 tokens; the limit is 16; shorten it or let it be cut', lambda: m.search('dog ' * 18))
    raises(suf.InputError, 'text 2 of 2: the text has 20 tokens', lambda: m.search(['the', 'dog ' * 18]))
    raises(suf.InputError, 'type NoneType', lambda: m.search(None))
    raises(suf.InputError, 'truncate=1 is not possible', lambda: m.search('the', truncate=1))
    raises(ValueError, "none of the plan's prompts", lambda: m.search('the', prompt_name='none'))


@case('searches in an event loop')
def _(w):
    index, all = index_of(w, 'scores'), texts(w, 6)
    with_indexes(w, index)
    wanted, _ = simulated(w, index, all)

    async def run():
        m = await suf.AsyncSearcher.open(**settings(w, index_plan=index / 'index.json'))
        async with m:
            assert list(map(told, await asyncio.gather(*map(m.search, all)))) == wanted
            assert told(await m.search('dog ' * 18, truncate=True, priority=1)), 'a long text is cut'
        held = HeldRuns(w.server.port())
        m = await suf.AsyncSearcher.open(**settings(w, connect=f'127.0.0.1:{held.port}', index_plan=index / 'index.json', parallel=1))
        async with m:
            first = asyncio.ensure_future(m.search(all[0]))
            await asyncio.to_thread(held.reached.acquire)
            others = [asyncio.ensure_future(m.search(t)) for t in all[1:]]
            await asyncio.sleep(0.2)
            for t in others:
                t.cancel()
            assert all_cancelled(await asyncio.gather(*others, return_exceptions=True))
            held.go()
            assert told(await first) == wanted[0]
    asyncio.run(run())
    assert settled(w, 8) == 8, 'the cancelled texts never ran'


def all_cancelled(results):
    return all(isinstance(x, asyncio.CancelledError) for x in results)


@case('wrong index plans are named')
def _(w):
    one, two = index_of(w, 'scores'), index_of(w, 'order')
    with_indexes(w, one, two)
    given = settings(w, expect=hash_of(w, w.base.plan))
    folder = re.escape(str(w.dir / 'store' / 'pulled'))
    raises(suf.InputError, f'serves 2 indexes: {folder}/index.json .*, {folder}/index-2.json .*; give one of these files as index_plan', lambda: suf.Searcher(**given))
    raises(suf.InputError, 'has no documents that can be fetched; search without them', lambda: suf.Searcher(**given, index_plan=one / 'index.json', fetch=True))
    raises(suf.RefusedError, 'the index is of the plan', lambda: suf.Searcher(**{**given, 'plan': w.base.other_plan}, index_plan=one / 'index.json'))
    raises(suf.InputError, 'cannot read the index plan', lambda: suf.Searcher(**given, index_plan=w.dir / 'nothing'))
    raises(suf.RefusedError, 'name the file index.json of an index', lambda: suf.Searcher(**given, index_plan=w.base.plan))
    raises(suf.InputError, 'index_plan=5 is no path', lambda: suf.Searcher(**given, index_plan=5))
    raises(suf.InputError, 'fetch=1 is not possible', lambda: suf.Searcher(**given, index_plan=one / 'index.json', fetch=1))
    raises(TypeError, 'index_plan', lambda: suf.Encoder(**given, index_plan=one / 'index.json'))
    with suf.Searcher(**given, index_plan=w.dir / 'store' / 'pulled' / 'index-2.json') as m:
        assert len(m.search('the dog')) == m.k == 5
    w.server.end()
    w.serve(index=[two], store=w.dir / 'model-2').port()
    with suf.Searcher(**settings(w, 'store-2', index_plan=one / 'index.json')) as m:
        x = raises(suf.RefusedError, 'index', lambda: m.search('the dog'))
        assert x.refusal == 'index'
    (w.dir / 'store' / 'pulled' / 'index.json').unlink()
    with suf.Searcher(**settings(w, expect=given['expect'])) as m:
        assert m.k == 5, 'the index that is served now is pulled'
    w.server.end()
    w.serve(store=w.dir / 'model-3').port()
    raises(suf.InputError, 'serves no index that can be searched', lambda: suf.Searcher(**settings(w, 'store-3')))


@case('the program is the same')
def _(w):
    p = subprocess.run([sys.executable, '-m', 'suf', '--version'], capture_output=True, text=True, env={'PYTHONPATH': sys.argv[2]})
    assert p.stdout == subprocess.run([w.base.program, '--version'], capture_output=True, text=True).stdout and p.returncode == 0
    p = subprocess.run([sys.executable, '-m', 'suf', 'embed'], capture_output=True, text=True, env={'PYTHONPATH': sys.argv[2]})
    assert p.returncode == 2 and p.stderr.startswith('suf: ')
    exported = subprocess.run(['nm', '-D', '--defined-only', *pathlib.Path(sys.argv[2], 'suf').glob('_suf*.so')], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in exported.splitlines()] == ['PyInit__suf']


def main():
    failed, pattern = 0, sys.argv[3] if len(sys.argv) > 3 else ''
    with tempfile.TemporaryDirectory() as folder:
        base = Base(sys.argv[1], folder)
        for i, (what, run) in enumerate(CASES):
            if not re.search(pattern, what):
                continue
            begun, why = time.monotonic(), ''
            try:
                with World(base, f'{i} {what}') as w:
                    run(w)
            except BaseException as x:
                failed, why = failed + 1, f'{type(x).__name__}: {x}\n{traceback.format_exc()}'
            print(f'{"FAIL" if why else "ok  "} {what:60} {time.monotonic() - begun:5.1f} s  {why}', flush=True)
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
