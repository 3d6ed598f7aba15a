"""Random valid operations, statements and programs, drawn from the instruction tables."""

from __future__ import annotations

from hypothesis import strategies as st

from pfcomp.isa.literals import IMMEDIATE_TYPES, parse_immediate
from pfcomp.isa.model import (
    Address,
    DebugGet,
    DebugSet,
    L1BSet,
    MaskRef,
    Move,
    MoveNop,
    Op,
    Operand,
    Place,
    Program,
    SetMask,
    Step,
)
from pfcomp.isa.roles import unit_of
from pfcomp.isa.tables import MATRIX_SHAPES, MNEMONICS, MOVE_FORMS, MREAD_WIDTHS, REDUCTIONS
from pfcomp.isa.tables_forms import Direction
from pfcomp.isa.tables_moves import Ids
from pfcomp.isa.tables_places import (
    GET_TYPES,
    GETTABLE,
    ID_RANGES,
    LOCAL_MEMORIES,
    MATRICES,
    PE_MEMORIES,
    PLACES,
    SETTABLE,
)

words = st.one_of(st.integers(0, 600), st.integers(0, 2**32 - 1))
masks = st.builds(MaskRef, st.integers(0, 31), st.sampled_from(("", "l", "ll")), st.sampled_from(("", "t", "p")))
flushes = st.builds(MaskRef, st.integers(0, 31), st.sampled_from(("", "l", "ll")))


@st.composite
def addresses(draw, place):
    indirect = place is Place.LM0 and draw(st.booleans())
    neighbour = None
    if place in LOCAL_MEMORIES and not indirect:
        neighbour = draw(st.none() | st.integers(0, 3))
    if draw(st.booleans()):
        flat = tuple(draw(st.lists(words, min_size=4, max_size=4)))
        return Address(0, 0, flat, indirect, neighbour)
    return Address(draw(words), draw(st.just(0) | words), None, indirect, neighbour)


def _suffixes(slot, precision):
    return [""] + [s for s, allowed in slot.suffixes if precision in allowed]


@st.composite
def operands(draw, slot, precision, widths=None):
    """An operand that `slot` of an operation with `precision` accepts."""
    place = draw(st.sampled_from(sorted(slot.places)))
    info = PLACES[place]
    width = draw(st.sampled_from(info.widths)) if info.widths else info.fixed_width
    if place in MATRICES:
        width = draw(st.sampled_from(widths or slot.widths))
    elif slot.widths and place in (Place.L1BM, Place.TURNAROUND):
        width = draw(st.sampled_from(slot.widths))
    address = None
    if place in PE_MEMORIES:
        address = draw(addresses(place))
    elif place in (Place.L1BM, Place.L2BM, Place.DAR) or (place in MATRICES and slot.row):
        address = Address(draw(words))
    elif place is Place.MASK:
        address = Address(draw(st.integers(1, 15)))
    return Operand(
        place,
        width,
        address,
        slot.negate and draw(st.booleans()),
        draw(st.sampled_from(_suffixes(slot, precision))),
        draw(st.none() | masks) if slot.mask and place is not Place.NOWRITE else None,
        l2b=draw(st.integers(0, 1)) if slot.l2b else None,
    )


@st.composite
def immediates(draw):
    kind = draw(st.sampled_from(IMMEDIATE_TYPES))
    if kind in ("f", "h"):
        text = draw(st.floats(allow_nan=False, width=32).map(repr))
    else:
        text = str(draw(st.integers(0 if kind[0] == "u" else -(2**15), 2**15)))
    return parse_immediate(kind, text)


def _widths(mnemonic):
    if mnemonic.info.name == "mread":
        return MREAD_WIDTHS[mnemonic.precision]
    if mnemonic.info.name == "mwrite":
        return tuple(MATRIX_SHAPES[mnemonic.precision][1])
    return None


def _select(draw, info, form):
    up = form.direction is Direction.UP
    needed = info.select and (info.select_required or (len(info.forms) > 1 and up))
    return draw(st.integers(0, info.select - 1)) if needed else None


@st.composite
def ops(draw, head=None):
    """A valid operation; `head` fixes the mnemonic."""
    m = MNEMONICS[head or draw(st.sampled_from(sorted(MNEMONICS)))]
    info = m.info
    form = draw(st.sampled_from(info.forms))
    letter = (m.reduction or m.precision)[:1]
    widths = _widths(m)
    sources = tuple(draw(operands(slot, letter, widths)) for slot in form.sources)
    destinations = ()
    if form.destination is not None:
        one = operands(form.destination, letter, widths)
        destinations = tuple(draw(st.lists(one, min_size=form.least, max_size=min(form.most, 3))))
    flushable = info.zero_flush and form.direction in (Direction.PE, Direction.DOWN)
    sets = st.builds(L1BSet, st.integers(0, 7), st.integers(0, 7))
    chosen = None
    if info.l1b_set:
        chosen = draw(sets if info.l1b_set == "required" else st.none() | sets)
    return Op(
        unit_of(info, sources),
        info.name,
        m.precision,
        m.unsigned,
        m.half_select,
        m.narrow,
        draw(st.none() | st.integers(6, 9)) if m.precision in info.mantissa else None,
        draw(st.none() | flushes) if flushable else None,
        m.reduction,
        _select(draw, info, form),
        draw(st.none() | st.integers(-info.shift, info.shift)) if info.shift else None,
        chosen,
        draw(immediates()) if info.immediate else None,
        sources,
        destinations,
    )


tags = st.integers(1, 255)
steps = st.one_of(
    st.builds(
        Step, st.lists(ops(), min_size=1, max_size=4).map(tuple), st.lists(tags, max_size=2).map(tuple), st.booleans()
    ),
    st.builds(Step, st.just(()), st.lists(tags, max_size=1).map(tuple), st.just(False), st.integers(1, 10**6)),
    st.just(Step((), (), True)),
)


def _located(draw, place, style, indirect):
    group = draw(st.integers(0, 3)) if style in (Ids.GROUP, Ids.L2B) else None
    l2b = draw(st.integers(0, 1)) if style in (Ids.L2B, Ids.EACH) else None
    place = Place.DRAM_INDIRECT if indirect else place
    return Operand(place, 2, Address(draw(words)), group=group, l2b=l2b)


@st.composite
def moves(draw):
    form = draw(st.sampled_from(MOVE_FORMS))
    from_dar = form.source is Place.DRAM and draw(st.booleans())
    to_dar = form.destination is Place.DRAM and draw(st.booleans())
    return Move(
        form.mode,
        draw(words),
        _located(draw, form.source, form.source_ids, from_dar),
        _located(draw, form.destination, form.destination_ids, to_dar),
        draw(st.sampled_from(sorted(REDUCTIONS))) if form.reduces else "",
        draw(st.none() | tags),
        draw(st.none() | st.integers(1, 99)) if from_dar or to_dar else None,
        draw(st.none() | st.integers(0, 3)),
    )


@st.composite
def _locations(draw, places):
    place = draw(st.sampled_from(sorted(places)))
    info = PLACES[place]
    width = draw(st.sampled_from(info.widths)) if info.widths else info.fixed_width
    address = Address(draw(words))
    if place is Place.T:
        address = draw(st.none() | st.just(address))
    ids = tuple((k, draw(st.integers(0, ID_RANGES[k] - 1))) for k in info.ids if draw(st.booleans()))
    return Operand(place, width, address), ids


@st.composite
def gets(draw):
    operand, ids = draw(_locations(GETTABLE))
    kind = draw(st.sampled_from(GET_TYPES[1:] if operand.place in MATRICES else GET_TYPES))
    return DebugGet(kind, operand, ids, draw(st.integers(1, 2**31)))


@st.composite
def sets(draw):
    payload = tuple(draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4)))
    if draw(st.booleans()):
        operand = Operand(Place.DRAM, 2, Address(draw(st.integers(0, 2**29 - 1))))
        return DebugSet(operand, (("n", draw(st.integers(0, 3))),), payload)
    operand, ids = draw(_locations(SETTABLE))
    return DebugSet(operand, ids, payload)


mask_statements = st.builds(
    SetMask,
    st.sets(st.sampled_from("rstmnk")).map(lambda s: "".join(m for m in "rstmnk" if m in s)),
    st.integers(0, 31),
    st.sampled_from(("", "l", "ll")),
)
statements = st.one_of(steps, steps, moves(), st.just(MoveNop()), mask_statements, gets(), sets())
programs = st.builds(Program, st.lists(statements, max_size=6).map(tuple))
