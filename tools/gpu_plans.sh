#!/bin/sh
# gpu_plans.sh BUILD PLAN.json:TOKENS ..: what a device would be given for these plans, on a machine without one: rooms of values that
# live at one time never overlap, the kernels of a step are counted, and the text of every group of every role compiles for
# compute capability 8.0 and 9.0 (two to ten minutes a plan of BERT-base's size, with 2 cores). It says which groups have local memory.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { echo "usage: tools/gpu_plans.sh BUILD PLAN.json:TOKENS .."; exit 2; }
build=$1
shift
SUF_PLANS="$*" "$build/tests/double_test" --gtest_filter='DevicePlan.*'
python3 tests/kernels_test.py "$build/suf" . "$@"
