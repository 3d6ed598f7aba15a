/* Denormal numbers count as zero on the chip (isa.md 18.1), and processors are slow with them. */
#ifndef PFCOMP_DENORMALS_H
#define PFCOMP_DENORMALS_H

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* Denormal operands and results of this thread count as zero until `restore`. Kernels for all processors clear them by
   themselves too. */
static inline unsigned flush_denormals(void) {
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
#else
    return 0;
#endif
}

static inline void restore(unsigned before) {
#if defined(__SSE2__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

#endif
