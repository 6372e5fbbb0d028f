"""One execution per class: counts known from theory, from other tools, and from trying every interleaving."""

from __future__ import annotations

import pytest

from c_programs import COMPILERS, compiled, explore

THREADS = """
#include <pthread.h>
#include <stdatomic.h>
#define RUN(n, f) int main(void) { pthread_t t[n]; \\
  for (long i = 0; i < n; i++) pthread_create(&t[i], 0, f, (void *)i); \\
  for (int i = 0; i < n; i++) pthread_join(t[i], 0); }
"""

RING = (
    THREADS
    + """
volatile int x[N];
void *f(void *p) { long i = (long)p; x[i] = 1; int r = x[(i + 1) % N]; return 0; }
RUN(N, f)
"""
)
LOAD_STORE = (
    THREADS
    + """
volatile int x;
void *f(void *p) { for (int i = 0; i < K; i++) { int r = x; x = i; } return 0; }
RUN(2, f)
"""
)
ADD = (
    THREADS
    + """
atomic_int x;
void *f(void *p) { x++; return 0; }
RUN(N, f)
"""
)
PHILOSOPHERS = (
    THREADS
    + """
pthread_mutex_t m[4];
void *f(void *p) {
  long i = (long)p;
  pthread_mutex_lock(&m[i]); pthread_mutex_lock(&m[(i + 1) % 4]);
  pthread_mutex_unlock(&m[(i + 1) % 4]); pthread_mutex_unlock(&m[i]);
  return 0;
}
RUN(4, f)
"""
)
PRODUCER_CONSUMER = (
    THREADS
    + """
pthread_mutex_t m; int items;
void *f(void *p) {
  pthread_mutex_lock(&m);
  if ((long)p < 2) items++; else if (items) items--;
  pthread_mutex_unlock(&m);
  return 0;
}
RUN(4, f)
"""
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("text", "flags", "executions", "blocked"),
    [
        (RING, "-DN=2", 3, 0),
        (RING, "-DN=8", 255, 0),
        (RING, "-DN=12", 4095, 0),
        (LOAD_STORE, "-DK=3", 328, 0),
        (LOAD_STORE, "-DK=4", 3334, 0),
        (LOAD_STORE, "-DK=5", 34904, 0),
        (ADD, "-DN=5", 120, 0),
        (ADD, "-DN=7", 5040, 0),
        (PHILOSOPHERS, "-DN", 15, 1),
        (PRODUCER_CONSUMER, "-DN", 24, 0),
    ],
)
def test_known_counts(text: str, flags: str, executions: int, blocked: int, compiler: str) -> None:
    with compiled(text, flags=[flags], compiler=compiler) as program:
        end, _ = explore(program, "monitor=exact-tso", "monitor=exact-pso")
    assert (end["executions"], end["blocked"], end["redundant"]) == (executions, blocked, 0)
    assert end["complete"]


@pytest.mark.parametrize(("threads", "executions"), [(2, 4), (8, 256)])
def test_a_ring_under_tso_has_one_more(threads: int, executions: int) -> None:
    """All loads may come first, which SC forbids."""
    with compiled(RING, flags=[f"-DN={threads}"]) as program:
        assert explore(program, "model=tso")[0]["executions"] == executions


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_a_load_of_more_than_its_own_store_comes_before_or_after_others(model: str) -> None:
    """Wherever its own store is committed: two orders of the commits, and in each the load before or after the other's."""
    text = """
union { volatile char byte; volatile int word; } u;
void *f(void *p) { if (p) { u.byte = 1; int r = u.word; } else u.word = 2; return 0; }
RUN(2, f)
"""
    with compiled(THREADS + text) as program:
        end, _ = explore(program, f"model={model}", "classes=1")
    assert (end["complete"], end["executions"], end["classes"]) == (True, 4, 4)


SMALL = {
    "lost signal": """
        pthread_mutex_t m; pthread_cond_t c; volatile int q;
        void *f(void *p) {
          if (p) { q = 1; pthread_cond_signal(&c); return 0; }
          pthread_mutex_lock(&m); while (!q) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return 0;
        }
        RUN(2, f)""",
    "limited wait": """
        pthread_mutex_t m; pthread_cond_t c; volatile int q; struct timespec never;
        void *f(void *p) {
          pthread_mutex_lock(&m);
          if (p) { q = 1; pthread_cond_signal(&c); } else if (!q) pthread_cond_timedwait(&c, &m, &never);
          pthread_mutex_unlock(&m); return 0;
        }
        RUN(2, f)""",
    "trylock": """
        pthread_mutex_t m; volatile int x;
        void *f(void *p) {
          if (p) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); }
          else if (!pthread_mutex_trylock(&m)) { x++; pthread_mutex_unlock(&m); }
          return 0;
        }
        RUN(2, f)""",
    "two trylocks": """
        pthread_mutex_t m; volatile int x;
        void *f(void *p) { for (int i = 0; i < 2; i++) if (!pthread_mutex_trylock(&m)) pthread_mutex_unlock(&m); return 0; }
        RUN(2, f)""",
    "readers and a writer": """
        pthread_rwlock_t l; volatile int x;
        void *f(void *p) {
          if (p) { pthread_rwlock_wrlock(&l); x = 1; } else { pthread_rwlock_rdlock(&l); int r = x; }
          pthread_rwlock_unlock(&l); return 0;
        }
        RUN(2, f)""",
    "barrier": """
        pthread_barrier_t b; volatile int x[2];
        void *f(void *p) { long i = (long)p; x[i] = 1; pthread_barrier_wait(&b); int r = x[1 - i]; return 0; }
        int main(void) { pthread_t t[2]; pthread_barrier_init(&b, 0, 2);
          for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
          for (int i = 0; i < 2; i++) pthread_join(t[i], 0); }""",
    "semaphore of two": """
        #include <semaphore.h>
        sem_t s; volatile int x;
        void *f(void *p) { sem_wait(&s); x++; sem_post(&s); return 0; }
        int main(void) { pthread_t t[2]; sem_init(&s, 0, 2);
          for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
          for (int i = 0; i < 2; i++) pthread_join(t[i], 0); }""",
    "once": """
        pthread_once_t o; volatile int x;
        void init(void) { x++; }
        void *f(void *p) { pthread_once(&o, init); int r = x; return 0; }
        RUN(2, f)""",
    "compare and swap": """
        atomic_int x;
        void *f(void *p) { int old = x; atomic_compare_exchange_strong(&x, &old, old + 1); return 0; }
        RUN(2, f)""",
    "one that would succeed before": """
        atomic_int x;
        void *f(void *p) {
          int none = 0, one = 1;
          if (p == 0) { x = 1; return 0; }
          if (p != (void *)1) { int r = x; r = x; return 0; }
          atomic_compare_exchange_strong(&x, &none, 2);
          atomic_compare_exchange_strong(&x, &one, 3);
          return 0;
        }
        RUN(3, f)""",
    "a thread of a thread": """
        volatile int x;
        void *g(void *p) { int r = x; x = 1; return 0; }
        void *f(void *p) { pthread_t t; pthread_create(&t, 0, g, 0); int r = x; pthread_join(t, 0); return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); int r = x; x = 2; pthread_join(t, 0); r = x; }""",
    "a copy": """
        #include <string.h>
        struct { int a, b; } from, to;
        void *f(void *p) { if (p) { from.a = 1; from.b = 1; } else memcpy(&to, &from, sizeof to); return 0; }
        RUN(2, f)""",
    "use after free": """
        #include <stdlib.h>
        volatile int *p;
        void *f(void *q) { if (q) free((void *)p); else { int r = p[0]; } return 0; }
        int main(void) { pthread_t t[2]; p = malloc(8);
          for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);
          for (int i = 0; i < 2; i++) pthread_join(t[i], 0); }""",
}


@pytest.mark.parametrize("name", SMALL)
def test_every_class_of_interleavings_once(name: str) -> None:
    with compiled(THREADS + SMALL[name]) as program:
        reduced, _ = explore(program, "classes=1")
        every, _ = explore(program, "strategy=interleavings", "classes=1")
    assert every["complete"]
    assert reduced["complete"]
    assert reduced["executions"] == reduced["classes"] == every["classes"]
    assert reduced["redundant"] == 0
