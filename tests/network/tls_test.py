#!/usr/bin/env python3
"""Runs strangers by the openssl command at both ends of all links, a man in the middle, and pinned keys. A forbidden
peer is refused by one sentence and the right exit code. The next inference works.

  tls_test.py SUF [PATTERN]     from anywhere; about 20 seconds. PATTERN picks rows
"""
import collections
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import AMPLE as SLOW, Between, Role
from rows import alone, main, row

TITLES = {'dealer': 'the dealer', 'model': 'the model owner', 'data': 'the data owner'}
EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
CA = '[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\ndefault_md=sha256\nrand_serial=yes\nunique_subject=no\npolicy=p\n[p]\ncommonName=supplied\n'
ONE, INDEX = threading.Lock(), threading.Lock()  # rows run in threads


class Authority:
    """A CA as docs/operations.md allows one, made with the openssl command; `certs` has the folders of the three
    roles."""

    def __init__(self, folder):
        self.folder, self.certs = folder, folder / 'certs'
        folder.mkdir()
        (folder / 'ca.cnf').write_text(CA)
        (folder / 'index').touch()
        for name in ('ca', 'other'):
            self.run('req', '-x509', *EC, '-nodes', '-keyout', f'{name}.key', '-out', f'{name}.pem', '-subj', f'/CN={name}', '-days', 10)
        for role in TITLES:
            self.leaf(self.certs / role, [role])

    def run(self, *args):
        subprocess.run(['openssl', *map(str, args)], check=True, capture_output=True, cwd=self.folder)

    def leaf(self, to, roles, key=EC, ca='ca', start='20200101000000Z', end='20900101000000Z', self_signed=False):
        """Makes a folder with key and certificate for these roles; its ca.pem is ours."""
        to.mkdir(parents=True)
        uris = ['subjectAltName=' + ','.join(f'URI:suf:{r}' for r in roles)] if roles else []
        made = ['-nodes', '-keyout', to / 'key.pem', '-subj', '/CN=leaf']
        if self_signed:
            self.run('req', '-x509', *key, *made, '-days', 10, '-addext', *uris, '-out', to / 'cert.pem')
        else:
            (to / 'ext').write_text('\n'.join(['basicConstraints=critical,CA:FALSE', 'keyUsage=critical,digitalSignature', *uris]) + '\n')
            self.run('req', *key, *made, '-out', to / 'csr')
            with INDEX:
                self.run('ca', '-batch', '-notext', '-config', 'ca.cnf', '-in', to / 'csr', '-cert', f'{ca}.pem', '-keyfile', f'{ca}.key',
                         '-startdate', start, '-enddate', end, '-extfile', to / 'ext', '-out', to / 'cert.pem')
        (to / 'key.pem').chmod(0o600)
        (to / 'ca.pem').write_bytes((self.folder / 'ca.pem').read_bytes())
        return to


def authority(w):
    with ONE:
        if not hasattr(w.base, 'authority'):
            w.base.authority = Authority(w.base.folder / 'authority')
    return w.base.authority


# A fault of a stranger: keywords of its leaf, flags of its openssl. `door` is the message if it connects, `call` the
# message if it is called (with the title of the expected role). `hears` is in the stranger's own output.
Fault = collections.namedtuple('Fault', 'leaf flags door call hears')
REFUSAL = '\x02\x00\x00\x00\x01\x00\x00\x00\x08\x00'  # the frame for "rejected our certificate because it is for another role"


def untrusted(why, hears, **leaf):
    return Fault(leaf, [], rf'the certificate of the client at .* is not trusted \({why}\)', rf'the certificate of {{}} at .* is not trusted \({why}\)', hears)


def mistaken(whose, roles):
    return Fault({'roles': roles}, [], f'the certificate of the client at .* is that of {whose}, not of', f'the certificate of {{}} at .* is that of {whose}, not of {{}}', REFUSAL)


def unable(flags, why='it finds no cipher suite, curve or signature in common', door='showed no certificate or spoke no TLS 1.3', **leaf):
    return Fault(leaf, flags, f'the client at .* {door}', rf'{{}} at .* refused our certificate or TLS version \({why}', '')


def faults(role, taken=()):
    """Yields the faults of a stranger as `role`, if the roles in `taken` are also accepted."""
    wrong = [r for r in TITLES if r != role and r not in taken]
    yield 'sound', Fault({}, [], 'sent a frame of 2021161080 bytes', '{} sent a frame of 2021161080 bytes', '')
    yield 'expired', untrusted("it expired: valid from 2020-01-01 00:00 UTC to 2021-01-01 00:00 UTC, and this machine's clock says 20.. UTC".replace('..', r'\d\d-\d\d-\d\d \d\d:\d\d'), 'alert certificate expired', end='20210101000000Z')
    yield 'not yet valid', untrusted('it is not yet valid: valid from 2080-01-01 00:00 UTC to 2090-01-01 .*', 'alert bad certificate', start='20800101000000Z')
    yield 'self-signed', untrusted('it is self-signed, not issued by our CA', 'alert unknown ca', self_signed=True)
    yield 'of another CA', untrusted('it is of another CA than ours', 'alert unknown ca', ca='other')
    for other in wrong:
        yield f'of the role {other}', mistaken(TITLES[other], [other])
    yield 'of no role', mistaken('no role of suf', [])
    yield 'of two roles', mistaken('no role of suf', [role, wrong[0]])
    yield 'P-384', unable([], key=['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'])
    yield 'RSA', unable([], key=['-newkey', 'rsa:3072'])
    yield 'Ed25519', unable([], key=['-newkey', 'ed25519'])
    yield 'TLS 1.2', unable(['-tls1_2'], 'it speaks no TLS 1.3')
    yield 'no suite of ours', unable(['-ciphersuites', 'TLS_AES_128_CCM_SHA256'])


def folder(w, role, name, fault):
    return authority(w).leaf(w.dir / f'{role} {name}', **{'roles': [role], **fault.leaf})


def stranger(w, command, *flags, own):
    """Starts openssl s_client or s_server; all its output is in lines of err."""
    files = ['-cert', own / 'cert.pem', '-key', own / 'key.pem', '-CAfile', own / 'ca.pem', '-tlsextdebug']
    w.roles.append(Role(['sh', '-c', 'exec openssl "$@" 1>&2', 'sh', command, *files, *flags], stdin=subprocess.PIPE))
    return w.roles[-1]


def poke(role):
    """Sends eight bytes that are no frame header of ours."""
    role.process.stdin.write(b'xxxxxxxx\n')
    role.process.stdin.flush()


def knocks(door, role):
    """Makes a case of openssl s_client at a listener of ours, as `role`."""
    def case(w):
        certs = authority(w).certs
        w.deal(certs=certs, timeout=SLOW).port(), w.serve(certs=certs, timeout=SLOW).port()
        listener = w.dealer if door == 'deal' else w.server
        for name, fault in faults(role, ('model', 'data') if door == 'deal' else ()):
            since, kept = len(listener.err), w.dir / f'session {name}'
            s = stranger(w, 's_client', '-connect', f'127.0.0.1:{listener.port()}', '-sess_out', kept, *fault.flags, own=folder(w, role, name, fault))
            if name == 'sound':
                assert s.said('New, TLSv1.3', SLOW), s.err
                poke(s)
            assert listener.said(f'a session ended: .*{fault.door}', SLOW, since), f'{name}: {door} says {listener.err[since:]}'
            s.finish(SLOW)
            said = '\n'.join(s.err)
            assert fault.hears in said, f'{name}: the stranger hears {s.err}'
            assert 'Session Ticket' not in said and not kept.exists(), f'{name}: a ticket was given'
        w.works(certs=certs)
        listener.signal(signal.SIGTERM)
        yield listener
    row(f'strangers knock at {door} as {TITLES[role]}', 0, 'is not trusted', 60)(case)


for door, role in (('deal', 'model'), ('deal', 'data'), ('serve', 'data')):
    knocks(door, role)


class Called:
    """openssl s_server in place of a role; ended at the end of the block."""

    def __init__(self, w, role, name, fault):
        self.server = stranger(w, 's_server', '-accept', '127.0.0.1:0', '-Verify', 1, '-verify_return_error', *fault.flags, own=folder(w, role, name, fault))
        self.port = int(self.server.said(r'ACCEPT .*:(\d+)')[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()


def answered(name, e, fault, title):
    """Asserts that a dialer of ours ended with the fault's sentence."""
    code = 3 if name == 'sound' else 4
    assert e.finish(2 * SLOW) == code and len(e.err) < 9, f'{name}: exit code {e.process.returncode}: {e.err}'
    assert e.err[-1].startswith('suf: ') and re.search(fault.call.replace('{}', title), e.err[-1]), f'{name}: {e.err}'


@row('strangers are called by embed as the model owner', 0, '', 60)
def _(w):
    certs = authority(w).certs
    for name, fault in faults('model'):
        with Called(w, 'model', name, fault) as called:
            e = w.embed(certs=certs, dealer=1, connect=called.port, store=w.dir / 'store of strangers', timeout=SLOW)
            if name == 'sound':
                assert called.server.said('CIPHER is', SLOW), called.server.err
                poke(called.server)
            answered(name, e, fault, TITLES['model'])
            if fault.hears != REFUSAL:
                assert called.server.said(fault.hears, SLOW), f'{name}: the stranger hears {called.server.err}'
    w.deal(certs=certs, timeout=SLOW).port(), w.serve(certs=certs, timeout=SLOW).port()
    yield w.embed(certs=certs, timeout=SLOW)


@row('strangers are called by embed and serve as the dealer', 0, '', 60)
def _(w):
    certs = authority(w).certs
    w.deal(certs=certs, timeout=SLOW).port()
    for name, fault in faults('dealer'):
        with Called(w, 'dealer', name, fault) as called:
            server = w.serve(certs=certs, dealer=called.port, store=w.dir / f'model {name}', timeout=SLOW)
            e = w.embed(certs=certs, dealer=called.port, connect=server.port(), store=w.dir / f'data {name}', timeout=SLOW)
            for _ in range(2 if name == 'sound' else 0):
                since = len(called.server.err)
                assert called.server.said('CIPHER is', SLOW, since), called.server.err
                poke(called.server)
            answered(name, e, fault, TITLES['dealer'])
            assert server.said('a session ended: .*' + fault.call.replace('{}', TITLES['dealer']), SLOW), f'{name}: serve says {server.err}'
            server.kill()
    w.serve(certs=certs, timeout=SLOW).port()
    yield w.embed(certs=certs, timeout=SLOW)


@row('no session is resumed, no early data, no second certificate', 3, 'sent a frame of', 20)
def _(w):
    a = authority(w)
    own = a.leaf(w.dir / 'own', ['model'])
    server = stranger(w, 's_server', '-accept', '127.0.0.1:0', '-Verify', 1, '-early_data', '-num_tickets', 4, own=own)
    port = int(server.said(r'ACCEPT .*:(\d+)')[1])
    for turn in range(2):
        since = len(server.err)
        e = w.embed(certs=a.certs, dealer=1, connect=port, timeout=SLOW)
        assert server.said('CIPHER is', SLOW, since), server.err
        poke(server)
        e.finish(SLOW)
    said = '\n'.join(server.err)
    assert said.count('CIPHER is') == 2 and '"supported versions" (id=43)' in said, said
    assert 'Reused' not in said
    for extension, number in (('session ticket', 35), ('pre-shared key', 41), ('early data', 42), ('post-handshake authentication', 49)):
        assert f'(id={number})' not in said, f'embed offers {extension}'
    yield e


@row('strangers without a certificate knock at deal and serve', 0, '')
def _(w):
    w.both()
    for listener in (w.dealer, w.server):
        since = len(listener.err)
        subprocess.run(['openssl', 's_client', '-connect', f'127.0.0.1:{listener.port()}'], stdin=subprocess.DEVNULL, capture_output=True, timeout=SLOW)
        assert listener.said('the client at .* showed no certificate', since=since), listener.err
    w.works()
    yield w.embed()


# ---- our own certificate, checked before a role listens or dials

def own(what, code, sentence, prepare, role='dealer'):
    """Makes a row of a role whose folder of certificates `prepare` has spoiled."""
    def case(w):
        folder = prepare(w)
        yield (w.deal(certs=folder) if role == 'dealer' else w.embed(certs=folder, dealer=1, connect=1) if role == 'data' else w.serve(certs=folder, dealer=1))
    row(f'own certificate: {what}, at {role}', code, sentence)(case)


CLOCK = r"and this machine's clock says 20\d\d-\d\d-\d\d \d\d:\d\d UTC; set the clock right, or make new certificates"
for role in TITLES:
    own('expired', 4, f"own/cert.pem, {TITLES[role]}'s, cannot be used, as it expired: valid from 2020-01-01 00:00 UTC to 2021-01-01 00:00 UTC, {CLOCK}",
        lambda w, role=role: authority(w).leaf(w.dir / 'own', [role], end='20210101000000Z'), role)
    own('not yet valid', 4, f"own/cert.pem, {TITLES[role]}'s, cannot be used, as it is not yet valid: valid from 2080-01-01 00:00 UTC to 2090-01-01 00:00 UTC, {CLOCK}",
        lambda w, role=role: authority(w).leaf(w.dir / 'own', [role], start='20800101000000Z'), role)
    own('of another CA', 2, r'cannot use .*own/cert.pem \(it is of another CA than ours, by .*own/ca.pem\)',
        lambda w, role=role: authority(w).leaf(w.dir / 'own', [role], ca='other'), role)
    other = next(r for r in TITLES if r != role)
    own('of another role', 4, f"own holds the certificate of another role, {TITLES[other]}'s; .* needs {TITLES[role]}'s",
        lambda w, other=other: authority(w).leaf(w.dir / 'own', [other]), role)


def spoiled(change):
    def prepare(w):
        folder = authority(w).leaf(w.dir / 'own', ['dealer'])
        change(folder)
        return folder
    return prepare


def other_key(folder):
    subprocess.run(['openssl', 'genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', folder / 'key.pem'], check=True, capture_output=True)
    (folder / 'key.pem').chmod(0o600)


def encrypted_key(folder):
    subprocess.run(['openssl', 'ec', '-in', folder / 'key.pem', '-aes256', '-passout', 'pass:x', '-out', folder / 'locked'], check=True, capture_output=True)
    (folder / 'locked').replace(folder / 'key.pem')
    (folder / 'key.pem').chmod(0o600)


def folder_instead(name):
    return lambda folder: ((folder / name).unlink(), (folder / name).mkdir(0o700))


for name in ('ca.pem', 'cert.pem', 'key.pem'):
    own(f'{name} is missing', 2, rf'cannot use .*own/{name} \(No such file or directory\)', spoiled(lambda f, name=name: (f / name).unlink()))
    own(f'{name} is a folder', 2, rf'cannot use .*own/{name} \(it is a folder\)', spoiled(folder_instead(name)))
    own(f'{name} is no PEM', 2, rf'cannot use .*own/{name} \(it holds no ', spoiled(lambda f, name=name: (f / name).write_text('<html>')))
own('another key', 2, r'cannot use .*own/key.pem \(it is not the key of cert.pem\)', spoiled(other_key))
own('an encrypted key', 2, r'cannot use .*own/key.pem \(it is encrypted\); store the key without a passphrase', spoiled(encrypted_key))
alone('certificates below a file', 2, r'cannot use {w}/t/ca.pem \(Not a directory\)'.replace('{w}', '.*'),
      'deal --plan {plan} --certs {w}/t --listen 127.0.0.1:0'.split(), lambda w: (w.dir / 't').write_text(''))


@row('certificates that another user may not read', 2, r'cannot use .*locked/dealer/ca.pem \(Permission denied\); let the user of this process read it')
def _(w):
    certs = w.base.folder / 'locked'
    w.base.suf('certs', certs)
    program = shutil.copy(w.base.program, w.dir / 'suf')
    w.base.folder.chmod(0o755), w.dir.chmod(0o777), certs.chmod(0o755), w.base.plan.chmod(0o644)
    w.roles.append(Role([program, 'deal', '--plan', w.base.plan, '--certs', certs / 'dealer', '--listen', '127.0.0.1:0', '--state', w.dir / 'state'],
                        user=65534, group=65534, extra_groups=[]))
    yield w.roles[-1]


@row('the clock of the peer: who is refused says what its certificate is valid for', 4,
     r"refused our certificate \(.*\): .*/data/cert.pem is the data owner's, valid from 2020-01-01 00:00 UTC to 2090-01-01 00:00 UTC, and this machine's clock says")
def _(w):
    certs = honest(w)
    # Trusted only by itself: a leaf of the other CA, with both CAs in its ca.pem.
    own_ca = authority(w).leaf(w.dir / 'own' / 'data', ['data'], ca='other')
    (own_ca / 'ca.pem').write_bytes((authority(w).folder / 'ca.pem').read_bytes() + (authority(w).folder / 'other.pem').read_bytes())
    yield w.embed(certs=w.dir / 'own', timeout=SLOW)
    assert w.server.said(r'the certificate of the client at .* is not trusted \(it is of another CA than ours\)', SLOW)


@row('own certificate of another curve', 2, 'is not of the curve P-256')
def _(w):
    own = authority(w).leaf(w.dir / 'own', ['model'], key=['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'])
    yield w.serve(certs=own, dealer=1)


# ---- a man in the middle

def honest(w):
    certs = authority(w).certs
    w.deal(certs=certs, timeout=SLOW).port(), w.serve(certs=certs, timeout=SLOW).port()
    return certs


def impostors(w):
    """Returns good certificates of both roles, with other keys."""
    return [authority(w).leaf(w.dir / f'{role} between', [role]) for role in ('model', 'data')]


@row('in the middle with the very keys of both', 4, 'the model owner saw other frames or another bundle than we did')
def _(w):
    certs = honest(w)
    between = Between(w.server.port(), certs / 'model', certs / 'data')
    yield w.embed(certs=certs, connect=between.port)
    assert between.passed > 10_000, 'the man in the middle did not get as far as the session'
    assert w.server.said('the data owner saw other frames or holds another bundle of serial 1 than we do')
    assert w.works(certs=certs)['serial'] == 2
    w.spent(1)


@row('in the middle with certificates of its own', 4, 'the dealer received requests for different bundles from the two parties')
def _(w):
    certs = honest(w)
    yield w.embed(certs=certs, connect=Between(w.server.port(), *impostors(w)).port, store=w.dir / 'data2')
    w.works(certs=certs)


@row('in the middle of parties that met before', 4, 'the model owner shows another key than the one this store knows')
def _(w):
    certs = honest(w)
    w.works(certs=certs)
    yield w.embed(certs=certs, connect=Between(w.server.port(), *impostors(w)).port)
    w.works(certs=certs)


# ---- pinned keys

def pins(w, certs):
    return dict(line.split('=') for line in w.base.suf('certs', certs, '--show').splitlines())


def pin(w, *roles, certs=None):
    """Returns the --pin of these roles' keys in `certs`."""
    known = pins(w, certs or w.base.certs)
    return [f'{role}={known[role]}' for role in roles]


@row('fingerprints are those of the openssl command', 0, '')
def _(w):
    known = pins(w, w.base.certs)
    assert set(known) == set(TITLES)
    for role, key in known.items():
        found = subprocess.run(f'openssl x509 -in {w.base.certs / role}/cert.pem -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum',
                               shell=True, check=True, capture_output=True).stdout.decode().split()[0]
        assert key == found and pins(w, w.base.certs / role) == {role: key}
    w.both()
    w.works()
    assert (w.dir / 'data' / 'model.pin').read_text() == known['model'] and (w.dir / 'data' / 'dealer.pin').read_text() == known['dealer']
    assert w.dealer.said(f'our key is dealer={known["dealer"]}') and w.server.said(f'our key is model={known["model"]}')
    made = dict(line.split('=') for line in w.base.suf('certs', w.dir / 'new').splitlines())
    assert made == pins(w, w.dir / 'new') and not set(made.values()) & set(known.values())
    yield w.embed()


@row('the right keys pinned at all ends', 0, '')
def _(w):
    w.deal(pin=pin(w, 'model', 'data')).port()
    w.serve(pin=pin(w, 'dealer', 'data')).port()
    w.works(pin=pin(w, 'dealer', 'model'))
    yield w.embed(pin=pin(w, 'model', certs=w.base.strangers) + pin(w, 'model'))  # an old key and the new one


def misfit(what, sentence, *, deal=(), serve=(), embed=(), elsewhere=None):
    """Makes a row with pins of other keys than those met; `elsewhere`: (role, its message)."""
    def case(w):
        other = lambda roles: pin(w, *roles, certs=w.base.strangers)
        w.deal(pin=other(deal)).port(), w.serve(pin=other(serve)).port()
        yield w.embed(pin=other(embed))
        role, says = elsewhere
        role = w.dealer if role == 'deal' else w.server
        assert role.said(f'a session ended: .*{says}'), role.err
    row(what, 4, sentence)(case)


def another(role, who=None):
    return f'the key of {who or TITLES[role]} at .* is {role}=[0-9a-f]{{64}}, another one than our pin names'


misfit('embed pins another model owner', another('model'), embed=['model'], elsewhere=('serve', 'the data owner does not know our key'))
misfit('embed pins another dealer', another('dealer'), embed=['dealer'], elsewhere=('deal', 'the data owner does not know our key'))
misfit('serve pins another data owner', 'the model owner does not know our key', serve=['data'], elsewhere=('serve', another('data', 'the client')))
misfit('deal pins another data owner', 'the dealer does not know our key', deal=['data'], elsewhere=('deal', another('data', 'the client')))


@row('serve pins another dealer', 0, another('dealer'))
def _(w):
    w.deal().port()
    w.serve(pin=pin(w, 'dealer', certs=w.base.strangers)).port()
    assert w.embed().finish() == 3
    assert w.dealer.said('the model owner does not know our key')
    w.server.signal(signal.SIGTERM)
    yield w.server


@row('deal pins another model owner', 0, another('model', 'the client'))
def _(w):
    w.deal(pin=pin(w, 'model', certs=w.base.strangers)).port()
    w.serve().port()
    assert w.embed().finish() == 3
    assert w.server.said('the dealer does not know our key')
    w.dealer.signal(signal.SIGTERM)
    yield w.dealer


PLACES = ['--plan', '{plan}', '--certs', '{certs}', '--listen', '127.0.0.1:0', '--state', '{w}/state']
for text, sentence in (('model=12', 'must be 64 lower-case hex digits'), ('owner=' + '0' * 64, 'a pin is dealer=, model= or data='),
                       ('dealer=' + '0' * 64, 'names our own role'), ('0' * 64, 'a pin is dealer=, model= or data=')):
    alone(f'--pin {text[:12]} at deal', 2, sentence, ['deal', *PLACES, '--pin', text])


def owners(w, *names, dealers=()):
    """Makes certificates of data owners and dealers with these names in `named`. Returns the folder and the lines of
    suf certs."""
    words = [word for option, all in (('--data', names), ('--dealer', dealers)) for name in all for word in (option, name)]
    return w.dir / 'named', w.base.suf('certs', w.dir / 'named', *words).splitlines()


@row('two data owners of one CA', 2, r"named holds certificates of several data owners; name the right one of these folders: \S*named/data-alice and \S*named/data-bob$")
def _(w):
    certs, lines = owners(w, 'bob', 'alice')
    assert [line.partition('=')[0] for line in lines] == ['dealer', 'model', 'data', 'data'], lines
    assert [line.split()[1:] for line in lines] == [[], [], ['data-alice'], ['data-bob']], lines
    assert w.base.suf('certs', certs, '--show').splitlines() == lines
    w.deal(certs=certs, timeout=SLOW).port(), w.serve(certs=certs, timeout=SLOW).port()
    for name in ('alice', 'bob'):
        e = w.embed(certs=certs / f'data-{name}', store=w.dir / name, timeout=SLOW)
        assert e.finish() == 0, e.err
    yield w.embed(certs=certs, timeout=SLOW)


@row('two dealers of one CA', 2, r"named holds certificates of several dealers; name the right one of these folders: \S*named/dealer-east and \S*named/dealer-west$")
def _(w):
    certs, lines = owners(w, 'alice', dealers=('west', 'east'))
    assert [line.partition('=')[0] for line in lines] == ['dealer', 'dealer', 'model', 'data'], lines
    assert [line.split()[1:] for line in lines] == [['dealer-east'], ['dealer-west'], [], ['data-alice']], lines
    assert w.base.suf('certs', certs, '--show').splitlines() == lines
    east = w.deal(certs=certs / 'dealer-east', timeout=SLOW)
    east.port(), w.serve(certs=certs, timeout=SLOW).port()
    e = w.embed(certs=certs, timeout=SLOW)
    assert e.finish() == 0, e.err
    yield w.deal(certs=certs, state=w.dir / 'west')


@row('the one dealer with a name', 0, 'certificates: .*named/dealer-east')
def _(w):
    certs, _ = owners(w, 'alice', dealers=('east',))
    dealer = w.deal(certs=certs, timeout=SLOW)
    dealer.port(), w.serve(certs=certs, timeout=SLOW).port()
    e = w.embed(certs=certs, timeout=SLOW)
    assert e.finish() == 0, e.err
    dealer.signal(signal.SIGTERM)
    yield dealer


@row('the one data owner with a name', 0, 'certificates: .*named/data-alice')
def _(w):
    certs, _ = owners(w, 'alice')
    w.deal(certs=certs, timeout=SLOW).port(), w.serve(certs=certs, timeout=SLOW).port()
    yield w.embed(certs=certs, timeout=SLOW)


@row('a folder without certificates beside those of data owners', 2, r'named/data holds no certificate of the data owner; name the right one of these folders: \S*named/data-alice and \S*named/data-bob')
def _(w):
    certs, _ = owners(w, 'alice', 'bob')
    yield w.embed(certs=certs / 'data', dealer=1, connect=1)


@row('a folder with certificates of other roles', 2, r'few holds no certificate of the data owner, and there are only \S*few/dealer and \S*few/model; bring the folder of this role')
def _(w):
    shutil.copytree(w.base.certs, w.dir / 'few')
    shutil.rmtree(w.dir / 'few' / 'data')
    yield w.embed(certs=w.dir / 'few', dealer=1, connect=1)


for name, sentence in (('..', 'cannot be that of a folder; use letters, digits'), ('a/b', 'cannot be that of a folder'), ('x' * 49, 'has 49 bytes, and 48 are allowed'),
                       ('', '--data')):
    alone(f'the name "{name[:4]}" of a data owner', 2, sentence, ['certs', '{w}/c', '--data', name])
alone('the name ".." of a dealer', 2, 'of a dealer cannot be that of a folder', ['certs', '{w}/c', '--dealer', '..'])
alone('a name of a data owner twice', 2, 'appears twice', ['certs', '{w}/c', '--data', 'a', '--data', 'a'])
alone('257 data owners', 2, '257 data owners are named, and at most 256', ['certs', '{w}/c', *(word for i in range(257) for word in ('--data', f'o{i}'))])
for option in ('--data', '--dealer'):
    alone(f'names of {option} to show', 2, '--show', ['certs', '{certs}', '--show', option, 'a'])
alone('fingerprints of an empty folder', 2, 'there are no certificates in', ['certs', '{w}', '--show'])


if __name__ == '__main__':
    main()
