/* Columns of matrix registers (isa.md 11). */
#include "codes.h"
#include "engine.h"

enum { PIECE = 128 }; /* long words of a row at a time: what a piece needs stays in the nearest cache */

/* Element `place` (0: most significant) of the long words of one, two or four rows, packed into one long word. */
static inline __attribute__((always_inline)) uint64_t pick(const uint64_t words[4], int bits, int place) {
    uint64_t ones = bits == 64 ? ~0ull : ~0ull << (64 - bits), picked = 0;
    for (int k = 0; k < 64 / bits; k++) picked |= ((words[k] << bits * place) & ones) >> bits * k;
    return picked;
}

/* PE p of a MAB receives a column's elements of rows per_word * p and on. The columns of cycles 0 and 2, and those of 1 and 3,
   have the same place in a long word, so two places are picked from all PEs while rows are at hand, and each cycle takes
   those of its PE. */
static inline __attribute__((always_inline)) void read_columns(Tile *t, const Op *op, int bits, int size, int low, int start) {
    int per_word = 64 / bits, step = bits == 16 ? 2 : 1, column = op->p[1] + low;
    uint64_t picked[2][4][PIECE];
    for (int p = 0; p < 4; p++) {
        const uint64_t *rows = row_of(t, op->p[0] + per_word * p) + start;
        uint64_t *restrict even = picked[0][p], *restrict odd = picked[1][p];
        for (int i = 0; i < PIECE; i++) {
            uint64_t words[4] = {0};
            for (int k = 0; k < per_word; k++) words[k] = rows[k * PES + i];
            even[i] = pick(words, bits, column % per_word);
            odd[i] = pick(words, bits, (column + step) % per_word);
        }
    }
    for (int c = 0; c < CYCLES; c++) {
        int pe = (column + step * c) % size / per_word;
        uint64_t *restrict dst = row_of(t, op->dst[CYCLES * low + c]) + start;
        for (int m = 0; m < PIECE; m += 4)
            for (int p = 0; p < 4; p++) dst[m + p] = picked[c % 2][p][m + pe];
    }
}

void mread_op(Tile *t, const Op *op) {
    for (int low = 0; low < (op->dst[4] < 0 ? 1 : 2); low++)
        for (int start = 0; start < PES; start += PIECE) {
            if (op->p[2] == FORMAT_H) read_columns(t, op, 16, 16, low, start);
            else if (op->p[2] == FORMAT_D) read_columns(t, op, 64, 4, low, start);
            else read_columns(t, op, 32, 8, low, start);
        }
}
