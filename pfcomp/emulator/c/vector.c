/* Vector multiply-add (isa.md 10, 18.1 to 18.3) and operand conversions.

   Single lanes: the approximate product is exact in binary64, its sum with the addend is rounded once to binary64 and
   once more to the result. Lanes where that could differ from one rounding, where the result is the least normal
   number, or where it is not finite, are computed again by the exact scalar routine. */
#include "codes.h"
#include "engine.h"
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

/* Which source is y and which z, -1 where absent. */
static void roles(int operation, int *y, int *z) {
    *y = operation == VFMA || operation == VMUL ? 1 : -1;
    *z = operation == VFMA ? 2 : operation == VADD ? 1 : -1;
}

static uint32_t sign_mask(const Op *op, int source) { return op->p[2] >> source & 1 ? F_SIGN : 0; }

static void load_singles(const uint64_t *row, uint32_t sign, uint32_t *lanes) {
    const uint32_t *bits = (const uint32_t *)row;
    for (int i = 0; i < WORDS; i++) lanes[i] = bits[i] ^ sign;
}

static void vector_single(Tile *t, const Op *op) {
    int y, z;
    roles(op->p[0], &y, &z);
    Work w;
    for (int c = 0; c < CYCLES; c++) {
        load_singles(row_of(t, op->src[0][c]), sign_mask(op, 0), w.x);
        if (y > 0) load_singles(row_of(t, op->src[y][c]), sign_mask(op, y), w.y);
        if (z > 0) load_singles(row_of(t, op->src[z][c]), sign_mask(op, z), w.z);
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
        widen_halves(row_of(t, op->src[0][c]), sign_mask(op, 0), w.x);
        if (y > 0) widen_halves(row_of(t, op->src[y][c]), sign_mask(op, y), w.y);
        if (z > 0) load_four(row_of(t, op->src[z][c]), row_of(t, op->src[z][4 + c]), sign_mask(op, z), w.z);
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

static uint64_t double_lane(const Op *op, uint64_t x, uint64_t y, uint64_t z, int computes) {
    Format out = op->p[3] ? SINGLE : DOUBLE;
    if (op->p[0] == VADD || op->p[0] == VPASSA) return exact_round(exact_add(exact_value(x, DOUBLE), exact_value(z, DOUBLE)), out);
    return fma_exact(computes ? x : 0, y, z, DOUBLE, 16, DOUBLE, out);
}

/* x + z in one IEEE addition; lanes that are not finite again exactly. */
static void add_doubles(const Op *op, const uint64_t *x, const uint64_t *z, uint64_t sx, uint64_t sz, uint64_t *dst) {
    const uint64_t exponent = 0x7ffull << 52;
    uint64_t out[PES], any = 0;
    for (int i = 0; i < PES; i++) {
        uint64_t a = x[i] ^ sx, b = z ? z[i] ^ sz : 0;
        a = a & exponent ? a : 0, b = b & exponent ? b : 0;
        uint64_t r = double_bits(as_double(a) + as_double(b));
        any |= (r & exponent) == exponent;
        out[i] = r & exponent ? r : 0;
    }
    if (any)
        for (int i = 0; i < PES; i++)
            if ((out[i] & exponent) == exponent) out[i] = double_lane(op, x[i] ^ sx, 0, z ? z[i] ^ sz : 0, 1);
    memcpy(dst, out, sizeof out);
}

static void vector_double(Tile *t, const Op *op) {
    int y, z;
    roles(op->p[0], &y, &z);
    uint64_t sign[3];
    for (int s = 0; s < 3; s++) sign[s] = op->p[2] >> s & 1 ? 1ull << 63 : 0;
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *rx = row_of(t, op->src[0][c]), *ry = y > 0 ? row_of(t, op->src[y][c]) : 0;
        const uint64_t *rz = z > 0 ? row_of(t, op->src[z][c]) : 0;
        uint64_t *dst = row_of(t, op->dst[c]), sz = z > 0 ? sign[z] : 0;
        if (!ry && !op->p[3]) {
            add_doubles(op, rx, rz, sign[0], sz, dst);
            continue;
        }
        for (int i = 0; i < PES; i++) {
            int computes = op->p[4] == 0 || (i % 4 > 1) == (op->p[4] == 2);
            uint64_t r = double_lane(op, rx[i] ^ sign[0], ry ? ry[i] ^ sign[1] : 0, rz ? rz[i] ^ sz : 0, computes);
            dst[i] = op->p[3] ? r << 32 : r;
        }
    }
}

void vector_op(Tile *t, const Op *op) {
    if (op->p[1] == FORMAT_D) vector_double(t, op);
    else if (op->p[1] == FORMAT_H) vector_half(t, op);
    else vector_single(t, op);
}

static uint64_t pair_to_singles(uint64_t pair) {
    return (uint64_t)half_to_single((uint32_t)(pair >> 16) & 0xffff) << 32 | half_to_single((uint32_t)pair & 0xffff);
}

static uint64_t singles_to_pair(uint64_t singles) {
    return (uint64_t)single_to_half((uint32_t)(singles >> 32)) << 16 | single_to_half((uint32_t)singles);
}

void convert_op(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *src = row_of(t, op->src[0][c]), *src_low = row_of(t, op->src[0][4 + c]);
        uint64_t *dst = row_of(t, op->dst[c]), *low = op->dst[4] < 0 ? 0 : row_of(t, op->dst[4 + c]);
        for (int i = 0; i < PES; i++) {
            uint64_t v = src[i];
            switch (op->p[0]) {
            case SINGLE_TO_DOUBLE: dst[i] = single_to_double((uint32_t)(v >> 32)); break;
            case SINGLE4_TO_HALF4: dst[i] = singles_to_pair(v) << 32 | singles_to_pair(src_low[i]); break;
            default:
                dst[i] = pair_to_singles(v >> 32);
                if (op->p[0] == HALF4_TO_SINGLE4 && low) low[i] = pair_to_singles(v & 0xffffffffu);
            }
        }
    }
}
