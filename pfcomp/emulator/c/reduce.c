#include "reduce.h"

#include "codes.h"
#include "doubles.h"
#include "exact.h"
#include "half_lanes.h"
#include "lanes.h"

enum { GUARD = 3 };

static uint64_t round_shift(uint64_t value, int count) {
    if (count <= 0) return value;
    if (count > 62) return 0;
    uint64_t kept = value >> count, rest = value & ((1ull << count) - 1), half = 1ull << (count - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* Nearest even to `f` of a magnitude below 2^63; the rules of exact_round. */
static inline uint64_t round_small(uint64_t m, int power, int negative, Format f) {
    if (!m) return 0;
    int drop = 64 - __builtin_clzll(m) - (f.mantissa + 1);
    if (drop > 0) {
        m = round_shift(m, drop);
        if (m >> (f.mantissa + 1)) m >>= 1, drop++;
    } else {
        m <<= -drop;
    }
    int field = power + drop + f.mantissa + bias_of(f);
    if (field <= 0) return 0;
    if (field >= infinite_of(f)) return infinity_bits(negative, f);
    return ((uint64_t)negative << (f.mantissa + f.exponent)) | ((uint64_t)field << f.mantissa) | fraction_of(m, f);
}

/* One level: at most four operands aligned to the largest exponent, three guard bits, added, rounded to `out`. */
static inline uint64_t float_sum(const uint64_t *bits, int count, Format f, Format out) {
    int top = 0, infinite = 0, direction = 0;
    for (int i = 0; i < count; i++) {
        int field = field_of(bits[i], f);
        if (field > top) top = field;
        if (field == infinite_of(f)) infinite = 1, direction += sign_of(bits[i], f) ? -1 : 1;
    }
    if (infinite) return direction ? infinity_bits(direction < 0, out) : 0; /* infinity.py */
    int64_t total = 0;
    for (int i = 0; i < count; i++) {
        int field = field_of(bits[i], f);
        if (!field) continue;
        uint64_t whole = (fraction_of(bits[i], f) | (1ull << f.mantissa)) << GUARD;
        int64_t aligned = (int64_t)round_shift(whole, top - field);
        total += sign_of(bits[i], f) ? -aligned : aligned;
    }
    uint64_t magnitude = (uint64_t)(total < 0 ? -total : total);
    return round_small(magnitude, top - bias_of(f) - f.mantissa - GUARD, total < 0, out);
}

/* Aligning with three guard bits is rounding to a multiple of the quantum 2^(top - 26), which adding and subtracting
   1.5 * 2^52 quanta does in binary64; the sum of at most four such terms is exact there. Eight lanes; `again` gets
   those to do again. */
static inline __attribute__((always_inline)) U8 sum_eight(const uint32_t *const *in, int count, int i, U8 *again) {
    U8 bits[4], top = {0};
    for (int k = 0; k < count; k++) bits[k] = load_words(in[k] + i), top = larger(top, bits[k] & F_EXPONENT);
    L8 field = (L8)widen_integers((I8)top) << 29;
    D8 anchor = (D8)((field + ((uint64_t)(1023 - 127 - 26 + 52) << 52)) | 1ull << 51), sum = {0};
    for (int k = 0; k < count; k++) sum += (singles_to_doubles((F8)clean_lanes(bits[k])) + anchor) - anchor;
    U8 r = (U8)doubles_to_singles(sum);
    *again |= (U8)(top == F_EXPONENT) | (U8)((r & ~F_SIGN) == LEAST_SINGLE);
    return clean_lanes(r);
}

static inline __attribute__((always_inline)) uint32_t sum_lanes(const uint32_t *const *in, int count, uint32_t *out, int lanes) {
    U8 again = {0};
    for (int i = 0; i < lanes; i += 8) {
        U8 r = sum_eight(in, count, i, &again);
        memcpy(out + i, &r, sizeof r);
    }
    return any_lane(again);
}

void sum_singles(const uint32_t *const *in, int count, uint32_t *out, int lanes) {
    uint32_t again = count == 4 ? sum_lanes(in, 4, out, lanes) : sum_lanes(in, 2, out, lanes);
    if (!again) return;
    for (int i = 0; i < lanes; i++) {
        uint64_t bits[4];
        for (int k = 0; k < count; k++) bits[k] = in[k][i];
        out[i] = (uint32_t)float_sum(bits, count, SINGLE, SINGLE);
    }
}

static const Format FORMATS[3] = {{52, 11}, {23, 8}, {9, 6}};
static const int BITS[3] = {64, 32, 16};

static int64_t order(uint64_t lane, int bits) {
    uint64_t magnitude = lane & ((1ull << (bits - 1)) - 1);
    return lane >> (bits - 1) ? -1 - (int64_t)magnitude : (int64_t)magnitude;
}

static uint64_t level(const uint64_t *lanes, int count, int operation, int width) {
    int bits = BITS[width];
    uint64_t ones = bits == 64 ? ~0ull : (1ull << bits) - 1, r = lanes[0];
    if (operation == R_FADD) return float_sum(lanes, count, FORMATS[width], FORMATS[width]);
    if (operation == R_AND || operation == R_OR) r = r != 0;
    for (int i = 1; i < count; i++) {
        uint64_t v = lanes[i];
        switch (operation) {
        case R_MAX: if (order(v, bits) > order(r, bits)) r = v; break;
        case R_MIN: if (order(v, bits) < order(r, bits)) r = v; break;
        case R_IADD: r = (r + v) & ones; break;
        case R_BAND: r &= v; break;
        case R_BOR: r |= v; break;
        case R_AND: r &= v != 0; break;
        default: r |= v != 0; break;
        }
    }
    return r;
}

static int groups_of(int tree, int count) { return tree == TREE_FLAT ? 1 : count / 4; }

static uint64_t reduce_lane(const uint64_t *lanes, int count, int operation, int width, int tree) {
    int groups = groups_of(tree, count);
    if (groups == 1) return level(lanes, count, operation, width);
    uint64_t sums[4];
    for (int g = 0; g < groups; g++) sums[g] = level(lanes + 4 * g, 4, operation, width);
    return level(sums, groups, operation, width);
}

uint64_t reduce_words(const uint64_t *operands, int count, int code, int tree) {
    int width = code / 8, bits = BITS[width];
    uint64_t result = 0, lanes[16], ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    if (code % 8 == R_BAND || code % 8 == R_BOR) width = 0, bits = 64, ones = ~0ull;
    for (int shift = 0; shift < 64; shift += bits) {
        for (int i = 0; i < count; i++) lanes[i] = (operands[i] >> shift) & ones;
        result |= reduce_lane(lanes, count, code % 8, width, tree) << shift;
    }
    return result;
}

uint64_t unit_word(int code) {
    static const uint64_t MAGNITUDES[3] = {0x7fffffffffffffffull, 0x7fffffff7fffffffull, 0x7fff7fff7fff7fffull};
    static const uint64_t UNITS[3] = {1, 0x100000001ull, 0x1000100010001ull};
    switch (code % 8) {
    case R_MAX: case R_BAND: return ~0ull;
    case R_MIN: return MAGNITUDES[code / 8];
    case R_AND: return UNITS[code / 8];
    default: return 0;
    }
}

/* Single sums of one lane over the operands; the last rounding goes to half if `narrow`. */
static uint64_t single_sum(const uint64_t *lanes, int count, int tree, int narrow) {
    int groups = groups_of(tree, count);
    Format out = narrow ? HALF : SINGLE;
    if (groups == 1) return float_sum(lanes, count, SINGLE, out);
    uint64_t sums[4];
    for (int g = 0; g < groups; g++) sums[g] = float_sum(lanes + 4 * g, 4, SINGLE, SINGLE);
    return float_sum(sums, groups, SINGLE, out);
}

uint64_t mixed_sum(uint64_t operands[2][16], int count, int tree, int half, int widen, int narrow, int two, int w) {
    uint64_t lanes[16], result = 0;
    int quarters = half || two; /* all four halves of LW0 take part, else only those of w0 */
    int from_half = half || widen, to_half = half || narrow;
    int first = to_half && !half && two ? 0 : w; /* 2LW narrowed results all go to LW0 */
    if (to_half && !half && w) return 0;
    if (to_half) {
        for (int k = 0; k < (quarters ? 4 : 2); k++) {
            for (int i = 0; i < count; i++) {
                uint64_t word = from_half ? operands[half ? first : 0][i] : operands[k / 2][i];
                lanes[i] = from_half ? half_to_single((uint32_t)(word >> (48 - 16 * k)) & 0xffff)
                                     : (word >> (k % 2 ? 0 : 32)) & 0xffffffffu;
            }
            result |= single_sum(lanes, count, tree, 1) << (48 - 16 * k);
        }
        return result;
    }
    for (int k = 0; k < 2; k++) { /* widened, single results: halves 0, 1 for LW0 and 2, 3 for LW1 */
        for (int i = 0; i < count; i++) lanes[i] = half_to_single((uint32_t)(operands[0][i] >> (48 - 16 * (2 * w + k))) & 0xffff);
        result |= single_sum(lanes, count, tree, 0) << (k ? 0 : 32);
    }
    return result;
}
