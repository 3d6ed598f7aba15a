/* Copies between rows: plain, words, per-PE addresses, constants, masks (isa.md 4, 6, 7). */
#include "codes.h"
#include "engine.h"

#define HIGH 0xffffffff00000000ull
#define ONES 0xffffffffffffffffull

typedef struct {
    int32_t row; /* first row of the mask entry, -1: none */
    int two;
} Mask;

static uint64_t spread_word(uint64_t first, uint64_t second) {
    return ((first & 1) * HIGH) | ((second & 1) * 0xffffffffull);
}

static inline uint64_t mask_high(const uint64_t *mask, int two, int i) {
    return two ? spread_word(mask[i] >> 48, mask[i] >> 32) : mask[i];
}

static inline uint64_t mask_low(const uint64_t *mask, int two, int i) {
    return two ? spread_word(mask[i] >> 16, mask[i]) : ONES;
}

static void copy_row(uint64_t *dst, const uint64_t *src) {
    if (dst != src) memmove(dst, src, PES * 8);
}

static void merge(uint64_t *dst, const uint64_t *src, const uint64_t *mask, int two, int low) {
    for (int i = 0; i < PES; i++) {
        uint64_t m = low ? mask_low(mask, two, i) : mask_high(mask, two, i);
        dst[i] ^= (dst[i] ^ src[i]) & m;
    }
}

static void copy(Tile *t, const Op *op) {
    Mask m = {op->p[0], op->p[1]};
    for (int c = 0; c < CYCLES; c++) {
        if (m.row < 0) copy_row(row_of(t, op->dst[c]), row_of(t, op->src[0][c]));
        else merge(row_of(t, op->dst[c]), row_of(t, op->src[0][c]), row_of(t, m.row + c), m.two, 0);
    }
    if (op->dst[4] < 0) return;
    for (int c = 0; c < CYCLES; c++) {
        if (m.row < 0 || !m.two) copy_row(row_of(t, op->dst[4 + c]), row_of(t, op->src[0][4 + c]));
        else merge(row_of(t, op->dst[4 + c]), row_of(t, op->src[0][4 + c]), row_of(t, m.row + c), 1, 1);
    }
}

static void load_word(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        int shift = 32 * op->p[c];
        for (int i = 0; i < PES; i++) dst[i] = (src[i] << shift) & HIGH;
    }
}

static void store_word(Tile *t, const Op *op) {
    Mask m = {op->p[4], op->p[5]};
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *src = row_of(t, op->src[0][c]), *mask = m.row < 0 ? 0 : row_of(t, m.row + c);
        uint64_t *dst = row_of(t, op->dst[c]);
        int shift = 32 * op->p[c];
        for (int i = 0; i < PES; i++) {
            uint64_t keep = (mask ? mask_high(mask, m.two, i) & HIGH : HIGH) >> shift;
            dst[i] ^= (dst[i] ^ (src[i] >> shift)) & keep;
        }
    }
}

/* Word addresses of all PEs in cycle c. */
static void addresses(const Tile *t, const int32_t *p, int c, uint32_t *a) {
    const uint64_t *indices = row_of(t, T_ROW + c), *bars = p[9] < 0 ? 0 : row_of(t, p[9]);
    uint32_t first = (uint32_t)p[3 + c], wrap = (uint32_t)(p[1] - 1) & (uint32_t)-p[2], width = (uint32_t)p[2];
    for (int i = 0; i < PES; i++) a[i] = first;
    if (p[7])
        for (int i = 0; i < PES; i++) a[i] += (uint32_t)indices[i];
    if (p[8] >= 0)
        for (int i = 0; i < PES; i++) a[i] += i % 4 <= p[8] ? width : 0;
    if (bars)
        for (int i = 0; i < PES; i++) a[i] += (uint32_t)bars[i];
    for (int i = 0; i < PES; i++) a[i] &= wrap;
}

static void gather(Tile *t, const Op *op) {
    const uint64_t *base = row_of(t, op->p[0]);
    uint32_t a[PES];
    for (int c = 0; c < CYCLES; c++) {
        uint64_t *dst = row_of(t, op->dst[c]), *low = op->dst[4] < 0 ? 0 : row_of(t, op->dst[4 + c]);
        addresses(t, op->p, c, a);
        if (low) /* first, because LW0 may be computed in place */
            for (int i = 0; i < PES; i++) low[i] = base[(size_t)(a[i] >> 1) * PES + PES + i];
        for (int i = 0; i < PES; i++) dst[i] = base[(size_t)(a[i] >> 1) * PES + i];
        if (op->p[2] == 1)
            for (int i = 0; i < PES; i++) dst[i] = (dst[i] << (32 * (a[i] & 1))) & HIGH;
    }
}

/* Long words to the PEs' rows. Rows of PEs that keep what they have are not even looked at. */
static void scatter_longs(uint64_t *base, const uint32_t *a, const uint64_t *src, const uint64_t *mask, int two) {
    for (int i = 0; i < PES; i++) {
        uint64_t *to = base + (size_t)(a[i] >> 1) * PES + i, keep = mask ? mask_high(mask, two, i) : ONES;
        if (keep == ONES) *to = src[i];
        else if (keep) *to ^= (*to ^ src[i]) & keep;
    }
}

static void scatter_words(uint64_t *base, const uint32_t *a, const uint64_t *src, const uint64_t *mask, int two) {
    for (int i = 0; i < PES; i++) {
        uint64_t *to = base + (size_t)(a[i] >> 1) * PES + i, keep = (mask ? mask_high(mask, two, i) : ONES) & HIGH;
        int shift = 32 * (a[i] & 1);
        *to ^= (*to ^ (src[i] >> shift)) & (keep >> shift);
    }
}

static void scatter_lows(uint64_t *base, const uint32_t *a, const uint64_t *low, const uint64_t *mask, int two) {
    for (int i = 0; i < PES; i++) {
        uint64_t *to = base + (size_t)(a[i] >> 1) * PES + PES + i;
        *to ^= (*to ^ low[i]) & (mask ? mask_low(mask, two, i) : ONES);
    }
}

static void scatter(Tile *t, const Op *op) {
    const int32_t *p = op->p;
    uint64_t *base = row_of(t, p[0]);
    uint32_t a[PES];
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *src = row_of(t, op->src[0][c]), *mask = p[10] < 0 ? 0 : row_of(t, p[10] + c);
        int on = p[12] >> (3 - c) & 1;
        addresses(t, p, c, a);
        if (on && p[2] == 1) scatter_words(base, a, src, mask, p[11]);
        else if (on) scatter_longs(base, a, src, mask, p[11]);
        if (p[2] == 4 && (on || !p[11])) scatter_lows(base, a, row_of(t, op->src[0][4 + c]), mask, p[11]);
    }
}

static void flush(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *mask = row_of(t, op->p[0] + c), *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int i = 0; i < PES; i++) dst[i] = src[i] & mask_high(mask, op->p[1], i);
        if (op->dst[4] < 0) continue;
        const uint64_t *src_low = row_of(t, op->src[0][4 + c]);
        uint64_t *low = row_of(t, op->dst[4 + c]);
        for (int i = 0; i < PES; i++) low[i] = src_low[i] & mask_low(mask, op->p[1], i);
    }
}

static void fill(Tile *t, const Op *op) {
    uint64_t word = (uint64_t)(uint32_t)op->p[0] << 32 | (uint32_t)op->p[1];
    for (int c = 0; c < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); c++) {
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int i = 0; i < PES; i++) dst[i] = word;
    }
}

static void store_mask(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        uint64_t *dst = row_of(t, op->dst[c]);
        if (op->p[0] < 0) copy_row(dst, row_of(t, op->src[0][c]));
        else merge(dst, row_of(t, op->src[0][c]), row_of(t, op->p[0] + c), 0, 0);
    }
}

static void set_bar(Tile *t, const Op *op) {
    for (int c = 0; c < CYCLES; c++) {
        const uint64_t *src = row_of(t, op->src[0][c]), *mask = op->p[0] < 0 ? 0 : row_of(t, op->p[0] + c);
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int i = 0; i < PES; i++) {
            uint64_t keep = mask ? mask_high(mask, op->p[1], i) >> 32 : ONES;
            dst[i] ^= (dst[i] ^ ((src[i] >> 32) & 0xfff)) & keep;
        }
    }
}

static void negate(Tile *t, const Op *op) {
    uint64_t signs = op->p[0] == 64 ? 1ull << 63 : op->p[0] == 32 ? 0x8000000080000000ull : 0x8000800080008000ull;
    for (int c = 0; c < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); c++) {
        const uint64_t *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int i = 0; i < PES; i++) dst[i] = src[i] ^ signs;
    }
}

void copy_op(Tile *t, const Op *op) {
    switch (op->code) {
    case COPY: copy(t, op); break;
    case LOAD_WORD: load_word(t, op); break;
    case STORE_WORD: store_word(t, op); break;
    case GATHER: gather(t, op); break;
    case SCATTER: scatter(t, op); break;
    case FLUSH: flush(t, op); break;
    case FILL: fill(t, op); break;
    case STORE_MASK: store_mask(t, op); break;
    case SET_BAR: set_bar(t, op); break;
    default: negate(t, op); break;
    }
}
