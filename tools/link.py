#!/usr/bin/env python3
"""Measures online time over a link of given delay and rate. P0 and P1 are in network namespaces of their own, with
build/link between them. Needs root.

    link.py [--delay-ms 10] [--mbit 100 1000] [--tokens 32 128] [--variant lan wan] [--runs 5] [--sessions 1] [--parallel 1] [--batch 1] [--pin machine|parties|sessions] [--route "congctl cubic"]

* The dealer is in a third namespace with a wire without delay to each party. It makes its bundles in advance.
* --delay-ms is one way (10: a round trip of 20 ms); 0 uses loopback instead of build/link.
* --variant: variants of the plan, each over every link. With "auto" the roles measure the link and choose.
* --sessions N runs N independent pairs of parties at once.
* --parallel N: embed has N sessions with its model owner.
* --batch K: K texts are one job, timed as a whole.
* --pin parties: P0 has core 0 and P1 core 1. sessions: pair i has core i. machine: all share both.

Every timed output is compared with the simulator. The prediction of suf estimate is beside each online time. It uses
the cost model for the requested link and the machine of the profile cpu. If several variants are named, a last table
has the fastest one for each link and length. It also has the choice of "auto". "with keys" adds the time of dealing and
fetching keys. Prints tables and appends JSON lines to bench/results/link.jsonl.
"""
import argparse
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tests')]
import bench
import machine
from roles import Role

SUF = ROOT / 'build/suf'


def sh(command):
    subprocess.run(command.split(), check=True)


class Net:
    """Namespaces of dealer, data owner and model owner, connected by wires. On loopback the two parties share one."""

    def __init__(self, a):
        self.a, self.link, self.shaped = a, None, a.delay_ms > 0
        self.name = {who: f'suf-{who}-{os.getpid()}' for who in ('dealer', 'data', 'model')}

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        for ns in self.name.values():
            sh(f'ip netns add {ns}')
            sh(f'ip -n {ns} link set lo up')
        for i, who in enumerate(('data', 'model'), 1):
            sh(f'ip link add d{i} netns {self.name["dealer"]} type veth peer name dealer netns {self.name[who]}')
            for ns, device, host in ((self.name['dealer'], f'd{i}', 1), (self.name[who], 'dealer', 2)):
                sh(f'ip -n {ns} addr add 10.77.{i}.{host}/24 dev {device}')
                sh(f'ip -n {ns} link set {device} up')
        if self.shaped:
            self.link = subprocess.Popen([ROOT / 'build/link', self.name['model'], self.name['data'], str(int(self.a.delay_ms * 1000)),
                                          str(self.a.mbit), '50', str(self.a.lose)], stdout=subprocess.PIPE, text=True)
            assert self.link.stdout.readline() == 'link: ready\n', 'build/link does not start'
            for host, who in ((1, 'model'), (2, 'data')):
                sh(f'ip -n {self.name[who]} addr add 10.77.0.{host}/24 dev link0')
                sh(f'ip -n {self.name[who]} link set link0 txqueuelen 10000 up')  # the queue that drops is build/link's
                sh(f'ip -n {self.name[who]} route change 10.77.0.0/24 dev link0 src 10.77.0.{host} {self.a.route}')
                if self.a.after_idle is not None:
                    subprocess.run(self.inside(who) + ['tee', '/proc/sys/net/ipv4/tcp_slow_start_after_idle'], input=str(self.a.after_idle), text=True,
                                   stdout=subprocess.DEVNULL, check=True)

    def place(self, who):
        return self.name['model' if who == 'data' and not self.shaped else who]

    def inside(self, who):
        return ['ip', 'netns', 'exec', self.place(who)]

    def model(self):
        return '10.77.0.1' if self.shaped else '127.0.0.1'

    def dealer(self, who):
        return '10.77.1.1' if self.place(who) == self.name['data'] else '10.77.2.1'

    def retransmitted(self):
        """Returns the number of TCP segments that both parties have retransmitted so far."""
        total = 0
        for ns in {self.place('model'), self.place('data')}:
            names, values = [line.split() for line in subprocess.check_output(['ip', 'netns', 'exec', ns, 'grep', '^Tcp:', '/proc/net/snmp'], text=True).splitlines()]
            total += int(values[names.index('RetransSegs')])
        return total

    def end(self):
        """Ends build/link and returns its counts."""
        if not self.link:
            return None
        self.link.send_signal(signal.SIGINT)
        out = self.link.communicate()[0]
        self.link = None
        return json.loads(out)

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.end()
        for ns in self.name.values():
            subprocess.run(['ip', 'netns', 'del', ns], stderr=subprocess.DEVNULL)

    @contextlib.contextmanager
    def within(self, who):
        """Lets this thread make its sockets in the namespace of a role."""
        setns = ctypes.CDLL(None, use_errno=True).setns
        with open('/proc/thread-self/ns/net') as home, open(f'/run/netns/{self.place(who)}') as there:
            assert setns(there.fileno(), 0) == 0
            try:
                yield
            finally:
                assert setns(home.fileno(), 0) == 0

    def probe(self, megabytes=200):
        """Returns the median round trip of a byte in ms, and MB/s of one long transfer from P1 to P0."""
        with self.within('model'):
            listener = socket.create_server(('0.0.0.0', 0))
        with self.within('data'):
            client = socket.create_connection((self.model(), listener.getsockname()[1]))
        server, _ = listener.accept()
        trips, seconds = [], []
        for s in (client, server):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(15):
            t = time.monotonic()
            for a, b in ((client, server), (server, client)):
                a.sendall(b'x')
                b.recv(1)
            trips.append(time.monotonic() - t)

        def sink():
            left, t = megabytes * 1000000, time.monotonic()
            while left > 0:
                left -= len(server.recv(1 << 20))
            seconds.append(time.monotonic() - t)
        reader = threading.Thread(target=sink)
        reader.start()
        for _ in range(megabytes):
            client.sendall(bytes(1000000))
        reader.join()
        for s in (client, server, listener):
            s.close()
        return statistics.median(trips) * 1e3, megabytes / seconds[0]


class Timed(Role):
    """A role whose stdout lines are kept with their time."""

    def read_out(self):
        self.lines = []
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), json.loads(line)))


CORES = {'machine': (('0-1', '0-1'),), 'parties': (('0', '1'),), 'sessions': (('0', '0'), ('1', '1'))}  # of both parties, for each session


def predicted(a, tokens, variant, plan):
    """Returns the profile of this run's link and cores, and the online ms of the cost model with preprocessed keys."""
    own = CORES[a.pin][0]
    link = f'cpu,rtt={2 * a.delay_ms:g}ms,rate={a.mbit:g}M,duplex=1' if a.delay_ms else 'cpu'
    profile = f'{link},cores={2 if own[0] == "0-1" else 1},machines={1 if own[0] == own[1] else 2}'
    told = subprocess.check_output([SUF, 'estimate', '--plan', plan, '--tokens', str(tokens), '--batch', str(a.batch), '--variant', variant, '--profile', profile, '--json'], text=True)
    return profile, json.loads(told)['predicted']['online_ms']


def session(net, a, tokens, variant, number, folder, files, started):
    """Starts dealer and model owner of one pair. Returns a function that starts its data owner for a file of texts. Adds
    processes to `started`."""
    folder.mkdir()
    cores = CORES[a.pin][number % len(CORES[a.pin])]
    ahead = a.ahead and variant != 'auto'  # the dealer makes bundles of one variant

    def start(who, core, *command):
        command = [*net.inside(who), *(['chrt', '--rr', '1'] if a.realtime else []), 'taskset', '-c', core, SUF, *command, '--plan', files['plan'], '--certs', files['certs']]
        started.append(Timed(command))
        return started[-1]
    count = 2 * a.runs + 4  # bundles of a session's fetch, because one may run more texts than another
    keys = ['--ahead', count] if ahead else []
    deal = start('dealer', '0-1', 'deal', '--listen', '0.0.0.0:0', '--state', folder / 'state',
                 *(['--tokens', tokens, '--texts', a.batch, '--count', count, '--variant', variant] if ahead else []))
    port = deal.port()
    serve = start('model', cores[0], 'serve', '--model', files['model'], '--dealer', f'{net.dealer("model")}:{port}', '--listen', '0.0.0.0:0',
                  '--store', folder / 'model', '--at-once', a.parallel, *keys)
    at = serve.port(120)  # it reads a model first
    how = ['--parallel', a.parallel, '--batch', a.batch] if at_once(a) > 1 else ['--one-by-one']
    return lambda texts: start('data', cores[1], 'embed', '--vocab', files['vocab'], '--dealer', f'{net.dealer("data")}:{port}',
                               '--connect', f'{net.model()}:{at}', '--store', folder / 'data', '--variant', variant, *how, *keys, '--json', '--json-file', texts)


def at_once(a):
    """Returns the texts that run at the same time in one pair."""
    return a.parallel * a.batch


def embedded(net, a, tokens, variant, files, folder, runs, sessions):
    """Runs the data owners of `sessions` pairs at once. Each has `runs` times as many texts as run at once. Returns them
    when finished. Before that, sessions side by side make their lanes and fetch their keys."""
    started = []
    texts = bench.texts(files['model'], tokens, (runs + 2) * at_once(a))
    lines = [json.dumps({'id': str(i), 'text': t}) + '\n' for i, t in enumerate(texts)]
    first = folder / 'first.jsonl'
    first.write_text(''.join(lines[runs * at_once(a):]))
    files['texts'].write_text(''.join(lines[:runs * at_once(a)]))
    try:
        pairs = [session(net, a, tokens, variant, i, folder / str(i), files, started) for i in range(sessions)]
        for file in [first] * (a.parallel > 1) + [files['texts']]:
            embeds = [embed(file) for embed in pairs]
            for e in embeds:
                assert e.finish(900) == 0, f'embed failed: {e.err}'
    finally:
        for role in started:
            role.kill()
    return embeds


def chosen(a, tokens, files):
    """Returns the variant that the roles agree on over this link."""
    with tempfile.TemporaryDirectory(dir=a.scratch) as folder, Net(a) as net:
        folder = pathlib.Path(folder)
        e, = embedded(net, a, tokens, 'auto', {**files, 'texts': folder / 'texts.jsonl'}, folder, 1, 1)
        return e.lines[0][1]['variant']


def measure(net, a, tokens, variant, files):
    """Measures one row: `sessions` pairs at once on the same texts. The first texts of each are a warm-up (first_ms)."""
    sent_again = net.retransmitted()
    with tempfile.TemporaryDirectory(dir=a.scratch) as folder:
        folder = pathlib.Path(folder)
        files = {**files, 'texts': folder / 'texts.jsonl'}
        embeds = embedded(net, a, tokens, variant, files, folder, a.runs + 1, a.sessions)
        taken = embeds[0].lines[0][1]['variant']  # for "auto", the agreed variant
        expected = [json.loads(line)['y'] for line in subprocess.check_output(
            [SUF, 'simulate', '--model', files['model'], '--plan', files['plan'], '--variant', taken, '--json', '--json-file', files['texts']], text=True).splitlines()]
    rows = []
    for e in embeds:
        assert [row['y'] for _, row in e.lines] == expected and all(row['n'] == tokens for _, row in e.lines), 'a timed result differs from the simulator'
        rows += [row for _, row in e.lines[at_once(a):]]
    # The texts that all pairs finished while all of them ran. embed prints them in order.
    begin, end = max(e.lines[at_once(a) - 1][0] for e in embeds), min(e.lines[-1][0] for e in embeds)
    inside = sum(begin < at <= end for e in embeds for at, _ in e.lines)
    first, online = rows[0], sorted(row['ms']['online'] for row in rows)
    size = first['bytes']
    profile, foretold = predicted(a, tokens, taken, files['plan'])
    median = statistics.median(online)
    out = {'tokens': tokens, 'variant': taken, 'asked': variant, 'runs': len(rows), 'verified': True, 'online_ms': median, 'predicted_ms': foretold, 'predicted_by': profile,
           'predicted_x': foretold / median, 'online_least_ms': online[0], 'online_most_ms': online[-1],
           'first_ms': statistics.median(e.lines[0][1]['ms']['online'] for e in embeds),
           'sum_ms': statistics.median(sum(row['ms'].values()) for row in rows), 'first_sum_ms': statistics.median(sum(e.lines[0][1]['ms'].values()) for e in embeds),
           'p1_ms': bench.operators([row['times']['p1']['by'] for row in rows])['total'], 'flights': first['flights'],
           'bytes': [size['p0'], size['p1']], 'floor_ms': first['flights'] * a.delay_ms + (size['p0'] + size['p1']) * 8e-3 / a.mbit * (a.delay_ms > 0),
           'retransmitted': net.retransmitted() - sent_again}
    if a.ahead and variant != 'auto':
        out['texts_per_s'] = inside / (end - begin)
    return out


HEAD = ('tokens', 'variant', 'ms one way', 'Mb/s', 'round trip ms', 'MB/s', 'sessions', 'parallel', 'batch', 'cores by', 'flights', 'MB', 'floor ms', 'online ms', 'predicted', 'predicted / online', 'least', 'most',
        'first', 'first with keys', 'with keys', 'sent again', 'texts/s', 'link CPU %', 'late p99 us')


def cells(row):
    link = row['link']
    return [row['tokens'], row['variant'], f'{row["delay_ms"]:g}', f'{row["mbit"]:g}' if link else '', f'{row["round_trip_ms"]:.2f}', f'{row["transfer_mb_s"]:.0f}', row['sessions'], row['parallel'], row['batch'], row['pin'],
            row['flights'], f'{sum(row["bytes"]) / 1e6:.2f}', f'{row["floor_ms"]:.0f}', f'{row["online_ms"]:.0f}', f'{row["predicted_ms"]:.0f}', f'{row["predicted_x"]:.2f}',
            f'{row["online_least_ms"]:.0f}', f'{row["online_most_ms"]:.0f}', f'{row["first_ms"]:.0f}', f'{row["first_sum_ms"]:.0f}', f'{row["sum_ms"]:.0f}', row['retransmitted'], f'{row["texts_per_s"]:.2f}' if 'texts_per_s' in row else '',
            f'{link["cpu_s"] / link["wall_s"] * 100:.1f}' if link else '', f'{link["a_to_b"]["late_us"][1]:.0f}' if link else '']


def timed(a, tokens, variant, files):
    """Measures one row over a link of its own, and appends it to a.out."""
    print(f'{tokens} tokens, {a.delay_ms:g} ms one way, {a.mbit:g} Mb/s, {variant} ..', file=sys.stderr)
    with Net(a) as net:
        trip, rate = net.probe()
        facts = {'schema': 'suf.link/1', **machine.facts(), 'delay_ms': a.delay_ms, 'mbit': a.mbit if net.shaped else None, 'lose': a.lose, 'round_trip_ms': trip, 'transfer_mb_s': rate,
                 'sessions': a.sessions, 'parallel': a.parallel, 'batch': a.batch, 'pin': a.pin, 'ahead': a.ahead, 'realtime': a.realtime, 'note': a.note, 'load': os.getloadavg()[0],
                 'route': a.route, 'slow_start_after_idle': a.after_idle}
        row = {**facts, **measure(net, a, tokens, variant, files), 'link': net.end()}
    with open(a.out, 'a') as f:
        f.write(json.dumps(row) + '\n')
    return row


def choice(a, tokens, rows, files):
    """Compares the variants over one link: the fastest one, the choice of "auto", and how much slower that is."""
    auto = next((row['variant'] for row in rows if row['asked'] == 'auto'), None) or chosen(a, tokens, files)
    online = {row['variant']: row['online_ms'] for row in sorted(rows, key=lambda row: row['asked'] != 'auto')}  # a named variant goes before "auto"
    fastest = min(online, key=online.get)
    loss = f'{100 * (online[auto] / online[fastest] - 1):.1f}' if auto in online else 'not measured'
    return [tokens, f'{a.delay_ms:g}', f'{a.mbit:g}' if a.delay_ms else '', fastest, f'{online[fastest]:.0f}', auto, loss]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--model')
    p.add_argument('--plan')
    p.add_argument('--delay-ms', type=float, nargs='+', default=[0, 10, 20])
    p.add_argument('--mbit', type=float, nargs='+', default=[1000])
    p.add_argument('--variant', nargs='+', default=['auto'])
    p.add_argument('--lose', type=int, default=0, help='every so many packets, of up to 64 KB, one is lost; 0: none')
    p.add_argument('--tokens', type=int, nargs='+', default=[32, 128])
    p.add_argument('--runs', type=int, default=5)
    p.add_argument('--sessions', type=int, default=1)
    p.add_argument('--parallel', type=int, default=1, help='sessions of embed')
    p.add_argument('--batch', type=int, default=1, help='texts of a job')
    p.add_argument('--pin', choices=('machine', 'parties', 'sessions'), default='machine')
    p.add_argument('--ahead', action='store_true', help='all bundles first, from the dealer\'s --count; then texts/s means something')
    p.add_argument('--after-idle', type=int, help='net.ipv4.tcp_slow_start_after_idle')
    p.add_argument('--route', default='', help='attributes of both parties\' routes: "congctl cubic initcwnd 100"')
    p.add_argument('--realtime', action='store_true', help='real-time priority for the roles, on a machine that has other work')
    p.add_argument('--scratch', help='where the stores of a run are')
    p.add_argument('--note', default='', help='goes into the line')
    p.add_argument('--out', default=str(ROOT / 'bench/results/link.jsonl'))
    a = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    model, plan = (a.model or machine.fetched(), a.plan) if a.plan else machine.model_and_plan(a.model, 256, *['--keys', 'ahead'] * a.ahead)
    table, choices, delays, rates = [], [], a.delay_ms, a.mbit
    with tempfile.TemporaryDirectory(dir=a.scratch) as folder:
        certs = pathlib.Path(folder) / 'certs'
        subprocess.run([SUF, 'certs', certs], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        files = {'model': model, 'plan': plan, 'certs': certs, 'vocab': machine.vocabulary(model, plan)}
        for a.delay_ms, a.mbit, tokens in itertools.product(delays, rates, a.tokens):
            if a.delay_ms == 0 and a.mbit != rates[0]:
                continue  # loopback has a rate of its own
            rows = [timed(a, tokens, variant, files) for variant in a.variant]
            table += [cells(row) for row in rows]
            if len(set(a.variant) - {'auto'}) > 1:
                choices.append(choice(a, tokens, rows, files))
    bench.table(list(HEAD), table)
    if choices:
        print()
        bench.table(['tokens', 'ms one way', 'Mb/s', 'fastest', 'online ms', 'auto takes', 'loss %'], choices)


if __name__ == '__main__':
    main()
