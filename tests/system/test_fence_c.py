"""``teetotal fence`` on C and C++: patches that compile everywhere, are proved, and of which nothing can be dropped."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fencing_tools import (
    COMPILERS,
    NEEDS_COMPILER,
    PROGRAMS,
    TWO_THREADS,
    added,
    compiles_without_new_warnings,
    fenced,
    warnings,
)
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import CheckOptions, FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.checking import check
from teetotal.engines.runtime import driver
from teetotal.fences.fencing import fence
from teetotal.programs.c import Source

ROBUST = {"harris", "ms2", "msn", "treiber"}
pytestmark = NEEDS_COMPILER


def robust(path: Path) -> bool | None:
    result = check(Source((str(path),), ("-iquote", str(PROGRAMS))), CheckOptions(triage=0.0, shorten=False))
    known = [result.models[model].robust for model in ("tso", "pso")]
    return None if None in known else all(known)


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.c")))
def test_every_benchmark_is_repaired_and_no_fence_can_be_dropped(tmp_path: Path, name: str) -> None:
    original = PROGRAMS / f"{name}.c"
    answer = fence(str(original))
    assert answer.answer.verdict is Verdict.SAFE
    assert bool(answer.answer.fences) == (name not in ROBUST)
    patched = tmp_path / f"{name}.c"
    patched.write_text(answer.text)
    for compiler in COMPILERS:
        assert warnings(patched, compiler) == warnings(original, compiler)
    lines = answer.text.split("\n")
    for placed in answer.answer.fences:
        assert placed.patched_line is not None
        assert "atomic_thread_fence(memory_order_" in lines[placed.patched_line - 1]
        without = [line for number, line in enumerate(lines, start=1) if number != placed.patched_line]
        patched.write_text("\n".join(without))
        assert robust(patched) is False, f"{placed} can go"


ODD = (
    """#include <pthread.h>

static volatile int x, y, r[2];
/* Größe */
static void *left(void *argument) {
    if (argument == 0)
        x = 1; // über
    else
        x = 2;
    for (int i = 0; i < 1; i++) r[0] = y;
    return 0;
}
static void *right(void *a) { y = 1; r[1] = x; return a; }
"""
    + TWO_THREADS
)


def test_one_line_functions_includes_and_umlauts(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "odd.c", ODD)
    assert answer.answer.verdict is Verdict.SAFE
    assert added(answer) == [
        "#include <stdatomic.h>",
        "    atomic_thread_fence(memory_order_seq_cst);",
        "static void *right(void *a) { y = 1; atomic_thread_fence(memory_order_seq_cst); r[1] = x; return a; }",
    ]
    assert "/* Größe */" in answer.text


def test_braces_where_there_were_none(tmp_path: Path) -> None:
    text = ODD.replace("    for (int i = 0; i < 1; i++) r[0] = y;", "    if (x == 1) {\n        r[0] = y;\n    }")
    text = text.replace(
        "        x = 1; // über\n    else\n        x = 2;", "        x = 1; // über\n    else\n        return 0;"
    )
    answer = fenced(tmp_path, "odd.c", text, every=True)
    assert answer.answer.verdict is Verdict.SAFE
    sets = [[(f.line, f.after, f.before) for f in one] for one in answer.answer.sets]
    assert any((7, "x = 1;", "") in one for one in sets)


def test_a_body_without_braces_gets_them(tmp_path: Path) -> None:
    body = "    while (x == 0)\n        x = 1; // über\n    r[0] = y;\n    return argument;"
    start, end = ODD.index("    if (argument"), ODD.index("    return 0;\n}\nstatic")
    text = ODD[:start] + body + ODD[end + len("    return 0;") :]
    path = tmp_path / "odd.c"
    path.write_text(text)
    from teetotal.answers.events import Kind
    from teetotal.fences.c_text import CText

    source = CText(str(path), text)
    wanted = [
        number
        for number, site in enumerate(source.sites)
        if site.after == "x = 1;" and site.kind is Kind.MFENCE and source.gaps.gaps[number // 2].statement.bare
    ]
    patched = source.patched(frozenset(wanted), frozenset(), "c11", True)
    assert (
        "    while (x == 0) {\n        x = 1; // über\n        atomic_thread_fence(memory_order_seq_cst);\n    }\n"
        in patched.text
    )


def test_crlf_stays_crlf(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "odd.c", ODD.replace("\n", "\r\n"))
    assert answer.answer.verdict is Verdict.SAFE
    assert answer.text.count("\n") == answer.text.count("\r\n") == ODD.count("\n") + 2


def test_a_comment_that_goes_on_in_the_next_line_swallows_no_fence(tmp_path: Path) -> None:
    """The fence was a line of the comment."""
    text = (
        "#include <pthread.h>\nvolatile int x, y, a, b;\n"
        "void *f(void *p) {\n    x = 1; // so \\\n    and so\n    a = y;\n    return p;\n}\n"
        "int main(void) {\n    pthread_t t; pthread_create(&t, 0, f, 0); y = 1; b = x; pthread_join(t, 0);\n}\n"
    )
    answer = fenced(tmp_path, "odd.c", text)
    assert answer.answer.verdict is Verdict.SAFE
    assert "    x = 1; atomic_thread_fence(memory_order_seq_cst); // so" in answer.text


@pytest.mark.parametrize(
    ("style", "words"),
    [("linux", "smp_mb();"), ("x86", '__asm__ volatile("mfence" ::: "memory");')],
)
def test_styles(tmp_path: Path, style: str, words: str) -> None:
    answer = fenced(tmp_path, "odd.c", ODD, style=style)
    assert answer.answer.verdict is Verdict.SAFE
    assert answer.text.count(words) == 2
    assert "stdatomic" not in answer.text


def test_a_macro_that_does_both_is_refused_with_the_place(tmp_path: Path) -> None:
    text = ODD.replace("static volatile", "#define BOTH() do { x = 1; r[0] = y; } while (0)\nstatic volatile")
    text = text.replace("    if (argument == 0)", "    BOTH();\n    if (argument == 0)")
    answer = fenced(tmp_path, "odd.c", text)
    assert answer.answer.verdict is Verdict.VIOLATION
    assert answer.answer.diff == ""
    assert any("odd.c:7: st x = 1 and ld y → 0 come from one statement" in note for note in answer.answer.notes)


ATOMIC = (
    """#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;
static int r[2];

static void *left(void *argument) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    r[0] = atomic_load_explicit(&y, memory_order_relaxed);
    return argument;
}

static void *right(void *argument) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    r[1] = atomic_load_explicit(&x, memory_order_relaxed);
    return argument;
}

"""
    + TWO_THREADS
)


def test_stronger_stores_instead_of_fences(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.c", ATOMIC, strengthen=True)
    assert answer.answer.verdict is Verdict.SAFE
    assert added(answer) == [
        "    atomic_store_explicit(&x, 1, memory_order_seq_cst);",
        "    atomic_store_explicit(&y, 1, memory_order_seq_cst);",
    ]


CPP = """#include <thread>
#include <atomic>

std::atomic<int> x{0}, y{0};
int r[2];

int main() {
    std::thread left([] {
        x.store(1, std::memory_order_relaxed);
        r[0] = y.load(std::memory_order_relaxed);
    });
    std::thread right([] {
        y.store(1, std::memory_order_relaxed);
        r[1] = x.load(std::memory_order_relaxed);
    });
    left.join();
    right.join();
}
"""


def test_cpp_with_lambdas(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.cpp", CPP, minimum=True)
    assert answer.answer.verdict is Verdict.SAFE
    assert added(answer) == ["        std::atomic_thread_fence(std::memory_order_seq_cst);"] * 2
    stronger = fenced(tmp_path, "sb.cpp", CPP, strengthen=True)
    assert added(stronger) == [
        "        x.store(1, std::memory_order_seq_cst);",
        "        y.store(1, std::memory_order_seq_cst);",
    ]


def test_an_over_fenced_program_is_reduced(tmp_path: Path) -> None:
    text = (PROGRAMS / "peterson.c").read_text().replace("FENCE();", "atomic_thread_fence(memory_order_seq_cst);")
    (tmp_path / "bench.h").write_text((PROGRAMS / "bench.h").read_text())
    over = fenced(tmp_path, "over.c", text)
    assert over.answer.diff == ""
    assert [f.line for f in over.answer.unnecessary] == [19]
    reduced = fenced(tmp_path, "over.c", text, remove=True)
    assert reduced.answer.verdict is Verdict.SAFE
    assert [f.line for f in reduced.answer.removed] == [19]
    cheapest = fenced(tmp_path, "over.c", text, remove=True, minimum=True)
    assert cheapest.answer.verdict is Verdict.SAFE
    assert cheapest.text.count("memory_order_release") == 2
    assert cheapest.text.count("memory_order_seq_cst") == 1


def test_goal_safe(tmp_path: Path) -> None:
    """Store buffering is harmless where nobody asks: safe as it is, but not robust."""
    assert fenced(tmp_path, "sb.c", ATOMIC, goal="safe").answer.fences == []
    asked = ATOMIC.replace("    return 0;\n}", "    assert(r[0] || r[1]);\n    return 0;\n}").replace(
        "#include <pthread.h>", "#include <assert.h>\n#include <pthread.h>"
    )
    answer = fenced(tmp_path, "sb.c", asked, goal="safe", minimum=True)
    assert answer.answer.verdict is Verdict.SAFE
    assert [f.kind for f in answer.answer.fences] == ["mfence", "mfence"]


def test_lines_that_nothing_is_known_of_are_told_with_orders_too(tmp_path: Path) -> None:
    """An order that could be changed, were it not for the preprocessor, was said to be none."""
    text = """#include <pthread.h>
#include <stdatomic.h>
static atomic_int ready;
static int data;
static void *send(void *p) {
    data = 1;
#ifdef LATER
    if (p == 0) {
#else
    if (p != &data) {
#endif
        atomic_store_explicit(&ready, 1, memory_order_relaxed);
    }
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, send, 0);
    int seen = atomic_load_explicit(&ready, memory_order_acquire) ? data : 1;
    pthread_join(t, 0);
    return seen != 1;
}
"""
    for models in (("c11",), ("tso", "pso")):
        answer = fenced(tmp_path, "two.c", text, models=models).answer
        assert any("two.c: not understood without the preprocessor: line" in note for note in answer.notes)


def test_what_fails_under_sc_is_not_explored_with_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No fence repairs it. All of TSO and PSO was explored before that was said, twice."""
    asked: list[str] = []
    answers = driver.answers

    def listening(program: Path, options: Sequence[str], *more: Any, **others: Any) -> Any:
        asked.extend(option for option in options if option.startswith("model="))
        return answers(program, options, *more, **others)

    monkeypatch.setattr(driver, "answers", listening)
    text = ATOMIC.replace("    return 0;\n}", "    assert(r[0]);\n    return 0;\n}")
    text = text.replace("#include <pthread.h>", "#include <assert.h>\n#include <pthread.h>")
    answer = fenced(tmp_path, "sb.c", text, goal="safe").answer
    assert (answer.verdict, answer.fences) == (Verdict.VIOLATION, [])
    assert [violation.model for violation in answer.violations] == ["sc"]
    assert answer.violations[0].replay.endswith("sb.c")
    assert set(asked) == {"model=sc"}


def test_what_fences_against_a_deadlock_break_is_told(tmp_path: Path) -> None:
    """Nobody names a line, as an assertion does: it was told as ``()``."""
    text = """#include <pthread.h>
#include <semaphore.h>
static volatile int asleep, ready;
static sem_t bell;
static void *sleeps(void *p) {
    asleep = 1;
    if (!ready) sem_wait(&bell);
    return p;
}
int main(void) {
    pthread_t t;
    sem_init(&bell, 0, 0);
    pthread_create(&t, 0, sleeps, 0);
    ready = 1;
    if (asleep) sem_post(&bell);
    pthread_join(t, 0);
}
"""
    answer = fenced(tmp_path, "bell.c", text, goal="safe", models=("tso",)).answer
    assert answer.verdict is Verdict.SAFE
    assert [(f.kind, f.line) for f in answer.fences] == [("mfence", 6), ("mfence", 14)]
    assert all(set(cycle.split(", ")) == {"6", "7", "14", "15"} for f in answer.fences for cycle in f.breaks)
    assert all(f.breaks for f in answer.fences)


def test_on_this_processor_the_patch_ends_what_the_program_did(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store buffering shows on most processors with store buffers; where it does not, there is nothing to compare."""
    script = Path(__file__).parents[2] / "benchmarks" / "bench_fences.py"
    monkeypatch.syspath_prepend(str(script.parent))
    stress = runpy.run_path(str(script))["stress"]
    for before, after in stress(30_000).values():
        assert after == 0
        if before == 0:
            pytest.skip("this processor did not show it")


def test_declarations_under_the_preprocessor_and_odd_bodies(tmp_path: Path) -> None:
    """No gap outside of functions, and the right braces where bodies nest without any."""
    text = ATOMIC.replace(
        "static int r[2];", "#ifdef NOWHERE\nint nothing;\n#else\nint something;\n#endif\nstatic int r[2];"
    )
    text = text.replace(
        "    r[0] = atomic_load_explicit(&y, memory_order_relaxed);\n",
        """    if (argument)
        if (something) r[0] = 2; else r[0] = 3;
    else if (something)
        r[0] = 1;
    else do r[0] = atomic_load_explicit(&y, memory_order_relaxed); while (something);
#ifdef NOWHERE
    r[0] = 4;
#endif
    switch (something) { case 1: r[0] = 7; break; default: break; }
""",
    )
    answer = fenced(tmp_path, "sb.c", text)
    assert answer.answer.verdict is Verdict.SAFE
    assert len(answer.answer.fences) == 2
    compiles_without_new_warnings(tmp_path, text, answer.text, ".c")


HIDDEN = (
    """#include <atomic>
#include <pthread.h>
#define TYPE(name) int
static std::atomic<int> x, y;
static int r[2], values[1];
static void *left(void *argument) {
    for (int i = 0; i < 1; i++) {
        const TYPE(value) & value = values[i];
        x.store(value + 1, std::memory_order_relaxed);
        r[0] = y.load(std::memory_order_relaxed);
    }
    return argument;
}
static void *right(void *argument) {
    y.store(1, std::memory_order_relaxed);
    r[1] = x.load(std::memory_order_relaxed);
    return argument;
}
"""
    + TWO_THREADS
)


def test_where_macros_hide_what_a_statement_is_there_are_no_fences(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "hidden.cpp", HIDDEN)
    assert answer.answer.verdict is Verdict.SAFE
    assert [f.line for f in answer.answer.fences] == [9, 15]
    assert f"{tmp_path}/hidden.cpp: the compiler does not take fences at line 8" in answer.answer.notes[0]


def test_a_long_chain_of_conditions(tmp_path: Path) -> None:
    chain = "\n    else ".join(f"if (r[0] == {number}) r[0] = {number + 1};" for number in range(600))
    text = ATOMIC.replace("    return argument;", f"    {chain}\n    return argument;", 1)
    answer = fenced(tmp_path, "chain.c", text)
    assert answer.answer.verdict is Verdict.SAFE
    assert [f.line for f in answer.answer.fences] == [8, 614]


def test_what_does_not_compile_is_said_as_such(tmp_path: Path) -> None:
    with pytest.raises(TeetotalError, match="does not compile"):
        fenced(tmp_path, "bad.c", ATOMIC.replace("int main(void)", "int main(void"))


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
def test_with_another_compiler(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.c", ATOMIC, compiler="clang")
    assert answer.answer.verdict is Verdict.SAFE
    assert len(answer.answer.fences) == 2


def test_a_macro_that_takes_a_statement_keeps_it(tmp_path: Path) -> None:
    """A mark between ``UNLESS(…)`` and its statement would change the program."""
    from teetotal.fences.c_text import CText

    body = "void f(int x) {\n    UNLESS(x) { x = 3; }\n    UNLESS(x) x = 4;\n    x = 5;\n}\n"
    copy = CText(str(tmp_path / "f.c"), body).explored(frozenset())
    assert "UNLESS(x) { (void)" in copy
    assert "UNLESS(x) x = 4;" in copy


HELPED = (
    """#include <pthread.h>

static volatile int x, y, a, b, c, r[2];

static void store(volatile int *place) {
    *place = 1;
}

static void *left(void *argument) {
    store(&a);
    store(&b);
    store(&x);
    r[0] = y;
    return argument;
}

static void *right(void *argument) {
    store(&c);
    __atomic_exchange_n(&y, 1, __ATOMIC_SEQ_CST);
    r[1] = x;
    return argument;
}
"""
    + TWO_THREADS
)


@pytest.mark.parametrize("minimum", [False, True])
def test_a_helper_costs_as_often_as_it_is_called(tmp_path: Path, minimum: bool) -> None:
    answer = fenced(tmp_path, "helped.c", HELPED, minimum=minimum)
    assert [(f.kind, f.after, f.cost, f.passes) for f in answer.answer.fences] == [("mfence", "store(&x);", 10, 1)]


def test_every_place_where_a_helper_s_fence_could_stand_is_told_with_its_passes(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "helped.c", HELPED, every=True, models=("tso",))
    sets = [[(f.after, f.cost, f.passes) for f in one] for one in answer.answer.sets]
    assert sets == [[("store(&x);", 10, 1)], [("*place = 1;", 40, 4)]]


def test_a_helper_that_needs_its_fence_everywhere_gets_it_once(tmp_path: Path) -> None:
    """Three calls that each need one are passed as often as the helper: then one fence in it costs no more."""
    text = HELPED.replace("store(&a);\n    store(&b);\n", "").replace(
        "store(&c);\n    __atomic_exchange_n(&y, 1, __ATOMIC_SEQ_CST)", "store(&y)"
    )
    answer = fenced(tmp_path, "helped.c", text, minimum=True)
    assert answer.answer.cost == 20
    found = fenced(tmp_path, "helped.c", text, every=True).answer.sets
    assert [("*place = 1;", 20.0, 2.0)] in [[(f.after, f.cost, f.passes) for f in one] for one in found]


def test_existing_fences_are_weighed_as_well(tmp_path: Path) -> None:
    text = HELPED.replace("*place = 1;", "*place = 1;\n    __atomic_thread_fence(__ATOMIC_SEQ_CST);")
    answer = fenced(tmp_path, "helped.c", text, remove=True, minimum=True)
    assert [(f.after, f.cost) for f in answer.answer.fences] == [("store(&x);", 10)]
    assert [(f.line, f.passes) for f in answer.answer.removed] == [(7, 4)]


RARELY = (
    """#include <pthread.h>

static volatile int x, y, c, r[2];

static void *left(void *argument) {
    if (c) {
        x = 1;
        r[0] = y;
    }
    return argument;
}

static void *right(void *argument) {
    c = 1;
    y = 1;
    r[1] = x;
    return argument;
}
"""
    + TWO_THREADS
)


def test_a_fence_that_few_executions_pass_costs_as_much_as_one(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "rarely.c", RARELY, models=("tso",))
    assert sorted((f.after, f.cost, f.passes) for f in answer.answer.fences) == [("x = 1;", 10, 1), ("y = 1;", 10, 1)]


def test_a_loop_that_is_cut_is_told_with_what_the_program_read(tmp_path: Path) -> None:
    """Its thread's last loads are those of our own marks."""
    text = """#include <pthread.h>
#include <stdatomic.h>
static atomic_int want[2];
static void *w(void *p) {
    int me = p != 0;
    for (;;) {
        atomic_store_explicit(&want[me], 1, memory_order_relaxed);
        if (!atomic_load_explicit(&want[!me], memory_order_relaxed))
            break;
        atomic_store_explicit(&want[me], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&want[me], 0, memory_order_relaxed);
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, w, 0);
    w(&t);
    pthread_join(t, 0);
}
"""
    path = tmp_path / "cut.c"
    path.write_text(text)
    notes = " ".join(fence(str(path), FenceOptions(loop_bound=3)).answer.notes)
    assert "cut after 3 rounds, where T" in notes
    assert "(line 8, written at line 7)" in notes
    assert "teetotal_" not in notes
