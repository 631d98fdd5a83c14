#!/bin/sh
# Checks the backend cuda, then times it, on a machine with an NVIDIA device and driver; see gpu.py --help.
exec python3 "$(dirname "$0")/gpu.py" "$@"
