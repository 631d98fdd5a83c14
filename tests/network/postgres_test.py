#!/usr/bin/env python3
"""Counts in a real PostgreSQL 15 that several processes share (serve --counts). The server runs in a folder of its own,
as another user if this one is root.

  postgres_test.py SUF COUNTER     from anywhere; about a minute
"""
import datetime
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import SERVE_EARLY, held, owners, results, starter, write_owners
from postgres import AMPLE, Site, beside
from roles import World
from rows import each

LOST = r'error resource cannot count in the database suf at .*\((the connection was lost|the server cannot be reached|the server starts or ends)\); '
RESTORED = 'was restored or has lost counts; the quotas of .* count as used until that day ends in UTC'


def on_site(case):
    """Gives a case a Site with a running server."""
    @functools.wraps(case)
    def with_site(base, counter):
        with Site(base, counter, case.__name__) as s:
            case(s)
    return with_site


def seconds(answer):
    word, number = answer.split()
    assert word == 'full', answer
    return int(number)


def all_held(answers):
    return all(a.startswith('held') for a in answers)


@on_site
def counts(s):
    """texts and tokens by owner, exactly the quota, reservations given back"""
    a, b = s.counter('a'), s.counter('b')
    assert a.ready == b.ready == 'ready'
    assert a.reserve('ann') == 'held 1' and b.reserve('bob', 3, 100) == 'held 1' and a.reserve('ann', 2, 10) == 'held 2'
    for c in (a, b):
        assert c.today('ann') == (3, 42) and c.today('bob') == (3, 100) and c.today('cy') == (0, 0)
    assert a.call('confirm', 1) == 'ok' and a.call('release', 1) == 'ok' and a.call('release', 2) == 'ok' and a.call('release', 99) == 'ok'
    assert b.today('ann') == (1, 32)
    assert 1 <= seconds(a.reserve('ann', 2, 1, quota=2)) <= 86400
    assert a.reserve('ann', 1, 9, quota=2, quota_tokens=40).startswith('full ')
    assert a.reserve('ann', 1, 8, quota=2, quota_tokens=40) == 'held 3'
    assert a.reserve('ann', 3, 1, quota=2) == 'full 0', 'the quota of a whole day does not admit it'
    odd = "x');--DROP_TABLE_suf.counts"
    assert a.reserve(odd).startswith('held') and b.today(odd) == (1, 32)
    huge = 2**64 - 1
    assert a.reserve('huge', huge, huge).startswith('held') and a.reserve('huge', huge, huge).startswith('held') and a.reserve('huge', huge, huge).startswith('held')
    assert a.today('huge') == (2**62, 2**62) and a.reserve('huge', 1, 1, quota=huge).startswith('held')
    assert not a.notices() and not b.notices()
    a.kill()  # a reservation that it leaves counts
    assert b.today('ann') == (2, 40)
    assert s.counter('a').today('ann') == (2, 40)


@on_site
def exact(s):
    """8 threads in each of 4 processes against a quota of 100 texts: exactly 100"""
    all = [s.counter(str(i)) for i in range(4)]
    for owner in ('ann', 'bob'):
        for c in all:
            c.send('use', owner, 100, 8)
        used = [c.used() for c in all]
        # a text that another thread gave back after the last refusal is left
        last = all[0].use(owner, 100, 1)
        assert sum(n for n, _ in used) + last == 100 and not sum(e for _, e in used), (used, last)
        assert all[1].today(owner) == (100, 3200)
    assert s.server.sql('SELECT count(*) FROM suf.reservations WHERE NOT final') == '0'


@on_site
def searches(s):
    """a quota of searches: exact by 8 threads in each of 4 processes, refunded, and no limit of other texts"""
    all = [s.counter(str(i)) for i in range(4)]
    for c in all:
        c.send('search', 'ann', 60, 8)
    used = [c.used() for c in all]
    last = all[0].use('ann', 60, 1, call='search')
    assert sum(n for n, _ in used) + last == 60 and not sum(e for _, e in used), (used, last)
    a = all[0]
    assert a.all_today('ann') == (60, 1920, 60)
    search = dict(searches=1, quota_searches=60)
    assert seconds(a.reserve('ann', **search)) and a.reserve('ann', quota_searches=5).startswith('held')
    assert seconds(a.reserve('ann', quota=61, searches=1)), 'a search is a text, too'
    held = a.reserve('bob', 2, 64, searches=2, quota_searches=2).split()[1]
    assert seconds(a.reserve('bob', **{**search, 'quota_searches': 2})) and a.reserve('bob', 3, 96, searches=3, quota_searches=2) == 'full 0'
    assert a.call('release', held) == 'ok' and a.all_today('bob') == (0, 0, 0)
    huge = 2**64 - 1
    assert all_held(a.reserve('huge', 1, 1, searches=huge) for _ in range(3)) and a.all_today('huge') == (3, 3, 2**62)
    s.server.sql('UPDATE suf.counts SET day = day - 1', 'UPDATE suf.state SET day = day - 1', 'UPDATE suf.processes SET day = day - 1')
    assert a.all_today('ann') == (0, 0, 0) and a.reserve('ann', **search).startswith('held')
    assert a.all_today('ann') == (1, 32, 1), 'a new day begins at 0'
    s.server.sql('UPDATE suf.state SET full_day = day')
    assert seconds(a.reserve('ann', **search)) and a.reserve('ann', quota_searches=60).startswith('held'), 'a text counts no search'


@on_site
def version_1(s):
    """tables of version 1 get their searches once, and their counts go on"""
    a = s.counter('a')
    assert a.reserve('ann', 5, 160) == 'held 1'
    s.server.sql('ALTER TABLE suf.counts DROP COLUMN searches', 'ALTER TABLE suf.reservations DROP COLUMN searches',
                 'UPDATE suf.state SET version = 1', 'CREATE ROLE guest LOGIN', 'GRANT USAGE ON SCHEMA suf TO guest',
                 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA suf TO guest')
    s.fails('error refused .*its tables have version 1, this program needs version 2, and the role may not alter them.*; '
            'run this program once with the role that owns them', name='guest', url=s.server.url('guest'))
    all = beside(*(lambda i=i: s.counter(str(i)) for i in range(8)))
    assert {c.ready for c in all} == {'ready'}, [c.ready for c in all]
    assert s.server.sql('SELECT version FROM suf.state') == '2'
    for c in (a, *all):
        assert c.all_today('ann') == (5, 160, 0)
    assert a.call('release', 1) == 'ok' and all[0].all_today('ann') == (0, 0, 0)
    guest = s.counter('guest', s.server.url('guest'))
    assert guest.ready == 'ready' and guest.use('ann', 3, call='search') == 3 and a.all_today('ann') == (3, 96, 3)
    assert not [n for c in (a, guest, *all) for n in c.notices()]


@on_site
def starts(s):
    """8 processes that start at once make one schema"""
    s.server.sql('DROP SCHEMA IF EXISTS suf CASCADE')
    all = beside(*(lambda i=i: s.counter(str(i)) for i in range(8)))
    assert {c.ready for c in all} == {'ready'}, [c.ready for c in all]


@on_site
def kills(s):
    """the server stops at once, again and again, amid counts: the quota is never exceeded"""
    quota = 300
    all = [s.counter(str(i)) for i in range(4)]
    assert all[0].reserve('ann').startswith('held')
    with s.server.locked('SELECT FROM suf.counts FOR UPDATE'):  # so each process is within a count at the first stop
        for c in all:
            c.send('use', 'ann', quota, 4)
        s.server.await_blocked(len(all))
        s.server.stop()
    s.server.start()
    for _ in range(5):
        for _ in range(8):
            all[0].await_one()
        s.server.stop()
        s.server.start()
    used, errors = (sum(n) for n in zip(*(c.used() for c in all)))
    counted = int(s.server.sql("SELECT texts FROM suf.counts WHERE owner = 'ann'"))
    confirmed = int(s.server.sql('SELECT count(*) FROM suf.reservations WHERE final'))
    assert errors >= len(all), 'a count did not meet a server that was gone'
    assert used <= confirmed <= counted <= quota, (used, confirmed, counted)
    assert counted == quota, 'a count was lost or refunded'
    assert not [n for c in all for n in c.notices() if re.search(RESTORED, n)], 'a crash lost what it had reported as durable'


@on_site
def gone_before_and_after(s):
    """the server is gone before a count and after it"""
    a = s.counter()
    assert a.reserve('ann') == 'held 1'
    s.server.stop()
    for call in (('reserve', 'ann', 1, 32, '-', '-', 0, '-'), ('confirm', 1), ('today', 'ann')):
        assert re.match(LOST, a.call(*call)), call
    s.server.start()
    assert a.call('confirm', 1) == 'ok' and a.today('ann') == (1, 32)
    assert a.reserve('ann') == 'held 2'
    s.server.stop()
    assert a.call('release', 2) == 'ok', 'a release reports nothing'
    s.server.start()
    assert a.today('ann') == (2, 64), 'it stays counted'
    assert re.search('a job of owner "ann" did not begin and may stay counted', a.notices()[0])
    assert a.reserve('ann', quota=3) == 'held 3'
    assert a.call('confirm', 3) == 'ok'
    s.server.stop()
    s.server.start()
    assert a.today('ann') == (3, 96) and a.reserve('ann', quota=3).startswith('full ')


@on_site
def gone_during(s):
    """the server is gone amid a reservation, and amid a confirmation"""
    a = s.counter()
    assert a.reserve('ann') == 'held 1'
    with s.server.locked("SELECT FROM suf.counts WHERE owner = 'ann' FOR UPDATE"):
        a.send('reserve', 'ann', 1, 32, '-', '-', 0, '-')
        s.server.await_blocked()
        s.server.stop()
        assert re.match(LOST, a.answer())
    s.server.start()
    assert a.today('ann') in ((1, 32), (2, 64)), 'the amount may stay counted'
    with s.server.locked('SELECT FROM suf.reservations FOR UPDATE'):
        a.send('confirm', 1)
        s.server.await_blocked()
        s.server.stop()
        assert re.match(LOST, a.answer())
    s.server.start()
    assert a.call('confirm', 1) == 'ok'
    assert a.reserve('ann').startswith('held')


@on_site
def connection_lost(s):
    """the connection alone is lost: a new one is opened, and a confirmation is tried again"""
    a = s.counter()
    assert a.reserve('ann') == 'held 1'
    end = "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE usename = 'suf'"
    assert s.server.sql(end) == '1'
    assert a.reserve('ann') == 'held 2', 'no statement was sent before the loss'
    with s.server.locked('SELECT FROM suf.reservations FOR UPDATE'):
        a.send('confirm', 1)
        s.server.await_blocked()
        s.server.sql(end)
        s.server.await_blocked()  # the second one
    assert a.answer() == 'ok'
    with s.server.locked('SELECT FROM suf.counts FOR UPDATE'):
        a.send('reserve', 'ann', 1, 32, '-', '-', 0, '-')
        s.server.await_blocked()
        s.server.sql(end)
        assert re.match(LOST, a.answer())
    assert a.today('ann') == (2, 64)


@on_site
def restored(s):
    """the database is restored to a backup: the quotas of the day count as used"""
    a, b = s.counter('a'), s.counter('b')
    assert a.use('ann', 5) == 5 and b.use('ann', 5) == 0
    s.server.stop('fast')
    backup = s.copy(s.server.data, s.folder / 'backup')
    s.server.start()
    assert a.use('ann', 8) == 3 and a.reserve('bob').startswith('held')
    lost = a.reserve('bob').split()[1]
    s.server.stop()
    s.copy(backup, s.server.data)
    shutil.rmtree(backup)
    s.server.start()
    fresh = s.counter('fresh')
    assert re.match(r'error resource .*has lost the reservation of a job', a.call('confirm', lost))
    assert fresh.reserve('ann', quota=100).startswith('held'), 'as the pages say: a process that has counted nothing knows nothing'
    assert 1 <= seconds(a.reserve('ann', quota=100)) <= 86400
    assert seconds(a.reserve('dan', quota_tokens=100)), 'of an owner that was never here'
    assert a.reserve('eve').startswith('held'), 'no quota limits it'
    for c in (b, fresh, s.counter('later')):
        assert seconds(c.reserve('ann', quota=100)), 'another process'
        assert len([n for n in c.notices() if re.search(RESTORED, n)]) == 1
    notices = a.notices()
    assert len(notices) == 1 and re.search(RESTORED, notices[0]), notices


@on_site
def restored_between_starts(s):
    """a process notices by its folder that the database went back while it was away, or is another one"""
    a = s.counter()
    s.server.stop('fast')
    backup = s.copy(s.server.data, s.folder / 'backup')
    s.server.start()
    assert a.use('ann', 5) == 5
    a.end()
    a = s.counter()
    assert not a.notices() and a.use('ann', 6) == 1
    a.end()
    mode = (a.folder / 'counts.postgres-seen').stat().st_mode
    assert mode & 0o777 == 0o600, oct(mode)
    s.server.stop()
    s.copy(backup, s.server.data)
    shutil.rmtree(backup)
    s.server.start()
    for _ in range(2):
        a = s.counter()
        assert [bool(re.search(RESTORED, n)) for n in a.notices()] == [True]
        assert seconds(a.reserve('ann', quota=100))
        a.end()
    for harm in ('DROP SCHEMA suf CASCADE', 'DELETE FROM suf.processes'):
        s.server.sql(harm, 'UPDATE suf.state SET full_day = NULL' if 'DELETE' in harm else 'SELECT')
        a = s.counter()
        assert [bool(re.search(RESTORED, n)) for n in a.notices()] == [True], harm
        a.end()
    s.server.sql('UPDATE suf.state SET full_day = NULL')
    (a.folder / 'counts.postgres-seen').write_bytes(b'damaged')
    assert [bool(re.search(RESTORED, n)) for n in s.counter().notices()] == [True]


@on_site
def days(s):
    """each day begins at zero, and no day comes back"""
    a = s.counter()
    assert a.use('ann', 5) == 5 and a.reserve('bob').startswith('held')
    of_bob = a.reserve('bob').split()[1]
    s.server.sql('UPDATE suf.counts SET day = day - 1', 'UPDATE suf.state SET day = day - 1', 'UPDATE suf.processes SET day = day - 1',
                 'UPDATE suf.reservations SET day = day - 1')
    assert a.today('ann') == (0, 0) and a.use('ann', 5) == 5
    assert s.server.sql('SELECT owner FROM suf.counts') == 'ann', 'rows of a day before are removed'
    assert a.call('confirm', of_bob) == 'ok', 'a reservation outlives midnight'
    s.server.sql('UPDATE suf.reservations SET day = day - 2')
    s.server.sql('UPDATE suf.counts SET day = day - 1', 'UPDATE suf.state SET day = day - 1')
    assert a.reserve('ann').startswith('held')
    assert s.server.sql('SELECT count(*) FROM suf.reservations') == '1'
    assert not a.notices()
    # a clock that is set back by two days looks like this
    s.server.sql('UPDATE suf.counts SET day = day + 2', 'UPDATE suf.state SET day = day + 2')
    assert a.reserve('ann', quota=1) == 'full 86400', 'nothing is refunded'
    assert a.reserve('cy', quota=1).startswith('held') and a.reserve('cy', quota=1) == 'full 86400'
    wanted = datetime.datetime.now(datetime.timezone.utc)
    notices = a.notices()
    assert len(notices) == 1 and re.search(r"the server's clock says .*, and the database suf at .* has counts of .*, whose quotas hold until that day ends", notices[0]), (notices, wanted)
    # the stored day went back, and this process knows a later one
    s.server.sql('UPDATE suf.state SET day = day - 2')
    assert a.reserve('cy', quota=1) == 'full 86400'


def settings_of(s, change, back, words):
    """Asserts that a changed setting is refused, at a start and by a process that runs. Both go on when it is back."""
    a = s.counter('running')
    reservation = a.reserve('ann').split()[1]
    change()
    s.fails(words, name='new')
    assert re.search(words, a.reserve('ann')) and re.search(words, a.call('confirm', reservation))
    back()
    assert a.call('confirm', reservation) == 'ok' and a.reserve('ann').startswith('held')
    a.kill()


@on_site
def settings(s):
    """fsync, full_page_writes or synchronous_commit is off"""
    for name in ('fsync', 'full_page_writes'):
        def switch(to, name=name):
            s.server.sql(f'ALTER SYSTEM SET {name} = {to}')
            s.server.sql('SELECT pg_reload_conf()')
            s.server.await_sql(f'SHOW {name}', to)
        settings_of(s, lambda: switch('off'), lambda: switch('on'),
                    f'error refused cannot count in the database suf at .*its {name} is off, so a crash of the server could refund counts.*; switch it on')
    words = 'error refused .*its synchronous_commit is off'
    for of in ('ROLE', 'DATABASE'):
        s.server.sql(f'ALTER {of} suf SET synchronous_commit = off')
        s.fails(words)
        s.server.sql(f'ALTER {of} suf RESET synchronous_commit')
    s.fails(words, url=s.server.url(more='&options=-c%20synchronous_commit%3Doff'))
    for durable in ('local', 'remote_write', 'on', 'remote_apply'):
        s.server.sql(f'ALTER ROLE suf SET synchronous_commit = {durable}')
        c = s.counter(durable)
        assert c.ready == 'ready' and c.reserve('ann').startswith('held'), durable


@on_site
def rights(s):
    """a role without rights, and with the least"""
    s.server.sql('CREATE ROLE guest LOGIN', 'CREATE ROLE blocked NOLOGIN')
    guest = s.server.url('guest')
    lacks = 'error refused .*the role lacks rights'
    s.fails(lacks, url=guest)  # may make no schema
    a = s.counter()
    assert a.reserve('ann').startswith('held')
    s.fails(lacks, url=guest)
    s.server.sql('GRANT USAGE ON SCHEMA suf TO guest')
    s.fails(lacks, url=guest)
    for right in ('SELECT', 'INSERT', 'UPDATE'):
        s.server.sql(f'GRANT {right} ON ALL TABLES IN SCHEMA suf TO guest')
        s.fails(lacks, url=guest)
    s.server.sql('GRANT DELETE ON ALL TABLES IN SCHEMA suf TO guest')
    b = s.counter('b', guest)
    assert b.ready == 'ready' and b.reserve('ann', quota=2).startswith('held') and b.reserve('ann', quota=2).startswith('full')
    s.server.sql('REVOKE UPDATE ON suf.counts FROM guest')
    assert re.match(lacks, b.reserve('ann'))
    s.fails('error refused .*the server refuses this role', url=s.server.url('blocked'))
    s.fails('error refused .*the server refuses this role', url=s.server.url('nobody-of-this-name'))
    s.fails('error refused .*there is no such database', url=s.server.url(database='none'))


@on_site
def tables(s):
    """tables of a newer version, of another program, unlogged or damaged"""
    s.server.sql('CREATE SCHEMA suf CREATE TABLE state (other int)', 'ALTER SCHEMA suf OWNER TO suf', 'ALTER TABLE suf.state OWNER TO suf')
    s.fails('error refused .*the schema suf is not as this program makes it')
    s.server.sql('DROP SCHEMA suf CASCADE', 'CREATE SCHEMA suf AUTHORIZATION suf')
    a = s.counter()
    assert a.ready == 'ready', 'an administrator may make the schema'
    assert a.reserve('ann').startswith('held')
    s.server.sql('UPDATE suf.state SET version = 3')
    s.fails('error refused .*its tables have version 3, and this program knows up to 2', name='b')
    s.server.sql('UPDATE suf.state SET version = 0')
    s.fails('error refused .*the schema suf is damaged', name='b')
    s.server.sql('UPDATE suf.state SET version = 2', 'ALTER TABLE suf.counts SET UNLOGGED')
    s.fails('error refused .*a table of the schema suf is unlogged', name='b')
    s.server.sql('ALTER TABLE suf.counts SET LOGGED', 'DELETE FROM suf.state')
    s.fails('error refused .*the schema suf is damaged', name='b')
    assert re.search('error refused .*the schema suf is damaged', a.reserve('ann'))
    s.server.sql('DROP TABLE suf.state')
    assert re.search('error refused .*a table is missing', a.reserve('ann'))


@on_site
def read_only(s):
    """a standby, and a database that is read-only"""
    a = s.counter()
    assert a.reserve('ann').startswith('held')
    s.server.sql('ALTER DATABASE suf SET default_transaction_read_only = on')
    words = 'error refused .*the database is read-only.*; name the primary server'
    s.fails(words, name='b')
    s.server.sql('SET default_transaction_read_only = off', 'ALTER DATABASE suf RESET default_transaction_read_only')
    s.server.stop('fast')
    (s.server.data / 'standby.signal').touch()
    s.server.start()
    s.fails(words, name='b')
    assert re.search(words, a.reserve('ann'))
    s.server.stop('fast')
    (s.server.data / 'standby.signal').unlink()
    s.server.start()
    assert a.reserve('ann').startswith('held')


@on_site
def hanging(s):
    """a server that hangs ends a count, but not for longer than the limit"""
    a, b = s.counter('a', limit_ms=1500), s.counter('b')
    assert a.reserve('ann') == 'held 1' and b.reserve('ann') == 'held 1'
    with s.server.hanging():
        for call in (('reserve', 'ann', 1, 32, '-', '-', 0, '-'), ('confirm', 1), ('today', 'ann')):  # the first over an open connection
            begun = time.monotonic()
            assert re.match('error resource .*the server does not answer in time', a.call(*call)), call
            assert time.monotonic() - begun < 1.5 + AMPLE
        s.fails('error resource .*the server does not answer in time', name='c', limit_ms=500)
    assert a.call('confirm', 1) == 'ok' and b.call('confirm', 1) == 'ok'
    assert a.reserve('ann').startswith('held')


def certificate(folder, name, subject, issuer=None):
    """Makes a certificate for a server name, self-signed or of an issuer."""
    key, cert = folder / f'{name}.key', folder / f'{name}.crt'
    words = ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', '-subj', f'/CN={subject}',
             '-keyout', key, '-out', cert]
    if issuer:
        words += ['-CA', folder / f'{issuer}.crt', '-CAkey', folder / f'{issuer}.key', '-addext', f'subjectAltName=DNS:{subject}']
    subprocess.run(words, check=True, capture_output=True)
    return cert, key


@on_site
def tls(s):
    """TLS: a self-signed server, another name, none at all; passwords by a file"""
    ca, _ = certificate(s.dir, 'ca', 'the CA')
    pairs = {'own': certificate(s.dir, 'own', 'localhost'), 'right': certificate(s.dir, 'right', 'localhost', 'ca'),
             'other': certificate(s.dir, 'other', 'db.example', 'ca')}
    s.server.sql("ALTER ROLE suf PASSWORD 'the secret'")
    s.server.stop('fast')
    s.server.tcp = True
    (s.server.data / 'pg_hba.conf').write_text('local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n')
    passwords = s.dir / 'passwords'
    passwords.write_text(f'localhost:{s.server.port}:suf:suf:the secret\n')
    passwords.chmod(0o600)

    def url(more=''):
        return f'postgresql://suf@localhost:{s.server.port}/suf?passfile={passwords}{more}'
    trusted = f'&sslrootcert={ca}'
    s.server.start()
    s.fails('error refused .*the server has no TLS', url=url(trusted))
    s.server.stop('fast')
    s.server.configure('ssl = on')
    for name, (cert, key) in pairs.items():
        for source, file in ((cert, 'server.crt'), (key, 'server.key')):
            shutil.copy(source, s.server.data / file)
            shutil.chown(s.server.data / file, s.server.data.stat().st_uid, s.server.data.stat().st_gid)
            (s.server.data / file).chmod(0o600)
        s.server.start()
        if name == 'own':
            s.fails("error refused .*no CA that we trust has signed the server's certificate.*; name its CA by ", url=url(trusted))
            s.fails("error refused .*the file of the server's CA is missing or damaged", url=url(), environment={'HOME': str(s.dir)})
        elif name == 'other':
            s.fails("error refused .*the server's certificate has another name than the address", url=url(trusted))
        else:
            a = s.counter(url=url(trusted))
            assert a.ready == 'ready' and a.use('ann', 20) == 20
            a.end()
            # the environment does not weaken it
            s.fails('error refused .*no CA that we trust', url=url(f'&sslrootcert={pairs["own"][0]}'), environment={'PGSSLMODE': 'disable'})
            s.fails('error input .*has sslmode=require, which does not verify', url=url('&sslmode=require'))
            passwords.chmod(0o640)
            s.fails('error input the file of passwords .* can be read by others; chmod 600 it', url=url(trusted))
            passwords.chmod(0o600)
            passwords.write_text(f'localhost:{s.server.port}:suf:suf:another\n')
            s.fails("error refused .*the server refuses the role's password", url=url(trusted))
            passwords.write_text('')
            s.fails('error refused .*the server demands a password', url=url(trusted))
        s.server.stop('fast')
    log = pathlib.Path(f'{s.server.data}.log').read_text()
    assert 'the secret' not in log
    s.server.start()


def listed(w, s, quota, servers, names=('alice', 'bob'), **flags):
    """Starts a dealer and several model owners' processes that share quotas. Returns a function that starts the embed
    of an owner at a process."""
    of = owners(w, names)
    file = write_owners(w, {name: ([of[name]], f'texts = {quota}') for name in names})
    w.base.suf('secrets', w.dir / 'secrets', '--certs', w.dir / 'certs')
    w.deal(certs=w.dir / 'certs').port()
    all = [w.serve(certs=w.dir / 'certs', owners=file, secrets=w.dir / 'secrets', counts=s.server.url(), store=w.dir / f'model{i}', **flags)
           for i in range(servers)]
    ports = [p.port() for p in all]
    start = starter(w, of)
    return all, lambda name, i, *words, **more: start(name, *words, connect=ports[i], **more)


@on_site
def serves(s):
    """8 lanes at four serve processes share a quota of 100 texts: exactly 100"""
    with World(s.base, 'serves') as w:
        all, start = listed(w, s, 100, 4)
        assert all[0].said('serve: quotas are counted in the database suf at ')
        path = w.dir / 'texts'  # more than the quota, so that each of them meets a refusal
        path.write_text(''.join(f'{w.base.text(3 + i % 6, i)}\n' for i in range(101)))
        runs = [start('alice', i, None, file=path, store=w.dir / f'data{i}', parallel=2) for i in range(4)]
        codes = [e.finish() for e in runs]
        done = sum(len(e.rows()) for e in runs)
        assert set(codes) == {4} and any('no more texts, tokens or searches' in line for e in runs for line in e.err), codes
        last = start('alice', 0, None, file=path, store=w.dir / 'data0', parallel=1)  # for a text that was given back
        assert last.finish() == 4
        assert done + len(last.rows()) == 100, done
        assert s.server.sql("SELECT texts FROM suf.counts WHERE owner = 'alice'") == '100'
        assert start('bob', 1).finish() == 0
        for i in range(4):
            assert not (w.dir / f'model{i}/counts.sqlite').exists()


@on_site
def serve_without_database(s):
    """without the database nothing new is claimed, and a running inference ends"""
    with World(s.base, 'serve_without_database') as w:
        (server,), start = listed(w, s, 100, 1)
        first, go = held(w, lambda name, **flags: start(name, 0, **{'parallel': 1, **flags}) if 'connect' not in flags else
                         starter(w, {name: w.dir / 'certs' / f'data-{name}'})(name, **{'parallel': 1, **flags}), 'alice')
        s.server.stop()
        e = start('bob', 0)
        assert e.finish() == 3 and re.search('cannot count our texts at present', e.err[-1]), e.err
        assert not w.fates('data-bob'), 'something was claimed'
        assert server.said('a session ended: cannot count in the database suf at .*the server cannot be reached'), server.err
        go()
        assert first.finish() == 0, first.err
        assert results(w, first) == [w.expected()]
        s.server.start()
        assert start('bob', 0).finish() == 0
        server.signal(signal.SIGTERM)
        assert server.finish() == 0, server.err


@on_site
def serve_refuses(s):
    """faults of the address and the server are reported before weights and keys are loaded"""
    with World(s.base, 'serve_refuses') as w:
        (w.dir / 'o.toml').write_text('[[owner]]\nname = "ann"\nkeys = ["data=' + 'ab' * 32 + '"]\n')
        places = {'model': 'none', 'plan': s.base.plan, 'certs': s.base.certs, 'w': w.dir}

        def ends(code, pattern, *words, environment={}):
            e = w.role(*(word.format(**places) for word in SERVE_EARLY), *words, env={**os.environ, **environment})
            assert e.finish() == code and re.search(pattern, '\n'.join(e.err)), (e.err, e.process.returncode)
            assert 'hunter2' not in '\n'.join(e.err)
        given = ('--owners', w.dir / 'o.toml', '--counts')
        ends(2, '--counts requires --owners', '--counts', s.server.url())
        ends(2, "has a password, which other users of this machine can see; remove it, and write HOST:PORT", *given, 'postgresql://suf:hunter2@h/suf')
        ends(2, 'none that libpq reads', *given, 'postgresql://suf:hunter2@[::1/suf')
        ends(2, 'PGPASSWORD is set', *given, s.server.url(), environment={'PGPASSWORD': 'hunter2'})
        s.server.sql('ALTER ROLE suf SET synchronous_commit = off')
        ends(4, 'its synchronous_commit is off', *given, s.server.url())
        s.server.stop()
        ends(5, 'the server cannot be reached', *given, s.server.url())
        s.server.start()


if __name__ == '__main__':
    try:
        each(counts, exact, searches, version_1, starts, kills, gone_before_and_after, gone_during, connection_lost, restored, restored_between_starts, days, settings,
             rights, tables, read_only, hanging, tls, serves, serve_without_database, serve_refuses)
    finally:
        Site.clear()
