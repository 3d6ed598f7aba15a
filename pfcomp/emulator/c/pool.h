/* Threads that share the tiles of a program. */
#ifndef PFCOMP_POOL_H
#define PFCOMP_POOL_H

#include <stdint.h>

/* What is to be done for one tile in one phase of `program`. */
typedef void Work(const void *program, int64_t phase, int tile);

/* Call `work` for each tile in each of `count` phases; a phase begins when the one before has ended for all tiles.
   Up to `threads` threads take part, this one among them; results must not depend on which of them does what. */
void share_phases(Work *work, const void *program, int64_t count, int threads);

#endif
