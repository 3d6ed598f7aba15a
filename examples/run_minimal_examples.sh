#!/usr/bin/env bash
# Runs the small examples one after another and stops at the first failure: ./run_minimal_examples.sh [DEVICE] [MNIST]
# DEVICE is a device string, by default mncore2:auto. MNIST is the folder of the data set; without it mnist.py is left
# out. PYTHON names another interpreter than python3.
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
device=${1:-mncore2:auto}
data=${2:-}
gpfn3-smi list
set -eu
run() {
    echo "== $*"
    ./exec_with_env.sh "${PYTHON:-python3}" "$@" --device "$device"
}
for program in add load_codegen_dir add_trace explicit_data_transfer_api io_spec_constraints infer infer_multi train; do
    run "$program.py"
done
if [ -n "$data" ]; then run mnist.py --data "$data"; fi
