#!/usr/bin/env python3
"""Makes faults inside a stream of several chunks of keys during a run: a flipped bit, a hang-up, silence. They are on
either link to the dealer. The attacker has copies of the keys of both ends. The run ends with a sentence, both stores
burn the serial, and the next call is right.

  keys_test.py SUF [PATTERN]     from anywhere; some ten seconds. PATTERN picks rows
"""
import pathlib
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import AMPLE, HASTY, Between, FunctionWorld
from rows import main, row

COUNT, CHUNKS = 100_000, 3  # values of a call; least number of chunks of either bundle
WINDOW = {'key-window': 1}
CHUNK, HEADER = 5, struct.Struct('<IHH')


class Keys(Between):
    """A man in the middle between a party and the dealer. It waits for the n-th chunk of keys, and until its serial is
    claimed in both stores. Then `fault` gets the chunk's payload, and its result is passed on instead. n counts from 1;
    0: never. Chunks count from the second bundle on, because the first one belongs to an honest call."""

    def __init__(self, w, role, n, fault=None):
        self.w, self.n, self.fault, self.chunks, self.held, self.over = w, n, fault, 0, b'', threading.Event()
        certs = w.base.certs
        super().__init__(w.dealer.port(), certs / 'dealer', certs / role, self.pass_on)

    def pass_on(self, data):
        self.held, out = self.held + data, b''
        while len(self.held) >= HEADER.size:
            length, kind, _ = HEADER.unpack_from(self.held)
            size = HEADER.size + length
            if len(self.held) < size:
                break
            frame, self.held = self.held[:size], self.held[size:]
            if kind == CHUNK:
                self.chunks += 1
                if self.chunks == self.n:
                    claimed(self.w)
                    frame = frame[:HEADER.size] + self.fault(frame[HEADER.size:], self.over)
            out += frame
        return out


def claimed(w):
    """Waits until both runs have begun: serial 2 is claimed, and not finished."""
    end = time.monotonic() + AMPLE
    while not all(w.fates(store).get(2) == 'claimed' for store in ('model', 'data')):
        assert time.monotonic() < end, [w.fates(store) for store in ('model', 'data')]
        time.sleep(0.01)


def flip(payload, _):
    at = len(payload) // 2
    return payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1:]


def hang_up(*_):
    raise ConnectionError('on purpose')


def stall(payload, over):
    over.wait(AMPLE)
    return payload


FAULTS = {'flipped': flip, 'hung up': hang_up, 'silent': stall}
SAID = {'flipped': 'altered|found its bundle', 'hung up': 'ended the connection', 'silent': f'silent for {HASTY} s'}


def streamed(role, name, n):
    @row(f'the link of {role} to the dealer is {name} at chunk {n}', '3|4', SAID[name] if role == 'data' else 'the model owner|the dealer', 30, FunctionWorld)
    def _(w):
        plan = w.dir / 'digits.plan'
        w.base.suf('fn', 'plan', 'relu', '--lowering', 'Index/digits', '--out', plan)
        hasty = {'timeout': HASTY} if name == 'silent' else {}
        w.deal(plan=plan, **WINDOW).port()
        w.serve(plan=plan).port()
        w.works(plan=plan)  # the parties have met before
        w.server.end()
        keys = Keys(w, role, n, FAULTS[name])
        w.serve(plan=plan, **WINDOW, **(hasty if role == 'model' else {}), **({'dealer': keys.port} if role == 'model' else {})).port()
        yield w.embed(COUNT, plan=plan, **WINDOW, **(hasty if role == 'data' else {}), **({'dealer': keys.port} if role == 'data' else {}))
        keys.over.set()
        assert keys.chunks >= n, f'{keys.chunks} chunks came'
        assert w.dealer.said('a session ended'), w.dealer.err  # its seat is free
        assert w.server.said(f'a session ended: .*({SAID[name] if role == "model" else "the data owner|the dealer"})'), w.server.err
        w.server.end()
        w.serve(plan=plan).port()
        assert w.works(plan=plan)['serial'] == 3
        w.spent(2)


for role in ('data', 'model'):
    @row(f'a stream of keys to {role} of several chunks', 0, '', 30, FunctionWorld)
    def _(w, role=role):
        plan = w.dir / 'digits.plan'
        w.base.suf('fn', 'plan', 'relu', '--lowering', 'Index/digits', '--out', plan)
        w.deal(plan=plan, **WINDOW).port()
        keys = Keys(w, role, 0)
        w.serve(plan=plan, **WINDOW, **({'dealer': keys.port} if role == 'model' else {})).port()
        e = w.embed(COUNT, plan=plan, **WINDOW, **({'dealer': keys.port} if role == 'data' else {}))
        yield e
        assert e.rows()[0]['y'] == w.expected(COUNT)
        assert keys.chunks >= CHUNKS, f'{keys.chunks} chunks came'
    for name in FAULTS:
        for n in (2, CHUNKS):
            streamed(role, name, n)


if __name__ == '__main__':
    main()
