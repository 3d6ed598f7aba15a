"""DRAM images against a scalar implementation written straight from backend-movement.md 2.1."""

from math import ceil, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.errors import SourceError
from pfcomp.layout import Layout, Level
from pfcomp.layout.half import half_to_single
from pfcomp.layout.hostmap import host_map
from pfcomp.layout.image import ImageSpec, element_bits, from_image, to_image
from tests.layout.strategies import valid_layouts
from tests.layout.test_places import slow_place

NAMED = {
    "add": ("((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])", (3, 4), np.float32, (0, 2, 0, 0), 16),
    "notes": ("((8_L2B:1, 8:2), (16_MAB:1, 2:1, 4_PE:1); B@[L1B,W])", (64, 128), np.float32, (4, 2, 0, 1), 2048),
    "himeno": (
        "((2_L2B:1, 16_MAB, 4:64), (2_L1B:4, 4_PE, 2_W, 8:1), (4_L2B:2, 4_L1B:1, 8:8))",
        (128, 128, 128), np.float32, (4, 2, 3, 1), 2 * 131072,
    ),
    "rows": ("((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1); B@[MAB])", (256, 16), np.float32, (0, 2, 3, 1), 512),
    "groups": ("((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))", (256, 16), np.float32, (0, 2, 0, 0), 512),
    "square": ("((16:2), (2:1, 4_PE:1, 2_W:1))", (16, 16), np.float32, (0, 2, 0, 0), 128),
    "split mab": (
        "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1); B@[8_L2B:1])",
        (16, 1024), np.float32, (4, 2, 3, 0), 8192,
    ),
    "half": ("((16_MAB:1, 256:6), (6:1, 4_W:1, 4_PE:1))", (4096, 96), np.uint16, (4, 2, 0, 0), 98304),
    "upper mab": ("((8:7), (7:1, 4_MAB:4, 4_PE:1))", (8, 100), np.int32, (2, 2, 0, 0), 896),
    "upper l1b": ("((5:7), (7:1), (5:35, 2_PE:1, 4_L1B:2))", (5, 7, 9), np.float64, (0, 2, 2, 0), 175 * 16 + 16),
    "padded": ("((8_L2B:1, 4_L1B:2, 16_MAB:1, 4_PE:1, 2_W:1))", (1000,), np.float32, (4, 2, 2, 1), 512),
    "copies": ("((100:1), (3:100))", (100, 3), np.float32, (0, 0, 0, 0), 304),
}  # fmt: skip


def bits_of(layout, level):
    """OR of all coordinates, by enumeration."""
    values = {0}
    for sub in (sub for axis in layout.axes for sub in axis if sub.level is level):
        values = {value + digit * sub.stride for value in values for digit in range(sub.size)}
    return int(np.bitwise_or.reduce(list(values)))


def slow_geometry(layout):
    """Mc, Pc, Bc, Cc, A, X, Y, S, Z as the text says."""
    mab, pe, l1b, l2b = (bits_of(layout, level) for level in (Level.MAB, Level.PE, Level.L1B, Level.L2B))
    mc = 4 if mab & 3 else 2 if mab & 12 else 0
    pc = 2 if pe or mc > 0 else 0
    bc = 3 if l1b & 1 else 2 if l1b & 6 else 0
    cc = 1 if l2b & 1 else 0
    a = 1 + sum((sub.size - 1) * sub.stride for axis in layout.axes for sub in axis if sub.level is Level.ADDR)
    x = a * 2**mc * 2**pc
    y = {0: x, 2: 64 * ceil(x / 16), 3: 64 * ceil(x / 8)}[bc]
    s = ceil(y / 64) * 64
    return mc, pc, bc, cc, a, x, y, s, 2 * s if cc else ceil(y / 16) * 16


def slow_positions(layout, index, bits):
    """All (group, long word, W) at which the element at `index` is stored."""
    mc, pc, bc, cc, _, _, _, s, z = slow_geometry(layout)
    at = slow_place(layout, index)

    def copies(level, count, stored):
        used = bits_of(layout, level)
        return [value for value in range(count) if value & used == at[level] and value & ~(used | stored) == 0]

    for l2b in copies(Level.L2B, 8, 6 | cc):
        for b in copies(Level.L1B, 8, {0: 0, 2: 6, 3: 7}[bc]):
            for m in copies(Level.MAB, 16, {0: 0, 2: 12, 4: 15}[mc]):
                for p in copies(Level.PE, 4, 3 if pc else 0):
                    mr = m >> (4 - mc)
                    x = (at[Level.ADDR] * 2**mc + mr) * 2**pc + (p if pc else 0)
                    y = {0: x, 2: 64 * (x >> 4) + 16 * (b >> 1) + (x & 15), 3: 64 * (x >> 3) + 8 * b + (x & 7)}[bc]
                    word = at[Level.TIME] * z + ((l2b & 1) * s if cc else 0) + y
                    for w in copies(Level.W, 64 // bits, 3):
                        yield l2b >> 1, word, w


def slow_image(array, layout, size):
    """The image, element by element; `array` holds unsigned integers."""
    bits = array.dtype.itemsize * 8
    image = [[0] * size for _ in range(4)]
    for index in np.ndindex(array.shape):
        for group, word, w in set(slow_positions(layout, index, bits)):
            shift = 64 - bits * (w + 1)
            assert image[group][word] >> shift & ((1 << bits) - 1) == 0
            image[group][word] |= int(array[index]) << shift
    return np.array(image, dtype=np.uint64)


def test_there_are_the_twelve_layouts():
    assert len(NAMED) == 12


@pytest.mark.parametrize("name", NAMED)
def test_named_layout(name):
    text, shape, dtype, classes, z = NAMED[name]
    layout = Layout.parse(text)
    spec = ImageSpec.of(layout, shape, element_bits(dtype))
    assert (spec.mab_bits, spec.pe_bits, spec.l1b_bits, int(spec.l2b_split)) == classes == slow_geometry(layout)[:4]
    assert spec.slice_words == spec.group_words == z
    rng = np.random.default_rng(7)
    array = rng.integers(1, 60000, size=shape).astype(dtype)
    image = to_image(array, layout)
    assert image.dtype == np.uint64
    assert image.shape == (4, z)
    carriers = array.view(f"u{array.dtype.itemsize}")
    if array.size <= 2000:
        assert np.array_equal(image, slow_image(carriers, layout, z))
    else:
        _check_sample(image, carriers, layout, rng)
    assert np.array_equal(from_image(image, layout, shape, dtype), array)


def _check_sample(image, array, layout, rng):
    bits = array.dtype.itemsize * 8
    copies = 0
    for _ in range(100):
        index = tuple(int(rng.integers(size)) for size in array.shape)
        positions = set(slow_positions(layout, index, bits))
        copies = len(positions)
        for group, word, w in positions:
            assert int(image[group, word]) >> (64 - bits * (w + 1)) & ((1 << bits) - 1) == array[index]
    stored = np.count_nonzero(image.view(f"u{array.dtype.itemsize}"))
    assert stored == copies * array.size


@given(valid_layouts(extra=((Level.ADDR, 40), (Level.TIME, 4))), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_image_of_any_layout_is_that_of_the_formula(case, seed):
    layout, shape, bits = case
    _, _, _, _, a, x, y, s, z = slow_geometry(layout)
    spec = ImageSpec.of(layout, shape, bits)
    sizes = (spec.addresses, spec.l1bm_words, spec.l2bm_words, spec.region_words, spec.slice_words)
    assert sizes == (a, x, y, s, z)
    array = np.random.default_rng(seed).integers(1, 2**15, size=shape).astype(f"u{bits // 8}")
    image = to_image(array, layout)
    assert image.shape == (4, spec.group_words) == (4, z * spec.times)
    copies = len(set(slow_positions(layout, (0,) * len(shape), bits)))
    if copies * prod(shape) <= 3000:
        assert np.array_equal(image, slow_image(array, layout, spec.group_words))
    else:
        _check_sample(image, array, layout, np.random.default_rng(seed))
    assert np.array_equal(from_image(image, layout, shape, array.dtype), array)


@given(valid_layouts(extra=((Level.ADDR, 300), (Level.TIME, 2))))
@settings(max_examples=40, deadline=None)
def test_positions_and_coordinates_of_a_region_are_inverse(case):
    layout, shape, bits = case
    spec = ImageSpec.of(layout, shape, bits)
    position = np.arange(spec.l2bm_words)
    addr, mab, pe, l1b = spec.coordinates(position)
    assert np.array_equal(spec.position(addr, mab, pe, l1b), position)
    for level, values in ((Level.MAB, mab), (Level.PE, pe), (Level.L1B, l1b)):
        assert not np.any(values & ~spec.stored_bits(level))
    assert host_map(spec) is host_map(ImageSpec.of(layout, shape, bits))


@given(valid_layouts(bits=32, extra=((Level.ADDR, 6), (Level.TIME, 2))), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_reading_takes_the_first_copy_and_ignores_everything_else(case, seed):
    layout, shape, bits = case
    rng = np.random.default_rng(seed)
    array = rng.integers(1, 2**31, size=shape).astype(np.int32)
    image = rng.integers(0, 2**63, size=(4, ImageSpec.of(layout, shape, bits).group_words)).astype(np.uint64)
    for flat in range(0, array.size, max(1, array.size // 20)):
        index = tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()
        group, word, w = min(slow_positions(layout, index, bits))
        shift = 32 * (1 - w)
        keep = ~(0xFFFFFFFF << shift) & (2**64 - 1)
        image[group, word] = (int(image[group, word]) & keep) | (int(array[index]) << shift)
    back = from_image(image, layout, shape, np.int32)
    step = max(1, array.size // 20)
    assert np.array_equal(back.reshape(-1)[::step], array.reshape(-1)[::step])


ADD = Layout.parse(NAMED["add"][0])


def test_add_byte_for_byte():
    array = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    image = to_image(array, ADD)
    words = array.view(np.uint32).reshape(-1).astype(np.uint64) << np.uint64(32)
    assert np.array_equal(image, np.tile(np.append(words, np.zeros(4, dtype=np.uint64)), (4, 1)))


@pytest.mark.parametrize(
    ("array", "word"),
    [
        (np.array(1.0, dtype=np.float32), 0x3F800000_3F800000),
        (np.array(-1, dtype=np.int32), 0xFFFFFFFF_FFFFFFFF),
        (np.array(True), 0x00000001_00000001),
        (np.array(-2, dtype=np.int64), 0xFFFFFFFF_FFFFFFFE),
        (np.array(1.0, dtype=np.float64), 0x3FF0000000000000),
        (np.array(1.0, dtype=np.float16), 0x3E003E003E003E00),
        (np.array(7, dtype=np.uint16), 0x0007000700070007),
        (np.array(1.0, dtype=">f4"), 0x3F800000_3F800000),
    ],
)
def test_scalars_fill_the_long_word_with_copies(array, word):
    image = to_image(array, Layout(()))
    assert image.shape == (4, 16)
    assert image[:, 0].tolist() == [word] * 4
    assert not image[:, 1:].any()
    back = from_image(image, Layout(()), (), array.dtype.newbyteorder("="))
    assert back.shape == ()
    assert back == array


def test_host_types():
    layout = Layout.parse("((3:1, 4_PE:1, 2_W:1))")
    flags = np.array([True, False, True] * 7)
    image = to_image(flags, layout)
    assert np.array_equal(from_image(image, layout, (21,), np.int32), flags)
    assert np.array_equal(from_image(image * np.uint64(5), layout, (21,), bool), flags)
    halves = np.linspace(-70000, 70000, 40, dtype=np.float32)
    wide = Layout.parse("((3:1, 4_PE:1, 4_W:1))")
    with np.errstate(over="ignore"):
        image = to_image(halves.astype(np.float16), wide)
    back = from_image(image, wide, (40,), np.uint16)
    assert np.isinf(half_to_single(back)[[0, -1]]).all()
    assert np.allclose(half_to_single(back)[2:-2], halves[2:-2], rtol=2**-9)
    assert from_image(image, wide, (40,), np.float16)[-1] == np.inf


def test_any_memory_order_and_step():
    array = np.arange(24 * 10, dtype=np.float32).reshape(24, 10)
    layout = Layout.parse("((5:6), (6:1, 4_PE:1))")
    view = array.T[::2]
    assert np.array_equal(to_image(view, layout), to_image(np.ascontiguousarray(view), layout))
    back = from_image(to_image(view, layout), layout, (5, 24), np.float32)
    assert np.array_equal(back, view)
    assert back.flags.c_contiguous
    assert back.flags.writeable


@pytest.mark.parametrize(
    "text",
    [
        "((7:1, 999:7, 4_PE:1, 2_W:1))",
        "((999:2003, 2003:1))",
        "((60:7, 2_L1B:1, 7:1, 31:420))",
        "((5_L2B:1, 3_Time:1, 9:9000, 2000:3))",
        "((9000:3, 2:1, 7_MAB:1))",
        "((2003:1, 16_MAB:1), (2_PE:2))",
    ],
)
def test_large_values_of_odd_sizes(text):
    layout = Layout.parse(text)
    shape = tuple(prod(sub.size for sub in axis) - 1 for axis in layout.axes)
    array = np.random.default_rng(3).integers(1, 2**31, size=shape).astype(np.int32)
    image = to_image(array, layout)
    _check_sample(image, array.view(np.uint32), layout, np.random.default_rng(4))
    assert np.array_equal(from_image(image, layout, shape, np.int32), array)


@pytest.mark.parametrize(
    ("array", "layout", "code"),
    [
        (np.zeros((3, 4), dtype=np.int8), ADD, "PF0207"),
        (np.zeros((3, 4), dtype=np.complex64), ADD, "PF0207"),
        (np.zeros((3, 4), dtype=object), ADD, "PF0207"),
        (np.zeros((3, 9), dtype=np.float32), ADD, "PF0202"),
        (np.zeros((3, 4), dtype=np.float64), ADD, "PF0204"),
        (np.zeros(3, dtype=np.float64), Layout.parse("((400000000:1, 4_PE:1))"), "PF0204"),
    ],
)
def test_arrays_without_an_image(array, layout, code):
    with pytest.raises(SourceError, match=code):
        to_image(array, layout)


@pytest.mark.parametrize("image", [np.zeros((4, 15), dtype=np.uint64), np.zeros((4, 16), dtype=np.int64)])
def test_images_of_another_size(image):
    with pytest.raises(SourceError, match="PF0207"):
        from_image(image, ADD, (3, 4), np.float32)
