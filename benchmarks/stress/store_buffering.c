// Store buffering on the processor itself: how often do both threads miss the other's store? Prints that number.
//
//   teetotal fence benchmarks/stress/store_buffering.c        one round is all that an exploration needs
//   cc -O2 -pthread -DROUNDS=1000000 store_buffering.c && ./a.out
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

static atomic_int x, y, gate;
static int seen[2];

static void meet(int arrivals) {
    atomic_fetch_add(&gate, 1);
    while (atomic_load(&gate) < arrivals) {
    }
}

static void *left(void *argument) {
    long *both = argument;
    for (int round = 0; round < ROUNDS; round++) {
        meet(4 * round + 2);
        atomic_store_explicit(&x, 1, memory_order_relaxed);
        seen[0] = atomic_load_explicit(&y, memory_order_relaxed);
        meet(4 * round + 4);
        *both += seen[0] == 0 && seen[1] == 0;
        atomic_exchange(&x, 0);
    }
    return 0;
}

static void *right(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        meet(4 * round + 2);
        atomic_store_explicit(&y, 1, memory_order_relaxed);
        seen[1] = atomic_load_explicit(&x, memory_order_relaxed);
        meet(4 * round + 4);
        atomic_exchange(&y, 0);
    }
    return argument;
}

int main(void) {
    long both = 0;
    pthread_t threads[2];
    pthread_create(&threads[0], 0, left, &both);
    pthread_create(&threads[1], 0, right, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    if (ROUNDS > 1) printf("%ld\n", both);
    return 0;
}
