// A ring buffer for one producer and one consumer.
#include "bench.h"
#define SIZE 2

static atomic_int slots[SIZE];
static atomic_int head, tail;

static int put(int value) {
    int t = LOAD(tail);
    if (t - LOAD(head) == SIZE) return 0;
    STORE(slots[t % SIZE], value);
    FENCE();
    STORE(tail, t + 1);
    FENCE();
    return 1;
}

static int get(void) {
    int h = LOAD(head);
    if (h == LOAD(tail)) return -1;
    int value = LOAD(slots[h % SIZE]);
    STORE(head, h + 1);
    FENCE();
    return value;
}

static void *producer(void *argument) {
    for (int i = 1; i <= 3; i++) put(i);
    return 0;
}

static void *consumer(void *argument) {
    int last = 0;
    for (int i = 0; i < 3; i++) {
        int value = get();
        if (value == -1) continue;
        assert(value == last + 1);
        last = value;
    }
    return 0;
}

int main(void) { run(2, (void *(*[])(void *)){producer, consumer}); }
