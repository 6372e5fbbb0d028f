#include <assert.h>
#include <pthread.h>

static volatile int message, ready;

static void *send(void *unused) {
    message = 42;
    ready = 1;
    return unused;
}

int main(void) {
    pthread_t sender;
    pthread_create(&sender, 0, send, 0);
    if (ready) assert(message == 42);
    pthread_join(sender, 0);
}
