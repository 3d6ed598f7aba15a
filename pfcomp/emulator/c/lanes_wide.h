/* Sixteen 32-bit lanes of AVX-512. Denormals count as zero in operands and results (engine.c sets the processor so),
   and the range of a result is tested after rounding: as isa.md 18.1 reads. */
#ifndef PFCOMP_LANES_WIDE_H
#define PFCOMP_LANES_WIDE_H

#if defined(__AVX512F__)
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define WORDS_OF(value) _mm512_set1_epi32((int)(value))
#define LONGS_OF(value) _mm512_set1_epi64((long long)(value))

/* Sixteen numbers in binary64: lanes 0 to 7 and 8 to 15. */
typedef struct {
    __m512d low, high;
} Doubles;

INLINE __m512i load_16(const void *from) { return _mm512_loadu_si512(from); }
INLINE Doubles widen_16(const float *from) {
    return (Doubles){_mm512_cvtps_pd(_mm256_loadu_ps(from)), _mm512_cvtps_pd(_mm256_loadu_ps(from + 8))};
}
INLINE __m512 join_16(__m256 low, __m256 high) { return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1); }

/* -0 becomes +0. */
INLINE __m512 no_minus_zero(__m512 v) { return _mm512_add_ps(v, _mm512_setzero_ps()); }

/* Lanes that are not finite. */
INLINE __mmask16 odd_16(__m512 v) { return _mm512_fpclass_ps_mask(v, 0x99); }

/* Lanes whose binary64 sum lies half way between two singles. */
INLINE __mmask16 single_ties(Doubles s) {
    const __m512i words = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    __m512i low = _mm512_permutex2var_epi32(_mm512_castpd_si512(s.low), words, _mm512_castpd_si512(s.high));
    return _mm512_cmpeq_epi32_mask(_mm512_slli_epi32(low, 3), WORDS_OF(0x80000000));
}

/* The single sum s = p + z, moved one unit towards the exact sum where it lies half way between two halves. */
INLINE __m512i off_half_ties_16(__m512 p, __m512 z, __m512 s) {
    __m512 part = _mm512_sub_ps(s, p);
    __m512 error = _mm512_add_ps(_mm512_sub_ps(p, _mm512_sub_ps(s, part)), _mm512_sub_ps(z, part));
    __m512i bits = _mm512_castps_si512(s), one = WORDS_OF(1);
    __mmask16 tie = _mm512_cmpeq_epi32_mask(_mm512_and_si512(bits, WORDS_OF(0x3fff)), WORDS_OF(0x2000));
    tie = _mm512_mask_cmp_ps_mask(tie, error, _mm512_setzero_ps(), _CMP_NEQ_OQ);
    __mmask16 towards_zero = _mm512_movepi32_mask(_mm512_castps_si512(_mm512_xor_ps(error, s)));
    bits = _mm512_mask_sub_epi32(bits, tie & towards_zero, bits, one);
    return _mm512_mask_add_epi32(bits, tie & (__mmask16)~towards_zero, bits, one);
}

/* Single to half bits in 32-bit lanes, nearest even, below range +0. */
INLINE __m512i half_of_16(__m512i bits) {
    __mmask16 last = _mm512_test_epi32_mask(bits, WORDS_OF(1 << 14));
    __m512i half_step = _mm512_add_epi32(bits, WORDS_OF(0x1fff)), rounded = _mm512_mask_add_epi32(half_step, last, half_step, WORDS_OF(1));
    __m512i magnitude = _mm512_srli_epi32(_mm512_slli_epi32(rounded, 1), 15);
    __m512i value = _mm512_min_epi32(_mm512_sub_epi32(magnitude, WORDS_OF(96 << 9)), WORDS_OF(0x7e00));
    __mmask16 some = _mm512_cmpge_epi32_mask(value, WORDS_OF(0x200));
    return _mm512_maskz_ternarylogic_epi32(some, value, _mm512_srli_epi32(bits, 16), WORDS_OF(0x8000), 0xf8); /* a | (b & c) */
}

/* Two half results in the low bits of the words of each long word, packed into its low word. */
INLINE __m512i pack_pairs(__m512i halves) {
    return _mm512_and_si512(_mm512_or_si512(halves, _mm512_srli_epi64(halves, 16)), LONGS_OF(0xffffffff));
}

#endif
#endif
