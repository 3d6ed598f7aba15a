/* Block-float normalisation of singles and halves in plain C (isa.md 18.5). */
#include "block.h"

#if !defined(__AVX512F__)
#include "blocks.h"

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
static inline __attribute__((always_inline)) U8 assemble(Parts p, U8 top, U8 c, int length, uint32_t mb, uint32_t left) {
    uint32_t shorten = mb + 1 - (uint32_t)length, infinite = mb == 9 ? 63 : 255;
    U8 q = nearest_even_lanes(p.whole, c - p.field + shorten) << left, stored = mb == 9 ? c + (uint32_t)(9 - length) : c;
    U8 over = (U8)(stored >= infinite), r = (((stored << mb) | q) & ~over) | (over & infinite << mb);
    return p.sign | (r & (U8)(top != 0u));
}

static inline __attribute__((always_inline)) U8 carries_of(Parts p, U8 top, uint32_t shorten, uint32_t length) {
    U8 rounded = nearest_even_lanes(p.whole, (U8){0} + shorten);
    return (U8)(p.field == top) & (U8)(rounded >= 1u << length) & (U8)(top != 0u) & 1u;
}

static inline __attribute__((always_inline)) void halves(const uint16_t *src, uint16_t *dst, int length) {
    Parts a = parts_of(load_halves(src), 9, 63), b = parts_of(load_halves(src + 8), 9, 63);
    uint32_t shorten = (uint32_t)(10 - length);
    U8 top = spread_max(larger(a.field, b.field), ALL);
    U8 carries = carries_of(a, top, shorten, (uint32_t)length) | carries_of(b, top, shorten, (uint32_t)length);
    U8 common = top + spread_or(carries, ALL);
    H8 low = __builtin_convertvector(assemble(a, top, common, length, 9, 0), H8);
    H8 high = __builtin_convertvector(assemble(b, top, common, length, 9, 0), H8);
    memcpy(dst, &low, sizeof low);
    memcpy(dst + 8, &high, sizeof high);
}

static inline __attribute__((always_inline)) void words(const uint32_t *src, uint32_t *dst, int length, int kind) {
    Parts p = parts_of(load_words(src), 23, 255);
    U8 top = spread_max(p.field, kind);
    U8 common = top + spread_or(carries_of(p, top, (uint32_t)(24 - length), (uint32_t)length), kind);
    U8 r = assemble(p, top, common, length, 23, (uint32_t)(23 - length));
    memcpy(dst, &r, sizeof r);
}

void normalise_row(const uint64_t *src, uint64_t *dst, int format, int length) {
    for (int m = 0; m < PES; m += 4) {
        if (format == FORMAT_H) halves((const uint16_t *)(src + m), (uint16_t *)(dst + m), length);
        else if (format == FORMAT_F) words((const uint32_t *)(src + m), (uint32_t *)(dst + m), length, PARITY);
        else words((const uint32_t *)(src + m), (uint32_t *)(dst + m), length, ALL);
    }
}

#endif
