/* Moves between L2BM, DRAM and PDM (isa.md 14): copies, and reductions over L2Bs. Addresses wrap (isa.md 3). */
#include "codes.h"
#include "denormals.h"
#include "engine.h"
#include "reduce.h"

static void copy_block(const Chip *chip, const Run *r, uint64_t from, uint64_t to) {
    uint64_t from_size = (uint64_t)chip->size[r->source], to_size = (uint64_t)chip->size[r->target];
    for (uint64_t left = (uint64_t)r->length, n; left; left -= n, from += n, to += n) {
        from %= from_size, to %= to_size, n = left;
        n = from_size - from < n ? from_size - from : n;
        n = to_size - to < n ? to_size - to : n;
        memcpy(chip->memory[r->target] + to, chip->memory[r->source] + from, n * 8);
    }
}

enum { PIECE = 16, SINGLE_SUM = 8 + R_FADD };

/* Neighbours first where all eight L2Bs take part, else two or four at once (isa.md 18.4). */
static uint64_t reduce_word(uint64_t in[][PIECE], int count, int i, int code) {
    uint64_t words[TILES];
    for (int k = 0; k < count; k++) words[k] = in[k][i];
    if (count < TILES) return reduce_words(words, count, code, TREE_FLAT);
    for (int k = 0; k < 4; k++) words[k] = reduce_words(words + 2 * k, 2, code, TREE_FLAT);
    return reduce_words(words, 4, code, TREE_FLAT);
}

static void sum_piece(uint64_t in[][PIECE], int count, uint64_t *out) {
    const uint32_t *level[TILES];
    uint32_t pairs[4][2 * PIECE];
    for (int k = 0; k < count; k++) level[k] = (const uint32_t *)in[k];
    for (int k = 0; count == TILES && k < 4; k++) {
        sum_singles(level + 2 * k, 2, pairs[k], 2 * PIECE);
        level[k] = pairs[k];
    }
    sum_singles(level, count == 2 ? 2 : 4, (uint32_t *)out, 2 * PIECE);
}

/* Word by word the reduction of the L2BMs of `members`; lengths are multiples of 16 (isa.md 14.2). */
static void reduce_block(const Chip *chip, const Run *r, uint64_t from, uint64_t to) {
    uint64_t in[TILES][PIECE], out[PIECE], to_size = (uint64_t)chip->size[r->target];
    for (int64_t done = 0; done < r->length; done += PIECE) {
        int count = 0;
        for (int tile = 0; tile < TILES; tile++) {
            if (!(r->members >> tile & 1)) continue;
            for (int i = 0; i < PIECE; i++) in[count][i] = chip->memory[tile][(from + (uint64_t)(done + i)) % L2BM_LW];
            count++;
        }
        if (r->code == SINGLE_SUM) sum_piece(in, count, out);
        else
            for (int i = 0; i < PIECE; i++) out[i] = reduce_word(in, count, i, (int)r->code);
        for (int i = 0; i < PIECE; i++) chip->memory[r->target][(to + (uint64_t)(done + i)) % to_size] = out[i];
    }
}

void run_blocks(const Chip *chip, const Run *r) {
    unsigned before = flush_denormals();
    for (int64_t i = 0; i < r->repeat; i++) {
        uint64_t from = (uint64_t)(r->source_address + i * r->source_step), to = (uint64_t)(r->target_address + i * r->target_step);
        if (r->members) reduce_block(chip, r, from, to);
        else copy_block(chip, r, from, to);
    }
    restore(before);
}
