"""Vector MAU operations with flags, and the conversions of operands, as `Operation`s."""

from itertools import product

import numpy as np

from pfcomp.emulator.formats import DOUBLE, HALF, SINGLE
from pfcomp.emulator.reference import mau
from pfcomp.emulator.reference.numbers import convert
from tests.emulator.chip import GRF0, GRF1, LM0, LM1, elements, fetch, fill, join, random_words, run
from tests.emulator.operations_alu import every_pattern
from tests.emulator.oracle import Operation, edges, with_first

FORMATS = {"d": DOUBLE, "f": SINGLE, "h": HALF}
ADDEND = {"d": DOUBLE, "f": SINGLE, "h": SINGLE}
NARROW = {"d": SINGLE, "f": HALF, "h": HALF}
OPERANDS = {"vfma": "xyz", "vmul": "xy", "vadd": "xz", "vpassa": "x"}
SPLITS = {"u": slice(0, 2), "d": slice(2, 4)}  # which PEs of a MAB multiply doubles


def expected(name, precision, output, x, y, z):
    fmt, addend = FORMATS[precision], ADDEND[precision]
    if name == "vfma":
        return mau.vector_fma(x, y, z, fmt, addend, output)
    if name == "vmul":
        return mau.vector_mul(x, y, fmt, output)
    return mau.vector_add(x, z, fmt, addend, output) if name == "vadd" else mau.vector_passa(x, fmt, output)


def model(name, precision, narrow):
    output = NARROW[precision] if narrow else ADDEND[precision]

    def both(*operands):
        given = dict(zip(OPERANDS[name], operands, strict=True))
        result = expected(name, precision, output, given["x"], given.get("y", 0), given.get("z", 0))
        return result, int(not result >> (output.bits - 1))

    return both


def interleave(z):
    """Four singles per element group to rows LW0, LW1, LW0, …"""
    return np.stack([join(z[..., :2], 32), join(z[..., 2:], 32)], axis=1).reshape(8, 4096)


def addend_elements(rows, precision):
    """`[4][4096][n]` elements of the addend or of a result that is not narrow."""
    if precision == "h":
        return np.concatenate([elements(rows[0::2], 32), elements(rows[1::2], 32)], axis=-1)
    return elements(rows[:4], ADDEND[precision].bits)


def result_elements(rows, precision, narrow):
    if not narrow:
        return addend_elements(rows, precision)
    bits = NARROW[precision].bits
    return elements(rows[:4], bits)[..., : {"d": 1, "f": 2, "h": 4}[precision]]


def flag_elements(rows, precision):
    """Flags of each element: one of four, two of four or all four bits of the nibble."""
    step = {"d": 4, "f": 2, "h": 1}[precision]
    return elements(rows, 16)[..., ::step] & np.uint64(1)


def program(name, precision, narrow, split):
    third = "$llr0v" if precision == "h" else "$lr0v"
    sources = {"vfma": f"$lm0v $ln0v {third}", "vmul": "$lm0v $ln0v", "vadd": f"$lm0v {third}", "vpassa": "$lm0v"}[name]
    target = "$llm64v" if precision == "h" and not narrow else "$lm64v"
    return f"{precision}{name}{split}{'r' if narrow else ''} {sources} {target} $omr3"


def execute(text):
    def step(machine, inputs):
        for place, key in ((LM0, "x"), (LM1, "y"), (GRF0, "z")):
            fill(machine, place, inputs[key])
        run(machine, text)
        run(machine, 'imm i"-1" $ls0v\nlpassa $ls0v $ls8v/$imr3')
        return {"result": fetch(machine, LM0, 8, 32), "mask": fetch(machine, GRF1, 4, 4)}

    return step


def near_cancellation(rng, x, y, z, name, precision):
    """In three lanes of ten let z be nearly -x·y (or -x), with a few last bits changed, so that leading bits cancel."""
    addend = ADDEND[precision]
    few = np.flatnonzero(rng.random(z.size) < 0.3)[:3000]
    near = [expected(name.replace("fma", "mul").replace("add", "passa"), precision, addend, a, b, 0)
            for a, b in zip(x.ravel()[few].tolist(), y.ravel()[few].tolist(), strict=True)]  # fmt: skip
    flat = z.ravel().copy()
    flip = np.uint64(1 << (addend.bits - 1)) ^ rng.integers(0, 4, few.size).astype(np.uint64)
    flat[few] = np.array(near, np.uint64) ^ flip
    return flat.reshape(z.shape)


def edge_columns(name, precision):
    """All pairs of edges, or triples of every third edge, as lists for x, y, z."""
    x, z = edges(precision), edges("f" if precision == "h" else precision)
    letters = OPERANDS[name]
    step = 3 if len(letters) == 3 else 1
    lists = [(z if letter == "z" else x)[::step] for letter in letters]
    combined = list(zip(*product(*lists), strict=True))
    return dict(zip(letters, combined, strict=True))


def operation(name, precision, narrow, split=""):
    columns = edge_columns(name, precision)
    letter = "f" if precision == "h" else precision
    bits = FORMATS[precision].bits
    active = SPLITS.get(split, slice(0, 4))

    def make(rng, spread):
        x, y = (with_first(random_words(rng, 4, precision, spread), bits, columns.get(key, [])) for key in "xy")
        z = addend_elements(random_words(rng, 8, letter, spread), precision)
        if "z" in OPERANDS[name] and spread < 60:
            z = near_cancellation(rng, elements(x, bits), elements(y, bits), z, name, precision)
        flat = z.ravel()
        flat[: len(columns.get("z", []))] = np.array(columns.get("z", []), np.uint64)
        z = flat.reshape(z.shape)
        return {"x": x, "y": y, "z": interleave(z) if precision == "h" else join(z, ADDEND[precision].bits)}

    def lanes(parts):
        return parts.reshape(4, 1024, 4, -1)[:, :, active].ravel()

    def split_cases(inputs, outputs):
        given = {"x": elements(inputs["x"], bits), "y": elements(inputs["y"], bits)}
        given["z"] = addend_elements(inputs["z"], precision)
        results = [result_elements(outputs["result"], precision, narrow), flag_elements(outputs["mask"], precision)]
        return [lanes(given[key]) for key in OPERANDS[name]], [lanes(part) for part in results]

    text = program(name, precision, narrow, split)
    title = text.split()[0]
    first = len(columns["x"]) // (2 if split else 1)
    return Operation(title, make, execute(text), split_cases, model(name, precision, narrow), first)


def splits(name, precision):
    return ("u", "d") if precision == "d" and name in ("vfma", "vmul") else ("",)


MAU = [
    operation(name, precision, narrow, split)
    for precision in "dfh"
    for name in OPERANDS
    for narrow in (False, True)
    for split in splits(name, precision)
]


def conversion(title, text, source, output, lanes):
    """A conversion at an operand port; `lanes(rows of LM0, result rows)` gives operand and result column.

    Half inputs are exhaustive. The operation itself copies or normalises what the port delivers.
    """

    def make(rng, spread):
        if source is HALF:
            rows = every_pattern()
        else:
            rows = with_first(random_words(rng, 8, source.name[0].replace("s", "f"), spread), source.bits, edges("f"))
        return {"x": np.concatenate([rows, np.zeros((8 - len(rows), 4096), np.uint64)])}

    def step(machine, inputs):
        fill(machine, LM0, inputs["x"])
        run(machine, text)
        return {"result": fetch(machine, LM1, 8, 32)}

    def cases(inputs, outputs):
        operand, result = lanes(inputs["x"], outputs["result"])
        return [operand.ravel()], [result.ravel()]

    return Operation(title, make, step, cases, lambda bits: (convert(bits, source, output),), len(edges("f")))


def _upper_words(rows, output):
    return elements(rows[:4], 32)[..., 0], output[:4]


def _upper_halves(rows, output):
    return elements(rows[:4], 16)[..., :2], elements(output[:4], 32)


def _four_halves(rows, output):
    return elements(rows[:4], 16), addend_elements(output, "h")


def _four_singles(rows, output):
    return addend_elements(rows, "h"), elements(output[:4], 16)


def _same_halves(rows, output):
    return elements(rows[:4], 16), elements(output[:4], 16)


HALF_CONVERSIONS = [
    conversion("e: half to single, addend", "hvadd $lr0v $lm0ve $lln64v", HALF, SINGLE, _four_halves),
    conversion("half to single", "hvpassa $lm0v $lln64v", HALF, SINGLE, _four_halves),
    conversion("half to half", "hvpassar $lm0v $ln64v", HALF, HALF, _same_halves),
]
CONVERSIONS = [
    conversion("e: half to single", "fvpassa $m0v2e $ln64v", HALF, SINGLE, _upper_halves),
    conversion("e: single to double", "dvpassa $m0v2e $ln64v", SINGLE, DOUBLE, _upper_words),
    conversion("r: single to half", "hvpassar $llm0vr $ln64v", SINGLE, HALF, _four_singles),
    conversion("r: single to half, ALU", "hmax $llm0vr $llm0vr $ln64v", SINGLE, HALF, _four_singles),
]
