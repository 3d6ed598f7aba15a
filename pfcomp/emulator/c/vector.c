/* Vector multiply-add of doubles and operand conversions (isa.md 10, 18.1 to 18.3). */
#include "vector.h"

#include "exact.h"
#include "lanes.h"

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
    else vector_lanes(t, op);
}

enum { WORDS = 2 * PES };

/* Halves 0 and 1 (`upper`) or 2 and 3 of each long word as singles. */
static void pairs_to_singles(const uint64_t *src, int upper, uint64_t *dst) {
    uint64_t pairs[PES];
    uint32_t *words = (uint32_t *)pairs;
    for (int i = 0; i < PES; i++) {
        uint64_t pair = upper ? src[i] >> 32 : src[i];
        pairs[i] = (pair << 16 & 0xffff00000000) | (pair & 0xffff);
    }
    for (int i = 0; i < WORDS; i++) words[i] = half_to_single(words[i]);
    memcpy(dst, pairs, sizeof pairs);
}

static void singles_to_halves(const uint64_t *src, const uint64_t *src_low, uint64_t *dst) {
    uint64_t high[PES], low[PES];
    uint32_t *words = (uint32_t *)high, *words_low = (uint32_t *)low;
    memcpy(high, src, sizeof high), memcpy(low, src_low, sizeof low);
    for (int i = 0; i < WORDS; i++) words[i] = single_to_half(words[i]), words_low[i] = single_to_half(words_low[i]);
    for (int i = 0; i < PES; i++) dst[i] = (high[i] >> 16 | high[i]) << 32 | ((low[i] >> 16 | low[i]) & 0xffffffff);
}

void convert_op(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        switch (op->p[0]) {
        case SINGLE_TO_DOUBLE:
            for (int i = 0; i < PES; i++) dst[i] = single_to_double((uint32_t)(src[i] >> 32));
            break;
        case SINGLE4_TO_HALF4: singles_to_halves(src, row_of(t, op->src[0][4 + c]), dst); break;
        case HALF4_TO_SINGLE4:
            if (op->dst[4] >= 0) pairs_to_singles(src, 0, row_of(t, op->dst[4 + c]));
            pairs_to_singles(src, 1, dst);
            break;
        default: pairs_to_singles(src, 1, dst);
        }
    }
}
