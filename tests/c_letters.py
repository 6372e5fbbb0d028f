"""A C program whose threads do what its arguments say."""

from __future__ import annotations

INTERPRETER = r"""
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
pthread_mutex_t m; pthread_cond_t c; sem_t s, s2; pthread_rwlock_t l; pthread_barrier_t b; pthread_once_t o;
volatile int x; int word;
int taken;
static void first(void) { x = 2; }
static int word_now(void) { return __atomic_load_n(&word, __ATOMIC_RELAXED); }
static void run(unsigned long letters) {  // by value: nobody else can see it
  for (; letters; letters >>= 8) switch (letters & 255) {
    case 'M': pthread_mutex_lock(&m); pthread_mutex_unlock(&m); break;
    case 'T': if (!pthread_mutex_trylock(&m)) pthread_mutex_unlock(&m); break;
    case 'C': pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); break;
    case 'D': {  // its limit is its own: to read it is no event, of which every interleaving would be counted
      struct timespec never = {0, 0};
      pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &never); pthread_mutex_unlock(&m); break;
    }
    case 'S': pthread_cond_signal(&c); break;
    case 's': pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m); break;
    case 'B': pthread_cond_broadcast(&c); break;
    case 'P': sem_wait(&s); break;
    case 'V': sem_post(&s); break;
    case 'Q': sem_wait(&s2); break;
    case 'U': sem_post(&s2); break;
    case 'p': sem_trywait(&s); break;
    case 'g': { int v; sem_getvalue(&s, &v); break; }
    case 'r': pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); break;
    case 'w': pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); break;
    case 'R': if (!pthread_rwlock_tryrdlock(&l)) pthread_rwlock_unlock(&l); break;
    case 'W': if (!pthread_rwlock_trywrlock(&l)) pthread_rwlock_unlock(&l); break;
    case 'f': syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0); break;
    case 'F': syscall(SYS_futex, &word, FUTEX_WAKE, 1); break;
    case 'a': __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST); break;  // between two fences
    case 'j': __atomic_store_n(&word, 1, __ATOMIC_RELAXED); break;
    case 'b': pthread_barrier_wait(&b); break;
    case 'o': pthread_once(&o, first); break;
    case '(': pthread_rwlock_rdlock(&l); break;
    case '[': pthread_rwlock_wrlock(&l); break;
    case ')': case ']': pthread_rwlock_unlock(&l); break;
    case '{': pthread_mutex_lock(&m); break;
    case '?': if (pthread_mutex_trylock(&m)) return; break;
    case '}': pthread_mutex_unlock(&m); break;
    case 'l': { int r = x; break; }
    case 'k': x = 1; break;
    case 'u': while (!x) {} break;
    case 'v': while (!x && !word_now()) {} break;
    case 'h': while (!__sync_bool_compare_and_swap(&taken, 0, 1)) {}
      __atomic_store_n(&taken, 0, __ATOMIC_RELEASE); break;
    case 'e': exit(0);
  }
}
static void *thread(void *letters) { run((unsigned long)letters); return 0; }
int main(int n, char **given) {
  unsigned long a[12];
  pthread_t t[8];
  for (int i = 1; i < n; i++) {
    if (strlen(given[i]) > sizeof a[i]) abort();
    a[i] = 0;
    memcpy(&a[i], given[i], strlen(given[i]));
  }
  sem_init(&s, 0, atoi(given[1])); pthread_barrier_init(&b, 0, 2);
  for (int i = 3; i < n; i++) pthread_create(&t[i - 3], 0, thread, (void *)a[i]);
  run(a[2]);
  for (int i = 3; i < n; i++) pthread_join(t[i - 3], 0);
}
"""
"""Each argument but the first is what one thread does, a letter an operation."""

ACCESSES = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define LOAD(a) atomic_load_explicit(&a, memory_order_relaxed)
#define STORE(a, v) atomic_store_explicit(&a, v, memory_order_relaxed)
#define R memory_order_relaxed
#define CAS(a, e, v) atomic_compare_exchange_strong_explicit(&a, &e, v, R, R)
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static sem_t s;
static atomic_int x, y, z, f, g, n;
static void run(unsigned long letters) {
  for (; letters; letters >>= 8) switch (letters & 255) {
    case 'x': (void)LOAD(x); break;   case 'X': STORE(x, 1); break;
    case 'y': (void)LOAD(y); break;   case 'Y': STORE(y, 1); break;
    case 'z': (void)LOAD(z); break;   case 'Z': STORE(z, 1); break;
    case 'i': STORE(x, LOAD(x) + 1); break;
    case 'f': while (!LOAD(f)) {} break; case 'F': STORE(f, 1); break;
    case 'g': while (!LOAD(g) && !LOAD(f)) {} break; case 'G': STORE(g, 1); break;
    case 'q': if (LOAD(y)) return; break;
    case 'a': atomic_fetch_add_explicit(&n, 1, memory_order_relaxed); break;
    case 'c': { int e = 0; CAS(n, e, 1); break; }
    case 'C': { int e = 1; if (!CAS(x, e, 2)) return; break; }
    case 'h': while (atomic_exchange_explicit(&n, 1, memory_order_relaxed)) {} break;
    case 'H': STORE(n, 0); break;
    case 'm': pthread_mutex_lock(&m); break; case 'M': pthread_mutex_unlock(&m); break;
    case 't': if (!pthread_mutex_trylock(&m)) pthread_mutex_unlock(&m); break;
    case 'p': sem_wait(&s); break;    case 'V': sem_post(&s); break;  case 'P': sem_trywait(&s); break;
    case 'b': atomic_thread_fence(memory_order_seq_cst); break;
    case 'B': atomic_thread_fence(memory_order_release); break;
    case 'A': atomic_thread_fence(memory_order_acquire); break;
    case 'e': if (LOAD(x)) exit(0); break;
    case 'n': for (int i = 0; i < 3 && !LOAD(f); i++) {} break;
  }
}
static void *thread(void *letters) { run((unsigned long)letters); return 0; }
int main(int c, char **given) {
  unsigned long a[8]; pthread_t t[8];
  sem_init(&s, 0, 0);
  for (int i = 1; i < c; i++) { a[i] = 0; memcpy(&a[i], given[i], strlen(given[i])); }
  for (int i = 1; i < c; i++) pthread_create(&t[i], 0, thread, (void *)a[i]);
  for (int i = 1; i < c; i++) pthread_join(t[i], 0);
}
"""
"""The same with relaxed accesses to variables beside locks and semaphores; main only creates and joins."""
