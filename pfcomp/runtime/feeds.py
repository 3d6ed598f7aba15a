"""Inputs from a command line: `x=x.npy`, `x=ones`, `x=zeros`, `x=rand:7`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from pfcomp.errors import UsageError
from pfcomp.ir.elements import Array
from pfcomp.runtime.iospec import IOSpec

FORMS = "NAME=FILE.npy, NAME=ones, NAME=zeros or NAME=rand:SEED"


def parse_feeds(texts: Iterable[str]) -> dict[str, str]:
    """`NAME=WHAT` texts as a mapping. Raises UsageError PF0614 for a malformed or repeated one."""
    feeds: dict[str, str] = {}
    for text in texts:
        name, equals, what = text.rpartition("=")
        if not equals or not name or not what:
            raise UsageError("PF0614", f"{text!r} is not of the form NAME=WHAT", hint=f"write {FORMS}")
        if name in feeds:
            raise UsageError("PF0614", f"{name} is given twice")
        feeds[name] = what
    return feeds


def make_inputs(feeds: Mapping[str, str], specs: Mapping[str, IOSpec]) -> dict[str, Array]:
    """The array of each spec from the feed of its name, in its shape and host type. Raises UsageError PF0614."""
    for name in feeds:
        if name not in specs:
            raise UsageError("PF0614", f"the program has no input {name}", hint=f"it has {', '.join(specs) or 'none'}")
    missing = [name for name in specs if name not in feeds]
    if missing:
        raise UsageError("PF0614", f"no value for input {', '.join(missing)}", hint=f"give --input {FORMS}")
    return {name: make_input(feeds[name], spec) for name, spec in specs.items()}


def make_input(what: str, spec: IOSpec) -> Array:
    """The array that `what` describes, reshaped and converted to the spec. Raises UsageError PF0614."""
    if what == "ones":
        return np.ones(spec.shape, spec.host_type)
    if what == "zeros":
        return np.zeros(spec.shape, spec.host_type)
    if what.startswith("rand:"):
        return _random(what.removeprefix("rand:"), spec)
    array = load_array(Path(what))
    if array.size != spec.elements:
        what = f"input {spec.name} has {array.size} elements, the program takes shape {list(spec.shape)}"
        raise UsageError("PF0614", what)
    return array.reshape(spec.shape).astype(spec.host_type)


def load_array(path: Path) -> Array:
    """The array of a .npy file. Raises UsageError PF0615 if it cannot be read."""
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        hint = "give a .npy file written by numpy.save"
        raise UsageError("PF0615", f"not a readable .npy file ({error})", where=str(path), hint=hint) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise UsageError("PF0615", "does not hold one array of numbers", where=str(path), hint="use numpy.save")
    return array


def _random(seed: str, spec: IOSpec) -> Array:
    """Standard normal floats, integers of 0 to 99, or random booleans; a function of the seed alone."""
    if not seed.isdecimal():
        raise UsageError("PF0614", f"{seed!r} is not a seed", hint="write rand:7")
    generator = np.random.default_rng(int(seed))
    if spec.host_type.kind == "f":
        return generator.standard_normal(spec.shape).astype(spec.host_type)
    return generator.integers(0, 2 if spec.host_type.kind == "b" else 100, spec.shape).astype(spec.host_type)
