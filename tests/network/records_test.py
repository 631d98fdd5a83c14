#!/usr/bin/env python3
"""Runs the roles with --audit-log and --metrics, and compares both files with what ran.

  records_test.py SUF [PATTERN]     by .venv/bin/python, from anywhere; about 10 s. PATTERN picks rows
"""
import json
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import metrics
from customers import SERVE_EARLY, begin_listed, fingerprint, held, texts
from roles import AMPLE
from rows import alone, main, row

FILES = {'audit-log': 'log', 'metrics': 'prom'}  # options and the endings of their files


def files_of(w, role):
    return {option: w.dir / f'{role}.{ending}' for option, ending in FILES.items()}


def recorded(w, rows):
    """Starts both roles with a log and metrics. Returns what begin_listed does."""
    return begin_listed(w, rows, deal=files_of(w, 'deal'), **files_of(w, 'serve'))


def checked(w, *files, last=None):
    """Starts `suf log check`."""
    return w.role('log', 'check', *files, *(('--last', last) if last else ()))


def good(w, *files, last=None):
    """Asserts that a log is whole."""
    process = checked(w, *files, last=last)
    assert process.finish() == 0, (process.err, process.out)
    return process.out.decode()


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def last_hash(role):
    return re.search('ends with the hash ([0-9a-f]{64})', '\n'.join(role.err))[1]


def awaited(get, wanted):
    """Waits until get() is as wanted; returns it."""
    end = time.monotonic() + AMPLE
    while (value := get()) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    return value


@row('the log and the metrics of serve and deal', 4, 'does not list our key', 40)
def _(w):
    start, of = recorded(w, {'alice': 'texts = 3'})
    path, _ = texts(w, 5)
    assert start('alice', None, file=path).finish() == 4
    yield start('bob')
    for role in (w.server, w.dealer):
        role.end()
    rows = lines(w.dir / 'serve.log')
    assert [(r['owner'], r['outcome'], r.get('reason')) for r in rows] == [('alice', 'done', None)] * 3 + [
        ('alice', 'refused', 'quota'), ('unlisted', 'refused', 'unlisted')], rows
    assert rows[0]['data_owner'] == fingerprint(w, of['alice']).split('=')[1]
    assert rows[0]['job']['tokens'] == 3 and rows[0]['weights'] == lines(w.dir / 'deal.log')[0]['weights']
    assert [r['serial'] for r in rows[:3]] == [1, 2, 3] == [r['serial'] for r in lines(w.dir / 'deal.log')]
    for role, name in ((w.server, 'serve'), (w.dealer, 'deal')):
        assert last_hash(role) in good(w, w.dir / f'{name}.log', last=last_hash(role))
    p0, dealer = metrics.read(w.dir / 'serve.prom'), metrics.read(w.dir / 'deal.prom')
    ended, refused = p0['suf_inferences_total'], p0['suf_refusals_total']
    assert ended.value(owner='alice', outcome='done') == 3 and ended.value(owner='alice', outcome='refused') == 1
    assert p0['suf_texts_total'].value(owner='alice') == 3 and p0['suf_tokens_total'].value(owner='alice') == 12
    assert refused.value(by='model', reason='quota') == 1 == refused.value(by='model', reason='unlisted')
    assert p0['suf_inferences_running'].value() == 0 == p0['suf_inferences_waiting'].value()
    assert p0['suf_sent_bytes_total'].value() > 10_000 < p0['suf_received_bytes_total'].value()
    assert dealer['suf_bundles_total'].value(fate='dealt') == 3 == dealer['suf_deal_seconds'].value('_count')


@row('a log goes on in a new file, and a missing file shows', 4, 'line 1 of .*serve.3', 60)
def _(w):
    start, _ = recorded(w, {'alice': ''})
    log = w.dir / 'serve.log'
    for i in (1, 2, 3):
        assert start('alice').finish() == 0
        assert awaited(lambda: len(lines(log)), 1) == 1
        log.rename(w.dir / f'serve.{i}')
        w.server.signal(signal.SIGHUP)
        assert awaited(log.exists, True)
    assert start('alice').finish() == 0
    w.server.end()
    parts = [w.dir / f'serve.{i}' for i in (1, 2, 3)]
    good(w, *parts, log, last=last_hash(w.server))
    yield checked(w, parts[0], parts[2], log)


@row('the metrics of a data owner', 4, 'allows us no more texts', 40)
def _(w):
    start, _ = recorded(w, {'alice': 'texts = 3'})
    path, _ = texts(w, 5)
    for i, more in enumerate(({'parallel': 1}, {'parallel': 2})):
        file = w.dir / f'embed{i}.prom'
        e = start('alice', None, file=path, metrics=file, **more)
        assert e.finish() == 4, e.err
        ended = metrics.read(file)['suf_inferences_total']
        assert ended.value(outcome='done') == (0 if i else 3) and ended.value(outcome='refused') >= 1, ended
        assert ended.value(outcome='broken') == 0, ended
    yield e


def states(file):
    """Returns how many inferences wait and run, by a file of metrics that is written every 5 s."""
    found = metrics.read(file) if file.exists() else {}
    return tuple(found[f'suf_inferences_{state}'].value() for state in ('waiting', 'running')) if found else None


@row('the metrics show a text that waits for its keys', 0, '', 40)
def _(w):
    start, _ = recorded(w, {'alice': ''})
    file = w.dir / 'embed.prom'
    w.dealer.stop()
    e = start('alice', metrics=file, timeout=AMPLE)
    assert awaited(lambda: states(file), (1, 0)) == (1, 0)
    w.dealer.go_on()
    yield e
    assert states(file) == (0, 0)


@row('the metrics show a text that runs, and the log one whose process is killed', 0, '', 60)
def _(w):
    start, of = recorded(w, {'alice': ''})
    file, log = w.dir / 'embed.prom', w.dir / 'serve.log'
    e, go = held(w, start, 'alice', metrics=file)
    assert awaited(lambda: states(file), (0, 1)) == (0, 1)
    w.server.kill()
    go()
    assert e.finish() == 3 and states(file) == (0, 0)
    assert [r['serial'] for r in lines(log)] == [1], 'the killed inference has a line already'
    w.serve(certs=w.dir / 'certs', owners=w.dir / 'owners.toml', **files_of(w, 'serve')).port()
    burnt = lines(log)[1]
    assert (burnt['owner'], burnt['serial'], burnt['outcome']) == ('alice', 2, 'broken'), burnt
    assert burnt['data_owner'] == fingerprint(w, of['alice']).split('=')[1] and burnt['lane'] == lines(log)[0]['lane']
    assert not {'job', 'plan', 'weights'} & set(burnt), burnt
    assert start('alice').finish() == 0
    w.server.end()
    assert [r['serial'] for r in lines(log)] == [1, 2, 3]
    yield checked(w, log, last=last_hash(w.server))


@row('a line that was changed', 4, 'line 2', 40)
def _(w):
    start, _ = recorded(w, {'alice': ''})
    path, _ = texts(w, 3)
    assert start('alice', None, file=path).finish() == 0
    w.server.end()
    log = w.dir / 'serve.log'
    log.write_text(log.read_text().replace('"serial":2', '"serial":7'))
    yield checked(w, log)


@row('a kill in the middle leaves a whole chain', 0, '', 60)
def _(w):
    start, _ = recorded(w, {'alice': ''})
    path, _ = texts(w, 40)
    first = start('alice', None, file=path)
    assert w.server.said('serial 3,')
    w.server.kill()
    assert first.finish() == 3
    w.serve(certs=w.dir / 'certs', owners=w.dir / 'owners.toml', **files_of(w, 'serve')).port()
    assert start('alice').finish() == 0
    w.server.end()
    yield checked(w, w.dir / 'serve.log', last=last_hash(w.server))
    assert {r['outcome'] for r in lines(w.dir / 'serve.log')} <= {'done', 'broken'}


# ---- bad input: reported before weights and keys are loaded
DEAL = 'deal --plan {plan} --certs {certs} --listen 127.0.0.1:0 --state {w}/d'.split()
for command in (SERVE_EARLY, DEAL):
    name = command[0]
    alone(f'a log in no folder, {name}', 5, '/none/log', [*command, '--audit-log', '{w}/none/log'])
    alone(f'a log that is another file, {name}', 2, 'is no log of jobs; name one', [*command, '--audit-log', '{w}/other'],
          lambda w: ((w.dir / 'other').write_text('{"a": 1}\n'), (w.dir / 'other').chmod(0o600)))
    alone(f'metrics in no folder, {name}', 5, '/none/m.prom', [*command, '--metrics', '{w}/none/m.prom'])
    alone(f'metrics under a name that node_exporter ignores, {name}', 2, 'name ends in .prom.* got .*/m.txt', [*command, '--metrics', '{w}/m.txt'])

if __name__ == '__main__':
    main()
