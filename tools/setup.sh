#!/bin/sh
# Installs the packages to build and test with: Debian packages (as root), then a Python environment in .venv. Then it
# installs the headers of the backend myl7 in .myl7; tools/myl7.txt has their hashes.
set -eu
cd "$(dirname "$0")/.."
packages="build-essential cmake ninja-build ccache pkg-config git libssl-dev openssl libasio-dev libcli11-dev nlohmann-json3-dev \
libspdlog-dev libtomlplusplus-dev libsqlite3-dev libpq-dev prometheus-cpp-dev libutf8proc-dev libmuparser-dev libeigen3-dev libgtest-dev libgmock-dev mold clang-19 libclang-rt-19-dev valgrind xfsprogs btrfs-progs wordnet-base systemd procps curl python3 python3-dev python3-venv python3-pip"
missing=""
for p in $packages; do
  dpkg -s "$p" > /dev/null 2>&1 || missing="$missing $p"
done
if [ -n "$missing" ]; then
  echo "setup: installing$missing" >&2
  if [ "$(id -u)" != 0 ]; then
    echo "setup: these packages are missing and installing them needs root; run: apt-get install$missing" >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
fi
python=python3
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || python=/usr/bin/python3
[ -x .venv/bin/python ] || $python -m venv .venv
.venv/bin/python -m pip install -q --disable-pip-version-check -r tools/requirements.txt
if ! cmp -s tools/myl7.txt .myl7/ready; then
  rm -rf .myl7
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --target .myl7 -r tools/myl7.txt
  cp tools/myl7.txt .myl7/ready
fi
touch .venv/ready
