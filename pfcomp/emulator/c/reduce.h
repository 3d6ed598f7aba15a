/* Reduction operators over at most 16 long words (isa.md 13.1, 15, 18.4). */
#ifndef PFCOMP_REDUCE_H
#define PFCOMP_REDUCE_H

#include <stdint.h>

/* Which operands meet first: numpy_engine/reduce.py, TREES. */
enum { TREE_FLAT = 0, TREE_4_4, TREE_4_2 };

uint64_t reduce_words(const uint64_t *operands, int count, int code, int tree);
uint64_t unit_word(int code);

/* One level of single sums, lane by lane, over 2 or 4 arrays of `lanes` (a multiple of 8) single bits. */
void sum_singles(const uint32_t *const *in, int count, uint32_t *out, int lanes);

/* Sums on the single adder with half inputs (`half` for hfadd, or `widen`) or half outputs (`narrow`); long word w. */
uint64_t mixed_sum(uint64_t operands[2][16], int count, int tree, int half, int widen, int narrow, int two, int w);

#endif
