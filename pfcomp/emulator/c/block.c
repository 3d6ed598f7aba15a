/* Block-float normalisation (isa.md 18.5, 18.6); blocks as in numpy_engine/blockfloat.py. */
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

/* Half blocks: 16 neighbouring elements. The rounding right shift of 32-bit lanes is exact for counts up to 31. */
static inline uint32_t nearest_even_lane(uint32_t value, uint32_t count) {
    uint32_t n = count > 31 ? 31 : count, kept = value >> n, rest = value & ((1u << n) - 1), half = (1u << n) >> 1;
    return kept + ((n != 0) & ((rest > half) | ((rest == half) & (kept & 1))));
}

static void halves(const uint16_t *src, uint16_t *dst, const Shape *s) {
    uint32_t top = 0, carries = 0, bits[16], field[16], whole[16];
    uint32_t shorten = (uint32_t)(10 - s->length), full = 1u << s->length;
    for (int i = 0; i < 16; i++) {
        bits[i] = src[i];
        field[i] = (bits[i] >> 9) & 63;
        whole[i] = field[i] ? (bits[i] & 0x1ff) | 0x200 : 0;
    }
    for (int i = 0; i < 16; i++) top = field[i] > top ? field[i] : top;
    for (int i = 0; i < 16; i++) carries |= (field[i] == top) & (nearest_even_lane(whole[i], shorten) >= full);
    uint32_t common = top + (top ? carries : 0), stored = (common + (uint32_t)s->shorter) << 9, infinite = stored >= 63u << 9;
    for (int i = 0; i < 16; i++) {
        uint32_t q = nearest_even_lane(whole[i], shorten + common - field[i]);
        uint32_t r = infinite ? 63u << 9 : stored | q;
        dst[i] = (uint16_t)((bits[i] & 0x8000) | (top ? r : 0));
    }
}

/* Single blocks: eight words (g), or the four words of one parity (f). */
static void singles(const uint32_t *src, uint32_t *dst, const Shape *s, int step) {
    uint32_t field[8], whole[8], top[2] = {0, 0}, carries[2] = {0, 0}, common[2];
    uint32_t shorten = (uint32_t)(24 - s->length), full = 1u << s->length, left = (uint32_t)(23 - s->length);
    for (int i = 0; i < 8; i++) {
        field[i] = (src[i] >> 23) & 255;
        whole[i] = field[i] ? (src[i] & 0x7fffff) | 0x800000 : 0;
    }
    for (int i = 0; i < 8; i++) top[i & (step - 1)] = field[i] > top[i & (step - 1)] ? field[i] : top[i & (step - 1)];
    for (int i = 0; i < 8; i++)
        carries[i & (step - 1)] |= (field[i] == top[i & (step - 1)]) & (nearest_even_lane(whole[i], shorten) >= full);
    for (int k = 0; k < 2; k++) common[k] = top[k] + (top[k] ? carries[k] : 0);
    for (int i = 0; i < 8; i++) {
        uint32_t c = common[i & (step - 1)], q = nearest_even_lane(whole[i], shorten + c - field[i]);
        uint32_t r = c >= 255 ? 255u << 23 : c << 23 | q << left;
        dst[i] = (src[i] & 0x80000000u) | (c ? r : 0);
    }
}

void block_op(Tile *t, const Op *op) {
    static const int BITS[4] = {64, 32, 32, 16};
    const Format formats[4] = {DOUBLE, SINGLE, SINGLE, HALF};
    Shape s = {formats[op->p[0]], op->p[1], op->p[0] == FORMAT_H ? 9 - op->p[1] : 0, op->p[2]};
    for (int c = 0; c < (op->dst[4] < 0 ? CYCLES : 2 * CYCLES); c++) {
        const uint64_t *src = row_of(t, op->src[0][c]);
        uint64_t *dst = row_of(t, op->dst[c]);
        for (int m = 0; m < PES; m += 4) {
            uint64_t words[4];
            if (op->p[0] == FORMAT_H && !s.extended) {
                halves((const uint16_t *)(src + m), (uint16_t *)(dst + m), &s);
            } else if (BITS[op->p[0]] == 32) {
                singles((const uint32_t *)(src + m), (uint32_t *)(dst + m), &s, op->p[0] == FORMAT_F ? 2 : 1);
            } else {
                memcpy(words, src + m, sizeof words);
                mab(words, &s, BITS[op->p[0]]);
                memcpy(dst + m, words, sizeof words);
            }
        }
    }
}
