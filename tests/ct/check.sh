#!/bin/sh
# check.sh CT_TEST: no report. check.sh CT_TEST --planted LEAK: the leak is reported.
here=$(dirname "$0")
if [ $# = 1 ]; then
  exec valgrind -q --error-exitcode=9 --suppressions="$here/valgrind.supp" "$1"
fi
report=$(valgrind -q --error-exitcode=9 --suppressions="$here/valgrind.supp" "$@" 2>&1)
status=$?
echo "$report" | head -20
[ $status = 9 ] || { echo "check.sh: valgrind ended with $status; a report is 9" >&2; exit 1; }
