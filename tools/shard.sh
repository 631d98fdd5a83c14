#!/bin/sh
# shard.sh PROGRAM ARGS..: runs one shard of eight of a sweep and prints which. SHARD=1..8 chooses it; SHARD=all runs
# the whole sweep. Otherwise the number of commits chooses, so that eight commits in a row run every shard. In a shallow
# clone, the commit's hash chooses. The program reads SHARD (absent: all); GoogleTest gets its own variables.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${SHARD:-}" ]; then
  if [ "$(git rev-parse --is-shallow-repository 2> /dev/null)" = false ]; then
    SHARD=$(($(git rev-list --count HEAD) % 8 + 1)) why="by the number of commits"
  else
    SHARD=$((0x$(git rev-parse HEAD 2> /dev/null | cut -c1-7 | grep . || echo 0) % 8 + 1)) why="by the commit's hash"
  fi
fi
case $SHARD in
  all)
    echo "shard: all of 8"
    unset SHARD ;;
  [1-8])
    echo "shard: $SHARD of 8${why:+ $why}; SHARD=all runs the whole sweep"
    export SHARD GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX=$((SHARD - 1)) ;;
  *)
    echo "shard: SHARD is '$SHARD'; use a number from 1 to 8, or all" >&2
    exit 2 ;;
esac
exec "$@"
