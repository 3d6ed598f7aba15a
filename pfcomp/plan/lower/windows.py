"""Convolutions and poolings: windows are laid out as columns, then they are products and reductions.

`Unfold` copies every window of the spatial axes into a column, `Spread` puts zeros between and around elements; both
are rearrangements (`views`), with a filling pattern where no element goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Attribute, Job, Spec
from pfcomp.plan.lower.graph import Lowering, UnknownError
from pfcomp.plan.lower.views import source_maps

Ints = tuple[int, ...]
MINUS_INFINITY = {32: 0xFF800000, 64: 0xFFF0000000000000}
"""By bits of an element."""
HUGE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Window:
    """Kernel, strides, dilations and padding in front, one entry for every spatial axis; and the number of places."""

    kernel: Ints
    strides: Ints
    dilations: Ints
    before: Ints
    places: Ints

    def attributes(self, bits: int = 0) -> tuple[tuple[str, Attribute], ...]:
        """As an `Unfold` node has them."""
        return (
            ("kernel", self.kernel),
            ("strides", self.strides),
            ("dilations", self.dilations),
            ("before", self.before),
            ("places", self.places),
            ("bits", bits),
        )


def _ints(low: Lowering, name: str, default: Ints) -> Ints:
    value = low.attribute(name, default)
    assert isinstance(value, tuple), name
    return value


def _window(low: Lowering, kernel: Ints, sizes: Ints, places: Ints) -> Window:
    rank = len(kernel)
    ones = (1,) * rank
    strides, dilations = _ints(low, "strides", ones), _ints(low, "dilations", ones)
    automatic = low.attribute("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        needed = [
            max((p - 1) * s + d * (k - 1) + 1 - n, 0)
            for p, s, d, k, n in zip(places, strides, dilations, kernel, sizes, strict=True)
        ]
        before = tuple(n // 2 if automatic == "SAME_UPPER" else -(-n // 2) for n in needed)
    else:
        before = _ints(low, "pads", (0,) * (2 * rank))[:rank]
    return Window(kernel, strides, dilations, before, places)


def convolution(low: Lowering) -> None:
    """Columns of windows times the weights, group by group."""
    result, weight = low.spec(low.node.outputs[0]).shape, low.shape(1)
    window = _window(low, weight[2:], low.shape(0)[2:], result[2:])
    _product(low, low.node.inputs[0], low.node.inputs[1], window, low.integer("group", 1))


def _product(low: Lowering, x: str, weight: str, window: Window, groups: int) -> None:
    batch, channels = low.spec(x).shape[:2]
    result = low.spec(low.node.outputs[0]).shape
    inside, places = channels // groups * prod(window.kernel), prod(window.places)
    grouped = (groups,) if groups > 1 else ()
    columns = low.op("Unfold", [x], (batch, *grouped, inside, places), attributes=window.attributes())
    if groups > 1:
        weight = low.op("Reshape", [weight], (groups, result[1] // groups, inside))
        product = low.op("MatMul", [weight, columns], (batch, groups, result[1] // groups, places))
    else:
        weight = low.op("Reshape", [weight], (result[1], inside))
        product = low.op("MatMul", [weight, columns], (batch, result[1], places))
    bias = low.given(2)
    if bias is None:
        low.last("Reshape", [product])
        return
    shaped = low.op("Reshape", [product], result)
    low.last("Add", [shaped, low.op("Reshape", [bias], (result[1], *(1,) * len(window.kernel)))])


def transposed_convolution(low: Lowering) -> None:
    """A convolution of the spread input with the mirrored weights."""
    x, shape, weight = low.node.inputs[0], low.shape(0), low.shape(1)
    result, rank, groups = low.spec(low.node.outputs[0]).shape, len(weight) - 2, low.integer("group", 1)
    if low.attribute("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise UnknownError("auto_pad; give the pads")
    window = _window(low, weight[2:], shape[2:], result[2:])
    reach = tuple(d * (k - 1) for d, k in zip(window.dilations, window.kernel, strict=True))
    before = tuple(r - b for r, b in zip(reach, window.before, strict=True))
    spread = tuple(n + r for n, r in zip(result[2:], reach, strict=True))
    attributes: tuple[tuple[str, Attribute], ...] = (
        ("strides", (1, 1, *window.strides)),
        ("before", (0, 0, *before)),
        ("bits", 0),
    )
    wide = low.op("Spread", [x], (*shape[:2], *spread), attributes=attributes)
    ones = (1,) * rank
    plain = Window(window.kernel, ones, window.dilations, (0,) * rank, result[2:])
    _product(low, wide, _mirrored(low, groups), plain, groups)


def _mirrored(low: Lowering, groups: int) -> str:
    """Weights (in, out / groups, kernel) as those of a convolution: (out, in / groups, kernel), mirrored."""
    weight, shape = low.node.inputs[1], low.shape(1)
    inside, outside, kernel = shape[0] // groups, shape[1], shape[2:]
    starts, steps = (0, 0, *(k - 1 for k in kernel)), (1, 1, *(-1 for _ in kernel))
    turned = low.op("Slice", [weight], shape, attributes=(("starts", starts), ("steps", steps)))
    grouped = low.op("Reshape", [turned], (groups, inside, outside, *kernel))
    order = (0, 2, 1, *range(3, 3 + len(kernel)))
    swapped = low.op("Transpose", [grouped], (groups, outside, inside, *kernel), attributes=(("perm", order),))
    return low.op("Reshape", [swapped], (groups * outside, inside, *kernel))


def _columns(low: Lowering, bits: int) -> tuple[str, Window]:
    """Windows of every channel for itself: (batch, channels, kernel, places)."""
    shape, result = low.shape(0), low.spec(low.node.outputs[0]).shape
    window = _window(low, _ints(low, "kernel_shape", ()), shape[2:], result[2:])
    inside, places = prod(window.kernel), prod(window.places)
    wanted = (*shape[:2], inside, places)
    return low.op("Unfold", low.node.inputs[:1], wanted, attributes=window.attributes(bits)), window


OVER_WINDOWS: tuple[tuple[str, Attribute], ...] = (("axes", (2,)), ("keepdims", 1))


def max_pooling(low: Lowering) -> None:
    """The largest of each window; its index is the smallest one where it stands."""
    columns, window = _columns(low, MINUS_INFINITY[low.spec(low.node.inputs[0]).dtype.bits])
    shape = low.spec(columns).shape
    top = low.op("ReduceMax", [columns], (*shape[:2], 1, shape[3]), attributes=OVER_WINDOWS)
    values, *indices = low.node.outputs
    low.named("Reshape", [top], values)
    if indices and indices[0]:
        low.named("Reshape", [_first_index(low, columns, top, window)], indices[0])


def _first_index(low: Lowering, columns: str, top: str, window: Window) -> str:
    """Flat indices in the whole operand, of the device type Long; where the padding stands there is a huge one."""
    shape, sizes = low.spec(columns).shape, low.shape(0)[2:]
    inside = _positions_inside(window, sizes)
    places = low.constant(np.where(inside < 0, HUGE, inside)[None, None], DType.INT)
    equal = low.op("Equal", [columns, top], shape, DType.BOOL)
    none = low.constant(np.array(HUGE), DType.INT)
    kept = (*shape[:2], 1, shape[3])
    found = low.op("ReduceMin", [low.op("Where", [equal, places, none], shape, DType.INT)], kept, None, OVER_WINDOWS)
    first = np.arange(prod(shape[:2])).reshape(*shape[:2], 1, 1) * prod(sizes)
    whole = low.op("Cast", [found], kept, DType.LONG)
    return low.op("Add", [whole, low.constant(first, DType.LONG)], kept)


def _positions_inside(window: Window, sizes: Ints) -> np.ndarray:
    """Flat spatial index of (offset in the window, place), -1 outside."""
    attributes = window.attributes()
    columns = (1, prod(window.kernel), prod(window.places))
    job = Job("Unfold", (Spec((1, 1, *sizes), DType.INT),), (Spec(columns, DType.INT),), attributes)
    return source_maps(job)[0].reshape(columns[1:])


def average_pooling(low: Lowering) -> None:
    """The sum of each window times one over the number of elements that count."""
    columns, window = _columns(low, 0)
    shape, dtype = low.spec(columns).shape, low.spec(columns).dtype
    total = low.op("ReduceSum", [columns], (*shape[:2], 1, shape[3]), attributes=OVER_WINDOWS)
    factor = low.constant(_shares(low, window), dtype)
    low.last("Reshape", [low.op("Mul", [total, factor], (*shape[:2], 1, shape[3]))])


def _shares(low: Lowering, window: Window) -> np.ndarray:
    """One over the number of elements of each window, padding included only where it counts."""
    rank = len(window.kernel)
    pads = _ints(low, "pads", (0,) * (2 * rank))
    border = pads if low.integer("count_include_pad", 0) else (0,) * (2 * rank)
    counts = np.ones(())
    for axis, size in enumerate(low.shape(0)[2:]):
        first = np.arange(window.places[axis]) * window.strides[axis] - window.before[axis]
        taken = first[:, None] + np.arange(window.kernel[axis]) * window.dilations[axis]
        inside = (taken >= -border[axis]) & (taken < size + border[rank + axis])
        counts = np.multiply.outer(counts, inside.sum(1))
    return np.array(1 / counts.flat[0]) if np.ptp(counts) == 0 else (1 / counts).reshape(1, 1, 1, -1)


def columns_to_image(low: Lowering) -> None:
    """Col2Im: every element of the image is the sum of the columns that were taken from it.

    `Fold` lays out, for every offset in the window, the column elements where they belong, and zeros elsewhere.
    """
    shape, image, kernel = low.shape(0), low.ints(1), low.ints(2)
    if image is None or kernel is None:
        raise UnknownError("the shapes of image and block must be given")
    rank, channels = len(kernel), shape[1] // prod(kernel)
    ones = (1,) * rank
    strides, dilations = _ints(low, "strides", ones), _ints(low, "dilations", ones)
    pads = _ints(low, "pads", (0,) * (2 * rank))
    spans = zip(image, pads[:rank], pads[rank:], dilations, kernel, strides, strict=True)
    places = tuple((n + a + b - d * (k - 1) - 1) // s + 1 for n, a, b, d, k, s in spans)
    if prod(places) != shape[2]:
        raise UnknownError(f"{shape[2]} columns where the image has {prod(places)}")
    window = Window(kernel, strides, dilations, pads[:rank], places)
    wanted = (shape[0], channels, prod(kernel), prod(image))
    attributes = (*window.attributes(), ("image", image))
    laid = low.op("Fold", low.node.inputs[:1], wanted, attributes=attributes)
    total = low.op("ReduceSum", [laid], (*wanted[:2], 1, wanted[3]), attributes=OVER_WINDOWS)
    low.last("Reshape", [total])
