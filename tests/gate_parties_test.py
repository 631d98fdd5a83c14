#!/usr/bin/env python3
"""Runs a composition of gates between three processes, suf deal, suf gate serve and suf gate ask, over TLS. Checks each
role's knowledge, its files and its refusals.

  gate_parties_test.py SUF ALTERING_OWNER [PATTERN]     from anywhere; some seconds. PATTERN picks cases
"""
import json
import pathlib
import shutil
import subprocess
import sys

import cases
from roles import AMPLE, PATIENT, Role

SUF = ALTERING_OWNER = ''
WORK = pathlib.Path()
DATA = pathlib.Path(__file__).parent / 'data'
MIXED = """x = input p1 16:4 [n, 2]
v = input p0 8:0 [2] range -100..100
k = input shared 2:0:u [n]
y, b = reluars(x, shift=4) outputs y, w
s = dot(y, v)
t = table(k, {5, -3, 7, 200})
"""
ONE = 'x = input p1 16:4 [n]\ny = relu(x)\noutput y -> '
TABLE = [5, -3, 7, 200]
COMPOSITIONS = {
    'mixed': MIXED + 'output s -> p1\noutput b -> shared\noutput t -> both\n',
    'one': ONE + 'p1\n', 'both': ONE + 'both\n', 'unsafe': ONE + 'both\n', 'kept': ONE + 'shared\n',
    'own': 'x = input p0 16:4 [n]\nw = input p1 8:0\ny = relu(x)\nz = multiply(x, w)\noutput y -> p0\noutput z -> p1\n',
}
OPTIONS = {'mixed': ['--semi-honest'], 'unsafe': ['--semi-honest', '--lowering', 'Index/digits'], 'one': ['--max-values', '3']}


def suf(*words):
    return subprocess.run([SUF, *map(str, words)], capture_output=True, text=True, timeout=5 * AMPLE)


def values(name, numbers):
    (WORK / name).write_text(''.join(f'{v}\n' for v in numbers))
    return WORK / name


def numbers(name):
    """Returns the ring's line and the numbers of a file that a party wrote."""
    first, *rest = (WORK / name).read_text().split('\n')
    assert (WORK / name).stat().st_mode & 0o777 == 0o600
    return first, [int(v) for v in rest if v]


class Three:
    """Dealer and P0, listening; `ask` calls P0."""

    def __init__(self, where, plan, *serve, **process):
        self.plan, self.where = WORK / f'{plan}.plan', WORK / where
        self.where.mkdir()
        common = lambda role: ['--plan', self.plan, '--certs', WORK / 'certs' / role, '--timeout', PATIENT]
        self.dealer = Role([SUF, 'deal', *common('dealer'), '--listen', '127.0.0.1:0', '--state', self.where / 'state'])
        self.address = f'127.0.0.1:{self.dealer.port()}'
        self.server = Role([SUF, 'gate', 'serve', *common('model'), '--dealer', self.address, '--listen', '127.0.0.1:0',
                            '--store', self.where / 'p0', *serve], **process)

    def ask(self, *words):
        return suf('gate', 'ask', '--plan', self.plan, '--certs', WORK / 'certs' / 'data', '--timeout', PATIENT, '--dealer', self.address,
                   '--connect', f'127.0.0.1:{self.server.port()}', '--store', self.where / 'p1', *words)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for role in (self.server, self.dealer):
            role.end()


# ---- bad input: (case, exit code, sentence, command)

MINE = '--values x={w}/x6 --values k={w}/k3'
BAD = [
    ('a model\'s plan for ask', 4, 'this is the plan of a model, not of a composition', 'gate ask --plan {data}/tiny_plan.json {ask}'),
    ('a function\'s plan for serve', 4, 'this is the plan of a function, not of a composition', 'gate serve --plan {w}/relu.plan {serve}'),
    ('a composition\'s plan for fn ask', 4, 'this is the plan of a composition, not of a function', 'fn ask --plan {w}/one.plan {ask}'),
    ('a composition\'s plan for embed', 4, 'this is the plan of a composition, not of a model', 'embed --plan {w}/one.plan {ask} --ids {w}/x6'),
    ('no plan', 2, 'cannot read the plan .*nothing.plan', 'gate ask --plan {w}/nothing.plan {ask}'),
    ('an altered plan', 4, 'does not match its hash; copy or make the plan again', 'gate ask --plan {w}/altered.plan {ask}'),
    ('an altered plan for the dealer', 4, 'does not match its hash', 'deal --plan {w}/altered.plan --certs {w}/certs/dealer --listen 127.0.0.1:0'),
    ('P1 without values', 2, 'the plan takes x from P1; name a file of numbers with --values x=FILE', 'gate ask --plan {w}/one.plan {ask}'),
    ('P1 without its share', 2, 'the plan takes a share of k from P1; name a file of numbers with --values k=FILE',
     'gate ask --plan {w}/mixed.plan {ask} --values x={w}/x6 {agreed}'),
    ('P0 without values', 2, 'the plan takes v from P0; name a file', 'gate serve --plan {w}/mixed.plan {serve} --values k={w}/k3'),
    ('values of the other party', 2, 'the plan takes v from P0 alone; leave out --values v', 'gate ask --plan {w}/mixed.plan {ask} {agreed} --values v={w}/v2 ' + MINE),
    ('values of no input', 2, '--values: "z" is no input', 'gate ask --plan {w}/one.plan {ask} --values z={w}/x6'),
    ('values out of range, before anything is sent', 2, 'far, line 2, is 101, outside -100 to 100',
     'gate serve --plan {w}/mixed.plan {serve} --values v={w}/far --values k={w}/k3'),
    ('a share out of range', 2, 'x6, line 4, is 4, outside 0 to 3', 'gate ask --plan {w}/mixed.plan {ask} {agreed} --values x={w}/x6 --values k={w}/x6'),
    ('half a row', 2, 'x has 3 numbers, and its shape .n, 2. takes a multiple of 2',
     'gate ask --plan {w}/mixed.plan {ask} {agreed} --values x={w}/k3 --values k={w}/k3'),
    ('inputs of other rows', 2, 'x has 3 rows and k has 2; give both the same number of rows',
     'gate ask --plan {w}/mixed.plan {ask} {agreed} --values x={w}/x6 --values k={w}/k2'),
    ('more rows than the plan covers', 2, 'the call has 6 rows; the plan covers 1 to 3; bring fewer at a time', 'gate ask --plan {w}/one.plan {ask} --values x={w}/x6'),
    ('P0 with an output that it does not get', 2, 'the plan gives P0 no output; leave out --out', 'gate serve --plan {w}/one.plan {serve} --out {w}/out'),
    ('shares without a place', 2, 'leaves each party a share of y; name a file for that of P1 with --out', 'gate ask --plan {w}/kept.plan {ask} --values x={w}/k3'),
    ('packed words without a place', 2, '--packed writes the words that a party learned; name a file', 'gate ask --plan {w}/one.plan {ask} --values x={w}/k3 --packed'),
    ('packed shares', 4, 'share', 'gate ask --plan {w}/kept.plan {ask} --values x={w}/k3 --packed --out {w}/out'),
    ('an output that cannot be written', 5, r'cannot write \S+/none/out', 'gate ask --plan {w}/one.plan {ask} --values x={w}/k3 --out {w}/none/out'),
    ('an output that P0 cannot write', 5, 'cannot write /dev/full, which is no ordinary file',
     'gate serve --plan {w}/both.plan {serve} --out /dev/full'),
    ('expected plans: P0 learns, and nobody agreed', 4,
     'by this plan P0 learns t of our values; if that is agreed, add --expect-to s=p1,b=shared,t=both, or --plan-hash', 'gate ask --plan {w}/mixed.plan {ask} ' + MINE),
    ('expected plans: another ending', 4, 'the plan gives t to both parties, and --expect-to is p1; ask for the plan that was agreed',
     'gate ask --plan {w}/mixed.plan {ask} --expect-to s=p1,b=shared,t=p1'),
    ('expected plans: another ending, for P0', 4, 'the plan gives y to P1, and --expect-to is p0', 'gate serve --plan {w}/one.plan {serve} --expect-to p0'),
    ('expected plans: an output is left out', 2, '--expect-to leaves out b; name every output, such as s=p1,b=shared,t=both',
     'gate ask --plan {w}/mixed.plan {ask} --expect-to s=p1,t=both'),
    ('expected plans: an output twice', 2, '--expect-to names s twice', 'gate ask --plan {w}/mixed.plan {ask} --expect-to s=p1,s=p1'),
    ('expected plans: another output', 4, '--expect-to names "q", which is no output of the plan', 'gate ask --plan {w}/one.plan {ask} --expect-to q=p1'),
    ('expected plans: one ending of several outputs', 2, '--expect-to takes NAME=PARTY for each output', 'gate ask --plan {w}/mixed.plan {ask} --expect-to p1'),
    ('expected plans: no ending', 2, '--expect-to does not know me; use one of p0, p1, both, shared', 'gate ask --plan {w}/one.plan {ask} --expect-to y=me'),
    ('expected plans: another hash', 4, 'the plan has the hash [0-9a-f]{{64}}, and --plan-hash names another one',
     f'gate ask --plan {{w}}/mixed.plan {{ask}} --plan-hash {64 * "0"}'),
    ('expected plans: half a hash', 2, '--plan-hash takes the 64 hexadecimal digits that suf gate plan prints; got 16 characters',
     f'gate serve --plan {{w}}/one.plan {{serve}} --plan-hash {16 * "0"}'),
    ('steering: in a plan that is made', 4, 'a P0 that alters its messages learns more of P1\'s values than s and t .*--semi-honest',
     'gate plan {w}/steering.gates --out {w}/out.plan'),
    ('steering: in a plan that P1 is given', 4, 'a P0 that alters its messages learns more of P1\'s values than y .*--semi-honest',
     'gate ask --plan {w}/unsafe.plan {ask} --values x={w}/k3 --expect-to both'),
    ('more numbers than a plan holds', 4, 'max_rows is 67108864, and x would have over 2.40 numbers.*--max-values',
     'gate plan {w}/wide.gates --max-values 67108864 --out {w}/out.plan'),
]


def bad_input(what, code, sentence, command):
    flags = {'ask': '--certs {w}/certs/data --dealer 127.0.0.1:9 --connect 127.0.0.1:9 --store {w}/p1', 'agreed': '--expect-to s=p1,b=shared,t=both --semi-honest',
             'serve': '--certs {w}/certs/model --dealer 127.0.0.1:9 --listen 127.0.0.1:0 --store {w}/p0'}
    done = suf(*command.format(w='{w}', data=DATA, **flags).format(w=WORK).split())
    cases.refused(done, code, sentence.replace('{{', '{').replace('}}', '}'), 600)
    assert not done.stdout and not list(WORK.glob('out*')) and not (WORK / 'p0').exists() and not (WORK / 'p1').exists(), 'something was written'


# ---- results

X, V, K = [160, -32, 7, 8, -5, 3200], [-3, 100], ([1, 3, 2], [3, 3, 2])  # 3 rows; k = 0, 2, 0
T = [TABLE[(a + b) % 4] for a, b in zip(*K)]


def meant():
    """Returns s and w of the mixed composition."""
    u = [(x + 8) >> 4 for x in X]
    y = [max(0, v) for v in u]
    return [y[2 * i] * V[0] + y[2 * i + 1] * V[1] for i in range(3)], [int(v >= 0) for v in u]


def mine():
    return '--values', f'x={values("x", X)}', '--values', f'k={values("k.p1", K[1])}'


def theirs():
    return '--values', f'v={values("v", V)}', '--values', f'k={values("k.p0", K[0])}'


def test_every_origin_and_ending():
    """All origins and endings, by processes. Each run is compared with the gates' meaning by the program."""
    for origin in ('p0', 'p1', 'shared'):
        for to in ('p0', 'p1', 'both', 'shared'):
            text = f'x = input {origin} 16:4 [n, 2]\nw = input p1 8:0 [2]\ny, b = reluars(x, shift=4) outputs y, w\ns = dot(y, w)\noutput s -> {to}\noutput b -> {to}\n'
            (WORK / 'ends.gates').write_text(text)
            done = suf('gate', 'run', WORK / 'ends.gates', '--random', 5, '--processes', '--json')
            assert done.returncode == 0, (origin, to, done.stderr)
            row = json.loads(done.stdout)
            assert row['equal'] is True and row['rows'] == 5 and row['ms']['online'] > 0, (origin, to, row)


def test_inputs_of_both():
    """Both parties bring inputs and shares. Each learns its outputs, and keeps its share."""
    s, w = meant()
    with Three('mixed', 'mixed', *theirs(), '--out', WORK / 'r.p0') as t:
        for call in range(2):  # the second call takes fresh keys
            done = t.ask(*mine(), '--expect-to', 's=p1,b=shared,t=both', '--semi-honest', '--out', WORK / 'r.p1', '--json')
            assert done.returncode == 0, done.stderr
            row = json.loads(done.stdout)
            assert row['outputs']['s'] == s and row['outputs']['t'] == T, row
            assert not row['outputs'].get('b'), 'a share is no result'
            assert row['equal'] is None and row['serial'] == call + 1 and row['rows'] == 3 and row['schema'] == 'suf.gate/1', row
            assert row['plan'] == json.loads(t.plan.read_text())['hash'] and row['wire_bytes'][0] > 0 and row['ms']['online'] > 0, row
        assert t.server.said('serial 2, 3 rows')
    assert numbers('r.p1.s')[1] == s and not (WORK / 'r.p0.s').exists()
    assert numbers('r.p0.t') == numbers('r.p1.t') and numbers('r.p0.t')[1] == T
    assert [a ^ b for a, b in zip(numbers('r.p0.b')[1], numbers('r.p1.b')[1])] == w


def test_agreed_plans():
    """Both parties report the plan before they send anything, and run it if it is the agreed one."""
    hash = json.loads((WORK / 'mixed.plan').read_text())['hash']
    with Three('agreed', 'mixed', *theirs(), '--out', WORK / 'a.p0', '--expect-to', 't=both,s=p1,b=shared', '--plan-hash', hash.upper()) as t:
        t.server.port()
        lines = '\n'.join(t.server.err)
        order = [lines.find(f'gate serve: {line}') for line in ('the composition has 3 gates; it takes x from P1, v from P0 and k from shares of both',
                                                                 'it gives s to P1, b to nobody: each keeps a share and t to both parties', f'the plan is {hash}', 'listening')]
        assert -1 not in order and order == sorted(order), lines
        done = t.ask(*mine(), '--plan-hash', hash, '--semi-honest', '--out', WORK / 'a.p1')
        assert done.returncode == 0 and not done.stdout and '3 rows' in done.stderr, done.stderr


def test_packed():
    """P1 writes its outputs as packed words, which gate unpack reads again."""
    with Three('packed', 'one') as t:
        done = t.ask('--values', f'x={values("x3", [5, -7, 9])}', '--packed', '--out', WORK / 'y.packed', '--expect-to', 'p1')
        assert done.returncode == 0, done.stderr
    done = suf('gate', 'unpack', t.plan, '--file', WORK / 'y.packed', '--out', WORK / 'y.unpacked')
    assert done.returncode == 0 and numbers('y.unpacked')[1] == [5, 0, 9], done.stderr


def test_p0_brings_the_rows():
    """P0 brings the rows and learns an output. P1 brings a number and learns another output, as tables."""
    x = [5, -7, 3]
    with Three('own', 'own', '--values', f'x={values("own.x", x)}', '--once') as t:
        done = t.ask('--values', f'w={values("own.w", [-2])}')
        assert done.returncode == 0 and '3 rows' in done.stderr, done.stderr
        assert [line.split()[-1] for line in done.stdout.splitlines() if line and line[0] in '123'] == [str(-2 * v) for v in x], done.stdout
        assert t.server.finish() == 0
        assert [line.split()[-1] for line in t.server.out.decode().splitlines() if line and line[0] in '123'] == [str(max(v, 0)) for v in x], t.server.out


def test_rows_differ():
    """Both parties bring rows, but different numbers of them. Both report it, and nothing is spent."""
    with Three('rows', 'mixed', *theirs(), '--out', WORK / 'd.p0') as t:
        flags = ['--expect-to', 's=p1,b=shared,t=both', '--semi-honest', '--out', WORK / 'd.p1', '--json']
        done = t.ask('--values', f'x={values("x4", X[:4])}', '--values', f'k={values("k2", [0, 1])}', *flags)
        assert done.returncode == 2 and 'we bring 2 rows, and P0 brings 3; give both the same number' in done.stderr, done.stderr
        done = t.ask(*mine(), *flags)
        assert done.returncode == 0 and json.loads(done.stdout)['serial'] == 1, done.stderr


def test_unwritten():
    """If P0's outputs cannot be written, the call ends well, and P0 accepts no further call."""
    with open('/dev/full', 'w') as full, Three('lost', 'own', '--values', f'x={values("lost.x", [5, -7])}', stdout=full) as t:
        done = t.ask('--values', f'w={values("lost.w", [1])}')
        assert done.returncode == 0 and '2 rows' in done.stderr, done.stderr
        assert t.server.finish() == 5
        assert t.server.err[-1] == 'suf: cannot write to stdout (No space left on device); see to the disk or the program behind it', t.server.err


def test_audit():
    """P0 opens two of three bundles and finds them correct."""
    with Three('audited', 'both', '--out', WORK / 'learned') as t:
        done = t.ask('--values', f'x={values("x3", [5, -7, 9])}', '--expect-to', 'y=both', '--audit', '2', '--json')
        assert done.returncode == 0 and done.stderr.count('found nothing wrong') == 2, done.stderr
        assert sum('audited: both bundles are as they should be' in line for line in t.server.err) == 2
        assert json.loads(done.stdout)['outputs']['y'] == numbers('learned')[1] == [5, 0, 9]


def test_a_wrong_result_is_reported_after_the_call():
    """P1 knows every input. If P0 altered its words, P1 reports it with code 4 after the session has ended well."""
    with Three('wrong', 'one') as t:
        t.server.end()
        t.server = Role([ALTERING_OWNER, t.plan, WORK / 'certs' / 'model', t.address, t.where / 'altering'])
        done = t.ask('--values', f'x={values("x2", [1, 2])}', '--json')
        assert t.server.finish() == 0 and t.server.out == b'the session ended well\n', (t.server.out, t.server.err)
        assert done.returncode == 4 and json.loads(done.stdout)['equal'] is False
        assert "2 numbers differ from the gates' own meaning, the first is y, number 1; do not retry" in done.stderr.splitlines()[-1], done.stderr


def prepare(folder):
    global SUF, ALTERING_OWNER, WORK
    SUF, ALTERING_OWNER, WORK = str(pathlib.Path(sys.argv[1]).resolve()), str(pathlib.Path(altering_owner).resolve()), folder
    assert suf('certs', WORK / 'certs').returncode == 0
    assert suf('fn', 'plan', 'relu', '--out', WORK / 'relu.plan').returncode == 0
    for name, text in COMPOSITIONS.items():
        (WORK / f'{name}.gates').write_text(text)
        done = suf('gate', 'plan', WORK / f'{name}.gates', *OPTIONS.get(name, []), '--out', WORK / f'{name}.plan')
        assert done.returncode == 0, f'{name}: {done.stderr}'
    (WORK / 'steering.gates').write_text(MIXED + 'output s -> both\noutput t -> p0\n')
    (WORK / 'wide.gates').write_text('x = input p1 8:0 [n, 65536]\ny = times(x, by=3)\noutput y -> p1\n')
    (WORK / 'altered.plan').write_text((WORK / 'one.plan').read_text().replace('-> p1', '-> p0'))
    for name, list_of in (('x6', [0, 1, 2, 4, 5, 6]), ('k3', [0, 1, 2]), ('k2', [0, 1]), ('v2', [3, 4]), ('far', [1, 101])):
        values(name, list_of)


if __name__ == '__main__':
    altering_owner = sys.argv.pop(2)
    cases.main(globals(), prepare)
