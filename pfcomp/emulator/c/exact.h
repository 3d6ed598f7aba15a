/* Exact numbers of up to 128 bits and their rounding (isa.md 18.1); scalar, for lanes that need care and for doubles. */
#ifndef PFCOMP_EXACT_H
#define PFCOMP_EXACT_H

#include <stdint.h>

__extension__ typedef unsigned __int128 u128;

typedef struct {
    int mantissa, exponent; /* field widths */
} Format;

static const Format DOUBLE = {52, 11}, SINGLE = {23, 8}, HALF = {9, 6};

/* (-1)^negative * magnitude * 2^power; infinite: magnitude is ignored. */
typedef struct {
    u128 magnitude;
    int power, negative, infinite;
} Exact;

static inline int bias_of(Format f) { return (1 << (f.exponent - 1)) - 1; }
static inline int infinite_of(Format f) { return (1 << f.exponent) - 1; }
static inline int field_of(uint64_t bits, Format f) { return (int)(bits >> f.mantissa) & infinite_of(f); }
static inline int sign_of(uint64_t bits, Format f) { return (int)(bits >> (f.mantissa + f.exponent)) & 1; }
static inline uint64_t fraction_of(uint64_t bits, Format f) { return bits & ((1ull << f.mantissa) - 1); }

static inline uint64_t infinity_bits(int negative, Format f) {
    return ((uint64_t)negative << (f.mantissa + f.exponent)) | ((uint64_t)infinite_of(f) << f.mantissa);
}

static inline int length_of(u128 m) {
    uint64_t high = (uint64_t)(m >> 64), low = (uint64_t)m;
    if (high) return 128 - __builtin_clzll(high);
    return low ? 64 - __builtin_clzll(low) : 0;
}

static inline Exact exact_value(uint64_t bits, Format f) {
    Exact v = {0, 0, sign_of(bits, f), 0};
    int field = field_of(bits, f);
    v.infinite = field == infinite_of(f);
    if (field) v.magnitude = fraction_of(bits, f) | (1ull << f.mantissa);
    v.power = field - bias_of(f) - f.mantissa;
    return v;
}

/* The chip's product of two mantissas: the product of the low k bits becomes 2^(2k-2) unless it is zero (18.2). */
static inline u128 approximate(uint64_t a, uint64_t b, int k) {
    uint64_t low = (a & ((1ull << k) - 1)) * (b & ((1ull << k) - 1));
    return (u128)a * b - low + (low ? 1ull << (2 * k - 2) : 0);
}

static inline Exact exact_product(uint64_t x, uint64_t y, Format f, int low_bits) {
    Exact a = exact_value(x, f), b = exact_value(y, f);
    Exact r = {0, a.power + b.power, a.negative ^ b.negative, 0};
    if (!a.magnitude || !b.magnitude) return r; /* also infinity times zero */
    r.infinite = a.infinite | b.infinite;
    r.magnitude = low_bits ? approximate((uint64_t)a.magnitude, (uint64_t)b.magnitude, low_bits) : a.magnitude * b.magnitude;
    return r;
}

static inline u128 shift_right_jam(u128 m, int count) {
    if (count >= 128) return m != 0;
    if (count <= 0) return m;
    return (m >> count) | ((m & (((u128)1 << count) - 1)) != 0);
}

/* a + b where a bit 0 of the result may stand for everything below it; infinities of opposite sign cancel to zero. */
static inline Exact exact_add(Exact a, Exact b) {
    Exact zero = {0, 0, 0, 0};
    if (a.infinite || b.infinite) {
        if (a.infinite && b.infinite && a.negative != b.negative) return zero;
        return a.infinite ? a : b;
    }
    if (!a.magnitude) return b;
    if (!b.magnitude) return a;
    int up_a = 122 - length_of(a.magnitude), up_b = 122 - length_of(b.magnitude);
    a.magnitude <<= up_a, a.power -= up_a;
    b.magnitude <<= up_b, b.power -= up_b;
    if (a.power < b.power) { Exact swap = a; a = b; b = swap; }
    b.magnitude = shift_right_jam(b.magnitude, a.power - b.power);
    if (a.negative == b.negative) {
        a.magnitude += b.magnitude;
    } else if (a.magnitude >= b.magnitude) {
        a.magnitude -= b.magnitude;
    } else {
        a.magnitude = b.magnitude - a.magnitude;
        a.negative = b.negative;
    }
    return a;
}

static inline uint64_t exact_round(Exact v, Format f) {
    if (v.infinite) return infinity_bits(v.negative, f);
    if (!v.magnitude) return 0;
    u128 m = v.magnitude;
    int drop = length_of(m) - (f.mantissa + 1);
    if (drop > 0) {
        u128 rest = m & (((u128)1 << drop) - 1), half = (u128)1 << (drop - 1);
        m >>= drop;
        if (rest > half || (rest == half && (m & 1))) m++;
        if (m >> (f.mantissa + 1)) m >>= 1, drop++;
    } else {
        m <<= -drop;
    }
    int64_t field = (int64_t)v.power + drop + f.mantissa + bias_of(f);
    if (field <= 0) return 0;
    if (field >= infinite_of(f)) return infinity_bits(v.negative, f);
    return ((uint64_t)v.negative << (f.mantissa + f.exponent)) | ((uint64_t)field << f.mantissa) | fraction_of((uint64_t)m, f);
}

static inline uint64_t fma_exact(uint64_t x, uint64_t y, uint64_t z, Format in, int low_bits, Format add, Format out) {
    return exact_round(exact_add(exact_product(x, y, in, low_bits), exact_value(z, add)), out);
}

#endif
