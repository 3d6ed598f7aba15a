"""Local memory for items: random programs are replayed, every operand must still hold what was put there."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pfcomp.errors import InternalError, UnsupportedError
from pfcomp.ir.model import DType, Location, MNNode, MNValue
from pfcomp.layout import Layout
from pfcomp.plan.linear import Item, Linear, Place
from pfcomp.plan.memory import allocate
from pfcomp.plan.replay import verify_places
from pfcomp.plan.tasks import SPILL


def add(linear: Linear, name: str, words: int, location: Location | None = None, dram: str | None = None) -> str:
    layout = Layout.parse(f"(({words}:1); B@[PE,MAB,L1B,L2B])")
    linear.values[name] = MNValue(name, (words,), DType.LONG, layout, Location.LM0)
    linear.places[name] = Place(name, words, location, dram)
    linear.home[name] = (name, 0)
    return name


def random_program(seed: int, budget: int) -> Linear:
    """Loads, renamings and computations with results of up to a quarter of one memory."""
    rng = random.Random(seed)
    linear, alive = Linear(), []
    for k in range(40):
        words = 4 * rng.randint(1, budget // 16)
        pinned = Location.LM0 if rng.random() < 0.2 else None
        if rng.random() < 0.3 or not alive:
            name = add(linear, f"x{k}@LM", words, pinned, dram=f"x{k}")
            linear.items.append(Item(MNNode(f"load{k}", "Download", (f"x{k}",), (name,))))
        else:
            operands = tuple(rng.sample(alive, min(len(alive), rng.randint(1, 3))))
            name = add(linear, f"v{k}@LM", words, pinned)
            scratch = (add(linear, f"s{k}", 4, None),) if rng.random() < 0.3 else ()
            same = [o for o in operands if linear.places[linear.home[o][0]].words == words]
            reuse = tuple((o, name) for o in same)
            linear.items.append(Item(MNNode(f"op{k}", "Op", operands, (name,)), scratch=scratch, reuse=reuse))
        alive.append(name)
        if rng.random() < 0.2 and linear.places[name].words > 4:
            view = f"view{k}@LM"
            linear.values[view] = linear.values[name]
            linear.home[view] = (name, 4)
            alive.append(view)
    return linear


@pytest.mark.parametrize("seed", range(40))
def test_every_operand_still_holds_its_value(seed: int) -> None:
    budget = 256
    linear = random_program(seed, budget)
    placement = allocate(linear, budget)
    verify_places(linear, placement, budget)
    done = [t.node.name for t in placement.tasks if t.node.op == "Op"]
    assert done == [i.node.name for i in linear.items if i.node.op == "Op"]


@pytest.mark.parametrize("seed", range(10))
def test_the_replay_finds_values_that_meet(seed: int) -> None:
    linear = random_program(seed, 256)
    placement = allocate(linear, 256)
    homes = {name: linear.home[name.partition("#")[0]][0] for name in placement.values}
    operands = [task.node.inputs for task in placement.tasks if task.node.op == "Op"]
    first, second = next(o[:2] for o in operands if len({homes[n] for n in o[:2]}) == 2)
    other = placement.values[second]
    moved = replace(placement.values[first], location=other.location, address=other.address)
    placement.values[first] = moved
    with pytest.raises(InternalError, match="PF0405"):
        verify_places(linear, placement, 256)


def placed_in_order(budget: int, words: int = 8, *, renamed: bool = False, overwrites: bool = False) -> bool:
    """True if the result of an operator takes the place of its first operand, which may be the second one too."""
    linear = Linear()
    x, y, z = add(linear, "x@LM", words, dram="x"), add(linear, "y@LM", words, dram="y"), add(linear, "z@LM", words)
    if renamed:
        linear.home[y] = (x, 0)
    loaded = [x] if renamed else [x, y]
    linear.items += [Item(MNNode(f"load {n}", "Download", (n[0],), (n,))) for n in loaded]
    pair = ((x, z),)
    linear.items.append(Item(MNNode("op", "Op", (x, y), (z,)), reuse=pair, overwrites=pair if overwrites else ()))
    values = allocate(linear, budget).values
    first, result = ((values[n].location, values[n].address) for n in (x, z))
    return first == result


TIGHT, WIDE = 24, 256


def test_a_result_takes_an_operands_place_unless_another_operand_lies_there() -> None:
    assert placed_in_order(TIGHT)
    assert not placed_in_order(TIGHT, renamed=True)


def test_several_vectors_go_to_the_other_memory_where_there_is_room() -> None:
    assert not placed_in_order(WIDE)
    assert placed_in_order(WIDE, words=4)


def test_a_result_that_leaves_elements_as_they_are_takes_the_place_anyway() -> None:
    assert placed_in_order(WIDE, overwrites=True)
    assert not placed_in_order(WIDE, renamed=True, overwrites=True)


def test_a_program_that_needs_no_spill_has_none() -> None:
    placement = allocate(random_program(3, 64), 2048)
    assert not placement.spilled


def test_what_is_in_dram_is_dropped_not_stored() -> None:
    tasks = allocate(random_program(5, 256), 256).tasks
    stored = [t.node.outputs[0] for t in tasks if t.node.op == "Upload"]
    assert stored
    assert all(name.endswith(SPILL) and name.startswith("v") for name in stored)
    assert len(stored) == len(set(stored))


def test_a_task_that_is_too_large_is_refused() -> None:
    linear = Linear()
    add(linear, "x@LM", 300, dram="x")
    linear.items.append(Item(MNNode("load", "Download", ("x",), ("x@LM",), source="f.py:3")))
    with pytest.raises(UnsupportedError, match=r"PF0422: f\.py:3: Download 'load' needs 300"):
        allocate(linear, 256)
