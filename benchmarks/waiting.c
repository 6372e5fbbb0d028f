/* Threads that wait for each other: WHICH of these, by how many threads, how often each. All are right under SC. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };
static int count, rounds, shared;
static atomic_int x;

/* One thread stores 1, 2, …; another awaits the last. */
static void await(long me) {
    int last = rounds;
    if (me == 0)
        for (int i = 1; i <= last; i++) atomic_store(&x, i);
    else
        while (atomic_load(&x) != last) {}
}

static atomic_int flag[2], turn;
static void dekker(long me) {
    for (int i = 0; i < rounds; i++) {
        flag[me] = 1;
        while (flag[1 - me])
            if (turn != me) {
                flag[me] = 0;
                while (turn != me) {}
                flag[me] = 1;
            }
        shared++;
        turn = (int)(1 - me);
        flag[me] = 0;
    }
}

static void peterson(long me) {
    for (int i = 0; i < rounds; i++) {
        flag[me] = 1;
        turn = (int)(1 - me);
        while (flag[1 - me] && turn == 1 - me) {}
        shared++;
        flag[me] = 0;
    }
}

static atomic_int choosing[MOST], number[MOST];
static void bakery(long me) {
    int most = 0;
    choosing[me] = 1;
    for (int i = 0; i < count; i++) {
        int other = number[i];
        if (other > most) most = other;
    }
    number[me] = most + 1;
    choosing[me] = 0;
    for (int i = 0; i < count; i++) {
        if (i == me) continue;
        while (choosing[i]) {}
        for (;;) {
            int other = number[i];
            if (other == 0 || other > most + 1 || (other == most + 1 && i > me)) break;
        }
    }
    shared++;
    number[me] = 0;
}

static atomic_flag taken = ATOMIC_FLAG_INIT;
static void tas(long me) {
    (void)me;
    while (atomic_flag_test_and_set(&taken)) {}
    shared++;
    atomic_flag_clear(&taken);
}

static atomic_int lock;
static void cas(long me) {
    (void)me;
    int free = 0;
    while (!atomic_compare_exchange_strong(&lock, &free, 1)) free = 0;
    shared++;
    lock = 0;
}

static void ttas(long me) {
    (void)me;
    for (;;) {
        while (lock) {}
        int free = 0;
        if (atomic_compare_exchange_strong(&lock, &free, 1)) break;
    }
    shared++;
    lock = 0;
}

static atomic_int next, serving;
static void ticket(long me) {
    (void)me;
    int mine = atomic_fetch_add(&next, 1);
    while (serving != mine) {}
    shared++;
    serving = mine + 1;
}

struct node {
    struct node *_Atomic next;
    atomic_int locked;
};
static struct node nodes[MOST + 1];
static struct node *_Atomic tail;
static void mcs(long me) {
    struct node *mine = &nodes[me];
    mine->next = NULL;
    mine->locked = 1;
    struct node *before = atomic_exchange(&tail, mine);
    if (before) {
        before->next = mine;
        while (mine->locked) {}
    }
    shared++;
    if (mine->next == NULL) {
        struct node *last = mine;
        if (atomic_compare_exchange_strong(&tail, &last, NULL)) return;
        while (mine->next == NULL) {}
    }
    mine->next->locked = 0;
}

static void clh(long me) {
    struct node *mine = &nodes[me];
    mine->locked = 1;
    struct node *before = atomic_exchange(&tail, mine);
    while (before->locked) {}
    shared++;
    mine->locked = 0;
}

/* A writer, and readers that begin again where it has come between. */
static atomic_int sequence, left, right;
static void seqlock(long me) {
    if (me == 0) {
        for (int i = 1; i <= rounds; i++) {
            sequence = 2 * i - 1;
            left = i;
            right = i;
            sequence = 2 * i;
        }
        return;
    }
    for (;;) {
        int before = sequence;
        if (before % 2) continue;
        int a = left, b = right;
        if (sequence != before) continue;
        if (a != b) abort();
        return;
    }
}

static pthread_barrier_t gate;
static atomic_int before[MOST];
static void barrier(long me) {
    before[me] = 1;
    pthread_barrier_wait(&gate);
    if (before[(me + 1) % count] == 0) abort();
}

static const struct {
    const char *name;
    void (*run)(long);
} all[] = {
    {"await", await}, {"dekker", dekker}, {"peterson", peterson}, {"bakery", bakery},   {"tas", tas}, {"cas", cas},
    {"ttas", ttas},   {"ticket", ticket}, {"mcs", mcs},           {"clh", clh},         {"seqlock", seqlock},
    {"barrier", barrier},
};
static void (*run)(long);
static void *start(void *me) {
    run((long)me);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[MOST];
    if (argc != 4) return 2;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[1], all[i].name) == 0) run = all[i].run;
    count = atoi(argv[2]);
    rounds = atoi(argv[3]);
    if (run == clh) tail = &nodes[MOST];
    pthread_barrier_init(&gate, NULL, (unsigned)count);
    for (long i = 0; i < count; i++) pthread_create(&threads[i], NULL, start, (void *)i);
    for (long i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return 0;
}
