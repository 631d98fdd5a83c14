#!/usr/bin/env python3
"""Runs other plans, altered or used bundles, damaged stores and full disks. Each gets one sentence and the right exit
code in time. The serial is burnt on both sides, nothing besides is lost, and the next inference works.

  stores_test.py SUF [PATTERN]     from anywhere; about a quarter of a minute. PATTERN picks rows
"""
import pathlib
import resource
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import LEDGER_HEADER, LEDGER_RECORD, GateWorld
from rows import each_world, ended, main, row

# ---- plans and bundles

@row('serve holds another plan', 4, 'the model owner holds another plan')
def _(w):
    w.deal().port()
    w.serve(plan=w.base.other_plan).port()
    yield w.embed()
    ended(w, 'another plan')


@row('the dealer holds another plan', 4, 'the dealer holds another plan')
def _(w):
    w.deal(plan=w.base.other_plan).port()
    w.serve().port()
    yield w.embed()
    ended(w, 'another plan|ended the session')
    w.dealer.kill()
    w.works()


def ahead(w):
    """Makes three bundles for 'the dog' and uses one: 2 and 3 are left. Afterwards only the dealer runs."""
    w.both(tokens=4, count=3)
    w.works('the dog')
    w.server.end()
    return {store: w.bundles(store) for store in ('model', 'data')}


def in_file(path, at, flip=True):
    """Alters a byte, counted from the end if negative, or cuts the file there."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw if flip else raw[:at])


@row('replayed bundle in one store', 0, 'of a serial that is spent; it is discarded')
def _(w):
    left = ahead(w)['data'][0]
    shutil.copy(left, w.dir / 'kept')
    assert w.works()['serial'] == 2
    shutil.copy(w.dir / 'kept', left)
    yield w.embed()
    assert w.rows()[0]['serial'] == 3 and not left.exists()


@row('replayed bundles in both stores', 0, 'of a serial that is spent; it is discarded')
def _(w):
    left = [x[0] for x in ahead(w).values()]
    for k, path in enumerate(left):
        shutil.copy(path, w.dir / str(k))
    assert w.works()['serial'] == 2
    w.server.end()
    for k, path in enumerate(left):
        shutil.copy(w.dir / str(k), path)
    w.serve().port()
    assert w.server.said('of a serial that is spent; it is discarded')
    yield w.embed()
    assert w.rows()[0]['serial'] == 3


@row('replayed bundle while serve runs', 0, '')
def _(w):
    left = ahead(w)['model'][0]
    shutil.copy(left, w.dir / 'kept')
    assert w.works()['serial'] == 2
    shutil.copy(w.dir / 'kept', left)
    yield w.embed()
    assert w.rows()[0]['serial'] == 3


for store, flip, at, sentence in (('data', True, -1000, 'was altered; it is burnt'), ('data', False, -1000, 'is cut short; it is burnt'),
                                  ('model', True, -1000, 'the model owner found its bundle altered'), ('model', False, -1000, 'the model owner found its bundle altered')):
    def case(w, store=store, flip=flip, at=at):
        in_file(ahead(w)[store][0], at, flip)
        w.serve().port()
        yield w.embed()
        assert w.works()['serial'] == 3
        w.spent(2)
    row(f'bundle of the {store} store {"altered" if flip else "cut short"}', 4, sentence)(case)


@row('header of a bundle altered', 0, 'was altered; it is burnt')
def _(w):
    in_file(ahead(w)['data'][0], 100)
    w.serve().port()
    yield w.embed()
    assert w.rows()[0]['serial'] == 3
    w.works()
    w.spent(2)


@row('bundle of another plan', 0, '')
def _(w):
    ahead(w)
    w.dealer.kill()
    w.deal(plan=w.base.other_plan).port()
    w.serve(plan=w.base.other_plan).port()
    yield w.embed(plan=w.base.other_plan)
    assert w.rows()[0]['serial'] == 4, 'a bundle of another plan was used'


@row('bundle under the name of another', 0, 'that were copied or restored: 1; they may have been used before')
def _(w):
    two, three = ahead(w)['data']
    shutil.copy(three, two)
    w.serve().port()
    yield w.embed()
    assert w.rows()[0]['serial'] == 3
    w.spent(2)


# ---- stores and disks

@row('store copied to another place', 0, 'was copied or restored from elsewhere; its bundles are discarded')
def _(w):
    ahead(w)
    shutil.copytree(w.dir / 'data', w.dir / 'copy')
    w.serve().port()
    yield w.embed(store=w.dir / 'copy')
    assert w.rows()[0]['serial'] == 4 and [int(b.stem.split('-')[0]) for b in w.bundles('copy')] == [5, 6]


@row('lane copied beside itself', 0, 'was copied or restored from elsewhere; its bundles are discarded')
def _(w):
    ahead(w)
    lane = w.lane('data')
    shutil.copytree(lane, lane.with_name(f'{int(lane.name, 16) ^ 1:032x}'))
    w.serve().port()
    yield w.embed()
    assert w.rows()[0]['serial'] == 2 and [int(b.stem.split('-')[0]) for b in w.bundles('data')] == [3]


@row('folder of a lane without files', 0, '')
def _(w):
    ahead(w)
    for store in ('data', 'model'):  # a process died after it had made the folder
        lane = w.lane(store)
        lane.with_name(f'{int(lane.name, 16) ^ 1:032x}').mkdir()
    w.serve().port()
    yield w.embed()
    assert w.rows()[0]['serial'] == 2


@row('stores of an older version', 0, 'that an older version of suf wrote: 1; they are wiped')
def _(w):
    for store in ('model', 'data'):
        (w.dir / store / 'bundles').mkdir(parents=True)
        (w.dir / store / 'bundles' / f'{1:020}-0-0-4-0.bundle').write_bytes(bytes(2000))
        (w.dir / store / 'ledger').write_bytes(b'SUFLEDG2' + bytes(184))
    w.both()
    assert w.server.said('that an older version of suf wrote: 1; they are wiped')
    yield w.embed()
    assert w.rows()[0]['serial'] == 1
    assert not any((w.dir / store / name).exists() for store in ('model', 'data') for name in ('bundles', 'ledger'))


@row('ledger damaged', 0, 'is damaged at byte .* the bundles of this store are discarded')
def _(w):
    ahead(w)
    w.serve().port()
    w.works()
    in_file(w.lane('data') / 'ledger', 160)
    yield w.embed()
    assert w.rows()[0]['serial'] == 4


@row('pinned key altered', 4, 'shows another key than the one this store knows')
def _(w):
    w.both()
    w.works()
    in_file(w.dir / 'data' / 'model.pin', 5)
    yield w.embed()


@row('seed of B cut short', 5, 'is not a secret of 32 bytes')
def _(w):
    w.both()
    w.server.kill()
    in_file(w.dir / 'model' / 'b.seed', 31, flip=False)
    yield w.serve()


@each_world('serial of the dealer damaged', 5, "the dealer's serial in .* is damaged")
def _(w):
    w.both()
    w.works()
    w.dealer.kill()
    in_file(w.dir / 'state' / 'serial', 0)
    yield w.deal()


@each_world('the dealer lost its serial', 4, 'the dealer sent bundle 1, which this store has had')
def _(w):
    w.both()
    w.works()
    w.dealer.kill()
    w.deal(state=w.dir / 'fresh').port()
    w.server.kill()
    w.serve().port()
    yield w.embed()
    assert w.floor('data') == w.floor('model') == 1


for what, sentence in (('ledger', 'cannot open .*ledger'), ('bundles', 'bundles is not a folder; use another name, or remove it')):
    def case(w, what=what):
        w.both()
        w.works()
        path = w.lane('data') / what
        kept = path.rename(w.dir / 'kept')
        path.touch() if kept.is_dir() else path.mkdir()
        yield w.embed()
        path.rmdir() if path.is_dir() else path.unlink()
        kept.rename(path)
        w.works()
    each_world(f'store whose {what} cannot be read', 5, sentence)(case)


@row('last record of the ledger torn', 0, 'was not written to its end; it is dropped')
def _(w):
    ahead(w)
    with open(w.lane('data') / 'ledger', 'ab') as f:
        f.write(bytes(20))
    w.serve().port()
    yield w.embed()
    assert w.rows()[0]['serial'] == 2


@each_world('two processes on one store', 5, 'is in use by another suf process')
def _(w):
    w.both()
    yield w.serve(dealer=1)


@each_world('two dealers on one state', 5, 'is in use by another suf process')
def _(w):
    w.deal().port()
    yield w.deal()


@each_world('record file exists', 5, 'name one that does not exist')
def _(w):
    w.both()
    (w.dir / 'record').touch()
    yield w.embed(record=w.dir / 'record')


def small_files(limit):
    """Limits files of a process to `limit` bytes, as on a full disk."""
    return {'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))}


@row('disk full while W_hat comes', 5, 'cannot write .*w_hat')
def _(w):
    w.both()
    yield w.embed(process=small_files(8192))
    w.works()


@each_world('disk full in the claim of embed', 5, 'cannot write .*ledger')
def _(w):
    w.both()
    w.works()
    yield w.embed(process=small_files(LEDGER_HEADER + LEDGER_RECORD + 10))  # the size after its start, without space for a claim
    ended(w, 'the data owner ended the session')
    assert w.works()['serial'] == 3
    w.spent(2)


@each_world('disk full in the claim of serve', 3, 'the model owner ended the session')
def _(w):
    w.both()
    w.works()
    w.server.end()
    w.serve(process=small_files(LEDGER_HEADER + LEDGER_RECORD + 10)).port()
    yield w.embed()
    ended(w, 'cannot write .*ledger')
    w.server.kill()
    assert w.works()['serial'] == 3
    w.spent(2)


@row('disk full while bundles are stored', 5, 'cannot write .*incoming.part')
def _(w):
    w.both(tokens=4, count=3)
    yield w.embed(process=small_files(130_000))  # between W_hat and a bundle
    w.works()


@row('disk full for the serial of the dealer', 3, 'the dealer ended the session')
def _(w):
    w.deal(process=small_files(20)).port()
    w.serve().port()
    yield w.embed()
    w.dealer.kill()
    w.works()


@row('disk full for the result', 5, 'cannot write .*out.safetensors')
def _(w):
    w.both()
    w.works()
    (w.dir / 't').write_text('a cat\n' * 12)
    (w.dir / 'out.safetensors').write_text('old')
    yield w.embed(None, process=small_files(1750), file=w.dir / 't', out=w.dir / 'out.safetensors')
    assert [p.name for p in w.dir.glob('out.safetensors*')] == ['out.safetensors'] and (w.dir / 'out.safetensors').read_text() == 'old'


@row('disk full for the outputs of gates', 5, 'cannot write .*out.y', world=GateWorld)
def _(w):
    w.both()
    w.works()
    yield w.embed(1000, process=small_files(1750), out=w.dir / 'out')
    assert not list(w.dir.glob('out*')), 'nothing is left of a file that cannot be written'
    assert w.works()['serial'] == 2, 'nothing is spent'


if __name__ == '__main__':
    main()
