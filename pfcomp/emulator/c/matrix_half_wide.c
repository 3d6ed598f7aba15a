/* Half matrix times vector with AVX-512: sixteen results at a time; matrix_half.c is the plain form and says why this
   is exact. Vectors are decoded two MABs at a time, matrices with a row in each lane. */
#include "codes.h"
#include "matrix.h"

#if defined(__AVX512F__)
#include "lanes_wide.h"

enum { NARROW = 1, ADDS = 2, VNNI = 4, PAIRS = 8, POWER_BIAS = 127 - 31 - 8 };

/* Vectors of two MABs: pairs of signed mantissas, the common exponent field in both halves of a word, where a block is
   not plain (16 bits for each MAB). */
typedef struct {
    uint32_t pairs[2][PAIRS], field[2][PAIRS], irregular;
} HalfVectors;

/* Sixteen or 32 halves: exponent fields, mantissas without sign, where they are not zero. */
typedef struct {
    __m512i field, mantissa;
    __mmask32 some, negative;
} Halves;

INLINE Halves halves_of(__m512i bits) {
    Halves h;
    h.field = _mm512_and_si512(_mm512_srli_epi16(bits, 9), _mm512_set1_epi16(63));
    h.mantissa = _mm512_and_si512(bits, _mm512_set1_epi16(0x1ff));
    h.some = _mm512_test_epi16_mask(h.mantissa, h.mantissa);
    h.negative = _mm512_movepi16_mask(bits);
    return h;
}

INLINE __m512i counted(Halves h) { return _mm512_maskz_mov_epi16(h.some, h.field); }
INLINE __m512i signed_halves(Halves h) { return _mm512_mask_sub_epi16(h.mantissa, h.negative, _mm512_setzero_si512(), h.mantissa); }

/* Elements that are not plain block float of the exponent `top`. */
INLINE __mmask32 odd_halves(Halves h, __m512i top) {
    return _mm512_mask_cmpneq_epi16_mask(h.some, h.field, top) | _mm512_cmpeq_epi16_mask(h.field, _mm512_set1_epi16(63));
}

/* The larger of the two halves of each word, in both. */
INLINE __m512i larger_of_words(__m512i v) { return _mm512_max_epu16(v, _mm512_rol_epi32(v, 16)); }

/* The largest exponent field of an element with a mantissa, for each of two MABs, in all of its lanes. */
INLINE __m512i largest_field(Halves h) {
    __m512i top = counted(h);
    top = _mm512_max_epu16(top, _mm512_permutex_epi64(top, 0x4e));
    top = _mm512_max_epu16(top, _mm512_shuffle_epi32(top, 0x4e));
    return larger_of_words(_mm512_max_epu16(top, _mm512_shuffle_epi32(top, 0xb1)));
}

INLINE void decode_two(const uint64_t *words, uint16_t flip, HalfVectors *v) {
    const __m512i first = _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(16), 1);
    Halves h = halves_of(_mm512_xor_si512(load_16(words), _mm512_set1_epi16((short)flip)));
    __m512i top = _mm512_permutexvar_epi16(first, h.field);
    v->irregular = _mm512_cmpneq_epi16_mask(h.field, top) | _mm512_cmpeq_epi16_mask(top, _mm512_set1_epi16(63));
    if (__builtin_expect(v->irregular != 0, 0)) { /* zeros may have other exponents */
        top = largest_field(h);
        v->irregular = odd_halves(h, top);
    }
    _mm512_storeu_si512(v->field, top);
    _mm512_storeu_si512(v->pairs, signed_halves(h));
}

/* Words k of sixteen rows of a MAB to lane order: rows[lane], eight words each. */
INLINE void transpose(const uint64_t *const rows[16], __m512i out[PAIRS]) {
    __m512i a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)rows[i])), _mm256_loadu_si256((const void *)rows[8 + i]), 1);
    for (int i = 0; i < 4; i++) b[i] = _mm512_unpacklo_epi32(a[2 * i], a[2 * i + 1]), b[4 + i] = _mm512_unpackhi_epi32(a[2 * i], a[2 * i + 1]);
    for (int i = 0; i < 8; i += 2) a[i] = _mm512_unpacklo_epi64(b[i], b[i + 1]), a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 1]);
    /* a[0], a[2]: words 0 and 4 of rows 0 to 3 and 4 to 7; a[1], a[3]: 1 and 5; a[4], a[6]: 2 and 6; a[5], a[7]: 3 and 7 */
    __m512i first = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), second = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    static const int FROM[4] = {0, 1, 4, 5};
    for (int k = 0; k < 4; k++) {
        out[k] = _mm512_permutex2var_epi64(a[FROM[k]], first, a[FROM[k] + 2]);
        out[k + 4] = _mm512_permutex2var_epi64(a[FROM[k]], second, a[FROM[k] + 2]);
    }
}

void decode_half_matrix(Tile *t, int32_t first_row, Decoded *d) {
    const uint64_t *rows[16];
    for (int r = 0; r < 16; r++) rows[result_lane(1, r)] = row_of(t, first_row + r);
    for (int m = 0; m < TILE_MABS; m++) {
        __m512i words[PAIRS], top = _mm512_setzero_si512();
        __mmask32 odd = 0;
        transpose(rows, words);
        for (int k = 0; k < PAIRS; k++) top = _mm512_max_epu16(top, counted(halves_of(words[k])));
        top = larger_of_words(top);
        for (int k = 0; k < PAIRS; k++) {
            Halves h = halves_of(words[k]);
            odd |= odd_halves(h, top);
            _mm512_storeu_si512(d->pairs[m][k], signed_halves(h));
        }
        __m512i rows_odd = _mm512_movm_epi16(odd);
        d->irregular[m] = _mm512_test_epi32_mask(rows_odd, rows_odd);
        __m512i field = _mm512_and_si512(top, WORDS_OF(63));
        _mm512_storeu_si512(d->exponent[m], _mm512_sub_epi32(field, WORDS_OF(31 + 8)));
        for (int i = 0; i < 16; i++) rows[i] += 4;
    }
    d->format = FORMAT_H;
}

/* Sum * 2^exponent + addend as single or half bits; `odd` gets lanes that are not finite. */
INLINE __m512i finish(__m512i sum, __m512i exponent, __m512i addend, int form, unsigned *odd) {
    __m512 scale = _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23)), z = _mm512_castsi512_ps(addend);
    __m512 p = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale), s = form & ADDS ? _mm512_add_ps(p, z) : p;
    *odd = form & ADDS ? odd_16(s) : 0;
    if (form & NARROW) return half_of_16(form & ADDS ? off_half_ties_16(p, z, s) : _mm512_castps_si512(s));
    return _mm512_castps_si512(form & ADDS ? no_minus_zero(s) : s);
}

/* Lanes 2i and 2i + 1 above lanes 8 + 2i and 9 + 2i. */
INLINE __m256i pack_narrow(__m512i r) {
    __m256i order = _mm256_set_epi16(7, 6, 15, 14, 5, 4, 13, 12, 3, 2, 11, 10, 1, 0, 9, 8);
    return _mm256_permutexvar_epi16(order, _mm512_cvtepi32_epi16(r));
}

static __attribute__((noinline)) __m512i settle(const Tile *t, const Op *op, int c, int m, uint32_t lanes, __m512i z, __m512i r) {
    uint32_t addend[16], out[16];
    memcpy(addend, &z, sizeof addend), memcpy(out, &r, sizeof out);
    half_lanes_exactly(t, op, c, m, lanes, addend, out);
    return load_16(out);
}

/* Sixteen dot products of pairs. The VNNI instruction is written by hand: the library is built for processors without. */
INLINE __m512i dot_products(const __m512i column[PAIRS], const uint32_t *pairs, int form) {
    if (form & VNNI) {
        __m512i sum = _mm512_setzero_si512();
        for (int k = 0; k < PAIRS; k++) __asm__("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(column[k]), "m"(pairs[k]));
        return sum;
    }
    __m512i sum = _mm512_madd_epi16(column[0], WORDS_OF(pairs[0]));
    for (int k = 1; k < PAIRS; k++) sum = _mm512_add_epi32(sum, _mm512_madd_epi16(column[k], WORDS_OF(pairs[k])));
    return sum;
}

/* Rows of one cycle. */
typedef struct {
    const uint64_t *x, *y, *y_low;
    uint64_t *dst, *low;
} Rows;

/* Eight single addends of LW0 and eight of LW1 of a MAB. */
INLINE __m512i load_addends(const Rows *r, int m) {
    __m512i low = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(r->y + 4 * m)));
    return _mm512_inserti64x4(low, _mm256_loadu_si256((const void *)(r->y_low + 4 * m)), 1);
}

INLINE void store_results(const Rows *r, int m, __m512i results, int form) {
    if (form & NARROW) {
        _mm256_storeu_si256((void *)(r->dst + 4 * m), pack_narrow(results));
        return;
    }
    _mm256_storeu_si256((void *)(r->dst + 4 * m), _mm512_castsi512_si256(results));
    if (r->low) _mm256_storeu_si256((void *)(r->low + 4 * m), _mm512_extracti64x4_epi64(results, 1));
}

INLINE void run(Tile *t, const Op *op, const Decoded *d, int form) {
    uint32_t sign = op->p[2] & 2 ? 0x80000000u : 0;
    uint16_t flip = op->p[2] & 1 ? 0x8000 : 0;
    Rows rows[CYCLES];
    for (int c = 0; c < CYCLES; c++)
        rows[c] = (Rows){row_of(t, op->src[0][c]), row_of(t, op->src[1][c]), row_of(t, op->src[1][4 + c]), row_of(t, op->dst[c]),
                         op->dst[4] < 0 ? 0 : row_of(t, op->dst[4 + c])};
    HalfVectors vectors[CYCLES];
    for (int m = 0; m < TILE_MABS; m++) {
        if (m % 2 == 0)
            for (int c = 0; c < CYCLES; c++) decode_two(rows[c].x + 4 * m, flip, &vectors[c]);
        __m512i column[PAIRS], exponent = _mm512_add_epi32(load_16(d->exponent[m]), WORDS_OF(POWER_BIAS));
        for (int k = 0; k < PAIRS; k++) column[k] = load_16(d->pairs[m][k]);
        __m512i r[CYCLES]; /* stored together: loads wait for a store to the same place of another page */
        for (int c = 0; c < CYCLES; c++) {
            const HalfVectors *v = &vectors[c];
            __m512i sum = dot_products(column, v->pairs[m % 2], form), z = _mm512_setzero_si512();
            if (form & ADDS) z = load_addends(&rows[c], m);
            if (sign) z = _mm512_xor_si512(z, WORDS_OF(sign));
            unsigned odd;
            r[c] = finish(sum, _mm512_add_epi32(exponent, WORDS_OF(v->field[m % 2][0])), z, form, &odd);
            odd |= d->irregular[m] | (v->irregular >> (m % 2 * 16) & 0xffff ? 0xffff : 0);
            if (__builtin_expect(odd != 0, 0)) r[c] = settle(t, op, c, m, odd, z, r[c]);
        }
        for (int c = 0; c < CYCLES; c++) store_results(&rows[c], m, r[c], form);
    }
}

void half_matvec(Tile *t, const Op *op, const Decoded *d) {
    __builtin_cpu_init();
    switch ((op->p[3] ? NARROW : 0) | (op->p[5] ? ADDS : 0) | (__builtin_cpu_supports("avx512vnni") ? VNNI : 0)) {
    case 0: run(t, op, d, 0); break;
    case NARROW: run(t, op, d, NARROW); break;
    case ADDS: run(t, op, d, ADDS); break;
    case NARROW | ADDS: run(t, op, d, NARROW | ADDS); break;
    case VNNI: run(t, op, d, VNNI); break;
    case VNNI | NARROW: run(t, op, d, VNNI | NARROW); break;
    case VNNI | ADDS: run(t, op, d, VNNI | ADDS); break;
    default: run(t, op, d, VNNI | NARROW | ADDS);
    }
}

#endif
