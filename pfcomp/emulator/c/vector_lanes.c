/* Vector multiply-add of singles and halves in plain C (isa.md 10, 18.1 to 18.3); with AVX-512: vector_wide.c.

   Single lanes: the approximate product is exact in binary64, its sum with the addend is rounded once to binary64 and
   once more to the result. Lanes where that could differ from one rounding, where the result is the least normal
   number, or where it is not finite, are computed again by the exact scalar routine. */
#include "vector.h"

#if !defined(__AVX512F__)
#include "exact.h"
#include "half_lanes.h"
#include "lanes.h"

enum { LANES = 4 * PES, WORDS = 2 * PES };

/* Operands of one cycle, as single bits: two lanes of each PE for singles, four for halves. */
typedef struct {
    uint32_t x[LANES], y[LANES], z[LANES], out[LANES], flags[LANES];
    double p[LANES];
} Work;

/* p + z as single bits; flags[i] != 0 where the lane needs more care. */
static uint32_t sum_to_single(Work *w, int lanes) {
    uint32_t any = 0;
    uint32_t *restrict out = w->out, *restrict flags = w->flags;
    const double *restrict p = w->p;
    const uint32_t *restrict z = w->z;
    for (int i = 0; i < lanes; i++) {
        double s = p[i] + (double)as_float(clean(z[i]));
        uint32_t r = float_bits((float)s), e = r & F_EXPONENT;
        uint32_t tie = (double_bits(s) & 0x1fffffffull) == 0x10000000ull;
        flags[i] = tie | (mask_if(e == F_EXPONENT) & EXACT) | (mask_if((r & ~F_SIGN) == LEAST_SINGLE) & EXACT);
        any |= flags[i];
        out[i] = r & mask_if(e != 0);
    }
    return any;
}

static uint32_t sum_to_half(Work *w, int lanes) {
    uint32_t any = 0;
    uint32_t *restrict out = w->out, *restrict flags = w->flags;
    const double *restrict p = w->p;
    const uint32_t *restrict z = w->z;
    for (int i = 0; i < lanes; i++) {
        double c = (double)as_float(clean(z[i])), s = p[i] + c;
        uint64_t bits = double_bits(s);
        uint32_t tie = ((bits & ((1ull << 43) - 1)) == 1ull << 42) & (sum_error(p[i], c, s) != 0);
        flags[i] = tie | (mask_if(((bits >> 52) & 0x7ff) == 0x7ff) & EXACT);
        any |= flags[i];
        out[i] = double_to_half(bits);
    }
    return any;
}

/* Single products with the chip's approximation of the low five bits. */
static void products(Work *w, int lanes) {
    for (int i = 0; i < lanes; i++) {
        uint32_t x = clean(w->x[i]), y = clean(w->y[i]), low = (x & 31) * (y & 31);
        int32_t correction = low ? 256 - (int32_t)low : 0;
        double powers = (double)as_float(x & (F_EXPONENT | F_SIGN)) * (double)as_float(y & (F_EXPONENT | F_SIGN));
        w->p[i] = (double)as_float(x) * (double)as_float(y) + (double)correction * (powers * 0x1p-46);
    }
}

/* x + z in one IEEE addition. */
static uint32_t add_singles(Work *w, int lanes) {
    uint32_t any = 0;
    uint32_t *restrict out = w->out, *restrict flags = w->flags;
    const uint32_t *restrict x = w->x;
    const uint32_t *restrict z = w->z;
    for (int i = 0; i < lanes; i++) {
        uint32_t r = float_bits(as_float(clean(x[i])) + as_float(clean(z[i]))), e = r & F_EXPONENT;
        flags[i] = mask_if(e == F_EXPONENT) & EXACT;
        any |= flags[i];
        out[i] = r & mask_if(e != 0);
    }
    return any;
}

/* x * y + z of halves held as singles: the product is exact in single, so one addition rounds once. */
static inline __attribute__((always_inline)) uint32_t half_products(Work *w, int lanes, int narrow) {
    uint32_t any = 0;
    for (int i = 0; i < lanes; i += 8) {
        F8 x = (F8)clean_lanes(load_words(w->x + i)), y = (F8)clean_lanes(load_words(w->y + i));
        F8 z = (F8)clean_lanes(load_words(w->z + i)), p = x * y, s = p + z;
        U8 r = narrow ? half_of(off_half_ties(p, z, s)) : clean_lanes((U8)s);
        U8 infinite = (U8)(((U8)s & F_EXPONENT) == F_EXPONENT) & EXACT;
        memcpy(w->out + i, &r, sizeof r);
        memcpy(w->flags + i, &infinite, sizeof infinite);
        any |= any_lane(infinite);
    }
    return any;
}

static void repair(Work *w, int lanes, int low_bits, int narrow) {
    for (int i = 0; i < lanes; i++) {
        if (!w->flags[i]) continue;
        if (w->flags[i] & EXACT) {
            w->out[i] = (uint32_t)fma_exact(w->x[i], w->y[i], w->z[i], SINGLE, low_bits, SINGLE, narrow ? HALF : SINGLE);
            continue;
        }
        double s = sum_off_ties(w->p[i], (double)as_float(clean(w->z[i])));
        uint32_t r = narrow ? double_to_half(double_bits(s)) : float_bits((float)s);
        w->out[i] = narrow || (r & F_EXPONENT) ? r : 0;
    }
}

/* One operation on lanes of single bits; narrow results are half bits. */
static void lanes_op(int operation, Work *w, int lanes, int low_bits, int narrow) {
    uint32_t any;
    int addition = operation == VADD || operation == VPASSA;
    if (addition && !narrow) {
        any = add_singles(w, lanes);
    } else if (!low_bits) {
        any = narrow ? half_products(w, lanes, 1) : half_products(w, lanes, 0);
    } else {
        if (addition)
            for (int i = 0; i < lanes; i++) w->p[i] = (double)as_float(clean(w->x[i]));
        else
            products(w, lanes);
        any = narrow ? sum_to_half(w, lanes) : sum_to_single(w, lanes);
    }
    if (any) repair(w, lanes, low_bits, narrow);
}

/* Fill what an operation lacks: y = 1 for additions, z = 0 for products. */
static void defaults(int operation, Work *w, int lanes) {
    if (operation == VADD || operation == VPASSA)
        for (int i = 0; i < lanes; i++) w->y[i] = 0x3f800000u;
    if (operation == VMUL || operation == VPASSA) memset(w->z, 0, 4 * (size_t)lanes);
}

static void load_singles(const uint64_t *row, uint32_t sign, uint32_t *lanes) {
    const uint32_t *bits = (const uint32_t *)row;
    for (int i = 0; i < WORDS; i++) lanes[i] = bits[i] ^ sign;
}

static void vector_single(Tile *t, const Op *op) {
    int y, z;
    roles(op->p[0], &y, &z);
    Work w;
    for (int c = 0; c < CYCLES; c++) {
        load_singles(row_of(t, op->src[0][c]), sign_of_source(op, 0), w.x);
        if (y > 0) load_singles(row_of(t, op->src[y][c]), sign_of_source(op, y), w.y);
        if (z > 0) load_singles(row_of(t, op->src[z][c]), sign_of_source(op, z), w.z);
        defaults(op->p[0], &w, WORDS);
        lanes_op(op->p[0], &w, WORDS, 5, op->p[3]);
        uint64_t *dst = row_of(t, op->dst[c]);
        if (!op->p[3]) memcpy(dst, w.out, PES * 8);
        else
            for (int i = 0; i < PES; i++) dst[i] = (uint64_t)(w.out[2 * i + 1] << 16 | w.out[2 * i]) << 32;
    }
}

static void widen_halves(const uint64_t *row, uint32_t sign, uint32_t *lanes) {
    const uint16_t *bits = (const uint16_t *)row;
    for (int i = 0; i < LANES; i++) lanes[i] = half_to_single(bits[i]) ^ sign;
}

/* Four singles of each PE in the order of halves in memory: LW1 below LW0. */
static void load_four(const uint64_t *high, const uint64_t *low, uint32_t sign, uint32_t *lanes) {
    uint64_t *pairs = (uint64_t *)lanes, flip = (uint64_t)sign << 32 | sign;
    for (int i = 0; i < PES; i++) {
        pairs[2 * i] = low[i] ^ flip;
        pairs[2 * i + 1] = high[i] ^ flip;
    }
}

static void vector_half(Tile *t, const Op *op) {
    int y, z;
    roles(op->p[0], &y, &z);
    Work w;
    for (int c = 0; c < CYCLES; c++) {
        widen_halves(row_of(t, op->src[0][c]), sign_of_source(op, 0), w.x);
        if (y > 0) widen_halves(row_of(t, op->src[y][c]), sign_of_source(op, y), w.y);
        if (z > 0) load_four(row_of(t, op->src[z][c]), row_of(t, op->src[z][4 + c]), sign_of_source(op, z), w.z);
        defaults(op->p[0], &w, LANES);
        lanes_op(op->p[0], &w, LANES, 0, op->p[3]);
        uint64_t *dst = row_of(t, op->dst[c]), *low = op->dst[4] < 0 ? 0 : row_of(t, op->dst[4 + c]);
        const uint64_t *pairs = (const uint64_t *)w.out;
        if (op->p[3]) {
            uint16_t *halves = (uint16_t *)dst;
            for (int i = 0; i < LANES; i++) halves[i] = (uint16_t)w.out[i];
            continue;
        }
        for (int i = 0; i < PES; i++) dst[i] = pairs[2 * i + 1];
        if (low)
            for (int i = 0; i < PES; i++) low[i] = pairs[2 * i];
    }
}

void vector_lanes(Tile *t, const Op *op) {
    if (op->p[1] == FORMAT_H) vector_half(t, op);
    else vector_single(t, op);
}

#endif
