// Publication in the manner of RCU: a record is filled in and then made known by one pointer.
#include "bench.h"

struct record {
    atomic_int a, b;
};

static struct record *_Atomic current;

static void *publisher(void *argument) {
    struct record *fresh = malloc(sizeof *fresh);
    STORE(fresh->a, 1);
    STORE(fresh->b, 1);
    FENCE();
    STORE(current, fresh);
    return 0;
}

static void *reader(void *argument) {
    struct record *seen = LOAD(current);
    if (seen) assert(LOAD(seen->a) == 1 && LOAD(seen->b) == 1);
    return 0;
}

int main(void) { run(3, (void *(*[])(void *)){publisher, reader, reader}); }
