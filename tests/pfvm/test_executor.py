"""PFVM: inputs, states, every value, errors."""

import numpy as np
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from pfcomp.errors import DeviceError, SourceError
from pfcomp.pfvm import PFVM
from pfcomp.pfvm.session import open_session, run_session


def counter():
    """`out = x + count`, `count:out = count + 1`, count starts with 5."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))
    count = helper.make_tensor_value_info("count", TensorProto.FLOAT, ())
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, (2,))
    new = helper.make_tensor_value_info("count:out", TensorProto.FLOAT, ())
    nodes = [helper.make_node("Neg", ["x"], ["m"]), helper.make_node("Sub", ["count", "m"], ["out"])]
    nodes.append(helper.make_node("Add", ["count", "one"], ["count:out"]))
    initial = numpy_helper.from_array(np.float32(5), "count")
    one = numpy_helper.from_array(np.float32(1), "one")
    graph = helper.make_graph(nodes, "g", [x, count], [out, new], [initial, one])
    model = ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))
    next(iter(model.graph)).outputs[0].dtype = ir.DataType.FLOAT
    return model


def test_state_is_kept_between_calls():
    vm = PFVM(counter())
    assert list(vm.input_specs) == ["x"]
    assert list(vm.output_specs) == ["out"]
    assert vm.run({"x": np.zeros(2)})["out"].tolist() == [5, 5]
    assert vm.run({"x": np.ones(2)})["out"].tolist() == [7, 7]
    assert float(vm.state["count"]) == 7


def test_inputs_are_converted_and_reshaped_and_surplus_ignored():
    out = PFVM(counter()).run({"x": np.ones((2, 1), dtype=np.int64), "other": 1})["out"]
    assert out.dtype == np.float32
    assert out.tolist() == [6, 6]


def test_every_value_is_observable_and_states_stay():
    vm = PFVM(counter())
    values = vm.run_all_values({"x": np.ones(2)})
    assert values["m"].tolist() == [-1, -1]
    assert float(vm.state["count"]) == 5


def test_missing_and_misfit_inputs():
    vm = PFVM(counter())
    with pytest.raises(SourceError, match="PF0317: input 'x' is missing; inputs: x"):
        vm.run({})
    with pytest.raises(SourceError, match=r"shape '\[2\]' is invalid for input 'x' of size 3"):
        vm.run({"x": np.ones(3)})


def test_devices():
    with pytest.raises(DeviceError, match="PF0318"):
        PFVM(counter(), "cuda:0").run({"x": np.ones(2)})
    with pytest.raises(DeviceError, match="no reference device"):
        PFVM(counter(), "tpu").run({"x": np.ones(2)})


def test_models_that_onnxruntime_refuses():
    with pytest.raises(DeviceError, match="does not load"):
        open_session(b"nonsense")


def test_a_failing_kernel_is_a_device_error():
    index = helper.make_tensor_value_info("i", TensorProto.INT64, (1,))
    out = helper.make_tensor_value_info("o", TensorProto.FLOAT, (1,))
    data = numpy_helper.from_array(np.zeros(2, np.float32), "d")
    graph = helper.make_graph([helper.make_node("Gather", ["d", "i"], ["o"])], "g", [index], [out], [data])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    with pytest.raises(DeviceError, match="PF0318: onnxruntime failed"):
        run_session(open_session(model.SerializeToString()), {"i": np.asarray([9])})
