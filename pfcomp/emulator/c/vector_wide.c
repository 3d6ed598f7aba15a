/* Vector multiply-add of singles and halves, sixteen lanes at a time (isa.md 10, 18.1 to 18.3); vector_lanes.c is the
   plain form. Sums of singles are rounded to binary64 and from there to the result: lanes half way between two results
   could differ from one rounding and are computed again exactly, as are those that are not finite. */
#include "vector.h"

#if defined(__AVX512F__)
#include "exact.h"
#include "lanes_wide.h"

enum { MULTIPLIES = 1, ADDS = 2, NARROW = 4, SIGNED = 8 };

/* Rows of one cycle; y and z are not used where the form lacks them. Signs flip operands. */
typedef struct {
    const uint64_t *x, *y, *z, *z_low;
    uint64_t *dst, *low;
    uint32_t sign[3];
} Rows;

/* Exact results for some lanes of single patterns; `low_bits` as in fma_exact. */
static __attribute__((noinline)) __m512i repair(__m512i r, unsigned lanes, __m512i x, __m512i y, __m512i z, int low_bits, int narrow) {
    uint32_t out[16], a[16], b[16], c[16];
    memcpy(out, &r, sizeof out), memcpy(a, &x, sizeof a), memcpy(b, &y, sizeof b), memcpy(c, &z, sizeof c);
    for (int i = 0; i < 16; i++)
        if (lanes >> i & 1) out[i] = (uint32_t)fma_exact(a[i], b[i], c[i], SINGLE, low_bits, SINGLE, narrow ? HALF : SINGLE);
    return load_16(out);
}

/* (-1)^sign * 2^exponent of a number. */
INLINE __m512d power_of(__m512d v) { return _mm512_and_pd(v, _mm512_castsi512_pd(LONGS_OF(0xfffull << 52))); }

/* Products, exact in binary64; the product of the low five mantissa bits is replaced by 256 unless it is zero (18.2). */
INLINE Doubles products(const void *xs, const void *ys, uint32_t sign, int form) {
    __m512i ones = WORDS_OF(31), low = _mm512_madd_epi16(_mm512_and_si512(load_16(xs), ones), _mm512_and_si512(load_16(ys), ones));
    __m512i more = _mm512_maskz_sub_epi32(_mm512_test_epi32_mask(low, low), WORDS_OF(256), low);
    __m512 units = _mm512_mul_ps(_mm512_cvtepi32_ps(more), _mm512_set1_ps(0x1p-46f));
    Doubles x = widen_16(xs), y = widen_16(ys);
    if (form & SIGNED) {
        __m512d flip = _mm512_castsi512_pd(LONGS_OF((uint64_t)sign << 32));
        x.low = _mm512_xor_pd(x.low, flip), x.high = _mm512_xor_pd(x.high, flip);
    }
    Doubles change = {_mm512_cvtps_pd(_mm512_castps512_ps256(units)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(units, 1))};
    return (Doubles){_mm512_fmadd_pd(change.low, _mm512_mul_pd(power_of(x.low), power_of(y.low)), _mm512_mul_pd(x.low, y.low)),
                     _mm512_fmadd_pd(change.high, _mm512_mul_pd(power_of(x.high), power_of(y.high)), _mm512_mul_pd(x.high, y.high))};
}

INLINE Doubles flipped(Doubles v, uint32_t sign) {
    __m512d flip = _mm512_castsi512_pd(LONGS_OF((uint64_t)sign << 32));
    return (Doubles){_mm512_xor_pd(v.low, flip), _mm512_xor_pd(v.high, flip)};
}

/* Numbers cut to single patterns; the last bit is set where that loses something. */
INLINE __m512i cut_to_odd(Doubles s) {
    __m512i lost = LONGS_OF(0x1fffffff);
    unsigned inexact = _mm512_test_epi64_mask(_mm512_castpd_si512(s.low), lost);
    inexact |= (unsigned)_mm512_test_epi64_mask(_mm512_castpd_si512(s.high), lost) << 8;
    __m512i bits = _mm512_castps_si512(join_16(_mm512_cvt_roundpd_ps(s.low, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC),
                                               _mm512_cvt_roundpd_ps(s.high, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)));
    return _mm512_mask_or_epi32(bits, (__mmask16)inexact, bits, WORDS_OF(1));
}

/* s = p + z moved one unit towards the exact sum where it lies half way between two halves and is not exact. */
INLINE __m512d off_ties(__m512d p, __m512d z, __m512d s) {
    __m512d part = _mm512_sub_pd(s, p);
    __m512d error = _mm512_add_pd(_mm512_sub_pd(p, _mm512_sub_pd(s, part)), _mm512_sub_pd(z, part));
    __m512i bits = _mm512_castpd_si512(s), low = _mm512_and_si512(bits, LONGS_OF((1ull << 43) - 1));
    __mmask8 inexact = _mm512_mask_cmp_pd_mask(_mm512_cmpeq_epi64_mask(low, LONGS_OF(1ull << 42)), error, _mm512_setzero_pd(), _CMP_NEQ_OQ);
    __m512i away = _mm512_castpd_si512(_mm512_xor_pd(error, s)), one = LONGS_OF(1);
    __mmask8 towards_zero = _mm512_movepi64_mask(away);
    bits = _mm512_mask_sub_epi64(bits, inexact & towards_zero, bits, one);
    return _mm512_castsi512_pd(_mm512_mask_add_epi64(bits, inexact & (__mmask8)~towards_zero, bits, one));
}

/* p + z to half patterns. */
INLINE __m512i sums_to_half(Doubles p, Doubles z, int form, unsigned *odd) {
    Doubles s = form & ADDS ? (Doubles){_mm512_add_pd(p.low, z.low), _mm512_add_pd(p.high, z.high)} : p;
    __m512i bits = cut_to_odd(s);
    *odd = odd_16(_mm512_castsi512_ps(bits));
    if (form & ADDS) {
        __m512i low = _mm512_and_si512(bits, WORDS_OF(0x3fff));
        if (_mm512_cmpeq_epi32_mask(low, WORDS_OF(0x2000)))
            bits = cut_to_odd((Doubles){off_ties(p.low, z.low, s.low), off_ties(p.high, z.high, s.high)});
    }
    return half_of_16(bits);
}

/* p + z to single patterns; `odd` gets the lanes to do again. */
INLINE __m512i sums_to_single(Doubles p, Doubles z, int form, unsigned *odd) {
    Doubles s = form & ADDS ? (Doubles){_mm512_add_pd(p.low, z.low), _mm512_add_pd(p.high, z.high)} : p;
    __m512 r = no_minus_zero(join_16(_mm512_cvtpd_ps(s.low), _mm512_cvtpd_ps(s.high)));
    *odd = odd_16(r);
    if (form & ADDS) *odd |= single_ties(s); /* products are exact */
    return _mm512_castps_si512(r);
}

INLINE __m512i with_sign(const void *from, uint32_t sign) { return _mm512_xor_si512(load_16(from), WORDS_OF(sign)); }

/* Sixteen singles through binary64. */
INLINE __m512i singles_16(const Rows *w, int i, int form) {
    unsigned odd;
    Doubles p, z = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    if (form & MULTIPLIES) p = products(w->x + i, w->y + i, w->sign[0] ^ w->sign[1], form);
    else p = flipped(widen_16((const float *)(w->x + i)), w->sign[0]);
    if (form & ADDS) z = widen_16((const float *)(w->z + i));
    if (form & SIGNED) z = flipped(z, w->sign[2]);
    __m512i r = form & NARROW ? sums_to_half(p, z, form, &odd) : sums_to_single(p, z, form, &odd);
    if (__builtin_expect(odd != 0, 0)) {
        __m512i y = form & MULTIPLIES ? with_sign(w->y + i, w->sign[1]) : WORDS_OF(0x3f800000);
        __m512i addend = form & ADDS ? with_sign(w->z + i, w->sign[2]) : _mm512_setzero_si512();
        r = repair(r, odd, with_sign(w->x + i, w->sign[0]), y, addend, 5, form & NARROW);
    }
    return r;
}

INLINE void single_row(const Rows *w, int form) {
    for (int i = 0; i < PES; i += 8) {
        __m512i r = singles_16(w, i, form);
        _mm512_storeu_si512(w->dst + i, form & NARROW ? _mm512_slli_epi64(pack_pairs(r), 32) : r);
    }
}

/* x + z in one IEEE addition. */
static void add_row(const Rows *w, int adds) {
    for (int i = 0; i < PES; i += 8) {
        __m512i x = with_sign(w->x + i, w->sign[0]), z = adds ? with_sign(w->z + i, w->sign[2]) : _mm512_setzero_si512();
        __m512 r = no_minus_zero(_mm512_add_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(z)));
        unsigned odd = odd_16(r);
        __m512i bits = _mm512_castps_si512(r);
        if (__builtin_expect(odd != 0, 0)) bits = repair(bits, odd, x, WORDS_OF(0x3f800000), z, 0, 0);
        _mm512_storeu_si512(w->dst + i, bits);
    }
}

static void run_single(const Rows *w, int form) {
    switch (form) {
    case 0: add_row(w, 0); break;
    case SIGNED: add_row(w, 0); break;
    case ADDS: add_row(w, 1); break;
    case ADDS | SIGNED: add_row(w, 1); break;
    case MULTIPLIES: single_row(w, MULTIPLIES); break;
    case MULTIPLIES | ADDS: single_row(w, MULTIPLIES | ADDS); break;
    case MULTIPLIES | SIGNED: single_row(w, MULTIPLIES | SIGNED); break;
    case MULTIPLIES | ADDS | SIGNED: single_row(w, MULTIPLIES | ADDS | SIGNED); break;
    case NARROW: case NARROW | SIGNED: single_row(w, NARROW | SIGNED); break;
    case NARROW | ADDS: case NARROW | ADDS | SIGNED: single_row(w, NARROW | ADDS | SIGNED); break;
    case NARROW | MULTIPLIES: case NARROW | MULTIPLIES | SIGNED: single_row(w, NARROW | MULTIPLIES | SIGNED); break;
    default: single_row(w, NARROW | MULTIPLIES | ADDS | SIGNED);
    }
}

/* Two halves of each long word as singles: bytes `first` to `first` + 3 of its eight. A half is a single times 2^-96
   if its sign is spread over three bits more than the exponent needs; infinities become large numbers. */
INLINE __m512 two_of_four(__m512i halves, int first) {
    int64_t one = (int64_t)(first + 2) << 48 | (int64_t)(first + 3) << 56 | (int64_t)first << 16 | (int64_t)(first + 1) << 24 | 0x0000808000008080;
    int64_t next = one + 0x0808000008080000; /* the upper long word of a lane of 16 bytes */
    __m512i upper = _mm512_shuffle_epi8(halves, _mm512_set_epi64(next, one, next, one, next, one, next, one));
    __m512i bits = _mm512_and_si512(_mm512_srai_epi32(upper, 2), WORDS_OF(0x9fffffff));
    return _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(0x1p96f));
}

INLINE unsigned infinite_halves(__m512i halves) {
    __m512i field = _mm512_set1_epi16(0x7e00);
    return _mm512_cmpeq_epi16_mask(_mm512_and_si512(halves, field), field);
}

/* The large numbers of two_of_four become infinities. */
INLINE __m512 with_infinities(__m512 v) {
    __mmask16 large = _mm512_cmp_ps_mask(_mm512_abs_ps(v), _mm512_set1_ps(0x1p32f), _CMP_GE_OQ);
    __m512i infinite = _mm512_or_si512(_mm512_castps_si512(v), WORDS_OF(0x7f800000));
    return _mm512_castsi512_ps(_mm512_mask_and_epi32(_mm512_castps_si512(v), large, infinite, WORDS_OF(0xff800000)));
}

/* x * y + z of singles whose product is exact. */
INLINE __m512i halves_16(__m512 x, __m512 y, __m512i addend, int form) {
    __m512 z = _mm512_castsi512_ps(addend), p = form & MULTIPLIES ? _mm512_mul_ps(x, y) : x, s = p;
    if (form & ADDS) s = form & MULTIPLIES ? _mm512_fmadd_ps(x, y, z) : _mm512_add_ps(p, z);
    __m512i r;
    if (form & NARROW) r = half_of_16(form & ADDS ? off_half_ties_16(p, z, s) : _mm512_castps_si512(s));
    else r = _mm512_castps_si512(no_minus_zero(s));
    unsigned odd = odd_16(s);
    if (__builtin_expect(odd != 0, 0)) r = repair(r, odd, _mm512_castps_si512(x), _mm512_castps_si512(y), addend, 0, form & NARROW);
    return r;
}

INLINE void half_row(const Rows *w, int form) {
    __m512 x_sign = _mm512_castsi512_ps(WORDS_OF(w->sign[0] ^ w->sign[1])), one = _mm512_set1_ps(1);
    __m512i z_sign = WORDS_OF(w->sign[2]);
    for (int i = 0; i < PES; i += 8) {
        __m512i a = load_16(w->x + i), b = form & MULTIPLIES ? load_16(w->y + i) : _mm512_setzero_si512();
        __m512i z = form & ADDS ? load_16(w->z + i) : _mm512_setzero_si512(), z_low = form & ADDS ? load_16(w->z_low + i) : z;
        __m512 x = two_of_four(a, 4), x_low = two_of_four(a, 0), y = one, y_low = one;
        if (form & MULTIPLIES) y = two_of_four(b, 4), y_low = two_of_four(b, 0);
        if (__builtin_expect(infinite_halves(a) | infinite_halves(b), 0)) {
            x = with_infinities(x), x_low = with_infinities(x_low);
            y = with_infinities(y), y_low = with_infinities(y_low);
        }
        if (form & SIGNED) {
            x = _mm512_xor_ps(x, x_sign), x_low = _mm512_xor_ps(x_low, x_sign);
            z = _mm512_xor_si512(z, z_sign), z_low = _mm512_xor_si512(z_low, z_sign);
        }
        __m512i r = halves_16(x, y, z, form), r_low = halves_16(x_low, y_low, z_low, form);
        if (form & NARROW) {
            _mm512_storeu_si512(w->dst + i, _mm512_or_si512(_mm512_slli_epi64(pack_pairs(r), 32), pack_pairs(r_low)));
            continue;
        }
        _mm512_storeu_si512(w->dst + i, r);
        if (w->low) _mm512_storeu_si512(w->low + i, r_low);
    }
}

static void run_half(const Rows *w, int form) {
    switch (form) {
    case MULTIPLIES: half_row(w, MULTIPLIES); break;
    case MULTIPLIES | ADDS: half_row(w, MULTIPLIES | ADDS); break;
    case NARROW | MULTIPLIES: half_row(w, NARROW | MULTIPLIES); break;
    case NARROW | MULTIPLIES | ADDS: half_row(w, NARROW | MULTIPLIES | ADDS); break;
    case 0: case SIGNED: half_row(w, SIGNED); break;
    case ADDS: case ADDS | SIGNED: half_row(w, ADDS | SIGNED); break;
    case MULTIPLIES | SIGNED: half_row(w, MULTIPLIES | SIGNED); break;
    case MULTIPLIES | ADDS | SIGNED: half_row(w, MULTIPLIES | ADDS | SIGNED); break;
    case NARROW: case NARROW | SIGNED: half_row(w, NARROW | SIGNED); break;
    case NARROW | ADDS: case NARROW | ADDS | SIGNED: half_row(w, NARROW | ADDS | SIGNED); break;
    case NARROW | MULTIPLIES | SIGNED: half_row(w, NARROW | MULTIPLIES | SIGNED); break;
    default: half_row(w, NARROW | MULTIPLIES | ADDS | SIGNED);
    }
}

void vector_lanes(Tile *t, const Op *op) {
    int y, z;
    roles(op->p[0], &y, &z);
    int form = (y > 0 ? MULTIPLIES : 0) | (z > 0 ? ADDS : 0) | (op->p[3] ? NARROW : 0) | (op->p[2] ? SIGNED : 0);
    for (int c = 0; c < CYCLES; c++) {
        Rows w = {row_of(t, op->src[0][c]), 0, 0, 0, row_of(t, op->dst[c]), 0, {sign_of_source(op, 0), 0, 0}};
        if (op->dst[4] >= 0) w.low = row_of(t, op->dst[4 + c]);
        if (y > 0) w.y = row_of(t, op->src[y][c]), w.sign[1] = sign_of_source(op, y);
        if (z > 0) w.z = row_of(t, op->src[z][c]), w.z_low = row_of(t, op->src[z][4 + c]), w.sign[2] = sign_of_source(op, z);
        if (op->p[1] == FORMAT_H) run_half(&w, form);
        else run_single(&w, form);
    }
}

#endif
