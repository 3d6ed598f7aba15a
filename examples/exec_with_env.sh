#!/usr/bin/env bash
# Runs a command with the environment of this repository: ./exec_with_env.sh python3 add.py
# With an installed pfcomp (pip install .) the command works without it.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../tools/codegen_pythonpath.sh"
exec "$@"
