"""Element types of ONNX that programs may use, and how the device holds each of them.

The device computes in single and double precision, in words of 32 and 64 bits and in truth values. Half precision and
bfloat16 are held in single precision, so nothing is rounded to them on the way and nothing overflows at their limits;
integers of 8 and 16 bits are held in 32 bits and wrap around as they should (`pfcomp.plan.narrow`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.ir.model import DType


@dataclass(frozen=True, slots=True)
class ElementType:
    """`name` and `number` are ONNX's, `host` is PyTorch's name, `device` what holds it.

    `roundoff` is half of the distance of 1 to the next number of the type, 0 for integers; `bits` and `signed` say
    what integers the type has that is held in a wider one, 0 bits if the device's type is the type itself.
    """

    name: str
    number: int
    host: str
    device: DType
    roundoff: float = 0.0
    bits: int = 0
    signed: bool = False


ELEMENT_TYPES: dict[str, ElementType] = {
    row.name: row
    for row in (
        ElementType("FLOAT", 1, "Float", DType.FLOAT, 2.0**-24),
        ElementType("DOUBLE", 11, "Double", DType.DOUBLE, 2.0**-53),
        ElementType("INT32", 6, "Int", DType.INT),
        ElementType("INT64", 7, "Long", DType.LONG),
        ElementType("BOOL", 9, "Bool", DType.BOOL),
        ElementType("FLOAT16", 10, "Half", DType.FLOAT, 2.0**-11),
        ElementType("BFLOAT16", 16, "BFloat16", DType.FLOAT, 2.0**-8),
        ElementType("INT16", 5, "Short", DType.INT, bits=16, signed=True),
        ElementType("INT8", 3, "Char", DType.INT, bits=8, signed=True),
        ElementType("UINT8", 2, "Byte", DType.INT, bits=8),
    )
}
"""By name."""

OWN: dict[str, DType] = {name: row.device for name, row in ELEMENT_TYPES.items() if row.host == row.device.value}
"""The types that the device computes in as they are, with its names for them."""

NUMBERS: frozenset[int] = frozenset(row.number for row in ELEMENT_TYPES.values())
"""ONNX's numbers of all of them, as the attribute `to` of Cast has them."""
