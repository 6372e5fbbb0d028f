"""From the first constructor to the last destructor; and nothing that differs from one execution to the next."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from ending_programs import CXX, CXX_HEAD, HEAD, C, Case
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import ProgramError, TeetotalError
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Goal, Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source
from teetotal.programs.c.compilers import CompileError


def run(tmp_path: Path, text: str, compiler: str | None, suffix: str = ".c", goal: Goal = "robust") -> CheckAnswer:
    file = tmp_path / f"program{suffix}"
    file.write_text(text)
    return check(Source((str(file),), (), compiler), CheckOptions(goal=goal))


def expect(result: CheckAnswer, case: Case) -> None:
    told = [*(violation.message for violation in result.violations), *result.notes]
    assert result.verdict is case.verdict, told
    assert any(case.says in line for line in told) or not case.says, told


@pytest.mark.parametrize("name", C)
def test_c_programs(tmp_path: Path, name: str) -> None:
    expect(run(tmp_path, HEAD + C[name].text, None), C[name])


CLANG = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")


@CLANG
@pytest.mark.parametrize("name", ["atexit", "constructor", "order", "the last thread exits", "ifunc"])
def test_c_programs_with_clang(tmp_path: Path, name: str) -> None:
    expect(run(tmp_path, HEAD + C[name].text, "clang"), C[name])


@pytest.mark.parametrize("name", CXX)
def test_cxx_programs(tmp_path: Path, name: str) -> None:
    expect(run(tmp_path, CXX_HEAD + CXX[name].text, None, ".cc"), CXX[name])


@CLANG
def test_objects_with_clang(tmp_path: Path) -> None:
    case = CXX["objects of all kinds"]
    expect(run(tmp_path, CXX_HEAD + case.text, "clang", ".cc"), case)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_buffers_in_an_exit_handler_are_explored(tmp_path: Path, compiler: str) -> None:
    """The relaxed outcome itself, where the handler looks at what the thread has seen."""
    text = """static atomic_int seen = 2;
    static void *f(void *p) { x = 1; atomic_store_explicit(&seen, y, memory_order_relaxed); return 0; }
    static void end(void) { y = 1; int r = x; int other = seen; assert(other != 0 || r != 0); }
    int main(void) { atexit(end); pthread_create(&t, 0, f, 0); }"""
    result = run(tmp_path, HEAD + text, compiler, goal="safe")
    assert result.models["sc"].safe
    assert result.models["tso"].safe is False


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_resolver_that_does_more_than_to_choose_is_named(tmp_path: Path, compiler: str) -> None:
    """It runs before the hooks are there."""
    text = """static int one(void) { return x; }
    static int (*choose(void))(void) { x = 1; return one; }
    int chosen(void) __attribute__((ifunc("choose")));
    int main(void) { return chosen() - 1; }"""
    why = r"what runs then fails: .*; choose at .*program\.c:\d+, which chooses chosen \(ifunc\), may be at fault"
    with pytest.raises(ProgramError, match=why):
        run(tmp_path, HEAD + text, compiler)


@CLANG
@pytest.mark.parametrize(
    ("text", "suffix", "name"),
    [
        ("__attribute__((vectorcall)) int f(int a) { return a; } int main(void) { return f(0); }", ".c", "f"),
        ("__attribute__((vectorcall)) int f(double a); int main(void) { return f(0); }", ".c", "f"),
        ("struct S { __attribute__((vectorcall)) int g(int a) { return a; } }; int main() { S s; return s.g(0); }", ".cc",
         r"S::g\(int\)"),
    ],
)  # fmt: skip
def test_vectorcall_functions_are_named(tmp_path: Path, text: str, suffix: str, name: str) -> None:
    with pytest.raises(TeetotalError, match=rf"program\{suffix}: {name} has the calling convention vectorcall"):
        run(tmp_path, text, "clang", suffix)


def test_no_array_of_a_program_alone(tmp_path: Path) -> None:
    text = (
        'static void f(void) { } __attribute__((section(".preinit_array"), used)) void (*p)(void) = f; int main() { }'
    )
    with pytest.raises(CompileError, match="preinit_array"):
        run(tmp_path, text, None)


@pytest.mark.parametrize("flag", ["-nostartfiles", "-nostdlib"])
def test_what_begins_a_program_is_not_left_out(tmp_path: Path, flag: str) -> None:
    file = tmp_path / "program.c"
    file.write_text("int main(void) { }")
    with pytest.raises(TeetotalError, match=flag):
        check(Source((str(file),), (flag,)), CheckOptions())


def test_functions_that_the_linker_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(
        HEAD + "void begin(void) { n = 1; } void end(void) { assert(n == 1); assert(0); } int main(void) { }"
    )
    result = check(Source((str(file),), ("-Wl,-init=begin", "-Wl,-fini=end")), CheckOptions())
    assert [violation.message for violation in result.violations] == [f"T0's assertion 0 fails at {file}:24"]


# -- memory that nobody has written ------------------------------------------------------------------------------------

UNWRITTEN = """struct node { int value; char tag; struct node *next; };
static int seen; static struct node copy;
static void *f(void *p) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); return 0; }
int main(void) {
  struct node *node = malloc(sizeof *node);
  pthread_create(&t, 0, f, 0);
  f(0); DO; f(0);
  pthread_join(t, 0);
}
"""
READS = {
    "a member": "if (node->value) seen = 1",
    "an increment": "node->value++",
    "beyond the old end": "int *all = calloc(2, 4); all = realloc(all, 64); seen = all[9]",
    "an atomic": "seen = atomic_fetch_add((atomic_int *)node, 1)",
    "a copy of it": "struct node *other = malloc(sizeof *other); *other = *node; seen = other->value",
    "a bit-field": "struct { unsigned a : 3, b : 5; } *p = malloc(sizeof *p); seen = p->a",
}
WRITTEN = {
    "the bytes of the fill": "memset(node, 0xA5, sizeof *node); seen = node->value",
    "one byte and its opposite": "node->tag = (char)0xA5; seen = node->tag; node->tag = 0x5A; seen = node->tag",
    "padding": "node->value = 1; node->tag = 2; node->next = 0; copy = *node; seen = copy.tag",
    "a part": "node->value = 1; copy = *node; struct node *other = malloc(32); *other = copy; seen = other->value",
    "calloc": "int *all = calloc(4, 4); seen = all[1]; all = realloc(all, 64); seen = all[1]",
    "bit-fields": "struct { unsigned a : 3, b : 5; } *p = malloc(sizeof *p); p->a = 1; p->b = 2; seen = p->a + p->b",
    "by the C library": 'strcpy((char *)node, "a text"); seen = ((char *)node)[3]',
}


@pytest.mark.parametrize("name", READS)
def test_a_read_of_what_nobody_has_written_is_named(tmp_path: Path, name: str) -> None:
    result = run(tmp_path, HEAD + UNWRITTEN.replace("DO", READS[name]), None)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert f"what cannot be seen: a read of memory that nobody has written at {result.input}:30" in result.notes


@pytest.mark.parametrize("name", WRITTEN)
def test_what_was_written_is_not(tmp_path: Path, name: str) -> None:
    result = run(tmp_path, HEAD + UNWRITTEN.replace("DO", WRITTEN[name]), None)
    assert result.verdict is not Verdict.VIOLATION
    assert [note for note in result.notes if "in different sizes" not in note] == []


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_store_to_a_bit_field_reads_nothing(tmp_path: Path, compiler: str) -> None:
    result = run(tmp_path, HEAD + UNWRITTEN.replace("DO", WRITTEN["bit-fields"]), compiler)
    assert result.verdict is Verdict.SAFE


# -- what is not the same the second time ------------------------------------------------------------------------------

TICKS = """static int ticks(void) { unsigned low, high; __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)); return low; }
atomic_int z;
static void *f(void *p) { z = 1; z = 2; SHARED; z = 3; return 0; }
int main(void) {
  pthread_t own, other;
  n = ticks();
  pthread_create(&own, 0, f, 0); pthread_create(&other, 0, f, 0);
  pthread_join(own, 0); pthread_join(other, 0);
}
"""


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_a_value_that_differs_is_told(tmp_path: Path, goal: Goal) -> None:
    result = run(tmp_path, HEAD + TICKS.replace("SHARED", "x = n"), None, goal=goal)
    assert result.verdict is not Verdict.SAFE
    differs = any("load of n at" in note and "and, run again in the same way," in note for note in result.notes)
    assert differs or any("rdtsc" in note for note in result.notes)  # from a snapshot it is not run again


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_a_value_that_differs_is_found_where_the_program_is_run_again(model: str) -> None:
    with compiled(HEAD + TICKS.replace("SHARED", "x = n")) as program:
        end, _ = explore(program, "snapshots=0", f"model={model}")
    assert end["what"] == "nondeterministic"
    assert len(set(end["saw"])) == 2


def test_a_step_that_differs_is_told(tmp_path: Path) -> None:
    text = TICKS.replace("SHARED", "mine[ticks() / 64 & 1023] = 1")
    result = run(tmp_path, HEAD + "static int mine[1024];\n" + text, None)
    assert result.verdict is not Verdict.SAFE
    assert any("came to its store of mine" in note and "to its store of mine" in note for note in result.notes)


def test_addresses_are_the_same_in_every_run() -> None:
    """Of variables and of functions of a library: the program tells them by its exit status."""
    text = HEAD + "int main(void) { return (((unsigned long)&n ^ (unsigned long)&strlen) >> 12) % 251 + 1; }"
    with compiled(text) as program:
        first, second, third = (explore(program)[0]["oddities"] for _ in range(3))
    assert first == second == third != []


def test_objects_with_destructors_leave_snapshots_in_use() -> None:
    text = (
        CXX_HEAD
        + """std::atomic<int> z; Counted global(1);
    void f() { thread_local Counted own(2); for (int i = 0; i < 4; i++) z.fetch_add(own.n); }
    int main() { std::thread t(f), u(f); t.join(); u.join(); }"""
    )
    with compiled(text, suffix=".cc") as program:
        end, _ = explore(program)
    assert end["restored"] > end["executions"] / 2
    assert not end["unseen"]


def test_what_would_last_is_put_back_before_each_execution() -> None:
    """Also where every execution begins at the beginning."""
    with compiled(HEAD + C["what would last"].text) as program:
        end, told = explore(program, "snapshots=0")
    assert end["executions"] > 1
    assert [answer for answer in told if answer["type"] == "failure"] == []


GONE = """
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
static pthread_key_t key;
static atomic_int *_Atomic lent;
static sem_t told, done;
static void reads(void *at) { atomic_load((atomic_int *)at); }
static void reads_lent(void) { atomic_load(lent); }
static void lends(void *at) { lent = at; sem_post(&told); sem_wait(&done); }
static void *keeps(void *unused) { atomic_int here = 0; pthread_setspecific(key, &here); return 0; }
static void *leaves(void *unused) { return 0; }
#define BEGIN(handler, thread) pthread_t t; pthread_key_create(&key, handler); pthread_create(&t, 0, thread, 0)
int main(void) { sem_init(&told, 0, 0); sem_init(&done, 0, 0); MAIN }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("BEGIN(reads, keeps); pthread_join(t, 0); return 0;", True),
        (
            "BEGIN(lends, keeps); sem_wait(&told); atomic_load(lent); sem_post(&done); pthread_join(t, 0); return 0;",
            True,
        ),
        (
            "BEGIN(0, leaves); atomic_int here = 0; lent = &here; atexit(reads_lent); pthread_join(t, 0); return 0;",
            True,
        ),
        (
            "BEGIN(0, leaves); atomic_int here = 0; lent = &here; atexit(reads_lent); pthread_join(t, 0); exit(0);",
            False,
        ),
    ],
    ids=["its own variable", "the other thread looks", "main has returned", "main has not returned"],
)
def test_handlers_run_when_the_frames_have_ended(body: str, found: bool, compiler: str, tmp_path: Path) -> None:
    """They lay where these frames had been: what they used of them was taken for their own."""
    result = run(tmp_path, GONE.replace("MAIN", body), compiler)
    assert result.verdict is (Verdict.VIOLATION if found else Verdict.SAFE), result.notes
    assert all("function that has returned" in violation.message for violation in result.violations)
