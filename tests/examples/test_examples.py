"""Every example on every device, as a user runs it."""

import os
import subprocess
import sys

import pytest

from tests.examples.conftest import EXAMPLES

TWOS = "result_on_cpu=tensor([[2., 2., 2., 2.],\n        [2., 2., 2., 2.],\n        [2., 2., 2., 2.]])\n"
EXPECTED = {
    "add.py": TWOS,
    "add_trace.py": TWOS,
    "add_automap.py": TWOS.replace("2.", "4."),
    "io_spec_constraints.py": "producer -> consumer direct-use succeeded\n",
}


def run(arguments, tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    return subprocess.run(arguments, capture_output=True, text=True, env=environment, cwd=EXAMPLES, check=False)


@pytest.mark.parametrize("device", ["emu2", "mncore2:auto", "pfvm:cpu"])
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_output(name, device, example):
    assert example(name, "--device", device) == EXPECTED[name]


@pytest.mark.parametrize("device", ["emu2", "pfvm:cpu"])
def test_programs_that_follow_each_other(device, example, tmp_path):
    assert example("add.py", "--device", device) == TWOS
    assert example("load_codegen_dir.py", "--device", device) == TWOS
    assert example("add_trace.py", "--device", device) == TWOS
    assert (tmp_path / "add_trace.pb").stat().st_size > 100


def test_as_a_user_runs_it(tmp_path):
    result = run([sys.executable, "add.py"], tmp_path)
    assert (result.returncode, result.stdout) == (0, TWOS), result.stderr
    assert result.stderr == "pfcomp: no MN-Core 2 hardware; board 0 (mnc2emu0) is emulated\n"
    assert (tmp_path / "add_two_tensors" / "model.app").exists()


def test_environment_script_from_any_folder(tmp_path):
    script = EXAMPLES / "exec_with_env.sh"
    result = run(["bash", script, "python3", "-c", "import os; print(os.environ.get('PYTHONPATH', ''))"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert str(EXAMPLES.parent) in result.stdout or result.stdout == "\n"


def test_scripts_can_be_sourced_twice_under_strict_settings(tmp_path):
    tools = EXAMPLES.parent / "tools"
    lines = [f"source {tools}/codegen_pythonpath.sh; source {tools}/codegen_preloads.sh"] * 2
    program = "\n".join(["set -eux; cd /", *lines, "echo reached"])
    result = run(["env", "-u", "PYTHONPATH", "bash", "-c", program], tmp_path)
    assert result.stdout == "reached\n", result.stderr


def test_readme_names_every_program():
    text = (EXAMPLES / "README.md").read_text()
    assert all(f"{path.name}" in text for pattern in ("*.py", "*.sh") for path in EXAMPLES.glob(pattern))
