/* Matrix registers (isa.md 11) and matrix times vector (11.3, 18.7).

   A register is decoded once after it was written: signed mantissas with rows contiguous, so that a column times an
   element of the vector adds to all outputs at once, and the common exponent of each row. Sums of half products are
   below 2^24 and exact in binary32, the others below 2^53 and exact in binary64. Rows or vectors that are not plain
   block float go to an exact scalar sum. */
#include "codes.h"
#include "engine.h"
#include "exact.h"
#include "lanes.h"
#include "wide_sum.h"

typedef struct {
    Format f;
    int size, bits, ignored, low_bits, column_step;
} Shape;

static const Shape SHAPES[4] = {
    {{52, 11}, 4, 64, 0, 16, 1}, {{23, 8}, 8, 32, 0, 5, 2}, {{23, 8}, 8, 32, 5, 0, 1}, {{9, 6}, 16, 16, 0, 0, 1}};

/* Element e of the four long words of a MAB (logical order). */
static inline uint64_t element(const uint64_t *words, int bits, int e) {
    int per_word = 64 / bits;
    uint64_t ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    return (words[e / per_word] >> (64 - bits * (1 + e % per_word))) & ones;
}

static inline uint64_t mantissa_of(uint64_t bits, const Shape *s) {
    return fraction_of(bits, s->f) & (~0ull << s->ignored);
}

/* Signed mantissas and the common exponent of a block; returns whether it is regular. */
static int decode_block(const uint64_t *bits, int count, const Shape *s, double *out, int32_t *exponent) {
    int top = 0, odd = 0, half = s->bits == 16;
    for (int i = 0; i < count; i++) {
        int field = field_of(bits[i], s->f);
        uint64_t m = mantissa_of(bits[i], s);
        odd |= field == infinite_of(s->f) || (half && !field && m);
        if (m && field > top) top = field;
    }
    for (int i = 0; i < count; i++) {
        int field = field_of(bits[i], s->f);
        uint64_t m = field || half ? mantissa_of(bits[i], s) : 0;
        odd |= m && field != top;
        out[i] = sign_of(bits[i], s->f) ? -(double)m : (double)m;
    }
    *exponent = top - bias_of(s->f) - (s->f.mantissa - 1);
    return !odd;
}

static void low_parts(double mantissa, int bits, double *low, double *sign) {
    int64_t m = (int64_t)(mantissa < 0 ? -mantissa : mantissa) & ((1 << bits) - 1);
    *low = mantissa < 0 ? -(double)m : (double)m;
    *sign = m ? (mantissa < 0 ? -1.0 : 1.0) : 0.0;
}

static void decode(Tile *t, int32_t first_row, int format, Decoded *d) {
    const Shape *s = &SHAPES[format];
    int columns = s->size / s->column_step;
    for (int r = 0; r < s->size; r++) {
        const uint64_t *row = row_of(t, first_row + r);
        for (int m = 0; m < TILE_MABS; m++) {
            uint64_t bits[16];
            double values[16];
            for (int j = 0; j < columns; j++) bits[j] = element(row + 4 * m, s->bits, j * s->column_step);
            d->regular[m][r] = (uint8_t)decode_block(bits, columns, s, values, &d->exponent[m][r]);
            for (int j = 0; j < columns; j++) {
                if (format == FORMAT_H) { d->h[m][j][r] = (float)values[j]; continue; }
                d->w[m][j][r] = values[j];
                if (s->low_bits) low_parts(values[j], s->low_bits, &d->low[m][j][r], &d->sign[m][j][r]);
            }
        }
    }
    d->format = format;
}

/* Everything a cycle of one MAB needs. */
typedef struct {
    uint64_t x[16], y[16], out[16]; /* bits: vector, addend, result */
    double values[16], sums[16];
    int32_t exponent;
    int regular;
} Work;

static void sums_half(const Decoded *d, int m, Work *w) {
    float acc[16] = {0};
    for (int j = 0; j < 16; j++) {
        float v = (float)w->values[j];
        for (int i = 0; i < 16; i++) acc[i] += d->h[m][j][i] * v; /* exact: below 2^24 */
    }
    for (int i = 0; i < 16; i++) w->sums[i] = (double)acc[i];
}

static void sums_wide(const Decoded *d, int m, const Shape *s, Work *w) {
    double acc[8] = {0};
    for (int j = 0; j < 8 / s->column_step; j++) {
        double v = w->values[j], low = 0, sign = 0;
        for (int i = 0; i < 8; i++) acc[i] += d->w[m][j][i] * v;
        if (!s->low_bits) continue;
        low_parts(v, s->low_bits, &low, &sign);
        double unit = sign * (double)(1 << (2 * s->low_bits - 2));
        for (int i = 0; i < 8; i++) acc[i] += d->sign[m][j][i] * unit - d->low[m][j][i] * low;
    }
    memcpy(w->sums, acc, sizeof acc);
}

static double power_of_two(int power) { return as_double((uint64_t)(power + 1023) << 52); }

/* Round sums[i] * 2^power + y[i]; returns a bit set of outputs that need the exact sum. */
static uint32_t finish(const Decoded *d, int m, int count, int narrow, Work *w) {
    uint32_t again = 0;
    uint64_t half_way = narrow ? 1ull << 42 : 1ull << 28, below = narrow ? (1ull << 43) - 1 : (1ull << 29) - 1;
    for (int i = 0; i < count; i++) {
        double s = w->sums[i] * power_of_two(d->exponent[m][i] + w->exponent) + (double)as_float(clean((uint32_t)w->y[i]));
        uint64_t bits = double_bits(s);
        uint32_t r = narrow ? double_to_half(bits) : float_bits((float)s);
        uint32_t least = !narrow && (r & 0x7fffffffu) == 0x00800000u, infinite = (bits >> 52 & 0x7ff) == 0x7ff;
        uint32_t check = (bits & below) == half_way || least || infinite || !d->regular[m][i] || !w->regular;
        again |= check << i;
        w->out[i] = narrow || (r & F_EXPONENT) ? r : 0;
    }
    return again;
}

static uint64_t exact_output(const Tile *t, int32_t first_row, const Shape *s, int m, int i, const Work *w, Format add, Format out) {
    const uint64_t *row = row_of(t, first_row + i) + 4 * m;
    uint64_t bits[16];
    int columns = s->size / s->column_step;
    for (int j = 0; j < columns; j++) bits[j] = element(row, s->bits, j * s->column_step);
    return block_dot(bits, w->x, columns, s->f, s->ignored, s->low_bits, w->y[i], add, out);
}

static void load_vector(const Tile *t, const Op *op, const Shape *s, int c, int m, Work *w) {
    const uint64_t *row = row_of(t, op->src[0][c]) + 4 * m;
    uint64_t flip = op->p[2] & 1 ? 1ull << (s->bits - 1) : 0;
    for (int j = 0; j < s->size / s->column_step; j++) w->x[j] = element(row, s->bits, j * s->column_step) ^ flip;
}

/* Addends: the layout of vector operands, but four singles (LW0, LW1) for half. */
static void load_addend(const Tile *t, const Op *op, const Shape *s, int c, int m, Work *w) {
    memset(w->y, 0, sizeof w->y);
    if (!op->p[5]) return;
    const uint64_t *high = row_of(t, op->src[1][c]) + 4 * m, *low = row_of(t, op->src[1][4 + c]) + 4 * m;
    uint64_t flip = op->p[2] & 2 ? 1ull << (s->bits == 64 ? 63 : 31) : 0;
    for (int i = 0; i < s->size; i++) {
        if (s->bits != 16) w->y[i] = element(high, s->bits, i);
        else w->y[i] = ((i % 4 < 2 ? high : low)[i / 4] >> (i % 2 ? 0 : 32)) & 0xffffffffu;
        w->y[i] ^= flip;
    }
}

static void store(Tile *t, const Op *op, const Shape *s, int c, int m, const Work *w) {
    uint64_t *high = row_of(t, op->dst[c]) + 4 * m, *low = op->dst[4] < 0 ? 0 : row_of(t, op->dst[4 + c]) + 4 * m;
    int narrow = op->p[3], per_pe = s->size / 4, bits = narrow ? (s->bits == 64 ? 32 : 16) : s->bits == 64 ? 64 : 32;
    for (int p = 0; p < 4; p++) {
        uint64_t words[2] = {0, 0};
        for (int k = 0; k < per_pe; k++) {
            int place = k * bits;
            words[place / 64] |= w->out[p * per_pe + k] << (64 - bits - place % 64);
        }
        high[p] = words[0];
        if (low) low[p] = words[1];
    }
}

static void double_cycle(Tile *t, const Op *op, int m, Work *w) {
    const Shape *s = &SHAPES[FORMAT_D];
    Format out = op->p[3] ? SINGLE : DOUBLE;
    for (int i = 0; i < 4; i++) {
        int computes = op->p[4] == 0 || (i > 1) == (op->p[4] == 2);
        if (computes) w->out[i] = exact_output(t, op->p[0], s, m, i, w, DOUBLE, out);
        else w->out[i] = exact_round(exact_value(w->y[i], DOUBLE), out);
    }
}

static void single_cycle(Tile *t, const Op *op, const Decoded *d, const Shape *s, int m, Work *w) {
    int columns = s->size / s->column_step;
    w->regular = decode_block(w->x, columns, s, w->values, &w->exponent);
    if (s->bits == 16) sums_half(d, m, w);
    else sums_wide(d, m, s, w);
    uint32_t again = finish(d, m, s->size, op->p[3], w);
    for (int i = 0; again; i++, again >>= 1)
        if (again & 1) w->out[i] = exact_output(t, op->p[0], s, m, i, w, SINGLE, op->p[3] ? HALF : SINGLE);
}

void matvec_op(Tile *t, const Op *op) {
    const Shape *s = &SHAPES[op->p[1]];
    Decoded *d = &t->matrix[op->p[0] == MATRIX_Y_ROW];
    if (op->p[1] != FORMAT_D && d->format != op->p[1]) decode(t, op->p[0], op->p[1], d);
    Work w;
    for (int m = 0; m < TILE_MABS; m++) {
        for (int c = 0; c < CYCLES; c++) {
            load_vector(t, op, s, c, m, &w);
            load_addend(t, op, s, c, m, &w);
            if (op->p[1] == FORMAT_D) double_cycle(t, op, m, &w);
            else single_cycle(t, op, d, s, m, &w);
            store(t, op, s, c, m, &w);
        }
    }
}

void mread_op(Tile *t, const Op *op) {
    const Shape *s = &SHAPES[op->p[2]];
    int per_word = 64 / s->bits, step = s->bits == 16 ? 2 : 1;
    for (int c = 0; c < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); c++) {
        int column = (op->p[1] + step * (c % CYCLES) + c / CYCLES) % s->size;
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int i = 0; i < PES; i++) {
            uint64_t word = 0;
            for (int k = 0; k < per_word; k++) {
                const uint64_t *row = row_of(t, op->p[0] + per_word * (i % 4) + k);
                word |= element(row + (i & ~3), s->bits, column) << (64 - s->bits * (k + 1));
            }
            dst[i] = word;
        }
    }
}
