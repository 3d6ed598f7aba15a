/* Decoded matrix registers and vectors, in memory order (isa.md 11, 18.5).

   A "lane" is the position of an element or result in a MAB's part of a row in memory: PE by PE, least significant
   element first. Results of half operations have 16 lanes: eight of LW0, then eight of LW1. */
#ifndef PFCOMP_MATRIX_H
#define PFCOMP_MATRIX_H

#include "engine.h"
#include "exact.h"

typedef struct {
    Format f;
    int size, bits, ignored, low_bits, column_step;
} Shape;

extern const Shape SHAPES[4];

/* Single vector operands of eight MABs: terms (decode.c), exponents, a bit for each MAB whose block is not plain. */
typedef struct {
    double terms[MOST_TERMS][8];
    int32_t exponent[8];
    uint32_t irregular;
} Vectors;

/* Element e of the four long words of a MAB in logical order (isa.md 11.3). */
static inline uint64_t element_of(const uint64_t *words, int bits, int e) {
    int per_word = 64 / bits;
    uint64_t ones = bits == 64 ? ~0ull : (1ull << bits) - 1;
    return (words[e / per_word] >> (64 - bits * (1 + e % per_word))) & ones;
}

/* Lane of result (or row) r. */
static inline int result_lane(int format_is_half, int r) {
    return format_is_half ? 8 * (r % 4 / 2) + 2 * (r / 4) + 1 - r % 2 : r ^ 1;
}

/* Output r of MAB m in cycle c by exact scalar arithmetic. */
uint64_t exact_output(const Tile *t, const Op *op, int c, int m, int r, uint64_t addend, Format add, Format out);

/* Those of the 16 half-operation results of a MAB whose bit in `lanes` is set. */
void half_lanes_exactly(const Tile *t, const Op *op, int c, int m, uint32_t lanes, const uint32_t *addend, uint32_t *out);

void half_matvec(Tile *t, const Op *op, const Decoded *d);
void decode_half_matrix(Tile *t, int32_t first_row, Decoded *d);
void decode_matrix(Tile *t, int32_t first_row, int format, Decoded *d);
void decode_vectors(const uint64_t *row, int format, int negate, Vectors *v);

#endif
