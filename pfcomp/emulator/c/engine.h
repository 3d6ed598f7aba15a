/* Types shared by the parts of the C engine: one tile (an L2B) at a time, rows of 512 long words (rows.py). */
#ifndef PFCOMP_ENGINE_H
#define PFCOMP_ENGINE_H

#include <stdint.h>
#include <string.h>

enum { TILES = 8, PES = 512, CYCLES = 4, L1BS = 8, MABS = 16, L1B_PES = 64, TILE_MABS = 128, L1BM_LW = 8192, L2BM_LW = 32768, TURN_LW = 256 };

/* Row numbers that the kernels need by themselves; checked against rows.py when the library is loaded. */
enum { T_ROW = 4608, MATRIX_X_ROW = 4680, MATRIX_Y_ROW = 4696 };

/* A micro-operation (micro.py): rows of LW0 and LW1 of the four cycles; dst[4] < 0 means that LW1 is not stored. */
typedef struct {
    int32_t code;
    int32_t dst[8];
    int32_t src[3][8];
    int32_t p[16];
} Op;

/* A matrix register, decoded for one format. Halves: signed mantissas of two columns in each word, by row lane.
   Singles: terms (decode.c) by row lane. Block exponents by row lane; a bit for each row lane whose
   block is not plain. */
enum { MOST_TERMS = 12 };
typedef struct {
    int format; /* -1: stale */
    union {
        uint32_t pairs[TILE_MABS][8][16];
        double terms[TILE_MABS][MOST_TERMS][8];
    };
    int32_t exponent[TILE_MABS][16];
    uint32_t irregular[TILE_MABS];
} Decoded;

/* Memory instances: L2BM of each L2B, DRAM and PDM of each group (runs.py). */
enum { INSTANCES = 16 };
typedef struct {
    uint64_t *mem, *l1bm, *turn, *l2bm;
    int64_t rows;
    Decoded *matrices; /* two for each tile */
    uint64_t *memory[INSTANCES];
    int64_t size[INSTANCES];
} Chip;

/* Blocks of `length` long words from one memory instance to another (runs.py), as part of the work of `tile`. */
typedef struct {
    int64_t source, target, source_address, target_address, length, repeat, source_step, target_step, members, code, tile;
} Run;

/* So many operations on each tile, then so many runs. */
typedef struct {
    int64_t ops, runs;
} Part;

/* Parts in which no tile depends on another (phases.py): the first part, how many, the first operation and run. */
typedef struct {
    int64_t part, parts, op, run;
} Phase;

typedef struct {
    uint64_t *mem, *l1bm, *turn, *l2bm;
    Decoded *matrix; /* two: x and y */
} Tile;

static inline uint64_t *row_of(const Tile *t, int32_t row) { return t->mem + (size_t)row * PES; }

void run_blocks(const Chip *chip, const Run *run);
void run_operations(const Chip *chip, int tile, const Op *ops, int64_t count);

void copy_op(Tile *t, const Op *op);
void alu_op(Tile *t, const Op *op);
void flag_op(Tile *t, const Op *op);
void shift_pe_op(Tile *t, const Op *op);
void convert_op(Tile *t, const Op *op);
void vector_op(Tile *t, const Op *op);
void block_op(Tile *t, const Op *op);
void matvec_op(Tile *t, const Op *op);
void mread_op(Tile *t, const Op *op);
void l1_down_op(Tile *t, const Op *op);
void l1_up_op(Tile *t, const Op *op);
void l2_op(Tile *t, const Op *op);

#endif
