"""`suf gateway`: an OpenAI-compatible server on the data owner's machine. docs/gateway.md has the guide."""
import sys


def run(words):
    """Runs the command; returns its exit code."""
    try:
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as x:
        print(f'suf: the gateway needs the package {x.name}, which is not installed; run: pip install "suf[gateway]"', file=sys.stderr)
        return 2
    from suf.gateway.command import main
    return main(words)
