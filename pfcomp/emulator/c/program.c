/* Programs: operations and moves of each tile, in phases (phases.py). */
#include "engine.h"
#include "pool.h"

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
            if (runs[i].tile == tile) run_blocks(program->chip, &runs[i]);
        ops += part->ops, runs += part->runs;
    }
}

/* Phases in turn, on up to `threads` threads. */
void pfcomp_program(const Chip *chip, const Op *ops, const Run *runs, const Part *parts, const Phase *phases, int64_t count, int threads) {
    Program program = {chip, ops, runs, parts, phases};
    share_phases(run_phase, &program, count, threads);
}
