#!/bin/sh
# One call on a machine with a driver and an NVIDIA device: checks, then times; see gpu.py --help.
exec python3 "$(dirname "$0")/gpu.py" "$@"
