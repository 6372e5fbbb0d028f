// The non-blocking list set of Harris (DISC 2001), in the form of Michael (SPAA 2002): the lowest bit of next marks.
#include "bench.h"
#include <stdint.h>

struct node {
    atomic_int key;
    atomic_uintptr_t next;
};

static struct node *head;

static struct node *pointer(uintptr_t word) { return (struct node *)(word & ~(uintptr_t)1); }

static struct node *make(int key, uintptr_t next) {
    struct node *node = malloc(sizeof *node);
    STORE(node->key, key);
    STORE(node->next, next);
    return node;
}

// The first node whose key is not less, and the one before it; marked ones on the way are unlinked.
static struct node *find(int key, struct node **before) {
again:;
    struct node *previous = head, *current = pointer(LOAD(head->next));
    for (;;) {
        uintptr_t next = LOAD(current->next);
        if (next & 1) {
            if (!CAS(previous->next, (uintptr_t)current, next & ~(uintptr_t)1)) goto again;
            FENCE();
            current = pointer(next);
            continue;
        }
        if (LOAD(current->key) >= key) {
            *before = previous;
            return current;
        }
        previous = current;
        current = pointer(next);
    }
}

static int add(int key) {
    struct node *node = make(key, 0);
    for (;;) {
        struct node *before, *at = find(key, &before);
        if (LOAD(at->key) == key) return 0;
        STORE(node->next, (uintptr_t)at);
        FENCE();
        if (CAS(before->next, (uintptr_t)at, (uintptr_t)node)) return 1;
    }
}

static int take(int key) {
    for (;;) {
        struct node *before, *at = find(key, &before);
        if (LOAD(at->key) != key) return 0;
        uintptr_t next = LOAD(at->next);
        if ((next & 1) || !CAS(at->next, next, next | 1)) continue;
        FENCE();
        CAS(before->next, (uintptr_t)at, next);
        FENCE();
        return 1;
    }
}

static int contains(int key) {
    struct node *current = pointer(LOAD(head->next));
    while (LOAD(current->key) < key) current = pointer(LOAD(current->next));
    return LOAD(current->key) == key && !(LOAD(current->next) & 1);
}

static void *first(void *argument) {
    for (int round = 0; round < ROUNDS; round++) add(1);
    return 0;
}

static void *second(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        int seen = contains(1), taken = take(1);
        assert(!seen || taken);
    }
    return 0;
}

int main(void) {
    head = make(-1, (uintptr_t)make(100, 0));
    run(2, (void *(*[])(void *)){first, second});
}
