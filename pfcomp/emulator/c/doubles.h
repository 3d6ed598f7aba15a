/* Eight binary64 lanes for eight 32-bit ones. Written out for AVX-512, where compilers split the conversions. */
#ifndef PFCOMP_DOUBLES_H
#define PFCOMP_DOUBLES_H

#include "blocks.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

typedef double D8 __attribute__((vector_size(64)));
typedef uint64_t L8 __attribute__((vector_size(64)));
typedef int64_t S8 __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) D8 singles_to_doubles(F8 v) {
#if defined(__AVX512F__)
    return (D8)_mm512_cvtps_pd((__m256)v);
#else
    return __builtin_convertvector(v, D8);
#endif
}

static inline __attribute__((always_inline)) F8 doubles_to_singles(D8 v) {
#if defined(__AVX512F__)
    return (F8)_mm512_cvtpd_ps((__m512d)v);
#else
    return __builtin_convertvector(v, F8);
#endif
}

static inline __attribute__((always_inline)) D8 integers_to_doubles(I8 v) {
#if defined(__AVX512F__)
    return (D8)_mm512_cvtepi32_pd((__m256i)v);
#else
    return __builtin_convertvector(v, D8);
#endif
}

static inline __attribute__((always_inline)) S8 widen_integers(I8 v) {
#if defined(__AVX512F__)
    return (S8)_mm512_cvtepi32_epi64((__m256i)v);
#else
    return __builtin_convertvector(v, S8);
#endif
}

static inline __attribute__((always_inline)) D8 spread_number(double x) { return (D8){x, x, x, x, x, x, x, x}; }

/* a * b + c where that is exact, so that it does not matter how often it is rounded. */
static inline __attribute__((always_inline)) D8 multiply_add(D8 a, D8 b, D8 c) {
#if defined(__AVX512F__)
    return (D8)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#else
    return a * b + c;
#endif
}

static inline __attribute__((always_inline)) D8 load_numbers(const double *from) {
    D8 v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Whether any bit of any lane is set. */
static inline __attribute__((always_inline)) int any_long(L8 v) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) != 0;
#else
    uint64_t parts[8], any = 0;
    memcpy(parts, &v, sizeof parts);
    for (int i = 0; i < 8; i++) any |= parts[i];
    return any != 0;
#endif
}

/* Whether any lane has exactly `wanted` in the bits of `mask`. */
static inline __attribute__((always_inline)) int any_equal(L8 v, uint64_t mask, uint64_t wanted) {
#if defined(__AVX512F__)
    __m512i part = _mm512_and_si512((__m512i)v, _mm512_set1_epi64((long long)mask));
    return _mm512_cmpeq_epi64_mask(part, _mm512_set1_epi64((long long)wanted)) != 0;
#else
    return any_long((L8)((v & mask) == wanted));
#endif
}

#endif
