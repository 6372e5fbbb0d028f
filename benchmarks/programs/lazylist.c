// The lazy list set of Heller, Herlihy, Luchangco, Moir, Scherer, Shavit (OPODIS 2005): lookups take no lock.
#include "bench.h"

struct node {
    atomic_int key, marked;
    struct node *_Atomic next;
    pthread_mutex_t lock;
};

static struct node *head;

static struct node *make(int key, struct node *next) {
    struct node *node = malloc(sizeof *node);
    STORE(node->key, key);
    STORE(node->marked, 0);
    STORE(node->next, next);
    pthread_mutex_init(&node->lock, 0);
    return node;
}

// Both nodes locked and still in the list, next to each other.
static void find(int key, struct node **before, struct node **at) {
    for (;;) {
        struct node *previous = head, *current = LOAD(head->next);
        while (LOAD(current->key) < key) {
            previous = current;
            current = LOAD(current->next);
        }
        pthread_mutex_lock(&previous->lock);
        pthread_mutex_lock(&current->lock);
        if (!LOAD(previous->marked) && !LOAD(current->marked) && LOAD(previous->next) == current) {
            *before = previous;
            *at = current;
            return;
        }
        pthread_mutex_unlock(&current->lock);
        pthread_mutex_unlock(&previous->lock);
    }
}

static int add(int key) {
    struct node *before, *at;
    find(key, &before, &at);
    int fresh = LOAD(at->key) != key;
    if (fresh) {
        struct node *node = make(key, at);
        FENCE();
        STORE(before->next, node);
        FENCE();
    }
    pthread_mutex_unlock(&at->lock);
    pthread_mutex_unlock(&before->lock);
    return fresh;
}

static int take(int key) {
    struct node *before, *at;
    find(key, &before, &at);
    int there = LOAD(at->key) == key;
    if (there) {
        STORE(at->marked, 1);
        FENCE();
        STORE(before->next, LOAD(at->next));
        FENCE();
    }
    pthread_mutex_unlock(&at->lock);
    pthread_mutex_unlock(&before->lock);
    return there;
}

static int contains(int key) {
    struct node *current = LOAD(head->next);
    while (LOAD(current->key) < key) current = LOAD(current->next);
    return LOAD(current->key) == key && !LOAD(current->marked);
}

static void *first(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        int fresh = add(1);
        assert(fresh || round);
    }
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
    head = make(-1, make(100, 0));
    run(2, (void *(*[])(void *)){first, second});
}
