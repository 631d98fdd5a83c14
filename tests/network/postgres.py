"""A PostgreSQL server in a folder of its own, and programs that count in it (tests/postgres_counter.cpp).

  postgres.py PROGRAM [FOLDER]     runs a program, such as build/postgres_counts_bench, with the server's URL and an empty
                                   folder. Files are below FOLDER (default: /tmp)
"""
import contextlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import AMPLE

BIN = pathlib.Path('/usr/lib/postgresql/15/bin')
LIMIT_MS = 1000 * AMPLE  # of a counter's call, if time-outs are not the subject


def user():
    """PostgreSQL refuses root. Returns the arguments of a process that runs as another user."""
    if os.getuid():
        return {}
    name = next(n for n in ('postgres', 'nobody') if any(n == p.pw_name for p in pwd.getpwall()))
    return {'user': name, 'group': pwd.getpwnam(name).pw_gid, 'extra_groups': []}


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd='/', **options)
    assert done.returncode == 0, f'{command}: {done.stdout}{done.stderr}'
    return done.stdout.strip()


def template(folder):
    """Makes the files of a server with the role and the database suf; a test copies them."""
    if not (BIN / 'initdb').exists():
        sys.exit(f'postgres_test: there is no {BIN}/initdb; install PostgreSQL 15: tools/postgres.sh')
    own = user()
    if own:
        os.chown(folder, pwd.getpwnam(own['user']).pw_uid, own['group'])
    data = folder / 'template'
    run(BIN / 'initdb', '-D', data, '-A', 'trust', '-U', 'admin', '-E', 'UTF8', '--locale=C', '--no-sync', '--wal-segsize=1', **own)
    with open(data / 'postgresql.conf', 'a') as f:
        f.write("listen_addresses = ''\nshared_buffers = '16MB'\nmax_connections = 60\nmin_wal_size = '2MB'\n")
    server = Server(data, folder)
    with server:
        server.sql('CREATE ROLE suf LOGIN', 'CREATE DATABASE suf OWNER suf', database='postgres')
    return data


class Server:
    """A server. Use it in a `with`: it ends with the block."""

    def __init__(self, data, folder):
        self.data, self.folder = data, folder
        with socket.create_server(('127.0.0.1', 0)) as s:  # names the socket, and the port of TLS
            self.port = s.getsockname()[1]
        self.tcp = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AssertionError):
            self.stop()

    def start(self):
        words = f'-p {self.port} -k {self.folder}' + (' -h localhost' if self.tcp else '')
        with open(os.devnull) as null:
            run(BIN / 'pg_ctl', '-D', self.data, '-w', '-t', AMPLE, '-l', f'{self.data}.log', '-o', words, 'start', stdin=null, **user())

    def stop(self, mode='immediate'):
        run(BIN / 'pg_ctl', '-D', self.data, '-w', '-t', AMPLE, '-m', mode, 'stop', **user())

    def pid(self):
        return int((self.data / 'postmaster.pid').read_text().split()[0])

    def configure(self, *lines):
        """Adds settings, which hold from the next start."""
        with open(self.data / 'postgresql.conf', 'a') as f:
            f.write('\n'.join(lines) + '\n')

    def url(self, role='suf', database='suf', more=''):
        return f'postgresql://{role}@:{self.port}/{database}?host={self.folder}{more}'

    def psql(self, database='suf'):
        return [str(BIN / 'psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', self.url('admin', database)]

    def sql(self, *statements, database='suf'):
        """Runs statements as the administrator; returns the output."""
        return run(*self.psql(database), *(word for s in statements for word in ('-c', s)))

    def await_sql(self, query, wanted):
        """Waits until a query has a result."""
        end = time.monotonic() + AMPLE
        while (result := self.sql(query)) != wanted:
            assert time.monotonic() < end, f'{query}: {result}'
            time.sleep(0.02)

    def await_blocked(self, count=1):
        self.await_sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'suf'", str(count))

    @contextlib.contextmanager
    def locked(self, statement):
        """Holds the locks of a statement in the block. The server may end in it."""
        p = subprocess.Popen(self.psql(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        p.stdin.write(f'BEGIN;\n{statement};\n\\echo locked\n')
        p.stdin.flush()
        while p.stdout.readline().strip() != 'locked':
            assert p.poll() is None, statement
        try:
            yield
        finally:
            p.kill()
            p.wait()
            p.stdin.close(), p.stdout.close()

    @contextlib.contextmanager
    def hanging(self):
        """Stops all processes of the server in the block."""
        pids = [self.pid(), *map(int, run('ps', '-o', 'pid=', '--ppid', self.pid()).split())]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)


class Counter:
    """A process that counts. `ready` is its first answer."""

    def __init__(self, program, url, folder, limit_ms=LIMIT_MS, environment={}):
        folder.mkdir(exist_ok=True)
        self.folder, self.last = folder, None
        self.process = subprocess.Popen([program, url, folder, str(limit_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, env={**os.environ, **environment})
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f'it ended with {self.process.wait()}'
        return line.rstrip('\n')

    def send(self, *words):
        self.process.stdin.write(' '.join(map(str, words)) + '\n')
        self.process.stdin.flush()

    def call(self, *words):
        self.send(*words)
        return self.answer()

    def reserve(self, owner, texts=1, tokens=32, quota='-', quota_tokens='-', searches=0, quota_searches='-'):
        return self.call('reserve', owner, texts, tokens, quota, quota_tokens, searches, quota_searches)

    def use(self, owner, quota, threads=8, call='use'):
        """Counts texts (`search`: searches) until the quota is used; returns their number."""
        self.send(call, owner, quota, threads)
        return self.used()[0]

    def await_one(self):
        """Awaits a text of `use`, or its end."""
        self.last = self.last or self.answer()
        if self.last == 'one':
            self.last = None

    def used(self):
        """Awaits the end of `use`; returns (texts, errors)."""
        line = self.last or self.answer()
        while line == 'one':
            line = self.answer()
        self.last = None
        word, *numbers = line.split()
        assert word == 'used', line
        return tuple(map(int, numbers))

    def today(self, owner):
        """Returns (texts, tokens)."""
        return self.all_today(owner)[:2]

    def all_today(self, owner):
        """Returns (texts, tokens, searches)."""
        word, *numbers = self.call('today', owner).split()
        assert word == 'today' and len(numbers) == 3, (word, numbers)
        return tuple(map(int, numbers))

    def notices(self):
        self.send('notices')
        found = []
        while (line := self.answer()) != 'ok':
            found.append(line.removeprefix('notice '))
        return found

    def end(self):
        self.process.stdin.close()
        self.process.wait(AMPLE)
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close(), self.process.stdout.close()


class Site:
    """The server and the counters of one case, which end with it."""
    made = {}  # the template's folder

    def __init__(self, base, program, name):
        self.base, self.program = base, program
        if not Site.made:
            Site.made['folder'] = pathlib.Path(tempfile.mkdtemp(prefix='suf_postgres_', dir='/dev/shm'))
            Site.made['data'] = template(Site.made['folder'])
        self.folder = Site.made['folder']
        self.counters = []
        self.server = Server(self.copy(Site.made['data'], self.folder / name), self.folder)
        self.dir = base.folder / f'{name} counters'
        self.dir.mkdir()

    def copy(self, source, target):
        """Copies a server's files, as a backup does; returns the copy."""
        shutil.rmtree(target, ignore_errors=True)
        run('cp', '-a', source, target)
        return target

    def counter(self, name='a', url=None, **options):
        self.counters.append(Counter(self.program, url or self.server.url(), self.dir / name, **options))
        return self.counters[-1]

    def fails(self, pattern, **options):
        """Asserts that a counter does not start, and says this."""
        c = self.counter(**options)
        assert re.search(pattern, c.ready) and c.ready.startswith('error '), c.ready
        c.end()

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        for c in self.counters:
            if c.process.poll() is None:
                c.kill()
        with contextlib.suppress(AssertionError):
            self.server.stop()
        shutil.rmtree(self.server.data, ignore_errors=True)

    @staticmethod
    def clear():
        if Site.made:
            shutil.rmtree(Site.made['folder'], ignore_errors=True)


def beside(*functions):
    """Runs functions side by side; returns their results."""
    results = [None] * len(functions)

    def call(i):
        results[i] = functions[i]()
    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(functions))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def main():
    with tempfile.TemporaryDirectory(prefix='suf_postgres_', dir=(sys.argv[2:] or ['/tmp'])[0]) as name:
        folder = pathlib.Path(name)
        with Server(template(folder), folder) as server:
            (folder / 'seen').mkdir()
            subprocess.run([pathlib.Path(sys.argv[1]).resolve(), server.url(), folder / 'seen'], check=True)


if __name__ == '__main__':
    main()
