"""Source operands to rows (isa.md 4, 6, 10)."""

from __future__ import annotations

from functools import lru_cache

from pfcomp.emulator.lower.emitter import Emitter
from pfcomp.emulator.micro import Code, Conversion
from pfcomp.emulator.rows import BAR_ROW, MEMORIES, T_VALUE, Quad, Value, id_row, same
from pfcomp.isa.model import Address, Operand, Place

BAR_OF = {Place.LM0: Place.BAR0, Place.LM1: Place.BAR1}
_IDS = frozenset({Place.L2BID, Place.L1BID, Place.MABID, Place.PEID, Place.SUBPEID, Place.MSB1})
_START = Address(0)


@lru_cache(maxsize=65536)
def words(place: Place, width: int, address: Address, bar: int) -> Quad:
    """The four word addresses, wrapped and truncated to the access width (isa.md 3, 6)."""
    size = MEMORIES[place].words
    a, b, c, d = (((x + bar) % size) & -width for x in address.cycles())
    return (a, b, c, d)


@lru_cache(maxsize=65536)
def rows(place: Place, width: int, address: Address, bar: int) -> Value:
    """Rows of a long or 2LW operand whose addresses are known."""
    base = MEMORIES[place].base
    a, b, c, d = (base + (x >> 1) for x in words(place, width, address, bar))
    return Value((a, b, c, d), (a + 1, b + 1, c + 1, d + 1) if width == 4 else None)


def per_pe(e: Emitter, operand: Operand) -> bool:
    """Whether addresses differ between PEs: T-indirect, `j`, or a base address that is not known."""
    address = operand.address or _START
    unknown_bar = operand.place in BAR_OF and e.bars[BAR_OF[operand.place]] is None
    return address.indirect or address.neighbour is not None or unknown_bar


def known_bar(e: Emitter, place: Place) -> int:
    """The base address to add at translation time."""
    return (e.bars[BAR_OF[place]] or 0) if place in BAR_OF else 0


def gather_params(e: Emitter, operand: Operand) -> tuple[int, ...]:
    """`params` of GATHER and the first ten of SCATTER."""
    memory, address = MEMORIES[operand.place], operand.address or _START
    bar_place = BAR_OF.get(operand.place)
    unknown = bar_place is not None and e.bars[bar_place] is None
    bar_row = BAR_ROW[bar_place] if bar_place is not None and unknown else -1
    bar = known_bar(e, operand.place)
    addresses = [(a + bar) % memory.words for a in address.cycles()]
    neighbour = -1 if address.neighbour is None else address.neighbour
    return (memory.base, memory.words, operand.width, *addresses, int(address.indirect), neighbour, bar_row)


def _memory(e: Emitter, operand: Operand) -> Value:
    if per_pe(e, operand):
        home = e.temporary()
        value = Value(home.hi, home.lo if operand.width == 4 else None)
        e.emit(Code.GATHER, value, (), *gather_params(e, operand))
        return value
    address, bar = operand.address or _START, known_bar(e, operand.place)
    if operand.width > 1:
        return rows(operand.place, operand.width, address, bar)
    where = words(operand.place, 1, address, bar)
    base = MEMORIES[operand.place].base
    value = Value(e.temporary().hi)
    a, b, c, d = (base + (x >> 1) for x in where)
    e.emit(Code.LOAD_WORD, value, (Value((a, b, c, d)),), *(x & 1 for x in where))
    return value


def raw(e: Emitter, operand: Operand, bits: int) -> Value:
    """The operand's rows before suffixes; ids come in elements of `bits`."""
    place = operand.place
    if place in MEMORIES:
        return _memory(e, operand)
    if place in e.paths:
        return e.paths[place]
    if place == Place.T:
        return T_VALUE
    if place in _IDS:
        quad = same(id_row(place, bits))
        return Value(quad, quad)
    raise e.unsupported(f"${place} cannot be read by this operation")


_WIDEN = {"d": Conversion.SINGLE_TO_DOUBLE, "f": Conversion.HALF2_TO_SINGLE2, "g": Conversion.HALF2_TO_SINGLE2}


def source(e: Emitter, operand: Operand, precision: str, bits: int) -> Value:
    """Rows of an operand with its `e` or `r` suffix applied for an operation of `precision`."""
    value = raw(e, operand, bits)
    if not operand.suffix:
        return value
    home = e.temporary()
    if operand.suffix == "r" and precision == "h":
        result, conversion = Value(home.hi), Conversion.SINGLE4_TO_HALF4
    elif operand.suffix == "e" and precision == "h":
        result, conversion = home, Conversion.HALF4_TO_SINGLE4
    elif operand.suffix == "e" and precision in _WIDEN:
        result, conversion = Value(home.hi), _WIDEN[precision]
    else:
        raise e.unsupported(f"suffix {operand.suffix} of an operand in precision {precision or 'l'}")
    e.emit(Code.WIDEN, result, (value,), int(conversion))
    return result
