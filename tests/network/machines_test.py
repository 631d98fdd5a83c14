#!/usr/bin/env python3
"""Runs two processes of one model owner with shared secrets (`suf secrets`, serve --secrets).

  machines_test.py SUF [PATTERN]     from anywhere; about 5 s. PATTERN picks rows
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from customers import SERVE_EARLY
from rows import alone, main, row


def secrets(w, certs=None):
    """Makes the secrets of a model owner; returns their folder."""
    w.base.suf('secrets', w.dir / 'secrets', '--certs', certs or w.base.certs)
    return w.dir / 'secrets'


@row('two processes with shared secrets are one model owner', 0, '', 30)
def _(w):
    folder = secrets(w)
    for file in folder.iterdir():
        file.chmod(0o400)
    w.deal().port()
    servers = [w.serve(secrets=folder, store=w.dir / f'model{i}') for i in range(2)]
    ports = [s.port() for s in servers]
    for i in (0, 1, 0):
        e = w.embed(connect=ports[i])
        assert e.finish() == 0, e.err
        assert w.result(e.rows()[0]) == w.expected()
    assert len(list((w.dir / 'data').glob('*.w_hat'))) == 1, 'both have one weights id and one W - B'
    for i in range(2):
        assert not (w.dir / f'model{i}/b.seed').exists(), 'a store has secrets of its own'
    assert len({s for i in range(2) for s, _ in w.records(f'model{i}')}) >= 3, 'each store has its own serials'
    yield e


@row('processes with secrets of their own are two model owners', 0, '', 30)
def _(w):
    w.deal().port()
    ports = [w.serve(store=w.dir / f'model{i}').port() for i in range(2)]
    for port in ports:
        e = w.embed(connect=port)
        assert e.finish() == 0, e.err
    assert len(list((w.dir / 'data').glob('*.w_hat'))) == 2
    yield e


# ---- bad input: reported before the weights are loaded
SERVE = [*SERVE_EARLY, '--secrets', '{w}/secrets']
alone('no secrets', 2, 'there is no .*/secrets/owner; make the secrets of this model owner once', SERVE)
alone('secrets that others can read', 2, 'b.seed can be read by others; chmod 600 it', SERVE,
      lambda w: (secrets(w) / 'b.seed').chmod(0o644))
alone('secrets that others can write', 4, 'weights.key', SERVE, lambda w: (secrets(w) / 'weights.key').chmod(0o666))
alone('secrets of another model owner', 4, 'those of another model owner than model=[0-9a-f]{64}', SERVE,
      lambda w: secrets(w, w.base.strangers))
alone('secrets that were cut', 2, 'b.seed has 31 bytes instead of 32', SERVE,
      lambda w: (secrets(w) / 'b.seed').write_bytes(bytes(31)))
alone('secrets twice', 2, 'weights.key exists, and other secrets', 'secrets {w}/secrets --certs {certs}'.split(), lambda w: secrets(w) and None)
alone("secrets by a data owner's certificate", 4, 'holds the certificate of another role', 'secrets {w}/secrets --certs {certs}/data'.split())

if __name__ == '__main__':
    main()
