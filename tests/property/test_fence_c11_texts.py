"""What ``fence --model c11`` writes: weakest orders and fewest fences in litmus tests, Python programs, C and C++."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import fuzz_orders
from fencing_tools import NEEDS_COMPILER
from teetotal import check as checked
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Verdict
from teetotal.cli.fence import fence as verb
from teetotal.fences.fencing import Repair, fence


def repaired(path: Path, text: str, **options: object) -> Repair:
    path.write_text(text)
    found = fence(str(path), FenceOptions(models=("c11",), **options))  # type: ignore[arg-type]
    assert found.answer.verdict is Verdict.SAFE
    return found


def changed(repair: Repair) -> list[tuple[int, str, str]]:
    return [(one.line, one.was, one.kind) for one in repair.answer.fences]


LITMUS = """C MP
{}
P0(atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_relaxed);
}
P1(atomic_int* x, atomic_int* y) {
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
  int r1 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (1:r0=1 /\\ 1:r1=0)
"""


def test_a_litmus_test(tmp_path: Path) -> None:
    found = repaired(tmp_path / "mp.litmus", LITMUS)
    assert changed(found) == [(5, "relaxed", "release"), (8, "relaxed", "acquire")]
    assert found.text == LITMUS.replace("y, 1, memory_order_relaxed", "y, 1, memory_order_release").replace(
        "load_explicit(y, memory_order_relaxed", "load_explicit(y, memory_order_acquire"
    )


def test_a_litmus_test_whose_orders_are_too_strong(tmp_path: Path) -> None:
    strong = LITMUS.replace("_explicit", "").replace(", memory_order_relaxed", "")
    strong = strong.replace("  int r1", "  atomic_thread_fence(memory_order_acquire);\n  int r1")
    found = repaired(tmp_path / "mp.litmus", strong, weaken=True)
    assert "thread_fence" not in found.text
    assert "atomic_store_explicit(y, 1, memory_order_release)" in found.text
    assert "atomic_load_explicit(y, memory_order_acquire)" in found.text
    assert found.text.count("relaxed") == 2
    assert found.answer.cost < found.answer.cost_before


def test_a_litmus_test_in_the_kernels_words(tmp_path: Path) -> None:
    text = """C SB
{}
P0(int* x, int* y) { WRITE_ONCE(*x, 1); int r0 = READ_ONCE(*y); }
P1(int* x, int* y) { WRITE_ONCE(*y, 1); int r0 = READ_ONCE(*x); }
exists (0:r0=0 /\\ 1:r0=0)
"""
    found = repaired(tmp_path / "sb.litmus", text)
    assert found.text.count("smp_mb();") == 2
    assert "left as they are" in found.answer.notes[0]


FENCED = """C SB
{}
P0(atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
P1(atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
exists (0:r0=0 /\\ 1:r0=0)
"""


@pytest.mark.parametrize("models", [("c11",), ("tso", "pso", "c11")])
def test_a_fence_that_is_there_is_made_stronger(tmp_path: Path, models: tuple[str, ...]) -> None:
    path = tmp_path / "sb.litmus"
    path.write_text(FENCED)
    found = fence(str(path), FenceOptions(models=models, target="x86", minimum=True))  # type: ignore[arg-type]
    assert changed(found) == [(5, "sfence", "mfence"), (10, "sfence", "mfence")]
    assert found.text == FENCED.replace("memory_order_release", "memory_order_seq_cst")


BEHIND = """C sb
{}
P0(atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_release);
  int r0 = atomic_load_explicit(y, memory_order_seq_cst);
  atomic_store_explicit(x, 2, memory_order_release);
}
P1(atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_seq_cst);
  atomic_thread_fence(memory_order_acquire);
  int r0 = atomic_load_explicit(y, memory_order_acquire);
}
exists (true)
"""


def test_a_fence_behind_a_store_that_is_one_too(tmp_path: Path) -> None:
    """It was taken for the fence of the store, which executions of C11 are told without, and all that follows for what
    stands before it."""
    found = repaired(tmp_path / "sb.litmus", BEHIND)
    assert changed(found) == [(4, "release", "seq_cst"), (6, "release", "seq_cst"), (11, "acquire", "seq_cst")]


PYTHON = """from teetotal import cas, ld, mfence, program, relaxed, st


def writer():
    yield st("data", 42)
    yield st("flag", 1, relaxed)


def reader():
    while (yield ld("flag", relaxed)) != 1:
        pass
    r = yield ld("data")
    assert r == 42


def other():
    yield mfence()
    yield cas("lock", 0, 1)


mp = program(writer(), reader(), other(), data=0, flag=0, lock=0)
"""


def test_a_python_program(tmp_path: Path) -> None:
    found = repaired(tmp_path / "mp.py", PYTHON)
    assert changed(found) == [(6, "relaxed", "release"), (10, "relaxed", "acquire")]
    assert [one.cost for one in found.answer.fences] == [2, 8]  # the load is in a loop
    assert 'st("flag", 1, release)' in found.text
    assert 'ld("flag", acquire)' in found.text
    assert "from teetotal import acquire, cas, ld, mfence, program, relaxed, release, st" in found.text


def test_a_python_program_whose_orders_are_too_strong(tmp_path: Path) -> None:
    found = repaired(tmp_path / "mp.py", found_text(tmp_path), weaken=True)
    assert "yield mfence()" not in found.text
    assert 'cas("lock", 0, 1, relaxed)' in found.text
    assert "release" in found.text
    assert "acquire" in found.text


def test_what_reads_where_it_fails_becomes_stronger_there(tmp_path: Path) -> None:
    looks = """if (yield cas("flag", 7, 8, relaxed, relaxed)) == 1:
        r = yield ld("data")
        assert r == 42"""
    text = PYTHON.replace(
        """while (yield ld("flag", relaxed)) != 1:
        pass
    r = yield ld("data")
    assert r == 42""",
        looks,
    )
    assert looks in text
    found = repaired(tmp_path / "cas.py", text)
    assert 'cas("flag", 7, 8, acquire, acquire)' in found.text


def test_a_search_that_was_cut_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "loop.py"
    path.write_text("""from teetotal import fetch_add, ld, program, relaxed
def adder():
    while (yield ld("n", relaxed)) < 5:
        yield fetch_add("n", 1, relaxed)
alone = program(adder(), n=0)
""")
    assert fence(str(path), FenceOptions(models=("c11",))).answer.verdict is Verdict.SAFE
    cut = fence(str(path), FenceOptions(models=("c11",), loop_bound=1)).answer
    assert cut.verdict is Verdict.INCONCLUSIVE
    assert "robust or not is not known" in cut.notes[0]


def found_text(tmp_path: Path) -> str:
    return repaired(tmp_path / "strong.py", PYTHON).text


def test_a_race_that_no_order_repairs(tmp_path: Path) -> None:
    path = tmp_path / "race.litmus"
    path.write_text("C R\n{}\nP0(int* x) { *x = 1; }\nP1(int* x) { *x = 2; }\nexists (x=1)\n")
    answer = fence(str(path), FenceOptions(models=("c11",))).answer
    assert answer.verdict is Verdict.VIOLATION
    assert "need a mutex" in answer.notes[0]


def test_what_is_weak_already_is_not_weakened(tmp_path: Path) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(LITMUS)
    answer = fence(str(path), FenceOptions(models=("c11",), weaken=True)).answer
    assert answer.verdict is Verdict.VIOLATION
    assert "as they are written" in answer.notes[0]


C = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static int data;
static atomic_int flag, unused;

static void *writer(void *none) {
    data = 42;
    atomic_store_explicit(&flag, atomic_load_explicit(&unused, memory_order_relaxed) + 1, memory_order_relaxed);
    return none;
}

static void *reader(void *none) {
    int one = 1;
    while (!atomic_compare_exchange_strong_explicit(&flag, &one, 2, memory_order_relaxed, memory_order_relaxed))
        one = 1;
    assert(data == 42);
    return none;
}

void never(void) { atomic_store(&flag, 3); }

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    if (data != 42) never();
}
"""


@NEEDS_COMPILER
@pytest.mark.parametrize("models", [("c11",), ("tso", "pso", "c11")])
def test_a_c_program(tmp_path: Path, models: tuple[str, ...]) -> None:
    path = tmp_path / "mp.c"
    path.write_text(C)
    found = fence(str(path), FenceOptions(models=models))  # type: ignore[arg-type]
    assert found.answer.verdict is Verdict.SAFE
    assert changed(found) == [(10, "relaxed", "release"), (16, "relaxed", "acquire")]
    assert "+ 1, memory_order_release)" in found.text
    assert "2, memory_order_acquire, memory_order_relaxed)" in found.text


@NEEDS_COMPILER
def test_a_c_program_whose_orders_are_too_strong(tmp_path: Path) -> None:
    strong = C.replace("memory_order_relaxed", "memory_order_seq_cst")
    found = repaired(tmp_path / "mp.c", strong, weaken=True)
    assert "+ 1, memory_order_release)" in found.text
    assert "&unused, memory_order_relaxed)" in found.text
    assert "2, memory_order_acquire, memory_order_relaxed)" in found.text
    assert "atomic_store(&flag, 3);" in found.text  # nobody passes it
    assert any("no execution passes" in note for note in found.answer.notes)


@NEEDS_COMPILER
def test_a_cpp_program_whose_orders_are_not_written(tmp_path: Path) -> None:
    text = """#include <atomic>
#include <thread>
struct Node { int value; Node *next; };
static std::atomic<Node *> head{nullptr};
static void push(Node *node) {
    Node *old = head.load();
    do node->next = old; while (!head.compare_exchange_weak(old, node));
}
int main() {
    static Node node{1, nullptr};
    std::thread pusher([] { push(&node); });
    Node *old = head.load();
    while (old && !head.compare_exchange_strong(old, old->next)) {}
    int seen = old ? old->value : 1;
    pusher.join();
    return seen - 1;
}
"""
    found = repaired(tmp_path / "treiber.cpp", text, weaken=True)
    assert "head.compare_exchange_weak(old, node, std::memory_order_release)" in found.text
    assert "Node *old = head.load(std::memory_order_acquire);" in found.text
    assert "head.compare_exchange_strong(old, old->next, std::memory_order_relaxed)" in found.text


@NEEDS_COMPILER
def test_a_fence_goes_where_no_order_is_written(tmp_path: Path) -> None:
    text = C.replace("memory_order_relaxed", "ORDER").replace(
        "static int data;", "static const memory_order ORDER = memory_order_relaxed;\nstatic int data;"
    )
    found = repaired(tmp_path / "mp.c", text)
    assert {(was, kind) for _, was, kind in changed(found)} == {("", "sfence"), ("", "acquire_fence")}
    assert "atomic_thread_fence(memory_order_acquire);" in found.text


@NEEDS_COMPILER
def test_macros_are_written_out(tmp_path: Path) -> None:
    macros = """#define LOAD(place) atomic_load_explicit(&(place), memory_order_relaxed)
#define STORE(place, value) atomic_store_explicit(&(place), (value), memory_order_relaxed)
#define PUBLISH(value) STORE(flag, value)
static int data;"""
    text = C.replace("static int data;", macros, 1)
    text = text.replace(
        "atomic_store_explicit(&flag, atomic_load_explicit(&unused, memory_order_relaxed) + 1, memory_order_relaxed)",
        "PUBLISH(1)",
    )
    found = repaired(tmp_path / "mp.c", text)
    assert changed(found) == [(13, "relaxed", "release"), (19, "relaxed", "acquire")]
    assert "    atomic_store_explicit(&(flag), (1), memory_order_release);\n" in found.text


@NEEDS_COMPILER
def test_marks_are_no_events(tmp_path: Path) -> None:
    """Between two writes of one location a mark is another location, which would hand on what the first one knows: then
    x = 3 could not come before x = 1, and nothing would seem to be missing."""
    text = """#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *first(void *none) {
    atomic_store(&x, 1);
    atomic_exchange_explicit(&x, 2, memory_order_release);
    return none;
}
static void *second(void *none) {
    if (atomic_load_explicit(&x, memory_order_acquire) == 2) atomic_load(&y);
    return none;
}
static void *third(void *none) {
    atomic_store(&y, 1);
    atomic_store(&x, 3);
    return none;
}
int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_create(&threads[2], 0, third, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
}
"""
    path = tmp_path / "same.c"
    path.write_text(text)
    as_it_is = checked(str(path), models=("c11",))
    assert as_it_is.models["c11"].robust is False
    repair = fence(str(path), FenceOptions(models=("c11",)))
    assert repair.answer.verdict is Verdict.SAFE
    assert repair.answer.fences
    weakened = fence(str(path), FenceOptions(models=("c11",), weaken=True))
    assert weakened.answer.verdict is Verdict.VIOLATION  # with all that is written it is weak
    for told in (*repair.answer.violations, *weakened.answer.violations):
        assert all(max(a, b) < len(told.events) for a, b, _ in told.relations)


@NEEDS_COMPILER
def test_what_is_written_in_c_is_minimal_by_definition() -> None:
    assert fuzz_orders.run(2, c=True, seed=16)["minimal"] == 2


REFUSED = {
    "--weaken": "are for --model c11",
    "--target arm64": "are for --model c11",
    "--model c11 --goal safe": "robust and race-free programs alone",
    "--model c11 --remove": "--weaken takes out fences too",
    "--model c11 --monitor burnim-tso": "exact monitors",
    "--model c11 --style x86": "nothing of assembly",
    "--model c11 --cost mfence=3": "costs come from --target",
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_has_no_meaning_is_refused(tmp_path: Path, asked: str) -> None:
    path = tmp_path / "mp.litmus"
    path.write_text(LITMUS)
    result = CliRunner().invoke(verb, [*asked.split(), str(path)], standalone_mode=False)
    assert isinstance(result.exception, TeetotalError)
    assert REFUSED[asked] in str(result.exception)
