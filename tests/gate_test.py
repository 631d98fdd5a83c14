#!/usr/bin/env python3
"""Checks suf gate: results, output, and for bad input one sentence, an exit code and nothing written.

  gate_test.py SUF [PATTERN]     from anywhere; under half a minute. PATTERN picks cases
  gate_test.py SUF --write       writes the costs and the trace of the examples anew
"""
import json
import pathlib
import re
import stat
import subprocess
import sys
import tempfile

import cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / 'tests/data/gates'
EXAMPLES = sorted((ROOT / 'examples/gates').glob('*.gates'))
SUF = ''
WORK = pathlib.Path()
SCORES = """x    = input p1 32:12 [n, 16]
v    = input p0 16:10 [16]
y, b = reluars(x, shift=8) outputs y, w
s    = dot(y, v)
z    = select(b, v)
t    = sum(z)
output s -> p1
output t -> p1
"""
MIRRORED = """x = input p1 20:8 [n, 3]
v = input p0 12:6 [3]
g = input shared mask 5 [n]
k = input p1 bit [n]
y, b = reluars(x, shift=4) outputs y, w
s = dot(y, v)
z = select(k, s)
q = xor(g, g)
output s -> p1
output z -> both
output q -> p1
"""
WIDTH = 29  # of s and z
ONE = 'x = input p1 16:4 [n]\ny = relu(x)\noutput y -> p1\n'


def changed(old, new, text=ONE):
    assert old in text
    return text.replace(old, new)


FILES = {
    'one.gates': ONE, 'scores.gates': SCORES, 'm.gates': MIRRORED,
    'gate.gates': changed('relu(', 'rleu('),
    'parameter.gates': changed('relu(x)', 'ars(x, shfit=3)'),
    'port.gates': changed('relu(x)', 'relu(x) outputs w'),
    'early.gates': changed('y = relu(x)', 'y = add(x, z)\nz = relu(x)'),
    'twice.gates': changed('y = relu(x)', 'y = relu(x)\ny = relu(x)'),
    'shape.gates': 'x = input p1 8:0 [n, 3]\nw = input p1 8:0 [n, 4]\ny = multiply(x, w)\noutput y -> p1\n',
    'type.gates': 'x = input p1 bit [n]\ny = relu(x)\noutput y -> p1\n',
    'scale.gates': 'x = input p1 8:0 [n]\nw = input p1 8:4 [n]\ny = add(x, w)\noutput y -> p1\n',
    'width.gates': changed('16:4', '70:4'),
    'wide.gates': 'x = input p1 40:0 [n]\ny = multiply(x, x)\noutput y -> p1\n',
    'range.gates': changed('relu(x)', 'ars(x, shift=99)'),
    'certificate.gates': 'x = input p1 16:4 [n]\ny = newton(x, of=recip, scale=8)\noutput y -> p1\n',
    'unread.gates': 'z = input p1 8:0 [n]\n' + ONE,
    'again.gates': ONE + 'output y -> p0\n',
    'mute.gates': changed('output y -> p1\n', ''),
    'long.gates': ONE + 'z = relu(x)\n' * 10000,
    'control.gates': changed('relu', 'relu\x07'),
    'shared.gates': 'x = input shared 16:4 [n]\ny = ars(x, shift=2)\noutput y -> shared\n',
    'second.gates': 'x = input shared 14:2 [n]\ny = relu(x)\noutput y -> both\n',
    'zero.gates': '',
    'x.txt': '5\n-7\n0\n',
    'three.txt': '1\n2\n3\n',
    'far.txt': '1\n40000\n',
    'half.txt': '1\n1.5\n',
    'eight.txt': 'mod 2^20\n1\n',
    'none.txt': '# nothing\n',
    'x.p1': '5\n',
    'line.txt': 'a' * 100000 + '\n',
}


def run(*words):
    return subprocess.run([SUF, 'gate', *(str(w).format(w=WORK) for w in words)], capture_output=True, text=True, timeout=300)


def row(*words):
    done = run(*words, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# columns: case, exit code, sentence, command
BAD = [
    ('an unknown gate', 2, r'"rleu" is no gate; near it are relu', 'show {w}/gate.gates'),
    ('an unknown gate by name', 2, r'"rleu" is no gate; near it are relu', 'show rleu'),
    ('an unknown parameter', 2, r'parameter.gates: line 2, column 12: "shfit" is no parameter of ars; it has shift', 'run {w}/parameter.gates --random 1'),
    ('an unknown parameter of a gate alone', 2, '"shfit" is no parameter of ars; it has shift', 'run ars --set shfit=3 --random 1'),
    ('a missing parameter', 2, 'ars needs the parameter shift', 'run ars --random 1'),
    ('an unknown output', 2, 'line 2, column 21: found "w"; allowed: outputs of relu', 'run {w}/port.gates --random 1'),
    ('an unknown output of a gate alone', 2, '"w" is no output of relu; it gives y', 'run relu --outputs w --random 1'),
    ('a name used too early', 2, 'line 2, column 12: found "z", which is assigned later, in line 3', 'run {w}/early.gates --random 1'),
    ('a name assigned twice', 2, 'line 3, column 1: found "y", which line 2 assigns already', 'run {w}/twice.gates --random 1'),
    ('shapes that do not fit', 2, r'line 3, column 5: .*\[n, 3\].*\[n, 4\]', 'run {w}/shape.gates --random 1'),
    ('a type that does not fit', 2, 'line 2, column 10: x is a bit .n., and relu takes a number as x', 'run {w}/type.gates --random 1'),
    ('scales that differ', 2, 'line 3, column 5: .*scale', 'run {w}/scale.gates --random 1'),
    ('a width out of range', 2, 'line 1, column 14: .*70.*64', 'run {w}/width.gates --random 1'),
    ('a result too wide', 2, 'line 2, column 5: .*64', 'run {w}/wide.gates --random 1'),
    ('a parameter out of range', 2, 'line 2, column .*shift=.99. is no whole number from', 'run {w}/range.gates --random 1'),
    ('a certificate that cannot be had', 4, 'line 2, column 5: newton: x may be -32768, below 0; give its input a range, or clamp x', 'run {w}/certificate.gates --random 1'),
    ('an input that nothing reads', 2, 'line 1, column 1: nothing reads the input z', 'run {w}/unread.gates --random 1'),
    ('no output', 2, 'the composition has no output', 'run {w}/mute.gates --random 1'),
    ('a value with two outputs', 2, 'line 4, column 8: y is an output already; name it once, with both', 'run {w}/again.gates --random 1'),
    ('a file that an output would replace', 2, 'would replace .*x.p1, which --values reads', 'run {w}/one.gates --values x={w}/x.p1 --out {w}/x'),
    ('a long line', 2, 'no whole number: "[^ ]{100}.."', 'run {w}/one.gates --values x={w}/line.txt'),
    ('a parameter twice', 2, '--set names shift twice', 'run ars --set shift=3 --set shift=4 --random 1'),
    ('10,000 lines', 2, '4,?096', 'run {w}/long.gates --random 1'),
    ('control characters', 2, 'line 2, column 9', 'run {w}/control.gates --random 1'),
    ('an empty file', 2, 'output', 'run {w}/zero.gates --random 1'),
    ('no file', 2, 'none.gates', 'run {w}/none.gates --random 1'),
    ('a width of a gate alone', 2, '--n', 'run relu --n 65 --random 1'),
    ('a function that is missing', 2, 'function needs --function', 'run function --random 1'),
    ('a function too many', 2, 'relu takes no --function', 'run relu --function gelu --random 1'),
    ('an unknown function', 2, 'there is no library function gleu', 'run function --function gleu --random 1'),
    ('constants that are missing', 2, 'table needs --constants', 'run table --n 2 --random 1'),
    ('--set without a value', 2, '--set takes NAME=VALUE, such as shift=12, and got "shift"', 'run ars --set shift --random 1'),
    ('--set beside a file', 2, 'are for a gate alone', 'run {w}/one.gates --set shift=3 --random 1'),
    ('no values', 2, 'give one of them', 'run {w}/one.gates'),
    ('values and --random', 2, 'give one of them', 'run {w}/one.gates --values x={w}/x.txt --random 1'),
    ('values of an unknown input', 2, '"z" is no input; there is x', 'run {w}/one.gates --values z={w}/x.txt'),
    ('values twice', 2, '--values names x twice', 'run {w}/one.gates --values x={w}/x.txt --values x={w}/x.txt'),
    ('values without a name', 2, '--values takes NAME=FILE, such as x=x.txt', 'run {w}/one.gates --values {w}/x.txt'),
    ('values of one input alone', 2, 'no numbers are given for the input v; add --values v=FILE', 'run {w}/scores.gates --values x={w}/x.txt'),
    ('values of another count', 2, 'x has 3 numbers, and its shape .n, 16. takes a multiple of 16', 'run {w}/scores.gates --values x={w}/x.txt --values v={w}/three.txt'),
    ('a value out of range', 2, 'far.txt, line 2, is 40000, outside -32768 to 32767', 'run {w}/one.gates --values x={w}/far.txt'),
    ('a value that is no whole number', 2, 'half.txt, line 2, is no whole number: "1.5"', 'run {w}/one.gates --values x={w}/half.txt'),
    ('values of another ring', 2, 'eight.txt holds numbers mod 2.20, and x takes them mod 2.16', 'run {w}/one.gates --values x={w}/eight.txt'),
    ('a file without values', 2, 'none.txt holds no number', 'run {w}/one.gates --values x={w}/none.txt'),
    ('an unknown lowering', 2, '"Paritty" is no lowering of relu; there are auto; ', 'run relu --random 1 --lowering Paritty'),
    ('another number of lowerings', 2, 'names 1 lowering, and the composition has 4 statements', 'run {w}/scores.gates --random 1 --lowering 2'),
    ('--processes with a backend', 2, 'leave out --backend', 'run relu --random 1 --processes --backend clear'),
    ('--processes with a mirror', 2, 'leave out --mirror', 'run relu --random 1 --processes --mirror {w}/out'),
    ('--packed without a file', 2, '--out', 'run relu --random 1 --packed'),
    ('check of nothing', 2, 'give it one of them', 'check'),
    ('a shard that is none', 2, '--shard takes K/N', 'check --all --shard 9'),
    ('outputs that cannot be written', 5, 'missing/out', 'run relu --random 1 --out {w}/missing/out'),
    ('another command', 2, 'frobnicate is not a command of suf gate', 'frobnicate'),
]


def bad_input(what, code, sentence, command):
    done = run(*command.split())
    cases.refused(done, code, sentence, 700)
    assert len(done.stderr.splitlines()) == 1, f'more than a sentence: {done.stderr}'
    assert not done.stdout and not list(WORK.glob('out*')), 'something was written'


# ---- results

def numbers(name, values):
    (WORK / name).write_text(''.join(f'{v}\n' for v in values))
    return WORK / name


def test_scores():
    """The scores of a file equal their formula; the parties are threads, then processes."""
    x = [[(37 * r + 1013 * j * j) * 7919 % 2**32 - 2**31 for j in range(16)] for r in range(5)]
    v = [(517 * j + 33) % 2**16 - 2**15 for j in range(16)]
    files = ['--values', f"x={numbers('xs', [a for r in x for a in r])}", '--values', f"v={numbers('vs', v)}"]

    def relu(a):
        u = (a + 128 + 2**31) % 2**32 - 2**31
        return max(0, u >> 8), int(u >= 0)
    s = [sum(relu(a)[0] * w for a, w in zip(r, v)) for r in x]
    t = [sum(relu(a)[1] * w for a, w in zip(r, v)) for r in x]
    for processes in ([], ['--processes']):
        got = row('run', '{w}/scores.gates', *files, *processes)
        assert got['outputs'] == {'s': s, 't': t} and got['equal'] and got['rows'] == 5 and got['flights'] == 4, got
    assert got['to'] == {'s': 'p1', 't': 'p1'} and got['types']['t'] == 'signed 20:10 [n]'


def test_examples():
    """Every example in three processes over TLS, on its own numbers: each equals the gates' meaning."""
    assert len(EXAMPLES) >= 4
    for path in EXAMPLES:
        files = [f'--values={p.name.split(".")[1]}={p}' for p in sorted(path.parent.glob(path.stem + '.*.txt'))]
        got = row('run', path, *files, '--processes')
        assert got['equal'] and all(any(values) for values in got['outputs'].values()), path
        assert row('run', path, *files)['outputs'] == got['outputs'], path


def test_golden():
    """The printed trace of an example, and the traces and costs of all (tests/data/gates)."""
    for name, text in golden():
        assert text == (GOLDEN / name).read_text(), f'{name} differs; look at it, then: gate_test.py SUF --write'


def golden():
    """-> (file, text) of each file of tests/data/gates."""
    costs = {}
    for path in EXAMPLES:
        got = row('run', path, '--random', '16')
        costs[path.stem] = {k: got[k] for k in ('trace', 'flights', 'sent_bytes', 'key_bytes', 'aes_blocks')}
        costs[path.stem]['lowerings'] = [s['lowering'] for s in got['statements']]
    lines = ''.join(json.dumps({'example': k, **v}) + '\n' for k, v in costs.items())
    trace = run('show', ROOT / 'examples/gates/quantile.gates', '--pass', 'trace').stdout
    return ('costs.jsonl', lines), ('quantile_trace.txt', trace)


def test_single_gates():
    """A gate alone gives its first output; --outputs names others. ReluARS has 53 key bytes (ReluARS.KnownSize)."""
    cost = row('cost', 'ReluARS', '--set', 'shift=12', '--set', 'ring=20', '--profile', 'cpu', '--count', '1024')
    two = next(c for c in cost['candidates'] if c['lowerings'] == ['2'])
    assert 52.5 < sum(two['key_bytes']) / 1024 < 53
    got = row('run', 'reluars', '--set', 'shift=12', '--outputs', 'all', '--random', '50', '--lowering', '2')
    assert list(got['outputs']) == ['y', 'w', 't', 'd'] and got['equal']
    assert {*got['outputs']['w']} == {0, 1}
    got = row('run', 'table', '--n', '2', '--constants=5,-6,7,8', '--random', '40')
    assert set(got['outputs']['y']) == {5, -6, 7, 8}
    got = row('run', 'function', '--function', 'gelu', '--outputs', 'y,index', '--random', '20')
    assert list(got['outputs']) == ['y', 'index'] and got['equal']


def test_two_gates_on_one_value():
    """They open it once, with one tree: flights of the longer one, fewer key bytes than both."""
    def of(lines, outputs):
        text = 'x = input p1 32:12 [n]\n' + lines + ''.join(f'output {o} -> shared\n' for o in outputs)
        (WORK / 'share.gates').write_text(text)
        return row('cost', '{w}/share.gates', '--profile', 'cpu')['candidates'][0]
    a, b = 'y = relu(x)\n', 'z = ars(x, shift=6)\n'
    one, two, both = of(a, 'y'), of(b, 'z'), of(a + b, 'yz')
    assert both['flights'] == max(one['flights'], two['flights'])
    assert sum(both['key_bytes']) < sum(one['key_bytes']) + sum(two['key_bytes'])
    assert sum(both['sent_bytes']) < sum(one['sent_bytes']) + sum(two['sent_bytes'])


def test_shares():
    """A composition keeps shares, and another one takes them; nothing is revealed between."""
    first = row('run', '{w}/shared.gates', '--random', '200', '--out', '{w}/between')
    names = [WORK / f'between.p{p}' for p in (0, 1)]
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 and p.read_text().startswith('mod 2^14\n') for p in names)
    shares = [[int(v) for v in p.read_text().split('\n')[1:] if v] for p in names]
    assert [(a + b) % 2**14 for a, b in zip(*shares)] == [y % 2**14 for y in first['outputs']['y']]
    second = row('run', '{w}/second.gates', '--values', f'x={names[0]},{names[1]}')
    assert second['outputs']['y'] == [max(0, y) for y in first['outputs']['y']] and second['equal']
    assert len(set(shares[0])) > 100 < len(set(shares[1]))


def test_forms():
    """Lists, descriptions and passes: each says what it must."""
    names = [line.split()[0] for line in run('list').stdout.splitlines()[1:] if line and not line[0].isdigit()]
    assert len(names) >= 32 and {'relu', 'reluars', 'ars', 'lrs', 'gapars', 'slackars', 'autotrunc', 'select', 'argmaxbit',
                                 'clamp', 'cubic', 'newton', 'rowproduct', 'function', 'table', 'and', 'bit'} <= set(names)
    for name in names:
        shown = run('show', name)
        assert shown.returncode == 0 and shown.stdout.startswith(name + ': ') and 'input ' in shown.stdout, name
    assert 'made by' in run('show', '{w}/scores.gates').stdout
    text = run('show', '{w}/scores.gates', '--pass', 'text').stdout
    (WORK / 'again.gates').write_text(text)
    assert run('show', '{w}/again.gates', '--pass', 'text').stdout == text
    trace = run('show', '{w}/scores.gates', '--pass', 'trace').stdout
    assert run('show', '{w}/again.gates', '--pass', 'trace').stdout == trace and 'y/reluars' in trace
    assert run('show', '{w}/scores.gates', '--pass', 'emit').stdout


def test_tables():
    """Costs of a gate, of a file, and of a file that P0 learns from. The matrix of a check."""
    lines = run('cost', 'relu', '--profile', 'wan').stdout.splitlines()
    assert lines[0] == 'relu, 1024 rows in one run; keys are made ahead' and lines[2].split()[:2] == ['lowering', 'flights']
    assert any(line.startswith('StepDcf ') for line in lines) and sum(line.rstrip().endswith('*') for line in lines) == 1
    text = run('cost', '{w}/scores.gates').stdout
    assert 'for cpu' in text and re.search(r'^3 +y, b = reluars +2', text, re.M), text
    (WORK / 'revealed.gates').write_text(changed('-> p1', '-> both'))
    text = run('cost', '{w}/revealed.gates', '--profile', 'cpu').stdout
    assert re.search(r'^StepDcf +yes ', text, re.M) and re.search(r'^Parity.Open +no ', text, re.M) and 'safe: a P0' in text, text
    text = run('cost', 'relu', '--backend', 'myl7', '--profile', 'cpu').stdout if 'myl7' in run('check', 'not').stdout else ''
    assert not text or 'not available:' in text
    text = run('check', 'argmaxbit').stdout
    assert re.search(r'^argmaxbit +digits +4 6 8 13 32 ', text, re.M) and 'holes:' in text and ' 0 cells wrong' in text, text


def test_shard():
    """A part of all gates by every lowering on every backend, whole small rings included."""
    got = row('check', '--all', '--shard', '2/6')
    assert got['wrong'] == 0 and got['covered'] > 100 and all(c.get('why') or c['rows'] for c in got['cells'])
    assert any(c.get('every') for c in got['cells'])
    got = row('check', '{w}/scores.gates')
    assert got['wrong'] == 0 and got['holes'] == 0


def test_bench():
    """Predicted beside measured, for each lowering, and for a file beside its statements."""
    assert 'predicted' in run('bench', 'relu', '--count', '16').stdout
    got = row('bench', '{w}/scores.gates', '--count', '16')
    assert [r['name'] for r in got['rows']][0] == 'whole' and len(got['rows']) == 5, got
    assert all(r['predicted']['ahead'] > 0 and r['seconds']['ahead'] > 0 for r in got['rows'])
    assert got['whole_to_sum']['processor'] > 0


def test_wide_shares():
    """ring= keeps shares of more bits, which readers of a later composition need."""
    (WORK / 'first.gates').write_text('x = input p1 16:8 [n]\ny = relu(x, ring=20)\noutput y -> shared\n')
    (WORK / 'next.gates').write_text('x = input shared 20:8:u [n]\ny = lrs(x, shift=3)\noutput y -> p1\n')
    first = row('run', '{w}/first.gates', '--random', '50', '--out', '{w}/wide')
    assert (WORK / 'wide.p0').read_text().startswith('mod 2^20\n')
    second = row('run', '{w}/next.gates', '--values', f'x={WORK}/wide.p0,{WORK}/wide.p1')
    assert second['outputs']['y'] == [(y + 4) >> 3 for y in first['outputs']['y']]


def read_mirror(folder):
    """Returns the rows of index.txt, and of each file its first line and its columns by name."""
    lines = (folder / 'index.txt').read_text().splitlines()
    head = lines[0].split('\t')
    wires = []
    for line in lines[1:]:
        row = dict(zip(head, line.split('\t')))
        first, names, *elements = (folder / row['file']).read_text().splitlines()
        columns = {n: [] for n in names.split()}
        for element in elements:
            words = element.split(' ')
            assert len(words) == len(columns), element
            for column, word in zip(columns.values(), words):
                column.append(int(word, 0))
        wires.append((row, first, columns))
    return wires


def test_mirror():
    """Every opened wire adds up, and those opened by name have the values that the command prints."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    text = folder / 'm.gates'
    text.write_text(MIRRORED)
    (folder / 'x').write_text('7\n-7\n300000\n0\n1\n-1\n')
    (folder / 'v').write_text('5\n-2047\n9\n')
    (folder / 'g').write_text('3\n30\n')
    (folder / 'k').write_text('1\n0\n')
    values = [w for n in 'xvgk' for w in ('--values', f'{n}={folder / n}')]
    out = folder / 'wires'
    done = run('run', text, *values, '--mirror', out, '--json')
    assert done.returncode == 0, done.stderr
    learned = json.loads(done.stdout)['outputs']
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    wires = read_mirror(out)
    assert sorted(p.name for p in out.iterdir()) == sorted([w[0]['file'] for w in wires] + ['index.txt'])
    clear = {}
    for row, first, columns in wires:
        assert stat.S_IMODE((out / row['file']).stat().st_mode) == 0o600
        assert first == f"wire {row['name']} of {row['scope']}, {row['ring']}, {row['shape']}", first
        sent = [columns[c] for c in ('sent_by_P0', 'sent_by_P1') if c in columns]
        bits = int(re.search(r'(\d+)( bits?)?$', row['ring'])[1])
        if row['learned by'] != 'both':
            assert len(sent) == 1 and 'clear' not in columns
            continue
        for i, masked in enumerate(columns['masked']):
            words = [c[i] for c in sent]
            total = words[0] if len(words) == 1 else words[0] ^ words[1] if 'xor' in row['ring'] else sum(words) % 2**bits
            assert masked == total and max(words) < 2**bits, (row, i)
        clear[row['name']] = (bits, columns['clear'])
    assert clear['x'] == (20, [7, 2**20 - 7, 300000, 0, 1, 2**20 - 1])
    assert clear['k'][1] == [1, 0] and clear['g'][1] == [3, 30]
    assert clear['s'] == (WIDTH, [v % 2**WIDTH for v in learned['s']])
    full = run('run', text, *values, '--mirror', out)
    assert full.returncode == 4 and 'is not empty' in full.stderr, full.stderr
    file = run('run', text, *values, '--mirror', text)
    assert file.returncode == 4 and 'is no folder' in file.stderr, file.stderr


def test_packed():
    """Packed words have the fields of the layout; unpack gives the outputs back, by the file and from other parties."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    text = folder / 'm.gates'
    text.write_text(MIRRORED)
    out = folder / 'o'
    done = run('run', text, '--random', '5', '--out', out, '--packed', '--json')
    assert done.returncode == 0, done.stderr
    learned = json.loads(done.stdout)['outputs']
    head, *lines = (folder / 'o.p1').read_text().splitlines()
    assert head == f'packed 1 word: s signed {WIDTH}, z signed {WIDTH}, q unsigned 5', head
    for i, line in enumerate(lines):
        s, z, q = (learned[n][i] for n in 'szq')
        assert int(line) == s % 2**WIDTH | z % 2**WIDTH << WIDTH | q << 2 * WIDTH, line
    got = run('unpack', text, '--file', folder / 'o.p1', '--json')
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout)['outputs'] == learned
    got = run('unpack', text, '--file', folder / 'o.p0', '--party', 'p0', '--out', folder / 'u')
    assert got.returncode == 0 and not got.stdout, got.stderr
    assert (folder / 'u').read_text().split() == ['mod', f'2^{WIDTH}', *(str(v) for v in learned['z'])]
    other = run('unpack', text, '--file', folder / 'o.p0')
    assert other.returncode == 2 and 'the outputs of p1 have' in other.stderr, other.stderr
    good = (folder / 'o.p0').read_text().splitlines()
    for number, line, says in [(1, 'packed 1 word: z signed 30', 'line 1, is "packed 1 word: z signed 30"'),
                               (3, '1 2', 'line 3, has 2 words, and the outputs take 1'),
                               (3, '', 'line 3, has 0 words'),
                               (4, '-1', 'line 4, has "-1" where a decimal word below 2^64 belongs'),
                               (4, str(2**64), 'where a decimal word below 2^64 belongs'),
                               (4, str(2**WIDTH), 'line 4, has bits above the fields in word 1')]:
        (folder / 'bad').write_text('\n'.join(line if i + 1 == number else l for i, l in enumerate(good)) + '\n')
        bad = run('unpack', text, '--file', folder / 'bad', '--party', 'p0')
        assert bad.returncode == 2 and says in bad.stderr, bad.stderr
    (folder / 'bad').write_text(good[0] + '\n')
    bad = run('unpack', text, '--file', folder / 'bad', '--party', 'p0')
    assert bad.returncode == 2 and 'has 0 lines of words, and a row takes 1' in bad.stderr, bad.stderr


def test_unpackable():
    """Outputs of other sizes, shares, and a party without outputs are refused before anything runs."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    for old, new, party, says in [('q -> p1', 'q -> shared', 'p1', 'shares of q cannot be packed'),
                                  ('q -> p1', 'y -> p1', 'p1', 's has 1 element a row and y 3 elements a row'),
                                  ('z -> both', 'z -> p1', 'p0', 'P0 learns no output')]:
        text = folder / 'm.gates'
        text.write_text(MIRRORED.replace(old, new) + ('output q -> p1\n' if 'y ->' in new else ''))
        if party == 'p1':
            bad = run('run', text, '--random', '2', '--out', folder / 'none', '--packed')
            assert bad.returncode == 4 and says in bad.stderr, bad.stderr
            assert not list(folder.glob('none*'))
        bad = run('unpack', text, '--file', text, '--party', party)
        assert bad.returncode == 4 and says in bad.stderr, bad.stderr


def test_help():
    """Each command's help has an example."""
    for command in ('list', 'show', 'cost', 'check', 'bench', 'run', 'plan', 'serve', 'ask', 'unpack'):
        out = run(command, '--help').stdout
        assert 'suf gate ' in out and re.search('Example', out), command


def prepare(folder):
    global SUF, WORK
    SUF, WORK = sys.argv[1], folder
    for name, text in FILES.items():
        (WORK / name).write_text(text)


if __name__ == '__main__':
    if sys.argv[2:] == ['--write']:
        SUF = sys.argv[1]
        for file, content in golden():
            (GOLDEN / file).write_text(content)
        sys.exit()
    cases.main(globals(), prepare)
