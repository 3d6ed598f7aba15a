"""What must not go wrong: errors of the device, Ctrl-C, fork, the end of the interpreter, a replaced folder."""

import os
import signal
import subprocess
import sys

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name, trace_event, trace_scope
from pfcomp.errors import DeviceError
from pfcomp.runtime.boards import acquired
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.engine import engine_of
from tests.runtime.test_tracing import fields

ONES = torch.ones(3, 4)
OPTIONS = {"float_dtype": "float"}
BROKEN = "PF0607: accumulate: ZeroDivisionError"

OPEN = """
import os, signal, sys, torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell inherit that it is ignored
from mlsdk import Context, MNDevice
add = Context(MNDevice("mncore2:0")).load_codegen_dir(sys.argv[1])
ones = torch.ones(3, 4)
inputs = {"x": ones, "y": ones}
"""
LOOP = """
print("started", flush=True)
while True:
    assert torch.equal(add(inputs)["out"].cpu(), ones * 2)
"""
LEAVE = """
results = [add(inputs) for _ in range(20)]
print("end", flush=True)
"""
FORK = """
before = add(inputs)["out"]
child = os.fork()
good = torch.equal(before.cpu(), ones * 2) if child else True
good &= all(torch.equal(add(inputs)["out"].cpu(), ones * 2) for _ in range(5))
if child == 0:
    os._exit(0 if good else 1)
assert good
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("add")
    sample = {"x": ONES, "y": ONES}
    Context(MNDevice("emu2")).compile(lambda i: {"out": i["x"] + i["y"]}, sample, path, options=OPTIONS)
    return path


def start(program, folder):
    command = [sys.executable, "-c", OPEN + program, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)


def test_ctrl_c_ends_a_program_and_frees_the_board(folder):
    with start(LOOP, folder) as process:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT), err
    assert err.rstrip().endswith("KeyboardInterrupt")
    with acquired((0,), seconds=0):
        pass


@pytest.mark.parametrize("program", [LEAVE, FORK])
def test_programs_that_fork_or_leave_work_behind_end_well(program, folder):
    process = start(program, folder)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Error" not in err


def test_errors_of_the_device_name_the_function_wherever_they_appear(tmp_path, monkeypatch):
    tensor = torch.zeros(3, 4)
    set_tensor_name(tensor, "total")
    context = Context(MNDevice("emu2"))
    context.register_buffer(tensor)

    def accumulate(inputs):
        tensor.add_(inputs["x"])
        return {"out": inputs["x"] * 2}

    compiled = context.compile(accumulate, {"x": ONES}, tmp_path, options=OPTIONS)
    compiled({"x": ONES})
    with monkeypatch.context() as patch:
        patch.setattr(engine_of(parse_device("emu2")).machine, "run", lambda executable: 1 / 0)
        out = compiled({"x": ONES})["out"]
        with pytest.raises(DeviceError, match=BROKEN):
            out.cpu()
        with pytest.raises(DeviceError, match=BROKEN):
            out.sum()
        with pytest.raises(DeviceError, match=BROKEN):
            context.synchronize()
        later = compiled({"x": out})["out"]
        with pytest.raises(DeviceError, match=BROKEN):
            later.item()
    with pytest.raises(DeviceError, match=BROKEN):
        Context.switch_context(Context(MNDevice("emu2")))  # the total cannot be saved
    Context.switch_context(Context(MNDevice("emu2")))
    context.get_registered_value_proxy(tensor).load_from(ONES)
    assert torch.equal(compiled({"x": ONES})["out"].cpu(), ONES * 2)
    context.synchronize()
    assert torch.equal(tensor, ONES * 2)


def test_a_folder_that_is_compiled_anew_does_not_disturb_running_functions(tmp_path):
    context = Context(MNDevice("emu2"))
    first, second = (
        context.compile(lambda i, k=k: {"out": i["x"] * k}, {"x": ONES}, tmp_path, options=OPTIONS) for k in (2, 3)
    )
    assert torch.equal(second({"x": ONES})["out"].cpu(), ONES * 3)
    assert torch.equal(first({"x": ONES})["out"].cpu(), ONES * 2)


def test_rows_of_a_trace(folder, tmp_path):
    add = Context(MNDevice("emu2")).load_codegen_dir(folder)
    with trace_scope(str(tmp_path / "trace.pb")), trace_event("step"):
        add({"x": ONES, "y": ONES})
    packets = [dict(fields(body)) for number, body in fields((tmp_path / "trace.pb").read_bytes()) if number == 1]
    rows = {dict(fields(p[60]))[1]: dict(fields(p[60]))[2].decode() for p in packets if 60 in p}
    events = [dict(fields(p[11])) for p in packets if 11 in p]
    found = {(rows[event[11]], event[23].decode()) for event in events if 23 in event}
    assert {("host", "step"), ("host", f"call {folder.name}"), ("queue emu2", folder.name), ("emu2", "run")} <= found
