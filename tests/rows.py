"""A table of faults. A row has the fault, the exit code, the sentence, the limit in seconds, and a case. The case also
checks the state afterwards. Limits are for an idle machine; a loaded one gets SLACK times as long. A process that hangs
is always found.
"""
import collections
import concurrent.futures
import re
import sys
import tempfile
import time

from roles import Base, FunctionWorld, GateWorld, World

# A case makes the fault in its World and yields the process under test. The code after the yield checks ledgers and
# stores. `sentence` must match the last line of stderr, which is "suf: ..." for an exit code other than 0, or any line
# for exit code 0.
SLACK = 6
Row = collections.namedtuple('Row', 'what code sentence seconds case world')
ROWS = []


def row(what, code, sentence, seconds=10, world=World):
    return lambda case: ROWS.append(Row(what, code, sentence, seconds, case, world)) or case


def both_worlds(what, code, sentence, seconds=10, worlds=(('', World), (', of a function', FunctionWorld))):
    """Makes a row with serve and embed, and the same row with fn serve and fn ask."""
    return lambda case: [row(what + of, code, sentence, seconds, world)(case) for of, world in worlds] and case


def each_world(what, code, sentence, seconds=10):
    """Makes the rows of both_worlds, and one with gate serve and gate ask."""
    return both_worlds(what, code, sentence, seconds, (('', World), (', of a function', FunctionWorld), (', of gates', GateWorld)))


def alone(what, code, sentence, command, prepare=lambda w: None, seconds=10):
    """Makes a row of one process. Words of the command in braces are the World's."""
    def case(w):
        prepare(w)
        b = w.base
        places = {'model': b.model, 'plan': b.plan, 'certs': b.certs, 'vocab': b.model / 'vocab.txt', 'w': w.dir}
        yield w.role(*(word.format(**places) for word in command))
    row(what, code, sentence, seconds)(case)


def ended(w, pattern):
    """Asserts that serve has logged why a session ended."""
    assert w.server.said(f'a session ended: .*({pattern})'), f'serve says {w.server.err}'


def judge(base, r):
    """Runs a row. Returns '' or its fault, the seconds that the process under test took, and the matching line."""
    seconds, said = 0.0, ''
    with r.world(base, f'{ROWS.index(r)} {r.what}') as w:
        try:
            steps = r.case(w)
            process = next(steps)
            code, seconds = process.finish(SLACK * r.seconds + 20), process.seconds
            w.rows = process.rows
            assert str(code) in str(r.code).split('|'), f'exit code {code}: {process.err[-3:]}'
            lines = process.err[-1:] if code else process.err
            assert not code or re.match('suf: [^ ].*', lines[0]) and len(lines[0]) < 400, f'the last line is not a sentence: {lines}'
            said = next((line for line in lines if re.search(r.sentence, line)), '') if r.sentence else ''
            assert not r.sentence or said, f'says {lines}'
            assert seconds <= SLACK * r.seconds, f'took {seconds:.1f} s, the limit is {SLACK * r.seconds} s'
            next(steps, None)
        except Exception as x:  # the next rows still run
            return f'{type(x).__name__}: {x}', seconds, said
    return '', seconds, said


def main():
    """Runs the whole table, as the program of a test file. Its second argument picks rows."""
    rows = [r for r in ROWS if len(sys.argv) < 3 or re.search(sys.argv[2], r.what)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(6) as pool:
        base = Base(sys.argv[1], folder)
        for r, (why, seconds, said) in zip(rows, pool.map(lambda r: judge(base, r), rows)):
            failed += why != ''
            print(f'{"FAIL" if why else "ok  "} {r.what:48} exit {r.code:<3} {seconds:5.1f} of {r.seconds:2} s  {why or said}', flush=True)
    print(f'{len(rows) - failed} of {len(rows)} rows hold')
    sys.exit(failed > 0)


def each(*cases):
    """Runs scenarios, as the program of a test file. Each case gets the Base and the arguments after the program's
    path. A failure does not stop the others."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        base = Base(sys.argv[1], folder)
        for case in cases:
            begun, why = time.monotonic(), ''
            try:
                case(base, *sys.argv[2:])
            except Exception as x:
                why, failed = f': {type(x).__name__} {x}', failed + 1
            print(f'{"FAIL" if why else "ok  "} {case.__name__:16} {time.monotonic() - begun:5.1f} s  {case.__doc__.splitlines()[0]}{why}', flush=True)
    sys.exit(failed > 0)
