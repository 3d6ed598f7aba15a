"""Element conversions, exhaustively where the domain has 16 bits."""

import numpy as np

from pfcomp.runtime.elements import CARRIERS, decode, encode, half_to_single, single_to_half

ALL_HALVES = np.arange(65536, dtype=np.uint16)


def exact_half(bits: int) -> float:
    """The value of a chip half by its definition (isa.md 2)."""
    exponent, mantissa = bits >> 9 & 63, bits & 511
    if exponent == 0:
        return 0.0
    return float("inf") if exponent == 63 else (512 + mantissa) * 2.0 ** (exponent - 31 - 9)


def test_every_half_has_its_value():
    expected = np.array([exact_half(int(b)) * (-1 if b >> 15 else 1) for b in ALL_HALVES], dtype=np.float32)
    assert np.array_equal(half_to_single(ALL_HALVES), expected)


def test_every_finite_half_comes_back():
    kept = ALL_HALVES[((ALL_HALVES >> 9) & 63 != 0) & ((ALL_HALVES & 0x7FFF) <= 63 << 9)]
    assert np.array_equal(single_to_half(half_to_single(kept)), kept)


def test_rounding_is_to_the_nearest_even():
    values = np.random.default_rng(0).standard_normal(4000).astype(np.float32)
    middle = (half_to_single(np.arange(1 << 9, 62 << 9, 7, dtype=np.uint16)) * np.float32(1 + 2**-10)).astype(
        np.float32
    )
    positive = half_to_single(np.arange(1 << 9, 63 << 9, dtype=np.uint16)).astype(np.float64)
    for value in (*values, *middle):
        got = float(half_to_single(single_to_half(np.array([value])))[0])
        distance = np.abs(positive - abs(float(value)))
        assert abs(abs(got) - abs(float(value))) == distance.min()
        if (distance == distance.min()).sum() == 2:
            assert int(single_to_half(np.array([value]))[0]) % 2 == 0


def test_ends_of_the_range():
    values = np.array([0.0, -0.0, 1e-30, -1e-12, 2.0**-30, 5e9, -5e9, np.inf, -np.inf], np.float32)
    assert [f"{b:04x}" for b in single_to_half(values)] == [
        "0000", "0000", "0000", "0000", "0200", "7e00", "fe00", "7e00", "fe00",
    ]  # fmt: skip


def test_types_round_trip():
    for dtype, torch_dtype, values in [
        ("Float", "Float", [1.5, -2.0]),
        ("Half", "Half", [1.5, -2.0]),
        ("Half", "Float", [1.5, -2.0]),
        ("Double", "Double", [0.1, -2.0]),
        ("Int", "Byte", [200, 7]),
        ("Long", "Long", [2**40, -7]),
        ("Bool", "Bool", [True, False]),
    ]:
        carriers = encode(np.array(values), dtype)
        assert carriers.dtype == CARRIERS[dtype]
        assert decode(carriers, dtype, torch_dtype).tolist() == values
