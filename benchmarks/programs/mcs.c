// The queue lock of Mellor-Crummey and Scott (TOCS 1991).
#include "bench.h"

struct waiter {
    struct waiter *_Atomic next;
    atomic_int locked;
};

static struct waiter *_Atomic tail;
static struct waiter waiters[2];
static atomic_int counter;

static void *section(void *argument) {
    struct waiter *me = &waiters[(long)argument];
    STORE(me->next, 0);
    STORE(me->locked, 1);
    FENCE();
    struct waiter *before = atomic_exchange_explicit(&tail, me, memory_order_relaxed);
    if (before) {
        STORE(before->next, me);
        FENCE();
        while (LOAD(me->locked)) {
        }
    }
    STORE(counter, LOAD(counter) + 1);
    FENCE();
    if (!LOAD(me->next)) {
        if (CAS(tail, me, (struct waiter *)0)) return 0;
        while (!LOAD(me->next)) {
        }
    }
    STORE(LOAD(me->next)->locked, 0);
    FENCE();
    return 0;
}

int main(void) {
    run(2, (void *(*[])(void *)){section, section});
    assert(counter == 2);
}
