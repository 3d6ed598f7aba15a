/* Bit patterns of single and half lanes, without branches so that loops vectorise. */
#ifndef PFCOMP_LANES_H
#define PFCOMP_LANES_H

#include <stdint.h>
#include <string.h>

#define F_EXPONENT 0x7f800000u
#define F_SIGN 0x80000000u
#define LEAST_SINGLE 0x00800000u /* the least normal number */

static inline float as_float(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline uint32_t float_bits(float f) { uint32_t bits; memcpy(&bits, &f, 4); return bits; }
static inline double as_double(uint64_t bits) { double d; memcpy(&d, &bits, 8); return d; }
static inline uint64_t double_bits(double d) { uint64_t bits; memcpy(&bits, &d, 8); return bits; }

/* All ones if the condition holds: loops without branches vectorise. */
static inline uint32_t mask_if(int condition) { return 0u - (uint32_t)condition; }

/* Exponent-0 patterns become +0. */
static inline uint32_t clean(uint32_t bits) { return bits & mask_if((bits & F_EXPONENT) != 0); }

/* Half to single bits: exact; exponent 0 gives a signed zero, all ones an infinity. */
static inline uint32_t half_to_single(uint32_t half) {
    uint32_t sign = (half & 0x8000u) << 16, body = (half & 0x7fffu) << 14, field = half & 0x7e00u;
    uint32_t value = field == 0x7e00u ? (body | F_EXPONENT) : body + (96u << 23);
    return sign | (field ? value : 0);
}

/* Single to half bits, nearest even, below range +0 (operand suffix r). */
static inline uint32_t single_to_half(uint32_t bits) {
    uint32_t magnitude = bits & 0x7fffffffu;
    int32_t value = (int32_t)((magnitude + 0x1fffu + ((bits >> 14) & 1)) >> 14) - (96 << 9);
    value = value > 0x7e00 ? 0x7e00 : value;
    value = magnitude >= F_EXPONENT ? 0x7e00 : value;
    return value < 0x200 ? 0 : (uint32_t)value | ((bits >> 16) & 0x8000u);
}

/* A binary64 number to half bits, one rounding, below range +0. */
static inline uint32_t double_to_half(uint64_t bits) {
    uint64_t rounded = (bits + 0x3ffffffffffull + ((bits >> 43) & 1)) >> 43;
    int32_t value = (int32_t)(rounded & 0xfffffu) - (992 << 9);
    value = value > 0x7e00 ? 0x7e00 : value;
    return value < 0x200 ? 0 : (uint32_t)value | ((uint32_t)(bits >> 48) & 0x8000u);
}

/* What p + z rounded to s leaves, exactly (two-sum). */
static inline double sum_error(double p, double z, double s) {
    double part = s - p;
    return (p - (s - part)) + (z - part);
}

/* p + z in binary64, moved one unit towards the exact sum if it is not exact: for sums that lie half way between two
   shorter numbers. */
static inline double sum_off_ties(double p, double z) {
    double s = p + z, error = sum_error(p, z, s);
    if (error == 0) return s;
    uint64_t bits = double_bits(s);
    return as_double((error > 0) == (s > 0) ? bits + 1 : bits - 1);
}

/* Flags of lanes: TIE can be settled from the two binary64 terms, EXACT needs the exact routine. */
enum { TIE = 1, EXACT = 2 };

static inline uint64_t single_to_double(uint32_t bits) {
    uint64_t body = (uint64_t)(bits & 0x7fffffffu) << 29, sign = (uint64_t)(bits & F_SIGN) << 32;
    uint32_t field = bits & F_EXPONENT;
    uint64_t value = field == F_EXPONENT ? body | (0x7ffull << 52) : body + (896ull << 52);
    return sign | (field ? value : 0);
}

#endif
