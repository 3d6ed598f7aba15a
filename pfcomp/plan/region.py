"""From a component to a region: moves between DRAM and LM, time slices, memories and addresses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from pfcomp.ir.model import MNNode
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.plan import address, location
from pfcomp.plan.axes import AxisTable, layout_of
from pfcomp.plan.blocks import Block, cuts, is_cut, region_extents
from pfcomp.plan.model import Region
from pfcomp.plan.tasks import LOCAL
from pfcomp.plan.turns import Turn, turns

Shapes = dict[str, tuple[int, ...]]

VECTOR = 4
"""Addresses that one step processes: sizes in LM are rounded up to it so that a last, partial vector has room."""

GATHERED = 16
"""Addresses that one step stores of a value that all PEs of a MAB hold alike."""

ROW = 64
"""Long words in an indivisible piece of an L2BM transfer: cuts of a value in DRAM fall on multiples of it."""


@dataclass(frozen=True, slots=True)
class RegionInput:
    """What the planner needs to know of a region: nodes, shapes of its tensors, and which of them lie in DRAM.

    Names without a shape here are immediates.
    """

    nodes: tuple[MNNode, ...]
    shapes: Shapes
    loaded: tuple[str, ...]
    stored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedRegion:
    """The region and, for each on-chip value, its memory, address and size in long words."""

    region: Region
    placements: dict[str, address.Placement]
    sizes: dict[str, int]


def plan_region(source: RegionInput, table: AxisTable, sizes: tuple[int, ...], budget: int) -> PlannedRegion | None:
    """Cut as coarsely as LM allows; None where even the finest cut does not fit."""
    attempts = (_try(source, table, blocks, budget) for blocks in cuts(region_extents(sizes, table)))
    return next((planned for planned in attempts if planned is not None), None)


def _kept_whole(source: RegionInput, table: AxisTable, blocks: tuple[Block, ...]) -> tuple[str, ...]:
    """Tensors in DRAM with a part that does not begin at a multiple of 64 long words of the image."""
    names = dict.fromkeys(source.loaded + source.stored)
    return tuple(name for name in names if not _cut_on_rows(source.shapes[name], table, blocks))


def _cut_on_rows(shape: tuple[int, ...], table: AxisTable, blocks: tuple[Block, ...]) -> bool:
    per_address = words_per_address(shape, table)
    return all(block.part(shape, table)[0] * per_address % ROW == 0 for block in blocks)


def words_per_address(shape: tuple[int, ...], table: AxisTable) -> int:
    """Long words of L1BM that one address of a value takes: one for each MAB and PE that the image stores."""
    spec = ImageSpec.of(layout_of(shape, table), shape, 32)
    return spec.mab_count * spec.pe_count


def _try(source: RegionInput, table: AxisTable, blocks: tuple[Block, ...], budget: int) -> PlannedRegion | None:
    region = _order(source, table, blocks)
    pinned = frozenset(name + LOCAL for name in source.stored if words_per_address(source.shapes[name], table) == 1)
    sizes = _sizes(source, region, pinned)
    lifetimes = _lifetimes(region, sizes, source.shapes)
    wishes = location.choose(region.nodes, sizes, pinned)
    placements = address.place(lifetimes, wishes, budget)
    if placements is None:
        return None
    address.verify(lifetimes, placements, budget)
    return PlannedRegion(region, placements, sizes)


def _sizes(source: RegionInput, region: Region, gathered: frozenset[str]) -> dict[str, int]:
    """Long words per PE of every on-chip value, in order of first appearance."""
    names = dict.fromkeys(name + LOCAL for name in source.loaded)
    names.update(dict.fromkeys(name + LOCAL for node in source.nodes for name in node.outputs))
    sizes: dict[str, int] = {}
    for name in names:
        tensor = name.removesuffix(LOCAL)
        held = (region.full,) if tensor in region.whole else region.blocks
        parts = (block.part(source.shapes[tensor], region.table) for block in held)
        longest = max(high - low for low, high in parts)
        unit = GATHERED if name in gathered else VECTOR
        sizes[name] = -(-longest // unit) * unit
    return sizes


def _order(source: RegionInput, table: AxisTable, blocks: tuple[Block, ...]) -> Region:
    """Downloads just before their first reader, small values first; uploads last."""
    fixed = {name for name, shape in source.shapes.items() if len(blocks) > 1 and not is_cut(shape, table, blocks)}
    whole = _kept_whole(source, table, blocks)
    once: list[MNNode] = []
    repeated: list[MNNode] = []
    loaded: set[str] = set()
    for node in _small_first(source.nodes, source.shapes):
        for name in node.inputs:
            if name in source.loaded and name not in loaded:
                loaded.add(name)
                (once if name in fixed or name in whole else repeated).append(
                    _move("Download", name, name, name + LOCAL)
                )
        (once if set(node.outputs) <= fixed else repeated).append(_localised(node, source.shapes))
    stores = [_move("Upload", name, name + LOCAL, name) for name in source.stored]
    last = [s for s in stores if s.outputs[0] in fixed or s.outputs[0] in whole]
    repeated += [s for s in stores if s not in last]
    return Region(table, blocks, tuple(once), tuple(repeated), tuple(last), whole)


def _small_first(nodes: tuple[MNNode, ...], shapes: Shapes) -> list[MNNode]:
    """A topological order that runs nodes of small shapes early, so that the long ones stand together."""
    made = {name: node for node in nodes for name in node.outputs}
    left = list(nodes)
    done: set[str] = set()
    order: list[MNNode] = []
    while left:
        ready = [n for n in left if all(name in done or name not in made for name in n.inputs)]
        node = min(ready, key=lambda n: prod(shapes[n.outputs[0]]))
        left.remove(node)
        done.update(node.outputs)
        order.append(node)
    return order


def _move(op: str, name: str, source: str, target: str) -> MNNode:
    return MNNode(f"{op}:{name}", op, (source,), (target,))


def _localised(node: MNNode, shapes: Shapes) -> MNNode:
    """The node on on-chip values; immediates keep their names, and a body the names of the source graph."""

    def local(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name + LOCAL if name in shapes else name for name in names)

    return replace(node, inputs=local(node.inputs), outputs=local(node.outputs))


def _lifetimes(region: Region, sizes: dict[str, int], shapes: Shapes) -> list[address.Lifetime]:
    """Positions count turns; what is made once and read by repeated nodes lives until the last block is done."""
    phases = [turns(nodes, lambda n: _shape_of(n, shapes)) for nodes in (region.once, region.repeated, region.last)]
    order = [turn for phase in phases for turn in phase]
    loop = range(len(phases[0]), len(phases[0]) + len(phases[1]))
    born: dict[str, int] = {}
    dies: dict[str, int] = {}
    for position, turn in enumerate(order):
        for name in (name for node in turn for name in (*node.outputs, *node.inputs) if name in sizes):
            born.setdefault(name, position)
            dies[name] = position
    for name, birth in born.items():
        if birth < loop.start and dies[name] in loop:
            dies[name] = loop.stop - 1
    whole = {tensor + LOCAL for tensor in region.whole}
    for name in whole:
        born[name], dies[name] = min(born[name], loop.start), max(dies[name], loop.stop - 1)
    replaced = _replaced(order, whole, shapes)
    return [address.Lifetime(n, size, born[n], dies[n], replaced.get(n, ())) for n, size in sizes.items()]


def _shape_of(node: MNNode, shapes: Shapes) -> tuple[int, ...]:
    return shapes[node.outputs[0].removesuffix(LOCAL)]


def _replaced(order: list[Turn], whole: set[str], shapes: Shapes) -> dict[str, tuple[str, ...]]:
    """Operands whose place a result may take: those that no later node reads."""
    nodes = [node for turn in order for node in turn]
    last = {name: position for position, node in enumerate(nodes) for name in node.inputs}
    result: dict[str, tuple[str, ...]] = {}
    for position, node in enumerate(nodes):
        for name in set(node.outputs) - whole:
            dying = (n for n in _replaceable(node, name, shapes) if n not in whole and last[n] == position)
            result[name] = tuple(dying)
    return result


def _replaceable(node: MNNode, result: str, shapes: Shapes) -> tuple[str, ...]:
    """Operands of the result's shape that the node does not read any more once it has written the result's vector."""
    if node.op in ("Download", "Upload"):
        return ()
    steps = node.body or (node,)
    written = next(i for i, step in enumerate(steps) if result.removesuffix(LOCAL) in _plain(step.outputs))
    late = {name for step in steps[written + 1 :] for name in _plain(step.inputs)}
    operands = ((n, n.removesuffix(LOCAL)) for n in node.inputs if n.endswith(LOCAL))
    return tuple(n for n, tensor in operands if shapes[tensor] == _shape_of(node, shapes) and tensor not in late)


def _plain(names: tuple[str, ...]) -> set[str]:
    return {name.removesuffix(LOCAL) for name in names}
