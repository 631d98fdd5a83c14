#!/bin/sh
# `make run`: compiles the plan once (kept in the user's cache); then three processes embed a few sentences.
#
#    tools/run.sh [MODEL_DIR]
#
# The variant is cpu, made for one machine: the choice of auto depends on a measurement of the link.
# tests/readme_test.py compares the output with README, with SUF as the program.
set -eu
cd "$(dirname "$0")/.."
model=${1:-} suf=${SUF:-build/suf}
[ -n "$model" ] || model=$("$suf" model path)
plan=$(tools/plan.sh "$model")
exec "$suf" demo --model "$model" --plan "$plan" --variant cpu --file examples/sentences.txt --one-by-one
