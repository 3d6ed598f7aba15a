/* Half matrix times vector, a MAB at a time (isa.md 11, 18.7).

   Sums of products of signed mantissas are below 2^22; scaled by a power of two they are exact single numbers, so one
   single addition rounds once, and its error says how to round a sum that lies half way between two halves. Rows or
   vectors that are not plain block float and sums that are not finite go to the exact scalar sum. */
#include "matrix.h"

#if !defined(__AVX512F__)
#include "codes.h"
#include "half_lanes.h"
#include "lanes.h"

/* Sixteen elements of a MAB: signed mantissas in memory order, the exponent, whether they are not plain. */
typedef struct {
    S16 mantissa;
    int32_t exponent;
    uint32_t irregular;
} Block;

static inline __attribute__((always_inline)) Block decode_block(const uint64_t *words, uint16_t flip) {
    H16 bits;
    memcpy(&bits, words, sizeof bits);
    H16 field = (bits >> 9) & 63, mantissa = bits & 0x1ff;
    S16 some = (S16)(mantissa != 0), negative = (S16)(bits ^ flip) >> 15;
    int16_t top = largest((S16)field & some);
    S16 odd = (S16)(field == 63) | (some & ((S16)field != top));
    return (Block){((S16)mantissa ^ negative) - negative, top - 31 - 8, any_lane((U8)odd)};
}

void decode_half_matrix(Tile *t, int32_t first_row, Decoded *d) {
    memset(d->irregular, 0, sizeof d->irregular);
    for (int r = 0; r < 16; r++) {
        const uint64_t *row = row_of(t, first_row + r);
        int lane = result_lane(1, r);
        for (int m = 0; m < TILE_MABS; m++) {
            Block b = decode_block(row + 4 * m, 0);
            uint32_t pairs[8];
            memcpy(pairs, &b.mantissa, sizeof pairs);
            for (int k = 0; k < 8; k++) d->pairs[m][k][lane] = pairs[k];
            d->exponent[m][lane] = b.exponent;
            d->irregular[m] |= (uint32_t)(b.irregular != 0) << lane;
        }
    }
    d->format = FORMAT_H;
}

/* Integer sums of the 16 lanes for four vectors. */
static inline __attribute__((always_inline)) void sums(const uint32_t matrix[8][16], const Block *b, I8 out[CYCLES][2]) {
    uint32_t pairs[CYCLES][8];
    for (int c = 0; c < CYCLES; c++) {
        memcpy(pairs[c], &b[c].mantissa, sizeof pairs[c]);
        out[c][0] = out[c][1] = (I8){0};
    }
    for (int k = 0; k < 8; k++) {
        S16 low = (S16)load_words(matrix[k]), high = (S16)load_words(matrix[k] + 8);
        for (int c = 0; c < CYCLES; c++) {
            S16 x = (S16)((U8){0} + pairs[c][k]);
            out[c][0] += pair_products(low, x);
            out[c][1] += pair_products(high, x);
        }
    }
}

enum { NARROW = 1, ADDS = 2 };

/* Sums * 2^exponent + addend of eight lanes as single or half bits; `odd` gets lanes that are not finite. */
static inline __attribute__((always_inline)) U8 finish(I8 sum, const int32_t *exponent, int32_t more, U8 addend, int form, U8 *odd) {
    U8 scale = (load_words((const uint32_t *)exponent) + (uint32_t)(more + 127)) << 23;
    F8 p = __builtin_convertvector(sum, F8) * (F8)scale, z = (F8)clean_lanes(addend), s = p + z;
    if (!(form & ADDS)) {
        *odd = (U8){0};
        return form & NARROW ? half_of((U8)p) : (U8)p;
    }
    *odd = (U8)(((U8)s & F_EXPONENT) == F_EXPONENT);
    return form & NARROW ? half_of(off_half_ties(p, z, s)) : clean_lanes((U8)s);
}

/* Lanes of a MAB again that the fast way does not cover. */
static __attribute__((noinline)) void settle(const Tile *t, const Op *op, int c, int m, uint32_t lanes, const U8 *addend, U8 *out) {
    uint32_t z[16], r[16];
    memcpy(z, addend, sizeof z), memcpy(r, out, sizeof r);
    half_lanes_exactly(t, op, c, m, lanes, z, r);
    memcpy(out, r, sizeof r);
}

/* Narrow results pack from the top of LW0: lanes 2i and 2i + 1 above lanes 8 + 2i and 9 + 2i. */
static inline __attribute__((always_inline)) void store_narrow(uint64_t *dst, U8 low, U8 high) {
    typedef uint32_t U4 __attribute__((vector_size(16)));
    U4 a = (U4)__builtin_convertvector(high, H8), b = (U4)__builtin_convertvector(low, H8);
#if defined(__clang__)
    U4 first = __builtin_shufflevector(a, b, 0, 4, 1, 5), second = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#else
    U4 first = __builtin_shuffle(a, b, (U4){0, 4, 1, 5}), second = __builtin_shuffle(a, b, (U4){2, 6, 3, 7});
#endif
    memcpy(dst, &first, sizeof first);
    memcpy(dst + 2, &second, sizeof second);
}

static inline __attribute__((always_inline)) void run(Tile *t, const Op *op, const Decoded *d, int form) {
    uint16_t flip = op->p[2] & 1 ? 0x8000 : 0;
    uint32_t sign = op->p[2] & 2 ? F_SIGN : 0;
    const uint64_t *x[CYCLES], *y[CYCLES], *y_low[CYCLES];
    uint64_t *dst[CYCLES], *low[CYCLES];
    for (int c = 0; c < CYCLES; c++) {
        x[c] = row_of(t, op->src[0][c]), y[c] = row_of(t, op->src[1][c]), y_low[c] = row_of(t, op->src[1][4 + c]);
        dst[c] = row_of(t, op->dst[c]), low[c] = op->dst[4] < 0 ? 0 : row_of(t, op->dst[4 + c]);
    }
    for (int m = 0; m < TILE_MABS; m++) {
        Block b[CYCLES];
        I8 sum[CYCLES][2];
        for (int c = 0; c < CYCLES; c++) b[c] = decode_block(x[c] + 4 * m, flip);
        sums(d->pairs[m], b, sum);
        for (int c = 0; c < CYCLES; c++) {
            U8 z[2] = {{0}}, odd[2], out[2];
            if (form & ADDS) z[0] = load_words((const uint32_t *)(y[c] + 4 * m)) ^ sign;
            if (form & ADDS) z[1] = load_words((const uint32_t *)(y_low[c] + 4 * m)) ^ sign;
            for (int i = 0; i < 2; i++) out[i] = finish(sum[c][i], d->exponent[m] + 8 * i, b[c].exponent, z[i], form, &odd[i]);
            uint32_t again = bits_of(odd[0]) | bits_of(odd[1]) << 8 | d->irregular[m] | (b[c].irregular ? 0xffff : 0);
            if (again) settle(t, op, c, m, again, z, out);
            if (form & NARROW) store_narrow(dst[c] + 4 * m, out[0], out[1]);
            else memcpy(dst[c] + 4 * m, &out[0], sizeof out[0]);
            if (!(form & NARROW) && low[c]) memcpy(low[c] + 4 * m, &out[1], sizeof out[1]);
        }
    }
}

void half_matvec(Tile *t, const Op *op, const Decoded *d) {
    switch ((op->p[3] ? NARROW : 0) | (op->p[5] ? ADDS : 0)) {
    case 0: run(t, op, d, 0); break;
    case NARROW: run(t, op, d, NARROW); break;
    case ADDS: run(t, op, d, ADDS); break;
    default: run(t, op, d, NARROW | ADDS);
    }
}

#endif
