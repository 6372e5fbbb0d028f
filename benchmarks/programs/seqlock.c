// A sequence lock: the writer counts to odd and back to even, readers try until they see the same even count twice.
#include "bench.h"

static atomic_int sequence, a, b;

static void *writer(void *argument) {
    int s = LOAD(sequence);
    STORE(sequence, s + 1);
    FENCE();
    STORE(a, 1);
    FENCE();
    STORE(b, 1);
    FENCE();
    STORE(sequence, s + 2);
    return 0;
}

static void *reader(void *argument) {
    int before, x, y;
    do {
        while ((before = LOAD(sequence)) & 1) {
        }
        x = LOAD(a);
        y = LOAD(b);
    } while (LOAD(sequence) != before);
    assert(x == y);
    return 0;
}

int main(void) { run(2, (void *(*[])(void *)){writer, reader}); }
