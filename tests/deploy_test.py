#!/usr/bin/env python3
"""Checks the files of deploy/. Every command line of suf has only options of `suf COMMAND --help`, and all that are
required. The units pass `systemd-analyze`, which also rates them. Kubernetes manifests name only volumes, labels and
claims that they have, and no container has more rights than it needs. The folders and keys that both kinds give to suf
are ones that it uses. Planted faults are found. No cluster runs anything here.

  deploy_test.py SUF [PATTERN]     by .venv/bin/python, from anywhere; about 2 s. PATTERN picks rows
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import yaml

from rows import main, row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / 'network'))
from customers import write_owners  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent / 'deploy'
UNITS, MANIFESTS = sorted((ROOT / 'systemd').iterdir()), sorted((ROOT / 'kubernetes').iterdir())
MOST_EXPOSED = 20  # tenths: systemd-analyze calls up to 2 of 10 safe enough
RIGHTS = {'allowPrivilegeEscalation': False, 'readOnlyRootFilesystem': True, 'capabilities': {'drop': ['ALL']}}
POD = {'runAsNonRoot': True, 'seccompProfile': {'type': 'RuntimeDefault'}, 'fsGroupChangePolicy': 'OnRootMismatch'}


# ---- command lines
def lines_of_unit(text):
    """Returns (key, value) of each line of a unit, continuations joined."""
    found = []
    for line in text.replace('\\\n', ' ').splitlines():
        if not line or line[0] in '#[':
            continue
        key, equals, value = line.partition('=')
        assert equals and re.fullmatch(r'[A-Z]\w+', key), f'no line of a unit: {line}'
        found.append((key, value))
    return found


def words_of_pod(container):
    """Returns the words that a container runs; those of a script if a shell runs one."""
    words = [*map(str, container.get('command', [])), *map(str, container.get('args', []))]
    return shlex.split(words[-1], comments=True) if words[:1] == ['/bin/sh'] else words


def commands(path, text):
    """Returns the command lines of suf in a file, each as its words after `suf`."""
    if path.suffix == '.service':
        all_words = [shlex.split(value) for key, value in lines_of_unit(text) if key == 'ExecStart']
    else:
        all_words = [words_of_pod(c) for doc in yaml.safe_load_all(text) for c in containers(doc)]
    return [words[i + 1:] for words in all_words for i, w in enumerate(words) if w == 'suf' or w.endswith('/suf')]


HELP = {}


def options(suf, command):
    """Returns the options of a command, and those that are required."""
    if command not in HELP:
        if command == 'gateway':  # of the Python package
            words, env = [sys.executable, '-m', 'suf'], {'PYTHONPATH': suf.parent / 'python'}
        else:
            words, env = [suf], {}
        text = subprocess.run([*words, command, '--help'], capture_output=True, text=True, check=True, env=env).stdout
        lines = re.findall(r'^  (?:-\w,)?(--[a-z0-9-]+(?:,--[a-z0-9-]+)*)(.*(?:\n {4,}.*)*)', text, re.M)
        names = {name for names, _ in lines for name in names.split(',')}
        HELP[command] = names, {names for names, rest in lines if re.search(r'\bREQUIRED\b', rest)}
    return HELP[command]


def faults_of_commands(suf, path, text):
    found = []
    for command, *words in commands(path, text):
        known, required = options(suf, command)
        given = {w.partition('=')[0] for w in words if w.startswith('--')}
        found += [f'{path.name}: suf {command} has no option {w}' for w in sorted(given - known)]
        found += [f'{path.name}: suf {command} needs {w}' for w in sorted(required - given)]
    return found


# ---- manifests
def pod_of(doc):
    return doc['spec']['template']['spec'] if 'template' in doc.get('spec', {}) else {}


def containers(doc):
    return [*pod_of(doc).get('initContainers', []), *pod_of(doc).get('containers', [])]


def labels(doc):
    return doc['spec']['template']['metadata']['labels'] if pod_of(doc) else {}


def faults_of_pods(path, text):
    docs = list(yaml.safe_load_all(text))
    found = [f'{path.name}: {d} has no {key}' for d in docs for key in ('apiVersion', 'kind', 'metadata', 'spec') if key not in d]
    pods = [d for d in docs if pod_of(d)]
    for doc in pods:
        name, pod = f'{path.name}: {doc["kind"]} {doc["metadata"]["name"]}', pod_of(doc)
        own = {v['name'] for v in pod.get('volumes', [])} | {c['metadata']['name'] for c in doc['spec'].get('volumeClaimTemplates', [])}
        used = {m['name'] for c in containers(doc) for m in c.get('volumeMounts', [])}
        found += [f'{name}: no volume {v}' for v in used - own] + [f'{name}: unused volume {v}' for v in own - used]
        if {key: pod.get('securityContext', {}).get(key) for key in POD} != POD or not pod['securityContext'].get('runAsUser'):
            found.append(f'{name}: its pod may run as root')
        if pod.get('automountServiceAccountToken') is not False:
            found.append(f'{name}: a token of the cluster is mounted')
        if doc['kind'] == 'StatefulSet' and not any(d['kind'] == 'Service' and d['metadata']['name'] == doc['spec']['serviceName'] for d in docs):
            found.append(f'{name}: no Service {doc["spec"]["serviceName"]}')
        if (select := doc['spec'].get('selector')) and select['matchLabels'] != labels(doc):
            found.append(f'{name}: it selects other pods')
        for c in containers(doc):
            found += [f'{name}: {c["name"]} has another {key}' for key in RIGHTS if c.get('securityContext', {}).get(key) != RIGHTS[key]]
            found += [f'{name}: {c["name"]} has no limit of memory'] * ('memory' not in c.get('resources', {}).get('limits', {}))
            mounts = {m['name']: m for m in c.get('volumeMounts', [])}
            found += [f'{name}: {c["name"]} may write to {v["name"]}' for v in pod.get('volumes', [])
                      if ('secret' in v or 'configMap' in v) and not mounts.get(v['name'], {'readOnly': True}).get('readOnly')]
            ports = [p['containerPort'] for p in c.get('ports', [])]
            found += [f'{name}: {c["name"]} listens on {w}' for w in words_of_pod(c) if w.startswith('--listen=') and int(w.rpartition(':')[2]) not in ports]
    for doc in docs:
        select = doc['spec'].get('podSelector', {}).get('matchLabels') if doc['kind'] == 'NetworkPolicy' else \
            doc['spec']['selector'] if doc['kind'] == 'Service' else None
        if select is not None and not any(labels(d) == select for d in pods):
            found.append(f'{path.name}: {doc["kind"]} {doc["metadata"]["name"]} selects no pod')
    return found + [f'{path.name}: no NetworkPolicy'] * (not any(d['kind'] == 'NetworkPolicy' for d in docs))


# ---- units
def analyze(*words):
    if not shutil.which('systemd-analyze'):
        raise AssertionError('systemd-analyze is missing; install the package systemd, as tools/setup.sh does')
    return subprocess.run(['systemd-analyze', *map(str, words)], capture_output=True, text=True)


def faults_of_unit(suf, folder, name, text):
    """Returns the complaints of systemd-analyze about a unit whose program is ours."""
    path = folder / name
    path.write_text(re.sub('/(usr/local|opt/suf)/bin/suf', str(suf), text))
    done = analyze('verify', path)
    found = (done.stdout + done.stderr).splitlines() or [f'{name}: code {done.returncode}'] * (done.returncode != 0)
    if analyze('security', '--offline=true', f'--threshold={MOST_EXPOSED}', path).returncode:
        found.append(f'{name}: it may do more than it needs')
    return found


# ---- rows: each yields a command that works
def show(w):
    return w.role('certs', w.base.certs, '--show')


@row('every option exists, and required ones are there', 0, '')
def _(w):
    files = [*UNITS, *MANIFESTS]
    assert len(UNITS) == 3 and len(MANIFESTS) == 3, files
    for path in files:
        text = path.read_text()
        assert len(commands(path, text)) == 1, path
        found = faults_of_commands(w.base.program, path, text)
        assert not found, found
        for old, new, fault in (('--certs', '--ceerts', 'has no option --ceerts'), ('--pl', '--no-pl', 'needs --plan')):
            if old not in text:
                continue
            planted = faults_of_commands(w.base.program, path, text.replace(old, new))
            assert any(fault in f for f in planted), (path, planted)
    yield show(w)


@row('manifests are whole and give no rights', 0, '')
def _(w):
    for path in MANIFESTS:
        text = path.read_text()
        assert not (found := faults_of_pods(path, text)), found
        for old, new, fault in (('{name: certs, mount', '{name: cert, mount', 'no volume cert'), ('drop: [ALL]', 'drop: []', 'another capabilities'),
                                ('runAsNonRoot: true', 'runAsNonRoot: false', 'may run as root'), ('podSelector: {matchLabels: {app: ', 'podSelector: {matchLabels: {app: no-', 'selects no pod'),
                                ('mountPath: /certs, readOnly: true', 'mountPath: /certs', 'may write to certs')):
            assert old in text and any(fault in f for f in faults_of_pods(path, text.replace(old, new))), (path, fault)
        for broken in (text.replace('spec:', 'spec', 1), text + '\n  - x: ['):
            try:
                faults_of_pods(path, broken)
            except (yaml.YAMLError, AttributeError):
                continue
            raise AssertionError(f'{path} is read although it is broken')
    yield show(w)


@row('systemd-analyze accepts the units', 0, '', 20)
def _(w):
    for path in UNITS:
        text = path.read_text()
        assert not (found := faults_of_unit(w.base.program, w.dir, path.name, text)), found
    for old, new in (('KillMode=mixed', 'KillMode=mix'), ('ExecStart=/', 'ExecStart='), ('CapabilityBoundingSet=\n', '')):
        assert faults_of_unit(w.base.program, w.dir, path.name, text.replace(old, new)), f'{new} is accepted'
    yield show(w)


@row('serve takes the credentials of its unit', 0, 'listening on port', 30)
def _(w):
    w.base.suf('secrets', w.dir / 'secrets', '--certs', w.base.certs)
    places, to = {'certs': w.base.certs / 'model', 'secrets': w.dir / 'secrets'}, w.dir / 'credentials'
    to.mkdir()
    loaded = [value.partition(':') for key, value in lines_of_unit((ROOT / 'systemd/suf-serve@.service').read_text()) if key == 'LoadCredential']
    assert len(loaded) == 6, loaded
    for name, _, source in loaded:
        *_, place, file = pathlib.PurePath(source).parts
        shutil.copy(places[place] / file, to / name)
        (to / name).chmod(0o400)
    to.chmod(0o500)
    server = w.serve(certs=to, secrets=to, dealer=1)
    server.port()
    server.signal(15)
    yield server


def as_secret(folder, files):
    """Makes the folder of a Secret as Kubernetes mounts it: sticky, with a link to the data. Files have mode 0400,
    because a role of root takes no 0440 of its own."""
    data = folder / '..2026_11_28'
    data.mkdir(parents=True)
    for file in files:
        shutil.copy(file, data / file.name)
        (data / file.name).chmod(0o400)
        (folder / file.name).symlink_to(pathlib.Path('..data') / file.name)
    (folder / '..data').symlink_to(data.name)
    for path in (data, folder):
        path.chmod(0o1777)


def volumes_of(path):
    return {v['name']: v for doc in yaml.safe_load_all(path.read_text()) for v in pod_of(doc).get('volumes', [])}


@row('serve takes the volumes of its manifest', 0, 'listening on port', 30)
def _(w):
    volumes = volumes_of(ROOT / 'kubernetes/model-owner.yaml')
    assert not any('configMap' in v for v in volumes.values()), 'all users may write to the folder of a ConfigMap'
    w.base.suf('secrets', w.dir / 'made', '--certs', w.base.certs)
    owners = write_owners(w, {'alice': ([w.base.certs / 'data'], '')})
    files = {'certs': (w.base.certs / 'model').iterdir(), 'secrets': (w.dir / 'made').iterdir(), 'owners': [owners]}
    for name, of in files.items():
        assert volumes[name]['secret']['defaultMode'] == 0o440, name
        as_secret(w.dir / 'mounts' / name, of)
    server = w.serve(certs=w.dir / 'mounts/certs', secrets=w.dir / 'mounts/secrets', owners=w.dir / 'mounts/owners/owners.toml', dealer=1)
    server.port()
    server.signal(15)
    yield server


def as_kubelet(folder):
    """Changes modes as Kubernetes does for fsGroup: the group may read and write all, and folders pass it on."""
    for path in (folder, *folder.rglob('*')):
        path.chmod(path.stat().st_mode | (0o2770 if path.is_dir() else 0o660))


def prepare(path, volume):
    """Runs the script of the init container of a manifest on this volume."""
    [init] = [c for doc in yaml.safe_load_all(path.read_text()) for c in pod_of(doc).get('initContainers', [])]
    shell, flags, script = init['command']
    mounts = {m['mountPath'] for m in init['volumeMounts']}
    assert mounts == {'/state'}, mounts
    subprocess.run([shell, flags, script.replace('/state/', f'{volume}/')], check=True)


@row('folders in a volume of Kubernetes become private', 0, 'listening on port', 30)
def _(w):
    for path in MANIFESTS:
        volume = w.dir / path.stem
        volume.mkdir(mode=0o777)
        volume.chmod(0o2777)
        wanted = {m['subPath'] for doc in yaml.safe_load_all(path.read_text()) for c in pod_of(doc).get('containers', [])
                  for m in c['volumeMounts'] if m['name'] == 'state'}
        for _ in range(2):  # the second time as after a restart of the pod
            prepare(path, volume)
            assert {p.name for p in volume.iterdir()} == wanted, path
            for p in volume.rglob('*'):
                assert not p.stat().st_mode & 0o077, p
            (volume / min(wanted) / 'file').write_text('x')
            as_kubelet(volume)
    volume = w.dir / 'dealer'
    refused = w.deal(state=volume / 'state')
    assert refused.finish() == 4 and 'can change the folder' in refused.err[-1], refused.err
    prepare(ROOT / 'kubernetes/dealer.yaml', volume)
    (volume / 'state').rename(w.dir / 'mounted')  # as a mount, whose folder above is root's
    w.deal(state=w.dir / 'mounted').port()
    w.dealer.signal(15)
    yield w.dealer


if __name__ == '__main__':
    main()
