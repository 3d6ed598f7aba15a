"""Where named tensors are, through binding, eviction and write-back."""

import numpy as np
import pytest

from pfcomp.errors import UsageError
from pfcomp.runtime.handle import HostValue
from pfcomp.runtime.iospec import IOSpec
from pfcomp.runtime.registry import Registry

SPEC = IOSpec("w", (2, 2), "Float")
OTHER = IOSpec("w", (4,), "Float")


class Host:
    shape = (2, 2)
    torch_dtype = "Float"

    def __init__(self, fill: float) -> None:
        self.array = np.full((2, 2), fill, np.float32)

    def read(self):
        return self.array.copy()

    def write(self, array):
        self.array[...] = array.reshape(2, 2)


def bind(entry, spec=SPEC, changes=True):
    def new():
        return HostValue(spec, np.zeros(spec.shape, spec.host_type))

    return entry.bind(spec, new, lambda: np.full(spec.shape, 9.0), changes=changes)


def test_contents_come_from_the_host_then_live_on_the_device():
    registry, host = Registry(), Host(1)
    entry = registry.add("w", host)
    value = bind(entry)
    value.write(np.full((2, 2), 5.0))
    assert bind(entry) is value
    assert host.array[0, 0] == 1
    registry.write_back()
    assert host.array[0, 0] == 5


def test_initial_contents_are_for_unknown_tensors_only():
    assert bind(Registry().know("w")).read()[0, 0] == 9
    assert bind(Registry().know("w", Host(2))).read()[0, 0] == 2


def test_another_layout_takes_the_contents_along():
    entry = Registry().add("w", Host(3))
    bind(entry).write(np.full((2, 2), 4.0))
    assert bind(entry, OTHER).read().tolist() == [4.0] * 4


def test_writes_before_the_first_run_do_not_touch_the_host():
    host = Host(1)
    entry = Registry().add("w", host)
    before = entry.version
    entry.write(np.full(4, 6.0))
    assert entry.version > before
    assert (entry.read()[0, 0], host.array[0, 0]) == (6, 1)
    assert bind(entry).read()[0, 0] == 6


def test_leaving_the_device():
    registry, hosts = Registry(), {name: Host(1) for name in ("registered", "read", "mutated")}
    registry.add("registered", hosts["registered"])
    registry.know("read", hosts["read"])
    registry.know("mutated", hosts["mutated"]).mutated = True
    for entry in registry.entries.values():
        bind(entry).write(np.full((2, 2), 5.0))
    registry.leave_device()
    assert {name: float(host.array[0, 0]) for name, host in hosts.items()} == {"registered": 5, "read": 1, "mutated": 1}
    for host in hosts.values():
        host.write(np.full((2, 2), 7.0))
    contents = {name: float(bind(entry).read()[0, 0]) for name, entry in registry.entries.items()}
    assert contents == {"registered": 7, "read": 7, "mutated": 5}
    registry.leave_device()
    registry.leave_device()


def test_versions_only_grow():
    entry = Registry().add("w", Host(1))
    seen = [entry.version]
    for action in (lambda: entry.write(np.zeros(4)), lambda: bind(entry), lambda: bind(entry, OTHER),
                   lambda: entry.write(np.ones(4)), entry.leave_device, lambda: bind(entry)):  # fmt: skip
        action()
        seen.append(entry.version)
    assert seen == sorted(set(seen))


def test_clashes_and_missing_contents():
    registry, host = Registry(), Host(1)
    assert registry.add("w", host) is registry.add("w", host)
    for clash in (registry.add, registry.know):
        with pytest.raises(UsageError, match="PF0608"):
            clash("w", Host(1))
    for action in (registry.know("new").read, lambda: registry.know("new").spec):
        with pytest.raises(UsageError, match="PF0609"):
            action()


def test_readers_in_another_type_do_not_change_the_contents():
    halves = IOSpec("w", (2, 2), "Half", "Half")
    entry = Registry().add("w", Host(1 / 3))
    value = bind(entry)
    copy = bind(entry, halves, changes=False)
    assert entry.value is value
    assert copy.read()[0, 0] == np.float16(1 / 3) != np.float32(1 / 3)
    before = copy.version
    assert bind(entry, halves, changes=False) is copy
    assert copy.version == before
    value.write(np.full((2, 2), 2 / 3))
    assert bind(entry, halves, changes=False) is copy
    assert copy.read()[0, 0] == np.float16(2 / 3)
    assert bind(entry).read()[0, 0] == np.float32(2 / 3)


def test_writers_take_over_and_reuse_memory():
    entry = Registry().add("w", Host(1))
    first, second = bind(entry), bind(entry, OTHER)
    for n in range(3):
        assert bind(entry) is first
        first.write(np.full((2, 2), n))
        assert bind(entry, OTHER) is second
        assert second.read().tolist() == [n] * 4
        second.write(np.full(4, n + 0.5))
    assert bind(entry, SPEC, changes=False).read()[0, 0] == 2.5
    entry.leave_device()
    assert entry.copies == []
