// Dekker's mutual exclusion. Right on paper, and on a machine that does what the paper says; but a processor may let the
// load of the other's flag overtake the store of one's own, and then both threads are in the critical section.
//
//   teetotal check examples/dekker.c
#include <assert.h>
#include <pthread.h>

static volatile int flag[2];
static volatile int turn;
static int shared;

static void *section(void *argument) {
    int me = (int)(long)argument, other = 1 - me;
    flag[me] = 1;
    while (flag[other]) {
        if (turn != me) {
            flag[me] = 0;
            while (turn != me) {
            }
            flag[me] = 1;
        }
    }
    shared = me;
    assert(shared == me);  // nobody else is here
    turn = other;
    flag[me] = 0;
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, section, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
