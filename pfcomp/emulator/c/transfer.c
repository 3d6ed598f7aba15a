/* Transfers between L1BM, L2BM and the PEs (isa.md 12, 13). */
#include "codes.h"
#include "engine.h"
#include "reduce.h"

/* Offset of long word w (0, 1) of cycle c, MAB m, PE p from the start of a transfer. */
static int offset_of(int kind, int two, int w, int c, int m, int p) {
    switch (kind) {
    case KIND_P: return 4 * w + c;
    case KIND_M: return (two ? 8 : 4) * c + 4 * w + p;
    case KIND_M4: return (two ? 32 : 16) * c + (two ? 8 : 4) * (m >> 2) + 4 * w + p;
    default: return 64 * c + 4 * m + p;
    }
}

/* Four long words of a memory of `size` (a power of two), which may wrap. */
static inline __attribute__((always_inline)) void take_four(uint64_t *dst, const uint64_t *from, int at, int size) {
    at &= size - 1;
    if (at <= size - 4) memcpy(dst, from + at, 32);
    else
        for (int p = 0; p < 4; p++) dst[p] = from[(at + p) & (size - 1)];
}

static inline __attribute__((always_inline)) void lower(Tile *t, const Op *op, int kind, int shift) {
    int two = op->p[2], size = op->p[4] ? TURN_LW : L1BM_LW, address = op->p[1];
    const uint64_t *memory = op->p[4] ? t->turn : t->l1bm;
    for (int row = 0; row < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); row++)
        for (int b = 0; b < L1BS; b++) {
            const uint64_t *from = memory + (size_t)b * size;
            uint64_t *dst = row_of(t, op->dst[row]) + L1B_PES * b;
            int w = row / CYCLES, c = row % CYCLES;
            for (int m = 0; m < MABS; m++) {
                int at = address + offset_of(kind, two, w, c, (m - shift) & 15, 0);
                if (kind != KIND_P) take_four(dst + 4 * m, from, at, size);
                else
                    for (int p = 0; p < 4; p++) dst[4 * m + p] = from[at & (size - 1)];
            }
        }
}

void l1_down_op(Tile *t, const Op *op) {
    switch (op->p[3] ? -1 : op->p[0]) { /* most operations do not shift */
    case KIND_P: lower(t, op, KIND_P, 0); break;
    case KIND_M: lower(t, op, KIND_M, 0); break;
    case KIND_M4: lower(t, op, KIND_M4, 0); break;
    case KIND_D: lower(t, op, KIND_D, 0); break;
    default: lower(t, op, op->p[0], op->p[3]);
    }
}

enum { SINGLE_SUM = 8 + R_FADD };

typedef struct {
    int kind, address, two, shift, select, reduction, widen, narrow;
} Up;

/* What goes up for word w, cycle c, group g of MABs and PE p of an L1B. */
static uint64_t raised(const uint64_t *const rows[2], const Up *u, int w, int g, int p) {
    int members = u->kind == KIND_M ? 16 : 4, first = members * g;
    if (u->reduction < 0) return rows[w][4 * (first + u->select) + p];
    uint64_t operands[2][16];
    int mixed = u->reduction % 8 == R_FADD && (u->reduction / 8 == 2 || u->widen || u->narrow);
    for (int k = mixed ? 0 : w; k <= (mixed ? 1 : w); k++)
        for (int m = 0; m < members; m++) operands[k][m] = rows[k] ? rows[k][4 * (first + m) + p] : 0;
    int tree = u->kind == KIND_M ? TREE_4_4 : TREE_FLAT;
    if (mixed)
        return mixed_sum(operands, members, tree, u->reduction / 8 == 2, u->widen, u->narrow, u->two, w);
    return reduce_words(operands[w], members, u->reduction, tree);
}

static void put(Tile *t, const Up *u, int b, int offset, int shifted, uint64_t value) {
    t->turn[TURN_LW * b + offset] = value; /* unshifted (isa.md 12.2) */
    if (u->address >= 0) t->l1bm[(size_t)L1BM_LW * b + ((u->address + shifted) & (L1BM_LW - 1))] = value;
}

/* Single sums over the MABs: the eight words of a MAB are lanes. */
static void raise_sums(Tile *t, const Op *op, const Up *u) {
    int groups = u->kind == KIND_M ? 1 : 4;
    for (int b = 0; b < L1BS; b++)
        for (int c = 0; c < CYCLES; c++)
            for (int w = 0; w < (u->two ? 2 : 1); w++) {
                const uint32_t *row = (const uint32_t *)(row_of(t, op->src[0][4 * w + c]) + L1B_PES * b);
                uint32_t sums[4][8], total[8];
                for (int g = 0; g < 4; g++) {
                    const uint32_t *in[4] = {row + 32 * g, row + 32 * g + 8, row + 32 * g + 16, row + 32 * g + 24};
                    sum_singles(in, 4, sums[g], 8);
                }
                const uint32_t *level[4] = {sums[0], sums[1], sums[2], sums[3]};
                if (groups == 1) sum_singles(level, 4, total, 8);
                for (int g = 0; g < groups; g++)
                    for (int p = 0; p < 4; p++) {
                        const uint32_t *r = groups == 1 ? total : sums[g];
                        int offset = offset_of(u->kind, u->two, w, c, 4 * g, p);
                        put(t, u, b, offset, offset, (uint64_t)r[2 * p + 1] << 32 | r[2 * p]);
                    }
            }
}

/* The 64 long words of an L1B in cycle c. */
static void raise_all(Tile *t, const Up *u, int b, int c, const uint64_t *from) {
    memcpy(t->turn + TURN_LW * b + 64 * c, from, 64 * 8);
    if (u->address < 0) return;
    uint64_t *memory = t->l1bm + (size_t)L1BM_LW * b;
    for (int m = 0; m < MABS; m++) {
        int at = (u->address + 64 * c + 4 * ((m + u->shift) & 15)) & (L1BM_LW - 1);
        if (at <= L1BM_LW - 4) memcpy(memory + at, from + 4 * m, 32);
        else
            for (int p = 0; p < 4; p++) memory[(at + p) & (L1BM_LW - 1)] = from[4 * m + p];
    }
}

void l1_up_op(Tile *t, const Op *op) {
    Up u = {op->p[0], op->p[1], op->p[2], op->p[3], op->p[4], op->p[5], op->p[6], op->p[7]};
    if (u.reduction == SINGLE_SUM && !u.widen && !u.narrow) {
        raise_sums(t, op, &u);
        return;
    }
    for (int b = 0; b < L1BS; b++) {
        for (int c = 0; c < CYCLES; c++) {
            const uint64_t *rows[2] = {row_of(t, op->src[0][c]) + L1B_PES * b, 0};
            if (u.two) rows[1] = row_of(t, op->src[0][4 + c]) + L1B_PES * b;
            if (u.kind == KIND_D) {
                raise_all(t, &u, b, c, rows[0]);
                continue;
            }
            for (int w = 0; w < (u.two ? 2 : 1); w++)
                for (int g = 0; g < (u.kind == KIND_M ? 1 : 4); g++)
                    for (int p = 0; p < 4; p++) {
                        int offset = offset_of(u.kind, u.two, w, c, 4 * g, p);
                        put(t, &u, b, offset, offset, raised(rows, &u, w, g, p));
                    }
        }
    }
}

static uint64_t *l1(Tile *t, int b, int a) { return t->l1bm + (size_t)L1BM_LW * b + (a & (L1BM_LW - 1)); }
static uint64_t *l2(Tile *t, int a) { return t->l2bm + (a & (L2BM_LW - 1)); }

static void l2_simple(Tile *t, int kind, int ac, int ab, int members) {
    int width = kind == SPREAD || kind == COLLECT ? 8 : 16;
    for (int b = 0; b < L1BS; b++) {
        if (!(members >> b & 1)) continue;
        for (int c = 0; c < CYCLES; c++)
            for (int i = 0; i < width; i++) {
                int near = kind == BROADCAST || kind == TAKE ? 16 * c : kind == BROADCAST2 ? 64 * c + 16 * (b >> 1) : 64 * c + 8 * b;
                uint64_t *low = l1(t, b, ab + width * c + i), *high = l2(t, ac + near + i);
                if (kind == COLLECT || kind == TAKE) *high = *low;
                else *low = *high;
            }
    }
}

/* Single sums over all L1Bs of blocks that do not wrap. */
static void l2_sums(Tile *t, int ac, int ab) {
    uint32_t halves[2][128], total[128];
    for (int h = 0; h < 2; h++) {
        const uint32_t *in[4];
        for (int k = 0; k < 4; k++) in[k] = (const uint32_t *)l1(t, 4 * h + k, ab);
        sum_singles(in, 4, halves[h], 128);
    }
    const uint32_t *level[2] = {halves[0], halves[1]};
    sum_singles(level, 2, total, 128);
    memcpy(l2(t, ac), total, sizeof total);
}

static void l2_reduce(Tile *t, int ac, int ab, int members, int code) {
    uint64_t operands[8];
    if (code == SINGLE_SUM && members == 255 && ab + 64 <= L1BM_LW && ac + 64 <= L2BM_LW) {
        l2_sums(t, ac, ab);
        return;
    }
    for (int i = 0; i < 64; i++) {
        for (int b = 0; b < L1BS; b++) operands[b] = members >> b & 1 ? *l1(t, b, ab + i) : unit_word(code);
        *l2(t, ac + i) = reduce_words(operands, 8, code, TREE_4_2);
    }
}

static void l2_reduce2(Tile *t, int ac, int ab, int code) {
    for (int c = 0; c < CYCLES; c++)
        for (int h = 0; h < 4; h++)
            for (int i = 0; i < 16; i++) {
                uint64_t pair[2] = {*l1(t, 2 * h, ab + 16 * c + i), *l1(t, 2 * h + 1, ab + 16 * c + i)};
                *l2(t, ac + 64 * c + 16 * h + i) = reduce_words(pair, 2, code, TREE_FLAT);
            }
}

static void l2_internal(Tile *t, int as, int ab, int base, int dont_care) {
    uint64_t data[8][64];
    for (int b = 0; b < L1BS; b++)
        for (int i = 0; i < 64; i++) data[b][i] = *l1(t, b, as + i);
    for (int b = 0; b < L1BS; b++)
        for (int i = 0; i < 64; i++) *l1(t, b, ab + i) = data[(b & dont_care) | (base & ~dont_care & 7)][i];
}

void l2_op(Tile *t, const Op *op) {
    const int32_t *p = op->p;
    if (p[0] == REDUCE) l2_reduce(t, p[1], p[2], p[3], p[4]);
    else if (p[0] == REDUCE2) l2_reduce2(t, p[1], p[2], p[4]);
    else if (p[0] == INTERNAL) l2_internal(t, p[1], p[2], p[3], p[4]);
    else l2_simple(t, p[0], p[1], p[2], p[3]);
}
