#!/usr/bin/env python3
"""Runs the release program under valgrind's memcheck: dealer, model owner and data owner, with TLS and stores. There
are three texts, two bundles fetched ahead, and an audit. There is no invalid access, no lost block, and no branch or
system call that depends on undefined bytes. Results equal the simulator's.

  memcheck_test.py SUF     from anywhere; half a minute on an idle machine (a handshake may take 10 s under valgrind)
"""
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from roles import Base, World

# Only lost blocks count. The thread that waits for signals lives to the end, so its data is possibly lost.
MEMCHECK = ('valgrind', '-q', '--error-exitcode=9', '--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite',
            '--read-inline-info=no')
PATIENCE = 300  # seconds for steps that take ten


def main():
    with tempfile.TemporaryDirectory() as folder:
        base = Base(sys.argv[1], folder)
        with World(base, 'memcheck', under=(*MEMCHECK, f'--log-file={folder}/report.%p')) as w:
            texts = [base.text(n, n) for n in (3, 7, 7)]
            (w.dir / 'texts').write_text('\n'.join(texts) + '\n')
            deal = w.deal(timeout=PATIENCE)
            dealer = deal.port(PATIENCE)
            serve = w.serve(dealer=dealer, timeout=PATIENCE)
            embed = w.embed(None, dealer=dealer, connect=serve.port(PATIENCE), timeout=PATIENCE, file=w.dir / 'texts', audit=1)
            codes = [embed.finish(PATIENCE)]
            for role in (serve, deal):
                role.signal(signal.SIGTERM)
                codes.append(role.finish(PATIENCE))
            reports = '\n'.join(p.read_text() for p in base.folder.glob('report.*')).strip()
            assert len(list(base.folder.glob('report.*'))) == 3, 'not every role ran under valgrind'
            assert codes == [0, 0, 0] and not reports, f'exit codes {codes}; {embed.err}; {serve.err}; {deal.err}\n{reports}'
            assert [r['y'] for r in embed.rows()] == base.simulate(texts), 'another result than the simulator'
            print(f'no reports: embed {embed.seconds:.0f} s, serve {serve.seconds:.0f} s, deal {deal.seconds:.0f} s')


if __name__ == '__main__':
    main()
