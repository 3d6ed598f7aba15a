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
    int seed = RSQRT_TABLE[16 * (power & 1) + (int)((x >> (MB - 4)) & 15)];
    U r = (U)(((U)(BIAS - 1 - (power >> 1)) << MB) | ((U)(seed - 32) << (MB - 5)));
    r = field == INFINITE ? 0 : r;
    return field == 0 ? (U)((U)INFINITE << MB) : r; /* table and edges: rsqrt.py (9.4, UNCERTAIN) */
}

/* Bits of the fraction of a number with this exponent: MB below 1, none from 2^MB on. */
static inline int NAME(fraction_bits)(int power) {
    int bits = MB - power;
    bits = bits < 0 ? 0 : bits;
    return bits > MB ? MB : bits;
}

static inline U NAME(floor)(U x) {
    int field = FIELD(x), power = field - BIAS;
    U fraction = (U)(((U)1 << NAME(fraction_bits)(power)) - 1), minus = (U)(0 - (x >> (BITS - 1)));
    U up = (x & fraction) ? (U)(fraction + 1) & minus : 0, r = (U)((x + up) & (U)~fraction);
    r = power < 0 ? (U)(minus & (U)(TOP | ((U)BIAS << MB))) : r;
    return field == 0 ? (U)(x & TOP) : r;
}

static inline U NAME(to_integer)(U x, int is_unsigned) {
    int power = FIELD(x) - BIAS, up = power - MB;
    U negative = (U)(0 - (x >> (BITS - 1)));
    U whole = (U)((x & (((U)1 << MB) - 1)) | ((U)1 << MB)), limit = is_unsigned ? (U)~(U)0 : (U)((U)(TOP - 1) - negative);
    up = up < 0 ? 0 : up;
    U magnitude = up ? (U)(whole << (up > BITS - 1 ? BITS - 1 : up)) : (U)(whole >> NAME(fraction_bits)(power));
    magnitude = power < 0 ? 0 : magnitude;
    U r = is_unsigned ? magnitude : (U)((magnitude ^ negative) - negative);
    return power >= (is_unsigned ? BITS : BITS - 1) ? limit : r;
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
