"""The DRAM allocator against a plain model: no overlap, alignment, nothing lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.errors import DeviceError
from pfcomp.runtime.allocator import DramAllocator, round_up

ACTIONS = st.lists(st.tuples(st.integers(0, 700), st.booleans(), st.integers(0, 20)), max_size=60)


@given(ACTIONS)
@settings(max_examples=100, deadline=None)
def test_ranges_never_overlap_and_come_back(actions):
    allocator = DramAllocator(8192)
    whole = allocator.largest
    live: dict[int, int] = {}
    for size, written, victim in actions:
        base = allocator.allocate(size, written=written)
        reserve = round_up(max(size, 1), 64 if written else 16)
        assert base % (64 if size >= 64 else 16) == 0
        assert all(base + reserve <= other or other + length <= base for other, length in live.items())
        assert base + round_up(size, 16) + 48 <= 8192
        live[base] = reserve
        if victim < len(live):
            chosen = sorted(live)[victim]
            del live[chosen]
            (allocator.free if written else allocator.release)(chosen)
        while sum(live.values()) > 4000:
            live.pop(base := max(live))
            allocator.free(base)
        assert allocator.used == sum(live.values())
    for base in live:
        allocator.free(base)
    assert allocator.largest == whole


def test_equal_histories_give_equal_maps():
    maps = []
    for _ in range(2):
        allocator = DramAllocator()
        first = allocator.allocate(16)
        second = allocator.allocate(100)
        allocator.free(first)
        maps.append((first, second, allocator.allocate(32), allocator.allocate(16)))
    assert maps[0] == maps[1] == (0, 64, 0, 192)


def test_small_read_only_values_are_packed():
    allocator = DramAllocator()
    assert [allocator.allocate(16, written=False) for _ in range(3)] == [0, 16, 32]


def test_out_of_memory_says_how_much_is_missing():
    allocator = DramAllocator()
    allocator.allocate(allocator.capacity // 2)
    with pytest.raises(DeviceError) as caught:
        allocator.allocate(allocator.capacity // 2 + 64, name="weights")
    assert caught.value.code == "PF0606"
    assert "for weights: 2049 MiB" not in str(caught.value)
    assert "for weights: 2048 MiB needed in each group" in str(caught.value)
