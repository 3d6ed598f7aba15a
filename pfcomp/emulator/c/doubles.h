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

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Both halves of eight lanes. */
static inline __attribute__((always_inline)) D8 join_numbers(__m256d low, __m256d high) {
    D8 r;
    memcpy(&r, &low, sizeof low);
    memcpy((char *)&r + sizeof low, &high, sizeof high);
    return r;
}

static inline __attribute__((always_inline)) __m256d half_numbers(D8 v, int upper) {
    __m256d r;
    memcpy(&r, (const char *)&v + (upper ? sizeof r : 0), sizeof r);
    return r;
}
#endif

static inline __attribute__((always_inline)) D8 singles_to_doubles(F8 v) {
#if defined(__AVX512F__)
    return (D8)_mm512_cvtps_pd((__m256)v);
#elif defined(__AVX2__)
    return join_numbers(_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)), _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1)));
#else
    return __builtin_convertvector(v, D8);
#endif
}

static inline __attribute__((always_inline)) F8 doubles_to_singles(D8 v) {
#if defined(__AVX512F__)
    return (F8)_mm512_cvtpd_ps((__m512d)v);
#elif defined(__AVX2__)
    return (F8)_mm256_set_m128(_mm256_cvtpd_ps(half_numbers(v, 1)), _mm256_cvtpd_ps(half_numbers(v, 0)));
#else
    return __builtin_convertvector(v, F8);
#endif
}

static inline __attribute__((always_inline)) D8 integers_to_doubles(I8 v) {
#if defined(__AVX512F__)
    return (D8)_mm512_cvtepi32_pd((__m256i)v);
#elif defined(__AVX2__)
    __m256i words = (__m256i)v;
    return join_numbers(_mm256_cvtepi32_pd(_mm256_castsi256_si128(words)), _mm256_cvtepi32_pd(_mm256_extracti128_si256(words, 1)));
#else
    return __builtin_convertvector(v, D8);
#endif
}

static inline __attribute__((always_inline)) S8 widen_integers(I8 v) {
#if defined(__AVX512F__)
    return (S8)_mm512_cvtepi32_epi64((__m256i)v);
#elif defined(__AVX2__)
    __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128((__m256i)v)), high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256((__m256i)v, 1));
    return (S8)join_numbers((__m256d)low, (__m256d)high);
#else
    return __builtin_convertvector(v, S8);
#endif
}

static inline __attribute__((always_inline)) D8 spread_number(double x) { return (D8){x, x, x, x, x, x, x, x}; }

/* a * b + c where that is exact, so that it does not matter how often it is rounded. */
static inline __attribute__((always_inline)) D8 multiply_add(D8 a, D8 b, D8 c) {
#if defined(__AVX512F__)
    return (D8)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    return join_numbers(_mm256_fmadd_pd(half_numbers(a, 0), half_numbers(b, 0), half_numbers(c, 0)),
                        _mm256_fmadd_pd(half_numbers(a, 1), half_numbers(b, 1), half_numbers(c, 1)));
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
#elif defined(__AVX2__)
    __m256i ones = _mm256_set1_epi64x((long long)mask), pattern = _mm256_set1_epi64x((long long)wanted);
    __m256i low = _mm256_cmpeq_epi64(_mm256_and_si256((__m256i)half_numbers((D8)v, 0), ones), pattern);
    __m256i high = _mm256_cmpeq_epi64(_mm256_and_si256((__m256i)half_numbers((D8)v, 1), ones), pattern);
    return _mm256_movemask_epi8(_mm256_or_si256(low, high)) != 0;
#else
    return any_long((L8)((v & mask) == wanted));
#endif
}

#endif
