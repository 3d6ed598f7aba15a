"""Running hand-written apps on the emulator: relocation, uploads, in-place use, aliases, state, errors."""

from dataclasses import replace

import numpy as np
import pytest

from pfcomp.errors import DeviceError, UsageError
from pfcomp.runtime.board_function import LINKED_PROGRAMS, BoardFunction
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.engine import Engine, engine_of
from tests.runtime.apps import LAYOUT, OTHER_LAYOUT, add_app, tensor

X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = np.full((3, 4), 100, np.float32)


@pytest.fixture(scope="module")
def shared_engine():
    return Engine(parse_device("emu2"))


@pytest.fixture
def engine(shared_engine):
    shared_engine.queue.drain()
    shared_engine.counters.clear()
    return shared_engine


def call(function, **arrays):
    return function.call({name: function.bind(name, array) for name, array in arrays.items()}, {})


def test_add(engine):
    function = BoardFunction(engine, add_app(), "add")
    assert np.array_equal(call(function, x=X, y=Y)["out"].read(), X + Y)
    assert list(function.inputs) == ["x", "y"]
    assert function.outputs["out"].layout == LAYOUT
    assert function.figures["steps"] > 0


def test_results_of_successive_calls_do_not_alias(engine):
    function = BoardFunction(engine, add_app(), "add")
    results = [call(function, x=X * n, y=Y)["out"] for n in range(4)]
    assert len({result.buffer.base for result in results}) == 4
    for n, result in enumerate(results):
        assert np.array_equal(result.read(), X * n + Y)


def test_dropped_results_give_their_memory_back_and_programs_are_linked_once(engine):
    function = BoardFunction(engine, add_app(), "add")
    used = engine.allocator.used
    for _ in range(30):
        call(function, x=X, y=Y)["out"].read()
    assert engine.counters["links"] <= 4
    assert engine.counters["runs"] == 30
    assert engine.allocator.used - used <= 64 * (2 + 2)  # two inputs, and outputs that the queue still holds


def test_linked_programs_are_bounded(engine):
    function = BoardFunction(engine, add_app(), "add")
    kept = [call(function, x=X, y=Y)["out"] for _ in range(LINKED_PROGRAMS + 3)]
    assert all(np.array_equal(result.read(), X + Y) for result in kept)
    assert len(function._linked) == LINKED_PROGRAMS


def test_device_tensor_with_the_same_layout_is_used_in_place(engine):
    producer = BoardFunction(engine, add_app(output="sum"), "producer")
    consumer = BoardFunction(engine, add_app(), "consumer")
    total = call(producer, x=X, y=Y)["sum"]
    engine.counters.clear()
    result = call(consumer, x=total, y=total)["out"]
    assert engine.counters["in_place"] == 2
    assert engine.counters["conversions"] == engine.counters["uploads"] == engine.counters["downloads"] == 0
    assert np.array_equal(result.read(), 2 * (X + Y))
    assert np.array_equal(total.read(), X + Y)


def test_device_tensor_with_another_layout_is_converted(engine):
    producer = BoardFunction(engine, add_app(layout=OTHER_LAYOUT), "producer")
    consumer = BoardFunction(engine, add_app(), "consumer")
    result = call(producer, x=X, y=Y)["out"]
    assert not producer.outputs["out"].is_memcopyable_to(consumer.inputs["x"])
    assert np.array_equal(call(consumer, x=result, y=Y)["out"].read(), X + 2 * Y)
    assert engine.counters["conversions"] == 1
    assert engine.counters["in_place"] == 0


def test_tensor_of_another_device_is_converted(engine):
    other = BoardFunction(Engine(parse_device("emu2")), add_app(), "other")
    function = BoardFunction(engine, add_app(), "add")
    assert np.array_equal(call(function, x=call(other, x=X, y=Y)["out"], y=Y)["out"].read(), X + 2 * Y)


def test_new_values_are_inputs_on_the_device(engine):
    function = BoardFunction(engine, add_app(), "add")
    values = {name: function.new_value(name) for name in function.inputs}
    for name, value in values.items():
        value.write({"x": X, "y": Y}[name])
    assert np.array_equal(call(function, **values)["out"].read(), X + Y)


def test_constants_are_uploaded_once(engine):
    function = BoardFunction(engine, add_app(("x",), constant=("c", Y)), "add")
    for n in range(3):
        assert np.array_equal(call(function, x=X * n)["out"].read(), X * n + Y)
    assert engine.counters["uploads"] == 3


def test_state_is_updated_in_place(engine):
    function = BoardFunction(engine, add_app(("x",), state=("s",), updates="s"), "accumulate")
    state = {"s": function.new_value("s")}
    state["s"].write(Y)
    before = state["s"].version
    for _ in range(3):
        assert function.call({"x": function.bind("x", X)}, state) == {}
    assert function.mutated == {"s"}
    assert state["s"].version > before
    assert np.array_equal(state["s"].read(), Y + 3 * X)


def test_state_that_is_updated_by_an_output_takes_its_buffer_over(engine):
    function = BoardFunction(engine, add_app(("x",), "s:out", state=("s",)), "accumulate")
    assert (function.outputs, function.mutated) == ({}, {"s"})
    state = {"s": function.new_value("s")}
    state["s"].write(Y)
    for _ in range(3):
        assert function.call({"x": function.bind("x", X)}, state) == {}
    assert state["s"].spec.name == "s"
    assert np.array_equal(state["s"].read(), Y + 3 * X)
    assert engine.counters["links"] <= 3


@pytest.mark.parametrize("out", [tensor("same", 0), tensor("x", 0), tensor("alias", 256, alias_base="x")])
def test_output_that_is_an_input_is_a_copy(engine, out):
    app = add_app(("x",), state=("s",), updates="s")
    function = BoardFunction(engine, replace(app, outputs=(out,)), "f")
    state = {"s": function.new_value("s")}
    state["s"].write(Y)
    results = [function.call({"x": function.bind("x", X * n)}, state)[out.name] for n in range(3)]
    assert all(np.array_equal(result.read(), X * n) for n, result in enumerate(results))


def test_state_without_contents(engine):
    function = BoardFunction(engine, add_app(("x",), state=("s",), updates="s"), "accumulate")
    with pytest.raises(UsageError, match="PF0609"):
        function.initial("s")
    known = BoardFunction(engine, function.app, "accumulate", lambda: {"s": Y})
    assert known.initial("s") is Y


def test_error_of_a_run_reaches_all_readers_also_through_later_runs(engine, monkeypatch):
    function = BoardFunction(engine, add_app(), "broken add")
    with monkeypatch.context() as patch:
        patch.setattr(engine.machine, "run", lambda executable: 1 / 0)
        result = call(function, x=X, y=Y)["out"]
        engine.queue.drain()
    later = call(function, x=result, y=Y)["out"]
    for value in (result, later, result):
        with pytest.raises(DeviceError, match="PF0607: broken add: ZeroDivisionError"):
            value.read()
    assert np.array_equal(call(function, x=X, y=Y)["out"].read(), X + Y)


def test_board_is_held_only_while_running(capfd):
    engine = engine_of(parse_device("mncore2:0"))
    function = BoardFunction(engine, add_app(), "add")
    assert engine_of(parse_device("mncore2:0")) is engine
    assert np.array_equal(call(function, x=X, y=Y)["out"].read(), X + Y)
