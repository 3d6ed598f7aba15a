"""What must hold in an app beyond its form: names, ranges, layouts, relocations, spans, and the rules of the chip.

Used before an app is written and after it is read; the first contradiction is raised as ArtifactError PF0514.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pfcomp.app.model import Constant, GPFNApp, Relocation, TensorInfo
from pfcomp.errors import ArtifactError, SourceError
from pfcomp.ir.model import DType
from pfcomp.isa.model import Move, Operand, Place, Program
from pfcomp.layout.imagespec import ImageSpec

UNIT = 16  # long words of one DRAM access
DRAM_SIZE = 1 << 29  # long words of a group's DRAM
TARGET = "GPFN3"
LAYOUT_KIND = "MNCore"
TORCH_DTYPES = frozenset(
    {"Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"},
)
DTYPES = frozenset(dtype.value for dtype in DType)
_AGAIN = "compile the program again"


def tensors(app: GPFNApp) -> Iterator[TensorInfo]:
    """All tensors of an app: inputs, outputs, state, constants."""
    yield from app.inputs
    yield from app.outputs
    yield from app.state
    yield from (constant.info for constant in app.constants)


def verify(app: GPFNApp, *, where: str) -> None:
    """Raises ArtifactError PF0514, naming `where`, for the first thing in `app` that cannot be."""
    what = next(_contradictions(app), None)
    if what is not None:
        raise ArtifactError("PF0514", what, where=where, hint=_AGAIN)


def check_program(program: Program, *, where: str) -> None:
    """Raises ArtifactError PF0515 with the first finding and their number where the chip's rules are broken."""
    from pfcomp.isa.check import check

    findings = [finding for finding in check(program) if finding.severity == "error"]
    if findings:
        first = findings[0]
        what = f"program breaks {len(findings)} rules; the first: {first.rule} at statement {first.index}: {first.text}"
        raise ArtifactError("PF0515", what, where=where, hint=_AGAIN)


def _contradictions(app: GPFNApp) -> Iterator[str]:
    if app.target_name != TARGET:
        yield f"built for target {app.target_name!r}, not {TARGET}"
    for info in tensors(app):
        yield from _tensor(info)
    yield from _names(app)
    for constant in app.constants:
        yield from _constant(constant)
    yield from _overlaps(app)
    known = {info.name: info for info in tensors(app)}
    for relocation in app.relocations:
        yield from _relocation(relocation, app.program, known)
    yield from _missing_relocations(app)
    yield from _spans(app)


def _tensor(info: TensorInfo) -> Iterator[str]:
    name = f"tensor {info.name!r}"
    if info.dtype not in DTYPES or info.torch_dtype not in TORCH_DTYPES:
        yield f"{name} has the unknown element type {info.dtype!r}/{info.torch_dtype!r}"
        return
    if info.layout_kind != LAYOUT_KIND:
        yield f"{name} has the unknown layout kind {info.layout_kind!r}"
    if not 0 <= info.begin < info.end <= DRAM_SIZE or info.begin % UNIT or info.end % UNIT:
        yield f"{name} has the range {info.begin}-{info.end}, not within DRAM in units of {UNIT}"
    try:
        size = image_size(info)
    except SourceError as error:
        yield f"{name}: {error.what}"
        return
    if size != info.end - info.begin:
        yield f"{name} needs {size} long words per group, its range has {info.end - info.begin}"


def image_size(info: TensorInfo) -> int:
    """Long words per group that the tensor's layout takes (backend-movement.md 2); raises SourceError PF02xx."""
    return ImageSpec.of(info.layout, info.shape, DType(info.dtype).bits).group_words


def _names(app: GPFNApp) -> Iterator[str]:
    known: dict[str, TensorInfo] = {}
    for info in tensors(app):
        if not info.name:
            yield "a tensor has no name"
        other = known.setdefault(info.name, info)
        if (other.begin, other.end) != (info.begin, info.end):
            yield f"the name {info.name!r} is used for two tensors"
    for info in tensors(app):
        if info.alias_base is not None and info.alias_base not in known:
            yield f"tensor {info.name!r} is an alias of the unknown {info.alias_base!r}"


def _constant(constant: Constant) -> Iterator[str]:
    size = constant.info.end - constant.info.begin
    if constant.image.shape != (4, size):
        yield f"constant {constant.info.name!r} has an image of {constant.image.shape}, not (4, {size})"


def _overlaps(app: GPFNApp) -> Iterator[str]:
    """Ranges that share memory must be equal: the same buffer under two names."""
    ranges = sorted({(info.begin, info.end): info.name for info in tensors(app)}.items())
    for ((begin, end), name), ((next_begin, _), other) in pairwise(ranges):
        if next_begin < end:
            yield f"tensors {name!r} at {begin} and {other!r} at {next_begin} overlap"


def operand_of(program: Program, relocation: Relocation) -> Operand | None:
    """The DRAM operand that a relocation names, None where there is none."""
    if not relocation.index < len(program.statements):
        return None
    statement = program.statements[relocation.index]
    if not isinstance(statement, Move):
        return None
    operand = statement.source if relocation.operand == "source" else statement.destination
    return operand if operand.place is Place.DRAM else None


def _relocation(relocation: Relocation, program: Program, known: dict[str, TensorInfo]) -> Iterator[str]:
    at = f"the relocation of statement {relocation.index} ({relocation.operand})"
    operand = operand_of(program, relocation)
    info = known.get(relocation.tensor)
    if operand is None or operand.address is None:
        yield f"{at} names no DRAM operand"
    elif info is None:
        yield f"{at} names the unknown tensor {relocation.tensor!r}"
    elif relocation.offset % UNIT or relocation.offset >= info.end - info.begin:
        yield f"{at} has the offset {relocation.offset}, not within {relocation.tensor!r} in units of {UNIT}"
    elif operand.address.base != info.begin + relocation.offset:
        yield f"{at} does not lead to {operand.address.base}"


def _missing_relocations(app: GPFNApp) -> Iterator[str]:
    """Every DRAM operand must have exactly one relocation."""
    listed = [(r.index, r.operand) for r in app.relocations]
    if len(set(listed)) != len(listed):
        yield "an operand has two relocations"
    wanted = {
        (index, name)
        for index, statement in enumerate(app.program.statements)
        if isinstance(statement, Move)
        for name, operand in (("source", statement.source), ("destination", statement.destination))
        if operand.place is Place.DRAM
    }
    for index, name in sorted(wanted.difference(listed))[:1]:
        yield f"the DRAM {name} of statement {index} has no relocation"


def _spans(app: GPFNApp) -> Iterator[str]:
    count = len(app.program.statements)
    for span in app.debug:
        if not span.begin < span.end <= count:
            yield f"the debug span {span.begin}-{span.end} of {span.node!r} is not within {count} statements"
