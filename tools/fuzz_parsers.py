#!/usr/bin/env python3
"""Fuzzes what reads foreign input: assembly text, apps, GPFNBin. Anything but a typed error is a find.

    python tools/fuzz_parsers.py --seconds 600              coverage-guided, with atheris (pip install atheris)
    python tools/fuzz_parsers.py --seconds 60 --plain       random mutations, no other package needed
    python tools/fuzz_parsers.py --target app --replay FILE repeats one input

Every target gets the same share of the time. Exit status 0: no find; 1: a find, whose input is saved in --finds.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pfcomp.app.model import GPFNApp

SLOW = 10.0  # seconds; an input that takes longer is a find as well
MAXIMUM = 4096  # bytes of an input
ACCEPTED = "accepted"

# One statement of every kind, and of every form of operand.
ASSEMBLY = """\
d set $lm0n0c0b0m0p0 2 00000000000000010000000000000002
r 2 000000080 001 00000000000000ff
c 0 0 i10 i00 0 000022000 001 0000000000000000
maskrn 3
mvp/n64i01nd2p1 $di0 $lc0@.0
mvrdfadd/n64 $lc0 $p0@0
mvnop
nop; wait i01
l2bmb@4/3 $lc0 $lb0
l2bmdars $lc0@.1 $dar0
imm f"1.5" $lr0 $t; l1bmm@3 $lm0v $lb0
immu i"0x3ff00000" $ls0
fvfma $lm[0,2,4,6] -$t $aluf $lr0v/$imr1 $omr2; hbfn/9/1100 $lbf $ls8v; l1bmd-3 $lb64 $nowrite
dvmulu $lmt8v4 $ln0v $nowrite
hmwrite $llm0vr $llx8
hmread $lly0 $lls0v
hmfma $lx $ls8v $llr0v $lln0v/ll1010
ulmin $peid $ln4j2 $lr0
ufftoi $lr0 $ls0
l1bmrdfadd $lm0v $lbi
noforward
nop/12
d getf $lm0n0 4
quit
"""
WORDS = """
$ / ; # ! [ ] , @ - v j t e r i 0x 0b " nop wait i01 imm immu mask quit d get set noforward
$lm0v $lln0v $lr0 $ls8v $t $aluf $mauf $lbf $mreadf $nowrite $omr1 /$imr1 /1010 $lb0 $lbi $lc0 $lx $lly0
fvfma dvmulu hvadd lpassa isub hbfn l1bmm l1bmd l2bmb l2bmr mvp mvb2 mvrdfadd /n64 4294967296 -1 \0 é
"""
TOKENS = [*WORDS.split(), " ", "\n"]


@dataclass(frozen=True, slots=True)
class Target:
    """A reader: `check` takes one input and raises PfcompError where it refuses it; `seeds` are inputs it accepts."""

    name: str
    seeds: Callable[[], list[bytes]]
    check: Callable[[bytes], None]
    error: str  # the class of its errors


class FindError(Exception):
    """A reader did something wrong that is not an exception of its own."""


def check_vsm(data: bytes) -> None:
    """Text is refused; its good lines come back equal from printer and parser, and the checker can look at them."""
    from pfcomp.isa import parse, print_program
    from pfcomp.isa.check import check
    from pfcomp.isa.parser import parse_lines

    text = data.decode("utf-8", "replace")
    program = parse_lines(text)[0]
    if parse(print_program(program)) != program:
        raise FindError("the printed program differs")
    check(program)
    parse(text)


def check_bin(data: bytes) -> None:
    """Bytes are refused, or are exactly what encodes the program; tried below a valid seal and as they are."""
    from pfcomp.errors import ArtifactError
    from pfcomp.isa import decode, encode, print_program

    try:
        decode(data)
    except ArtifactError:
        sealed = data + hashlib.sha256(data).digest()
        program = decode(sealed)
        print_program(program)
        if decode(encode(program)) != program:
            raise FindError("the encoded program differs") from None


def check_app(data: bytes) -> None:
    """The first byte chooses a section that the others replace below valid seals, or the whole file."""
    from pfcomp.app import dump_text, load_app
    from pfcomp.app.sections import SECTIONS

    index, content = data[:1], data[1:]
    names = list(SECTIONS)
    if not index or index[0] >= len(names):
        whole = load_app(content + hashlib.sha256(content).digest())
    else:
        whole = load_app(_with_section(names[index[0]], content))
    dump_text(whole)


def _with_section(name: str, content: bytes) -> bytes:
    """The seed app with another content of one section."""
    from pfcomp.app.flatread import read_flat
    from pfcomp.app.flatwrite import write_flat
    from pfcomp.app.schema import IDENTIFIER
    from pfcomp.artifacts import compress

    root = read_flat("App", seed_app()[:-32])
    for section in root["sections"]:
        if section["name"] == name:
            section["raw_size"], section["payload"] = len(content), compress(content)
            section["sha256"] = hashlib.sha256(content).digest()
    body = write_flat("App", root, IDENTIFIER)
    return body + hashlib.sha256(body).digest()


@lru_cache(maxsize=1)
def seed_app() -> bytes:
    """A small app that has something in every section."""
    from pfcomp.app import serialize

    return serialize(_small_app())


def _small_app() -> GPFNApp:
    import numpy as np

    from pfcomp.app import model
    from pfcomp.isa import parse
    from pfcomp.layout import Layout
    from pfcomp.layout.image import to_image

    layout = Layout.parse("((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])")
    names = ("x", "y", "c", "w")
    info = {n: model.TensorInfo(n, (3, 4), "Float", layout, 64 * i, 64 * i + 16) for i, n in enumerate(names)}
    constant = model.Constant(info["c"], to_image(np.ones((3, 4), np.float32), layout))
    program = parse("mvb2/n64i01 $d0 $lc0\nnop; wait i01\nmvp/n64i02 $lc0@.0 $d64\nnop; wait i02")
    moves = (model.Relocation(0, "source", "x", 0), model.Relocation(2, "destination", "y", 0))
    spans = (model.DebugSpan(0, 2, "load", "Download", ""), model.DebugSpan(2, 4, "store", "Upload", "copy.py:3"))
    figures = (("steps", program.steps),)
    return model.GPFNApp((info["x"],), (info["y"],), (info["w"],), (constant,), program, moves, spans, figures)


def vsm_seeds() -> list[bytes]:
    """The whole text, and every statement for itself."""
    return [ASSEMBLY.encode(), *(line.encode() for line in ASSEMBLY.splitlines())]


def bin_seeds() -> list[bytes]:
    """The sample program without its seal, and single statements."""
    from pfcomp.isa import encode, parse
    from pfcomp.isa.parser import parse_lines

    program = parse_lines(ASSEMBLY)[0]
    singles = [encode(parse(line)) for line in ("nop/12", "mvnop", "lpassa $lm0v $lr0v", "d get $lm0n0c0b0m0p0 1")]
    return [data[:-32] for data in (encode(program), *singles)]


def app_seeds() -> list[bytes]:
    """Every section of the small app behind its index, and the whole file without its seal."""
    from pfcomp.app.sections import SECTIONS

    app = _small_app()
    parts = [bytes([i]) + row.encode(getattr(app, row.name)) for i, row in enumerate(SECTIONS.values())]
    return [*parts, b"\xff" + seed_app()[:-32]]


TARGETS = {
    "vsm": Target("vsm", vsm_seeds, check_vsm, "SourceError"),
    "app": Target("app", app_seeds, check_app, "ArtifactError"),
    "bin": Target("bin", bin_seeds, check_bin, "ArtifactError"),
}


def attempt(target: Target, data: bytes) -> str:
    """Feed one input: `ACCEPTED`, or the code of the typed error. Raises whatever else happens, FindError if slow."""
    from pfcomp.errors import PfcompError

    start = time.perf_counter()
    try:
        target.check(data)
        outcome = ACCEPTED
    except PfcompError as error:
        if target.error not in {kind.__name__ for kind in type(error).__mro__}:
            raise
        outcome = error.code
    if time.perf_counter() - start > SLOW:
        raise FindError(f"took {time.perf_counter() - start:.1f} s")
    return outcome


def mutate(r: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A seed with one to eight random changes: bits, numbers, pieces removed, repeated, swapped in or out."""
    data = bytearray(r.choice(seeds))
    for _ in range(r.randint(1, 8)):
        at = r.randrange(len(data) + 1)
        end = min(len(data), at + r.choice([1, 2, 4, 8, 32]))
        change = r.randrange(7)
        if change == 0 and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        elif change == 1 and at < len(data):
            data[at] = r.choice([0, 1, 0x7F, 0x80, 0xFF, r.randrange(256)])
        elif change == 2:
            data[at:end] = r.choice([0, 1, (1 << 31) - 1, (1 << 32) - 1]).to_bytes(4, "little")[: end - at]
        elif change == 3:
            del data[at:end]
        elif change == 4:
            data[at:at] = data[at:end] * r.randint(1, 4)
        elif change == 5:
            data[at:at] = r.choice(TOKENS).encode()
        else:
            other = r.choice(seeds)
            start = r.randrange(len(other) + 1)
            data[at:end] = other[start : start + r.choice([4, 16, 64])]
    return bytes(data[:MAXIMUM])


def run_plain(
    target: Target, seconds: float, seed: int = 0, limit: int | None = None, finds: Path | None = None
) -> Counter[str]:
    """Random inputs until the time or `limit` is used up; counts by outcome. Saves and raises the first find."""
    r, seeds = random.Random(seed), target.seeds()
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end and (limit is None or counts.total() < limit):
        data = seeds[counts.total()] if counts.total() < len(seeds) else mutate(r, seeds)
        try:
            counts[attempt(target, data)] += 1
        except Exception:
            if finds is not None:
                path = finds / f"{target.name}-{hashlib.sha256(data).hexdigest()[:12]}"
                path.write_bytes(data)
                print(f"{target.name}: find saved as {path}", file=sys.stderr)
            raise
    return counts


def write_corpus(target: Target, folder: Path) -> None:
    """The seeds into the corpus `folder`, and the dictionary beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, data in enumerate(target.seeds()):
        (folder / f"seed{index}").write_bytes(data)
    hexed = ("".join(f"\\x{byte:02x}" for byte in token.encode()) for token in TOKENS)
    folder.with_suffix(".dict").write_text("".join(f'"{token}"\n' for token in hexed))


def run_guided(target: Target, seconds: float, seed: int, finds: Path, corpus: Path) -> None:
    """Coverage-guided inputs. Ends the process, which is why each target has one of its own."""
    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["pfcomp"]):
        import pfcomp.app
        import pfcomp.isa
        import pfcomp.isa.check  # noqa: F401
    write_corpus(target, corpus)  # not earlier: making the seeds imports what has to be instrumented
    options = [f"-max_total_time={max(1, int(seconds))}", f"-timeout={int(SLOW)}", f"-max_len={MAXIMUM}",
               f"-seed={seed + 1}", f"-dict={corpus.with_suffix('.dict')}", f"-artifact_prefix={finds}/{target.name}-",
               "-print_final_stats=1"]  # fmt: skip

    def feed(data: bytes) -> None:
        attempt(target, data)

    atheris.Setup([sys.argv[0], *options, str(corpus)], feed)
    atheris.Fuzz()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all", help="what to feed (default: all)")
    parser.add_argument("--seconds", type=float, default=60, help="time for all targets together (default: 60)")
    parser.add_argument("--plain", action="store_true", help="random mutations instead of atheris")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (default: 0)")
    parser.add_argument("--finds", type=Path, default=Path(), help="folder for inputs that are finds (default: .)")
    parser.add_argument("--corpus", type=Path, help="folder that keeps what atheris learns (default: a temporary one)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--replay", type=Path, metavar="FILE", help="feed this one input to --target")
    return parser.parse_args()


def replay(options: argparse.Namespace) -> int:
    if options.target == "all":
        print("fuzz_parsers: --replay needs --target", file=sys.stderr)
        return 2
    print(attempt(TARGETS[options.target], options.replay.read_bytes()))
    return 0


def plain(options: argparse.Namespace, names: Sequence[str]) -> int:
    for name in names:
        try:
            counts = run_plain(TARGETS[name], options.seconds / len(names), options.seed, finds=options.finds)
        except Exception:
            traceback.print_exc()
            return 1
        outcomes = ", ".join(f"{outcome} {count}" for outcome, count in sorted(counts.items()))
        print(f"{name}: {counts.total()} inputs: {outcomes}")
    return 0


def guided(options: argparse.Namespace, names: Sequence[str]) -> int:
    if importlib.util.find_spec("atheris") is None:
        print("fuzz_parsers: atheris is not installed; `pip install atheris`, or use --plain", file=sys.stderr)
        return 2
    if options.child:
        run_guided(TARGETS[options.target], options.seconds, options.seed, options.finds, options.corpus)
        return 0
    share = ["--seconds", str(options.seconds / len(names)), "--seed", str(options.seed), "--finds", str(options.finds)]
    own = [sys.executable, str(Path(__file__).resolve()), "--child", *share]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.corpus or Path(temporary)
        runs = [[*own, "--target", name, "--corpus", str(folder / name)] for name in names]
        codes = [subprocess.run(run, check=False).returncode for run in runs]
    return int(any(codes))


def main() -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    options = arguments()
    options.finds.mkdir(parents=True, exist_ok=True)
    if options.replay is not None:
        return replay(options)
    names = list(TARGETS) if options.target == "all" else [options.target]
    return (plain if options.plain else guided)(options, names)


if __name__ == "__main__":
    sys.exit(main())
