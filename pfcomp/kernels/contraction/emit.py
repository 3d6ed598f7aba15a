"""Emission of a contraction from the layouts and the variant of its binding."""

from __future__ import annotations

from dataclasses import replace

from pfcomp.ir.model import MNValue
from pfcomp.kernels.api import KernelContext, Placed
from pfcomp.kernels.contraction.accumulate import Accumulator
from pfcomp.kernels.contraction.deliver import Direct, Gathered, InPlace, Sink, Turnaround
from pfcomp.kernels.contraction.loops import Loops, Operands, Spot, loops_of
from pfcomp.kernels.contraction.modes import MODES, Mode
from pfcomp.kernels.contraction.outer import NAME
from pfcomp.kernels.contraction.outer_emit import emit_outer
from pfcomp.kernels.contraction.scatter import Scatter
from pfcomp.kernels.padding import fill
from pfcomp.kernels.reduction.emission import Emission
from pfcomp.kernels.reduction.geometry import geometry
from pfcomp.kernels.reduction.monoids import MONOIDS
from pfcomp.layout import Layout, Level, Subaxis, padded_shape

L2BS = 8


Turned = tuple[bool, bool]


def variant_of(mode: Mode, stationary: int, turned: Turned = (False, False)) -> str:
    """The text of a binding's variant: mode, operand that goes to the matrix registers, operands that are turned.

    `turned` is by role, as in `mapping.Plan`.
    """
    letters = "".join("AB"[stationary ^ role] for role in (0, 1) if turned[role])
    return f"{mode.name} {'AB'[stationary]} {letters}".rstrip()


def parse_variant(text: str) -> tuple[Mode, int, Turned]:
    """Mode, stationary operand and turned roles of a variant."""
    name, letter, *letters = text.split()
    stationary = "AB".index(letter)
    turned = [any("AB"[stationary ^ role] in word for word in letters) for role in (0, 1)]
    return MODES[name], stationary, (turned[0], turned[1])


def emit_contraction(context: KernelContext, variant: str, placed: Placed) -> None:
    """Emit all operations of one matrix product."""
    if variant.startswith(NAME):
        emit_outer(context, "AB".index(variant.split()[1]), placed)
        return
    mode, row_axis, turned = parse_variant(variant)
    stationary, streamed = placed.inputs[row_axis], placed.inputs[1 - row_axis]
    result = placed.outputs[0]
    for number, value in enumerate(placed.inputs):
        if padded_shape(value.layout)[-1 - number] > value.shape[-1 - number]:
            fill(context, value, 0)
    loops = loops_of(Operands(stationary.layout, streamed.layout, result.layout, row_axis, turned), mode)
    sink = sink_of(context, result, loops, mode)
    Accumulator(context.builder, mode, stationary, streamed, loops).run(sink)
    if loops.over_l2b:
        _sum_l2bs(context, result)


def _sum_l2bs(context: KernelContext, result: MNValue) -> None:
    """Add up the partial results of all L2Bs in place."""
    layout = Layout(((Subaxis(L2BS, Level.L2B),), *result.layout.axes))
    parts = replace(result, shape=(L2BS, *result.shape), layout=layout)
    found = geometry(layout, parts.shape, (0,), False, result.dtype.bits)
    if found is None:
        raise ValueError(f"partial results in {result.layout} cannot be added up over L2Bs")
    Emission(context, MONOIDS["ReduceSum", result.dtype], found, parts, result).run()


def sink_of(context: KernelContext, result: MNValue, loops: Loops, mode: Mode) -> Sink:
    """How the results are delivered, which follows from their places."""
    if not loops.over_mab:
        return InPlace(context, result, loops, mode) if loops.over_l1b else Direct(context, result, loops, mode)
    spots = [loops.pair, *_spots(loops)]
    mabs, l1bs = any(spot.mab for spot in spots), any(spot.l1b for spot in spots)
    if mabs or l1bs:
        return Scatter(context, result, loops, mode, mabs=mabs, l1bs=l1bs)
    if loops.over_l1b:
        return Gathered(context, result, loops, mode)
    return Turnaround(context, result, loops, mode)


def _spots(loops: Loops) -> list[Spot]:
    return [item.spot for items in (loops.batches, loops.tiles, loops.columns) for item in items]
