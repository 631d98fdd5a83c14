#!/usr/bin/env python3
"""Runs `suf gateway` beside a real dealer and model owner, with curl, the openai package and plain sockets. Bad requests
get one error and run no text. Retries never cost a second bundle.

  gateway_test.py SUF PACKAGES [PATTERN]     PACKAGES: the folder with suf/; about a minute. PATTERN picks cases
"""
import asyncio
import base64
import concurrent.futures
import contextlib
import io
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import http_rows as http  # noqa: E402
from package_test import CASES, case, done, main, settings, settled, texts  # noqa: E402  (adds the package to the path)
from network import frames_test as frames  # noqa: E402
from roles import AMPLE, HeldRuns, Role  # noqa: E402
import numpy as np  # noqa: E402
import openai  # noqa: E402
import suf  # noqa: E402

CASES.clear()


class Gateway:
    """A running gateway."""

    PYTHON = sys.executable

    def __init__(self, w, store='gateway', connect=None, dealer=None, plan=True, files=None, **flags):
        given = {'connect': f'127.0.0.1:{connect or w.server.port()}', 'dealer': f'127.0.0.1:{dealer or w.dealer.port()}',
                 'certs': w.base.certs, 'store': w.dir / store, 'listen': '127.0.0.1:0', **flags}
        if plan:
            given.update(plan=w.base.plan, vocab=w.base.model / 'vocab.txt')
        words = [str(x) for name, value in given.items() for x in (f'--{name.replace("_", "-")}', value)]
        env = {'PYTHONPATH': sys.argv[2], 'PATH': '/usr/bin:/bin'}
        limit = ['prlimit', f'--nofile={files}:{files}'] if files else []
        self.role = Role([*limit, self.PYTHON, '-m', 'suf', 'gateway', *words], env=env)
        w.roles.append(self.role)
        self.w, self.store = w, w.dir / store

    def ready(self):
        self.port = self.role.port()
        self.address = '127.0.0.1', self.port
        self.url = f'http://127.0.0.1:{self.port}'
        self.token = (self.store / 'gateway.token').read_text().strip()
        return self

    def ask(self, **fields):
        status, headers, data = http.ask(self.address, http.request(self.token, http.body(**fields)))
        return status, headers, json.loads(data)

    def client(self, **options):
        return openai.OpenAI(base_url=self.url + '/v1', api_key=self.token, max_retries=0, **options)


def begin(w, **flags):
    w.both()
    return Gateway(w, **flags).ready()


def vectors(data):
    return np.array([d['embedding'] for d in data['data']], np.float32)


def wanted(w, all):
    """The embeddings of the simulator."""
    lines = '\n'.join(json.dumps({'text': t}) for t in all) + '\n'
    run = subprocess.run([w.base.program, 'simulate', '--model', w.base.model, '--plan', w.base.plan, '--json', '--json-file', '/dev/stdin'],
                         input=lines.encode(), capture_output=True, check=True)
    return np.array([json.loads(line)['embedding'] for line in run.stdout.decode().splitlines()], np.float32)


@case('curl')
def _(w):
    g = begin(w)
    out = subprocess.run(['curl', '-sS', f'{g.url}/v1/embeddings', '-H', f'Authorization: Bearer {g.token}', '-d', '{"model": "suf", "input": ["the dog", "the"]}'],
                         capture_output=True, text=True, check=True).stdout
    found = json.loads(out)
    assert (vectors(found) == wanted(w, ['the dog', 'the'])).all()
    assert found['usage'] == {'prompt_tokens': 7, 'total_tokens': 7} and [d['index'] for d in found['data']] == [0, 1]
    assert len(found['suf']['serials']) == 2 and len(found['suf']['plan']) == 64 and len(found['suf']['weights']) == 64 and found['suf']['bytes'] > 0
    assert subprocess.run(['curl', '-sS', f'{g.url}/health'], capture_output=True, text=True).stdout == 'ok\n'
    get = lambda path: subprocess.run(['curl', '-sS', g.url + path, '-H', f'Authorization: Bearer {g.token}'], capture_output=True, text=True).stdout  # noqa: E731
    assert get('/ready') == 'ready\n'
    assert [m['id'] for m in json.loads(get('/v1/models'))['data']] == ['suf']
    assert 'suf_gateway_tokens_total 7.0' in get('/metrics')
    assert not any('dog' in line or g.token in line for line in g.role.err)


@case('the openai package, sync and async, base64 and floats')
def _(w):
    g = begin(w)
    all = texts(w, 6)
    expected = wanted(w, all)
    with g.client() as c:
        for form in ('base64', 'float'):
            found = c.embeddings.create(model='suf', input=all, encoding_format=form)
            assert (np.array([d.embedding if form == 'float' else np.frombuffer(base64.b64decode(d.embedding), '<f4') for d in found.data], np.float32) == expected).all()
        found = c.embeddings.create(model='suf', input=all)  # base64 on the wire
        assert (np.array([d.embedding for d in found.data], np.float32) == expected).all()

    async def run():
        async with openai.AsyncOpenAI(base_url=g.url + '/v1', api_key=g.token, max_retries=0) as c:
            return await asyncio.gather(*(c.embeddings.create(model='suf', input=t) for t in all))
    assert (np.array([r.data[0].embedding for r in asyncio.run(run())], np.float32) == expected).all()
    assert settled(w, len(set(all))) == len(set(all)), 'results are kept'


@case('bad requests')
def _(w):
    g = begin(w)
    faults = http.check_rows(g.address, g.token)
    assert not faults, '\n'.join(faults)
    with http.connect(g.address) as s:
        s.sendall(http.request(g.token, http.body()) + http.request(g.token, http.body(input='dog')))
        assert [http.answer(s)[0], http.answer(s)[0]] == [200, 200], 'pipelined requests'
    assert settled(w, 2) == 2
    for path, methods in (('/v1/embeddings', 'POST'), ('/v1/models', 'GET'), ('/ready', 'GET'), ('/metrics', 'GET'), ('/', 'GET'), ('/docs', 'GET')):
        assert http.ask(g.address, http.request(None, method=methods, path=path))[0] == 401, path


@case('slow, idle and broken clients')
def _(w):
    g = begin(w)
    idle = [http.connect(g.address) for _ in range(200)]
    slow = http.connect(g.address)
    slow.sendall(b'POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n')
    raw = http.request(g.token, http.body())
    for cut in (1, 20, len(raw) // 2, len(raw) - 1, len(raw)):  # gone at each step
        with http.connect(g.address) as s:
            s.sendall(raw[:cut])
    with http.connect(g.address) as s:  # half-closed
        s.sendall(raw)
        s.shutdown(socket.SHUT_WR)
        http.answer(s)
    assert g.ask()[0] == 200, 'others are served'
    assert http.answer(slow)[0] == 408, 'headers have a limit'
    for s in (*idle, slow):
        s.close()
    assert g.ask(input='dog')[0] == 200


@case('a client that drops and retries ten times')
def _(w):
    g = begin(w)
    all = texts(w, 20)
    raw = http.request(g.token, http.body(input=all))
    for i in range(10):
        with http.connect(g.address) as s:
            s.sendall(raw)
            deadline = time.monotonic() + 0.05 * i
            while time.monotonic() < deadline:
                time.sleep(0.01)
    status, _, found = g.ask(input=all)
    assert status == 200 and (vectors(found) == wanted(w, all)).all()
    count = len(set(all))
    assert settled(w, count) == count, f'{settled(w, count)} bundles for {count} texts'


@case('a text that ended as its request went is kept')
def _(w):
    from suf.gateway.metrics import Metrics
    from suf.gateway.texts import Texts
    w.both()
    calls = []

    async def run():
        async with suf.AsyncEncoder(**settings(w)) as m:
            begin = m._begin
            m._begin = lambda *a, **o: calls.append(begin(*a, **o)) or calls[-1]
            kept = Texts(m, 60, 1 << 20, 10, Metrics(lambda: kept))
            rows = [(b'the dog', m._ids([(b'the dog', None)])[0])]
            request = asyncio.create_task(kept.run(rows, b'', 0))
            while not calls and not request.done():
                await asyncio.sleep(0)
            while not calls[0][0].wait(AMPLE):  # the loop stands still meanwhile
                pass
            request.cancel()
            await asyncio.wait([request])
            return await kept.run(rows, b'', 0)
    (found,), (expected,) = asyncio.run(run()), wanted(w, ['the dog'])
    assert len(calls) == 1 and (found.values == expected).all()


@case('identical texts in flight are joined, and a single text goes ahead')
def _(w):
    w.both()
    g = Gateway(w, parallel=2).ready()
    many = [w.base.text(3 + i % 6, 100 + i) for i in range(60)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        two = [pool.submit(g.ask, input=many) for _ in range(2)]
        while done(w) < 3:
            time.sleep(0.01)
        before = done(w)
        assert g.ask(input='the dog')[0] == 200
        waited = done(w) - before
        both = [f.result() for f in two]
    assert all(status == 200 for status, _, _ in both) and both[0][2]['data'] == both[1][2]['data']
    assert waited <= 8, f'a single text waited for {waited} others'
    count = len(set(many)) + 1
    assert settled(w, count) == count


@case('a role that is away, a quota, and another plan')
def _(w):
    w.both()
    port = w.server.port()
    g = Gateway(w, retry=0).ready()
    assert g.ask()[0] == 200
    w.server.kill()
    status, headers, found = g.ask(input='dog')
    assert status == 503 and int(headers['retry-after']) > 0 and 'x-should-retry' not in headers, found
    assert found['error']['code'] == 'unreachable'
    w.serve(listen=f'127.0.0.1:{port}').port()
    assert g.ask(input='dog')[0] == 200
    w.server.end()
    w.serve(listen=f'127.0.0.1:{port}', plan=w.base.other_plan).port()
    status, headers, found = g.ask(input='the')
    assert g.ask(input='the')[0] == 200, 'kept results need nobody'
    status, headers, found = g.ask(input='the dog')
    assert status == 502 and headers['x-should-retry'] == 'false', (status, found)


@case('options out of their ranges')
def _(w):
    from suf.gateway.command import parser
    need = ['--connect', 'a:1', '--dealer', 'a:1', '--certs', 'c', '--store', 's']

    def refused(name, value):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                parser().parse_args([*need, name, value])
            except SystemExit as x:
                assert x.code == 2
                return err.getvalue()
    for name, values in (('--keep', ('-1', 'nan', 'inf', 'x')), ('--keep-mb', ('-1',)), ('--queue', ('0', '-5', '1.5')), ('--grace', ('nan', '-1')),
                         ('--parallel', ('0', '-1', '65')), ('--retry', ('-1', 'nan')), ('--timeout', ('0',)), ('--model', ('', 'a:b')),
                         ('--host', ('', '*', 'a:1', 'http://x'))):
        for value in values:
            said = refused(name, value)
            assert said and said.startswith(f'suf: gateway: argument {name}: takes ') and said.count('\n') == 1, (name, value, said)
    assert refused('--host', '::1') is None and refused('--host', 'gateway.example') is None and refused('--keep', '0') is None


@case('texts are counted from the first one of the request')
def _(w):
    g = begin(w)
    many = ['the'] * 99 + ['the ' * 500] + ['the'] * 30
    assert g.ask(input=many)[2]['error']['message'].startswith('text 100 of 130 has more than')
    many[99] = ''
    assert g.ask(input=many)[2]['error']['message'].startswith('text 100 of 130: ')
    assert done(w) == 0


@case('a small queue')
def _(w):
    w.both()
    g = Gateway(w, queue=5, parallel=1).ready()
    status, headers, found = g.ask(input=texts(w, 10))
    assert status == 400 and found['error']['code'] == 'too_many_texts' and headers['x-should-retry'] == 'false', found
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda i: g.ask(input=[w.base.text(4, 10 * i + j) for j in range(4)]), range(6)))
    assert all(status in (200, 429) for status, _, _ in answers) and any(status == 200 for status, _, _ in answers)
    assert all(1 <= int(headers['retry-after']) <= 60 for status, headers, _ in answers if status == 429)


@case('null fields, one model, and the word of a failed request')
def _(w):
    w.both()
    g = Gateway(w, retry=0).ready()
    assert g.ask(encoding_format=None, dimensions=None, user=None)[0] == 200
    with g.client() as c:
        assert c.models.retrieve('suf').id == 'suf'
    get = lambda path: http.ask(g.address, http.request(g.token, method='GET', path=path))[0]  # noqa: E731
    assert get('/v1/models/gpt') == 404 and get('/ready') == 200
    w.server.kill()
    assert g.ask(input='dog')[0] == 503 and get('/ready') == 503, 'a failed request is a failed check'
    assert g.role.said('a client got 503 unreachable: '), g.role.err


@case('more connections than it takes, and few descriptors')
def _(w):
    w.both()
    g = Gateway(w, files=400).ready()
    assert g.role.said('takes 208 connections'), g.role.err
    many = [http.connect(g.address) for _ in range(600)]
    for s in many[300:]:
        assert http.answer(s)[0] == 503
    for s in many:
        s.close()
    end = time.monotonic() + AMPLE
    while (status := g.ask()[0]) != 200 and time.monotonic() < end:
        time.sleep(0.05)
    assert status == 200 and len(g.role.err) < 20, g.role.err


@case('a text that does not end within the grace')
def _(w):
    w.both()
    g = Gateway(w, grace=1).ready()
    assert g.ask()[0] == 200
    w.server.stop()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(g.ask, input='dog')
        time.sleep(0.3)
        g.role.signal(signal.SIGTERM)
        status, headers, found = asked.result()
    assert status == 503 and found['error']['code'] == 'stopping' and 'retry-after' in headers, found
    assert g.role.finish() == 0 and not any('Traceback' in line for line in g.role.err), g.role.err
    w.server.go_on()


@case('SIGTERM in a batch')
def _(w):
    g = begin(w, parallel=1)
    many = texts(w, 60)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(g.ask, input=many)
        while done(w) < 2:
            time.sleep(0.01)
        g.role.signal(signal.SIGTERM)
        status, headers, found = asked.result()
    assert status == 503 and found['error']['code'] == 'stopping' and int(headers['retry-after']) > 0
    assert g.role.finish() == 0, g.role.err
    assert done(w) < 60


@case('bad starts')
def _(w):
    w.both()
    def ends(code, pattern, **flags):
        role = Gateway(w, **{'store': f'store{len(w.roles)}', **flags}).role
        assert role.finish() == code and re.search(pattern, role.err[-1]), (role.process.returncode, role.err)
    g = Gateway(w).ready()
    ends(5, 'cannot listen on 127.0.0.1', listen=f'127.0.0.1:{g.port}')
    ends(5, 'is in use', store='gateway')
    ends(2, 'is no loopback address', listen='0.0.0.0:0')
    ends(2, 'belong together', tls_cert='/nothing')
    ends(2, '--listen takes HOST:PORT', listen='8080')
    ends(2, 'cannot use .*ca.pem', certs=w.base.model)
    g.role.end()
    os.chmod(g.store / 'gateway.token', 0o644)
    ends(2, 'can be read by others .mode 644.; chmod 600', store='gateway')
    (w.dir / 'short').write_text('x\n')
    os.chmod(w.dir / 'short', 0o600)
    ends(2, 'holds 1 characters', token_file=w.dir / 'short')
    (w.dir / 'short').write_bytes(b'\xff' * 40)
    ends(2, 'holds 40 characters', token_file=w.dir / 'short')
    ends(5, 'cannot make the file of the token', token_file=w.dir / 'none' / 'token')


def odd_and_even(base):
    """Returns words of one token each, by the parity of their ids."""
    lines = (base.model / 'vocab.txt').read_text().split('\n')
    words = [[w for i, w in enumerate(lines) if i % 2 == parity and w.isalpha() and w.isascii()] for parity in (1, 0)]
    assert 'dog' in words[0] and 'cat' in words[1]
    return words


@case('a result of zero, and retries after it, show the model owner nothing')
def _(w):
    w.base = frames.signs(w.base, w.base.folder)
    odd, even = odd_and_even(w.base)
    zero, others = f'{odd[0]} {even[0]}', [f'{odd[i]} {odd[i + 1]}' for i in range(3)]
    y = w.base.simulate([zero, *others])
    assert not any(y[0]) and all(any(v) for v in y[1:])
    w.deal().port()
    seen = []
    for k, first in enumerate((others[2], zero)):
        server = w.serve(store=w.dir / f'model{k}', record=w.dir / f'p0.{k}', once=True)
        g = Gateway(w, store=f'gateway{k}', parallel=1).ready()
        for _ in range(3):  # the client tries again
            status, headers, found = g.ask(input=first)
            assert status == (400 if first == zero else 200)
            if first == zero:
                assert found['error']['code'] == 'text_failed' and headers['x-should-retry'] == 'false', found
        assert g.ask(input=[others[0], first])[0] == status
        assert g.ask(input=others[:2])[0] == 200
        g.role.signal(signal.SIGTERM)
        assert g.role.finish() == 0, g.role.err
        seen.append(frames.p0_view(w, server, k))
    assert sum(kind == frames.BYE for _, kind, _, _ in seen[0][2]) == 3, 'three texts, whatever was tried again'
    assert seen[0] == seen[1], 'the model owner sees that a result is zero'


@case('the plan is pulled')
def _(w):
    w.both()
    plan = w.base.suf('plan', 'show', w.base.plan).split('plan ', 1)[1].split()[0]
    g = Gateway(w, plan=False, expect=plan).ready()
    assert g.ask()[0] == 200


if __name__ == '__main__':
    main()
