// The THE protocol of Cilk-5 (PLDI 1998): the owner takes from the tail without the lock unless it meets a thief.
#include "bench.h"

static atomic_long H, T;
static atomic_int tasks[4];
static atomic_int done[3];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void push(int task) {
    long t = LOAD(T);
    STORE(tasks[t], task);
    FENCE();
    STORE(T, t + 1);
    FENCE();
}

static int take(void) {
    long t = LOAD(T) - 1;
    STORE(T, t);
    FENCE();  // the one that matters on TSO
    if (LOAD(H) > t) {
        STORE(T, t + 1);
        pthread_mutex_lock(&lock);
        t = LOAD(T) - 1;
        STORE(T, t);
        FENCE();
        if (LOAD(H) > t) {
            STORE(T, t + 1);
            FENCE();
            pthread_mutex_unlock(&lock);
            return 0;
        }
        pthread_mutex_unlock(&lock);
    }
    return LOAD(tasks[t]);
}

static int steal(void) {
    int task = 0;
    pthread_mutex_lock(&lock);
    long h = LOAD(H);
    STORE(H, h + 1);
    FENCE();
    if (h + 1 > LOAD(T)) {
        STORE(H, h);
    } else {
        task = LOAD(tasks[h]);
    }
    FENCE();
    pthread_mutex_unlock(&lock);
    return task;
}

static void *owner(void *argument) {
    push(1);
    push(2);
    atomic_fetch_add(&done[take()], 1);
    atomic_fetch_add(&done[take()], 1);
    return 0;
}

static void *thief(void *argument) {
    atomic_fetch_add(&done[steal()], 1);
#ifdef SIX  // operations, as in the paper
    atomic_fetch_add(&done[steal()], 1);
#endif
    return 0;
}

int main(void) {
    run(2, (void *(*[])(void *)){owner, thief});
    assert(done[1] <= 1 && done[2] <= 1);
}
