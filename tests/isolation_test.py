#!/usr/bin/env python3
"""Each role as a user of its own with one directory, mode 0700: all works so, in either variant of a plan, and no role reads or writes what is
another's.

  isolation_test.py SUF     as root, without which it fails; a few seconds
"""
import os
import pathlib
import shutil
import stat
import sys
import tempfile

from roles import Base, World, read_record

USERS = {'dealer': 64101, 'model': 64102, 'data': 64103}
SHARED = ('/tmp', '/var/tmp', '/dev/shm', '/run/lock', '/run/user', '/var/lock')  # where any user may write, on Debian
TOKENS = 9
VARIANTS = ('lan', 'wan')


def identity(user):
    return {'user': USERS[user], 'group': USERS[user], 'extra_groups': []}


def as_user(user, act):
    """act() in a process of that user; its exit code, 0 to 255."""
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([]), os.setgid(USERS[user]), os.setuid(USERS[user])
            os._exit(act())
        except BaseException:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def readable(path):
    """Whether this process can list that folder or read that file."""
    try:
        os.listdir(path) if path.is_dir() else path.read_bytes()
        return True
    except PermissionError:
        return False


def writable(folder):
    try:
        (folder / 'stranger').touch()
        return True
    except PermissionError:
        return False


def tree(folder):
    return [folder, *sorted(folder.rglob('*'))]


def homes(base, w):
    """{role: its directory}, owned by its user, with what it needs: its certificates, the plan, the model owner's model and shifts, P1's vocabulary."""
    out = {}
    for role, user in USERS.items():
        home = out[role] = w.dir / role
        home.mkdir(mode=0o700)
        shutil.copytree(base.certs / role, home / 'certs')
        shutil.copy(base.both, home / 'plan.json')
        if role == 'model':
            shutil.copytree(base.model, home / 'model')
            shutil.copy(base.both.with_suffix('.shifts.safetensors'), home / 'plan.shifts.safetensors')
        if role == 'data':
            shutil.copy(base.model / 'vocab.txt', home / 'vocab.txt')
            (home / 'texts').write_text('\n'.join(base.text(TOKENS, seed) for seed in (1, 2)) + '\n')
        for path in tree(home):
            os.chown(path, user, user)
            path.chmod(0o700 if path.is_dir() else 0o600)
    return out


def start(w, home):
    """All three, each in its own directory; the data owner has come once for each variant. Its rows, by variant."""
    options = {role: {**identity(role), 'cwd': home[role], 'umask': 0o077, 'env': {'PATH': os.environ['PATH'], 'HOME': str(home[role])}} for role in USERS}
    w.deal(options['dealer'], plan='plan.json', certs='certs', state='state', timeout=60).port()
    w.serve(options['model'], plan='plan.json', certs='certs', model='model', store='store', record='frames', timeout=60).port()
    rows = {}
    for variant in VARIANTS:
        e = w.embed(None, options['data'], plan='plan.json', certs='certs', vocab='vocab.txt', store='store', record='frames.' + variant, file='texts',
                    out='embeddings', variant=variant, timeout=60)
        assert e.finish(120) == 0, e.err
        rows[variant] = e.rows()
    return rows


def all_works(base, w, home):
    texts = [base.text(TOKENS, seed) for seed in (1, 2)]
    for variant, rows in start(w, home).items():
        assert [r['y'] for r in rows] == base.simulate(texts, '--plan', base.both, '--variant', variant), variant
    made = {'dealer': ['state'], 'model': ['store', 'frames'], 'data': ['store', 'embeddings', *('frames.' + v for v in VARIANTS)]}
    for role, names in made.items():
        for name in names:
            assert (home[role] / name).exists(), f'{role} made no {name}'
        for path in tree(home[role]):
            assert path.stat().st_uid == USERS[role] and not path.stat().st_mode & 0o077, f'{path}: {oct(path.stat().st_mode)} of {path.stat().st_uid}'


def shapes_of(path):
    """Of each inference in a record: the frames' directions, kinds and lengths."""
    shapes = [[]]
    for sent, _, kind, _, payload in read_record(path):
        if kind >= 0x100 or 0x0b <= kind <= 0x10:  # the inference, and CLAIM to BYE
            shapes[-1].append((sent, kind, len(payload)))
        if kind == 0x10:
            shapes.append([])
    assert not shapes.pop()
    return shapes


def frames_alike(home):
    """Two texts of one length: the same frames of the same lengths, in the eyes of both parties, by each variant."""
    seen = {'model': shapes_of(home['model'] / 'frames'), 'data': sum((shapes_of(home['data'] / f'frames.{v}') for v in VARIANTS), [])}
    for role, shapes in seen.items():
        assert len(shapes) == 2 * len(VARIANTS) and all(len(s) > 40 for s in shapes)
        for one, other in zip(shapes[::2], shapes[1::2]):
            assert one == other, f'{role}: frames differ between two texts of one length'
        assert shapes[0] != shapes[2], f'{role}: the variants have the same frames'


def nobody_else_reads(w, home):
    running = {'dealer': w.dealer, 'model': w.server}
    for reader in USERS:
        for owner in USERS:
            paths = tree(home[owner])
            assert 5 < len(paths) < 255
            count = as_user(reader, lambda: sum(readable(p) for p in paths))
            assert count == (len(paths) if reader == owner else 0), f'{reader} reads {count} of {len(paths)} paths of {owner}'
            if reader != owner:
                assert as_user(reader, lambda: int(writable(home[owner]))) == 0, f'{reader} writes in the directory of {owner}'
        for owner, role in running.items():  # nor the memory, which holds keys: not even that of a process of one's own user
            mem = [pathlib.Path(f'/proc/{role.process.pid}') / name for name in ('mem', 'environ', 'maps')]
            assert as_user(reader, lambda: sum(readable(p) for p in mem)) == 0, f'{reader} looks into the process of {owner}'


def nothing_outside(base, home):
    """No file of the three users lies where everybody may write, and nothing else in this test's folder is theirs."""
    users, inside = set(USERS.values()), tuple(f'{h}/' for h in home.values())
    todo = [base.folder, base.folder / 'isolated', *map(pathlib.Path, SHARED)]
    while todo:
        try:
            paths = list(todo.pop().iterdir())
        except OSError:  # not on this machine, or another test's and gone
            continue
        for path in paths:
            try:
                s = path.lstat()
            except OSError:
                continue
            assert s.st_uid not in users or f'{path}/'.startswith(inside), f'{path} was left by user {s.st_uid}'
            if stat.S_ISDIR(s.st_mode) and s.st_mode & stat.S_IWOTH:  # elsewhere they cannot write
                todo.append(path)
    for role in USERS:
        assert as_user(role, lambda: sum(map(writable, (base.folder, base.folder / 'isolated', pathlib.Path('/'))))) == 0


def main():
    if os.getuid():
        sys.exit('isolation_test.py: it runs each role as a user of its own, which takes root')
    if any(as_user(user, lambda: 0) for user in USERS):
        sys.exit('isolation: this process cannot become three other users, which takes root; run the tests as root, or leave this one out by '
                 'name (ctest -E isolation)')
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)
        program = shutil.copy(sys.argv[1], folder)
        os.chmod(program, 0o755)
        base = Base(sys.argv[1], folder)
        base.program = pathlib.Path(program)
        with World(base, 'isolated') as w:
            w.dir.chmod(0o711)
            home = homes(base, w)
            all_works(base, w, home)
            frames_alike(home)
            nobody_else_reads(w, home)
            nothing_outside(base, home)
    print('three users, three directories: all works, and nobody reads, writes or looks into what is another\'s')


if __name__ == '__main__':
    main()
