"""Calling compiled functions: rules and literal messages of mlsdk.md 5, on every device."""

import numpy as np
import pytest
import torch

from mlsdk import CompiledFunction, Context, MNDevice, TensorProxy
from pfcomp.errors import PfcompError
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.engine import engine_of

DEVICES = ["emu2", "mncore2:auto", "mncore2:0", "pfvm:cpu"]
ONES = torch.ones(3, 4)
RAMP = torch.arange(12.0).reshape(3, 4)
OPTIONS = {"float_dtype": "float"}


def add(inputs):
    return {"out": inputs["x"] + inputs["y"]}


def compile_on(device, folder, function=add, sample=None, **keywords):
    context = Context(MNDevice(device))
    return context.compile(function, sample or {"x": ONES, "y": ONES}, folder, options=OPTIONS, **keywords)


@pytest.fixture(scope="module", params=DEVICES)
def compiled(request, tmp_path_factory):
    return compile_on(request.param, tmp_path_factory.mktemp("add") / "deep" / "er")


def test_result(compiled):
    out = compiled({"x": RAMP, "y": ONES})["out"]
    assert torch.equal(out.cpu().cpu(), RAMP + 1)
    assert isinstance(out, TensorProxy) == (compiled.context.device.device_name != "pfvm:cpu")
    assert isinstance(compiled, CompiledFunction)


def test_missing_input(compiled):
    with pytest.raises(AssertionError) as caught:
        compiled({"x": ONES})
    assert str(caught.value) == "y is not in inputs."


def test_wrong_size(compiled):
    with pytest.raises(RuntimeError) as caught:
        compiled({"x": ONES, "y": torch.ones(3, 3)})
    assert str(caught.value) == "shape '[3, 4]' is invalid for input of size 9"


def test_not_a_tensor(compiled):
    for value in (None, "text", object()):
        with pytest.raises(PfcompError, match="PF0610: input 'y'"):
            compiled({"x": ONES, "y": value})


def test_what_is_accepted(compiled):
    wide = torch.arange(24.0).reshape(3, 8)
    for y in (
        torch.ones(12),
        torch.ones(4, 3),
        torch.ones(3, 4, dtype=torch.float64),
        torch.ones(3, 4, dtype=torch.int64),
        torch.ones(3, 4, dtype=torch.bfloat16),
        torch.ones(3, 4, requires_grad=True),
        torch.ones(1, 1).expand(3, 4),
        np.ones((3, 4), np.float32),
    ):
        assert torch.equal(compiled({"x": RAMP, "y": y, "unused": None, "other": (1, 2)})["out"].cpu(), RAMP + 1)
    assert torch.equal(compiled({"x": wide[:, ::2], "y": RAMP.reshape(4, 3).T})["out"].cpu(),
                       wide[:, ::2] + RAMP.reshape(4, 3).T)  # fmt: skip


def test_results_are_independent(compiled):
    first = compiled({"x": RAMP, "y": ONES})
    second = compiled({"x": RAMP, "y": RAMP})
    for key in first:
        first[key] = first[key].cpu()
    assert torch.equal(first["out"], RAMP + 1)
    assert torch.equal(second["out"].cpu(), 2 * RAMP)


def test_inputs_may_change_after_the_call(compiled):
    x = RAMP.clone()
    out = compiled({"x": x, "y": ONES})["out"]
    x.zero_()
    assert torch.equal(out.cpu(), RAMP + 1)


def test_result_as_input_of_the_same_function(compiled):
    out = compiled({"x": RAMP, "y": ONES})["out"]
    for _ in range(3):
        out = compiled({"x": out, "y": ONES})["out"]
    assert torch.equal(out.cpu(), RAMP + 4)


def test_input_proxies(compiled):
    proxies = compiled.allocate_input_proxy()
    assert list(proxies) == ["x", "y"]
    assert all(isinstance(proxy, TensorProxy) for proxy in proxies.values())
    proxies["x"].load_from(RAMP)
    proxies["y"].load_from(ONES, clone=False)
    assert torch.equal(compiled(proxies)["out"].cpu(), RAMP + 1)
    proxies.update(y=compiled(proxies)["out"])
    assert torch.equal(compiled(proxies)["out"].cpu(), 2 * RAMP + 1)


def test_specs(compiled):
    specs = {**compiled.input_specs, **compiled.output_specs}
    assert list(specs) == ["x", "y", "out"]
    assert all(spec.shape == (3, 4) and spec.torch_dtype == "Float" for spec in specs.values())
    assert specs["out"].is_memcopyable_to(specs["x"])


def test_loading_the_folder_again(compiled):
    again = Context(MNDevice(compiled.context.device.device_name)).load_codegen_dir(str(compiled.codegen_dir))
    assert torch.equal(again({"x": RAMP, "y": ONES})["out"].cpu(), RAMP + 1)


def test_folder_without_a_program(tmp_path):
    for device, missing in [("emu2", "model.app"), ("pfvm:cpu", "model.onnx.zst")]:
        with pytest.raises(PfcompError, match=f"PF0613.*has no {missing}"):
            Context(MNDevice(device)).load_codegen_dir(tmp_path).input_specs  # noqa: B018
        with pytest.raises(PfcompError, match=r"PF0613.*does not exist"):
            Context(MNDevice(device)).load_codegen_dir(tmp_path / "none")({})


def test_output_that_is_an_input(tmp_path):
    def function(inputs):
        return {"out": inputs["x"], "double": inputs["x"] * 2}

    for device in ("emu2", "pfvm:cpu"):
        compiled = compile_on(device, tmp_path / device.replace(":", "-"), function, {"x": ONES})
        results = [compiled({"x": RAMP * n}) for n in range(3)]
        for n, result in enumerate(results):
            assert torch.equal(result["out"].cpu(), RAMP * n)
            assert torch.equal(result["double"].cpu(), RAMP * 2 * n)


def test_direct_use_converts_nothing(tmp_path):
    counters = engine_of(parse_device("emu2")).counters
    context = Context(MNDevice("emu2"))
    sample = torch.ones(32, 64)
    consumer = context.compile(lambda i: {"out": i["value"] + 1}, {"value": sample}, tmp_path / "c", options=OPTIONS)
    wanted = consumer.input_specs["value"]
    producer = context.compile(
        lambda i: {"doubled": i["x"] * 2},
        {"x": sample},
        tmp_path / "p",
        options=OPTIONS,
        training=False,
        io_spec_constraints={"doubled": wanted},
    )
    assert producer.output_specs["doubled"].is_memcopyable_to(wanted)
    doubled = producer({"x": sample})["doubled"]
    counters.clear()
    result = consumer({"value": doubled})["out"]
    assert counters["in_place"] == 1
    assert counters["conversions"] == counters["uploads"] == counters["downloads"] == 0
    assert torch.equal(result.cpu(), torch.full((32, 64), 3.0))


def test_constraint_to_a_layout_that_the_planner_would_not_choose(tmp_path):
    sample = torch.arange(64.0 * 64).reshape(64, 64)
    context = Context(MNDevice("emu2"))
    first = context.compile(lambda i: {"out": i["x"] + 1}, {"x": sample}, tmp_path / "first", options=OPTIONS)
    flat = context.compile(
        lambda i: {"out": i["x"] + 1}, {"x": sample.reshape(1, 4096)}, tmp_path / "flat", options=OPTIONS
    )
    assert not first.output_specs["out"].is_memcopyable_to(flat.input_specs["x"])
    assert torch.equal(flat({"x": first({"x": sample})["out"]})["out"].cpu().reshape(64, 64), sample + 2)


def test_all_keywords(tmp_path):
    from mlsdk import CacheOptions

    compiled = compile_on(
        "emu2",
        tmp_path / "out",
        cache_options=CacheOptions(str(tmp_path / "cache")),
        num_compiler_threads=-1,
        quiet=True,
        export_kwargs={"use_fx2onnx": True},
        optimizers=None,
        training=False,
        io_spec_constraints=None,
        unknown_keyword=1,
    )
    assert torch.equal(compiled({"x": RAMP, "y": ONES})["out"].cpu(), RAMP + 1)


def test_constraint_that_cannot_be_met_is_a_warning(tmp_path):
    context = Context(MNDevice("emu2"))
    sample = {"x": torch.ones(64, 64)}
    scalar = context.compile(lambda i: {"out": i["x"] + 1}, {"x": torch.ones(())}, tmp_path / "scalar", options=OPTIONS)
    constraints = {"out": scalar.input_specs["x"]}
    with pytest.warns(UserWarning, match="io_spec_constraints have no effect: PF0406"):
        compiled = compile_on("emu2", tmp_path / "c", lambda i: {"out": i["x"] + 1}, sample,
                              io_spec_constraints=constraints)  # fmt: skip
    assert not compiled.output_specs["out"].is_memcopyable_to(constraints["out"])
    assert torch.equal(compiled(sample)["out"].cpu(), torch.full((64, 64), 2.0))


def test_proxies_as_sample(tmp_path):
    first = compile_on("emu2", tmp_path / "first")
    out = first({"x": ONES, "y": ONES})
    second = first.context.compile(lambda i: {"y": i["out"] * 2}, out, tmp_path / "second", options=OPTIONS)
    assert torch.equal(second(out)["y"].cpu(), torch.full((3, 4), 4.0))


def test_models_with_foreign_element_types(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    values = [helper.make_tensor_value_info(name, TensorProto.UINT16, [2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "model.onnx")
    with pytest.raises(PfcompError, match="PF0622: x has elements of type UINT16"):
        Context(MNDevice("pfvm:cpu")).load_codegen_dir(tmp_path).input_specs  # noqa: B018


def test_provider_that_is_not_here(compiled):
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("there is a GPU here")
    function = Context(MNDevice("pfvm:cuda:0")).load_codegen_dir(compiled.codegen_dir)
    with pytest.raises(PfcompError, match=r"PF0318.*use pfvm:cpu"):
        function({"x": ONES, "y": ONES})


def test_no_parameter_that_older_programs_look_for():
    import inspect

    assert list(inspect.signature(Context.compile).parameters)[1:4] == ["function", "inputs", "codegen_dir"]
    assert "codegen_base_dir" not in inspect.signature(Context.compile).parameters


def test_compiling_into_a_used_folder(tmp_path):
    for factor in (2, 3):
        compiled = compile_on("emu2", tmp_path, lambda i, f=factor: {"out": i["x"] * f}, {"x": ONES})
        assert torch.equal(compiled({"x": RAMP})["out"].cpu(), RAMP * factor)
