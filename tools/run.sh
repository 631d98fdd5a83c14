#!/bin/sh
# `make run`: compiles the plan once (kept in the user's cache); then three processes embed a few sentences.
#
#    tools/run.sh [MODEL_DIR]
set -eu
cd "$(dirname "$0")/.."
model=${1:-}
[ -n "$model" ] || model=$(build/suf model path)
plan=$(tools/plan.sh "$model")
exec build/suf demo --model "$model" --plan "$plan" --file examples/sentences.txt --one-by-one
