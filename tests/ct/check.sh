#!/bin/sh
# check.sh CT_TEST: valgrind must report nothing. check.sh CT_TEST --planted LEAK: it must report the leak.
memcheck() {
  valgrind -q --error-exitcode=9 --read-inline-info=no --suppressions="$(dirname "$0")/valgrind.supp" "$@"
}
if [ $# = 1 ]; then
  memcheck "$1"
  exit
fi
report=$(memcheck "$@" 2>&1)
status=$?
echo "$report" | head -6
[ $status = 9 ] || { echo "check.sh: valgrind ended with $status; a report is 9" >&2; exit 1; }
