/* ALU operations on lanes of one width. Included once for each width with BITS, U, S, MB (mantissa bits), EB
   (exponent bits) and NAME(x) defined (isa.md 9). Counts of shifts and rotates: low bits only (9.2, UNCERTAIN). */

#define TOP ((U)((U)1 << (BITS - 1)))
#define COUNT(y) ((unsigned)((y) & (BITS - 1)))
#define BIAS ((1 << (EB - 1)) - 1)
#define INFINITE ((1 << EB) - 1)
#define FIELD(x) ((int)(((x) >> MB) & INFINITE))
#define LANES (PES * 64 / BITS)

static inline U NAME(scale)(U x, U y, int power) {
    int field = FIELD(y), next = field + power;
    U moved = power < 0 ? (U)(y - ((U)-power << MB)) : (U)(y + ((U)power << MB));
    U edge = power < 0 ? (U)(y & TOP) : (U)((y & TOP) | ((U)INFINITE << MB));
    U scaled = (next > 0 && next < INFINITE) ? moved : edge;
    int keep = !(x & TOP) || field == 0 || field == INFINITE;
    return keep ? y : scaled;
}

static inline U NAME(rsqrt)(U x) {
    int field = FIELD(x), power = field - BIAS;
    if (field == 0) return ((U)INFINITE << MB); /* table and edges: rsqrt.py (9.4, UNCERTAIN) */
    if (field == INFINITE) return 0;
    int seed = RSQRT_TABLE[16 * (power & 1) + (int)((x >> (MB - 4)) & 15)];
    return (U)(((U)(BIAS - 1 - (power >> 1)) << MB) | ((U)(seed - 32) << (MB - 5)));
}

static inline U NAME(floor)(U x) {
    int field = FIELD(x), power = field - BIAS, negative = (x & TOP) != 0;
    if (field == 0) return (U)(x & TOP);
    if (power < 0) return negative ? (U)(TOP | ((U)BIAS << MB)) : 0;
    if (power >= MB) return x;
    U fraction = (U)(((U)1 << (MB - power)) - 1);
    return (U)((x + (negative && (x & fraction) ? fraction + 1 : 0)) & (U)~fraction);
}

static inline U NAME(to_integer)(U x, int is_unsigned) {
    int power = FIELD(x) - BIAS, negative = (x & TOP) != 0;
    U whole = (U)((x & (((U)1 << MB) - 1)) | ((U)1 << MB)), magnitude;
    if (is_unsigned ? power >= BITS : power >= BITS - 1) {
        if (is_unsigned) return (U)~(U)0;
        return negative ? TOP : (U)(TOP - 1);
    }
    if (power < 0) magnitude = 0;
    else magnitude = power > MB ? (U)(whole << (power - MB)) : (U)(whole >> (MB - power));
    return negative && !is_unsigned ? (U)(0 - magnitude) : magnitude;
}

/* Signed integers that sort like the numbers; exponent-0 patterns are equal (9.3). */
static inline S NAME(order)(U x) {
    S magnitude = (S)(x & (U)(TOP - 1));
    return FIELD(x) == 0 ? 0 : (x & TOP) ? (S)-magnitude : magnitude;
}

#define EACH(expression) \
    for (int i = 0; i < LANES; i++) { U a = x[i], b = y[i]; (void)a; (void)b; r[i] = (U)(expression); } \
    break

static void NAME(lanes)(int operation, int is_unsigned, const U *x, const U *y, U *r) {
    switch (operation) {
    case INC: EACH(a + 1);
    case DEC: EACH(a - 1);
    case ADD: EACH(a + b);
    case SUB: EACH(a - b);
    case NOT: EACH(~a);
    case LNOT: EACH(a == 0);
    case AND: EACH(a & b);
    case OR: EACH(a | b);
    case XOR: EACH(a ^ b);
    case LSL: EACH(a << COUNT(b));
    case LSR: if (is_unsigned) { EACH(a >> COUNT(b)); } EACH((S)a >> COUNT(b));
    case BSL: EACH((a << COUNT(b)) | (a >> COUNT((U)(0 - b))));
    case BSR: EACH((a >> COUNT(b)) | (a << COUNT((U)(0 - b))));
    case IMAX: if (is_unsigned) { EACH(a > b ? a : b); } EACH((S)a > (S)b ? a : b);
    case IMIN: if (is_unsigned) { EACH(a < b ? a : b); } EACH((S)a < (S)b ? a : b);
    case PACKBIT: EACH((a << 1) | (b >> (BITS - 1)));
    case RELU: EACH((a & TOP) ? TOP : b);
    case RELU1: EACH((a & (TOP >> 1)) ? TOP : b);
    case RELU2: EACH((a & (TOP >> 2)) ? TOP : b);
    case RELU3: EACH((a & (TOP >> 3)) ? TOP : b);
    case LRELUD: EACH(NAME(scale)(a, b, -1));
    case LRELUO: EACH(NAME(scale)(a, b, -3));
    case ILRELUD: EACH(NAME(scale)(a, b, 1));
    case RSQRT: EACH(NAME(rsqrt)(a));
    case FLOOR: EACH(NAME(floor)(a));
    case FTOI: EACH(NAME(to_integer)(a, is_unsigned));
    case FMAX: EACH(NAME(order)(b) > NAME(order)(a) ? b : a);
    case FMIN: EACH(NAME(order)(b) < NAME(order)(a) ? b : a);
    default: break;
    }
}

static void NAME(flags)(int rule, int number, const U *x, const U *y, U *r) {
    U bit = (U)((U)1 << number);
    switch (rule) {
    case FLAG_ZERO: EACH(a == 0 ? ~(U)0 : 0);
    case FLAG_BIT_CLEAR: EACH((a & bit) ? 0 : ~(U)0);
    case FLAG_NO_CARRY: EACH((U)(a + b) >= a ? ~(U)0 : 0);
    case FLAG_NO_BORROW: EACH(a >= b ? ~(U)0 : 0);
    case FLAG_EQUAL: EACH(a == b ? ~(U)0 : 0);
    default: EACH(0);
    }
}

#undef EACH
#undef LANES
#undef TOP
#undef COUNT
#undef BIAS
#undef INFINITE
#undef FIELD
#undef BITS
#undef U
#undef S
#undef MB
#undef EB
#undef NAME
