// Double-checked locking: the object is made once, by whoever comes first.
#include "bench.h"

struct object {
    atomic_int ready;
};

static struct object *_Atomic instance;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct object *get(void) {
    struct object *seen = LOAD(instance);
    if (seen) return seen;
    pthread_mutex_lock(&lock);
    seen = LOAD(instance);
    if (!seen) {
        seen = malloc(sizeof *seen);
        STORE(seen->ready, 1);
        FENCE();
        STORE(instance, seen);
    }
    FENCE();
    pthread_mutex_unlock(&lock);
    return seen;
}

static void *user(void *argument) {
    assert(LOAD(get()->ready) == 1);
    return 0;
}

int main(void) { run(2, (void *(*[])(void *)){user, user}); }
