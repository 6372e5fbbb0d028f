// What the benchmark programs share. Accesses are relaxed atomics: a plain load or store of the machine, and no data race
// in the eyes of the language. -DFENCED puts full fences where the unfenced program is not robust.
#pragma once
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef ROUNDS  // how often each thread does what it does
#define ROUNDS 1
#endif

#define LOAD(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define STORE(place, value) atomic_store_explicit(&(place), (value), memory_order_relaxed)

#ifdef FENCED
#define FENCE() atomic_thread_fence(memory_order_seq_cst)
#else
#define FENCE() ((void)0)
#endif

// Compare and swap, as processors have it.
#define CAS(place, old, new)                                                                             \
    ({                                                                                                   \
        __auto_type expected_ = (old);                                                                   \
        atomic_compare_exchange_strong_explicit(&(place), &expected_, (new), memory_order_relaxed,       \
                                                memory_order_relaxed);                                   \
    })

// Runs the functions at the same time, each with its number.
static inline void run(int count, void *(*const functions[])(void *)) {
    pthread_t threads[8];
    for (long i = 0; i < count; i++) pthread_create(&threads[i], 0, functions[i], (void *)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
}
