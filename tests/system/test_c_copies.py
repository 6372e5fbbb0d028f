"""Copies of structs, part by part, whatever the compiler makes of them: gcc copies by itself, clang calls memcpy."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from c_programs import COMPILERS, compiled, explore
from teetotal.answers.check import CheckAnswer
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.programs.c.build import Source

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


def run(tmp_path: Path, text: str, *flags: str, compiler: str | None = None, **options: object) -> CheckAnswer:
    file = tmp_path / "program.c"
    file.write_text(text)
    return check(Source((str(file),), flags, compiler), CheckOptions(**options))  # type: ignore[arg-type]


SIZES = [2, 3, 4, 10]


def every_copy() -> str:
    """One program, whose argument chooses a copy and a size: what they have is renamed apart."""
    text, cases = "#include <stdlib.h>\n" + HEAD.partition("typedef")[0] + "pthread_mutex_t m;\n", ""
    for number, (name, size) in enumerate(itertools.product(COPIES, SIZES)):
        start = "for (int i = 0; i < N; i++) shared.v[i] = 1;" if name == "of zeros" else ""
        own = "typedef struct { int v[N]; } S; S shared, other;\n" + COPIES[name]
        own += RUN.replace("int main", "void run").replace("END", "").replace("t, u;", f"t, u; {start}")
        renamed = re.sub(r"\b(S|shared|other|full|from|to|f|g|run)\b", rf"\1_{number}", own)
        text += re.sub(r"\bN\b", str(size), renamed.replace("LAST", str(size - 1))) + "\n"
        cases += f"case {number}: run_{number}(); break;\n"
    return f"{text}int main(int n, char **given) {{ switch (atoi(given[1])) {{\n{cases}}} }}\n"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_may_be_torn_unless_there_is_a_lock(name: str, size: int, compiler: str) -> None:
    case = [str(list(COPIES).index(name) * len(SIZES) + SIZES.index(size))]
    with compiled(every_copy(), flags=["-DLOCK=", "-DUNLOCK="], compiler=compiler) as program:
        _, told = explore(program, "model=sc", arguments=case)
        assert {answer["what"] for answer in told if answer["type"] == "failure"} == {"assertion"}
    locks = ["-DLOCK=pthread_mutex_lock(&m)", "-DUNLOCK=pthread_mutex_unlock(&m)"]
    with compiled(every_copy(), flags=locks, compiler=compiler) as program:
        for model in ("sc", "tso", "pso"):
            end, told = explore(program, f"model={model}", arguments=case)
            assert (end["complete"], end["unseen"]) == (True, [])
            assert [answer for answer in told if answer["type"] == "failure"] == []


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


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("returned", "passed"),
    [("shared = make()", ""), ("*to = make()", "first(make())"), ("", "first(shared)"), ("", "first(*to)")],
)
def test_structs_by_value_straight_from_memory_are_seen(
    tmp_path: Path, returned: str, passed: str, compiler: str
) -> None:
    """gcc copies these without a hook of its own."""
    text = BY_VALUE + RUN.replace("END", "")
    flags = ("-DN=4", f"-DRETURNED={returned}", f"-DPASSED={passed}")
    result = run(tmp_path, text, *flags, compiler=compiler)
    assert (result.verdict, result.complete) == (Verdict.SAFE, True), result.notes
    both = run(tmp_path, text, "-DN=4", "-DRETURNED=shared = make()", "-DPASSED=first(shared)", compiler=compiler)
    assert any(note.startswith("data race on shared") for note in both.notes), both.notes
