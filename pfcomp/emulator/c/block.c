/* Block-float normalisation (isa.md 18.5, 18.6); blocks as in numpy_engine/blockfloat.py. */
#include "blocks.h"
#include "codes.h"
#include "engine.h"
#include "exact.h"

enum { EXTENSION = 6 };

typedef struct {
    Format f;
    int length, shorter, extended; /* shorter: 9 - length for half */
} Shape;

static inline uint64_t nearest_even(uint64_t value, int count) {
    if (count <= 0) return value;
    if (count > 63) return 0;
    uint64_t kept = value >> count, rest = value & ((1ull << count) - 1), half = 1ull << (count - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint64_t element(uint64_t bits, const Shape *s, int common) {
    int mb = s->f.mantissa, field = field_of(bits, s->f), half = mb == 9;
    uint64_t sign = bits & (1ull << (mb + s->f.exponent)), whole = field ? fraction_of(bits, s->f) | (1ull << mb) : 0;
    int shift = mb + 1 - s->length + common - field, result = common + s->shorter, limit = EXTENSION + s->shorter;
    if (s->extended && common - field >= limit) {
        int ones = nearest_even(whole, mb + 1 - s->length) >= 1ull << s->length;
        if (!(common - field == limit && ones)) shift -= EXTENSION, result = 0;
    }
    uint64_t q = field ? nearest_even(whole, shift) : 0;
    if (s->extended && !q) result = 0;
    return sign | ((uint64_t)result << mb) | (half ? q : q << (mb - s->length));
}

static void normalise(uint64_t *block, int count, const Shape *s) {
    int mb = s->f.mantissa, top = 0, carries = 0, infinite = infinite_of(s->f);
    uint64_t sign = 1ull << (mb + s->f.exponent);
    for (int i = 0; i < count; i++) {
        int field = field_of(block[i], s->f);
        if (field > top) top = field;
    }
    for (int i = 0; i < count; i++)
        if (field_of(block[i], s->f) == top)
            carries |= nearest_even(fraction_of(block[i], s->f) | (1ull << mb), mb + 1 - s->length) >= 1ull << s->length;
    int common = top + carries;
    for (int i = 0; i < count; i++) {
        if (top == 0) block[i] &= sign;
        else if (common + s->shorter >= infinite) block[i] = (block[i] & sign) | ((uint64_t)infinite << mb);
        else block[i] = element(block[i], s, common);
    }
}

/* The four long words of a MAB as one block. */
static void mab(uint64_t *words, const Shape *s, int bits) {
    int per_word = 64 / bits, count = 4 * per_word;
    uint64_t block[16], ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    for (int e = 0; e < count; e++) block[e] = (words[e / per_word] >> (64 - bits * (1 + e % per_word))) & ones;
    normalise(block, count, s);
    for (int e = 0; e < count; e++) {
        int shift = 64 - bits * (1 + e % per_word);
        words[e / per_word] = (words[e / per_word] & ~(ones << shift)) | block[e] << shift;
    }
}

/* Fields of eight elements of a format with `mb` mantissa bits. */
typedef struct {
    U8 sign, field, whole;
} Parts;

static inline __attribute__((always_inline)) Parts parts_of(U8 bits, uint32_t mb, uint32_t infinite) {
    Parts p;
    p.field = (bits >> mb) & infinite;
    p.whole = ((bits & ((1u << mb) - 1)) | 1u << mb) & (U8)(p.field != 0u);
    p.sign = bits & (infinite + 1) << mb;
    return p;
}

/* Elements at the common exponent `c`; blocks of zeros and overflowing blocks keep their signs only. */
static inline __attribute__((always_inline)) U8 assemble(Parts p, U8 top, U8 c, const Shape *s, uint32_t mb, uint32_t left) {
    uint32_t shorten = mb + 1 - (uint32_t)s->length, infinite = (uint32_t)infinite_of(s->f);
    U8 q = nearest_even_lanes(p.whole, c - p.field + shorten) << left, stored = c + (uint32_t)s->shorter;
    U8 over = (U8)(stored >= infinite), r = (((stored << mb) | q) & ~over) | (over & infinite << mb);
    return p.sign | (r & (U8)(top != 0u));
}

static inline __attribute__((always_inline)) U8 carries_of(Parts p, U8 top, uint32_t shorten, uint32_t length) {
    U8 rounded = nearest_even_lanes(p.whole, (U8){0} + shorten);
    return (U8)(p.field == top) & (U8)(rounded >= 1u << length) & (U8)(top != 0u) & 1u;
}

static void halves(const uint16_t *src, uint16_t *dst, const Shape *s) {
    Parts a = parts_of(load_halves(src), 9, 63), b = parts_of(load_halves(src + 8), 9, 63);
    uint32_t shorten = (uint32_t)(10 - s->length), length = (uint32_t)s->length;
    U8 top = spread_max(larger(a.field, b.field), ALL);
    U8 common = top + spread_or(carries_of(a, top, shorten, length) | carries_of(b, top, shorten, length), ALL);
    H8 low = __builtin_convertvector(assemble(a, top, common, s, 9, 0), H8);
    H8 high = __builtin_convertvector(assemble(b, top, common, s, 9, 0), H8);
    memcpy(dst, &low, sizeof low);
    memcpy(dst + 8, &high, sizeof high);
}

static inline __attribute__((always_inline)) void words(const uint32_t *src, uint32_t *dst, const Shape *s, int kind) {
    Parts p = parts_of(load_words(src), 23, 255);
    U8 top = spread_max(p.field, kind);
    U8 common = top + spread_or(carries_of(p, top, (uint32_t)(24 - s->length), (uint32_t)s->length), kind);
    U8 r = assemble(p, top, common, s, 23, (uint32_t)(23 - s->length));
    memcpy(dst, &r, sizeof r);
}

static void singles(const uint32_t *src, uint32_t *dst, const Shape *s, int kind) {
    if (kind == PARITY) words(src, dst, s, PARITY);
    else words(src, dst, s, ALL);
}

void block_op(Tile *t, const Op *op) {
    static const int BITS[4] = {64, 32, 32, 16};
    const Format formats[4] = {DOUBLE, SINGLE, SINGLE, HALF};
    Shape s = {formats[op->p[0]], op->p[1], op->p[0] == FORMAT_H ? 9 - op->p[1] : 0, op->p[2]};
    for (int c = 0; c < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); c++) {
        const uint64_t *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int m = 0; m < PES; m += 4) {
            uint64_t block[4];
            if (op->p[0] == FORMAT_H && !s.extended) {
                halves((const uint16_t *)(src + m), (uint16_t *)(dst + m), &s);
            } else if (BITS[op->p[0]] == 32) {
                singles((const uint32_t *)(src + m), (uint32_t *)(dst + m), &s, op->p[0] == FORMAT_F ? PARITY : ALL);
            } else {
                memcpy(block, src + m, sizeof block);
                mab(block, &s, BITS[op->p[0]]);
                memcpy(dst + m, block, sizeof block);
            }
        }
    }
}
