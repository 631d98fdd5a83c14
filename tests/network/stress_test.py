#!/usr/bin/env python3
"""Holders of valid certificates send frames that are not due, at full speed and in every phase. A role's memory hardly
grows, honest clients are answered, a running inference goes on, and SIGTERM ends at once. Each row runs with serve and
embed, and with fn serve and fn ask.

  stress_test.py SUF [PATTERN]     from anywhere; about a minute. PATTERN picks rows
"""
import itertools
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import statistics
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import AMPLE, HeldRuns, read_record
from rows import both_worlds, main, row

REFUSE, HELLO, ANNOUNCE, REQUEST = 1, 2, 6, 8  # kinds of frames
LENGTHS = [0, 1, 8 << 10, 1 << 20, 256 << 20, 2**32 - 1]
GROWTH_MB = 32
HELD, SOON = 30, 10  # seconds: of a silent client; limit for an honest one, even on a loaded machine
CLAIMED = 1  # in ledgers


def status_mb(role, field):
    with open(f'/proc/{role.process.pid}/status') as f:
        return int(re.search(field + r':\s+(\d+)', f.read())[1]) / 1024


def frame(kind, sequence, payload=b''):
    return struct.pack('<IHH', len(payload), kind, sequence) + payload


class Client:
    """A TLS connection with a role's certificate, which sends frames."""

    def __init__(self, w, role, port):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(w.base.certs / role / 'ca.pem')
        context.load_cert_chain(w.base.certs / role / 'cert.pem', w.base.certs / role / 'key.pem')
        self.tcp = socket.create_connection(('127.0.0.1', port), AMPLE)
        self.tcp.settimeout(AMPLE)
        try:
            self.tls = context.wrap_socket(self.tcp)
        except BaseException:
            self.tcp.close()
            raise

    def read(self, count):
        got = b''
        while len(got) < count:
            part = self.tls.recv(count - len(got))
            if not part:
                raise ConnectionError('hung up')
            got += part
        return got

    def frame(self):
        length, kind, _ = struct.unpack('<IHH', self.read(8))
        return kind, self.read(length)

    def close(self):
        (getattr(self, 'tls', None) or self.tcp).close()


def hello(w):
    """Returns the payload of an honest hello, from the record of an inference."""
    e = w.embed(record=w.dir / 'record')
    assert e.finish() == 0, e.err
    return next(payload for sent, _, kind, _, payload in read_record(w.dir / 'record') if sent and kind == HELLO)


def answered(w, role, port, greeting):
    """Returns the seconds from our hello to the answer, which is a hello."""
    client = Client(w, role, port)
    try:
        begun = time.monotonic()
        client.tls.sendall(frame(HELLO, 0, greeting))
        kind, _ = client.frame()
        seconds = time.monotonic() - begun
        assert kind == HELLO, f'answered by a frame of kind {kind}'
        return seconds
    finally:
        client.close()


def say(client, greeting, phase):
    """Runs the protocol honestly up to `phase`; returns the next sequence number."""
    if phase == 'secured':
        return 0
    client.tls.sendall(frame(HELLO, 0, greeting))
    if phase == 'request':  # at the dealer
        client.frame()
        client.tls.sendall(frame(REQUEST, 1, struct.pack('<6I', 0, 0, 3, 0, 1, 1) + os.urandom(16 + 5 * 32)))
        return 2
    client.frame()
    return 1


class Crowd:
    """Attackers (port, role, phase, header, flood) that come back after they are dropped; `flood` goes on sending at
    full speed."""

    def __init__(self, w, greeting, attackers):
        self.w, self.greeting, self.over, self.come = w, greeting, threading.Event(), 0
        self.threads = [threading.Thread(target=self.attack, args=a, daemon=True) for a in attackers]

    def attack(self, port, role, phase, length, flood):
        while not self.over.is_set():
            client = None
            try:
                if phase == 'connected':
                    with socket.create_connection(('127.0.0.1', port), AMPLE) as tcp:
                        tcp.sendall(b'\x16\x03\x01\x05\xdc\x01')
                        self.over.wait(HELD)
                    continue
                client = Client(self.w, role, port)
                sequence = say(client, self.greeting, phase)
                self.come += 1
                client.tls.settimeout(1)
                client.tls.sendall(struct.pack('<IHH', length, 99, sequence) + bytes(min(length, 100)))
                end = time.monotonic() + 2
                while flood and time.monotonic() < end and not self.over.is_set():
                    client.tls.sendall(bytes(1 << 16))
                client.tls.settimeout(0.3)
                end = time.monotonic() + HELD
                while time.monotonic() < end and not self.over.is_set():
                    try:
                        client.tls.recv(1)  # until it is dropped
                        break
                    except TimeoutError:
                        pass
            except OSError:
                self.over.wait(0.3)
            finally:
                if client:
                    client.close()

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join()


def attackers(port, phases):
    """Makes 64 attackers of every phase {(role, phase)} and length in turn. Each eighth sends empty frames, or the
    rest of its frame, at full speed."""
    return [(port, role, phase, length, i % 8 == 0) for i, ((role, phase), length) in
            zip(range(64), itertools.cycle(itertools.product(phases, LENGTHS)))]


# The dealer's attackers never take the model owner's seat, and serve's take none, so an honest client finds it free.
AT_DEALER = [('data', 'connected'), ('dealer', 'secured'), ('model', 'secured'), ('data', 'secured'), ('data', 'hello'), ('data', 'request')]
AT_MODEL = [('data', 'connected'), ('dealer', 'secured'), ('model', 'secured'), ('data', 'secured')]


def greeted(w, **deal):
    """Starts both, patient beyond HELD; returns the payload of an honest hello."""
    w.deal(timeout=2 * HELD, **deal).port()
    w.serve(timeout=2 * HELD, **{'at-once': deal.get('at-once')}).port()
    return hello(w)


def prompt(w, greeting, times=5):
    """Asserts that honest clients of both roles are answered soon."""
    for role, port in (('model', w.dealer.port()), ('data', w.server.port())):
        seconds = [answered(w, role, port, greeting) for _ in range(times)]
        assert statistics.median(seconds) < SOON, f'an honest hello of the {role} role took {seconds} s'


@both_worlds('64 attackers at deal and serve while two lanes run', 0, 'listening on port', 120)
def _(w):
    greeting = greeted(w, **{'at-once': 2}, **w.AHEAD)
    stores = ('data', 'second')
    both = lambda: [w.long(store=w.dir / store) for store in stores]
    roles = (w.dealer, w.server)
    peaks = lambda: [status_mb(r, 'VmHWM') for r in roles]
    idle = peaks()
    for store in stores:
        assert w.long(store=w.dir / store).finish() == 0
    allowed = [len(stores) * alone - (len(stores) - 1) * low for low, alone in zip(idle, peaks())]  # at worst both sessions need it at once
    last = [w.floor(store) for store in stores]
    running = both()
    while any(w.floor(store) == floor for store, floor in zip(stores, last)):  # a bundle has arrived and is claimed
        assert all(e.process.poll() is None for e in running), [e.err for e in running]
        time.sleep(0.01)
    with Crowd(w, greeting, attackers(w.dealer.port(), AT_DEALER)) as a, Crowd(w, greeting, attackers(w.server.port(), AT_MODEL)) as b:
        for e in running:
            assert e.finish(5 * AMPLE) == 0, e.err
        end = time.monotonic() + AMPLE
        while min(a.come, b.come) <= 32:
            assert time.monotonic() < end, f'only {a.come} and {b.come} attacks'
            time.sleep(0.1)
        prompt(w, greeting)
    for e in running:
        assert [r['y'] for r in e.rows()] == w.long_expected(), 'a running session differs from the simulator'
    grown = [peak - most for peak, most in zip(peaks(), allowed)]
    assert max(grown) < GROWTH_MB, f'the attackers took {grown} MB'
    w.works()
    assert roles == (w.dealer, w.server), 'a role had to be started again'
    w.server.signal(signal.SIGTERM)
    yield w.server


@both_worlds('empty frames while a party waits at the dealer', 0, 'listening on port', 60)
def _(w):
    greeting = greeted(w)  # a party waits at the dealer for a third of its patience
    before = status_mb(w.dealer, 'VmHWM')
    flooding = Client(w, 'data', w.dealer.port())
    say(flooding, greeting, 'request')
    flooding.tls.settimeout(1)
    sent = 0

    def flood():
        nonlocal sent
        try:
            while True:
                flooding.tls.sendall(bytes(1 << 16))
                sent += 1 << 16
        except OSError:
            pass
    thread = threading.Thread(target=flood)
    thread.start()
    longest = max(answered(w, 'model', w.dealer.port(), greeting) for _ in range(3))
    assert longest < SOON, f'an honest hello took {longest} s'
    thread.join()
    grown = status_mb(w.dealer, 'VmHWM') - before
    assert grown < GROWTH_MB, f'{sent} bytes of empty frames took {grown} MB'
    flooding.close()
    w.works()
    w.dealer.signal(signal.SIGTERM)
    yield w.dealer


@both_worlds('headers of 256 MiB from a wrong role where memory is limited', 0, 'listening on port', 60)
def _(w):
    w.both()
    w.works()
    server = w.server
    before = status_mb(server, 'VmRSS')
    # Less than three payloads. A thread reserves 8 MB of stack and an arena of 64 MB that it never touches. So there
    # may be no memory for a thread. Then the listener drops the oldest client in its handshake, whose connection is
    # reset. It comes again until all headers are sent.
    limit = int((status_mb(server, 'VmSize') + 640) * 2**20)
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    for count in (3, 16):
        clients, said, end = [], 0, time.monotonic() + AMPLE
        while said < count:
            assert time.monotonic() < end, f'{said} of {count} headers could be sent'
            try:
                clients.append(Client(w, 'dealer', server.port()))
                clients[-1].tls.sendall(struct.pack('<IHH', 256 << 20, 99, 0) + bytes(92))
                said += 1
            except OSError:
                time.sleep(0.05)
        for c in clients:
            quiet(c.tls.recv, 1)  # until it is refused for its certificate
            c.close()
        assert server.process.poll() is None, f'serve ended: {server.err[-2:]}'
    end = time.monotonic() + AMPLE
    while (held := status_mb(server, 'VmRSS') - before) >= GROWTH_MB and time.monotonic() < end:
        time.sleep(0.1)
    assert held < GROWTH_MB, f'{held} MB are held'
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    w.works()
    assert server is w.server, 'serve had to be started again'
    server.signal(signal.SIGTERM)
    yield server


def sigterm(name, phases):
    @both_worlds(f'SIGTERM of {name} with connections of every phase', 0, 'listening on port', 60)
    def _(w):
        greeting = greeted(w)
        role = w.dealer if name == 'deal' else w.server
        open_ones, going = [], []
        for i, (who, phase) in zip(range(24), itertools.cycle(phases)):
            if phase == 'connected':
                open_ones.append(socket.create_connection(('127.0.0.1', role.port())))
                continue
            client = Client(w, who, role.port())
            open_ones.append(client)
            if i < len(phases):  # the first of each goes on; the others are silent, or wait for a seat
                going.append(threading.Thread(target=lambda c=client, p=phase: quiet(say, c, greeting, p), daemon=True))
                going[-1].start()
        for t in going:
            t.join(3)  # it has finished its phase, or waits in it
        begun = time.monotonic()
        role.signal(signal.SIGTERM)
        role.process.wait(AMPLE)
        seconds = time.monotonic() - begun
        for c in open_ones:
            c.close()
        assert seconds < SOON, f'SIGTERM took {seconds:.2f} s'
        yield role


@row('SIGTERM of serve while eight run and two wait', 0, 'listening on port', 60)
def _(w):
    for role in (w.deal, w.serve):
        role(timeout=2 * HELD, **{'at-once': 8}).port()
    names = [f'lane{i}' for i in range(10)]
    start = lambda name, port=None: w.embed(store=w.dir / name, connect=port, timeout=2 * HELD)
    for name in names:  # fetches the masked weights
        assert start(name).finish() == 0
    inside = HeldRuns(w.server.port(), each=True)
    running = [start(name, inside.port) for name in names[:8]]
    assert inside.arrived(*running), [e.err for e in running]
    waiting = [start(name) for name in names[8:]]
    for e in waiting:
        assert e.said('others run first: place [12]'), e.err
    w.server.signal(signal.SIGTERM)
    for e in waiting:
        assert e.finish() == 3 and 'the model owner is stopping and takes nothing new' in e.err[-1], e.err
    assert w.server.process.poll() is None
    inside.go()
    wanted = w.expected()
    for e in running:
        assert e.finish() == 0 and w.result(e.rows()[0]) == wanted, e.err
    yield w.server
    for name in names[8:]:
        assert list(w.fates(name).values()) == ['done'], 'a serial was spent for a text that was refused'


def quiet(f, *args):
    try:
        f(*args)
    except OSError:
        pass


sigterm('deal', AT_DEALER)
sigterm('serve', [*AT_MODEL, ('data', 'hello')])

if __name__ == '__main__':
    main()
