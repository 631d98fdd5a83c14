#!/usr/bin/env python3
"""Makes the wheel, installs it into an empty environment, and runs it there beside real roles. The environment has numpy
alone, and the module exports its init function alone.

  wheel_test.py SUF
"""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import Base, World

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_MB = 15


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f'{" ".join(map(str, command))}\n{done.stdout}{done.stderr}'
    return done.stdout


def main():
    wheel = ROOT / run(ROOT / 'tools/wheel.sh').strip()
    size = wheel.stat().st_size / 1e6
    assert size <= MOST_MB, f'{wheel.name} has {size:.1f} MB, the limit is {MOST_MB}'
    names = zipfile.ZipFile(wheel).namelist()
    libraries = sorted(n.rpartition('/')[2] for n in names if n.startswith('suf.libs/'))
    for wanted in ('libssl', 'libcrypto', 'libutf8proc', 'libmuparser', 'libspdlog', 'libfmt', 'libsqlite3'):
        assert any(n.startswith(wanted) for n in libraries), f'{wanted} is missing among {libraries}'
    assert not any('libpq' in n or 'cuda' in n for n in libraries), libraries
    assert 'suf/py.typed' in names and 'suf/_suf.pyi' in names and 'suf/gateway/app.py' in names
    with tempfile.TemporaryDirectory() as folder:
        env = pathlib.Path(folder, 'env')
        run(sys.executable, '-m', 'venv', env)
        run(env / 'bin/python', '-m', 'pip', 'install', '-q', '--disable-pip-version-check', wheel)
        installed = [line.split()[0].lower() for line in run(env / 'bin/python', '-m', 'pip', 'list', '--format=freeze').replace('==', ' ').splitlines()]
        assert set(installed) == {'numpy', 'pip', 'setuptools', 'suf'} or set(installed) == {'numpy', 'pip', 'suf'}, installed
        clean = {'cwd': folder, 'env': {'PATH': '/usr/bin:/bin'}}
        assert run(env / 'bin/suf', '--version', **clean).startswith('suf '), 'the command'
        assert 'pip install "suf[gateway]"' in subprocess.run([env / 'bin/suf', 'gateway'], capture_output=True, text=True, **clean).stderr
        seconds = float(run(env / 'bin/python', '-c', 'import numpy, time; t = time.perf_counter(); import suf; print(time.perf_counter() - t)', **clean))
        base = Base(sys.argv[1], folder)
        with World(base, 'wheel') as w:
            w.both()
            script = f'''
import suf
with suf.Encoder(connect="127.0.0.1:{w.server.port()}", dealer="127.0.0.1:{w.dealer.port()}", certs="{base.certs}", store="{w.dir}/store",
                 plan="{base.plan}", vocab="{base.model}/vocab.txt") as m:
    m.encode("the dog")
    print(m.last.integers[0].tolist())
'''
            assert eval(run(env / 'bin/python', '-c', script, **clean)) == w.expected()
        module, = (env / 'lib').glob('python*/site-packages/suf/_suf*.so')
        exported = [line.split()[-1] for line in run('nm', '-D', '--defined-only', module).splitlines()]
        assert exported == ['PyInit__suf'], exported
    print(f'{wheel.name}: {size:.1f} MB, {len(libraries)} libraries; import suf takes {seconds * 1e3:.0f} ms beside numpy')


if __name__ == '__main__':
    main()
