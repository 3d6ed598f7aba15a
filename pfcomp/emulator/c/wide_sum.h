/* Exact sums of block-float products whose exponents may differ (isa.md 18.6, 18.7). */
#ifndef PFCOMP_WIDE_SUM_H
#define PFCOMP_WIDE_SUM_H

#include "exact.h"

/* Sum of row[j] * column[j] plus an addend, rounded once; the rules of reference/mau.py. */
uint64_t block_dot(const uint64_t *row, const uint64_t *column, int count, Format f, int ignored, int low_bits,
                   uint64_t addend, Format add, Format out);

#endif
