/* Vector multiply-add (isa.md 10, 18.1 to 18.3) and operand conversions.

   Single lanes: the approximate product is exact in binary64, its sum with the addend is rounded once to binary64 and
   once more to the result. Lanes where that could differ from one rounding, where the result is the least normal
   number, or where it is not finite, are computed again by the exact scalar routine. */
#include "codes.h"
#include "engine.h"
#include "exact.h"
#include "lanes.h"

enum { LANES = 2 * PES };
#define LEAST_SINGLE 0x00800000u
#define HALF_WAY_SINGLE 0x10000000ull
#define HALF_WAY_HALF (1ull << 42)

typedef struct {
    uint32_t x[LANES], y[LANES], z[LANES];
} Operands;

/* p + z as single bits; flags[i] != 0 where the lane needs the exact routine. */
static uint32_t sum_to_single(const double *p, const uint32_t *z, uint32_t *out, uint32_t *flags) {
    uint32_t any = 0;
    for (int i = 0; i < LANES; i++) {
        double s = p[i] + (double)as_float(clean(z[i]));
        uint32_t r = float_bits((float)s), e = r & F_EXPONENT;
        uint32_t tie = (double_bits(s) & 0x1fffffffull) == HALF_WAY_SINGLE;
        flags[i] = tie | (e == F_EXPONENT) | ((r & ~F_SIGN) == LEAST_SINGLE);
        any |= flags[i];
        out[i] = e ? r : 0;
    }
    return any;
}

static uint32_t sum_to_half(const double *p, const uint32_t *z, uint32_t *out, uint32_t *flags) {
    uint32_t any = 0;
    for (int i = 0; i < LANES; i++) {
        double s = p[i] + (double)as_float(clean(z[i]));
        uint64_t bits = double_bits(s);
        uint32_t tie = (bits & ((1ull << 43) - 1)) == HALF_WAY_HALF, infinite = ((bits >> 52) & 0x7ff) == 0x7ff;
        flags[i] = tie | infinite;
        any |= flags[i];
        out[i] = double_to_half(bits);
    }
    return any;
}

static void products(const Operands *o, int approximate_low, double *p) {
    if (!approximate_low) {
        for (int i = 0; i < LANES; i++) p[i] = (double)as_float(clean(o->x[i])) * (double)as_float(clean(o->y[i]));
        return;
    }
    for (int i = 0; i < LANES; i++) {
        uint32_t x = clean(o->x[i]), y = clean(o->y[i]), low = (x & 31) * (y & 31);
        int32_t correction = low ? 256 - (int32_t)low : 0;
        double powers = (double)as_float(x & (F_EXPONENT | F_SIGN)) * (double)as_float(y & (F_EXPONENT | F_SIGN));
        p[i] = (double)as_float(x) * (double)as_float(y) + (double)correction * (powers * 0x1p-46);
    }
}

/* x + z in one IEEE addition. */
static uint32_t add_singles(const Operands *o, uint32_t *out, uint32_t *flags) {
    uint32_t any = 0;
    for (int i = 0; i < LANES; i++) {
        uint32_t r = float_bits(as_float(clean(o->x[i])) + as_float(clean(o->z[i]))), e = r & F_EXPONENT;
        flags[i] = e == F_EXPONENT;
        any |= flags[i];
        out[i] = e ? r : 0;
    }
    return any;
}

/* One operation on lanes of single bits; narrow results are half bits. */
static void lanes_op(int operation, const Operands *o, int low_bits, int narrow, uint32_t *out) {
    double p[LANES];
    uint32_t flags[LANES], any;
    if ((operation == VADD || operation == VPASSA) && !narrow) {
        any = add_singles(o, out, flags);
    } else {
        if (operation == VADD || operation == VPASSA) {
            for (int i = 0; i < LANES; i++) p[i] = (double)as_float(clean(o->x[i]));
        } else {
            products(o, low_bits, p);
        }
        any = narrow ? sum_to_half(p, o->z, out, flags) : sum_to_single(p, o->z, out, flags);
    }
    if (!any) return;
    for (int i = 0; i < LANES; i++)
        if (flags[i]) out[i] = (uint32_t)fma_exact(o->x[i], o->y[i], o->z[i], SINGLE, low_bits, SINGLE, narrow ? HALF : SINGLE);
}

/* Fill what an operation lacks: y = 1 for additions, z = 0 for products. */
static void defaults(int operation, Operands *o) {
    if (operation == VADD || operation == VPASSA)
        for (int i = 0; i < LANES; i++) o->y[i] = 0x3f800000u;
    if (operation == VMUL || operation == VPASSA) memset(o->z, 0, sizeof o->z);
}

/* Which source is y and which z, -1 where absent. */
static void roles(int operation, int *y, int *z) {
    *y = operation == VFMA || operation == VMUL ? 1 : -1;
    *z = operation == VFMA ? 2 : operation == VADD ? 1 : -1;
}

static void load_lanes(const uint64_t *row, uint32_t sign, uint32_t *lanes) {
    memcpy(lanes, row, PES * 8);
    if (sign)
        for (int i = 0; i < LANES; i++) lanes[i] ^= sign;
}

static uint32_t sign_mask(const Op *op, int source) { return op->p[2] >> source & 1 ? F_SIGN : 0; }

static void pack_pairs(const uint32_t *halves, uint64_t *dst) {
    for (int i = 0; i < PES; i++) dst[i] = (uint64_t)(halves[2 * i + 1] << 16 | halves[2 * i]) << 32;
}

static void vector_single(Tile *t, const Op *op) {
    int y, z;
    roles(op->p[0], &y, &z);
    Operands o;
    uint32_t out[LANES];
    for (int c = 0; c < CYCLES; c++) {
        load_lanes(row_of(t, op->src[0][c]), sign_mask(op, 0), o.x);
        if (y > 0) load_lanes(row_of(t, op->src[y][c]), sign_mask(op, y), o.y);
        if (z > 0) load_lanes(row_of(t, op->src[z][c]), sign_mask(op, z), o.z);
        defaults(op->p[0], &o);
        lanes_op(op->p[0], &o, 5, op->p[3], out);
        if (op->p[3]) pack_pairs(out, row_of(t, op->dst[c]));
        else memcpy(row_of(t, op->dst[c]), out, PES * 8);
    }
}

/* Two of the four halves of each long word as singles; `high`: the first two, in the order of LW0's lanes. */
static void load_halves(const uint64_t *row, int high, uint32_t sign, uint32_t *lanes) {
    int shift = high ? 32 : 0;
    for (int i = 0; i < PES; i++) {
        uint32_t pair = (uint32_t)(row[i] >> shift);
        lanes[2 * i] = half_to_single(pair & 0xffff) ^ sign;
        lanes[2 * i + 1] = half_to_single(pair >> 16) ^ sign;
    }
}

static void vector_half(Tile *t, const Op *op) {
    int y, z;
    roles(op->p[0], &y, &z);
    Operands o;
    uint32_t out[2][LANES];
    for (int c = 0; c < CYCLES; c++) {
        for (int part = 0; part < 2; part++) {
            load_halves(row_of(t, op->src[0][c]), !part, sign_mask(op, 0), o.x);
            if (y > 0) load_halves(row_of(t, op->src[y][c]), !part, sign_mask(op, y), o.y);
            if (z > 0) load_lanes(row_of(t, op->src[z][4 * part + c]), sign_mask(op, z), o.z);
            defaults(op->p[0], &o);
            lanes_op(op->p[0], &o, 0, op->p[3], out[part]);
        }
        uint64_t *dst = row_of(t, op->dst[c]);
        if (op->p[3]) {
            for (int i = 0; i < PES; i++)
                dst[i] = (uint64_t)(out[0][2 * i + 1] << 16 | out[0][2 * i]) << 32 | (out[1][2 * i + 1] << 16 | out[1][2 * i]);
            continue;
        }
        memcpy(dst, out[0], PES * 8);
        if (op->dst[4] >= 0) memcpy(row_of(t, op->dst[4 + c]), out[1], PES * 8);
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
