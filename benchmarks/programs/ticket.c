// A ticket lock in the manner of Linux.
#include "bench.h"

static atomic_int next_ticket, now_serving, counter;

static void *section(void *argument) {
    int ticket = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
    while (LOAD(now_serving) != ticket) {
    }
    STORE(counter, LOAD(counter) + 1);
    FENCE();
    STORE(now_serving, ticket + 1);
    return 0;
}

int main(void) {
    run(3, (void *(*[])(void *)){section, section, section});
    assert(counter == 3);
}
