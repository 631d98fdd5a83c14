#!/usr/bin/env python3
"""Tests masked weights between real processes. The seed of B is lost or replaced, or bits of the data owner's file are
flipped. In one case a stranger with a copy of the model owner's key intervenes once. The next result is right each
time.

  setup_test.py SUF [PATTERN]     from anywhere; about five seconds. PATTERN picks rows
"""
import contextlib
import hashlib
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import AMPLE, read_record
from rows import main, row

HELLO, WELCOME, SETUP_ASK, CHUNK = 2, 3, 4, 5
TAG = 16  # bytes before the data of a chunk


def right(w, y, text='the dog'):
    assert y == w.base.simulate([text])[0], 'the result differs from the simulator'


def restart(w, change):
    """Restarts the model owner and changes its store in between."""
    w.server.end()
    change(w.dir / 'model')
    w.serve().port()


def set_up(w):
    return sorted((w.dir / 'data').glob('*.w_hat'))


# ---- the seed of B

@row('seed of B lost', 0, '')
def _(w):
    w.both()
    w.works()
    restart(w, lambda store: (store / 'b.seed').unlink())
    yield w.embed()
    right(w, w.rows()[0]['y'])
    assert w.rows()[0]['bytes']['setup'] > 0 and len(set_up(w)) == 2
    assert w.works()['bytes']['setup'] == 0


@row('seed of B lost, with audits', 0, 'found nothing wrong')
def _(w):
    w.both()
    w.works()
    restart(w, lambda store: (store / 'b.seed').unlink())
    yield w.embed(audit=2)
    right(w, w.rows()[0]['y'])


@row('seed of B replaced, and put back', 0, '')
def _(w):
    w.both()
    w.works()
    kept = (w.dir / 'model' / 'b.seed').read_bytes()
    restart(w, lambda store: (store / 'b.seed').write_bytes(bytes(32)))
    yield w.embed()
    right(w, w.rows()[0]['y'])
    restart(w, lambda store: (store / 'b.seed').write_bytes(kept))
    assert w.works()['bytes']['setup'] == 0, 'W_hat of the old seed was sent again'


# ---- the data owner's file

def tag(key, data, number=0):
    """GMAC of a chunk (suf/net/tags.hpp), from the openssl command."""
    nonce = struct.pack('<Q4x', number).hex()
    run = subprocess.run(['openssl', 'mac', '-cipher', 'AES-128-GCM', '-macopt', f'hexkey:{key.hex()}', '-macopt', f'hexiv:{nonce}', '-binary', 'GMAC'],
                         input=data, capture_output=True, check=True)
    return run.stdout


def chunk_key(plan, weights):
    return hashlib.sha256(b'suf setup' + plan + weights).digest()[:16]


for what, tagged, sentence in (('', False, 'were altered; they are fetched again'), (', tags made right', True, 'are not those of this session; they are fetched again')):
    def case(w, tagged=tagged):
        w.both()
        plan = bytes.fromhex(w.works()['plan'])
        file, = set_up(w)
        honest = bytearray(file.read_bytes())
        bad, (length,) = bytearray(honest), struct.unpack_from('<I', honest)
        at = 4 + length + 32 + 4  # of the only chunk
        bad[-1000] ^= 1
        if tagged:
            key = chunk_key(plan, bytes.fromhex(file.stem))
            assert tag(key, honest[at + TAG:]) == honest[at:at + TAG]
            bad[at:at + TAG] = tag(key, bad[at + TAG:])
        file.write_bytes(bad)
        yield w.embed()
        right(w, w.rows()[0]['y'])
        assert w.rows()[0]['bytes']['setup'] > 0 and file.read_bytes() == honest
        assert w.works()['bytes']['setup'] == 0
    row(f'a bit of W_hat flipped{what}', 0, sentence)(case)


# ---- a stranger with a copy of the model owner's key

class StandIn:
    """Replays the model owner's frames of a record once, then hangs up. One bit of W_hat is flipped, with correct
    tags and welcome. It has the model owner's key and weights id. It lacks the secret that keys MACs, which comes
    from the dealer."""

    def __init__(self, w, record):
        frames = {kind: payload for sent, _, kind, _, payload in read_record(record) if not sent and kind in (HELLO, WELCOME, CHUNK)}
        hello, welcome, data = frames[HELLO], frames[WELCOME], bytearray(frames[CHUNK][TAG:])
        weights = welcome[:32]
        data[-1000] ^= 1
        self.chunk = tag(chunk_key(hello[12:44], weights), data) + data
        self.hello, self.welcome = hello, weights + hashlib.sha256(data).digest() + welcome[64:]
        c = self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        c.minimum_version, c.verify_mode, c.num_tickets = ssl.TLSVersion.TLSv1_3, ssl.CERT_REQUIRED, 0
        own = w.base.certs / 'model'
        c.load_cert_chain(own / 'cert.pem', own / 'key.pem')
        c.load_verify_locations(own / 'ca.pem')
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port, self.asked = self.listener.getsockname()[1], None
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        near, _ = self.listener.accept()
        near.settimeout(AMPLE)
        with self.context.wrap_socket(near, server_side=True) as s:
            frame = lambda kind, number, payload: s.sendall(struct.pack('<IHH', len(payload), kind, number) + payload)
            self.receive(s)
            frame(HELLO, 0, self.hello), frame(WELCOME, 1, self.welcome)
            self.asked = self.receive(s)
            frame(CHUNK, 2, self.chunk)
            self.receive(s)  # the frames that follow
            with contextlib.suppress(OSError):
                s.unwrap()

    def receive(self, s):
        def exactly(n):
            data = b''
            while len(data) < n:
                more = s.recv(n - len(data))
                assert more, 'the data owner hung up'
                data += more
            return data
        length, kind, _ = struct.unpack('<IHH', exactly(8))
        return kind, exactly(length)


for had in (False, True):
    def case(w, had=had):
        w.both()
        e = w.embed(record=w.dir / 'record')
        assert e.finish() == 0, e.err
        file, = set_up(w)
        honest = file.read_bytes()
        if not had:
            file.unlink()
        stand_in = StandIn(w, w.dir / 'record')
        yield w.embed(connect=stand_in.port)
        stand_in.thread.join(10)
        kind, asked = stand_in.asked
        assert kind == SETUP_ASK and asked[:5] == bytes([0, 1, 0, 0, 0]), 'the data owner does not ask for what was named'
        assert asked[5:21].hex() == w.lane('data').name, 'the data owner does not name its only lane'
        # one session, no delivery, a loopback address; no link, no receipts, and the only dealer
        assert asked[21:] == bytes([1, 0, 0, 0]) + bytes(8) + bytes([1]) + bytes(16 + 1 + 32), 'the data owner reports something else'
        assert set_up(w) == ([file] if had else []) and not list((w.dir / 'data').glob('*.part'))
        assert (w.works()['bytes']['setup'] > 0) == (not had)
        assert file.read_bytes() == honest
    row(f'a stand-in with the key of P0, {"W_hat there" if had else "before the first session"}', 3, 'the model owner ended the connection')(case)


@row('a stand-in with the keys of P0 and another B', 3, 'the model owner ended the session|the dealer waited in vain')
def _(w):
    w.deal().port()
    w.serve().port()
    stolen, honest = w.dir / 'stolen', w.server
    stolen.mkdir()
    shutil.copy(w.dir / 'model' / 'weights.key', stolen)
    (stolen / 'b.seed').write_bytes(os.urandom(32))
    with socket.create_server(('127.0.0.1', 0)) as s:
        nobody = s.getsockname()[1]
    stand_in = w.serve(store=stolen, dealer=nobody).port()
    w.server = honest
    yield w.embed(connect=stand_in)
    assert not set_up(w)
    w.works()


if __name__ == '__main__':
    main()
