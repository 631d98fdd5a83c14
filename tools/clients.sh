#!/bin/sh
# Installs the programs that tests run against the Python package and its gateway, into an environment of their own. The
# argument names it: `clients` for `make test-all`, `compat` for `make compat` (with torch and Ray, 6 GB).
set -eu
cd "$(dirname "$0")/.."
list=tools/$1.txt env=.$1
cmp -s "$list" "$env/ready" && exit 0
echo "setup: installing the packages of $list into $env" >&2
rm -rf "$env"
.venv/bin/python -m venv "$env"
"$env/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$list"
cp "$list" "$env/ready"
