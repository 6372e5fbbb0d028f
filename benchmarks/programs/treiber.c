// Treiber's stack, without reuse of nodes.
#include "bench.h"

struct node {
    atomic_int value;
    struct node *_Atomic next;
};

static struct node *_Atomic top;

static void push(int value) {
    struct node *node = malloc(sizeof *node);
    STORE(node->value, value);
    for (;;) {
        struct node *old = LOAD(top);
        STORE(node->next, old);
        FENCE();
        if (CAS(top, old, node)) return;
    }
}

static int pop(void) {
    for (;;) {
        struct node *old = LOAD(top);
        if (!old) return -1;
        if (CAS(top, old, LOAD(old->next))) return LOAD(old->value);
    }
}

static void *pusher(void *argument) {
    push(1);
    return 0;
}

static void *popper(void *argument) {
    int value = pop();
    assert(value == -1 || value == 1);
    return 0;
}

int main(void) { run(3, (void *(*[])(void *)){pusher, pusher, popper}); }
