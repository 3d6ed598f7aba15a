/* Eight single lanes rounded to half, and dot products of signed half mantissas (isa.md 18.1, 18.7). */
#ifndef PFCOMP_HALF_LANES_H
#define PFCOMP_HALF_LANES_H

#include "blocks.h"

#if defined(__SSE2__) && !defined(__AVX2__)
#include <emmintrin.h>
#endif

typedef int16_t S16 __attribute__((vector_size(32)));
typedef uint16_t H16 __attribute__((vector_size(32)));

/* Lane i: a[2i] * b[2i] + a[2i + 1] * b[2i + 1]. */
static inline __attribute__((always_inline)) I8 pair_products(S16 a, S16 b) {
#if defined(__AVX2__)
    return (I8)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    I8 r;
#if defined(__SSE2__)
    __m128i x[2], y[2];
    memcpy(x, &a, sizeof a);
    memcpy(y, &b, sizeof b);
    for (int i = 0; i < 2; i++) x[i] = _mm_madd_epi16(x[i], y[i]);
    memcpy(&r, x, sizeof r);
#else
    for (int i = 0; i < 8; i++) r[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
#endif
    return r;
#endif
}

/* The largest of 16 lanes, none negative. */
static inline __attribute__((always_inline)) int16_t largest(S16 v) {
#if defined(__AVX2__)
    __m256i inverse = (__m256i)~v; /* the processor has a minimum of unsigned lanes */
    __m128i least = _mm_min_epu16(_mm256_castsi256_si128(inverse), _mm256_extracti128_si256(inverse, 1));
    return (int16_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(least));
#else
    int16_t lanes[16], top = 0;
    memcpy(lanes, &v, sizeof lanes);
    for (int i = 0; i < 16; i++) top = lanes[i] > top ? lanes[i] : top;
    return top;
#endif
}

/* Exponent-0 patterns become +0. */
static inline __attribute__((always_inline)) U8 clean_lanes(U8 bits) {
    return bits & (U8)((bits & 0x7f800000u) != 0u);
}

/* The single sum s of p and z, moved one unit towards the exact sum if it lies half way between two halves. */
static inline __attribute__((always_inline)) U8 off_half_ties(F8 p, F8 z, F8 s) {
    F8 part = s - p, error = (p - (s - part)) + (z - part), zero = {0};
    U8 bits = (U8)s, inexact = (U8)((bits & 0x3fffu) == 0x2000u) & (U8)(error != zero);
    U8 away = ~((U8)(error > zero) ^ (U8)(s > zero)); /* all ones: the exact magnitude is larger */
    return bits + (inexact & ((away & 2u) - 1u));
}

/* Whether any bit of any lane is set. */
static inline __attribute__((always_inline)) uint32_t any_lane(U8 v) {
#if defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#else
    uint64_t parts[4];
    memcpy(parts, &v, sizeof parts);
    return (parts[0] | parts[1] | parts[2] | parts[3]) != 0;
#endif
}

/* Single to half bits, nearest even, below range +0. */
static inline __attribute__((always_inline)) U8 half_of(U8 bits) {
    U8 magnitude = bits & 0x7fffffffu, limit = (U8){0} + 0x7e00u;
    I8 value = (I8)((magnitude + 0x1fffu + ((bits >> 14) & 1u)) >> 14) - (96 << 9);
    U8 over = (U8)(value > (I8)limit);
    U8 r = (limit & over) | ((U8)value & ~over);
    return (r | ((bits >> 16) & 0x8000u)) & (U8)(value >= 0x200);
}

#endif
