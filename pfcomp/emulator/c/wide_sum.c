#include "wide_sum.h"

#include <string.h>

/* A fixed-point number wide enough for every sum of products of doubles: limb 0 starts at 2^LOWEST. */
enum { LIMBS = 72, LOWEST = -2300, EXTENSION = 6 };

typedef struct {
    uint64_t limb[LIMBS];
} Sum;

static void accumulate(Sum *sum, u128 magnitude, int power, int negative) {
    int place = power - LOWEST, first = place / 64, shift = place % 64;
    uint64_t parts[3] = {(uint64_t)(magnitude << shift), (uint64_t)((magnitude << shift) >> 64), 0};
    if (shift) parts[2] = (uint64_t)(magnitude >> (128 - shift));
    u128 carry = 0;
    for (int i = first, k = 0; i < LIMBS; i++, k++) {
        u128 part = k < 3 ? parts[k] : 0;
        if (negative) {
            u128 total = (u128)sum->limb[i] - part - carry;
            sum->limb[i] = (uint64_t)total;
            carry = (total >> 64) & 1;
        } else {
            u128 total = (u128)sum->limb[i] + part + carry;
            sum->limb[i] = (uint64_t)total;
            carry = total >> 64;
        }
        if (k >= 2 && !carry) break;
    }
}

static Exact leading(Sum *sum) {
    Exact r = {0, 0, 0, 0};
    r.negative = (int)(sum->limb[LIMBS - 1] >> 63);
    if (r.negative) {
        u128 carry = 1;
        for (int i = 0; i < LIMBS; i++) {
            carry += (uint64_t)~sum->limb[i];
            sum->limb[i] = (uint64_t)carry;
            carry >>= 64;
        }
    }
    int top = LIMBS - 1;
    while (top > 1 && !sum->limb[top]) top--;
    r.magnitude = (u128)sum->limb[top] << 64 | sum->limb[top - 1];
    r.power = LOWEST + 64 * (top - 1);
    int zeros = 128 - length_of(r.magnitude);
    if (top > 1 && zeros > 0 && zeros < 128) {
        r.magnitude = r.magnitude << zeros | (zeros < 64 ? sum->limb[top - 2] >> (64 - zeros) : sum->limb[top - 2] << (zeros - 64));
        r.power -= zeros;
    }
    int sticky = top > 1 && zeros < 64 && (zeros ? sum->limb[top - 2] << zeros : sum->limb[top - 2]);
    for (int i = 0; i < top - 2; i++) sticky |= sum->limb[i] != 0;
    if (sticky) r.magnitude |= 1;
    return r;
}

typedef struct {
    uint64_t mantissa;
    int power, negative, infinite, extended;
} Element;

static Element decode(uint64_t bits, Format f, int ignored) {
    int field = field_of(bits, f), half = f.mantissa == 9;
    Element e = {fraction_of(bits, f) & (~0ull << ignored), field - bias_of(f) - (f.mantissa - 1), sign_of(bits, f), 0, 0};
    if (field == infinite_of(f)) e.infinite = 1, e.mantissa = 0;
    if (field == 0 && half && e.mantissa) e.extended = 1;
    else if (field == 0) e.mantissa = 0;
    return e;
}

static int common_power(const Element *e, int count) {
    int found = 0, power = 0;
    for (int j = 0; j < count; j++)
        if (e[j].mantissa && !e[j].extended && (!found || e[j].power > power)) found = 1, power = e[j].power;
    return power;
}

static u128 nearest_even(u128 value, int count) {
    if (!count) return value;
    u128 kept = value >> count, rest = value & (((u128)1 << count) - 1), half = (u128)1 << (count - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint64_t block_dot(const uint64_t *row, const uint64_t *column, int count, Format f, int ignored, int low_bits,
                   uint64_t addend, Format add, Format out) {
    Element a[16], b[16];
    for (int j = 0; j < count; j++) a[j] = decode(row[j], f, ignored), b[j] = decode(column[j], f, ignored);
    int power_a = common_power(a, count), power_b = common_power(b, count), infinite = 0, direction = 0;
    Sum sum;
    memset(&sum, 0, sizeof sum);
    for (int j = 0; j < count; j++) {
        int negative = a[j].negative ^ b[j].negative;
        if (a[j].infinite || b[j].infinite) {
            if ((a[j].infinite || a[j].mantissa) && (b[j].infinite || b[j].mantissa)) infinite = 1, direction += negative ? -1 : 1;
            continue;
        }
        u128 product = low_bits ? approximate(a[j].mantissa, b[j].mantissa, low_bits) : (u128)a[j].mantissa * b[j].mantissa;
        product = nearest_even(product, EXTENSION * (a[j].extended + b[j].extended));
        int power = (a[j].extended ? power_a : a[j].power) + (b[j].extended ? power_b : b[j].power);
        if (product) accumulate(&sum, product, power, negative);
    }
    Exact z = exact_value(addend, add), total = {0, 0, direction < 0, infinite && direction};
    if (infinite || z.infinite) return exact_round(exact_add(total, z), out);
    if (z.magnitude) accumulate(&sum, z.magnitude, z.power, z.negative);
    return exact_round(leading(&sum), out);
}
