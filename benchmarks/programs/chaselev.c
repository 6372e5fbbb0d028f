// The work-stealing deque of Chase and Lev (SPAA 2005), with a buffer that does not grow.
#include "bench.h"
#define SIZE 4

static atomic_long top, bottom;
static atomic_int tasks[SIZE];
static atomic_int done[3];

static void push(int task) {
    long b = LOAD(bottom);
    STORE(tasks[b % SIZE], task);
    FENCE();
    STORE(bottom, b + 1);
    FENCE();
}

static int take(void) {
    long b = LOAD(bottom) - 1;
    STORE(bottom, b);
    FENCE();  // the one that matters on TSO
    long t = LOAD(top);
    if (t > b) {
        STORE(bottom, b + 1);
        FENCE();
        return 0;
    }
    int task = LOAD(tasks[b % SIZE]);
    if (t < b) return task;
    if (!CAS(top, t, t + 1)) task = 0;
    FENCE();
    STORE(bottom, b + 1);
    FENCE();
    return task;
}

static int steal(void) {
    long t = LOAD(top);
    FENCE();
    long b = LOAD(bottom);
    if (t >= b) return 0;
    int task = LOAD(tasks[t % SIZE]);
    return CAS(top, t, t + 1) ? task : 0;
}

static void *owner(void *argument) {
    push(1);
    push(2);
    for (int i = 0; i < 2; i++) atomic_fetch_add(&done[take()], 1);
    return 0;
}

static void *thief(void *argument) {
    for (int i = 0; i < 2; i++) atomic_fetch_add(&done[steal()], 1);
    return 0;
}

int main(void) {
    run(2, (void *(*[])(void *)){owner, thief});
    assert(done[1] <= 1 && done[2] <= 1);  // no task twice
}
