// The two-lock queue of Michael and Scott (PODC 1996).
#include "bench.h"

struct node {
    atomic_int value;
    struct node *_Atomic next;
};

static struct node *head, *tail;
static pthread_mutex_t head_lock = PTHREAD_MUTEX_INITIALIZER, tail_lock = PTHREAD_MUTEX_INITIALIZER;

static void enqueue(int value) {
    struct node *node = malloc(sizeof *node);
    STORE(node->value, value);
    STORE(node->next, 0);
    FENCE();
    pthread_mutex_lock(&tail_lock);
    STORE(tail->next, node);
    FENCE();
    tail = node;
    FENCE();
    pthread_mutex_unlock(&tail_lock);
}

static int dequeue(void) {
    int value = -1;
    pthread_mutex_lock(&head_lock);
    struct node *next = LOAD(head->next);
    if (next) {
        value = LOAD(next->value);
        head = next;
        FENCE();
    }
    pthread_mutex_unlock(&head_lock);
    return value;
}

static void *producer(void *argument) {
    for (int round = 0; round < ROUNDS; round++) {
        enqueue(2 * round + 1);
        enqueue(2 * round + 2);
    }
    return 0;
}

static void *consumer(void *argument) {
    int last = 0;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        int next = dequeue();
        assert(next == -1 || next == last + 1);
        if (next != -1) last = next;
    }
    return 0;
}

int main(void) {
    head = tail = malloc(sizeof *head);
    head->next = 0;
    run(2, (void *(*[])(void *)){producer, consumer});
}
