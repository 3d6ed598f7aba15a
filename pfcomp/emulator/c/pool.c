/* Helper threads that live as long as the process, for one program at a time.

   Every phase has a ticket, a number that grows from program to program. Whoever raises `claimed` of a tile from the
   ticket before to that of the phase does the tile's work, so a helper that wakes late finds nothing to claim and touches
   nothing of a program that has ended. The caller works too and never waits for a helper that claimed nothing. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pthread_sigmask and the like under -std=c11 */
#endif
#include "pool.h"

#include "engine.h"

static void alone(Work *work, const void *program, int64_t count) {
    for (int64_t phase = 0; phase < count; phase++)
        for (int tile = 0; tile < TILES; tile++) work(program, phase, tile);
}

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__STDC_NO_ATOMICS__)

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { SPINS = 1000 }; /* a few times 10 us: longer than another core takes to end a short tile */

typedef struct {
    Work *work;
    const void *program;
    int64_t first, count; /* ticket of the first phase, phases */
    int seats;            /* threads that take part, the caller has seat 0 */
} Job;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t posted, ended; /* a job was posted, all tiles of a phase are done */
    Job job;
    int helpers;
} Pool;

static const Pool EMPTY = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
static Pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
static atomic_flag busy = ATOMIC_FLAG_INIT;
static _Atomic int64_t claimed[TILES], done, jobs; /* ticket by tile; tiles done, jobs posted since the process began */

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Until `value` has reached `goal`: a moment awake, then asleep until `changed`. */
static void await(_Atomic int64_t *value, int64_t goal, pthread_cond_t *changed) {
    for (int i = 0; i < SPINS; i++, relax())
        if (atomic_load(value) >= goal) return;
    pthread_mutex_lock(&pool.lock);
    while (atomic_load(value) < goal) pthread_cond_wait(changed, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

/* Those who slept in `await` see the new value: it was stored before the lock was taken. */
static void announce(pthread_cond_t *changed) {
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(changed);
    pthread_mutex_unlock(&pool.lock);
}

/* Tiles of one's own first, then what others have not begun. */
static void take_part(const Job *job, int seat) {
    for (int64_t phase = 0; phase < job->count; phase++) {
        int64_t ticket = job->first + phase;
        for (int k = 0; k < TILES; k++) {
            int tile = (seat * TILES / job->seats + k) % TILES;
            int64_t before = ticket - 1;
            if (!atomic_compare_exchange_strong(&claimed[tile], &before, ticket)) continue;
            job->work(job->program, phase, tile);
            if (atomic_fetch_add(&done, 1) + 1 == TILES * ticket) announce(&pool.ended);
        }
        await(&done, TILES * ticket, &pool.ended);
    }
}

static void *help(void *seat) {
    for (int64_t seen = 0;;) {
        await(&jobs, seen + 1, &pool.posted);
        pthread_mutex_lock(&pool.lock);
        Job job = pool.job;
        seen = atomic_load(&jobs);
        pthread_mutex_unlock(&pool.lock);
        if ((int)(intptr_t)seat < job.seats) take_part(&job, (int)(intptr_t)seat);
    }
    return 0;
}

/* A forked child has none of its parent's threads, and perhaps a job of which it saw only a part. */
static void start_anew(void) {
    pool = EMPTY;
    atomic_flag_clear(&busy);
    for (int tile = 0; tile < TILES; tile++) atomic_store(&claimed[tile], 0);
    atomic_store(&done, 0), atomic_store(&jobs, 0);
}

static void watch_forks(void) { pthread_atfork(0, 0, start_anew); }

/* As many helpers as the system grants; signals are left to the program's own threads. */
static void hire(int wanted) {
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.helpers < wanted && !pthread_create(&thread, 0, help, (void *)(intptr_t)(pool.helpers + 1))) {
        pthread_detach(thread);
        pool.helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, 0);
}

void share_phases(Work *work, const void *program, int64_t count, int threads) {
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    if (threads <= 1 || atomic_flag_test_and_set(&busy)) {
        alone(work, program, count);
        return;
    }
    pthread_once(&watched, watch_forks);
    if (threads > TILES) threads = TILES;
    hire(threads - 1);
    Job job = {work, program, atomic_load(&done) / TILES + 1, count, threads};
    pthread_mutex_lock(&pool.lock);
    pool.job = job;
    atomic_fetch_add(&jobs, 1);
    pthread_cond_broadcast(&pool.posted);
    pthread_mutex_unlock(&pool.lock);
    take_part(&job, 0);
    atomic_flag_clear(&busy);
}

#else

void share_phases(Work *work, const void *program, int64_t count, int threads) {
    (void)threads;
    alone(work, program, count);
}

#endif
