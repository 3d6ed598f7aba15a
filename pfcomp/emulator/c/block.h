/* Block-float normalisation of whole rows (isa.md 18.5). */
#ifndef PFCOMP_BLOCK_H
#define PFCOMP_BLOCK_H

#include "codes.h"
#include "engine.h"

/* Singles and halves without extended elements; block_lanes.c, with AVX-512 block_wide.c. */
void normalise_row(const uint64_t *src, uint64_t *dst, int format, int length);

#endif
