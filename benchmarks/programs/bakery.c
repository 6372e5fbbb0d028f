// Lamport's bakery for N threads.
#include "bench.h"
#ifndef N
#define N 2
#endif

static atomic_int choosing[N], number[N], inside;

static void visit(int me) {
    int highest = 0;
    STORE(choosing[me], 1);
    FENCE();
    for (int i = 0; i < N; i++) {
        int seen = LOAD(number[i]);
        if (seen > highest) highest = seen;
    }
    STORE(number[me], highest + 1);
    FENCE();
    STORE(choosing[me], 0);
    FENCE();
    for (int i = 0; i < N; i++) {
        if (i == me) continue;
        while (LOAD(choosing[i])) {
        }
        for (;;) {
            int theirs = LOAD(number[i]), mine = highest + 1;
            if (theirs == 0 || mine < theirs || (mine == theirs && me < i)) break;
        }
    }
    STORE(inside, me);
    FENCE();
    assert(LOAD(inside) == me);
    STORE(number[me], 0);
    FENCE();
}

static void *customer(void *argument) {
    for (int round = 0; round < ROUNDS; round++) visit((int)(long)argument);
    return 0;
}

int main(void) {
    void *(*all[N])(void *);
    for (int i = 0; i < N; i++) all[i] = customer;
    run(N, all);
}
