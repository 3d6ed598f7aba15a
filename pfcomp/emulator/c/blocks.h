/* Eight 32-bit lanes at a time for block float: a MAB's eight words, or half of its sixteen halves (isa.md 18.5). */
#ifndef PFCOMP_BLOCKS_H
#define PFCOMP_BLOCKS_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef uint32_t U8 __attribute__((vector_size(32)));
typedef int32_t I8 __attribute__((vector_size(32)));
typedef uint16_t H8 __attribute__((vector_size(16)));
typedef float F8 __attribute__((vector_size(32)));

#if defined(__clang__)
#define SWAP_1(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#define SWAP_2(v) __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5)
#define SWAP_4(v) __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__) /* lanes of a: 0 to 7, of b: 8 to 15 */
#else
#define SWAP_1(v) __builtin_shuffle(v, (U8){1, 0, 3, 2, 5, 4, 7, 6})
#define SWAP_2(v) __builtin_shuffle(v, (U8){2, 3, 0, 1, 6, 7, 4, 5})
#define SWAP_4(v) __builtin_shuffle(v, (U8){4, 5, 6, 7, 0, 1, 2, 3})
#define PICK(a, b, ...) __builtin_shuffle(a, b, (U8){__VA_ARGS__})
#endif

/* Lanes of the vector that belong to one block: all, or those of the same parity (single block float). */
enum { ALL = 0, PARITY = 1 };

static inline __attribute__((always_inline)) U8 larger(U8 a, U8 b) {
#if defined(__AVX2__)
    return (U8)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
    U8 mask = (U8)((I8)a > (I8)b);
    return (a & mask) | (b & ~mask);
#endif
}

static inline __attribute__((always_inline)) U8 spread_max(U8 v, int kind) {
    v = larger(v, SWAP_4(v));
    v = larger(v, SWAP_2(v));
    return kind == ALL ? larger(v, SWAP_1(v)) : v;
}

static inline __attribute__((always_inline)) U8 spread_or(U8 v, int kind) {
    v |= SWAP_4(v);
    v |= SWAP_2(v);
    return kind == ALL ? v | SWAP_1(v) : v;
}

/* A bit for each lane of all ones. */
static inline __attribute__((always_inline)) uint32_t bits_of(U8 v) {
#if defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)v);
#else
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) bits |= v[i] >> 31 << i;
    return bits;
#endif
}

static inline __attribute__((always_inline)) U8 load_words(const uint32_t *from) {
    U8 v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline __attribute__((always_inline)) U8 load_halves(const uint16_t *from) {
    H8 v;
    memcpy(&v, from, sizeof v);
    return __builtin_convertvector(v, U8);
}

/* value / 2^count, nearest even; counts above 31 give what 31 gives, zero for values below 2^30. */
static inline __attribute__((always_inline)) U8 nearest_even_lanes(U8 value, U8 count) {
    U8 big = (U8)(count > 31u), n = (count & ~big) | (big & 31u), one = (U8){0} + 1u;
    U8 kept = value >> n, rest = value & ((one << n) - 1u), half = (one << n) >> 1;
    U8 up = (U8)(rest > half) | ((U8)(rest == half) & (0u - (kept & 1u)) & (U8)(n != 0u));
    return kept + (up & (U8)(n != 0u) & 1u);
}

#endif
