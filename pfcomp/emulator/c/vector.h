/* Operands of vector operations (isa.md 10). */
#ifndef PFCOMP_VECTOR_H
#define PFCOMP_VECTOR_H

#include "codes.h"
#include "engine.h"

/* Which source is y and which z, -1 where absent. */
static inline void roles(int operation, int *y, int *z) {
    *y = operation == VFMA || operation == VMUL ? 1 : -1;
    *z = operation == VFMA ? 2 : operation == VADD ? 1 : -1;
}

/* The sign bit of a single if the source is negated. */
static inline uint32_t sign_of_source(const Op *op, int source) { return op->p[2] >> source & 1 ? 0x80000000u : 0; }

/* Singles and halves: vector_lanes.c, with AVX-512 vector_wide.c. */
void vector_lanes(Tile *t, const Op *op);

#endif
