"""Examples with models: results against the reference values of mlsdk.md 6.1, on every device."""

import os
import re
import subprocess
import sys

import pytest

from tests.examples.conftest import EXAMPLES

ROW = [-0.31734610, 0.62805104, -0.50042552, -1.21413648]
WITHOUT_BIAS = [-0.5150, 0.3280, -0.1615, -0.9964]
EXPECTED = {  # all numbers that are printed in tensors
    "infer.py": ROW * 4,
    "explicit_data_transfer_api.py": ROW * 4 + WITHOUT_BIAS * 4,
    "infer_multi.py": [4.0] * 16 + [8.0] * 16,
    "train.py": [1.0, -1.823696],
}
TOLERANCE = {"pfvm:cpu": 1e-4, "emu2": 1e-2, "mncore2:auto": 1e-2}  # half operands have nine bits


def numbers(text):
    """The numbers between brackets."""
    return [float(each) for row in re.findall(r"\[([-\d., e]+)\]", text) for each in row.split(",")]


@pytest.mark.parametrize("device", sorted(TOLERANCE))
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_values(name, device, example):
    found = numbers(example(name, "--device", device))
    assert found == pytest.approx(EXPECTED[name], abs=TOLERANCE[device])


@pytest.mark.slow
def test_minimal_examples(tmp_path):
    command = ["bash", str(EXAMPLES / "run_minimal_examples.sh"), "mncore2:auto"]
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHON": sys.executable}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", check=False)
    assert result.returncode == 0, result.stderr
    programs = re.findall(r"^== (\w+)\.py", result.stdout, re.MULTILINE)
    assert programs == [
        *("add", "load_codegen_dir", "add_trace", "explicit_data_transfer_api"),
        *("io_spec_constraints", "infer", "infer_multi", "train"),
    ]
