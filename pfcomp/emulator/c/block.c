/* Block-float normalisation (isa.md 18.5, 18.6); blocks as in numpy_engine/blockfloat.py. */
#include "block.h"

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
    uint64_t block[16] = {0}, ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    for (int e = 0; e < count; e++) block[e] = (words[e / per_word] >> (64 - bits * (1 + e % per_word))) & ones;
    normalise(block, count, s);
    for (int e = 0; e < count; e++) {
        int shift = 64 - bits * (1 + e % per_word);
        words[e / per_word] = (words[e / per_word] & ~(ones << shift)) | block[e] << shift;
    }
}

void block_op(Tile *t, const Op *op) {
    const Format formats[4] = {DOUBLE, SINGLE, SINGLE, HALF};
    int format = op->p[0];
    Shape s = {formats[format], op->p[1], format == FORMAT_H ? 9 - op->p[1] : 0, op->p[2]};
    for (int c = 0; c < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); c++) {
        const uint64_t *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        if (format != FORMAT_D && !s.extended) {
            normalise_row(src, dst, format, s.length);
            continue;
        }
        for (int m = 0; m < PES; m += 4) {
            uint64_t block[4];
            memcpy(block, src + m, sizeof block);
            mab(block, &s, format == FORMAT_D ? 64 : 16);
            memcpy(dst + m, block, sizeof block);
        }
    }
}
