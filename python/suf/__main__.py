"""The command `suf`."""
import signal
import sys

from suf import _suf


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the program takes its signals itself
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.argv[1:2] == ['gateway']:
        from suf.gateway import run
        sys.exit(run(sys.argv[2:]))
    code = _suf.main(['suf', *sys.argv[1:]], [sys.executable, '-m', 'suf'])
    if sys.argv[1:] in (['--help'], ['-h']):
        print('\nAnd in this package: suf gateway, embeddings over HTTP (suf gateway --help)')
    sys.exit(code)


if __name__ == '__main__':
    main()
