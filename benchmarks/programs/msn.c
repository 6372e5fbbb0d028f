// The non-blocking queue of Michael and Scott (PODC 1996), without reuse of nodes.
#include "bench.h"
#ifndef LONG
#define LONG 0
#endif

struct node {
    atomic_int value;
    struct node *_Atomic next;
};

static struct node *_Atomic head, *_Atomic tail;

static void enqueue(int value) {
    struct node *node = malloc(sizeof *node);
    STORE(node->value, value);
    STORE(node->next, 0);
    FENCE();
    for (;;) {
        struct node *last = LOAD(tail), *next = LOAD(last->next);
        if (last != LOAD(tail)) continue;
        if (next) {
            CAS(tail, last, next);
        } else if (CAS(last->next, (struct node *)0, node)) {
            FENCE();
            CAS(tail, last, node);
            FENCE();
            return;
        }
    }
}

static int dequeue(void) {
    for (;;) {
        struct node *first = LOAD(head), *last = LOAD(tail), *next = LOAD(first->next);
        if (first != LOAD(head)) continue;
        if (first == last) {
            if (!next) return -1;
            CAS(tail, last, next);
        } else {
            int value = LOAD(next->value);
            if (CAS(head, first, next)) return value;
        }
    }
}

static void *producer(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        enqueue(1);
        for (int i = 0; i < LONG; i++) enqueue(2);
    }
    return 0;
}

static void *consumer(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        int first = dequeue();
        assert(first == -1 || first == 1 || first == 3 || round);
        for (int i = 0; i < LONG; i++) enqueue(3);
    }
    return 0;
}

int main(void) {
    struct node *dummy = malloc(sizeof *dummy);
    dummy->next = 0;
    head = tail = dummy;
    run(2, (void *(*[])(void *)){producer, consumer});
}
