"""What a person reads: every operation of threads on each other by its own name, in stories, replays and complaints."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from teetotal.answers.options import CheckOptions
from teetotal.answers.violation import Violation
from teetotal.checking import check
from teetotal.engines.runtime.replaying import replay
from teetotal.programs.c.build import Source

HEAD = """#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
pthread_mutex_t m; pthread_cond_t c; sem_t s; pthread_rwlock_t l; pthread_barrier_t b; pthread_once_t o;
pthread_spinlock_t p; struct timespec never; volatile int x; int word, *block;
void first(void) { }
"""
ALONE = (
    HEAD
    + """void *f(void *q) { return 0; }
int main(void) {
  pthread_t t;
  pthread_barrier_init(&b, 0, 1); sem_init(&s, 0, 1); block = malloc(4);
  pthread_create(&t, 0, f, 0);
  CODE
  pthread_join(t, 0);
  assert(0);
}
"""
)


def violations(
    tmp_path: Path, text: str, *flags: str, options: CheckOptions = CheckOptions(models=("tso",))
) -> list[Violation]:
    file = tmp_path / "program.c"
    file.write_text(text)
    return check(Source((str(file),), flags), options).violations


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", ["lock m", "unlock m"]),
        ("pthread_spin_lock(&p); pthread_spin_unlock(&p);", ["lock p", "sfence", "unlock p"]),
        (
            "pthread_mutex_trylock(&m); pthread_mutex_trylock(&m);",
            ["try to lock m, which succeeds", "try to lock m, which fails"],
        ),
        (
            "pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &never);",
            [
                "lock m", "ld never.tv_sec → 0", "ld never.tv_nsec → 0", "wait on c", "unlock m",
                "give up waiting on c", "lock m",
            ],
        ),
        ("pthread_cond_signal(&c); pthread_cond_broadcast(&c);", ["signal c", "broadcast c"]),
        ("sem_wait(&s); sem_post(&s);", ["take s: 1 → 0", "post s: 0 → 1"]),
        ("sem_trywait(&s); sem_trywait(&s);", ["try to take s, which succeeds", "try to take s, which fails"]),
        ("int v; sem_getvalue(&s, &v);", ["look at s: 1"]),
        ("pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l);", ["lock l to read", "unlock l"]),
        ("pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l);", ["lock l to write", "unlock l"]),
        (
            "pthread_rwlock_tryrdlock(&l); pthread_rwlock_trywrlock(&l);",
            ["try to lock l to read, which succeeds", "try to lock l to write, which fails"],
        ),
        ("pthread_barrier_wait(&b);", ["arrive at b", "leave b"]),
        ("pthread_once(&o, first);", ["enter once o", "sfence", "leave once o"]),
        ("__VERIFIER_atomic_begin(); __VERIFIER_atomic_end();", ["enter an atomic section", "leave the atomic section"]),
        (
            "word = 1; syscall(SYS_futex, &word, FUTEX_WAKE, 1);",
            ["st word = 1", "fence", "enter word's futex", "signal word's queue", "leave word's futex"],
        ),
        ("int r = *block; free(block);", ["ld block → ", "ld heap[4]", "ld block → ", "free heap[4]"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", ["sc", "tso"])
def test_each_operation_has_its_name(tmp_path: Path, code: str, words: list[str], model: str) -> None:
    options = CheckOptions(models=("tso",), goal="safe" if model == "tso" else "robust")
    found = [v for v in violations(tmp_path, ALONE.replace("CODE", code), options=options) if v.model == model]
    told = [event.text for event in found[0].events if event.thread == 0]
    assert [told[0], *told[-1:]] == ["create thread 1", "join thread 1"]
    inside = [text for text in told[1:-1] if text != "ld l → 0"]
    assert len(inside) == len(words), inside
    assert all(text.startswith(wanted) for text, wanted in zip(inside, words, strict=True)), inside


WAITING = (
    HEAD
    + """
void *f(void *q) { FIRST; return 0; }
void *g(void *q) { SECOND; return 0; }
int main(void) {
  pthread_t t, u;
  sem_init(&s, 0, 0); pthread_barrier_init(&b, 0, 2);
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""
)


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ("pthread_mutex_lock(&m)", "pthread_mutex_lock(&m)", "T2 to lock m"),
        ("pthread_mutex_lock(&m); pthread_cond_wait(&c, &m)", "", "T1 to be woken on c"),
        ("sem_wait(&s)", "", "T1 to take s"),
        ("pthread_barrier_wait(&b)", "", "T1 for others at b"),
        ("pthread_rwlock_rdlock(&l)", "pthread_rwlock_wrlock(&l)", "T2 to lock l to write"),
        ("while (!x) ;", "", "T1 spinning on x"),
    ],
)
def test_what_each_thread_waits_for(tmp_path: Path, first: str, second: str, waits: str) -> None:
    found = violations(tmp_path, WAITING, f"-DFIRST={first}", f"-DSECOND={second}")
    code = "void *f(" if waits.startswith("T1") else "void *g("
    line = 1 + next(number for number, text in enumerate(WAITING.splitlines()) if text.startswith(code))
    assert any(f"{waits} ({tmp_path}/program.c:{line})" in violation.message for violation in found), found
    assert any("T0 to join thread " in violation.message for violation in found)


def test_a_thread_begins_at_its_first_line_and_the_replay_says_the_same(tmp_path: Path) -> None:
    text = """#include <pthread.h>
pthread_mutex_t a, b;
void *f(void *q) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); return 0; }
void *g(void *q) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""
    found = next(v for v in violations(tmp_path, text) if "T1 to lock b" in v.message and "T2 to lock a" in v.message)
    begun = [(event.thread, event.location.line) for event in found.events if event.words == "begin" and event.location]
    assert begun == [(1, 3), (2, 4)]
    token = shlex.split(found.replay)[2]
    again = replay(token, Source((str(tmp_path / "program.c"),)))
    assert again is not None
    assert [event.text for event in again.events] == [event.text for event in found.events]


LIMITED = {
    "pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, LIMIT);": "wait on c",
    "sem_wait(&s); sem_timedwait(&s, LIMIT);": "try to take s",
    "mtx_lock(&held); mtx_timedlock(&held, LIMIT);": "try to lock held",
    "mtx_lock(&held); cnd_timedwait(&condition, &held, LIMIT);": "wait on condition",
}


@pytest.mark.parametrize("code", LIMITED)
def test_a_limit_is_read_and_is_an_event_only_where_others_can_see_it(tmp_path: Path, code: str) -> None:
    """One on the own stack, where most of them are, was taken for shared with others."""
    text = ALONE.replace("void *f", "#include <threads.h>\nmtx_t held; cnd_t condition;\nvoid *f", 1)
    for limit, reads in (("&never", 2), ("&own", 0)):
        inside = "struct timespec own = {0, 0}; " + code.replace("LIMIT", limit)
        found = violations(tmp_path, text.replace("CODE", inside), options=CheckOptions(models=("tso",)))
        told = [event.text for event in found[0].events if event.thread == 0]
        assert any(word.startswith(LIMITED[code]) for word in told), told
        assert [word for word in told if "tv_" in word] == [
            "ld never.tv_sec → 0", "ld never.tv_nsec → 0"
        ][:reads]  # fmt: skip


def test_every_word_of_a_story_names_addresses_and_numbers_what_is_none(tmp_path: Path) -> None:
    """Once a mutex held ``lock m``, the write that a load had seen stood there by its address, and -1 as 2^64 - 1."""
    text = """#include <pthread.h>
int x, y, *volatile p, *volatile q, *r, *s; long volatile n; pthread_mutex_t m;
void *f(void *z) { p = &x; pthread_mutex_lock(&m); n = -1; pthread_mutex_unlock(&m); p = &y; r = q; return 0; }
void *g(void *z) { q = &y; pthread_mutex_lock(&m); n = -1; pthread_mutex_unlock(&m); q = &x; s = p; return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0);
}
"""
    found = violations(tmp_path, text)
    assert any("saw T1's st p = &x, which T1's st p = &y overwrites" in edge.because for v in found for edge in v.cycle)
    assert any(event.text == "st n = -1" for v in found for event in v.events)
    held = [step.memory for v in found for step in (*v.steps, *(v.sequential.steps if v.sequential else ()))]
    assert {memory["m"] for memory in held if "m" in memory} == {"0", "1"}
    assert {memory["n"] for memory in held if "n" in memory} == {"-1"}
    assert {memory["p"] for memory in held if "p" in memory} == {"&x", "&y"}
    assert {v.initial["p"] for v in found} == {"0"}
