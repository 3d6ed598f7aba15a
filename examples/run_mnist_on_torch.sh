#!/usr/bin/env bash
# Trains and evaluates the MNIST model in plain PyTorch: ./run_mnist_on_torch.sh [--data FOLDER] [--outdir FOLDER] ...
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
./exec_with_env.sh "${PYTHON:-python3}" mnist_train.py "$@"
./exec_with_env.sh "${PYTHON:-python3}" mnist_infer.py "$@"
