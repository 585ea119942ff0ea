/* The pool: a job is published by a new generation number, threads take its tasks from a shared
 * counter, and the job is over when the last thread has left it. Waiting threads spin for some
 * microseconds first, because a decoded token is hundreds of short jobs, and then sleep.
 */
#include "runtime/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//: rt_simd_best
RtSimd rt_simd_best(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return RT_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
        return RT_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? RT_AVX512_BF16 : RT_AVX512;
#else
    return RT_PORTABLE;
#endif
}

//: RtPool needs rt_simd_best
enum {
    MAX_THREADS = 256, /* of a pool */
    SPINS = 2000,      /* looks before a waiting thread sleeps */
};

struct RtPool {
    RtSimd simd;                        /* kernels to use */
    int threads;                        /* threads, the caller included */
    int spins;                          /* SPINS, or 0 when processors are fewer than threads */
    int stop;                           /* under lock: threads are to end */
    void (*fn)(void *ctx, size_t task); /* the job */
    void *ctx;                          /* its argument */
    size_t tasks;                       /* its number of tasks */
    atomic_size_t next;                 /* next task that nobody has */
    atomic_uint generation;             /* number of jobs published */
    atomic_int busy;                    /* threads that have not left the job */
    pthread_mutex_t lock;               /* guards sleeping and waking */
    pthread_cond_t wake;                /* a new generation, or stop */
    pthread_cond_t done;                /* busy is 0 */
    pthread_t thread[MAX_THREADS];      /* [1, threads) are the pool's own */
};

static void pause_briefly(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_ia32_pause();
#endif
}

static void take_tasks(RtPool *pool) {
    size_t task;
    while ((task = atomic_fetch_add(&pool->next, 1)) < pool->tasks)
        pool->fn(pool->ctx, task);
}

/* Waits for a generation other than `seen`. Returns 0 when the thread is to end. */
static int wait_for_job(RtPool *pool, unsigned seen) {
    for (int i = 0; i < pool->spins; i++) {
        if (atomic_load(&pool->generation) != seen)
            return 1;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->generation) == seen && !pool->stop)
        pthread_cond_wait(&pool->wake, &pool->lock);
    int stop = pool->stop;
    pthread_mutex_unlock(&pool->lock);
    return !stop;
}

static void *pool_thread(void *arg) {
    RtPool *pool = arg;
    for (unsigned seen = 0; wait_for_job(pool, seen); seen++) {
        take_tasks(pool);
        if (atomic_fetch_sub(&pool->busy, 1) == 1) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
    return NULL;
}

static RtSimd chosen_simd(void) {
    static const char *const names[] = {"portable", "avx2", "avx512"};
    RtSimd best = rt_simd_best();
    const char *wanted = getenv("SERIN_SIMD");
    if (wanted == NULL)
        return best;
    for (int i = 0; i < 3; i++)
        if (strcmp(wanted, names[i]) == 0 && (RtSimd)i < best)
            return (RtSimd)i;
    return best;
}

/* Starts the threads with all signals blocked: those are the main thread's business. */
static void start_threads(RtPool *pool, int threads) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (pool->threads = 1; pool->threads < threads; pool->threads++)
        if (pthread_create(&pool->thread[pool->threads], NULL, pool_thread, pool) != 0)
            break;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

RtPool *rt_pool_new(int threads) {
    RtPool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (threads <= 0)
        threads = processors < 1 ? 1 : processors < MAX_THREADS ? (int)processors : MAX_THREADS;
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    pool->simd = chosen_simd();
    pool->spins = threads <= processors ? SPINS : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    start_threads(pool, threads);
    return pool;
}

void rt_pool_free(RtPool *pool) {
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i < pool->threads; i++)
        pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

int rt_pool_threads(const RtPool *pool) {
    return pool ? pool->threads : 1;
}

RtSimd rt_pool_simd(const RtPool *pool) {
    return pool ? pool->simd : rt_simd_best();
}

void rt_pool_run(RtPool *pool, void (*fn)(void *ctx, size_t task), void *ctx, size_t tasks) {
    if (pool == NULL || pool->threads == 1 || tasks <= 1) {
        for (size_t task = 0; task < tasks; task++)
            fn(ctx, task);
        return;
    }
    pool->fn = fn;
    pool->ctx = ctx;
    pool->tasks = tasks;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->busy, pool->threads - 1);
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_tasks(pool);
    for (int i = 0; i < pool->spins && atomic_load(&pool->busy) > 0; i++)
        pause_briefly();
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->busy) > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
