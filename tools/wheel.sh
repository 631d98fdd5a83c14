#!/bin/sh
# Makes the wheel of the Python package, dist/suf-*.whl, with the libraries that it needs inside (docs/python.md). It
# links the objects of the folder build. Prints the wheel's path.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
$python -m pip install -q --disable-pip-version-check --require-hashes -r tools/wheel.txt
rm -rf dist
$python -m pip wheel -q --disable-pip-version-check . --no-deps --no-build-isolation -w dist/plain
PATH="$PWD/.venv/bin:$PATH" $python -m auditwheel repair -w dist dist/plain/suf-*.whl > dist/repair.log 2>&1 || { cat dist/repair.log >&2; exit 1; }
rm -rf dist/plain
ls dist/suf-*.whl
