#!/usr/bin/env python3
"""Restores stores, lanes and machines to an earlier state: no serial may run twice. A restored file may have another inode,
birth time or generation; the start of a store sees that. A whole disk that goes back shows nothing; the dealer's
witness detects it.

    rollback_test.py SUF [PATTERN]           from anywhere; about half a minute. PATTERN picks rows
    rollback_test.py SUF --disks             as root: on file systems of their own, where whole disks go back (tools/accept.py)

A row passes if every later result is right and no serial repeats.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import LEDGER_RECORD, Base, HeldRuns, Tap, World
from rows import main, row

STORES = ('model', 'data')
WHO = {'P0 alone': ('model',), 'P1 alone': ('data',), 'both': STORES}


def sh(*command):
    subprocess.run([str(c) for c in command], check=True, capture_output=True)


def used_two(w, keep, **flags):
    """Makes four bundles for 'the dog', and uses serial 1, then 2. keep(store) is called in between. serve is down
    afterwards."""
    w.both(tokens=4, count=4)
    w.works(**flags)
    w.server.end()
    for store in STORES:
        keep(store)
    w.serve().port()
    assert w.works(**flags)['serial'] == 2
    w.server.end()


def never_twice(w, code=0, said='', stores=STORES):
    """Asserts that the next run ends with this code, and no later one uses serial 2 again. Every result is right.
    Each restored store prints `said`."""
    w.serve().port()
    e = w.embed()
    assert e.finish() == code, e.err
    lines = {'data': e.err, 'model': w.server.err}
    for store in stores if said else ():
        assert any(said in line for line in lines[store]), lines
    serials = [row['serial'] for row in e.rows()] + [w.works()['serial'] for _ in range(3)]
    assert all(s > 2 for s in serials) and len(set(serials)) == len(serials), serials
    return w.embed()


# ---- one way each to put the files of a store back

def by_cp(kept, store):
    sh('cp', '-a', f'{kept}/.', f'{store}/')


def by_tar(kept, store):
    sh('tar', 'cf', f'{kept}.tar', '-C', kept, '.')
    sh('tar', 'xf', f'{kept}.tar', '-C', store)


def emptied(kept, store):
    for entry in store.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    by_cp(kept, store)


def removed(kept, store):
    shutil.rmtree(store)
    sh('cp', '-a', kept, store)


def cut(kept, store):
    """Removes the three records of serial 2 from the ledger and restores the bundle's file."""
    ledger, = store.rglob('ledger')
    os.truncate(ledger, ledger.stat().st_size - 3 * LEDGER_RECORD)
    for bundle in kept.rglob('*.bundle'):
        if not (ledger.parent / 'bundles' / bundle.name).exists():
            shutil.copy2(bundle, ledger.parent / 'bundles')


for name, restore in {'cp -a over it': by_cp, 'tar x over it': by_tar, 'emptied and copied back': emptied, 'removed and copied back': removed,
                      'ledger cut, bundle put back': cut}.items():
    for who, stores in WHO.items():
        def case(w, restore=restore, stores=stores):
            used_two(w, lambda store: sh('cp', '-a', w.dir / store, w.dir / f'kept-{store}'))
            for store in stores:
                restore(w.dir / f'kept-{store}', w.dir / store)
            yield never_twice(w, said='copied or restored', stores=stores)
        row(f'{name}, {who}', 0, '', 15)(case)


# ---- the files themselves go back, with inode, birth time and generation, as after a rollback of a disk or virtual
# machine

class Held:
    """Holds the files of a store, or of a folder in it, by hard links outside it, with their contents."""

    def __init__(self, w, store, folder=None):
        self.store, self.outside = folder or w.dir / store, w.dir / f'held-{store}'
        self.outside.mkdir()
        self.files = {}
        for k, path in enumerate(p for p in self.store.rglob('*') if p.is_file()):
            os.link(path, self.outside / str(k))
            self.files[path.relative_to(self.store)] = self.outside / str(k), path.read_bytes()

    def put_back(self):
        for path in [p for p in self.store.rglob('*') if p.is_file()]:
            path.unlink()
        for name, (outside, content) in self.files.items():
            with open(outside, 'r+b') as f:
                f.truncate(len(content))
                f.write(content)
            os.link(outside, self.store / name)


for who, stores in WHO.items():
    def case(w, stores=stores):
        held = {}
        used_two(w, lambda store: held.setdefault(store, Held(w, store)))
        for store in stores:
            held[store].put_back()
        if len(stores) == 1:  # the other one has burnt serial 2
            yield never_twice(w)
            return
        said = 'the dealer knows that bundles up to 2 were used, and this store would have used 2: it was rolled back'
        yield never_twice(w, 4, said)
    row(f'every file back with its inode, {who}', 0, '', 15)(case)


@row('every file back with its inode, to inside a session', 0, '', 15)
def _(w):
    held = {}
    w.both(tokens=4, count=4)
    w.works()
    inside = lambda: [held.setdefault(store, Held(w, store)) for store in STORES]
    e = w.embed(connect=Tap(w.server.port(), 9000, inside).port)
    assert e.finish() == 0 and held, e.err
    assert any(fate == 'claimed' and serial == 2 for serial, fate in w.fates('data').items()) or e.rows()[0]['serial'] == 2
    w.server.end()
    for store in STORES:
        held[store].put_back()
    yield never_twice(w, said='bundle 2 was claimed by a session that did not end; it is burnt')


# ---- lanes: one goes back, and another one of the same pair goes on. Two stores of one data owner have a lane each.

class TwoLanes:
    """Lane 1 is in the store `data`, lane 2 in `other`. Each has bundles on disk, made for 'the dog'."""

    def __init__(self, w):
        self.w = w
        w.both(tokens=4, count=4)
        w.works()
        self.ids = [w.lane('data').name]
        self.other(w.embed(store=w.dir / 'other'))
        self.ids.append(w.lane('other').name)

    def folder(self, store, lane=0):
        """Returns the folder of a lane at a party."""
        found, = [path for path in self.w.lanes(store) if path.name == self.ids[lane]]
        return found

    def other(self, e):
        """Asserts that an inference in lane 2 succeeds."""
        assert e.finish() == 0, e.err
        row, = e.rows()
        assert row['y'] == self.w.expected(), 'lane 2 differs from the simulator'
        return row['serial']

    def restart(self, *parties, restore):
        """Puts lane 1 back while serve is down, and starts serve. Lane 1 has used its next bundle since it was kept."""
        self.w.server.end()
        for store in parties:
            restore(store)
        self.w.serve().port()

    def beside(self, lane_1):
        """Runs lane_1() while an inference of lane 2 is held, which then ends with the next serial of lane 2."""
        w, left = self.w, [path.name.split('-')[0] for path in sorted((self.folder('other', 1) / 'bundles').iterdir())]
        inside = HeldRuns(w.server.port())
        e = w.embed(store=w.dir / 'other', connect=inside.port)
        assert inside.arrived(e), e.err
        out = lane_1()
        inside.go()
        assert self.other(e) == int(left[0]), 'lane 2 lost a bundle'
        return out


def next_serials(w, used):
    """Asserts that lane 1 uses none of these serials again."""
    serials = [w.works()['serial'] for _ in range(3)]
    assert not set(serials) & set(used) and len(set(serials)) == 3, (serials, used)


for who, stores in WHO.items():
    def case(w, stores=stores):
        two, held = TwoLanes(w), {}
        w.server.end()
        for store in STORES:
            held[store] = Held(w, store, two.folder(store))
        w.serve().port()
        used = [1, w.works()['serial']]
        two.restart(*stores, restore=lambda store: held[store].put_back())
        e = two.beside(lambda: (e := w.embed()).finish() is None or e)
        both = len(stores) == 2
        assert e.process.returncode == (4 if both else 0), e.err
        said = f'the dealer knows that bundles up to {used[1]} were used, and this store would have used {used[1]}: it was rolled back'
        for lines in (e.err, w.server.err) if both else ():
            assert any(said in line for line in lines), lines
        next_serials(w, used + [row['serial'] for row in e.rows()])
        yield w.embed(store=w.dir / 'other')
    row(f'lane 1 is put back with its inodes while lane 2 runs, {who}', 0, '', 20)(case)

    def case(w, stores=stores):
        two = TwoLanes(w)
        w.server.end()
        for store in STORES:
            sh('cp', '-a', two.folder(store), w.dir / f'kept-{store}')
        w.serve().port()
        used = [1, w.works()['serial']]
        two.restart(*stores, restore=lambda store: removed(w.dir / f'kept-{store}', two.folder(store)))
        e = two.beside(lambda: (e := w.embed()).finish() is None or e)
        assert e.process.returncode == 0, e.err
        for store, lines in (('model', w.server.err), ('data', e.err)):
            said = [line for line in lines if 'copied or restored' in line]
            assert all(two.ids[0] in line for line in said) and bool(said) == (store in stores), lines
        next_serials(w, used + [row['serial'] for row in e.rows()])
        yield w.embed(store=w.dir / 'other')
    row(f'lane 1 is copied back while lane 2 runs, {who}', 0, '', 20)(case)


@row("the dealer's file of lane 1 is put back while lane 2 runs", 4, 'its state was restored; bundle [0-9]+ is burnt, give the dealer its state back', 20)
def _(w):
    two = TwoLanes(w)
    used = [1, w.works()['serial']]
    file, = (w.dir / 'state' / 'lanes').glob('*/*')
    before = file.read_bytes()
    used.append(w.works()['serial'])
    now = file.read_bytes()
    file.write_bytes(before)
    yield two.beside(lambda: (e := w.embed()).finish() is None or e)
    file.write_bytes(now)
    next_serials(w, used)


@row('lane 1 is rolled back in a store of two lanes', 4, 'it was rolled back; its [0-9]+ bundles are burnt', 20)
def _(w):
    w.both(tokens=4, count=5)
    (w.dir / 'texts').write_text('the dog\n' * 2)
    e = w.embed(None, file=w.dir / 'texts', parallel=2, audit=2)  # audits share the texts out: one for each lane
    assert e.finish() == 0, e.err
    first, second = (path.name for path in w.lanes('data'))
    of = lambda store, name: next(path for path in w.lanes(store) if path.name == name)
    w.server.end()
    held = [Held(w, store, of(store, first)) for store in STORES]
    w.serve().port()
    serial = w.works()['serial']  # in the first lane with bundles
    w.server.end()
    for h in held:
        h.put_back()
    w.serve().port()
    left = {store: sorted(path.name for path in (of(store, second) / 'bundles').iterdir()) for store in STORES}
    yield w.embed()
    assert left == {store: sorted(path.name for path in (of(store, second) / 'bundles').iterdir()) for store in STORES}, 'lane 2 lost bundles'
    assert w.works()['serial'] == int(left['data'][0].split('-')[0]) != serial, 'lane 2 goes on'


@row("a lane's folder is copied to another data owner, and to another id", 0, '', 20)
def _(w):
    w.base.suf('certs', w.dir / 'certs', '--data', 'alice', '--data', 'bob')
    of = lambda name: {'certs': w.dir / 'certs' / f'data-{name}', 'store': w.dir / name}
    w.deal(certs=w.dir / 'certs', tokens=4, count=4).port()
    serve = lambda: w.serve(certs=w.dir / 'certs').port()
    serve()
    for name in ('alice', 'bob'):
        assert w.embed(**of(name)).finish() == 0
    w.server.end()
    alice, bob = w.lane('alice'), w.lane('bob')
    at_p0 = {path.name: path for path in w.lanes('model')}
    other_id = alice.name[::-1]
    for source, places in ((alice, [bob.parent / alice.name, alice.parent / other_id]),
                           (at_p0[alice.name], [at_p0[bob.name].parent / alice.name, at_p0[alice.name].parent / other_id])):
        for to in places:
            sh('cp', '-a', source, to)
    shutil.rmtree(bob)  # so the copied lane is the one that bob uses
    serve()
    for copy in (at_p0[bob.name].parent / alice.name, at_p0[alice.name].parent / other_id):
        assert any(f'the store {copy} was copied or restored' in line for line in w.server.err), w.server.err
        assert not list((copy / 'bundles').iterdir())
    e = w.embed(**of('bob'))
    assert e.finish() == 0 and e.rows()[0]['y'] == w.expected(), e.err
    assert any(f'the store {bob.parent / alice.name} was copied or restored' in line for line in e.err), e.err
    assert e.rows()[0]['serial'] > 8, 'it used a bundle that was dealt before'
    e = w.embed(**of('alice'))
    yield e
    row, = e.rows()
    assert row['y'] == w.expected() and row['serial'] == 2, 'the lane itself goes on with its bundles'


@row('the dealer is put back', 4, 'its state was restored; bundle 3 is burnt, give the dealer its state back')
def _(w):
    used_two(w, lambda store: store == 'data' and sh('cp', '-a', w.dir / 'state', w.dir / 'kept'))
    w.dealer.kill()
    kept = w.dir / 'now'
    sh('cp', '-a', w.dir / 'state', kept)
    emptied(w.dir / 'kept', w.dir / 'state')  # the file of the lane was not there yet
    w.deal(tokens=4, count=4).port()
    w.serve().port()
    yield w.embed()
    w.dealer.kill(), w.server.end()
    emptied(kept, w.dir / 'state')
    w.deal(tokens=4, count=4).port()
    assert w.works()['serial'] == 4


@row('the dealer lost its pairs', 4, 'the dealer never dealt the bundle that we hold')
def _(w):
    used_two(w, lambda store: None)
    shutil.rmtree(w.dir / 'state' / 'pairs')
    w.dealer.kill()
    w.deal(tokens=4, count=4).port()
    w.serve().port()
    yield w.embed()


@row('no dealer, bundles on disk', 3, 'nobody answers as the dealer')
def _(w):
    used_two(w, lambda store: None)
    before = {store: w.bundles(store) for store in STORES}
    port = w.dealer.port()
    w.dealer.kill()
    w.serve(dealer=port, ahead=4).port()
    yield w.embed(dealer=port, ahead=4)
    assert {store: w.bundles(store) for store in STORES} == before and all(len(b) == 2 for b in before.values())
    w.server.end()
    w.deal(tokens=4, count=4).port()
    assert w.works()['serial'] == 3


@row('nobody asks for keys ahead', 0, '')
def _(w):
    w.deal(tokens=4, count=100).port()
    w.serve(ahead=None).port()
    for _ in range(2):
        w.works(ahead=None)
    assert not w.bundles('model') and not w.bundles('data')
    said = [line for line in w.dealer.err if '--count offers 100 bundles of 4 tokens; the model owner requested 1, the data owner 1' in line]
    assert len(said) == 1, w.dealer.err
    yield w.embed(ahead=None)


@row('one party asks for fewer', 0, '')
def _(w):
    w.deal(tokens=4, count=100).port()
    w.serve(ahead=7).port()
    w.works(ahead=3)
    assert len(w.bundles('model')) == len(w.bundles('data')) == 2
    yield w.embed(ahead=3)


@row('--witness always tells of bundles in memory', 0, '')
def _(w):
    w.deal().port()
    w.serve(witness='always').port()
    for serial in (1, 2):
        w.works(witness='always')
        lane, = (w.dir / 'state' / 'lanes').glob('*/*')
        assert lane.read_bytes()[:16] == serial.to_bytes(8, 'little') * 2
    w.server.end()
    w.serve().port()
    w.works()
    assert lane.read_bytes()[:16] == (2).to_bytes(8, 'little') * 2, 'the dealer hears of bundles in memory without --witness always'
    yield w.embed(witness='always')


@row('a folder that was renamed keeps its keys', 0, '')
def _(w):
    used_two(w, lambda store: None)
    for store in STORES:
        (w.dir / store).rename(w.dir / f'renamed-{store}')
    w.serve(store=w.dir / 'renamed-model').port()
    yield w.embed(store=w.dir / 'renamed-data')
    assert w.rows()[0]['serial'] == 3


@row('a file system without times of birth', 5, 'keeps no times of birth of files, by which a restored store is noticed, so no keys may lie there')
def _(w):
    library = w.base.program.parent / 'tests' / 'faults' / 'libno_birth.so'
    assert library.exists(), f'{library} is not built'
    env = {'env': {**os.environ, 'LD_PRELOAD': str(library)}}
    w.deal(tokens=4, count=4).port()
    w.serve(env, ahead=None).port()
    w.works(process=env, ahead=None)
    yield w.embed(process=env)


# ---- on file systems of their own: --disks

DISKS = {'ext4': ('mkfs.ext4', '-q', '-F'), 'xfs': ('mkfs.xfs', '-q', '-f'), 'btrfs': ('mkfs.btrfs', '-q', '-f'), 'tmpfs': (), 'overlay': ()}


@contextlib.contextmanager
def mounted(folder, kind):
    """Mounts an empty file system of this kind on a folder; yields its image (or None) and the mount command."""
    image = folder.with_suffix('.img') if DISKS[kind] else None
    if image:
        with open(image, 'wb') as f:
            f.truncate(400 << 20)
        sh(*DISKS[kind], image)
        mount = ('mount', '-o', 'loop', image, folder)
    elif kind == 'overlay':  # on a disk of its own, because overlay accepts no overlay as its upper layer
        parts = {part: folder.with_suffix('.' + part) for part in ('lowerdir', 'upperdir', 'workdir')}
        for part in parts.values():
            part.mkdir()
        mount = ('mount', '-t', kind, kind, '-o', ','.join(f'{k}={v}' for k, v in parts.items()), folder)
    else:
        mount = ('mount', '-t', kind, kind, folder)
    sh(*mount)
    try:
        yield image, mount
    finally:
        sh('umount', folder)


def possible(kind):
    """Returns '' or the reason why this machine has no such file system."""
    with tempfile.TemporaryDirectory() as folder:
        inside = pathlib.Path(folder) / 'm'
        inside.mkdir()
        try:
            with mounted(inside, kind):
                return ''
        except (OSError, subprocess.CalledProcessError) as x:
            return (getattr(x, 'stderr', None) or str(x).encode()).decode().strip().splitlines()[-1]


def restart(w, **flags):
    """Starts dealer and model owner again; returns the next serial."""
    w.deal(tokens=4, count=4, **flags).port()
    w.serve().port()
    serial = w.works()['serial']
    w.server.end(), w.dealer.kill()
    return serial


def on_a_disk(w, kind):
    """An honest restart loses nothing. If the whole disk goes back, with both stores or with the dealer's state,
    nothing runs twice."""
    with mounted(w.dir, kind) as (image, mount):
        try:
            used_two(w, lambda store: None)
            w.dealer.kill()
            assert restart(w) == 3, 'an honest restart lost bundles'
            if not image:
                return
            state = w.dir.with_suffix('.state')
            sh('cp', '-a', w.dir / 'state', state)
            sh('umount', w.dir)
            shutil.copy(image, image.with_suffix('.kept'))
            sh(*mount)
            assert restart(w, state=state) == 4, 'an unmounted disk lost bundles'
            sh('umount', w.dir)
            shutil.copy(image.with_suffix('.kept'), image)
            sh(*mount)
            w.deal(tokens=4, count=4, state=state).port()
            w.serve().port()
            e = w.embed()
            assert e.finish() == 4 and 'it was rolled back' in e.err[-1], e.err
            assert w.works()['serial'] > 4
        finally:
            for r in w.roles:
                r.kill()


def disks():
    """Runs each kind of file system that is possible here, and prints the others."""
    kinds = {kind: possible(kind) for kind in DISKS}
    for kind, why in kinds.items():
        if why:
            print(f'stores on {kind}: not tried here ({why})')
    rows = [kind for kind, why in kinds.items() if not why]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        base = Base(sys.argv[1], folder)
        for kind in rows:
            try:
                with World(base, kind) as w:
                    on_a_disk(w, kind)
                print(f'stores on {kind}: nothing is lost by a restart, nothing runs twice when the disk goes back', flush=True)
            except Exception as x:
                failed += 1
                print(f'stores on {kind}: FAILED: {type(x).__name__} {x}', flush=True)
    sys.exit(failed > 0)


if __name__ == '__main__':
    disks() if '--disks' in sys.argv else main()
