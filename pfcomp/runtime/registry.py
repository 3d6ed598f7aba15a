"""Named tensors of a context: where each one's current contents are, and moving them between host and device.

The truth about a tensor is, in this order: its device value, contents kept aside for it, its host tensor. Functions
that only read it may need it in other layouts or element types than that value has; they get copies, each converted
once for every change, so that reading never costs the truth a bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pfcomp.errors import PfcompError, UsageError
from pfcomp.ir.elements import HOST_TYPES, Array
from pfcomp.runtime.handle import Handle
from pfcomp.runtime.iospec import IOSpec


class HostTensor(Protocol):
    """The user's own tensor behind a name. Two are equal if they are the same tensor."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    @property
    def torch_dtype(self) -> str:
        """Its element type by torch's name ("Float", ...)."""

    def read(self) -> Array:
        """A copy of its elements."""

    def write(self, array: Array) -> None:
        """Replace its elements in place."""


@dataclass(slots=True)
class _Copy:
    """A device value with the contents that an entry had at `version`."""

    value: Handle
    version: int


@dataclass(slots=True)
class Entry:
    """A named tensor. It is a handle like a `Value`, whatever its contents' whereabouts.

    `registered`: the user asked for it to be written back to the host tensor. `mutated`: a function of the context
    changes it. `kept`: contents that are neither on the device nor in the host tensor.
    """

    name: str
    host: HostTensor | None = None
    registered: bool = False
    mutated: bool = False
    value: Handle | None = None
    kept: Array | None = None
    writes: int = 0
    copies: list[_Copy] = field(default_factory=list)

    @property
    def spec(self) -> IOSpec:
        """Spec of the device value, or of the host tensor while there is none."""
        if self.value is not None:
            return self.value.spec
        if self.host is not None:
            return IOSpec(self.name, self.host.shape, self.host.torch_dtype, self.host.torch_dtype)
        raise _no_contents(self.name)

    @property
    def version(self) -> int:
        """Changes with every write, whoever writes."""
        return self.writes + (self.value.version if self.value is not None else 0)

    def read(self) -> Array:
        """A copy of the current contents."""
        if self.value is not None:
            return self.value.read()
        if self.kept is not None:
            return self.kept.copy()
        if self.host is not None:
            return self.host.read()
        raise _no_contents(self.name)

    def write(self, array: Array) -> None:
        """Replace the current contents; the host tensor stays as it is."""
        if self.value is not None:
            self.value.write(array)
            return
        self.kept = array.astype(HOST_TYPES[self.spec.torch_dtype]).reshape(self.spec.shape)
        self.writes += 1

    def bind(
        self, spec: IOSpec, allocate: Callable[[], Handle], initial: Callable[[], Array], *, changes: bool
    ) -> Handle:
        """The tensor as a device value that fits `spec`, made by `allocate` if there is no fitting one yet.

        `initial` supplies the contents of a tensor that nobody has given any. `changes` tells that the value will be
        written: then it becomes the tensor's value, otherwise it may be a copy.
        """
        if self.value is None:
            return self._load(spec, allocate, initial)
        if self.value.spec.is_memcopyable_to(spec):
            return self.value
        copy = self._copy(spec, allocate)
        if not changes:
            return copy.value
        self.copies = [each for each in self.copies if each is not copy]
        self.copies.append(_Copy(self.value, -1))  # its memory serves again when a function wants this layout
        self.writes = self.version + 1
        self.value = copy.value
        return self.value

    def _load(self, spec: IOSpec, allocate: Callable[[], Handle], initial: Callable[[], Array]) -> Handle:
        """Bring the contents to the device."""
        contents = self.read() if self.kept is not None or self.host is not None else initial()
        value = allocate()
        value.write(contents.reshape(spec.shape))
        self.writes = self.version + 1
        self.value, self.kept = value, None
        return value

    def _copy(self, spec: IOSpec, allocate: Callable[[], Handle]) -> _Copy:
        """The up-to-date copy that fits `spec`."""
        copy = next((each for each in self.copies if each.value.spec.is_memcopyable_to(spec)), None)
        if copy is None:
            copy = _Copy(allocate(), -1)
            self.copies.append(copy)
        if copy.version != self.version:
            copy.value.write(self.read().reshape(spec.shape))
            copy.version = self.version
        return copy

    def write_back(self) -> None:
        """Copy the contents to the host tensor if the tensor is registered and the host is behind."""
        if self.registered and self.host is not None and (self.value is not None or self.kept is not None):
            self.host.write(self.read())

    def leave_device(self) -> None:
        """Drop the device values, saving what exists nowhere else."""
        self.copies = []
        if self.value is None and self.kept is None:
            return
        if self.registered and self.host is not None:
            self.host.write(self.read())
            self.kept = None
        elif self.value is not None:
            self.kept = self.value.read() if self.mutated or self.host is None else None
        self.writes = self.version + 1
        self.value = None


class Registry:
    """The entries of a context by name."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def add(self, name: str, host: HostTensor) -> Entry:
        """Note that `host` is the tensor `name` and is to be written back. Raises UsageError PF0608 on a clash."""
        entry = self.know(name, host)
        entry.registered = True
        return entry

    def know(self, name: str, host: HostTensor | None = None) -> Entry:
        """The entry of `name`; `host` is where its first contents come from. Raises UsageError PF0608 on a clash."""
        entry = self.entries.setdefault(name, Entry(name))
        if entry.host is None:
            entry.host = host
        elif host is not None and entry.host != host:
            hint = "give every tensor its own name with set_tensor_name"
            raise UsageError("PF0608", f"the context knows another tensor as {name!r}", hint=hint)
        return entry

    def write_back(self) -> None:
        """Copy every registered tensor to its host tensor."""
        for entry in self.entries.values():
            entry.write_back()

    def leave_device(self) -> None:
        """Free all device values, after saving what exists nowhere else.

        Where a failed run was to give a tensor its contents, they are lost: the run's error is raised in the end.
        """
        failed: list[PfcompError] = []
        for entry in self.entries.values():
            try:
                entry.leave_device()
            except PfcompError as error:
                entry.value = None
                failed.append(error)
        if failed:
            raise failed[0]


def _no_contents(name: str) -> UsageError:
    return UsageError("PF0609", f"tensor {name!r} has no contents yet", hint="run a function that uses it first")
