"""``check`` on C programs that go wrong, or of which not everything can be known: what it says about them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from c_checks import HEAD, run
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime import driver as runtime
from teetotal.engines.runtime.findings import Findings
from teetotal.engines.runtime.messages import AnyMessage, End, Restart
from teetotal.programs.c import build
from teetotal.programs.c.build import Source
from teetotal.programs.c.compilers import CompileError

WALK = """struct node { int key; struct node *next; } a, b; struct node *volatile head;
void *f(void *q) { b.key = 1; head = &a; return 0; }
void *g(void *q) { struct node *d = head; if (d) while (d->key < 3) d = d->next; return 0; }
int main(void) { a.next = &b; b.next = (struct node *)LAST; pthread_t t, u; pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0); pthread_join(t, 0); pthread_join(u, 0); }
"""
FAILING = {
    "assertion": ("int x; void *f(void *p) { int r = x; x = r + 1; return 0; } RUN(f, f)", "-DEND=assert(x == 2);"),
    "crash": ("int *p, v; void *f(void *q) { p = &v; return 0; } void *g(void *q) { *p = 1; return 0; } RUN(f, g)", ""),
    "use after free": (
        "int *p; void *f(void *q) { free(p); return 0; } void *g(void *q) { *p = 1; return 0; }"
        "int main(void) { p = malloc(4); pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);"
        "pthread_join(t, 0); pthread_join(u, 0); }", "",
    ),
    "heap overflow": ("int *p; void *f(void *q) { p = malloc(4); p[400] = 1; return 0; } RUN(f, f)", ""),
    "misuse": ("pthread_mutex_t m; void *f(void *q) { pthread_mutex_unlock(&m); return 0; } RUN(f, f)", ""),
    "abort": (
        "volatile int x; void *f(void *q) { x = 1; return 0; }"
        "void *g(void *q) { if (x) abort(); return 0; } RUN(f, g)", "",
    ),
    "deadlock": (
        "pthread_mutex_t a, b; void *f(void *q) { pthread_mutex_lock(&a); pthread_mutex_lock(&b);"
        "pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); return 0; }"
        "void *g(void *q) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a);"
        "pthread_mutex_unlock(&b); return 0; } RUN(f, g)", "",
    ),
    "livelock": (
        "volatile int x; void *f(void *q) { while (x != 5) ; return 0; }"
        "void *g(void *q) { x = 3; return 0; } RUN(f, g)", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILING)
def test_what_goes_wrong_under_sc(tmp_path: Path, kind: str) -> None:
    text, end = FAILING[kind]
    result = run(tmp_path, HEAD + text, flags=(end,) if end else ())
    found = result.models["sc"].violations
    assert {violation.kind for violation in found} == {kind}
    assert result.verdict is Verdict.VIOLATION
    assert result.models["sc"].safe is False
    assert found[0].replay.startswith("teetotal replay 1s:")


BLOCKS = """#include <stdlib.h>
#include <string.h>
int main(int n, char **given) {
  char *p = malloc(13), *none = malloc(0), *full = malloc(32); long *l = malloc(12); int at = atoi(given[2]);
  switch (atoi(given[1])) {
    case 0: p[at] = 1; break;
    case 1: none[at] = 1; break;
    case 2: full[at] = 1; break;
    case 3: l[at] = 1; break;
    case 4: memset(p, 0, at); break;
    case 5: p = realloc(p, 20); p[at] = 1; break;
    case 6: p = aligned_alloc(64, 70); p[at] = 1; break;
  }
}
"""


@pytest.mark.parametrize(
    ("where", "last"),
    list(enumerate((12, -1, 31, 0, 13, 19, 69))),
    ids=("char", "nothing", "whole", "long", "memset", "realloc", "aligned"),
)
def test_a_block_ends_at_its_last_byte(where: int, last: int, tmp_path: Path) -> None:
    """Up to 15 bytes behind it were taken for its own."""
    if last >= 0:
        assert run(tmp_path, BLOCKS, arguments=(str(where), str(last))).verdict is Verdict.SAFE
    result = run(tmp_path, BLOCKS, arguments=(str(where), str(last + 1)))
    assert [violation.kind for violation in result.violations] == ["heap overflow"]


NOT_ALLOCATED = {
    "a local variable": "q = realloc(l, 200)",
    "a static variable": "q = realloc(s, 200)",
    "a thread-local variable": "q = realloc(t, 200)",
    "a constant": 'q = realloc((char *)"abc", 200)',
    "the middle of a block": "q = realloc(p + 4, 200)",
    "behind a block": "{ void *m; posix_memalign(&m, 64, 10); q = realloc((char *)m + 64, 400); }",
    "a variable of the C library": "q = realloc(stdout, 200)",
    "freeing one": "free(stdout)",
    "to nothing": "q = realloc(l, 0)",
    "an array": "q = reallocarray(l, 4, 10)",
}
RESIZING = """#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
static char s[64]; static _Thread_local char t[64]; void *volatile q;
int main(void) { char l[64], *p = malloc(16); l[0] = p != 0; WHAT; return l[0] == 2; }
"""
HIDDEN_FROM_COMPILERS = ("-fno-builtin", "-w")


@pytest.mark.parametrize("compiler", [None, "clang"])
@pytest.mark.parametrize("what", NOT_ALLOCATED)
def test_resizing_what_was_not_allocated(tmp_path: Path, what: str, compiler: str | None) -> None:
    """The C library got it, and took the explorer down with it."""
    if compiler is not None and not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    result = run(
        tmp_path, RESIZING.replace("WHAT", NOT_ALLOCATED[what]), compiler=compiler, flags=HIDDEN_FROM_COMPILERS
    )
    assert [violation.kind for violation in result.violations] == ["misuse"]
    assert "T0 frees what was not allocated" in result.violations[0].message


def test_resizing_what_was_freed(tmp_path: Path) -> None:
    for what in ("q = realloc(p, 200)", "q = realloc(p, 0)", "q = reallocarray(p, 4, 10)"):
        result = run(tmp_path, RESIZING.replace("WHAT", f"free(p); {what}"), flags=HIDDEN_FROM_COMPILERS)
        assert [violation.kind for violation in result.violations] == ["use after free"]


def test_resizing_as_the_c_library_does(tmp_path: Path) -> None:
    """`reallocarray` was the C library's, which knows nothing of our heap, and memory resized to nothing was kept."""
    text = """#define _GNU_SOURCE
    #include <assert.h>
    #include <stdlib.h>
    int main(void) {
      char *p = reallocarray(0, 4, 10); p[39] = 7; p = reallocarray(p, 4, 20); assert(p[39] == 7); p[79] = 1;
      assert(!reallocarray(p, (size_t)1 << 40, (size_t)1 << 40)); p[79] = 2; assert(!realloc(p, 0)); }
    """
    assert run(tmp_path, text, flags=HIDDEN_FROM_COMPILERS).verdict is Verdict.SAFE


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "int f(int n) { volatile char b[9000]; b[0] = n; return f(n + 1) + b[0]; } int main(void) { return f(0); }",
            "stack overflow",
        ),
        ("volatile int z; int main(void) { return 10 / z; }", "arithmetic error"),
        ("int main(void) { return *(volatile int *)8; }", "invalid access at address 0x8"),
        ("int main(void) { return *(volatile int *)(1UL << 60); }", "at an address that no program can have"),
    ],
)  # fmt: skip
def test_a_program_without_threads_that_crashes(tmp_path: Path, text: str, what: str) -> None:
    result = run(tmp_path, text)
    assert [violation.kind for violation in result.violations] == ["crash"]
    assert what in result.violations[0].message


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("#include <unistd.h>\nint main(void) { fork(); return 0; }", "the program uses fork"),
        (
            HEAD + "volatile int n; void *f(void *p) { for (;;) n = n + 1; } RUN(f, f)",
            "cut after 3 rounds, where T1 read n = 2",
        ),
        (
            HEAD + 'volatile int x; void *f(void *p) { asm volatile("rdtsc" ::: "rax", "rdx"); return 0; } RUN(f, f)',
            "inline assembly",
        ),
    ],
    ids=["fork", "endless", "assembly"],
)  # fmt: skip
def test_what_cannot_be_decided_is_said(tmp_path: Path, text: str, note: str) -> None:
    result = run(tmp_path, text, options=CheckOptions(loop_bound=3))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert not result.complete
    assert any(note in told for told in result.notes), result.notes


def test_the_clock_stands_still_but_for_those_who_look(tmp_path: Path) -> None:
    text = HEAD + "#include <time.h>\nvolatile long x; void *f(void *p) { x = time(0) + clock(); return 0; } RUN(f, f)"
    result = run(tmp_path, text)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("reads the clock" in note for note in result.notes)
    assert any("what the clock shows, by time at" in note for note in result.notes)


def test_a_loop_that_looks_at_the_clock_does_not_wait(tmp_path: Path) -> None:
    """Nothing changes from round to round but the time: who takes that for waiting says that it never ends."""
    loop = "#include <time.h>\nvolatile int x; void *f(void *p) { while (clock() < 9) (void)x; return 0; }"
    result = run(tmp_path, HEAD + loop + "void *g(void *p) { x = 1; return 0; } RUN(f, g)")
    assert result.verdict is Verdict.INCONCLUSIVE
    assert not result.blocked


def test_what_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"program\.c:1"):
        run(tmp_path, "int main( { }")


def test_what_was_told_before_a_restart_is_forgotten(tmp_path: Path) -> None:
    """The runtime begins again where it learns that a stack is shared, and tells everything anew."""
    text = HEAD + "volatile int x; void *f(void *p) { assert(!x); x = 1; return 0; } RUN(f, f)"
    found = run(tmp_path, text).models["sc"].violations
    findings = Findings(Source(("program.c",)), CheckOptions(), None, "sc")  # type: ignore[arg-type]
    findings.violations["sc"] += found
    findings.notes.append("something")
    findings.undecided = True
    findings.take(Restart(), None)
    assert found
    assert (findings.violations["sc"], findings.notes, findings.undecided) == ([], [], False)


@pytest.mark.parametrize(
    ("said", "old"), [("glibc 2.31", "2.31"), ("glibc 2.34", None), ("glibc 2.43", None), ("", None)]
)
def test_a_c_library_that_is_too_old_is_refused_before_anything_is_run(
    said: str, old: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The explorer hung there."""
    monkeypatch.setattr(os, "confstr", lambda name: said)
    assert build.old_c_library() == old
    if old is not None:
        with pytest.raises(TeetotalError, match=r"glibc 2\.34 or newer .* and this is glibc 2\.31"):
            build.installed("teetotal-runtime")


def test_no_compiler(tmp_path: Path) -> None:
    assert shutil.which("no-such-cc") is None
    with pytest.raises(Exception, match="needs a C compiler"):
        run(tmp_path, "int main(void) { return 0; }", compiler="no-such-cc")


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_a_crash_is_found_on_each_machine(tmp_path: Path, goal: Literal["robust", "safe"]) -> None:
    text = HEAD + (
        "volatile int x; void *f(void *p) { x = 1; return 0; }"
        "void *g(void *p) { if (x) *(volatile int *)8 = 1; return 0; } RUN(f, g)"
    )
    result = run(tmp_path, text, options=CheckOptions(goal=goal))
    assert {violation.kind for violation in result.violations} == {"crash"}
    assert [model.safe for model in result.models.values()] == [False] * 3
    assert result.complete
    assert result.violations[0].events[-1].address == "address 0x8"


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_more_than_can_be_followed_is_refused(tmp_path: Path, goal: Literal["robust", "safe"]) -> None:
    text = HEAD + "char a[1 << 20]; void *f(void *p) { memset(a, 1, sizeof a); return 0; } RUN(f, f)"
    result = run(tmp_path, text, options=CheckOptions(goal=goal))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("fill of more than 512 KB" in note for note in result.notes), result.notes


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_a_search_without_an_execution_proves_nothing(
    goal: Literal["robust", "safe"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever made the runtime end so: it says itself that nothing is left."""
    whole = runtime.answers

    def none(*given: Any, **named: Any) -> Iterator[AnyMessage]:
        for message in whole(*given, **named):
            yield msgspec.structs.replace(message, executions=0, blocked=0) if isinstance(message, End) else message

    file = tmp_path / "program.c"
    file.write_text("int main(void) { return 0; }")
    options = CheckOptions(models=("tso", "pso"), goal=goal)
    assert check(Source((str(file),)), options).verdict is Verdict.SAFE
    monkeypatch.setattr(runtime, "answers", none)
    result = check(Source((str(file),)), options)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert all(model.verdict is Verdict.INCONCLUSIVE for model in result.models.values())
    assert "no execution was explored: nothing is known" in result.notes


@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("last", ["0", "0x10", "0xa5a5a5a5a5a5a5a5"])
def test_a_loop_that_follows_a_bad_pointer_fails(last: str, goal: Literal["robust", "safe"], tmp_path: Path) -> None:
    """Whether the thread would wait for what is there was looked up there: the explorer died of it, and said so."""
    file = tmp_path / "walk.c"
    file.write_text(HEAD + WALK.replace("LAST", last))
    result = check(Source((str(file),)), CheckOptions(models=("tso", "pso"), goal=goal))
    assert [violation.kind for violation in result.models["sc"].violations] == ["crash"]
    assert result.complete


NOWHERE = {
    "semaphore": "sem_wait(n)",
    "semaphore, tried": "sem_trywait(n)",
    "semaphore, posted": "sem_post(n)",
    "spinlock": "pthread_spin_lock(n)",
    "mutex": "pthread_mutex_lock(n)",
    "mutex of C11": "mtx_lock(n)",
    "mutex, destroyed": "pthread_mutex_destroy(n)",
    "lock of readers": "pthread_rwlock_rdlock(n)",
    "lock of readers, released": "pthread_rwlock_unlock(n)",
    "condition": "pthread_cond_signal(n)",
    "condition, waited on": "pthread_cond_wait(n, n)",
    "barrier": "pthread_barrier_wait(n)",
    "flag": "call_once(n, (void (*)(void))f)",
    "what lies beyond the stacks": "int a[2], *p = a; p[x + 30000000] = 1",
    "no thread, joined": "pthread_join((pthread_t)n, 0)",
    "no thread, detached": "pthread_detach((pthread_t)n)",
    "no thread, asked about": 'pthread_setname_np((pthread_t)n, "a")',
    "no thread, signalled": "pthread_kill((pthread_t)n, 0)",
}


@pytest.mark.parametrize("what", NOWHERE)
def test_what_is_used_must_be_somewhere(what: str, tmp_path: Path) -> None:
    """Nothing was done at all where a null pointer was given, and such programs were proved."""
    text = f"""#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <threads.h>
void *volatile n; volatile int x;
void *f(void *q) {{ {NOWHERE[what]}; x = 1; return 0; }}
int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }}
"""
    result = run(tmp_path, text)
    assert [violation.kind for violation in result.models["sc"].violations] in (["crash"], ["misuse"])
    wrong = "a thread that nobody has created" if what.startswith("no thread") else "where nothing lies"
    assert any(said in result.violations[0].message for said in ("invalid access at address 0", wrong))


def test_an_object_in_a_library_is_named(tmp_path: Path) -> None:
    """What the library itself does with it is not seen, so neither is what it means to the program."""
    (tmp_path / "library.c").write_text("#include <pthread.h>\npthread_mutex_t theirs = PTHREAD_MUTEX_INITIALIZER;\n")
    built = ["gcc", "-shared", "-fPIC", "-o", str(tmp_path / "libtheirs.so"), str(tmp_path / "library.c")]
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    subprocess.run(built, check=True)
    text = "extern pthread_mutex_t theirs; int x; void *f(void *q) {"
    text += " pthread_mutex_lock(&theirs); x++; pthread_mutex_unlock(&theirs); return 0; } RUN(f, f)"
    file = tmp_path / "program.c"
    file.write_text(HEAD + text)
    flags = (f"-L{tmp_path}", "-ltheirs", f"-Wl,-rpath,{tmp_path}")
    result = check(Source((str(file),), flags, "gcc"), CheckOptions())
    assert result.verdict is not Verdict.SAFE
    assert any("an object to synchronise on that lies in a library" in note for note in result.notes)


RECURSION = (
    HEAD
    + """struct node { struct node *next; int seen; } a, b;
void down(struct node *n) { BODY down(n->next); }
void *f(void *q) { down(&a); return 0; }
int main(void) { a.next = &b; b.next = &a; MAIN }
"""
)


@pytest.mark.parametrize("body", ["", "n->seen = 1;"])
def test_recursion_without_an_end_is_a_stack_overflow_or_undecided(tmp_path: Path, body: str) -> None:
    """Never safe. Where threads may meet in it, it is cut long before the stack is full: what is cut decides nothing."""
    alone = run(tmp_path, RECURSION.replace("BODY", body).replace("MAIN", "f(0);"))
    assert alone.verdict is Verdict.VIOLATION
    assert "T0: stack overflow at " in alone.violations[0].message
    starts = "pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0);"
    met = run(tmp_path, RECURSION.replace("BODY", body).replace("MAIN", starts))
    assert (met.models["sc"].safe, met.complete) == (None, False)
    assert any("cut after 10 rounds" in note for note in met.notes)
