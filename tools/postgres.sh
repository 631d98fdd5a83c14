#!/bin/sh
# Installs PostgreSQL 15, whose server the test `postgres` starts in a folder of its own. It makes no server of the
# system: Debian's package would start one.
set -eu
[ -x /usr/lib/postgresql/15/bin/initdb ] && exit 0
echo "setup: installing postgresql-15" >&2
if [ "$(id -u)" != 0 ]; then
  echo "setup: installing PostgreSQL needs root; run: apt-get install postgresql-15" >&2
  exit 1
fi
mkdir -p /etc/postgresql-common/createcluster.d
echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.d/suf.conf
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-15 > /dev/null
