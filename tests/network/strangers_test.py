#!/usr/bin/env python3
"""Runs strangers and wrong certificates. Each gets one sentence and the right exit code in time, and the next inference
works. Each row runs with serve and embed, and with fn serve and fn ask. Quick ones also run with gate serve and gate ask.

  strangers_test.py SUF [PATTERN]     from anywhere; some ten seconds. PATTERN picks rows
"""
import pathlib
import re
import resource
import shutil
import signal
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import Tap
from rows import both_worlds, each_world, main

# ---- certificates

@each_world('port in use', 5, 'cannot listen on 127.0.0.1')
def _(w):
    w.deal().port()
    yield w.serve(listen=f'127.0.0.1:{w.dealer.port()}')


OWNERS = {'dealer': ('deal', 'deal', 'the dealer'), 'model': ('serve', '((fn|gate) )?serve', 'the model owner'), 'data': ('embed', '(embed|(fn|gate) ask)', 'the data owner')}
for own, (role, says, owner) in OWNERS.items():
    for other in (o for o in OWNERS if o != own):
        def case(w, role=role, other=other):
            yield getattr(w, role)(certs=w.base.certs / other, **({} if role == 'deal' else {'dealer': 1} if role == 'serve' else {'dealer': 1, 'connect': 1}))
        each_world(f'{role} with the folder {other}', 4,
                    f"certs/{other} holds the certificate of another role, {OWNERS[other][2]}'s; {says} needs {owner}'s$")(case)


def folder(w, name='data', source=None):
    """Copies a role's folder, to be broken."""
    return shutil.copytree((source or w.base.certs) / name, w.dir / 'own')


def lone_embed(w, **flags):
    return w.embed(dealer=1, connect=1, **flags)


@each_world('key readable by others', 2, 'can be read by others; chmod 600')
def _(w):
    (folder(w) / 'key.pem').chmod(0o640)
    yield lone_embed(w, certs=w.dir / 'own')


@each_world('key missing', 2, 'cannot use .*key.pem')
def _(w):
    (folder(w) / 'key.pem').unlink()
    yield lone_embed(w, certs=w.dir / 'own')


@each_world('key of another certificate', 2, 'cannot use .*key.pem')
def _(w):
    shutil.copy(w.base.certs / 'model' / 'key.pem', folder(w) / 'key.pem')
    yield lone_embed(w, certs=w.dir / 'own')


@each_world('certificate of another CA than its own ca.pem', 2, r'cannot use .*own/cert.pem \(it is of another CA than ours, by .*own/ca.pem\)')
def _(w):
    shutil.copy(w.base.certs / 'data' / 'ca.pem', folder(w, source=w.base.strangers) / 'ca.pem')
    yield lone_embed(w, certs=w.dir / 'own')


@each_world('embed does not trust serve', 4, 'the certificate of the model owner at .* is not trusted')
def _(w):
    w.both()
    yield w.embed(certs=w.base.strangers)
    assert w.server.said('refused our certificate')
    w.works()


@each_world('serve does not trust embed', 4, 'refused our certificate')
def _(w):
    w.both()
    own = folder(w, source=w.base.strangers) / 'ca.pem'  # embed trusts both CAs, serve one
    own.write_bytes(own.read_bytes() + (w.base.certs / 'data' / 'ca.pem').read_bytes())
    yield w.embed(certs=w.dir / 'own')
    assert w.server.said('the certificate of the client at .* is not trusted')
    w.works()


@each_world('deal does not trust embed and serve', 4, 'the certificate of the dealer at .* is not trusted')
def _(w):
    w.deal(certs=w.base.strangers).port()
    w.serve().port()
    yield w.embed()
    assert w.server.said('the certificate of the dealer at .* is not trusted')
    w.dealer.kill()
    w.works()


@each_world('--connect names the dealer', 4, 'is that of the dealer, not of the model owner')
def _(w):
    w.both()
    yield w.embed(connect=w.dealer.port())
    w.works()


@each_world('--dealer names the model owner', 4, 'is that of the model owner, not of the dealer')
def _(w):
    w.both()
    yield w.embed(dealer=w.server.port())
    w.works(connect=w.serve().port()) if w.server.process.poll() is not None else w.works()


@each_world('another key under the same role', 4, 'shows another key than the one this store knows')
def _(w):
    w.both()
    w.works()
    w.server.kill(), w.dealer.kill()
    w.deal(certs=w.base.strangers).port()
    w.serve(certs=w.base.strangers, store=w.dir / 'model2').port()
    yield w.embed(certs=w.base.strangers)


# ---- strangers

@each_world('embed meets one that speaks no TLS', 3, 'ended the connection in the TLS handshake|speaks no TLS')
def _(w):
    door = socket.create_server(('127.0.0.1', 0))
    e = w.embed(dealer=1, connect=door.getsockname()[1])
    peer, _ = door.accept()
    peer.sendall(b'HTTP/1.0 400 Bad Request\r\n\r\n')
    yield e
    peer.close()


@both_worlds('embed meets one that is silent', 3, 'was silent for 2 s in the TLS handshake', 5)
def _(w):
    door = socket.create_server(('127.0.0.1', 0))
    yield w.embed(dealer=1, connect=door.getsockname()[1], timeout=2)


@each_world('serve meets one that speaks no TLS', 0, 'showed no certificate or spoke no TLS 1.3')
def _(w):
    w.both()
    with socket.create_connection(('127.0.0.1', w.server.port())) as stranger:
        stranger.sendall(b'GET / HTTP/1.0\r\n\r\n')
        assert w.server.said('showed no certificate or spoke no TLS 1.3')
    w.works()
    w.server.signal(signal.SIGTERM)
    yield w.server


@both_worlds('serve meets silent strangers during a session', 0, 'was silent for 8 s in the TLS handshake', 20)
def _(w):
    w.deal().port()
    w.serve(timeout=8).port()
    strangers = [socket.create_connection(('127.0.0.1', w.server.port())) for _ in range(20)]
    w.works()
    assert not w.server.said('was silent', 0), 'silent strangers held up the session'  # it ended before the first of them
    assert w.server.said('was silent for 8 s')
    for s in strangers:
        s.close()
    w.server.signal(signal.SIGTERM)
    yield w.server


class Crowd:
    """Strangers who send the first bytes of a TLS greeting, one a second each, and come back when dropped."""
    GREETING = bytes.fromhex('16030105dc010005d80303') + bytes(1500)

    def __init__(self, port, count=200):
        self.port, self.strangers, self.over = port, [None] * count, threading.Event()
        self.said = [0] * count
        self.thread = threading.Thread(target=self.drip)

    def drip(self):
        ways = 10
        for turn in range(10**6):
            for i in range(turn % ways, len(self.strangers), ways):
                self.tell(i)
            if self.over.wait(1 / ways):
                return

    def tell(self, i):
        try:
            if not self.strangers[i]:
                self.strangers[i], self.said[i] = socket.create_connection(('127.0.0.1', self.port), 1), 0
            self.strangers[i].sendall(self.GREETING[self.said[i]:self.said[i] + 1])
            self.said[i] += 1
        except OSError:
            if self.strangers[i]:
                self.strangers[i].close()
            self.strangers[i] = None

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for s in filter(None, self.strangers):
            s.close()


def peak_mb(role):
    with open(f'/proc/{role.process.pid}/status') as f:
        return int(re.search(r'VmHWM:\s+(\d+)', f.read())[1]) / 1024


@both_worlds('200 strangers drip a byte a second', 0, 'was dropped in its TLS handshake', 40)
def _(w):
    w.deal(streams=16).port()
    w.serve(streams=16).port()
    w.works(*w.BIG)
    roles, before = (w.server, w.dealer), [peak_mb(r) for r in (w.server, w.dealer)]
    with Crowd(w.server.port()), Crowd(w.dealer.port()):
        for r in roles:
            assert r.said('was dropped in its TLS handshake'), r.err[-3:]
        for _ in range(3):  # the further streams of a session are no strangers
            w.works(streams=16)
        # A session that runs while others come and go.
        second = []
        first = w.embed(*w.BIG, connect=Tap(w.server.port(), 12_000, lambda: (second.append(w.embed(store=w.dir / 'data2', timeout=20)), second[0].finish())).port, timeout=20)
        assert first.finish() == 0, first.err
        assert second[0].finish() == 0, second[0].err
    assert roles == (w.server, w.dealer), 'a role had to be started again'
    grown = [peak_mb(r) - b for r, b in zip(roles, before)]
    assert max(grown) < 32, f'strangers took {grown} MB'
    w.server.signal(signal.SIGTERM)
    yield w.server


@both_worlds('silent strangers want all descriptors', 0, 'was dropped in its TLS handshake', 40)
def _(w):
    few = {'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
    w.deal(process=few, timeout=20, streams=16).port()
    server = w.serve(process=few, timeout=20, streams=16)
    strangers = [socket.create_connection(('127.0.0.1', r.port())) for r in (w.dealer, w.server) for _ in range(60)]
    for _ in range(3):  # over fewer streams than requested
        w.works(timeout=20, streams=16)
    for s in strangers:
        s.close()
    assert w.server is server, 'serve had to be started again'
    server.signal(signal.SIGTERM)
    yield server


if __name__ == '__main__':
    main()
