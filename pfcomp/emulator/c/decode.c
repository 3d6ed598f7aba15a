#include "blocks.h"
#include "codes.h"
#include "lanes.h"
#include "matrix.h"

const Shape SHAPES[4] = {
    {{52, 11}, 4, 64, 0, 16, 1}, {{23, 8}, 8, 32, 0, 5, 2}, {{23, 8}, 8, 32, 5, 0, 1}, {{9, 6}, 16, 16, 0, 0, 1}};

typedef struct {
    U8 field, mantissa, some, counted; /* some: all ones where the element has a value; counted: its field, else 0 */
} Parts;

static inline __attribute__((always_inline)) Parts parts_of(U8 bits, uint32_t mb, uint32_t infinite, uint32_t ones) {
    Parts p;
    p.field = (bits >> mb) & infinite;
    p.mantissa = bits & ones;
    p.some = (U8)(p.mantissa != 0u);
    p.counted = p.field & p.some;
    return p;
}

/* All ones where an element is not plain block float of the common exponent `top`. */
static inline __attribute__((always_inline)) U8 odd_of(Parts p, U8 top, uint32_t infinite) {
    return (U8)(p.field == infinite) | (p.some & (U8)(p.field != top) & (U8)(p.field != 0u));
}

static inline __attribute__((always_inline)) I8 signed_of(U8 mantissa, U8 negative) {
    return (I8)((mantissa ^ negative) - negative);
}

/* Signed mantissas of single elements, the largest exponent with a mantissa, whether anything is not plain; `step` 2 takes the upper word of each PE only. */
static void single_blocks(const uint64_t *row, const Shape *s, int negate, double *out, int32_t *exponent, uint32_t *irregular) {
    const uint32_t *bits = (const uint32_t *)row;
    uint32_t flip = negate ? F_SIGN : 0, ones = 0x7fffffu & (~0u << s->ignored), even = s->column_step == 2 ? 0 : ~0u;
    U8 used = {even, ~0u, even, ~0u, even, ~0u, even, ~0u};
    for (int m = 0; m < TILE_MABS; m++) {
        U8 a = load_words(bits + 8 * m) & used;
        Parts p = parts_of(a, 23, 255, ones);
        U8 top = spread_max(p.counted, ALL), odd = spread_or(odd_of(p, top, 255), ALL);
        I8 mantissa = signed_of(p.mantissa & (U8)(p.field != 0u), 0u - (((a ^ flip) >> 31) & 1u));
        for (int k = 0; k < 8; k++) out[8 * m + k] = (double)mantissa[k];
        exponent[m] = (int32_t)top[0] - 127 - 22;
        irregular[m] = odd[0] & 1;
    }
}

/* Low bits with the sign, and the sign where they are not zero: operands of the approximation (isa.md 18.2, 18.7). */
static void low_parts(const double *mantissa, int bits, int count, double *low, double *sign) {
    for (int i = 0; i < count; i++) {
        int32_t value = (int32_t)mantissa[i], magnitude = (value < 0 ? -value : value) & ((1 << bits) - 1);
        low[i] = (double)(value < 0 ? -magnitude : magnitude);
        sign[i] = (double)(magnitude ? (value < 0 ? -1 : 1) : 0);
    }
}

void decode_vectors(const uint64_t *row, int format, int negate, Vectors *v) {
    const Shape *s = &SHAPES[format];
    single_blocks(row, s, negate, v->w, v->exponent, v->irregular);
    if (s->low_bits) low_parts(v->w, s->low_bits, TILE_MABS * 8, v->low, v->sign);
}

void decode_matrix(Tile *t, int32_t first_row, int format, Decoded *d) {
    if (format == FORMAT_H) {
        decode_half_matrix(t, first_row, d);
        return;
    }
    const Shape *s = &SHAPES[format];
    Vectors v;
    for (int r = 0; r < s->size; r++) {
        int lane = result_lane(0, r);
        decode_vectors(row_of(t, first_row + r), format, 0, &v);
        for (int m = 0; m < TILE_MABS; m++) {
            d->exponent[m][lane] = v.exponent[m];
            d->irregular[m][lane] = v.irregular[m];
            for (int k = 0; k < 8; k++) d->w[m][k][lane] = v.w[8 * m + k];
            if (s->low_bits)
                for (int k = 0; k < 8; k++) d->low[m][k][lane] = v.low[8 * m + k], d->sign[m][k][lane] = v.sign[8 * m + k];
        }
    }
    d->format = format;
}
