// Store buffering: each thread stores to its own place and looks at the other's.
#include "bench.h"

static atomic_int x, y, seen[2];

static void *first(void *unused) {
    STORE(x, 1);
    FENCE();
    STORE(seen[0], LOAD(y));
    return 0;
}

static void *second(void *unused) {
    STORE(y, 1);
    FENCE();
    STORE(seen[1], LOAD(x));
    return 0;
}

int main(void) {
    run(2, (void *(*const[])(void *)){first, second});
    assert(seen[0] || seen[1]);
}
