#!/usr/bin/env python3
"""Runs a function between three processes, suf deal, suf fn serve and suf fn ask, over TLS. Checks each role's
knowledge, its files and its refusals.

  functions_test.py SUF ALTERING_OWNER [PATTERN]     from anywhere; some seconds. PATTERN picks cases
"""
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys

import cases
from roles import AMPLE, PATIENT, Role

SUF = ALTERING_OWNER = ''
WORK = pathlib.Path()
DATA = pathlib.Path(__file__).parent / 'data'
TARIFF = """suf tariff domain 20 ring 28 outputs 1 degree 1
poly 0 : 0 0
poly 20000 : -400000 20
poly 60000 : -1600000 40
end 1048576
channel unsigned 28 0 tax
"""
PAIR = """suf pair domain 32 ring 16 outputs 1 degree 1
poly 0 : 7 1
end 4294967296
channel signed 16 0 a
channel signed 16 0 b
"""


def suf(*words):
    return subprocess.run([SUF, *map(str, words)], capture_output=True, text=True, timeout=5 * AMPLE)


def plan(name, function, *words):
    out = WORK / f'{name}.plan'
    done = suf('fn', 'plan', function, *words, '--out', out)
    assert done.returncode == 0, done.stderr
    return out


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

    def __init__(self, where, deal_plan, serve_plan, *serve, **process):
        self.where = WORK / where
        self.where.mkdir()
        common = lambda role: ['--certs', WORK / 'certs' / role, '--timeout', PATIENT]
        self.dealer = Role([SUF, 'deal', '--plan', deal_plan, *common('dealer'), '--listen', '127.0.0.1:0', '--state', self.where / 'state'])
        self.address = f'127.0.0.1:{self.dealer.port()}'
        self.server = Role([SUF, 'fn', 'serve', '--plan', serve_plan, *common('model'), '--dealer', self.address, '--listen', '127.0.0.1:0',
                            '--store', self.where / 'p0', *serve], **process)

    def ask(self, ask_plan, *words):
        return suf('fn', 'ask', '--plan', ask_plan, '--certs', WORK / 'certs' / 'data', '--timeout', PATIENT, '--dealer', self.address,
                   '--connect', f'127.0.0.1:{self.server.port()}', '--store', self.where / 'p1', *words)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for role in (self.server, self.dealer):
            role.end()


# ---- bad input: (case, exit code, sentence, command)

BAD = [
    ('a model\'s plan for ask', 4, 'this is the plan of a model, not of a function', 'fn ask --plan {data}/tiny_plan.json {ask}'),
    ('a model\'s plan for serve', 4, 'this is the plan of a model, not of a function', 'fn serve --plan {data}/tiny_plan.json {serve}'),
    ('a function\'s plan for embed', 4, 'this is the plan of a function, not of a model',
     'embed --plan {w}/relu.plan {ask} --ids {w}/two.txt'),
    ('a function\'s plan for estimate', 4, 'this is the plan of a function, not of a model', 'estimate --plan {w}/relu.plan --tokens 4'),
    ('no plan', 2, 'cannot read the plan .*nothing.plan', 'fn ask --plan {w}/nothing.plan {ask}'),
    ('a plan that was altered', 4, 'does not match its hash; copy or make the plan again', 'fn ask --plan {w}/altered.plan {ask}'),
    ('a plan that is no JSON', 4, 'the plan is not JSON text at line 2, column 1; make the plan again', 'fn ask --plan {w}/two.txt {ask}'),
    ('a plan of another kind of JSON', 4, 'the plan is no JSON object; make the plan again', 'fn ask --plan {w}/one.txt {ask}'),
    ('an altered plan for the dealer', 4, 'does not match its hash', 'deal --plan {w}/altered.plan --certs {w}/certs/dealer --listen 127.0.0.1:0'),
    ('P1 without values', 2, 'the plan takes x from P1; name a file of numbers with --values', 'fn ask --plan {w}/relu.plan {ask}'),
    ('P0 with values that nobody asks for', 2, 'the plan takes x from P1 alone; leave out --values',
     'fn serve --plan {w}/relu.plan {serve} --values {w}/two.txt'),
    ('P0 with a result that it does not get', 2, 'the plan gives P0 no result; leave out --out', 'fn serve --plan {w}/relu.plan {serve} --out {w}/out'),
    ('shares without a place', 2, "leaves each party a share of the result; name a file for that of P1 with --out",
     'fn ask --plan {w}/shared.plan {ask} --values {w}/two.txt'),
    ('a value that is no number', 2, 'bad.txt, line 2, is no whole number: "four"', 'fn ask --plan {w}/relu.plan {ask} --values {w}/bad.txt'),
    ('P1 with a value that the function does not take', 2, 'minus.txt, line 2, is -1; exp takes 0 to 65535, which is x from 0 to 15.9998',
     'fn ask --plan {w}/exp.plan {ask} --values {w}/minus.txt'),
    ('P0 with a value that the function does not take', 2, 'zero.txt, line 1, is 0; recip takes 1 to 4294967295', 'fn serve --plan {w}/recip.plan {serve} --values {w}/zero.txt'),
    ('more values than the plan covers', 2, 'the call has 2 values; the plan covers 1 to 1; bring fewer at a time, or make a plan for more',
     'fn ask --plan {w}/one.plan {ask} --values {w}/two.txt'),
    ('a lowering that does not apply', 4, 'RowLut does not apply to relu', 'fn plan relu --lowering RowLut --out {w}/out.plan'),
    ('an unknown ending', 2, '--to does not know me; use one of', 'fn plan relu --to me --out {w}/out.plan'),
    ('no values at all', 2, '--max-values', 'fn plan relu --max-values 0 --out {w}/out.plan'),
    ('expected plans: P0 learns, and nobody agreed', 4, 'by this plan P0 learns a result of our values; if that is agreed, add --expect-to both',
     'fn ask --plan {w}/both.plan {ask} --values {w}/two.txt'),
    ('expected plans: P0 learns of shares', 4, 'by this plan P0 learns a result of our shares; if that is agreed, add --expect-to p0',
     'fn ask --plan {w}/shares.plan {ask} --values {w}/two.txt'),
    ('expected plans: another ending', 4, 'the plan gives the result to both parties, and --expect-to is p1; ask for the plan that was agreed',
     'fn ask --plan {w}/both.plan {ask} --values {w}/two.txt --expect-to p1'),
    ('expected plans: another ending, for P0', 4, 'the plan gives the result to both parties, and --expect-to is p0',
     'fn serve --plan {w}/both.plan {serve} --expect-to p0'),
    ('expected plans: no ending', 2, '--expect-to does not know me; use one of p0, p1, both, shared', 'fn ask --plan {w}/relu.plan {ask} --expect-to me'),
    ('expected plans: another hash', 4, 'the plan has the hash [0-9a-f]{64}, and --plan-hash names another one',
     f'fn ask --plan {{w}}/both.plan {{ask}} --values {{w}}/two.txt --plan-hash {64 * "0"}'),
    ('expected plans: another hash, for P0', 4, '--plan-hash names another one', f'fn serve --plan {{w}}/both.plan {{serve}} --plan-hash {64 * "a"}'),
    ('expected plans: half a hash', 2, '--plan-hash takes the 64 hexadecimal digits that suf fn plan prints; got 16 characters',
     f'fn ask --plan {{w}}/both.plan {{ask}} --values {{w}}/two.txt --plan-hash {16 * "0"}'),
    ('expected plans: no hash', 2, '--plan-hash takes the 64 hexadecimal digits', f'fn serve --plan {{w}}/both.plan {{serve}} --plan-hash {64 * "g"}'),
    ('steering: a lowering that lets P0 learn more', 4,
     'the lowering Index/digits of relu lets a P0 that alters its messages learn more of x than the result .*depends on P0\'s message.*; take StepDcf'
     '.*--semi-honest', 'fn plan relu --to both --lowering Index/digits --out {w}/out.plan'),
    ('steering: no other lowering', 4, 'every lowering of exp lets a P0 that alters its messages learn more .*--semi-honest',
     'fn plan exp --n 24 --scale 8 --from shared --to p0 --out {w}/out.plan'),
    ('steering: in a plan that P1 is given', 4, 'a P0 that alters its messages learns more of our values than the result .*--semi-honest',
     'fn ask --plan {w}/steered.plan {ask} --values {w}/two.txt --expect-to both'),
    ('a result that cannot be written', 5, r'cannot write \S+/none/out \(No such file or directory\)',
     'fn ask --plan {w}/relu.plan {ask} --values {w}/two.txt --out {w}/none/out'),
    ('a result in place of a folder', 5, 'cannot write .*/certs, which is a folder; name another file',
     'fn ask --plan {w}/relu.plan {ask} --values {w}/two.txt --out {w}/certs'),
    ('a result that P0 cannot write', 5, 'cannot write /dev/full, which is no ordinary file; name another file',
     'fn serve --plan {w}/both.plan {serve} --out /dev/full'),
    ('a channel that leads to another folder', 4, r'the channel "/\.\./EVIL" would name a file in another folder; use a function',
     'fn plan {w}/leads.suf --to shared --out {w}/out.plan'),
    ('a channel that leads to another folder, in a plan', 4, r'the channel "/\.\./EVIL" would name a file in another folder',
     'fn ask --plan {w}/leads.plan {ask} --values {w}/two.txt --out {w}/certs/'),
    ('the same for P0', 4, r'the channel "/\.\./EVIL" would name a file', 'fn serve --plan {w}/leads.plan {serve} --out {w}/certs/'),
    ('a pipe in a store', 4, 'pipe/lock is no ordinary file; name another one', 'fn ask --plan {w}/relu.plan --certs {w}/certs/data --dealer 127.0.0.1:9 '
     '--connect 127.0.0.1:9 --store {w}/pipe --values {w}/two.txt'),
    ('a pipe in place of a certificate', 2, r'cannot use \S+/ca.pem \(it is no ordinary file\)',
     'deal --plan {w}/relu.plan --certs {w}/piped --listen 127.0.0.1:0'),
    ('a port at which nobody listens', 3, r'Connection refused', 'fn ask --plan {w}/relu.plan --certs {w}/certs/data --dealer 127.0.0.1:9 '
     '--connect 127.0.0.1:9 --store {w}/kept --values {w}/two.txt'),
    ('lowering and profile', 2, 'excludes', 'fn plan relu --lowering StepDcf --profile lan --out {w}/out.plan'),
    ('another backend by processes', 2, '--processes runs the three roles, which compute on packed; leave out --backend clear',
     'fn run relu --x 1 --processes --backend clear'),
]


def bad_input(what, code, sentence, command):
    flags = {'ask': '--certs {w}/certs/data --dealer 127.0.0.1:9 --connect 127.0.0.1:9 --store {w}/p1',
             'serve': '--certs {w}/certs/model --dealer 127.0.0.1:9 --listen 127.0.0.1:0 --store {w}/p0'}
    words = command.format(w='{w}', data=DATA, **flags).format(w=WORK).split()
    done = suf(*words)
    cases.refused(done, code, sentence, 500)
    assert not done.stdout and not list(WORK.glob('out*')) and not (WORK / 'p0').exists() and not (WORK / 'p1').exists(), 'something was written'


# ---- results

def test_every_origin_and_ending():
    """All origins and endings, by processes; each run is compared with the function's definition."""
    r = random.Random(1)
    for start in ('p0', 'p1', 'shared'):
        for to in ('p0', 'p1', 'both', 'shared'):
            x = [r.randrange(1 << 20) for _ in range(5)]
            done = suf('fn', 'run', WORK / 'tariff.suf', '--x', ','.join(map(str, x)), '--from', start, '--to', to, '--processes', '--json')
            assert done.returncode == 0, done.stderr
            row = json.loads(done.stdout)
            assert row['y'] == [[max(0, 20 * v - 400000 if v < 60000 else 40 * v - 1600000)] for v in x] and row['equal'] is True
            assert row['ms']['online'] > 0 and row['flights'] >= 1


def test_compare():
    """Two parties compare two private numbers. Each brings its own, and both learn the sign of the difference."""
    sign = plan('sign', 'sign', '--from', 'shared', '--to', 'both')
    mine, theirs = [7, 5, 9, 2**30], [5, 7, 9, 0]
    with Three('compare', sign, sign, '--values', values('theirs', [-v for v in theirs]), '--out', WORK / 'sign.p0') as t:
        for call in range(2):  # the second call takes fresh keys
            done = t.ask(sign, '--values', values('mine', mine), '--expect-to', 'both', '--json')
            assert done.returncode == 0, done.stderr
            row = json.loads(done.stdout)
            assert row['y'] == [[((a > b) - (a < b)) << 12] for a, b in zip(mine, theirs)]
            assert row['equal'] is None and row['x'] == [] and row['serial'] == call + 1
        assert t.server.said('serial 2, 4 values')
        assert numbers('sign.p0') == ('mod 2^32', [y for y, in row['y']])


def test_shares_go_from_call_to_call():
    """Two servers with secret-shared incomes: the tax, and the rest after tax by the next function, only in shares."""
    r = random.Random(2)
    incomes = [12000, 20000, 59999, 60000, 900000]
    shares = [[r.randrange(1 << 20) for _ in incomes]]
    shares.append([(v - s) % (1 << 20) for v, s in zip(incomes, shares[0])])
    files = [values(f'inc.p{p}', shares[p]) for p in (0, 1)]
    tariff = plan('tariff', WORK / 'tariff.suf', '--from', 'shared', '--to', 'shared')
    with Three('tariff', tariff, tariff, '--values', files[0], '--out', WORK / 'tax.p0') as t:
        assert t.ask(tariff, '--values', files[1], '--out', WORK / 'tax.p1').returncode == 0
        assert t.server.said('5 values')
    halves = [numbers(f'tax.p{p}') for p in (0, 1)]
    tax = [max(0, 20 * v - 400000 if v < 60000 else 40 * v - 1600000) for v in incomes]
    assert halves[0][0] == halves[1][0] == 'mod 2^28'
    assert [(a + b) % 2**28 for a, b in zip(halves[0][1], halves[1][1])] == tax
    cap = plan('cap', 'min(1000)', '--n', '28', '--scale', '10', '--from', 'shared', '--to', 'p1')
    with Three('cap', cap, cap, '--values', WORK / 'tax.p0') as t:
        done = t.ask(cap, '--values', WORK / 'tax.p1', '--json')
        assert done.returncode == 0, done.stderr
        assert [y for y, in json.loads(done.stdout)['y']] == [min(v, 1000 << 10) for v in tax]


def test_p0_alone():
    """P0 brings and learns the values. P1 helps and learns only their number."""
    relu = plan('own', 'relu', '--from', 'p0', '--to', 'p0')
    with Three('own', relu, relu, '--values', values('x', [5, -7, 3]), '--out', WORK / 'y', '--once') as t:
        done = t.ask(relu)
        assert done.returncode == 0 and not done.stdout and '3 values' in done.stderr, done.stderr
        assert t.server.finish() == 0
        assert numbers('y') == ('mod 2^32', [5, 0, 3])


def test_unwritten():
    """If P0's result cannot be written, the call ends well, and P0 accepts no further call."""
    relu = plan('lost', 'relu', '--from', 'p0', '--to', 'p0')
    with open('/dev/full', 'w') as full, Three('lost', relu, relu, '--values', values('x', [5, -7, 3]), stdout=full) as t:
        done = t.ask(relu)
        assert done.returncode == 0 and '3 values' in done.stderr, done.stderr
        assert t.server.finish() == 5
        assert t.server.err[-1] == 'suf: cannot write to stdout (No space left on device); see to the disk or the program behind it', t.server.err


def test_audit():
    """P0 opens two of three bundles and finds them correct."""
    relu = plan('audited', 'relu', '--to', 'both')
    with Three('audited', relu, relu, '--out', WORK / 'learned') as t:
        done = t.ask(relu, '--values', WORK / 'two.txt', '--expect-to', 'both', '--audit', '2', '--json')
        assert done.returncode == 0 and done.stderr.count('found nothing wrong') == 2, done.stderr
        assert sum('audited: both bundles are as they should be' in line for line in t.server.err) == 2
        assert json.loads(done.stdout)['y'] == [[1], [2]] and numbers('learned')[1] == [1, 2]


def test_counts_differ():
    """Both parties bring values, but different numbers of them. Both report it, and nothing is spent."""
    sign = plan('sign2', 'sign', '--from', 'shared', '--to', 'p1')
    with Three('counts', sign, sign, '--values', values('three', [1, 2, 3])) as t:
        done = t.ask(sign, '--values', values('two', [1, 2]))
        assert done.returncode == 2 and 'we bring 2 values, and P0 brings 3; give both the same number' in done.stderr, done.stderr
        assert t.ask(sign, '--values', WORK / 'three').returncode == 0


def test_other_plans():
    """Roles with different plans end the session before anything is spent: another function, choice or ending."""
    one = plan('a', 'relu', '--lowering', 'StepDcf')
    for name, words in (('b', ['relu', '--lowering', 'Index/digits']), ('c', ['abs']), ('d', ['relu', '--to', 'both', '--lowering', 'StepDcf']),
                        ('e', ['relu', '--lowering', 'StepDcf', '--max-values', '7'])):
        other = plan(name, *words)
        with Three(f'other-{name}', one, other) as t:
            done = t.ask(one, '--values', WORK / 'two.txt')
            assert done.returncode == 4 and 'holds another plan' in done.stderr, (name, done.stderr)
        with Three(f'dealer-{name}', other, one) as t:
            done = t.ask(one, '--values', WORK / 'two.txt')
            assert done.returncode == 4 and 'holds another plan' in done.stderr, (name, done.stderr)


def said_of_plan(command, text, function, lowering, origin, ending, hash):
    """Asserts that a role reports its plan in these lines, in order, before it dials or listens. Returns the last
    position."""
    lines = [f'{command}: the function is {function}, by {lowering}', f'{command}: x comes from {origin}; the result goes to {ending}',
             f'{command}: the plan is {hash}']
    found = [text.find(line) for line in lines]
    assert -1 not in found and found == sorted(found), text
    return found[-1]


def test_expected_plans():
    """Both parties report the plan before they send anything, and run it if it is the agreed one."""
    both = WORK / 'both.plan'
    hash = json.loads(both.read_text())['hash']
    facts = ('relu', 'StepDcf', 'P1, in private', 'both parties', hash)
    nobody = suf('fn', 'ask', '--plan', both, '--certs', WORK / 'certs' / 'data', '--dealer', '127.0.0.1:9', '--connect', '127.0.0.1:9',
                 '--store', WORK / 'nobody', '--values', WORK / 'two.txt', '--expect-to', 'both')
    assert nobody.returncode == 3, nobody.stderr
    assert said_of_plan('fn ask', nobody.stderr, *facts) < nobody.stderr.index('nobody answers')
    with Three('expected', both, both, '--expect-to', 'both', '--plan-hash', hash.upper()) as t:
        t.server.port()
        lines = '\n'.join(t.server.err)
        assert said_of_plan('fn serve', lines, *facts) < lines.index('listening on port')
        for agreed in (['--expect-to', 'both'], ['--plan-hash', hash], ['--plan-hash', hash.upper(), '--expect-to', 'both']):
            done = t.ask(both, '--values', WORK / 'two.txt', *agreed, '--json')
            assert done.returncode == 0 and json.loads(done.stdout)['y'] == [[1], [2]], done.stderr
    assert hash in suf('fn', 'plan', 'relu', '--to', 'both', '--out', WORK / 'same.plan').stdout


def test_steering():
    """A plan by which P0 learns a result takes lowerings safe against a P0 that alters messages. Others need
    --semi-honest."""
    for function, start, to, profile in (('relu', 'p1', 'p0', 'cpu'), ('relu', 'shared', 'both', 'lan'), ('gelu', 'p1', 'both', 'wan'),
                                         (WORK / 'tariff.suf', 'shared', 'p0', 'balanced'), (WORK / 'less.suf', 'shared', 'both', 'cpu')):
        ends = ['--from', start, '--to', to, '--profile', profile]
        cost = json.loads(suf('fn', 'cost', function, *ends, '--json').stdout)
        (name, choice), = cost['choice'].items()
        by_name = {row['lowering']: row for row in cost['lowerings']}
        assert by_name[choice]['safe'] and not all(row['safe'] for row in by_name.values())
        assert by_name[choice]['seconds'][name] == min(row['seconds'][name] for row in by_name.values() if row['safe'])
        assert json.loads(plan('safe', function, *ends).read_text())['lowering'] == choice
        cheapest = min(by_name.values(), key=lambda row: row['seconds'][name])['lowering']
        assert json.loads(plan('cheapest', function, *ends, '--semi-honest').read_text())['lowering'] == cheapest
        unsafe = next(name for name, row in by_name.items() if not row['safe'])
        refused = suf('fn', 'plan', function, *ends[:4], '--lowering', unsafe, '--out', WORK / 'refused.plan')
        assert refused.returncode == 4 and unsafe in refused.stderr and not (WORK / 'refused.plan').exists(), refused.stderr
        plan('named', function, *ends[:4], '--lowering', unsafe, '--semi-honest')
    # If P0 learns nothing of P1's values, every lowering is allowed.
    for ends in (('p1', 'p1'), ('shared', 'p1'), ('p0', 'both'), ('p0', 'p0'), ('shared', 'shared')):
        plan('any', 'relu', '--from', ends[0], '--to', ends[1], '--lowering', 'Index/digits')
    # A party that trusts P0 runs any plan. `fn run` plays both parties and needs no trust.
    steered = WORK / 'steered.plan'
    with Three('steered', steered, steered) as t:
        done = t.ask(steered, '--values', WORK / 'two.txt', '--expect-to', 'both', '--semi-honest', '--json')
        assert done.returncode == 0 and json.loads(done.stdout)['y'] == [[1], [2]], done.stderr
    for words in (['relu', '--lowering', 'Index/digits'], ['exp', '--n', '24', '--scale', '8'], ['relu', '--lowering', 'Index/digits', '--processes']):
        done = suf('fn', 'run', *words, '--x', '3', '--to', 'both')
        assert done.returncode == 0 and 'equal to the function' in done.stdout, done.stderr
    table = suf('fn', 'cost', 'relu', '--to', 'both').stdout
    assert re.search(r'^StepDcf +yes ', table, re.M) and re.search(r'^Index/digits +no ', table, re.M), table
    assert 'a P0 that alters its messages learns only F(x)' in table and 'safe' not in suf('fn', 'cost', 'relu').stdout


def test_a_wrong_result_is_reported_after_the_call():
    """P1 knows x and learns y. If P0 altered its words, P1 reports it with code 4 after the session has ended well."""
    for to in ('both', 'p1'):
        given = plan(f'wrong-{to}', 'relu', '--to', to)
        with Three(f'wrong-{to}', given, given) as t:
            t.server.end()
            t.server = Role([ALTERING_OWNER, given, WORK / 'certs' / 'model', t.address, t.where / 'altering'])
            done = t.ask(given, '--values', WORK / 'two.txt', '--expect-to', to, '--json')
            assert t.server.finish() == 0 and t.server.out == b'the session ended well\n', (t.server.out, t.server.err)
            assert done.returncode == 4 and json.loads(done.stdout)['equal'] is False
            last = done.stderr.splitlines()[-1]
            assert re.search("2 of 2 values differ from relu's own meaning, the first at x = 1; do not retry", last), done.stderr


def test_p1_keeps_its_result():
    """If both learn and P0 cannot write its result, P1 still has its own."""
    both = WORK / 'both.plan'
    gone = WORK / 'gone'
    gone.mkdir()
    with Three('keeps', both, both, '--out', gone / 'y') as t:
        assert t.server.said('listening on port')
        gone.rmdir()
        done = t.ask(both, '--values', WORK / 'two.txt', '--expect-to', 'both', '--json')
        assert done.returncode == 0 and json.loads(done.stdout)['y'] == [[1], [2]], done.stderr
        assert t.server.finish() == 5 and 'cannot write' in t.server.err[-1], t.server.err


def test_keys_ahead():
    """Preprocessed bundles lie in the stores, and the dealer's messages have values instead of tokens."""
    relu = plan('ahead', 'relu')
    with Three('ahead', relu, relu, '--ahead', '3') as t:
        t.dealer.end()
        t.dealer = Role([SUF, 'deal', '--plan', relu, '--certs', WORK / 'certs' / 'dealer', '--listen', t.address, '--state', t.where / 'state',
                         '--tokens', '2', '--count', '3'])
        t.dealer.port()
        for _ in range(2):
            done = t.ask(relu, '--values', WORK / 'two.txt', '--ahead', '3', '--json')
            assert done.returncode == 0, done.stderr
        assert t.dealer.said('serial 3, 2 values') and not t.dealer.said('serial 4', 0.3)
        assert json.loads(done.stdout)['y'] == [[1], [2]]


# ---- the commands of docs/functions.md

NUMBERS = {'a.txt': [150, 90, 300], 'minus_b.txt': [4294967096, 4294967206, 4294967176], 'inc.p0': [535707, 751903, 60828, 976481],
           'inc.p1': [521869, 341673, 189172, 972095]}
TIME = re.compile(r'\d+(?:\.\d+)? [mu]?s\b( \*)?|\d+ values a second')


def said_by(page):
    """-> (command, its output in the page) of all commands of a page, in order. Texts of functions come as (None,
    lines). If the text above a block has a command, the block is its output."""
    above = ''
    for text, inline in re.findall(r'((?:^    .*\n)(?:(?:^    .*\n|^\n(?=    ))*))|`(suf fn (?:cost|check) [^`]*)`', page, re.M):
        lines = [line[4:] for line in text.splitlines()]
        if inline:
            above = inline
        elif re.search('^suf [a-z]+ domain', text.replace('    ', ''), re.M):
            yield None, lines
        elif lines and lines[0].startswith('suf '):
            commands = [line for line in lines if line.startswith('suf ')]
            for c in commands[:-1]:
                yield c, []
            yield commands[-1], lines[len(commands):]
        else:
            yield above, lines
            above = ''


def shown(expected, got):
    """Asserts that each line of the page is a line of the output, in this order. The page may omit columns and
    lines. Times are not compared."""
    words = lambda line: TIME.sub('', line).split()
    rest = iter(got.splitlines())
    for line in filter(str.strip, expected):
        def holds(other, want=words(line)):
            at = iter(words(other))
            return all(w in at for w in want) and bool(want)
        if not set(line) <= {'-'} and words(line):
            assert any(holds(other) for other in rest), f'the page shows "{line}", the program {got}'


def test_the_walk_of_the_page():
    """The program prints the output shown in docs/functions.md, except for times."""
    home = WORK / 'walk'
    home.mkdir()
    for name, numbers_of in NUMBERS.items():
        (home / name).write_text(''.join(f'{v}\n' for v in numbers_of))
    shutil.copytree(WORK / 'certs', home / 'certs')
    page = (pathlib.Path(__file__).resolve().parent.parent / 'docs' / 'functions.md').read_text()
    roles, address, compared, got = {}, {}, 0, ''

    def run(command):
        words = shlex.split(command)[1:]
        for k, word in enumerate(words):
            if word in address:
                words[k] = address[word] if words[k - 1] != '--listen' else '127.0.0.1:0'
            elif words[k - 1] == '--listen':
                address[word], words[k] = word, '127.0.0.1:0'
        if words[0] == 'deal' or words[:2] == ['fn', 'serve']:
            kind, at = words[0], shlex.split(command)[shlex.split(command).index('--listen') + 1]
            if kind in roles:
                roles.pop(kind).end()
            roles[kind] = Role([SUF, *words], cwd=home)
            address[at] = f'127.0.0.1:{roles[kind].port()}'
            return ''
        done = subprocess.run([SUF, *words], capture_output=True, text=True, cwd=home, timeout=5 * AMPLE)
        assert done.returncode == 0, f'{command}: {done.stderr}'
        return done.stdout + done.stderr

    try:
        for command, lines in said_by(page):
            if command is None:
                name = re.search('^suf ([a-z]+)', '\n'.join(lines), re.M)[1]
                if not (home / f'{name}.suf').exists():
                    (home / f'{name}.suf').write_text('\n'.join(lines) + '\n')
                else:  # the page shows the beginning of the file
                    shown(lines, (home / f'{name}.suf').read_text())
            elif command:
                got = run(command)
                shown(lines or [], got)
                compared += bool(lines)
            elif got:  # the output of a command in the text above
                shown(lines, got)
                compared += 1
        assert compared >= 10, f'only {compared} outputs were compared'
    finally:
        for role in roles.values():
            role.end()


def prepare(folder):
    global SUF, ALTERING_OWNER, WORK
    SUF, ALTERING_OWNER, WORK = str(pathlib.Path(sys.argv[1]).resolve()), str(pathlib.Path(altering_owner).resolve()), folder
    assert suf('certs', WORK / 'certs').returncode == 0
    (WORK / 'tariff.suf').write_text(TARIFF)
    values('two.txt', [1, 2]), values('bad.txt', [1, 'four'])
    (WORK / 'less.suf').write_text('suf less domain 32 ring 1 outputs 0 degree 0\nend 4294967296\nformula msb 0\nchannel bit 1 0 less\n')
    for name, words in (('relu', ()), ('shared', ('--to', 'shared')), ('one', ('--max-values', 1)), ('both', ('--to', 'both')),
                        ('shares', ('--from', 'shared', '--to', 'p0')), ('steered', ('--to', 'both', '--lowering', 'Index/digits', '--semi-honest'))):
        plan(name, 'relu', *words)
    plan('exp', 'exp', '--to', 'p1'), plan('recip', 'recip', '--from', 'p0', '--to', 'p1')
    values('minus.txt', [1, -1]), values('zero.txt', [0]), values('one.txt', [1])
    (WORK / 'pair.suf').write_text(PAIR), (WORK / 'leads.suf').write_text(PAIR.replace(' b', ' /../EVIL'))
    leads = json.loads(plan('leads', WORK / 'pair.suf', '--to', 'shared').read_text())
    leads['function'] = leads['function'].replace(' b\n', ' /../EVIL\n')
    del leads['hash']
    leads['hash'] = hashlib.sha256(json.dumps(leads, separators=(',', ':')).encode()).hexdigest()
    (WORK / 'leads.plan').write_text(json.dumps(leads))
    shutil.copytree(WORK / 'certs/dealer', WORK / 'piped'), (WORK / 'piped/ca.pem').unlink(), (WORK / 'pipe').mkdir(mode=0o700)
    os.mkfifo(WORK / 'piped/ca.pem', 0o600), os.mkfifo(WORK / 'pipe/lock', 0o600)
    (WORK / 'altered.plan').write_text((WORK / 'relu.plan').read_text().replace('"to": "p1"', '"to": "p0"'))


if __name__ == '__main__':
    altering_owner = sys.argv.pop(2)
    cases.main(globals(), prepare)
