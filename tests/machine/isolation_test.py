#!/usr/bin/env python3
"""Runs each role as a user of its own with one directory, mode 0700. Everything works so, in either variant of a plan
and with a function. No role reads or writes the files of another. Each role forbids core dumps and debuggers, and locks
its memory if it may. A role prints the folders that it uses. It refuses a store, state, certificate or key that another
user could replace.

  isolation_test.py SUF     as root, without which it fails; some seconds
"""
import ctypes
import errno
import os
import pathlib
import re
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import AMPLE, Base, FunctionWorld, World, read_record

USERS = {'dealer': 64101, 'model': 64102, 'data': 64103}
SHARED = ('/tmp', '/var/tmp', '/dev/shm', '/run/lock', '/run/user', '/var/lock')  # writable by every user, on Debian
TOKENS = 9
VARIANTS = ('lan', 'wan')
PTRACE_ATTACH, MCL_ALL = 16, 1 | 2 | 4  # current, future, on fault
LOCKS = 'libmemory_locks.so'


def identity(user):
    return {'user': USERS[user], 'group': USERS[user], 'extra_groups': []}


def as_user(user, act):
    """Runs act() in a process of that user; returns its exit code, 0 to 255."""
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
    """Makes {role: its directory}, owned by its user. It has the role's certificates and plan, the model owner's
    model and shifts, or P1's vocabulary."""
    out = {}
    for role, user in USERS.items():
        home = out[role] = w.dir / role
        home.mkdir(mode=0o700)
        shutil.copytree(base.certs / role, home / 'certs')
        shutil.copy(base.function if isinstance(w, FunctionWorld) else base.both, home / 'plan.json')
        if isinstance(w, FunctionWorld):
            for seed in (1, 2) if role == 'data' else ():
                (home / f'values.{seed}').write_text(''.join(f'{seed * v}\n' for v in w.numbers(TOKENS)))
        elif role == 'model':
            shutil.copytree(base.model, home / 'model')
            shutil.copy(base.both.with_suffix('.shifts.safetensors'), home / 'plan.shifts.safetensors')
        elif role == 'data':
            shutil.copy(base.model / 'vocab.txt', home / 'vocab.txt')
            (home / 'texts').write_text('\n'.join(base.text(TOKENS, seed) for seed in (1, 2)) + '\n')
        for path in tree(home):
            os.chown(path, user, user)
            path.chmod(0o700 if path.is_dir() else 0o600)
    return out


def own(role, home, **env):
    """Returns the options of a process of that role's user in its directory."""
    return {**identity(role), 'cwd': home[role], 'umask': 0o077, 'env': {'PATH': os.environ['PATH'], 'HOME': str(home[role]), **env}}


def places(w, role):
    """Returns the flags that name the files in a role's directory."""
    of_models = {'model': {'model': 'model'}, 'data': {'vocab': 'vocab.txt'}}
    return {'plan': 'plan.json', 'certs': 'certs', 'timeout': AMPLE, **({'state': 'state'} if role == 'dealer' else {'store': 'store'}),
            **({} if isinstance(w, FunctionWorld) else of_models.get(role, {}))}


def start(w, home):
    """Starts all three, each in its own directory. The data owner runs once with each variant; returns its rows by
    variant."""
    w.deal(own('dealer', home), **places(w, 'dealer')).port()
    w.serve(own('model', home), **places(w, 'model'), record='frames').port()
    rows = {}
    for variant in VARIANTS:
        e = w.embed(None, own('data', home), **places(w, 'data'), record='frames.' + variant, file='texts', out='embeddings', variant=variant)
        assert e.finish() == 0, e.err
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
    all_private(home)


def all_private(home):
    """Asserts that only its user can access a role's directory."""
    for role in USERS:
        for path in tree(home[role]):
            assert path.stat().st_uid == USERS[role] and not path.stat().st_mode & 0o077, f'{path}: {oct(path.stat().st_mode)} of {path.stat().st_uid}'


def function_works(_, w, home):
    """Two calls with equally many values are right, and the model owner saw the same frames."""
    w.deal(own('dealer', home), **places(w, 'dealer')).port()
    w.serve(own('model', home), **places(w, 'model'), record='frames').port()
    for seed in (1, 2):
        e = w.embed(TOKENS, own('data', home), **places(w, 'data'), values=f'values.{seed}', out=f'results.{seed}')
        assert e.finish() == 0, e.err
        assert e.rows()[0]['y'] == [[seed * y] for y, in w.expected(TOKENS)]
        assert (home['data'] / f'results.{seed}').stat().st_mode & 0o777 == 0o600
    one, other = served_shapes(home, 2)
    assert one == other and len(one) > 5, (one, other)
    all_private(home)


def shapes_of(path):
    """Returns the directions, kinds and lengths of the frames of each inference in a record."""
    shapes = [[]]
    for sent, _, kind, _, payload in read_record(path):
        if kind >= 0x100 or 0x0b <= kind <= 0x10:  # the inference, and CLAIM to BYE
            shapes[-1].append((sent, kind, len(payload)))
        if kind == 0x10:
            shapes.append([])
    assert not shapes.pop()
    return shapes


def served_shapes(home, sessions):
    """Returns shapes_of the model owner's records, one file for each session."""
    return sum((shapes_of(home['model'] / name) for name in ['frames', *(f'frames.{i}' for i in range(2, sessions + 1))]), [])


def frames_alike(home):
    """Two texts of one length have the same frames of the same lengths, for both parties, by each variant."""
    seen = {'model': served_shapes(home, len(VARIANTS)), 'data': sum((shapes_of(home['data'] / f'frames.{v}') for v in VARIANTS), [])}
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
        for owner, role in running.items():  # nor memory, which holds keys, not even if the process has the same user
            mem = [pathlib.Path(f'/proc/{role.process.pid}') / name for name in ('mem', 'environ', 'maps')]
            assert as_user(reader, lambda: sum(readable(p) for p in mem)) == 0, f'{reader} looks into the process of {owner}'


def attached(pid):
    """Tries to attach a debugger to a process; returns 0 or the error number."""
    c = ctypes.CDLL(None, use_errno=True)
    return 0 if c.ptrace(PTRACE_ATTACH, pid, None, None) == 0 else ctypes.get_errno()


def hardened(w, home):
    """Each role has no core dump and no debugger, and locks memory if no limit forbids it.
    This holds while it listens or waits for a peer that never answers."""
    door = socket.create_server(('127.0.0.1', 0))
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)  # the roles inherit it
    for free in (True, False):
        seen = {'LD_PRELOAD': str(w.base.folder / LOCKS), 'SUF_LOCKED': f'locked.{free}', **({'SUF_UNLIMITED': '1'} if free else {})}
        process = {role: own(role, home, **seen) for role in USERS}
        roles = [w.deal(process['dealer'], **{**places(w, 'dealer'), 'state': f'state.{free}'}),
                 w.serve(process['model'], dealer=1, **{**places(w, 'model'), 'store': f'store.{free}'})]
        for r in roles:
            r.port()
        waiting = w.embed(*w.BIG, process=process['data'], dealer=1, connect=door.getsockname()[1], **{**places(w, 'data'), 'store': f'store.{free}'})
        peer, _ = door.accept()
        for who, r in zip(USERS, [*roles, waiting]):
            pid, locked = r.process.pid, home[who] / f'locked.{free}'
            core = re.search(r'^Max core file size\s+(\S+)\s+(\S+)', pathlib.Path(f'/proc/{pid}/limits').read_text(), re.M)
            assert core.groups() == ('0', '0'), f'{who} may leave a core dump'
            assert (locked.read_text() if locked.exists() else '') == (f'{MCL_ALL}\n' if free else ''), f'{who} locks its memory wrongly'
            assert as_user(who, lambda: attached(pid)) == errno.EPERM, f'a debugger may take hold of {who}'
            assert as_user(who, lambda: int(readable(pathlib.Path(f'/proc/{pid}/environ')))) == 0, f'{who} lets its user look into it'
            r.kill()
        peer.close()
    with subprocess.Popen(['sleep', '600'], **identity('data')) as other:  # a user may read any other process of its own
        assert as_user('data', lambda: int(readable(pathlib.Path(f'/proc/{other.pid}/environ')))) == 1
        other.kill()


def nothing_outside(base, home):
    """Asserts that no file of the three users is where everybody may write, and nothing else here is theirs."""
    users, inside = set(USERS.values()), tuple(f'{h}/' for h in home.values())
    todo = [base.folder, *{h.parent for h in home.values()}, *map(pathlib.Path, SHARED)]
    while todo:
        try:
            paths = list(todo.pop().iterdir())
        except OSError:  # not on this machine, or removed by another test
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
        assert as_user(role, lambda: sum(map(writable, (base.folder, home[role].parent, pathlib.Path('/'))))) == 0


def stage(folder, user=None, mode=0o755):
    """Makes a folder of that user (None: root)."""
    folder.mkdir()
    os.chown(folder, USERS.get(user, 0), USERS.get(user, 0))
    folder.chmod(mode)
    return folder


def mounted(w, source):
    """Makes the files of `source` as Kubernetes mounts a secret. They are root's links through ..data in a sticky
    folder. A group may read the key."""
    mount = stage(w.dir / 'mounted', mode=0o1777)
    inner = stage(mount / '..2026_01_01')
    os.symlink(inner.name, mount / '..data')
    for path in source.iterdir():
        shutil.copy(path, inner)
        (inner / path.name).chmod(0o440 if path.name == 'key.pem' else 0o444)
        os.chown(inner / path.name, 0, USERS['data'])
        os.symlink(f'..data/{path.name}', mount / path.name)
    return mount


def folders_of_others(w, home):
    """A file that another user could change is refused with path, owner, mode and remedy. Mounted certificates are
    used."""
    def embed(code, sentence, **flags):
        e = w.embed(None, own('data', home), dealer=1, connect=1, file='texts', **{**places(w, 'data'), 'store': home['data'] / 'new', **flags})
        assert e.finish() == code and sentence in e.err[-1], (flags, sentence, e.err[-1])

    can = 'another user of this machine can change the '
    user, other = USERS['data'], USERS['model']
    theirs, shared = stage(w.dir / 'theirs', 'model'), stage(w.dir / 'all', mode=0o1777)
    mine = stage(theirs / 'store', 'data', 0o700)
    embed(4, f'{can}folder {mine}: {theirs} belongs to user {other}, mode 0755; give it to user {user} or 0, or use another folder', store=mine)
    wide = stage(w.dir / 'wide', 'data', 0o777)
    embed(4, f'{can}folder {wide}: {wide} belongs to user {user}, mode 0777; let nobody else write it (chmod go-w), or use another folder', store=wide)
    embed(4, f'{can}folder {wide}/new: {wide} belongs to user {user}, mode 0777', store=wide / 'new')
    link = shared / 'link'
    os.symlink(home['data'], link)
    os.chown(link, other, other, follow_symlinks=False)
    embed(4, f'{link} is a symbolic link that belongs to user {other}', store=link / 'store')
    os.chown(link, user, user, follow_symlinks=False)
    embed(3, 'nobody answers as the model owner', store=link / 'store')  # our own link into our own folder
    embed(3, 'nobody answers as the model owner', store=stage(shared / 'store', 'data', 0o700))
    for name in ('lanes', 'ledger', 'bundles'):  # in our own folder nothing is written through a link
        store = shutil.copytree(home['data'] / 'store', home['data'] / f'store-{name}')
        folder = store if name == 'lanes' else next((store / 'lanes').iterdir())
        (folder / name).rename(folder / 'elsewhere')
        os.symlink('elsewhere', folder / name)
        for path in tree(store):
            os.chown(path, user, user, follow_symlinks=False)
        embed(4, f'{folder / name} is a symbolic link', store=store)

    embed(3, 'nobody answers as the model owner', certs=mounted(w, home['data'] / 'certs'))
    certs = shutil.copytree(home['data'] / 'certs', w.dir / 'certs')
    for path in tree(certs):
        os.chown(path, user, user)
    os.chown(certs / 'ca.pem', other, other)
    (certs / 'ca.pem').chmod(0o644)
    embed(4, f'{can}file {certs}/ca.pem: {certs}/ca.pem belongs to user {other}, mode 0644', certs=certs)

    state = stage(theirs / 'state', 'dealer', 0o700)
    d = w.deal(own('dealer', home), **{**places(w, 'dealer'), 'state': state})
    assert d.finish() == 4 and f'{can}folder {state}: {theirs} belongs to user {other}' in d.err[-1], d.err[-1]


def folders_are_named(w, home):
    for role, process, kept in (('dealer', w.dealer, 'state'), ('model', w.server, 'store')):
        for what, folder in (('certificates', 'certs'), (kept, kept)):
            assert any(f' {what}: {home[role] / folder}' in line for line in process.err), (what, process.err)


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
        os.chmod(shutil.copy(pathlib.Path(sys.argv[1]).parent / 'tests' / 'faults' / LOCKS, folder), 0o755)
        for world, works in ((World, all_works), (FunctionWorld, function_works)):
            with world(base, f'isolated {works.__name__}') as w:
                w.dir.chmod(0o711)
                home = homes(base, w)
                works(base, w, home)
                if world is World:
                    frames_alike(home)
                nobody_else_reads(w, home)
                hardened(w, home)
                nothing_outside(base, home)
                if world is World:
                    folders_are_named(w, home)
                    folders_of_others(w, home)
    print('three users, three directories: all works, and nobody reads, writes or looks into what is another\'s')


if __name__ == '__main__':
    main()
