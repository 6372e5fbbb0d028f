"""Copies of structs, part by part, whatever the compiler makes of them: gcc copies by itself, clang calls memcpy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from teetotal.programs.c.assembly import pair_copies
from teetotal.programs.c.build import Source
from teetotal.programs.c.by_value import unseen_copies
from teetotal.programs.c.check import Options, check
from teetotal.verdicts import CheckResult, Verdict

HEAD = """#include <assert.h>
#include <pthread.h>
#include <string.h>
typedef struct { int v[N]; } S;
S shared, other; pthread_mutex_t m;
#define LAST (N - 1)
"""
RUN = """
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
  pthread_join(t, 0); pthread_join(u, 0);
  END
}
"""
WRITER = "static S full(void) { S s; for (int i = 0; i < N; i++) s.v[i] = 1; return s; }\n"
COPIES = {
    "to a local": WRITER
    + """
void *f(void *p) { LOCK; shared.v[0] = 1; shared.v[LAST] = 1; UNLOCK; return 0; }
void *g(void *p) { LOCK; S mine = shared; UNLOCK; assert(mine.v[0] == mine.v[LAST]); return 0; }""",
    "from a local": WRITER
    + """
void *f(void *p) { S mine = full(); LOCK; shared = mine; UNLOCK; return 0; }
void *g(void *p) { LOCK; int a = shared.v[0], b = shared.v[LAST]; UNLOCK; assert(a == b); return 0; }""",
    "from one to another": """
void *f(void *p) { LOCK; shared.v[0] = 1; shared.v[LAST] = 1; UNLOCK; return 0; }
void *g(void *p) { LOCK; other = shared; UNLOCK; assert(other.v[0] == other.v[LAST]); return 0; }""",
    "through pointers": """
S *from = &shared, *to = &other;
void *f(void *p) { LOCK; shared.v[0] = 1; shared.v[LAST] = 1; UNLOCK; return 0; }
void *g(void *p) { LOCK; *to = *from; UNLOCK; assert(other.v[0] == other.v[LAST]); return 0; }""",
    "of zeros": """
void *f(void *p) { LOCK; shared = (S){{0}}; UNLOCK; return 0; }
void *g(void *p) { LOCK; int a = shared.v[0], b = shared.v[LAST]; UNLOCK; assert(a == b); return 0; }""",
    "by memcpy": """
void *f(void *p) { LOCK; shared.v[0] = 1; shared.v[LAST] = 1; UNLOCK; return 0; }
void *g(void *p) { LOCK; memcpy(&other, &shared, sizeof other); UNLOCK; assert(other.v[0] == other.v[LAST]); return 0; }""",
}


def run(tmp_path: Path, text: str, *flags: str, compiler: str | None = None, **options: object) -> CheckResult:
    file = tmp_path / "program.c"
    file.write_text(text)
    return check(Source((str(file),), flags, compiler), Options(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("size", [2, 3, 4, 10])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_may_be_torn_unless_there_is_a_lock(tmp_path: Path, name: str, size: int, compiler: str) -> None:
    start = "for (int i = 0; i < N; i++) shared.v[i] = 1;" if name == "of zeros" else ""
    text = HEAD + COPIES[name] + RUN.replace("pthread_t t, u;", f"pthread_t t, u; {start}").replace("END", "")
    unlocked = run(tmp_path, text, f"-DN={size}", "-DLOCK=", "-DUNLOCK=", compiler=compiler, models=("tso",))
    assert {violation.kind for violation in unlocked.models["sc"].violations} == {"assertion"}
    locks = ("-DLOCK=pthread_mutex_lock(&m)", "-DUNLOCK=pthread_mutex_unlock(&m)")
    locked = run(tmp_path, text, f"-DN={size}", *locks, compiler=compiler, goal="safe")
    assert (locked.verdict, locked.complete) == (Verdict.SAFE, True), locked.notes


MESSAGE = """
volatile int flag;
void *f(void *p) { S mine = {{0}}; mine.v[LAST] = 1; shared = mine; FENCE; flag = 1; return 0; }
void *g(void *p) { if (flag) { S mine = shared; assert(mine.v[LAST] == 1); } return 0; }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_copied_message_on_each_machine(tmp_path: Path, compiler: str) -> None:
    """The parts of a copy wait in the store buffers like any other store."""
    text = HEAD + MESSAGE + RUN.replace("END", "")
    for fence, pso in (("", False), ("__atomic_thread_fence(__ATOMIC_RELEASE)", True)):
        result = run(tmp_path, text, "-DN=5", f"-DFENCE={fence}", compiler=compiler, goal="safe")
        assert [result.models[model].safe for model in ("sc", "tso", "pso")] == [True, True, pso]
        assert result.complete


@pytest.mark.parametrize("compiler", COMPILERS)
def test_as_many_executions_as_classes(compiler: str) -> None:
    text = HEAD + COPIES["from one to another"] + RUN.replace("END", "")
    with compiled(text, flags=["-DN=3", "-DLOCK=", "-DUNLOCK="], compiler=compiler) as program:
        reduced, _ = explore(program, "classes=1")
        every, _ = explore(program, "strategy=interleavings", "classes=1")
    assert every["complete"]
    assert reduced["executions"] == reduced["classes"] == every["classes"]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("how", ["shared = shared", "S *q = &shared; *q = shared", "other = shared; shared = other"])
def test_nothing_is_lost(tmp_path: Path, how: str, compiler: str) -> None:
    """A copy onto itself, and back and forth: everything is there in the end, on each machine."""
    text = HEAD + f"""
void *f(void *p) {{ pthread_mutex_lock(&m); {how}; pthread_mutex_unlock(&m); return 0; }}
void *g(void *p) {{ return 0; }}
""" + RUN.replace("pthread_t t, u;", "pthread_t t, u; for (int i = 0; i < N; i++) shared.v[i] = i;").replace(
        "END", "for (int i = 0; i < N; i++) assert(shared.v[i] == i);"
    )  # fmt: skip
    result = run(tmp_path, text, "-DN=12", compiler=compiler, goal="safe")
    assert (result.verdict, result.complete) == (Verdict.SAFE, True), result.notes
    large = run(tmp_path, text, "-DN=300", compiler=compiler, models=("sc",))
    assert (large.verdict, large.executions) == (Verdict.SAFE, 1)


def test_what_is_a_copy_and_what_are_two_accesses() -> None:
    write, read = "\tcall\t__tsan_write8@PLT", "\tcall\t__tsan_read8@PLT"
    copied = ["\tmovl $8, %esi\n\tcall\tteetotal_copy_to@PLT", "\tmovl $8, %esi\n\tcall\tteetotal_copy_from@PLT"]
    address = ["\t.loc 1 2 3", "\tmovq\t-16(%rbp), %rax", "\tleaq\t0(,%rax,8), %rdx", "\tmovq\t%rax, %rdi"]
    assert pair_copies([write, *address, read]) == [copied[0], *address, copied[1]]
    stores = ("\tmovq\t%rbx, (%rax)", "\tmovl\t$1, -20(%rbp)", "\tincl\t(%rax)")
    for between in (*stores, "\tcall\tf@PLT", ".L3:", "\tjmp\t.L3"):
        assert pair_copies([write, between, read]) == [write, between, read]
    other = "\tcall\t__tsan_read4@PLT"
    assert pair_copies([write, other]) == [write, other]
    assert pair_copies([read, write]) == [read, write]


BY_VALUE = (
    HEAD
    + """
static S make(void) { S s = {{1}}; return s; }
static int first(S s) { return s.v[0]; }
static S *to = &other;
void *f(void *p) { RETURNED; return 0; }
void *g(void *p) { PASSED; return 0; }
"""
)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize(
    ("returned", "passed", "lines"),
    [
        ("S s = make(); shared = s", "S s = shared; first(s)", []),
        ("shared = make()", "", [11]),
        ("*to = make()", "first(make())", [11]),
        ("", "first(shared)", [12]),
        ("", "first(*to)", [12]),
        ("", "static S kept; kept = make(); first(kept)", [12]),
    ],
)
def test_structs_by_value_straight_from_memory_are_reported(
    tmp_path: Path, returned: str, passed: str, lines: list[int]
) -> None:
    """gcc copies these without a hook: better no proof than a wrong one."""
    text = BY_VALUE + RUN.replace("END", "")
    flags = ("-DN=4", f"-DRETURNED={returned}", f"-DPASSED={passed}")
    result = run(tmp_path, text, *flags, compiler="gcc")
    told = [note for note in result.notes if note.startswith("what cannot be seen: a struct passed or returned")]
    assert bool(told) == bool(lines)
    assert result.complete != bool(lines)
    assert all(f"program.c:{line}" in told[0] for line in lines)


def test_what_a_dump_shows() -> None:
    dump = """
;; Function f (f, funcdef_no=0)

void f (struct s given, int n)
{
  struct s mine;
  static struct s kept;
  struct s * p.0_1;

  <bb 2> :
  [a.c:1:2] mine = make ();
  [a.c:2:2] take (given);
  [a.c:3:2] take (D.123);
  [a.c:4:2] _1 = call (&shared, n, 5, callback);
  [a.c:4:2] mine = shared;
  [a.c:5:2] shared = make (); [return slot optimization]
  [a.c:6:2] [a.c:6:2] *p.0_1 = make ();
  [a.c:7:2] take (shared);
  [a.c:8:2] __builtin___tsan_read8 (&shared);
  [/usr/include/b.h:9:2] *p.0_1 = make ();
  [a.c:10:2] this_2->field = make ();
  [a.c:11:2] kept = make ();
  [a.c:12:2] take (mine.inner, other[3]);
  [a.c:13:2] __assert_fail ("seen->a == 1, *p (\\"x\\")", "a.c", 13, &__PRETTY_FUNCTION__);
  [a.c:14:2] lock (&[a.c:14:2] this_2->mutex);
}
"""
    assembly = "\t.type\tshared, @object\n\t.comm\tother,32,16\n\t.type\tcallback, @function\n"
    assert unseen_copies(dump, assembly) == ["a.c:5", "a.c:6", "a.c:7", "a.c:10", "a.c:11", "a.c:12"]
