/* ALU operations, flags and moves between the PEs of a MAB (isa.md 9). */
#include "codes.h"
#include "engine.h"

/* floor(64/sqrt(1 + k/16)) with 63 for k = 0, then floor(64/sqrt(2 + k/8)): rsqrt.py. */
static const int RSQRT_TABLE[32] = {63, 62, 60, 58, 57, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45,
                                    45, 43, 42, 41, 40, 39, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32};

#define BITS 64
#define U uint64_t
#define S int64_t
#define MB 52
#define EB 11
#define NAME(x) x##_64
#include "alu_lanes.h"

#define BITS 32
#define U uint32_t
#define S int32_t
#define MB 23
#define EB 8
#define NAME(x) x##_32
#include "alu_lanes.h"

#define BITS 16
#define U uint16_t
#define S int16_t
#define MB 9
#define EB 6
#define NAME(x) x##_16
#include "alu_lanes.h"

void alu_op(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        const void *x = row_of(t, op->src[0][c]), *y = row_of(t, op->src[1][c]);
        void *r = row_of(t, op->dst[c]);
        if (op->p[1] == 64) lanes_64(op->p[0], op->p[2], x, y, r);
        else if (op->p[1] == 32) lanes_32(op->p[0], op->p[2], x, y, r);
        else lanes_16(op->p[0], op->p[2], x, y, r);
    }
}

/* Sign bits of the four words, inverted, one for each bit of the nibble. */
static void signs4(const uint64_t *high, const uint64_t *low, uint64_t *r) {
    for (int i = 0; i < PES; i++) {
        uint64_t h = ~high[i], l = ~low[i];
        r[i] = ((h >> 63) * 0xffffull) << 48 | ((h >> 31 & 1) * 0xffffull) << 32 | ((l >> 63) * 0xffffull) << 16 |
               (l >> 31 & 1) * 0xffffull;
    }
}

void flag_op(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        const void *x = row_of(t, op->src[0][c]), *y = row_of(t, op->src[1][c]);
        void *r = row_of(t, op->dst[c]);
        if (op->p[0] == FLAG_SIGNS4) signs4(x, row_of(t, op->src[0][4 + c]), r);
        else if (op->p[1] == 64) flags_64(op->p[0], op->p[2], x, y, r);
        else if (op->p[1] == 32) flags_32(op->p[0], op->p[2], x, y, r);
        else flags_16(op->p[0], op->p[2], x, y, r);
    }
}

void shift_pe_op(Tile *t, const Op *op) {
    int from = -op->p[0] & 3;
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int m = 0; m < PES; m += 4) {
            uint64_t old[4] = {src[m], src[m + 1], src[m + 2], src[m + 3]};
            for (int p = 0; p < 4; p++) dst[m + p] = old[(p + from) & 3];
        }
    }
}
