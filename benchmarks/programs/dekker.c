// Dekker's mutual exclusion for two threads.
#include "bench.h"

static atomic_int flag[2], turn, inside;

static void *section(void *argument) {
    int me = (int)(long)argument, other = 1 - me;
    for (int round = 0; round < ROUNDS; round++) {
        STORE(flag[me], 1);
        FENCE();
        while (LOAD(flag[other])) {
            if (LOAD(turn) != me) {
                STORE(flag[me], 0);
                FENCE();
                while (LOAD(turn) != me) {
                }
                STORE(flag[me], 1);
                FENCE();
            }
        }
        STORE(inside, me);
        FENCE();
        assert(LOAD(inside) == me);
        STORE(turn, other);
        FENCE();
        STORE(flag[me], 0);
        FENCE();
    }
    return 0;
}

int main(void) { run(2, (void *(*[])(void *)){section, section}); }
