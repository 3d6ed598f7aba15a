"""The captured graph: a function as a list of ATen operations on named values, free of Python objects.

It is pure data, so that it can be written to a file, read in another process, printed and exported. Values have one
name space: user keys for inputs, state names for states, `const0`, `const1`, ... for frozen tensors and the
operation's own name for results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Arg = Any
"""None, bool, int, float, str, Ref, Literal, or a (nested) tuple of these."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and element type; `dtype` is torch's name, such as `float32` or `bool`."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Ref:
    """Use of a value: the name of its producer and, for operations with several results, which one."""

    name: str
    index: int | None = None

    def __str__(self) -> str:
        return self.name if self.index is None else f"{self.name}.{self.index}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A torch enumeration value as an argument: `kind` is dtype, layout or memory_format."""

    kind: str
    value: str

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Node:
    """One operation. `op` is `namespace.name.overload`; `source` is `file.py:12` or "" if unknown.

    `results` has one spec per result (None for a result that does not exist); a single-tensor operation has exactly
    one and `listed` is False, an operation that returns a tuple or list has `listed` True.
    """

    name: str
    op: str
    args: tuple[Arg, ...]
    kwargs: tuple[tuple[str, Arg], ...]
    results: tuple[TensorSpec | None, ...]
    listed: bool = False
    source: str = ""

    def refs(self) -> Iterator[Ref]:
        """Every value that the node reads, in argument order."""
        yield from refs_of(self.args)
        for _, value in self.kwargs:
            yield from refs_of(value)


@dataclass(frozen=True, slots=True)
class CapturedGraph:
    """A captured function.

    `inputs` are the sample's keys in order, used or not. `states` are the registered or named tensors that it reads or
    writes, `updates` the new value of each written state. `outputs` are the result's keys in order. `constants` are
    frozen tensors and `initials` the states' values at capture, both as dense CPU torch tensors.
    """

    name: str
    inputs: tuple[tuple[str, TensorSpec], ...]
    states: tuple[tuple[str, TensorSpec], ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, Ref], ...]
    updates: tuple[tuple[str, Ref], ...]
    constants: Mapping[str, Any]
    initials: Mapping[str, Any]

    def spec(self, ref: Ref) -> TensorSpec:
        """Shape and dtype of a value; KeyError if there is none of that name."""
        return self.specs()[str(ref)]

    def specs(self) -> dict[str, TensorSpec]:
        """Shape and dtype of every value by its printed name."""
        table = dict(self.inputs) | dict(self.states)
        table |= {name: spec_of(tensor) for name, tensor in self.constants.items()}
        for node in self.nodes:
            for index, spec in enumerate(node.results):
                if spec is not None:
                    table[str(Ref(node.name, index if node.listed else None))] = spec
        return table


def refs_of(arg: Arg) -> Iterator[Ref]:
    """Every Ref inside an argument."""
    if isinstance(arg, Ref):
        yield arg
    elif isinstance(arg, tuple):
        for item in arg:
            yield from refs_of(item)


def spec_of(tensor: Any) -> TensorSpec:
    """Spec of a torch tensor, real or fake."""
    return TensorSpec(tuple(int(n) for n in tensor.shape), str(tensor.dtype).removeprefix("torch."))
