/* Matrix times vector in single and double, and matrix reads (isa.md 11, 18.7); halves: matrix_half.c.

   Sums of single products are below 2^53 and exact in binary64, in any order. They are scaled by a power of two, added to
   the addend with one rounding, and checked as in vector.c. Rows or vectors that are not plain block float go to an exact
   scalar sum. */
#include "matrix.h"

#include "codes.h"
#include "lanes.h"
#include "wide_sum.h"

typedef double V4 __attribute__((vector_size(32), aligned(8)));

enum { MOST = TILE_MABS * 8 }; /* results of a cycle of a tile */

typedef struct {
    Vectors vectors[CYCLES];
    double w[CYCLES][MOST];
    int32_t exponent[MOST];
    uint32_t addend[MOST], out[MOST], flags[MOST];
} Work;

static void sums_wide(const Decoded *d, const Shape *s, Work *w) {
    for (int m = 0; m < TILE_MABS; m++) {
        V4 acc[CYCLES][2] = {{{0}}};
        for (int k = s->column_step - 1; k < 8; k += s->column_step) {
            const V4 *column = (const V4 *)d->w[m][k];
            for (int c = 0; c < CYCLES; c++) {
                double x = w->vectors[c].w[8 * m + k];
                acc[c][0] += column[0] * x;
                acc[c][1] += column[1] * x;
            }
        }
        for (int c = 0; c < CYCLES; c++) memcpy(w->w[c] + 8 * m, acc[c], sizeof acc[c]);
    }
}

/* The approximate multiplier's correction of those sums. */
static void correct(const Decoded *d, const Shape *s, Work *w) {
    double replaced = (double)(1 << (2 * s->low_bits - 2));
    for (int m = 0; m < TILE_MABS; m++)
        for (int k = s->column_step - 1; k < 8; k += s->column_step)
            for (int c = 0; c < CYCLES; c++) {
                double low = w->vectors[c].low[8 * m + k], unit = w->vectors[c].sign[8 * m + k] * replaced;
                double *acc = w->w[c] + 8 * m;
                for (int i = 0; i < 8; i++) acc[i] += d->sign[m][k][i] * unit - d->low[m][k][i] * low;
            }
}

/* Round sums * 2^exponent + addend; sets flags[i] where the exact sum is needed; returns whether any is. */
static uint32_t finish_single(const double *restrict sums, int count, Work *w) {
    uint32_t any = 0, *restrict out = w->out, *restrict flags = w->flags;
    const uint32_t *restrict addend = w->addend;
    const int32_t *restrict exponent = w->exponent;
    for (int i = 0; i < count; i++) {
        double s = sums[i] * as_double((uint64_t)(exponent[i] + 1023) << 52) + (double)as_float(clean(addend[i]));
        uint32_t r = float_bits((float)s), e = r & F_EXPONENT, tie = (double_bits(s) & 0x1fffffff) == 0x10000000;
        flags[i] |= tie | ((mask_if(e == F_EXPONENT) | mask_if((r & ~F_SIGN) == LEAST_SINGLE)) & EXACT);
        any |= flags[i];
        out[i] = r & mask_if(e != 0);
    }
    return any;
}

static uint32_t finish_half(const double *restrict sums, int count, Work *w) {
    uint32_t any = 0, *restrict out = w->out, *restrict flags = w->flags;
    const uint32_t *restrict addend = w->addend;
    const int32_t *restrict exponent = w->exponent;
    for (int i = 0; i < count; i++) {
        double p = sums[i] * as_double((uint64_t)(exponent[i] + 1023) << 52), c = (double)as_float(clean(addend[i]));
        double s = p + c;
        uint64_t bits = double_bits(s);
        uint32_t tie = ((bits & ((1ull << 43) - 1)) == 1ull << 42) & (sum_error(p, c, s) != 0);
        flags[i] |= tie | (mask_if(((bits >> 52) & 0x7ff) == 0x7ff) & EXACT);
        any |= flags[i];
        out[i] = double_to_half(bits);
    }
    return any;
}

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

/* Exponents, irregular lanes and addends of a cycle, lane by lane. */
static void prepare(const Tile *t, const Op *op, int c, const Decoded *d, Work *w) {
    const Vectors *v = &w->vectors[c];
    for (int m = 0; m < TILE_MABS; m++)
        for (int i = 0; i < 8; i++) {
            w->exponent[8 * m + i] = d->exponent[m][i] + v->exponent[m];
            w->flags[8 * m + i] = (d->irregular[m][i] | v->irregular[m]) << 1;
        }
    if (!op->p[5]) {
        memset(w->addend, 0, sizeof w->addend);
        return;
    }
    const uint32_t *addend = (const uint32_t *)row_of(t, op->src[1][c]), flip = op->p[2] & 2 ? F_SIGN : 0;
    for (int i = 0; i < MOST; i++) w->addend[i] = addend[i] ^ flip;
}

/* Lane i of a cycle again: ties from the two terms of the sum, everything else exactly. */
static uint32_t settle(const Tile *t, const Op *op, int c, int i, const Work *w) {
    int narrow = op->p[3];
    if (w->flags[i] & EXACT) {
        int r = 0;
        while (result_lane(0, r) != i % 8) r++;
        return (uint32_t)exact_output(t, op, c, i / 8, r, w->addend[i], SINGLE, narrow ? HALF : SINGLE);
    }
    double scale = as_double((uint64_t)(w->exponent[i] + 1023) << 52);
    double s = sum_off_ties(w->w[c][i] * scale, (double)as_float(clean(w->addend[i])));
    uint32_t r = narrow ? double_to_half(double_bits(s)) : float_bits((float)s);
    return narrow || (r & F_EXPONENT) ? r : 0;
}

/* Results to rows; narrow ones pack from the top of LW0. */
static void store(uint64_t *dst, const uint32_t *out, int narrow) {
    if (!narrow) memcpy(dst, out, PES * 8);
    else
        for (int i = 0; i < PES; i++) dst[i] = (uint64_t)(out[2 * i + 1] << 16 | out[2 * i]) << 32;
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

static void single_op(Tile *t, const Op *op, const Decoded *d) {
    const Shape *s = &SHAPES[op->p[1]];
    Work w;
    for (int c = 0; c < CYCLES; c++) decode_vectors(row_of(t, op->src[0][c]), op->p[1], op->p[2] & 1, &w.vectors[c]);
    sums_wide(d, s, &w);
    if (s->low_bits) correct(d, s, &w);
    for (int c = 0; c < CYCLES; c++) {
        prepare(t, op, c, d, &w);
        if (op->p[3] ? finish_half(w.w[c], MOST, &w) : finish_single(w.w[c], MOST, &w))
            for (int i = 0; i < MOST; i++)
                if (w.flags[i]) w.out[i] = settle(t, op, c, i, &w);
        store(row_of(t, op->dst[c]), w.out, op->p[3]);
    }
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

static inline __attribute__((always_inline)) void read_columns(Tile *t, const Op *op, int bits, int size) {
    int per_word = 64 / bits, step = bits == 16 ? 2 : 1;
    uint64_t ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    for (int c = 0; c < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); c++) {
        int column = (op->p[1] + step * (c % CYCLES) + c / CYCLES) % size;
        int pe = column / per_word, shift = 64 - bits * (1 + column % per_word);
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int p = 0; p < 4; p++) {
            const uint64_t *rows = row_of(t, op->p[0] + per_word * p) + pe;
            for (int m = 0; m < TILE_MABS; m++) {
                uint64_t word = 0;
                for (int k = 0; k < per_word; k++)
                    word |= ((rows[(size_t)k * PES + 4 * m] >> shift) & ones) << (64 - bits * (k + 1));
                dst[4 * m + p] = word;
            }
        }
    }
}

void mread_op(Tile *t, const Op *op) {
    if (op->p[2] == FORMAT_H) read_columns(t, op, 16, 16);
    else if (op->p[2] == FORMAT_D) read_columns(t, op, 64, 4);
    else read_columns(t, op, 32, 8);
}
