"""What threads synchronise on: counts against every interleaving on random programs, and who may be woken by whom."""

from __future__ import annotations

import itertools
import random
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from amounts import some
from c_letters import INTERPRETER
from c_programs import compiled, explore
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime.replaying import replay
from teetotal.programs.c.build import Source


def programs(letters: str, count: int) -> Iterator[list[str]]:
    """The semaphore's first value, and what main and the other threads do."""
    chance = random.Random(f"{letters}")
    for _ in range(count):
        threads = chance.choice([2, 3, 3])
        most = 2 if threads == 3 else 3
        code = ["".join(chance.choices(letters, k=chance.randint(1, most))) for _ in range(threads)]
        yield [str(chance.randint(0, 1)), *code]


@pytest.mark.parametrize(
    "letters",
    ["PPVpg", "CSsB", "CDS", "fFj", "MTCS", "rwl", "rwRW", "rRk", "bk", "oMl", "PVCSMl", "ukl", "vjk", "ekl", "eMhu"],
)
def test_every_class_of_interleavings_once(letters: str) -> None:
    compared = 0
    with compiled(INTERPRETER) as program:
        for arguments in programs(letters, 14):
            reduced, _ = explore(program, "classes=1", arguments=arguments)
            brute = ("strategy=interleavings", "spinners=stop", "classes=1", f"executions={some(20_000, least=5_000)}")
            every, _ = explore(program, *brute, arguments=arguments)
            assert reduced["complete"], arguments
            assert reduced["redundant"] == 0, arguments
            assert reduced["executions"] == reduced["classes"] >= every["classes"], arguments
            if every["complete"]:
                assert every["classes"] == reduced["executions"], arguments
                compared += 1
    assert compared >= 3


JOINING = r"""
#include <pthread.h>
volatile int x;
static void *idle(void *p) { return p; }
static pthread_t t;
static void *does(void *what) {
  pthread_t whom = t;
  for (const char *c = what; *c; c++) switch (*c) {
    case 'j': pthread_join(whom, 0); break;
    case 'd': pthread_detach(whom); break;
    case 'k': x = 1; break;
  }
  return 0;
}
int main(int n, char **given) {
  pthread_t u;
  pthread_create(&t, 0, idle, 0);
  for (int i = 1; i < n; i++) pthread_create(&u, 0, does, given[i]);
  pthread_exit(0);
}
"""


@pytest.mark.parametrize(("code", "executions"), [("j j", 2), ("j d", 4), ("d d", 12), ("kj j", 2), ("kj jk", 3)])
def test_threads_that_several_join_or_detach(code: str, executions: int) -> None:
    """Whoever comes second does something wrong, whoever that is, and whatever each did just before. To detach a thread
    that others join or detach is a step among its beginning, its end and theirs."""
    with compiled(JOINING) as program:
        end, told = explore(program, "classes=1", arguments=code.split())
    assert end["executions"] == end["classes"] == executions
    assert {answer["what"] for answer in told if answer["type"] == "failure"} == {"misuse"}


@pytest.mark.parametrize("code", ["kj jk", "kj d"])
def test_who_joins_a_thread_in_vain_is_told_under_each_model(code: str, tmp_path: Path) -> None:
    """To the machine of ``models/`` a thread is a mutex, which nobody can lock again: that was an internal error."""
    file = tmp_path / "joining.c"
    file.write_text(JOINING)
    answer = check(Source((str(file),), arguments=tuple(code.split())), CheckOptions(goal="safe"))
    for model in ("sc", "tso", "pso"):
        assert {violation.kind for violation in answer.models[model].violations} == {"misuse"}


def test_tries_that_fail_are_in_no_order() -> None:
    """They change nothing: whoever fails first, it is one execution."""
    text = (
        "#include <pthread.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "void *f(void *p) { return pthread_mutex_trylock(&m) ? p : 0; }\n"
        "int main(void) { pthread_t t[2]; pthread_mutex_lock(&m);\n"
        "  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, f, (void *)i);\n"
        "  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);\n  pthread_mutex_unlock(&m); }\n"
    )
    with compiled(text) as program:
        end, _ = explore(program)
    assert (end["complete"], end["executions"]) == (True, 1)


@pytest.mark.parametrize(
    ("pieces", "sizes"),
    [
        (["P", "V", "p", "g"], (4, 5, 6)),
        (["C", "S", "s", "B"], (4, 4)),
        (["M", "T", "?l}", "?", "l"], (4, 4, 5)),
        (["(l)", "(k)", "[]", "(P)", "(V)", "(VP)", "l"], (3, 4, 4)),
        (["r", "w", "R", "W"], (3, 3)),
        (["P", "V", "C", "S", "{k}", "l"], (4, 4, 5)),
        (["f", "F", "j"], (4, 5)),
        (["l", "k"], (5, 5, 6)),
    ],
    ids=str,
)
def test_as_many_executions_in_whatever_order_the_threads_are_created(
    pieces: list[str], sizes: tuple[int, ...]
) -> None:
    """Main may do what any of them does: it creates the others first and joins them last."""
    chance = random.Random(f"crowds of {pieces}")
    with compiled(INTERPRETER) as program:
        for threads in sizes:
            code = ["".join(chance.choices(pieces, k=2 if threads <= 4 else 1)) for _ in range(threads)]
            posted = str(chance.randint(0, 2))
            counts = set()
            for order in (code, code[::-1], chance.sample(code, threads)):
                end, _ = explore(program, arguments=[posted, *order])
                assert end["complete"]
                assert end["redundant"] == 0
                counts.add(end["executions"])
            assert len(counts) == 1, (posted, code)


@pytest.mark.parametrize(
    ("code", "executions"),
    [
        # A writer was let in while another reader, who had seen what the first one wrote, still held the lock.
        (["(k)", "(l)", "[]"], 6),
        # Readers that need each other to leave: a writer comes before both or after both.
        (["(PU)", "(VQ)", "[]"], 2),
        # Somebody who only tried has the mutex for good; a lock was let in before another's vain try.
        (["?", "?", "{}"], 7),
        # Who reads cannot write as well: it waits for itself, and overtakes no reader.
        (["([", "(l)", "(k)"], 2),
    ],
)
def test_locks_that_are_held_together(code: list[str], executions: int) -> None:
    with compiled(INTERPRETER) as program:
        for order in itertools.permutations(code):
            reduced, _ = explore(program, "classes=1", arguments=["0", *order])
            every, _ = explore(program, "strategy=interleavings", "classes=1", arguments=["0", *order])
            assert every["complete"]
            assert reduced["executions"] == every["classes"] == executions, order


def test_a_semaphore_of_one_is_a_mutex() -> None:
    """Whoever posts lets the other go on, but the other could have come first: one order was missed once."""
    with compiled(INTERPRETER) as program:
        for arguments, executions in ((["1", "PV", "PV"], 2), (["1", "PV", "PV", "PV"], 6)):
            end, _ = explore(program, arguments=arguments)
            assert (end["executions"], end["blocked"], end["complete"]) == (executions, 0, True)


def test_a_wait_races_with_each_look_before_it() -> None:
    """A post, two looks at the value, each before the post, after it, or after the wait: one order was missed once."""
    with compiled(INTERPRETER) as program:
        arguments = ["0", "V", "g", "g", "P"]
        end, _ = explore(program, "classes=1", arguments=arguments)
        every, _ = explore(program, "strategy=interleavings", "classes=1", arguments=arguments)
        assert end["executions"] == every["classes"] == 9


CONDITIONS = """#include <assert.h>
#include <pthread.h>
void __VERIFIER_assume(int);
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int waiting, woken, signals;
#define LOCKED(...) do { pthread_mutex_lock(&m); __VA_ARGS__; pthread_mutex_unlock(&m); } while (0)
#define WAIT(id) LOCKED(waiting |= id; pthread_cond_wait(&c, &m); if (!woken) woken = id)
#define RUN(...) int main(void) { void *(*code[])(void *) = {__VA_ARGS__}; enum { N = sizeof code / sizeof *code }; \\
  pthread_t t[N]; for (int i = 0; i < N; i++) pthread_create(&t[i], 0, code[i], 0); \\
  for (int i = 0; i < N; i++) pthread_join(t[i], 0); END }
#ifndef END
#define END
#endif
void *one(void *p) { WAIT(1); return 0; }
void *two(void *p) { WAIT(2); return 0; }
"""


def run(tmp_path: Path, text: str, *flags: str, options: CheckOptions = CheckOptions(models=("tso",))) -> CheckAnswer:
    file = tmp_path / "program.c"
    file.write_text(CONDITIONS + text)
    return check(Source((str(file),), flags), options)


@pytest.mark.parametrize("first", [1, 2])
def test_a_signal_may_wake_any_who_waits(tmp_path: Path, first: int) -> None:
    text = """void *waker(void *p) {
      LOCKED(__VERIFIER_assume(waiting == 3); pthread_cond_signal(&c));
      LOCKED(__VERIFIER_assume(woken); pthread_cond_signal(&c));
      return 0;
    }
    RUN(one, two, waker)"""
    result = run(tmp_path, text, f"-DEND=assert(woken != {first});")
    assert [violation.kind for violation in result.models["sc"].violations] == ["assertion"]


def test_a_signal_wakes_nobody_who_comes_later(tmp_path: Path) -> None:
    """Each of two signals has one whom it can wake: nobody is left, whoever goes on first."""
    text = """
    void *late(void *p) { LOCKED(__VERIFIER_assume(signals == 1); waiting |= 2; pthread_cond_wait(&c, &m)); return 0; }
    void *waker(void *p) {
      LOCKED(__VERIFIER_assume(waiting == 1); signals++; pthread_cond_signal(&c));
      LOCKED(__VERIFIER_assume(waiting == 3); signals++; pthread_cond_signal(&c));
      return 0;
    }
    RUN(one, late, waker)"""
    result = run(tmp_path, text, "-DEND=assert(signals == 2);")
    assert (result.verdict, result.complete) == (Verdict.SAFE, True)


def test_a_signal_too_few_is_a_deadlock(tmp_path: Path) -> None:
    text = """void *waker(void *p) { LOCKED(__VERIFIER_assume(waiting == 3); pthread_cond_signal(&c)); return 0; }
    RUN(one, two, waker)"""
    found = run(tmp_path, text).models["sc"].violations
    assert [violation.kind for violation in found] == ["deadlock", "deadlock"]  # either may be left


def test_a_broadcast_wakes_all_who_wait(tmp_path: Path) -> None:
    text = """void *waker(void *p) { LOCKED(__VERIFIER_assume(waiting == 3); pthread_cond_broadcast(&c)); return 0; }
    RUN(one, two, waker)"""
    assert run(tmp_path, text).verdict is Verdict.SAFE


def test_arguments_of_main_can_be_read_while_threads_run() -> None:
    text = """#include <pthread.h>
volatile int x; void *f(void *p) { x = **(char **)p; return 0; }
int main(int n, char **v) { pthread_t t; pthread_create(&t, 0, f, v); v[0][0] = v[1][0]; pthread_join(t, 0); return 0; }
"""
    with compiled(text) as program:
        end, _ = explore(program, arguments=["a"])
    assert (end["executions"], end["complete"]) == (2, True)


def test_wake_ups_for_no_reason_on_demand(tmp_path: Path) -> None:
    """Waiting without a loop is right only where nobody wakes up for no reason; a deadlock is not hidden by them."""
    text = """int ready;
    void *user(void *p) { LOCKED(TEST (!ready) pthread_cond_wait(&c, &m); assert(ready)); return 0; }
    void *maker(void *p) { LOCKED(ready = 1; WAKE); return 0; }
    RUN(user, maker)"""
    signal, spurious = "-DWAKE=pthread_cond_signal(&c)", CheckOptions(models=("tso",), spurious=1)
    assert run(tmp_path, text, "-DTEST=if", signal).verdict is Verdict.SAFE
    (found,) = run(tmp_path, text, "-DTEST=if", signal, options=spurious).violations
    assert "ready fails" in found.message
    assert "wake up on c for no reason" in [event.text for event in found.events]
    again = replay(
        shlex.split(found.replay)[2], Source((str(tmp_path / "program.c"),), ("-DTEST=if", signal)), spurious=1
    )
    assert again is not None
    assert "assertion" in again.message
    assert "--spurious 1" in found.replay
    assert run(tmp_path, text, "-DTEST=while", signal, options=spurious).verdict is Verdict.SAFE
    lost = run(tmp_path, text, "-DTEST=if", "-DWAKE=", options=spurious)
    assert {violation.kind for violation in lost.violations} == {"deadlock", "assertion"}


def test_who_unlocks_what_others_read_is_told_in_every_order(tmp_path: Path) -> None:
    """It was taken for the end of another's reading, where there was one, and told only where there was none."""
    text = """pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    void *reader(void *p) { pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); return 0; }
    void *thief(void *p) { pthread_rwlock_unlock(&l); return 0; }
    RUN(ORDER)"""
    for order in ("reader, thief", "thief, reader"):
        (found,) = run(tmp_path, text, f"-DORDER={order}").violations
        assert (found.kind, "unlocks a lock that it does not hold" in found.message) == ("misuse", True)


MISTAKEN = {
    "a futex says how many it woke": (
        "assert(syscall(SYS_futex, &word, FUTEX_WAKE, 1) != 1); word = 1; syscall(SYS_futex, &word, FUTEX_WAKE, 1);",
        "syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0);",
        Verdict.VIOLATION,
    ),
    "a futex that wakes by bits": (
        "word = 1; syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, 0, 0, 2);",
        "syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, 0, 0, 1);",
        Verdict.INCONCLUSIVE,
    ),
    "readers that wait for waiting writers": (
        "pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l);",
        "for (int i = 0; i < 2; i++) pthread_rwlock_rdlock(&l);",
        Verdict.INCONCLUSIVE,
    ),
    "a mutex is destroyed while it is held": (
        "assert(!pthread_mutex_destroy(&m));",
        "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
        Verdict.VIOLATION,
    ),
}


@pytest.mark.parametrize("name", MISTAKEN)
def test_what_was_called_safe(tmp_path: Path, name: str) -> None:
    one, other, verdict = MISTAKEN[name]
    file = tmp_path / "program.c"
    file.write_text(
        "#define _GNU_SOURCE\n#include <assert.h>\n#include <linux/futex.h>\n#include <pthread.h>\n"
        "#include <stdatomic.h>\n#include <sys/syscall.h>\n#include <unistd.h>\natomic_int word; pthread_mutex_t m;\n"
        "pthread_rwlock_t l = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;\n"
        f"static void *f(void *p) {{ {other} return 0; }}\n"
        f"int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); {one} pthread_join(t, 0); }}\n"
    )
    assert check(Source((str(file),)), CheckOptions()).verdict is verdict


def test_a_failed_trylock_that_writes_is_no_place_for_a_lock() -> None:
    text = """#include <pthread.h>
    pthread_mutex_t m;
    static void *f(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
    static void *g(void *p) { if (!pthread_mutex_trylock(&m)) pthread_mutex_unlock(&m); return 0; }
    int main(void) {
      pthread_t t[3];
      pthread_create(t, 0, f, 0); pthread_create(t + 1, 0, g, 0); pthread_create(t + 2, 0, f, 0);
      for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    }"""
    with compiled(text) as program:
        end, _ = explore(program, "strategy=all", "classes=1", "failed-cas=write")
    assert end["complete"]
    assert end["executions"] == end["classes"] == 10


COMMUTE = """
#include <pthread.h>
#include <semaphore.h>
static pthread_mutex_t m, n;
static pthread_rwlock_t l;
static sem_t s;
static void *thread(void *which) { THREAD; return 0; }
int main(void) {
  pthread_t t[3];
  sem_init(&s, 0, 0); pthread_rwlock_init(&l, 0);
  BEFORE;
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, thread, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
"""


@pytest.mark.parametrize(
    ("thread", "before", "executions"),
    [
        ("", "", 1),
        ("pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l)", "", 1),
        ("pthread_rwlock_tryrdlock(&l)", "pthread_rwlock_wrlock(&l)", 1),
        ("pthread_mutex_trylock(&m)", "pthread_mutex_lock(&m)", 1),
        ("sem_trywait(&s)", "", 1),
        ("int v; sem_getvalue(&s, &v)", "", 1),
        # What one thread does to a mutex is nothing to another one's.
        ("if (which == 0) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } "
         "if ((long)which == 1) { pthread_mutex_lock(&n); pthread_mutex_unlock(&n); } "
         "if ((long)which == 2) sem_post(&s)", "", 1),
        # Posts lead to the same state in any order, but their order is part of the trace: see the next test.
        ("sem_post(&s)", "", 6),
        ("sem_wait(&s)", "sem_post(&s); sem_post(&s); sem_post(&s)", 6),
    ],
)  # fmt: skip
def test_what_commutes(thread: str, before: str, executions: int) -> None:
    with compiled(COMMUTE.replace("THREAD", thread).replace("BEFORE", before)) as program:
        reduced, _ = explore(program, "classes=1")
        every, _ = explore(program, "strategy=interleavings", "classes=1", f"executions={some(20_000, least=5_000)}")
    assert (reduced["complete"], reduced["redundant"]) == (True, 0)
    assert reduced["executions"] == reduced["classes"] == executions
    assert not every["complete"] or every["classes"] == executions


def test_the_order_of_posts_decides_robustness(tmp_path: Path) -> None:
    """Where the first post is b's, TSO lets both loads see nothing, which SC does not; were posts independent, it would."""
    path = tmp_path / "posts.c"
    path.write_text(
        """#include <pthread.h>
#include <semaphore.h>
volatile int x, y; sem_t s;
void *a(void *p) { x = 1; int r = y; return 0; }
void *b(void *p) { y = 1; sem_post(&s); return 0; }
void *c(void *p) { sem_post(&s); int r = x; return 0; }
int main(void) {
  pthread_t t[3]; void *(*run[3])(void *) = {a, b, c};
  sem_init(&s, 0, 0);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, run[i], 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
"""
    )
    answer = check(Source((str(path),)))
    assert answer.models["tso"].robust is False
