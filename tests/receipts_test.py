#!/usr/bin/env python3
"""Runs sessions with receipts, and checks their files with `suf receipt` and with the openssl command.

  receipts_test.py SUF     from anywhere, needs openssl; about ten seconds
"""
import json
import re
import resource
import subprocess

from roles import World
from rows import each

ALTERED = {'receipt': 2, 'plan': '0' * 64, 'weights': '0' * 64, 'tokens': 1, 'texts': 9, 'place': 7, 'variant': 1, 'serial': 1 << 40, 'lane': '0' * 32,
           'transcript': '0' * 64}


def run(base, *words):
    """Runs a command; returns (exit code, stdout, the last line of stderr)."""
    done = subprocess.run([base.program, *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout, (done.stderr.splitlines() or [''])[-1]


def checked(base, path, ca=None):
    return run(base, 'receipt', 'check', path, '--ca', ca or base.certs / 'data' / 'ca.pem')


def written(base, name, **flags):
    """Embeds three texts of one length and one of another. Returns the rows and the lines of the receipts."""
    with World(base, name) as w:
        w.both()
        texts = w.dir / 'texts'
        texts.write_text('\n'.join(base.text(n, i) for i, n in enumerate((5, 5, 7, 5))) + '\n')
        path = base.folder / f'{name}.receipts'
        e = w.embed(None, file=texts, receipts=path, **flags)
        assert e.finish() == 0, e.err
        w.server.end()
        assert not [line for line in w.server.err if 'a session ended' in line], w.server.err
    return e.rows(), path


def of_each_text(base):
    """Each text has a receipt with the serial and the plan of its row. The check accepts all."""
    code, out, err = checked(base, base.folder / 'none')
    assert (code, out) == (2, '') and 'cannot read the receipts in' in err, err
    for name, flags in (('single', {}), ('batch', {'batch': 3}), ('audited', {'audit': 2}), ('parallel', {'parallel': 2})):
        rows, path = written(base, name, **flags)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert path.stat().st_mode & 0o777 == 0o600
        jobs = 2 if 'batch' in flags else 4
        assert sorted((r['serial'], r['n'], r.get('texts', 1)) for r in rows) == sorted((x['serial'], x['tokens'], x['texts']) for x in lines), lines
        assert {x['plan'] for x in lines} == {rows[0]['plan']} and all(x['receipt'] == 1 for x in lines)
        assert len({x['transcript'] for x in lines}) == jobs and len({x['lane'] for x in lines}) == flags.get('parallel', 1)
        shown = base.suf('certs', base.certs, '--show').split()
        assert f'model={lines[0]["model"]["key"]}' in shown and f'data={lines[0]["data"]["key"]}' in shown
        code, out, err = checked(base, path)
        assert code == 0 and not err and out.startswith(f'4 receipts are right: {jobs} jobs in {flags.get("parallel", 1)} lane'), (out, err)
        assert lines[0]['weights'] in out and max(map(len, out.splitlines())) <= 80, out


def refused(base):
    """A changed file is refused with the number of the line: each field, order, another CA. Another file is an input."""
    _, path = written(base, 'whole')
    lines = path.read_text().splitlines()
    other = base.folder / 'changed'

    def fails(changed, *wrong, ca=None):
        other.write_text('\n'.join(changed) + '\n')
        code, out, err = checked(base, other, ca)
        found = [int(n) for n in re.findall(r'^line (\d+): \S', out, re.M)]
        assert code == 4 and found == list(wrong), (code, out, err)
        assert f'{len(wrong)} of {len(changed)} lines in' in err, err
        return out

    row = json.loads(lines[1])
    assert set(ALTERED) | {'model', 'data'} == set(row)
    for name, value in ALTERED.items():
        assert row[name] != value
        fails([lines[0], json.dumps({**row, name: value}), *lines[2:]], 2)
    for who in ('model', 'data'):
        for name in row[who]:
            for value in ('', row['data' if who == 'model' else 'model'][name], json.loads(lines[0])[who][name]):
                if value != row[who][name]:
                    fails([lines[0], json.dumps({**row, who: {**row[who], name: value}}), *lines[2:]], 2)
    assert 'the lines were moved' in fails([lines[1], lines[0], *lines[2:]], 2)
    assert 'it repeats serial' in fails([*lines, lines[2]], 5)
    assert 'ends too early' in fails([*lines[:3], lines[3][:200]], 4)
    assert 'it is of another CA than ours' in fails(lines, 1, 2, 3, 4, ca=base.strangers / 'data' / 'ca.pem')
    other.write_text('some text\n')
    assert checked(base, other)[0] == 2 and 'has no receipts' in checked(base, other)[2]
    code, _, err = checked(base, path, base.folder / 'no.pem')
    assert code == 2 and 'no.pem (No such file or directory)' in err and '--ca' in err, err
    code, _, err = run(base, 'receipt', 'show', path, '--line', 5)
    assert code == 2 and 'has 4 lines, and line 5 is none of them' in err, err


def by_openssl(base):
    """The openssl command accepts text, signature and certificate of both parties, and refuses a changed text."""
    _, path = written(base, 'openssl')
    folder = base.folder / 'parts'
    code, out, _ = run(base, 'receipt', 'show', path, '--line', 2, '--to', folder)
    assert code == 0 and max(map(len, out.splitlines())) <= 80, out
    row = json.loads(path.read_text().splitlines()[1])
    assert all(part in out for part in (row['lane'], row['plan'], row['weights'], row['model']['key'], row['data']['signature'][64:]))
    for who in ('model', 'data'):
        text = (folder / f'{who}.txt').read_text()
        assert text.startswith(f'suf receipt 1\nrole {who}\nplan {row["plan"]}\n') and f'\nserial {row["serial"]}\n' in text, text
        command = f'openssl dgst -sha256 -verify <(openssl x509 -in {who}.pem -pubkey -noout) -signature {who}.sig {who}.txt'
        verify = lambda: subprocess.run(['bash', '-c', command], cwd=folder, capture_output=True, text=True)
        assert verify().stdout == 'Verified OK\n', verify()
        chain = ['openssl', 'verify', '-CAfile', base.certs / 'data' / 'ca.pem', folder / f'{who}.pem']
        assert subprocess.run(chain, capture_output=True).returncode == 0
        (folder / f'{who}.txt').write_text(text.replace('texts 1', 'texts 2'))
        assert verify().returncode == 1


def at_the_start(base):
    """A file that cannot take receipts ends embed before it connects. A full disk ends it with the disk's error."""
    with World(base, 'no file') as w:
        w.both()
        notes = w.dir / 'notes'
        notes.write_text('mine\n')
        for path, code, says in ((notes, 2, 'holds something else than receipts; name another file (--receipts'),
                                 (w.dir / 'none' / 'r', 5, 'cannot open'), ('/dev/null', 4, 'is no ordinary file')):
            e = w.embed(receipts=path)
            assert e.finish() == code and says in e.err[-1], e.err
        assert notes.read_text() == 'mine\n' and not w.fates('data')
        path = w.dir / 'r'
        texts = w.dir / 'texts'
        texts.write_text('\n'.join(base.text(5, i) for i in range(4)) + '\n')
        limit = {'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))}
        w.works()  # the masked weights are in the store
        e = w.embed(None, file=texts, receipts=path, process=limit)
        assert e.finish() == 5 and 'cannot write' in e.err[-1] and str(path) in e.err[-1], e.err
        e = w.embed(None, file=texts, receipts=path)
        assert e.finish() == 0 and any('an incomplete receipt of' in line for line in e.err), e.err
        code, out, _ = checked(base, path)
        assert code == 0 and '4 receipts are right' in out, out


if __name__ == '__main__':
    each(of_each_text, refused, by_openssl, at_the_start)
