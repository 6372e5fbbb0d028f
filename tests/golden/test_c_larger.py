"""Programs as people write them: a pool of threads, and what C++ offers beyond mutexes."""

from __future__ import annotations

import pytest

from c_programs import COMPILERS, compiled, explore

POOL = """#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
typedef struct job { void (*run)(void *); void *arg; struct job *next; } job;
typedef struct { pthread_mutex_t m; pthread_cond_t work, idle; job *first, *last; int busy, stop; pthread_t t[2]; } pool;
static void *worker(void *q) {
  pool *p = q;
  for (;;) {
    pthread_mutex_lock(&p->m);
    while (!p->first && !p->stop) pthread_cond_wait(&p->work, &p->m);
    if (!p->first) { pthread_mutex_unlock(&p->m); return 0; }
    job *j = p->first;
    p->first = j->next;
    if (!p->first) p->last = 0;
    p->busy++;
    pthread_mutex_unlock(&p->m);
    j->run(j->arg);
    free(j);
    pthread_mutex_lock(&p->m);
    if (--p->busy == 0 && !p->first) pthread_cond_broadcast(&p->idle);
    pthread_mutex_unlock(&p->m);
  }
}
static void submit(pool *p, void (*run)(void *), void *arg) {
  job *j = malloc(sizeof *j);
  *j = (job){run, arg, 0};
  pthread_mutex_lock(&p->m);
  if (p->last) p->last->next = j; else p->first = j;
  p->last = j;
  pthread_cond_signal(&p->work);
  pthread_mutex_unlock(&p->m);
}
static void drain(pool *p) {
  pthread_mutex_lock(&p->m);
  WAIT (p->busy || p->first) pthread_cond_wait(&p->idle, &p->m);
  pthread_mutex_unlock(&p->m);
}
static int done[2];
static void mark(void *p) { (*(int *)p)++; }
int main(int n, char **v) {
  static pool p;
  int workers = atoi(v[1]), jobs = atoi(v[2]);
  for (int i = 0; i < workers; i++) pthread_create(&p.t[i], 0, worker, &p);
  for (int i = 0; i < jobs; i++) submit(&p, mark, &done[i]);
  drain(&p);
  for (int i = 0; i < jobs; i++) assert(done[i] == 1);
  pthread_mutex_lock(&p.m);
  p.stop = 1;
  pthread_cond_broadcast(&p.work);
  pthread_mutex_unlock(&p.m);
  for (int i = 0; i < workers; i++) pthread_join(p.t[i], 0);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_pool_of_threads(compiler: str) -> None:
    with compiled(POOL, flags=["-DWAIT=while"], compiler=compiler) as program:
        for arguments, executions in ((["1", "1"], 18), (["1", "2"], 105), (["2", "1"], 1128)):
            end, told = explore(program, "monitor=exact-tso", "monitor=exact-pso", arguments=arguments)
            assert (end["executions"], end["blocked"], end["redundant"]) == (executions, 0, 0), arguments
            assert end["complete"]
            assert not [answer for answer in told if answer["type"] in ("failure", "violation")]


CPP = r"""
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
std::shared_mutex s; int a, b, x[2], alive; bool ready;
std::mutex m; std::condition_variable changed;
std::atomic<bool> flag; std::atomic<long> big;
std::counting_semaphore<2> counting(0); std::latch both(2); std::binary_semaphore binary(0); std::barrier<> barrier(2);
struct Counted {
  int v = 1;
  Counted() { std::lock_guard<std::mutex> l(m); alive++; }
  ~Counted() { std::lock_guard<std::mutex> l(m); alive--; }
};
thread_local Counted counted;
int main(int, char **v) {
  switch (v[1][0]) {
  case 'r': {  // readers, one of which only tries, and a writer
    std::thread w([] { std::unique_lock<std::shared_mutex> l(s); a++; b++; });
    std::thread r([] { std::shared_lock<std::shared_mutex> l(s); assert(a == b); });
    std::thread t([] { std::shared_lock<std::shared_mutex> l(s, std::try_to_lock); if (l) assert(a == b); });
    w.join(); r.join(); t.join();
    break;
  }
  case 'w': {
    std::thread t([] { flag.store(true); flag.notify_all(); });
    flag.wait(false);
    assert(flag);
    t.join();
    break;
  }
  case 'W': {  // notified before it is so
    std::thread t([] { flag.notify_all(); flag.store(true); });
    flag.wait(false);
    t.join();
    break;
  }
  case 'l': {
    std::thread t([] { big = 5; big.notify_one(); });
    big.wait(0);
    assert(big == 5);
    t.join();
    break;
  }
  case 's': {
    std::thread t([] { counting.release(); binary.acquire(); });
    counting.acquire(); binary.release();
    t.join();
    break;
  }
  case 'L': {
    std::thread t([] { x[0] = 1; both.count_down(); });
    both.arrive_and_wait();
    assert(x[0] == 1);
    t.join();
    break;
  }
  case 'b': {
    std::thread t([] { x[0] = 1; barrier.arrive_and_wait(); assert(x[1] == 1); });
    x[1] = 1; barrier.arrive_and_wait(); assert(x[0] == 1);
    t.join();
    break;
  }
  case 't': {
    std::thread t([] { counted.v++; assert(counted.v == 2); }), u([] { counted.v += 2; assert(counted.v == 3); });
    t.join(); u.join();
    assert(alive == 0);
    break;
  }
  case 'e': {
    std::promise<int> p;
    auto f = p.get_future();
    std::thread t([&] {
      try { throw std::runtime_error("boo"); } catch (...) { p.set_exception(std::current_exception()); }
    });
    bool caught = false;
    try { f.get(); } catch (std::runtime_error &) { caught = true; }
    t.join();
    assert(caught);
    break;
  }
  case 'u': {
    std::thread t([] { throw std::runtime_error("boo"); });
    t.join();
    break;
  }
  case 'a': {
    auto f = std::async(std::launch::async, [] { return 5; });
    assert(f.get() == 5);
    break;
  }
  case 'c': {  // the time is over when the wait is
    std::thread t([] { std::lock_guard<std::mutex> l(m); ready = true; changed.notify_one(); });
    {
      std::unique_lock<std::mutex> l(m);
      bool seen = changed.wait_for(l, std::chrono::seconds(5), [] { return ready; });
      assert(seen == ready);
    }
    t.join();
    break;
  }
  case 'd': {  // a deadline that sleeping brings nearer
    std::thread t([] { flag = true; });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    while (!flag && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::seconds(1));
    t.join();
    break;
  }
  }
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_cpp_offers(compiler: str) -> None:
    failing = {"W": "deadlock", "u": "abort"}
    with compiled(CPP, suffix=".cc", flags=["-std=c++20"], compiler=compiler) as program:
        for case in "rwWlsLbteuacd":
            end, told = explore(program, "monitor=exact-tso", arguments=[case])
            assert end["type"] == "end", (case, end)
            assert end["complete"], (case, end)
            failed = {answer["what"] for answer in told if answer["type"] == "failure"}
            assert failed == ({failing[case]} if case in failing else set()), case
