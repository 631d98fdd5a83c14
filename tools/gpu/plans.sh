#!/bin/sh
# plans.sh BUILD PLAN.json:TOKENS .. checks the device code of these plans on a machine without a device. Buffers of
# values that live at the same time never overlap. The kernels of a step are counted. The text of every group of every
# role compiles for compute capability 8.0 and 9.0. A plan of BERT-base's size takes two to ten minutes with 2 cores.
# The output names groups that use local memory.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { echo "usage: tools/gpu/plans.sh BUILD PLAN.json:TOKENS .."; exit 2; }
build=$1
shift
SUF_PLANS="$*" "$build/tests/double_test" --gtest_filter='DevicePlan.*'
python3 tests/kernels_test.py "$build/suf" . "$@"
