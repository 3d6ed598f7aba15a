/* Matrix times vector in single and double (isa.md 11, 18.7); halves: matrix_half.c.

   Sums of single products are below 2^53 and exact in binary64, in any order. They are scaled by a power of two, added to
   the addend with one rounding, and checked as in vector.c. Rows or vectors that are not plain block float go to an exact
   scalar sum. */
#include "matrix.h"

#include "codes.h"
#include "doubles.h"
#include "half_lanes.h"
#include "lanes.h"
#include "wide_sum.h"

uint64_t exact_output(const Tile *t, const Op *op, int c, int m, int r, uint64_t addend, Format add, Format out) {
    const Shape *s = &SHAPES[op->p[1]];
    const uint64_t *row = row_of(t, op->p[0] + r) + 4 * m, *vector = row_of(t, op->src[0][c]) + 4 * m;
    uint64_t a[16], b[16], flip = op->p[2] & 1 ? 1ull << (s->bits - 1) : 0;
    int columns = s->size / s->column_step;
    for (int j = 0; j < columns; j++) {
        a[j] = element_of(row, s->bits, j * s->column_step);
        b[j] = element_of(vector, s->bits, j * s->column_step) ^ flip;
    }
    return block_dot(a, b, columns, s->f, s->ignored, s->low_bits, addend, add, out);
}

void half_lanes_exactly(const Tile *t, const Op *op, int c, int m, uint32_t lanes, const uint32_t *addend, uint32_t *out) {
    for (int r = 0; r < 16; r++) {
        int i = result_lane(1, r);
        if (lanes >> i & 1) out[i] = (uint32_t)exact_output(t, op, c, m, r, addend[i], SINGLE, op->p[3] ? HALF : SINGLE);
    }
}

/* One double output: four approximate products at one exponent fit 128 bits; anything irregular goes the long way. */
static uint64_t double_output(const Tile *t, const Op *op, int c, int m, int r, uint64_t addend, Format out) {
    const uint64_t *row = row_of(t, op->p[0] + r) + 4 * m, *vector = row_of(t, op->src[0][c]) + 4 * m;
    int top_a = 0, top_b = 0;
    for (int j = 0; j < 4; j++) {
        int a = field_of(row[j], DOUBLE), b = field_of(vector[j], DOUBLE);
        if (fraction_of(row[j], DOUBLE) && a > top_a) top_a = a;
        if (fraction_of(vector[j], DOUBLE) && b > top_b) top_b = b;
    }
    u128 plus = 0, minus = 0;
    for (int j = 0; j < 4; j++) {
        int a = field_of(row[j], DOUBLE), b = field_of(vector[j], DOUBLE);
        uint64_t ma = a ? fraction_of(row[j], DOUBLE) : 0, mb = b ? fraction_of(vector[j], DOUBLE) : 0;
        if ((ma && a != top_a) || (mb && b != top_b) || a == 2047 || b == 2047)
            return exact_output(t, op, c, m, r, addend, DOUBLE, out);
        u128 product = approximate(ma, mb, 16);
        if ((row[j] ^ vector[j]) >> 63) minus += product;
        else plus += product;
    }
    int negative = (minus > plus) ^ (op->p[2] & 1), power = top_a + top_b - 2 * (bias_of(DOUBLE) + DOUBLE.mantissa - 1);
    Exact sum = {minus > plus ? minus - plus : plus - minus, power, negative, 0};
    return exact_round(exact_add(sum, exact_value(addend, DOUBLE)), out);
}

static void double_op(Tile *t, const Op *op) {
    Format out = op->p[3] ? SINGLE : DOUBLE;
    uint64_t flip = op->p[2] & 2 ? 1ull << 63 : 0;
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *y = op->p[5] ? row_of(t, op->src[1][c]) : 0;
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int m = 0; m < TILE_MABS; m++) {
            uint64_t r[4];
            for (int i = 0; i < 4; i++) {
                int computes = op->p[4] == 0 || (i > 1) == (op->p[4] == 2);
                uint64_t addend = y ? y[4 * m + i] ^ flip : 0;
                r[i] = computes ? double_output(t, op, c, m, i, addend, out) : exact_round(exact_value(addend, DOUBLE), out);
            }
            for (int i = 0; i < 4; i++) dst[4 * m + i] = op->p[3] ? r[i] << 32 : r[i];
        }
    }
}

enum { NARROW = 1 };

/* Whether a sum lies half way between two results. */
static inline __attribute__((always_inline)) int any_tie(D8 s, int form) {
    uint64_t half = form & NARROW ? 1ull << 42 : 1ull << 28;
    return any_equal((L8)s, 2 * half - 1, half);
}

/* Single patterns of sums, or half patterns; `odd` gets lanes that the exact sum must settle. */
static inline __attribute__((always_inline)) U8 round_sums(D8 s, int form, U8 *odd) {
    U8 r = (U8)doubles_to_singles(s);
    *odd = (U8)((r & F_EXPONENT) == F_EXPONENT);
    if (form & NARROW) {
        L8 bits = (L8)s;
        I8 value = __builtin_convertvector((S8)((bits + 0x3ffffffffffull + ((bits >> 43) & 1)) >> 43 & 0xfffff), I8) - (992 << 9);
        U8 over = (U8)(value > 0x7e00), sign = __builtin_convertvector(bits >> 48 & 0x8000, U8);
        return ((over & 0x7e00) | ((U8)value & ~over) | sign) & (U8)(value >= 0x200);
    }
    *odd |= (U8)((r & ~F_SIGN) == LEAST_SINGLE);
    return clean_lanes(r);
}

/* Results of a MAB again: lanes of `odd` exactly, sums half way between two results from their two terms. */
static __attribute__((noinline)) U8 settle(const Tile *t, const Op *op, int c, int m, D8 p, U8 addend, uint32_t odd, U8 r) {
    int narrow = op->p[3];
    for (int row = 0; row < 8; row++) {
        int i = result_lane(0, row);
        double z = (double)as_float(clean(addend[i]));
        if (odd >> i & 1) {
            r[i] = (uint32_t)exact_output(t, op, c, m, row, addend[i], SINGLE, narrow ? HALF : SINGLE);
            continue;
        }
        uint64_t half = narrow ? 1ull << 42 : 1ull << 28, low = double_bits(p[i] + z) & (2 * half - 1);
        if (low != half) continue;
        double s = sum_off_ties(p[i], z);
        uint32_t single = narrow ? 0 : float_bits((float)s);
        r[i] = narrow ? double_to_half(double_bits(s)) : single & F_EXPONENT ? single : 0;
    }
    return r;
}

/* Narrow results pack from the top of LW0. */
static inline __attribute__((always_inline)) void store(uint64_t *dst, U8 r, int form) {
    typedef uint64_t L4 __attribute__((vector_size(32)));
    L4 pairs = (L4)r;
    if (form & NARROW) pairs = (pairs >> 16 | pairs) << 32;
    memcpy(dst, &pairs, sizeof pairs);
}

/* Eight MABs from `first` on. */
static inline __attribute__((always_inline)) void eight_mabs(Tile *t, const Op *op, const Decoded *d, int first, int terms, int form) {
    Vectors vectors[CYCLES];
    for (int c = 0; c < CYCLES; c++) decode_vectors(row_of(t, op->src[0][c]) + 4 * first, op->p[1], op->p[2] & 1, &vectors[c]);
    uint32_t flip = op->p[2] & 2 ? F_SIGN : 0;
    for (int i = 0, m = first; i < 8; i++, m++) {
        D8 sums[CYCLES] = {{0}};
        for (int k = 0; k < terms; k++) {
            D8 column = load_numbers(d->terms[m][k]);
            for (int c = 0; c < CYCLES; c++) sums[c] = multiply_add(column, spread_number(vectors[c].terms[k][i]), sums[c]);
        }
        L8 exponent = (L8)widen_integers((I8)load_words((const uint32_t *)d->exponent[m]));
        U8 r[CYCLES]; /* stored together: loads wait for a store to the same place of another page */
        for (int c = 0; c < CYCLES; c++) {
            L8 scale = (exponent + (uint64_t)(int64_t)(vectors[c].exponent[i] + 1023)) << 52;
            U8 odd, addend = {0};
            if (op->p[5]) addend = load_words((const uint32_t *)(row_of(t, op->src[1][c]) + 4 * m)) ^ flip;
            D8 p = sums[c] * (D8)scale, s = p + singles_to_doubles((F8)clean_lanes(addend));
            r[c] = round_sums(s, form, &odd);
            uint32_t again = bits_of(odd) | d->irregular[m] | (vectors[c].irregular >> i & 1 ? 255 : 0);
            if (again || any_tie(s, form)) r[c] = settle(t, op, c, m, p, addend, again, r[c]);
        }
        for (int c = 0; c < CYCLES; c++) store(row_of(t, op->dst[c]) + 4 * m, r[c], form);
    }
}

static inline __attribute__((always_inline)) void single_products(Tile *t, const Op *op, const Decoded *d, int terms, int form) {
    for (int m = 0; m < TILE_MABS; m += 8) eight_mabs(t, op, d, m, terms, form);
}

static void single_op(Tile *t, const Op *op, const Decoded *d) {
    int form = op->p[3] ? NARROW : 0, approximates = op->p[1] == FORMAT_F;
    if (approximates && form) single_products(t, op, d, 12, NARROW);
    else if (approximates) single_products(t, op, d, 12, 0);
    else if (form) single_products(t, op, d, 8, NARROW);
    else single_products(t, op, d, 8, 0);
}

void matvec_op(Tile *t, const Op *op) {
    if (op->p[1] == FORMAT_D) {
        double_op(t, op);
        return;
    }
    Decoded *d = &t->matrix[op->p[0] == MATRIX_Y_ROW];
    if (d->format != op->p[1]) decode_matrix(t, op->p[0], op->p[1], d);
    if (op->p[1] == FORMAT_H) half_matvec(t, op, d);
    else single_op(t, op, d);
}
