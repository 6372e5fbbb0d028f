"""Programs whose beginning or end is the point, from the first constructor to the last destructor; and what must be said of
each. For test_c_endings.py."""

from __future__ import annotations

from typing import NamedTuple

from teetotal.answers.verdict import Verdict

HEAD = """
#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
int on_exit(void (*)(int, void *), void *);
int x, y, a, b, n;
pthread_t t, u;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *left(void *p) { x = 1; a = y; return 0; }
static void right(void) { y = 1; b = x; }
"""
CXX_HEAD = """
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <pthread.h>
#include <string>
#include <thread>
int x, y, a, b;
std::atomic<int> live;
static void left() { x = 1; a = y; }
struct Right { ~Right() { y = 1; b = x; } };
struct Counted { int n; Counted(int m) : n(m) { live++; } ~Counted() { live--; if (n == 1) assert(live == 0); } };
"""


class Case(NamedTuple):
    text: str
    verdict: Verdict
    says: str = ""
    """Somewhere among the messages and notes."""


SAFE, VIOLATION, INCONCLUSIVE = Verdict.SAFE, Verdict.VIOLATION, Verdict.INCONCLUSIVE
BUFFERING = "overtakes"

C = {
    # -- store buffering between a thread and what runs before or after main
    "atexit": Case("int main(void) { atexit(right); pthread_create(&t, 0, left, 0); }", VIOLATION, BUFFERING),
    "atexit, fenced": Case(
        """static void *fenced(void *p) { x = 1; atomic_thread_fence(memory_order_seq_cst); a = y; return 0; }
        static void end(void) { y = 1; atomic_thread_fence(memory_order_seq_cst); b = x; }
        int main(void) { atexit(end); pthread_create(&t, 0, fenced, 0); }""",
        SAFE,
    ),
    "on_exit": Case(
        """static void end(int status, void *p) { assert(status == 5 && p == &n); right(); }
        int main(void) { on_exit(end, &n); pthread_create(&t, 0, left, 0); exit(5); }""",
        VIOLATION,
        BUFFERING,
    ),
    "quick_exit": Case(
        """static void never(void) { assert(0); }
        int main(void) { atexit(never); at_quick_exit(right); pthread_create(&t, 0, left, 0); quick_exit(0); }""",
        VIOLATION,
        BUFFERING,
    ),
    "destructor": Case(
        """__attribute__((destructor)) void end(void) { right(); }
        int main(void) { pthread_create(&t, 0, left, 0); }""",
        VIOLATION,
        BUFFERING,
    ),
    "constructor": Case(
        """__attribute__((constructor)) void begin(void) { pthread_create(&t, 0, left, 0); right(); }
        int main(void) { pthread_join(t, 0); }""",
        VIOLATION,
        BUFFERING,
    ),
    "key destructor": Case(
        """static pthread_key_t key;
        static void end(void *p) { right(); }
        static void *f(void *p) { pthread_setspecific(key, &n); return 0; }
        int main(void) {
          pthread_key_create(&key, end);
          pthread_create(&t, 0, f, 0); pthread_create(&u, 0, left, 0);
          pthread_join(t, 0); pthread_join(u, 0);
        }""",
        VIOLATION,
        BUFFERING,
    ),
    "key destructor of main": Case(
        """static pthread_key_t key;
        static void end(void *p) { right(); }
        int main(void) {
          pthread_key_create(&key, end); pthread_setspecific(key, &n);
          pthread_create(&t, 0, left, 0);
          pthread_exit(0);
        }""",
        VIOLATION,
        BUFFERING,
    ),
    "no key destructor of a main that returns": Case(
        """static void end(void *p) { assert(0); }
        int main(void) { pthread_key_t key; pthread_key_create(&key, end); pthread_setspecific(key, &n); }""",
        SAFE,
    ),
    # -- order
    "order": Case(
        """__attribute__((constructor(102))) void c2(int count, char **given, char **environment) {
          assert(n == 1 && count == 1 && given[0] && !given[1] && !environment[0]); n = 2;
        }
        __attribute__((constructor(101))) void c1(void) { assert(n == 0); n = 1; }
        __attribute__((constructor)) void c3(void) { assert(n == 2); n = 3; }
        __attribute__((destructor(101))) void d1(void) { assert(n == 8); n = 9; assert(x == 0); }
        __attribute__((destructor)) void d2(void) { assert(n == 7); n = 8; }
        static void late(void) { assert(n == 5); n = 6; }
        static void first(void) { assert(n == 6); n = 7; }
        static void second(void) { assert(n == 4); n = 5; atexit(late); }
        int main(void) { assert(n == 3); n = 4; atexit(first); atexit(second); return 3; }""",
        SAFE,
        "an execution ends with exit status 3",
    ),
    "the last destructor is reached": Case(
        "__attribute__((destructor)) void end(void) { assert(0); } int main(void) { }", VIOLATION, "assertion 0 fails"
    ),
    "exit from a handler": Case(
        """static void first(void) { n++; assert(n == 2); assert(!"reached"); }
        static void second(void) { n++; exit(1); }
        int main(void) { atexit(first); atexit(second); }""",
        VIOLATION,
        "reached",
    ),
    "exit from a thread": Case(
        """static void end(void) { assert(!"reached"); }
        static void *f(void *p) { exit(0); }
        int main(void) { atexit(end); pthread_create(&t, 0, f, 0); for (;;) pthread_mutex_lock(&m); }""",
        VIOLATION,
        "reached",
    ),
    "exit by two threads": Case(
        """static void end(void) { n++; assert(n == 1); }
        static void *f(void *p) { exit(0); }
        int main(void) { atexit(end); pthread_create(&t, 0, f, 0); exit(0); }""",
        SAFE,
        "which C leaves undefined",
    ),
    "a handler that a destructor registers": Case(
        """static void late(void) { assert(!"reached"); }
        __attribute__((destructor)) void end(void) { atexit(late); }
        int main(void) { }""",
        VIOLATION,
        "reached",
    ),
    "destructors run once though two threads exit": Case(
        """__attribute__((destructor)) void end(void) { n++; assert(n == 1); }
        static void *f(void *p) { exit(0); }
        int main(void) { pthread_create(&t, 0, f, 0); exit(0); }""",
        SAFE,
        "which C leaves undefined",
    ),
    "nobody joins a thread that exits": Case(
        """static void *f(void *p) { exit(0); }
        int main(void) { pthread_create(&t, 0, f, 0); pthread_join(t, 0); assert(!"reached"); }""",
        SAFE,
    ),
    "exit waits for nobody": Case(
        """static void *f(void *p) { pthread_mutex_lock(&m); return 0; }
        int main(void) { pthread_mutex_lock(&m); pthread_create(&t, 0, f, 0); }""",
        SAFE,
    ),
    "deadlock in a handler": Case(
        """static void end(void) { pthread_join(t, 0); }
        static void *f(void *p) { pthread_mutex_lock(&m); return 0; }
        int main(void) { pthread_mutex_lock(&m); pthread_create(&t, 0, f, 0); atexit(end); }""",
        VIOLATION,
        "waits for ever",
    ),
    "handlers registered by two threads": Case(
        """static void one(void) { n = n * 10 + 1; }
        static void two(void) { n = n * 10 + 2; }
        static void *f(void *p) { atexit(one); return 0; }
        __attribute__((destructor)) void end(void) { assert(n != 12); }
        int main(void) { pthread_create(&t, 0, f, 0); atexit(two); pthread_join(t, 0); }""",
        VIOLATION,
        "n != 12",
    ),
    "the last thread exits": Case(
        """static int done[2];
        static void *f(void *p) { done[(long)p] = 1; return 0; }
        static void end(void) { assert(done[0] && done[1]); n = 1; }
        __attribute__((destructor)) void last(void) { assert(n == 1); assert(pthread_self() == t); }
        int main(void) {
          atexit(end); pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, (void *)1); pthread_exit(0);
        }""",
        VIOLATION,
        "pthread_self() == t",
    ),
    "a thread that outlives main goes on": Case(
        """static void end(void) { while (!atomic_load((atomic_int *)&x)) { } }
        static void *f(void *p) { atomic_store((atomic_int *)&x, 1); return 0; }
        int main(void) { atexit(end); pthread_create(&t, 0, f, 0); }""",
        SAFE,
    ),
    # -- ends without handlers
    "_exit": Case(
        "static void end(void) { assert(0); } int main(void) { atexit(end); _exit(3); }", SAFE, "exit status 3"
    ),
    "_Exit": Case("static void end(void) { assert(0); } int main(void) { atexit(end); _Exit(0); }", SAFE),
    "exit_group": Case(
        "static void end(void) { assert(0); } int main(void) { atexit(end); syscall(SYS_exit_group, 4); }",
        SAFE,
        "exit status 4",
    ),
    "abort": Case("static void end(void) { n = 1; } int main(void) { atexit(end); abort(); }", VIOLATION, "aborts"),
    # -- what constructors leave is there anew in every execution
    "memory of constructors": Case(
        """static int *counter;
        __attribute__((constructor)) void begin(void) { counter = malloc(sizeof *counter); *counter = 0; }
        static void *f(void *p) { pthread_mutex_lock(&m); ++*counter; pthread_mutex_unlock(&m); return 0; }
        int main(void) {
          pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0);
          assert(*counter == 2); free(counter);
        }""",
        SAFE,
    ),
    "ifunc": Case(
        """static int one(void) { return 1; }
        static int (*choose(void))(void) { return one; }
        int chosen(void) __attribute__((ifunc("choose")));
        int main(void) { assert(chosen() == 1); }""",
        SAFE,
    ),
    # -- chance, time, and the machine
    "environment": Case(
        """extern char **environ;
        static void *f(void *p) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return 0; }
        int main(void) {
          assert(!environ[0] && !getenv("HOME") && !getenv("NAME"));
          setenv("NAME", "value", 1); assert(!strcmp(getenv("NAME"), "value"));
          pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0);
        }""",
        SAFE,
    ),
    "chance": Case(
        """static long drawn(void) {
          unsigned short state[3] = {1, 2, 3}; char bytes[8]; long sum = 0;
          assert(getrandom(bytes, 8, 0) == 8);
          for (int i = 0; i < 8; i++) sum += bytes[i];
          assert(getentropy(bytes, 8) == 0); assert(drand48() < 1 && erand48(state) >= 0);
          return sum + rand() + random() + lrand48() + mrand48() + nrand48(state) + bytes[0];
        }
        static long value;
        static void *f(void *p) { value = drawn(); pthread_mutex_lock(&m); n += value; pthread_mutex_unlock(&m); return 0; }
        int main(void) { pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);
          pthread_join(t, 0);
        }""",
        INCONCLUSIVE,
        "one sequence of them is explored",
    ),
    "the machine": Case(
        """static void *f(void *p) {
          struct utsname name; struct rusage used; uname(&name); getrusage(RUSAGE_SELF, &used);
          pthread_mutex_lock(&m);
          n += getpid() + syscall(SYS_gettid) + getppid();
          n += (int)sysconf(_SC_NPROCESSORS_ONLN) + name.release[0] + (int)clock();
          pthread_mutex_unlock(&m); return 0;
        }
        int main(void) {
          pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0);
          assert(get_nprocs() == 2 && getpid() == syscall(SYS_getpid));
        }""",
        INCONCLUSIVE,
        "it is told 2",
    ),
    "what would last": Case(
        """static void *f(void *p) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return 0; }
        int main(void) {
          static char here[4096];
          assert(getcwd(here, sizeof here) && strcmp(here, "/") && umask(077) != 077);
          assert(!strcmp(setlocale(LC_ALL, 0), "C")); setlocale(LC_CTYPE, "C.UTF-8"); chdir("/");
          pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0);
        }""",
        INCONCLUSIVE,
        "getcwd of libc.so.6",
    ),
    "limits": Case(
        "int main(void) { struct rlimit l = {0}; setrlimit(RLIMIT_CPU, &l); }",
        INCONCLUSIVE,
        "setrlimit, which is not done",
    ),
    # -- signals
    "raise": Case(
        """static void count(int s) { n++; raise(s); n++; }
        static void more(int s, siginfo_t *info, void *p) { assert(info->si_signo == SIGUSR2); n += 10; }
        int main(void) {
          struct sigaction action = {0}; action.sa_sigaction = more; action.sa_flags = SA_SIGINFO;
          assert(signal(SIGINT, SIG_IGN) == SIG_DFL && signal(SIGINT, SIG_DFL) == SIG_IGN);
          sigaction(SIGUSR2, &action, 0); raise(SIGUSR2); assert(n == 10);
          raise(SIGUSR2); pthread_kill(pthread_self(), SIGUSR2); assert(n == 30); raise(SIGCHLD);
          signal(SIGUSR1, SIG_IGN); raise(SIGUSR1); assert(n == 30);
          sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR2);
          pthread_sigmask(SIG_BLOCK, &set, 0); raise(SIGUSR2); assert(n == 30);
          pthread_sigmask(SIG_UNBLOCK, &set, 0); assert(n == 40);
        }""",
        SAFE,
    ),
    "a signal to oneself by number": Case(
        """static void count(int s) { n++; }
        int main(void) { signal(SIGUSR2, count); kill(getpid(), SIGUSR2); assert(n == 1); }""",
        INCONCLUSIVE,
        "getpid",
    ),
    "a jump out of a handler": Case(
        """static sigjmp_buf place;
        static void jump(int s) { n++; siglongjmp(place, 1); }
        int main(void) {
          signal(SIGFPE, jump);
          for (int i = 0; i < 3; i++) if (!sigsetjmp(place, 1)) raise(SIGFPE);
          assert(n == 3);
        }""",
        SAFE,
    ),
    "buffering in a handler": Case(
        """static void handle(int s) { right(); }
        int main(void) { signal(SIGUSR1, handle); pthread_create(&t, 0, left, 0); raise(SIGUSR1); pthread_join(t, 0); }""",
        VIOLATION,
        BUFFERING,
    ),
    "a fault is a crash": Case("int main(void) { *(volatile int *)0 = 1; }", VIOLATION, "invalid access"),
    "a fault that is handled is not followed": Case(
        """static void handle(int s) { _exit(0); }
        int main(void) { signal(SIGSEGV, handle); *(volatile int *)0 = 1; }""",
        INCONCLUSIVE,
        "a handler for its own fault (invalid access at address 0)",
    ),
    "ended by a signal": Case("int main(void) { raise(SIGTERM); }", VIOLATION, "is ended by SIGTERM"),
    "abort with a handler": Case(
        """static void handle(int s) { _exit(0); }
        int main(void) { signal(SIGABRT, handle); abort(); }""",
        SAFE,
    ),
    "alarm": Case("int main(void) { alarm(3); }", INCONCLUSIVE, "alarm (a signal that may come at any time)"),
    "kill another": Case("int main(void) { kill(1, 0); }", INCONCLUSIVE, "kill to another process"),
    "sigwait": Case("int main(void) { sigset_t s; sigemptyset(&s); int r; sigwait(&s, &r); }", INCONCLUSIVE, "sigwait"),
}
CXX = {
    "static object": Case("Right object; int main() { std::thread(left).detach(); }", VIOLATION, BUFFERING),
    "thread_local destructor": Case(
        """thread_local Right object; void use() { (void)&object; }
        int main() { std::thread t(use), u(left); t.join(); u.join(); }""",
        VIOLATION,
        BUFFERING,
    ),
    "objects of all kinds": Case(
        """Counted first(1); std::string text("a string that is too long to lie in the object itself");
        thread_local Counted own(3);
        Counted &get() { static Counted shared(2); return shared; }
        int main() {
          std::thread t([] { assert(get().n == 2); own.n = 4; });
          get(); own.n = 5; t.join(); std::cout << text << std::endl; assert(live == 3);
        }""",
        SAFE,
    ),
    "terminate": Case(
        """void end() { assert(!"terminated"); }
        int main() { std::set_terminate(end); throw 1; }""",
        VIOLATION,
        "terminated",
    ),
}
