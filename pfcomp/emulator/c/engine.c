/* Runs a list of micro-operations on one tile. */
#include "engine.h"

#include "codes.h"
#include "denormals.h"

#if defined(__AVX512F__)
#define LEVEL 2
#elif defined(__AVX2__)
#define LEVEL 1
#else
#define LEVEL 0
#endif

/* Instruction set this file was compiled for: 0 baseline, 1 AVX2, 2 AVX-512. */
int pfcomp_level(void) { return LEVEL; }

/* The best level this processor can run. */
int pfcomp_best_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

/* Sizes and row numbers that Python compares with its own. */
void pfcomp_layout(int64_t *out) {
    out[0] = (int64_t)sizeof(Op), out[1] = T_ROW, out[2] = MATRIX_X_ROW, out[3] = MATRIX_Y_ROW;
    out[4] = (int64_t)sizeof(Chip), out[5] = (int64_t)sizeof(Run), out[6] = (int64_t)sizeof(Part), out[7] = (int64_t)sizeof(Phase);
}

static void note_matrix_write(Tile *t, const Op *op) {
    for (int k = 0; k < 8; k++) {
        int row = op->dst[k];
        if (row >= MATRIX_X_ROW && row < MATRIX_Y_ROW + 16) t->matrix[row >= MATRIX_Y_ROW].format = -1;
    }
}

static void execute(Tile *t, const Op *op) {
    switch (op->code) {
    case ALU: alu_op(t, op); break;
    case FLAG: flag_op(t, op); break;
    case SHIFT_PE: shift_pe_op(t, op); break;
    case BLOCK: block_op(t, op); break;
    case WIDEN: convert_op(t, op); break;
    case VECTOR: vector_op(t, op); break;
    case MATVEC: matvec_op(t, op); break;
    case MREAD: mread_op(t, op); break;
    case L1_DOWN: l1_down_op(t, op); break;
    case L1_UP: l1_up_op(t, op); break;
    case L2: l2_op(t, op); break;
    default:
        if (op->code == COPY) note_matrix_write(t, op);
        copy_op(t, op);
    }
}

void run_operations(const Chip *chip, int tile, const Op *ops, int64_t count) {
    Tile t = {chip->mem + (size_t)tile * (size_t)chip->rows * PES, chip->l1bm + (size_t)tile * L1BS * L1BM_LW,
              chip->turn + (size_t)tile * L1BS * TURN_LW, chip->l2bm + (size_t)tile * L2BM_LW, chip->matrices + 2 * tile};
    unsigned before = flush_denormals();
    for (int64_t i = 0; i < count; i++) execute(&t, &ops[i]);
    restore(before);
}

/* Bytes that `matrices` of a chip needs. */
int64_t pfcomp_matrices_size(void) { return (int64_t)(2 * TILES * sizeof(Decoded)); }

/* Decode all matrix registers again when they are used. */
void pfcomp_forget(const Chip *chip) {
    for (int i = 0; i < 2 * TILES; i++) chip->matrices[i].format = -1;
}
