#!/usr/bin/env python3
"""Checks `suf log check` on logs that this script writes itself. Each line is JSON with the SHA-256 of the line before.

  log_test.py SUF [PATTERN]     from anywhere; a second. PATTERN picks cases
"""
import hashlib
import json
import pathlib
import subprocess
import sys

import cases

SUF, WORK = '', pathlib.Path()
BAD = [
    ('no file', 2, 'files is required', ''),
    ('a file that does not exist', 2, 'there is no log ".*/none"', '{w}/none'),
    ('an empty name', 2, 'there is no log ""', '{w}/log ""'),
    ('a file that is no log', 2, 'text is no log of jobs; name one', '{w}/log {w}/text'),
    ('a folder', 2, 'is a folder; name a file', '{w}'),
    ('a device', 2, 'is no ordinary file; name a file', '/dev/full'),
    ('a hash that is none', 2, '--last', '{w}/log --last abc'),
    ('a changed line', 4, 'breaks at 1 line, the first of them line 2 of .*/changed; keep the files', '{w}/changed'),
    ('two chains', 4, 'breaks at 1 line, the first of them line 1 of .*/other', '{w}/log {w}/other'),
    ('a cut end', 4, 'the log has no line with the hash of --last', '{w}/short --last {last}'),
]


def chain(texts, number=1, prev='0' * 64):
    """-> the lines of a log, and the hash of the last one"""
    lines = []
    for i, text in enumerate(texts):
        line = json.dumps({'schema': 'suf.log/1', 'n': number + i, 'prev': prev, **text}, separators=(',', ':'))
        prev = hashlib.sha256(line.encode()).hexdigest()
        lines.append(line + '\n')
    return lines, prev


def job(day, outcome='done'):
    return {'time': f'2026-11-{day:02}T15:03:46.123Z', 'role': 'model', 'owner': 'ann', 'outcome': outcome}


LINES, LAST = chain([job(1), job(2, 'broken'), job(2), job(4, 'refused'), job(9)])


def check(*words):
    return subprocess.run([SUF, 'log', 'check', *map(str, words)], capture_output=True, text=True, timeout=60)


def bad_input(what, code, sentence, command):
    words = [word.replace('""', '') for word in command.format(w=WORK, last=LAST).split()]
    cases.refused(check(*words), code, sentence, 400)


def test_a_whole_log():
    done = check(WORK / 'log')
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout == ('lines      5, numbers 1 to 5 of their chain\ndays       2026-11-01 to 2026-11-09\n'
                           f'outcomes   3 done, 1 broken, 1 refused\nlast hash  {LAST}\n'), done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_renamed_files():
    for i, name in enumerate(('a', 'b', 'c')):
        (WORK / name).write_text(''.join(LINES[2 * i:2 * i + 2]))
    done = check(WORK / 'a', WORK / 'b', WORK / 'c', '--last', LAST)
    assert done.returncode == 0 and 'numbers 1 to 5' in done.stdout and f'kept hash  line 1 of {WORK}/c, and 0 lines after it\n' in done.stdout, done
    done = check(WORK / 'b', WORK / 'c')
    assert done.returncode == 0 and 'before     2 lines in older files, not checked\n' in done.stdout, done.stdout
    done = check(WORK / 'a', WORK / 'c')
    assert done.returncode == 4 and f'{WORK}/c:1: 2 lines are missing before this one, from number 3; is a file missing?' in done.stdout, done.stdout


def test_many_faults():
    (WORK / 'many').write_text(LINES[0] + LINES[2] * 150)
    done = check(WORK / 'many')
    assert done.returncode == 4 and 'and 50 faults more' in done.stdout and len(done.stdout.splitlines()) < 120, done.stdout
    cases.refused(done, 4, 'breaks at 150 lines, the first of them line 2 of', 400)


def test_a_log_without_lines():
    (WORK / 'none yet').write_text('')
    done = check(WORK / 'none yet', '--last', '0' * 64)
    assert done.returncode == 0 and 'lines      0\n' in done.stdout, done


def prepare(folder):
    global SUF, WORK
    SUF, WORK = sys.argv[1], folder
    (folder / 'text').write_text('the dog\na cat\n')
    (folder / 'log').write_text(''.join(LINES))
    (folder / 'short').write_text(''.join(LINES[:-1]))
    (folder / 'changed').write_text(''.join(LINES).replace('broken', 'done'))
    (folder / 'other').write_text(''.join(chain([job(3)])[0]))


if __name__ == '__main__':
    cases.main(globals(), prepare)
