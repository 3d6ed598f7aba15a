/* Columns of matrix registers (isa.md 11). */
#include "codes.h"
#include "engine.h"

enum { PIECE = 128 }; /* long words of a row at a time: what a piece needs stays in the nearest cache */

/* Element `place` (0: most significant) of each long word of `per_word` rows, packed into one long word. */
static inline __attribute__((always_inline)) void pick(const uint64_t *const *rows, int bits, int place, uint64_t *out) {
    int per_word = 64 / bits, shift = bits * place;
    uint64_t ones = bits == 64 ? ~0ull : ~0ull << (64 - bits);
    for (int i = 0; i < PIECE; i++) {
        uint64_t word = 0;
        for (int k = 0; k < per_word; k++) word |= ((rows[k][i] << shift) & ones) >> (bits * k);
        out[i] = word;
    }
}

/* PE p of a MAB receives a column's elements of rows per_word * p and on. Columns of cycles 0 and 2, and of 1 and 3, have the
   same place in a long word, so that place is picked from all PEs and each cycle takes its PE's. */
static inline __attribute__((always_inline)) void read_columns(Tile *t, const Op *op, int bits, int size) {
    int per_word = 64 / bits, step = bits == 16 ? 2 : 1;
    uint64_t picked[4][PIECE];
    for (int pair = 0; pair < (op->dst[4] < 0 ? 2 : 4); pair++) {
        int first = CYCLES * (pair / 2) + pair % 2, column = op->p[1] + step * (pair % 2) + pair / 2;
        for (int start = 0; start < PES; start += PIECE) {
            for (int p = 0; p < 4; p++) {
                const uint64_t *rows[4];
                for (int k = 0; k < per_word; k++) rows[k] = row_of(t, op->p[0] + per_word * p + k) + start;
                pick(rows, bits, column % per_word, picked[p]);
            }
            for (int c = 0; c < 2; c++) {
                int pe = (column + 2 * c * step) % size / per_word;
                uint64_t *dst = row_of(t, op->dst[first + 2 * c]) + start;
                for (int m = 0; m < PIECE; m += 4)
                    for (int p = 0; p < 4; p++) dst[m + p] = picked[p][m + pe];
            }
        }
    }
}

void mread_op(Tile *t, const Op *op) {
    if (op->p[2] == FORMAT_H) read_columns(t, op, 16, 16);
    else if (op->p[2] == FORMAT_D) read_columns(t, op, 64, 4);
    else read_columns(t, op, 32, 8);
}
