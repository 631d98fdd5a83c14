#!/usr/bin/env python3
"""Runs peers that fall silent or go away, crowds, altered frames, jumping clocks and other processors. Each gets one
sentence and the right exit code in time. The serial is burnt on both sides, nothing besides is lost, and the next
inference works.

  sessions_test.py SUF [PATTERN]     from anywhere; about half a minute. PATTERN picks rows
"""
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import HASTY, ONLINE, GateWorld, Tap, context
from rows import ended, main, row

# ---- peers that fall silent or go away. A Tap acts inside the inference. W_hat has already arrived, so ONLINE bytes
# from the model owner are within its online frames, and DEALING bytes from the dealer within a bundle.

DEALING = 40_000


def within(w, act, way='down', at=ONLINE, flags={}, **tap):
    """Runs one inference, then `embed` over a Tap that acts inside the next one."""
    w.works()
    return w.embed(connect=Tap(w.server.port(), at, act, way=way, **tap).port, **flags)


@row('SIGKILL of serve', 3, 'the model owner ended the connection')
def _(w):
    w.both()
    yield within(w, lambda: w.server.kill())
    w.works()
    w.spent(2)


@row('SIGKILL of gate serve', 3, 'the model owner ended the connection', world=GateWorld)
def _(w):
    w.both()
    w.works()
    yield w.embed(*w.BIG, connect=Tap(w.server.port(), ONLINE, lambda: w.server.kill()).port)
    w.works()
    w.spent(2)


@row('parties of gates with other rows', 2, 'we bring 8 rows, and P0 brings 3; give both the same number', world=GateWorld)
def _(w):
    plan, v = w.dir / 'rows.plan', w.dir / 'rows.values'
    (w.dir / 'rows.gates').write_text('x = input p1 32:12 [n]\nv = input p0 8:0 [n]\nz = multiply(x, v)\noutput z -> p1\n')
    w.base.suf('gate', 'plan', w.dir / 'rows.gates', '--out', plan)
    v.write_text('1\n2\n3\n')
    w.deal(plan=plan).port()
    w.serve(plan=plan, values=f'v={v}').port()
    yield w.embed(plan=plan)
    assert w.floor('data') == w.floor('model') == 0, 'nothing is spent'
    e = w.embed(3, plan=plan)
    assert e.finish() == 0 and e.rows()[0]['outputs']['z'] == [x * (i + 1) for i, x in enumerate(w.numbers(3))], e.err


@row('SIGSTOP of serve', 3, 'the model owner was silent for 3 s', 12)
def _(w):
    w.both()
    yield within(w, lambda: w.server.stop(), flags={'timeout': HASTY})
    w.server.go_on()
    ended(w, 'the data owner')
    w.works()
    w.spent(2)


@row('SIGKILL of embed', 3, 'the data owner ended the connection')
def _(w):
    w.both()
    w.works()
    w.server.end()
    w.serve(once=True)
    e = w.embed(connect=Tap(w.server.port(), ONLINE, lambda: e.kill()).port)
    yield w.server
    e.finish()  # its sockets close before it unlocks the store
    w.works()
    w.spent(2)


@row('SIGSTOP of embed', 3, 'the data owner was silent for 3 s', 12)
def _(w):
    w.both()
    w.works()
    w.server.end()
    w.serve(once=True, timeout=HASTY)
    e = w.embed(connect=Tap(w.server.port(), ONLINE, lambda: e.stop()).port)
    yield w.server
    e.go_on()
    assert e.finish() == 3 and 'the model owner' in e.err[-1], e.err
    w.works()
    w.spent(2)


@row('SIGKILL of the dealer', 3, 'the dealer ended the connection')
def _(w):
    w.both()
    w.works()
    yield w.embed(dealer=Tap(w.dealer.port(), DEALING, lambda: w.dealer.kill(), cut=True).port)
    ended(w, 'the dealer ended|ended the session')
    assert w.works()['serial'] == 3
    w.spent(2)


@row('SIGSTOP of the dealer', 3, 'the dealer was silent for 3 s', 12)
def _(w):
    w.both()
    w.works()
    # In the handshake, before a serial is dealt: bytes written later arrive even if the dealer stops.
    yield w.embed(dealer=Tap(w.dealer.port(), 1_000, lambda: w.dealer.stop()).port, timeout=HASTY)
    w.dealer.go_on()
    ended(w, 'was silent|ended the session')
    w.works()


@row('SIGKILL of embed while the dealer deals', 3, 'the dealer lost the other party|the data owner ended', 12)
def _(w):
    w.both()
    w.works()
    w.server.end()
    w.serve(once=True)
    e = w.embed(dealer=Tap(w.dealer.port(), 3_000, lambda: e.kill()).port)
    yield w.server
    e.finish()  # its sockets close before it unlocks the store
    w.works()
    w.spent(2)


@row('the dealer waits for serve in vain', 3, 'the dealer waited in vain for the other party|ended the session|nobody answers as the dealer', 12)
def _(w):
    w.deal().port()
    w.serve(dealer=1).port()
    yield w.embed()
    w.server.kill()
    w.works()


def sweep(kill):
    """Makes a case in which kill(w, at) runs an embed and kills a role at byte `at` of the connection."""
    def case(w):
        w.both()
        last = w.works()['serial']
        for at in range(400, 20_000, 1400):
            e = kill(w, at)
            code = e.finish()
            assert code in (3, -9) and (code < 0 or e.err[-1].startswith('suf: the ')), f'at byte {at}: exit code {code}: {e.err}'
            now = w.works()['serial']
            w.spent(*range(last + 1, now))
            last = now
        yield w.embed()
    return case


def killed_embed(w, at):
    e = w.embed(connect=Tap(w.server.port(), at, lambda: e.kill()).port)
    return e


row('SIGKILL of serve at every 1400th byte', 0, '')(sweep(lambda w, at: w.embed(connect=Tap(w.server.port(), at, w.server.kill).port)))
row('SIGKILL of embed at every 1400th byte', 0, '')(sweep(killed_embed))
row('SIGKILL of the dealer at every 1400th byte', 0, '')(sweep(lambda w, at: w.embed(dealer=Tap(w.dealer.port(), at, w.dealer.kill, cut=True).port)))


@row('200 connections during a session', 0, '', 14)
def _(w):
    w.both()
    w.works()
    strangers = [socket.socket() for _ in range(200)]
    def crowd():
        for s in strangers:
            s.setblocking(False)
            s.connect_ex(('127.0.0.1', w.server.port()))
        assert w.server.said('was dropped in its TLS handshake'), w.server.err  # serve has met more of them than it keeps
    first = w.embed(connect=Tap(w.server.port(), ONLINE, crowd).port)
    assert first.finish() == 0, first.err
    for s in strangers:
        s.close()
    w.works()
    w.server.signal(signal.SIGTERM)
    yield w.server


@row('no descriptors left in serve', 0, '', 14)
def _(w):
    w.deal().port()
    w.serve(process={'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))}).port()
    w.works()
    strangers = [socket.create_connection(('127.0.0.1', w.server.port())) for _ in range(30)]
    assert w.server.said('was dropped in its TLS handshake'), w.server.err
    for s in strangers:
        s.close()
    w.works()
    w.server.signal(signal.SIGTERM)
    yield w.server


for at in (10, 400, 900, 1500, 2500, 3500, 5000, 8_000, 12_000, 16_000):
    def case(w, at=at):
        w.both()
        yield within(w, lambda: None, flip=True, at=at)
        w.works()
        if w.works()['serial'] > 3:
            w.spent(2)
    row(f'byte {at} from serve flipped on the way', '3|4', 'altered on the way' if at > 5000 else 'the model owner|certificate')(case)


@row('a byte from embed flipped on the way', 3, 'bytes between the model owner and us were altered on the way')
def _(w):
    w.both()
    yield within(w, lambda: None, flip=True, way='up')
    ended(w, 'bytes between the data owner and us were altered')
    w.works()
    w.spent(2)


@row('second client during a session', 0, '')
def _(w):
    w.both()
    w.works()
    second = []
    first = w.embed(connect=Tap(w.server.port(), ONLINE, lambda: (second.append(w.embed(store=w.dir / 'data2', timeout=5)), second[0].finish())).port, timeout=20)
    assert first.finish() == 0, first.err
    yield second[0]
    for e in (first, second[0]):
        assert w.result(e.rows()[0]) == w.expected(), e.err
    w.works()


@row('the 73rd session of one certificate', 3, 'the model owner is busy with other sessions', 20)
def _(w):
    w.both()
    w.works()
    tls = context(w.base.certs / 'data', False)
    idle = [tls.wrap_socket(socket.create_connection(('127.0.0.1', w.server.port()))) for _ in range(72)]
    yield w.embed()
    assert w.server.said('came while 72 sessions of its certificate are running, the most of one')
    for s in idle:
        s.close()
    w.works()


# ---- clocks: the wall clock is only for certificates and log lines; time-outs use another

def jumping(w):
    """Returns an environment in which the wall clock jumps by months at every call (tests/faults/clock.c)."""
    library = w.base.program.parent / 'tests' / 'faults' / 'libjumping_clock.so'
    assert library.exists(), f'{library} is not built'
    env = {**os.environ, 'LD_PRELOAD': str(library)}
    seen = subprocess.run([sys.executable, '-c', 'import time; print(time.time(), time.time())'], env=env, capture_output=True, check=True)
    a, b = map(float, seen.stdout.split())
    assert abs(a - b) > 86400, 'the clock does not jump'
    return {'env': env}


@row('the wall clock jumps', 0, '', 20)
def _(w):
    w.deal(process=jumping(w)).port()
    w.serve(process=jumping(w)).port()
    for _ in range(3):
        w.works(process=jumping(w))
    w.server.signal(signal.SIGTERM)
    yield w.server


@row('the wall clock jumps while serve is silent', 3, 'the model owner was silent for 3 s', 12)
def _(w):
    w.deal(process=jumping(w)).port()
    w.serve(process=jumping(w)).port()
    w.works(process=jumping(w))
    e = w.embed(connect=Tap(w.server.port(), ONLINE, lambda: w.server.stop()).port, process=jumping(w), timeout=HASTY)
    yield e
    assert e.seconds > 3, f'it lost patience after {e.seconds} s'
    w.server.go_on()
    ended(w, 'the data owner')
    w.works()
    w.spent(2)


# ---- machines

@row('a batch that needs more memory than the machine has', 2, 'running 16 texts of 16 tokens takes [0-9.]+ MB of memory, and 50.33 MB are allowed; raise --memory, or lower --batch to 8', 20)
def _(w):
    library = w.base.program.parent / 'tests' / 'faults' / 'libsmall_machine.so'
    assert library.exists(), f'{library} is not built'
    small = {'env': {**os.environ, 'LD_PRELOAD': str(library)}}
    w.both()
    text = w.base.text(16, 1)
    (w.dir / 'texts').write_text(f'{text}\n' * 64)
    e = w.embed(None, process=small, file=w.dir / 'texts', parallel=4, batch=16)
    assert e.finish() == 2, e.err
    allowed = w.embed(None, process=small, file=w.dir / 'texts', parallel=4, batch=8)  # one job at a time
    assert allowed.finish() == 0, allowed.err
    assert [w.result(r) for r in allowed.rows()] == [w.expected(text)] * 64
    yield e


# ---- processors

@row('variant: not of this processor', 5, 'this processor does not run the avx512 kernels; use avx2', 20)
def _(w):
    w.under = ('valgrind', '-q')  # its processor has no AVX-512
    yield w.embed(dealer=1, connect=1, kernels='avx512')


if __name__ == '__main__':
    main()
