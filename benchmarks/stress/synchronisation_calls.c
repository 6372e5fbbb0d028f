// Which calls of the C library are fences on this processor? Store buffering with a call between one thread's store and
// its load; the other thread has an mfence there, so both can miss the other's store only if the call lets the load
// pass. Prints each call with how often that happened.
//
//   python benchmarks/bench_strengths.py          builds it, runs it and says what the checker takes each call for
//
// Two threads, each on a processor of its own. Before every round a call's objects are put into the state of its name.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Alignas(128) atomic_int x;
static _Alignas(128) atomic_int y;
static _Alignas(128) atomic_int gate;
static _Alignas(128) int seen[2];
static int rounds;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t fresh;
static pthread_spinlock_t spin, spin_held;
static pthread_rwlock_t lock, read_held, write_held;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t empty, full;
static pthread_once_t done = PTHREAD_ONCE_INIT, new_once;
static pthread_barrier_t barrier;
static pthread_key_t key;
static pthread_t sleeper, ended;
static int word;
static struct timespec past;

static void nothing(void) {}
static void *sleep_for_ever(void *argument) {
    pause();
    return argument;
}
static void *end(void *argument) { return argument; }
static void start_ended(void) {
    pthread_create(&ended, 0, end, 0);
    while (pthread_tryjoin_np(ended, 0) == EBUSY) {  // joined and started anew: it must be there to be joined
        sched_yield();
    }
    pthread_create(&ended, 0, end, 0);
    usleep(200);
}

struct call {
    const char *name;
    void (*prepare)(void);  // before each round
    void (*call)(void);
    void (*after)(void);
    int share;  // one in so many of the rounds
};

#define CALL(name, ...) static void name(void) { __VA_ARGS__; }
CALL(no_call, )
CALL(mfence, atomic_thread_fence(memory_order_seq_cst))
CALL(mutex_lock, pthread_mutex_lock(&mutex))
CALL(mutex_unlock, pthread_mutex_unlock(&mutex))
CALL(mutex_trylock_fails, pthread_mutex_trylock(&held))
CALL(mutex_timedlock_fails, pthread_mutex_timedlock(&held, &past))
CALL(mutex_relock, pthread_mutex_lock(&recursive))
CALL(mutex_unrelock, pthread_mutex_unlock(&recursive))
CALL(mutex_relock_error, pthread_mutex_lock(&checked))
CALL(mutex_unlock_error, pthread_mutex_unlock(&checked))
CALL(checked_lock, pthread_mutex_lock(&checked))
CALL(checked_unlock, pthread_mutex_unlock(&checked))
CALL(mutex_init, pthread_mutex_init(&fresh, 0))
CALL(mutex_destroy, pthread_mutex_destroy(&fresh))
CALL(spin_lock, pthread_spin_lock(&spin))
CALL(spin_unlock, pthread_spin_unlock(&spin))
CALL(spin_trylock_fails, pthread_spin_trylock(&spin_held))
CALL(rdlock, pthread_rwlock_rdlock(&lock))
CALL(wrlock, pthread_rwlock_wrlock(&lock))
CALL(rwlock_unlock, pthread_rwlock_unlock(&lock))
CALL(tryrdlock, pthread_rwlock_tryrdlock(&lock))
CALL(tryrdlock_fails, pthread_rwlock_tryrdlock(&write_held))
CALL(trywrlock_fails, pthread_rwlock_trywrlock(&read_held))
CALL(timedrdlock_fails, pthread_rwlock_timedrdlock(&write_held, &past))
CALL(timedwrlock_fails, pthread_rwlock_timedwrlock(&read_held, &past))
CALL(wrlock_wrlock, pthread_rwlock_wrlock(&lock))
CALL(cond_signal, pthread_cond_signal(&condition))
CALL(cond_broadcast, pthread_cond_broadcast(&condition))
CALL(cond_timedwait, pthread_cond_timedwait(&condition, &mutex, &past))
CALL(cond_init, pthread_cond_init(&condition, 0))
CALL(sem_post_call, sem_post(&full))
CALL(sem_wait_call, sem_wait(&full))
CALL(sem_trywait_fails, sem_trywait(&empty))
CALL(sem_timedwait_fails, sem_timedwait(&empty, &past))
CALL(sem_value, int value; sem_getvalue(&full, &value))
CALL(once_done, pthread_once(&done, nothing))
CALL(once_new, pthread_once(&new_once, nothing))
CALL(once_forget, new_once = PTHREAD_ONCE_INIT)
CALL(barrier_wait, pthread_barrier_wait(&barrier))
CALL(create_detached, pthread_t t; pthread_create(&t, 0, end, 0); pthread_detach(t))
CALL(join, pthread_join(ended, 0))
CALL(tryjoin_fails, pthread_tryjoin_np(sleeper, 0))
CALL(getspecific, pthread_getspecific(key))
CALL(setspecific, pthread_setspecific(key, &key))
CALL(self, pthread_self())
CALL(yield, sched_yield())
CALL(futex_wake, syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1))
CALL(futex_wait_fails, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, 0))
CALL(a_syscall, syscall(SYS_getppid))

static const struct call calls[] = {
    {"nothing", 0, no_call, 0, 1},
    {"mfence", 0, mfence, 0, 1},
    {"pthread_mutex_lock", 0, mutex_lock, mutex_unlock, 1},
    {"pthread_mutex_unlock", mutex_lock, mutex_unlock, 0, 1},
    {"pthread_mutex_trylock, fails", 0, mutex_trylock_fails, 0, 1},
    {"pthread_mutex_timedlock, fails", 0, mutex_timedlock_fails, 0, 1},
    {"pthread_mutex_lock, again (recursive)", mutex_relock, mutex_relock, mutex_unrelock, 1},
    {"pthread_mutex_unlock, not the last (recursive)", mutex_relock, mutex_unrelock, 0, 1},
    {"pthread_mutex_lock, EDEADLK", checked_lock, mutex_relock_error, checked_unlock, 1},
    {"pthread_mutex_unlock, EPERM", 0, mutex_unlock_error, 0, 1},
    {"pthread_mutex_init", 0, mutex_init, 0, 1},
    {"pthread_mutex_destroy", mutex_init, mutex_destroy, 0, 1},
    {"pthread_spin_lock", 0, spin_lock, spin_unlock, 1},
    {"pthread_spin_unlock", spin_lock, spin_unlock, 0, 1},
    {"pthread_spin_trylock, fails", 0, spin_trylock_fails, 0, 1},
    {"pthread_rwlock_rdlock", 0, rdlock, rwlock_unlock, 1},
    {"pthread_rwlock_wrlock", 0, wrlock, rwlock_unlock, 1},
    {"pthread_rwlock_unlock, of a reader", rdlock, rwlock_unlock, 0, 1},
    {"pthread_rwlock_unlock, of a writer", wrlock, rwlock_unlock, 0, 1},
    {"pthread_rwlock_tryrdlock", 0, tryrdlock, rwlock_unlock, 1},
    {"pthread_rwlock_tryrdlock, fails", 0, tryrdlock_fails, 0, 1},
    {"pthread_rwlock_trywrlock, fails", 0, trywrlock_fails, 0, 1},
    {"pthread_rwlock_timedrdlock, fails", 0, timedrdlock_fails, 0, 1},
    {"pthread_rwlock_timedwrlock, fails", 0, timedwrlock_fails, 0, 1},
    {"pthread_rwlock_wrlock, EDEADLK", wrlock, wrlock_wrlock, rwlock_unlock, 1},
    {"pthread_cond_signal, nobody waits", 0, cond_signal, 0, 1},
    {"pthread_cond_broadcast, nobody waits", 0, cond_broadcast, 0, 1},
    {"pthread_cond_timedwait", mutex_lock, cond_timedwait, mutex_unlock, 1},
    {"pthread_cond_init", 0, cond_init, 0, 1},
    {"sem_post", 0, sem_post_call, sem_wait_call, 1},
    {"sem_wait", sem_post_call, sem_wait_call, 0, 1},
    {"sem_trywait, fails", 0, sem_trywait_fails, 0, 1},
    {"sem_timedwait, fails", 0, sem_timedwait_fails, 0, 1},
    {"sem_getvalue", 0, sem_value, 0, 1},
    {"pthread_once, is done", 0, once_done, 0, 1},
    {"pthread_once, runs", once_forget, once_new, 0, 1},
    {"pthread_barrier_wait, of one", 0, barrier_wait, 0, 1},
    {"pthread_create, pthread_detach", 0, create_detached, 0, 200},
    {"pthread_join, has ended", start_ended, join, 0, 2000},
    {"pthread_tryjoin_np, fails", 0, tryjoin_fails, 0, 1},
    {"pthread_getspecific", 0, getspecific, 0, 1},
    {"pthread_setspecific", 0, setspecific, 0, 1},
    {"pthread_self", 0, self, 0, 1},
    {"sched_yield", 0, yield, 0, 4},
    {"futex wake, nobody waits", 0, futex_wake, 0, 4},
    {"futex wait, another value", 0, futex_wait_fails, 0, 4},
    {"getppid by syscall", 0, a_syscall, 0, 4},
};
enum { COUNT = sizeof calls / sizeof *calls };

static void on_processor(int number) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void meet(int arrivals) {
    atomic_fetch_add(&gate, 1);
    for (int spins = 0; atomic_load(&gate) < arrivals; spins++)
        if (spins > 2000) sched_yield();
}

static atomic_int over;

static void *other(void *argument) {
    on_processor(1);
    for (int round = 0;; round++) {
        meet(4 * round + 2);
        if (over) return argument;
        for (volatile int wait = 0; wait < round % 16; wait++) {
        }
        atomic_store_explicit(&y, 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
        seen[1] = atomic_load_explicit(&x, memory_order_relaxed);
        meet(4 * round + 4);
        atomic_exchange(&y, 0);
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// How often both threads miss the other's store; a busy machine ends it before its time.
static long stress(const struct call *call, int *round) {
    long both = 0;
    pthread_t thread;
    const double end = seconds() + 1.5;
    atomic_store(&gate, 0);
    over = 0;
    pthread_create(&thread, 0, other, 0);
    for (*round = 0; *round < rounds / call->share && seconds() < end; ++*round) {
        if (call->prepare != 0) call->prepare();
        meet(4 * *round + 2);
        for (volatile int wait = 0; wait < *round / 16 % 16; wait++) {
        }
        atomic_store_explicit(&x, 1, memory_order_relaxed);
        call->call();
        seen[0] = atomic_load_explicit(&y, memory_order_relaxed);
        meet(4 * *round + 4);
        both += seen[0] == 0 && seen[1] == 0;
        if (call->after != 0) call->after();
        atomic_exchange(&x, 0);
    }
    over = 1;
    meet(4 * *round + 2);
    pthread_join(thread, 0);
    return both;
}

static void *hold(void *unused) {
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&write_held);
    return unused;
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atoi(arguments[1]) : 200000;
    on_processor(0);
    pthread_t holder;
    pthread_create(&holder, 0, hold, 0);
    pthread_join(holder, 0);
    pthread_create(&sleeper, 0, sleep_for_ever, 0);
    pthread_spin_init(&spin, 0);
    pthread_spin_init(&spin_held, 0);
    pthread_spin_lock(&spin_held);
    pthread_rwlock_rdlock(&read_held);
    sem_init(&empty, 0, 0);
    sem_init(&full, 0, 1);
    pthread_once(&done, nothing);
    pthread_barrier_init(&barrier, 0, 1);
    pthread_key_create(&key, 0);
    for (int i = 0; i < COUNT; i++) {
        if (count > 2 && strstr(calls[i].name, arguments[2]) == 0) continue;
        int done;
        const long both = stress(&calls[i], &done);
        printf("%s\t%d\t%ld\n", calls[i].name, done, both);
        fflush(stdout);
    }
    return 0;
}
