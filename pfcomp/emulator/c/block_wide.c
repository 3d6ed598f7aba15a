/* Block-float normalisation two MABs at a time with AVX-512 (isa.md 18.5); block.c is the plain form. */
#include "block.h"

#if defined(__AVX512F__)
#include "lanes_wide.h"

/* value / 2^count, nearest even, for count >= 1; zero where count is larger than the lane. */
#define NEAREST_EVEN(value, count, bits, one)                                                                                  \
    srlv(bits)(add(bits)(add(bits)(value, sub(bits)(sllv(bits)(one, sub(bits)(count, one)), one)),                            \
                         _mm512_and_si512(srlv(bits)(value, count), one)),                                                    \
               count)
#define add(bits) _mm512_add_epi##bits
#define sub(bits) _mm512_sub_epi##bits
#define srlv(bits) _mm512_srlv_epi##bits
#define sllv(bits) _mm512_sllv_epi##bits

/* Sets all bits of the blocks (`parts` of them) that have one set. */
static inline uint32_t fill_blocks(uint32_t lanes, const uint32_t *parts, int count) {
    uint32_t all = 0;
    for (int i = 0; i < count; i++) all |= lanes & parts[i] ? parts[i] : 0;
    return all;
}

static void halves(const uint64_t *src, uint64_t *dst, int length) {
    static const uint32_t PARTS[2] = {0x0000ffff, 0xffff0000};
    const __m512i one = _mm512_set1_epi16(1), field_ones = _mm512_set1_epi16(63), shorten = _mm512_set1_epi16((short)(10 - length));
    const __m512i shorter = _mm512_set1_epi16((short)(9 - length)), limit = _mm512_set1_epi16((short)(1 << length));
    for (int m = 0; m < PES; m += 8) {
        __m512i bits = load_16(src + m), field = _mm512_and_si512(_mm512_srli_epi16(bits, 9), field_ones);
        __m512i mantissa = _mm512_or_si512(_mm512_and_si512(bits, _mm512_set1_epi16(0x1ff)), _mm512_set1_epi16(0x200));
        __m512i whole = _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(field, field), mantissa), top = field;
        top = _mm512_max_epu16(top, _mm512_permutex_epi64(top, 0x4e));
        top = _mm512_max_epu16(top, _mm512_shuffle_epi32(top, 0x4e));
        top = _mm512_max_epu16(top, _mm512_shuffle_epi32(top, 0xb1));
        top = _mm512_max_epu16(top, _mm512_rol_epi32(top, 16));
        __mmask32 some = _mm512_test_epi16_mask(top, top), carries = _mm512_mask_cmpeq_epi16_mask(some, field, top);
        carries = _mm512_mask_cmpge_epu16_mask(carries, NEAREST_EVEN(whole, shorten, 16, one), limit);
        __m512i common = top;
        if (carries) common = _mm512_mask_add_epi16(top, fill_blocks(carries, PARTS, 2), top, one);
        __m512i shift = add(16)(sub(16)(common, field), shorten), stored = add(16)(common, shorter);
        __m512i result = _mm512_or_si512(_mm512_slli_epi16(stored, 9), NEAREST_EVEN(whole, shift, 16, one));
        result = _mm512_mask_mov_epi16(result, _mm512_cmpge_epu16_mask(stored, field_ones), _mm512_set1_epi16(63 << 9));
        __m512i sign = _mm512_and_si512(bits, _mm512_set1_epi16((short)0x8000));
        _mm512_storeu_si512(dst + m, _mm512_or_si512(_mm512_maskz_mov_epi16(some, result), sign));
    }
}

/* Blocks of the eight words of a MAB, or of those of one parity. */
INLINE void words(const uint64_t *src, uint64_t *dst, int length, int by_parity) {
    static const uint32_t PARTS[4] = {0x0055, 0x00aa, 0x5500, 0xaa00}, WHOLE[2] = {0x00ff, 0xff00};
    const __m512i one = WORDS_OF(1), field_ones = WORDS_OF(255), shorten = WORDS_OF(24 - length), limit = WORDS_OF(1 << length);
    const __m128i left = _mm_cvtsi32_si128(23 - length);
    for (int m = 0; m < PES; m += 8) {
        __m512i bits = load_16(src + m), field = _mm512_and_si512(_mm512_srli_epi32(bits, 23), field_ones);
        __m512i mantissa = _mm512_or_si512(_mm512_and_si512(bits, WORDS_OF(0x7fffff)), WORDS_OF(0x800000));
        __m512i whole = _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(field, field), mantissa), top = field;
        top = _mm512_max_epi32(top, _mm512_permutex_epi64(top, 0x4e));
        top = _mm512_max_epi32(top, _mm512_shuffle_epi32(top, 0x4e));
        if (!by_parity) top = _mm512_max_epi32(top, _mm512_shuffle_epi32(top, 0xb1));
        __mmask16 some = _mm512_test_epi32_mask(top, top), carries = _mm512_mask_cmpeq_epi32_mask(some, field, top);
        carries = _mm512_mask_cmpge_epi32_mask(carries, NEAREST_EVEN(whole, shorten, 32, one), limit);
        __m512i common = top;
        if (carries) {
            uint32_t lanes = by_parity ? fill_blocks(carries, PARTS, 4) : fill_blocks(carries, WHOLE, 2);
            common = _mm512_mask_add_epi32(top, (__mmask16)lanes, top, one);
        }
        __m512i shift = add(32)(sub(32)(common, field), shorten);
        __m512i result = _mm512_or_si512(_mm512_slli_epi32(common, 23), _mm512_sll_epi32(NEAREST_EVEN(whole, shift, 32, one), left));
        result = _mm512_mask_mov_epi32(result, _mm512_cmpge_epi32_mask(common, field_ones), WORDS_OF(255 << 23));
        __m512i sign = _mm512_and_si512(bits, WORDS_OF(0x80000000));
        _mm512_storeu_si512(dst + m, _mm512_or_si512(_mm512_maskz_mov_epi32(some, result), sign));
    }
}

void normalise_row(const uint64_t *src, uint64_t *dst, int format, int length) {
    if (format == FORMAT_H) halves(src, dst, length);
    else if (format == FORMAT_F) words(src, dst, length, 1);
    else words(src, dst, length, 0);
}

#endif
