/* Programs: operations and copying moves of each tile, in phases (phases.py). */
#include "engine.h"
#include "pool.h"

/* Copies of one move. Addresses wrap (isa.md 3). */
static void copy_blocks(const Chip *chip, const Run *r) {
    uint64_t from_size = (uint64_t)chip->size[r->source], to_size = (uint64_t)chip->size[r->target];
    for (int64_t i = 0; i < r->repeat; i++) {
        uint64_t from = (uint64_t)(r->source_address + i * r->source_step), to = (uint64_t)(r->target_address + i * r->target_step);
        for (uint64_t left = (uint64_t)r->length, n; left; left -= n, from += n, to += n) {
            from %= from_size, to %= to_size, n = left;
            n = from_size - from < n ? from_size - from : n;
            n = to_size - to < n ? to_size - to : n;
            memcpy(chip->memory[r->target] + to, chip->memory[r->source] + from, n * 8);
        }
    }
}

typedef struct {
    const Chip *chip;
    const Op *ops;
    const Run *runs;
    const Part *parts;
    const Phase *phases;
} Program;

static void run_phase(const void *whole, int64_t number, int tile) {
    const Program *program = whole;
    const Phase *phase = &program->phases[number];
    const Op *ops = program->ops + phase->op;
    const Run *runs = program->runs + phase->run;
    for (const Part *part = program->parts + phase->part, *end = part + phase->parts; part < end; part++) {
        run_operations(program->chip, tile, ops, part->ops);
        for (int64_t i = 0; i < part->runs; i++)
            if (runs[i].tile == tile) copy_blocks(program->chip, &runs[i]);
        ops += part->ops, runs += part->runs;
    }
}

/* Phases in turn, on up to `threads` threads. */
void pfcomp_program(const Chip *chip, const Op *ops, const Run *runs, const Part *parts, const Phase *phases, int64_t count, int threads) {
    Program program = {chip, ops, runs, parts, phases};
    share_phases(run_phase, &program, count, threads);
}
