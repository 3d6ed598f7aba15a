/* Single matrix registers and vectors as the terms that matrix.c adds up (isa.md 18.2, 18.5, 18.7).

   Eight blocks at a time, one in each lane: the eight words of a block are eight vectors. */
#include "blocks.h"
#include "codes.h"
#include "doubles.h"
#include "lanes.h"
#include "matrix.h"

const Shape SHAPES[4] = {
    {{52, 11}, 4, 64, 0, 16, 1}, {{23, 8}, 8, 32, 0, 5, 2}, {{23, 8}, 8, 32, 5, 0, 1}, {{9, 6}, 16, 16, 0, 0, 1}};

enum { INFINITE = 255, LOW_ONES = 31, REPLACED = 256 };

/* words[w][lane] becomes word w of block `lane`: an 8 by 8 transposition of blocks[lane][w]. */
static inline __attribute__((always_inline)) void transpose(const uint32_t *const blocks[8], U8 words[8]) {
    U8 a[8], b[8];
    for (int i = 0; i < 8; i++) a[i] = load_words(blocks[i]);
    for (int i = 0; i < 8; i += 2) {
        b[i] = PICK(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[i + 1] = PICK(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) { /* a[i + 2k], a[i + 2k + 1]: words 2k and 2k + 1, and four more, of blocks i to i + 3 */
            a[i + 2 * k] = PICK(b[i + k], b[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[i + 2 * k + 1] = PICK(b[i + k], b[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int k = 0; k < 4; k++) {
        words[k] = PICK(a[k], a[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        words[k + 4] = PICK(a[k], a[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

static inline __attribute__((always_inline)) U8 with_sign(U8 magnitude, U8 negative) { return (magnitude ^ negative) - negative; }

static inline __attribute__((always_inline)) void put(double *term, U8 integers) {
    D8 numbers = integers_to_doubles((I8)integers);
    memcpy(term, &numbers, sizeof numbers);
}

/* Terms of eight blocks. Approximate products need three for each element, so that the dot product of a matrix's and a
   vector's terms is the corrected sum: mantissa, low bits, sign where the low bits are not zero; the vector's low bits
   are negated and its signs weighted with what replaces their product. */
static inline __attribute__((always_inline)) void decode(const uint32_t *const blocks[8], int format, uint32_t flip, int is_vector,
                                                         double *terms, int32_t *exponent, uint32_t *irregular) {
    int approximates = format == FORMAT_F, first = approximates ? 1 : 0, step = approximates ? 2 : 1, count = 8 / step;
    uint32_t ones = approximates ? 0x7fffff : 0x7fffe0;
    U8 words[8], top = {0}, odd = {0};
    transpose(blocks, words);
    for (int k = first; k < 8; k += step) {
        U8 field = (words[k] >> 23) & INFINITE;
        top = larger(top, field & (U8)((words[k] & ones) != 0u));
    }
    for (int k = first, j = 0; k < 8; k += step, j++) {
        U8 bits = words[k] ^ flip, field = (bits >> 23) & INFINITE, some = (U8)((bits & ones) != 0u) & (U8)(field != 0u);
        U8 negative = (U8)((I8)bits >> 31), magnitude = bits & ones & some;
        odd |= (U8)(field == INFINITE) | (some & (U8)(field != top));
        put(terms + 8 * j, with_sign(magnitude, negative));
        if (!approximates) continue;
        U8 low = magnitude & LOW_ONES, unit = (U8)(low != 0u) & (is_vector ? REPLACED : 1);
        put(terms + 8 * (count + j), with_sign(low, is_vector ? ~negative : negative));
        put(terms + 8 * (2 * count + j), with_sign(unit, negative));
    }
    top -= 127 + 22;
    memcpy(exponent, &top, sizeof top);
    *irregular = bits_of(odd);
}

void decode_vectors(const uint64_t *row, int format, int negate, Vectors *v) {
    uint32_t flip = negate ? F_SIGN : 0;
    const uint32_t *blocks[8];
    for (int i = 0; i < 8; i++) blocks[i] = (const uint32_t *)(row + 4 * i);
    if (format == FORMAT_F) decode(blocks, FORMAT_F, flip, 1, v->terms[0], v->exponent, &v->irregular);
    else decode(blocks, FORMAT_G, flip, 1, v->terms[0], v->exponent, &v->irregular);
}

void decode_matrix(Tile *t, int32_t first_row, int format, Decoded *d) {
    if (format == FORMAT_H) {
        decode_half_matrix(t, first_row, d);
        return;
    }
    const uint32_t *blocks[8];
    for (int r = 0; r < 8; r++) blocks[result_lane(0, r)] = (const uint32_t *)row_of(t, first_row + r);
    for (int m = 0; m < TILE_MABS; m++) {
        if (format == FORMAT_F) decode(blocks, FORMAT_F, 0, 0, d->terms[m][0], d->exponent[m], &d->irregular[m]);
        else decode(blocks, FORMAT_G, 0, 0, d->terms[m][0], d->exponent[m], &d->irregular[m]);
        for (int i = 0; i < 8; i++) blocks[i] += 8;
    }
    d->format = format;
}
