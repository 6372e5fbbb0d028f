"""What is live where a hook returns, in small functions as gcc and clang compile them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.programs.c import confinement, live_table, liveness
from teetotal.programs.c.assembly import Function, Text
from teetotal.programs.c.build import Source, build
from teetotal.programs.c.frame_variables import FrameVariables, Range
from teetotal.programs.c.live_table import Entry
from teetotal.programs.c.machine import RBP, REGISTERS, Access, decode

SOURCE = """
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <ucontext.h>
volatile int x, y; atomic_int a; int plain;
void await(void) { while (x != 5) {} }
void count(void) { int n = 0; while (!x) n++; y = n; }
void sum(void) { while (x + y != 5) {} }
void atomics(void) { while (atomic_load(&a) != 3) {} }
void cas(void) { int free = 0; while (!atomic_compare_exchange_strong(&a, &free, 1)) free = 0; }
void stores(void) { for (int i = 0; i < 5; i++) { int r = x; x = r + 1; } }
static void put(int v) { x = v; }
void calls(void) { for (int i = 0; i < 5; i++) put(x); }
void out(int *);
void escapes(void) { int local = 0; out(&local); while (!x) {} }
void *work(void *p) { return p; }
void creates(void) { pthread_t other; pthread_create(&other, 0, work, 0); while (x != 5) {} pthread_join(other, 0); }
void gives(void) { pthread_t other; pthread_create(&other, 0, work, &other); while (x != 5) {} pthread_join(other, 0); }
void indexed(int i) { int local[4]; local[i] = x; while (!x) {} y = local[i]; }
volatile int flag[2], turn;
void dekker(int me) {
  for (int i = 0; i < 2; i++) {
    flag[me] = 1;
    while (flag[1 - me])
      if (turn != me) { flag[me] = 0; while (turn != me) {} flag[me] = 1; }
    plain++; turn = 1 - me; flag[me] = 0;
  }
}
void out(int *p) {}
static sigjmp_buf back; static ucontext_t here;
void twice(void) { int n = 1; sigsetjmp(back, 1); while (!x) {} y = n; }
void again(void) { int n = 1; getcontext(&here); while (!x) {} y = n; }
int main(void) { return 0; }
"""


CAUGHT = """
volatile int x, y;
void __attribute__((noinline)) may_throw(int n) { if (n > 3) throw n; }
void caught() { int n = 3; try { while (x != 5) may_throw(y); } catch (...) { y = n; } }
int main() { return 0; }
"""


def reads_of(text: str, suffix: str, compiler: str, directory: Path) -> dict[str, list[Entry]]:
    """Of each function, the entries of its reads of memory that others see."""
    found: dict[str, list[Entry]] = {}

    class Spy(liveness.Liveness):
        def __call__(self, program: Text, functions: list[Function]) -> None:  # type: ignore[override]
            owner = {id(item): function.name for function in functions for block in function.blocks for item in block}
            for entry in liveness.entries(program, functions):
                if "volatile_read" in entry.item.calls or "__tsan_atomic" in entry.item.calls:
                    found.setdefault(owner[id(entry.item)], []).append(entry)
            super().__call__(program, functions)

    file = directory / f"program{suffix}"
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(liveness, "Liveness", Spy)
        program = build(Source((str(file),), (), compiler), directory)
    assert live_table.table(program) is not None
    return found


@pytest.fixture(scope="module", params=COMPILERS)
def reads(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Entry]]:
    return reads_of(SOURCE, ".c", request.param, tmp_path_factory.mktemp("liveness"))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_a_handler_needs_is_live_at_the_calls_before_it(compiler: str, tmp_path: Path) -> None:
    """n is read where an exception is caught, and nowhere else."""
    entries = reads_of(CAUGHT, ".cc", compiler, tmp_path)["_Z6caughtv"]
    assert entries
    assert all(entry.whole or live_bytes(entry) >= 4 for entry in entries)


def test_nothing_is_said_of_a_function_that_may_be_returned_to_twice(reads: dict[str, list[Entry]]) -> None:
    assert not reads.keys() & {"twice", "again"}


def live_bytes(entry: Entry) -> int:
    return sum(size for _, size in entry.slots)


@pytest.mark.parametrize(("function", "most"), [("await", 0), ("count", 4), ("atomics", 8), ("cas", 4)])
def test_what_was_loaded_is_dead_where_it_is_loaded_again(
    reads: dict[str, list[Entry]], function: str, most: int
) -> None:
    """But for the counter, an address that clang keeps, and what it compares with."""
    (entry,) = reads[function]
    assert entry.may_wait
    assert not entry.whole
    assert not entry.registers & {"rbx", "r12", "r13", "r14", "r15"}
    assert live_bytes(entry) <= most
    assert (function != "count") or live_bytes(entry) == 4


def test_the_first_of_two_is_live_at_the_second(reads: dict[str, list[Entry]]) -> None:
    first, second = reads["sum"]
    assert live_bytes(first) == 0
    assert not first.registers & {"rbx"}
    assert live_bytes(second) == 4 or "rbx" in second.registers


def test_a_round_that_stores_does_not_wait(reads: dict[str, list[Entry]]) -> None:
    """In the function itself, or in one that it calls."""
    assert not any(entry.may_wait for name in ("stores", "calls") for entry in reads[name])


def test_variables_that_others_know_are_live(reads: dict[str, list[Entry]]) -> None:
    """And nothing else, but where a frame is accessed by a number."""
    for entry in reads["escapes"]:
        assert entry.may_wait
        assert not entry.whole
        assert live_bytes(entry) == 0
        assert 4 <= sum(size for _, size in entry.given_away) <= 16
    assert all(entry.whole for entry in reads["indexed"])


def test_a_handle_that_was_asked_for_is_known_to_nobody_else(reads: dict[str, list[Entry]]) -> None:
    """It is live, since it is joined; what lies beside it is not."""
    for name, own, known in (("creates", 8, 0), ("gives", 0, 8)):
        for entry in reads[name]:
            assert not entry.whole
            assert (live_bytes(entry), sum(size for _, size in entry.given_away) >= known) == (own, True)
            assert known or not entry.given_away


@pytest.mark.parametrize(
    ("code", "all_of_it"),
    [
        ("8bd9", True), ("5b", True), ("8d5901", True), ("6bd905", True), ("0fb6d9", True),  # mov, pop, lea, imul, movzx
        ("668bd9", False), ("665b", False), ("8ad9", False),  # mov bx, pop bx, mov bl
        ("0f44d9", False), ("0fbcd9", False), ("0fbdd9", False), ("0f03d9", False),  # cmove, bsf, bsr, lsl
        ("f30fbcd9", False),  # tzcnt, which is bsf to processors that do not know it
    ],
)  # fmt: skip
def test_what_is_overwritten_in_any_case(code: str, all_of_it: bool) -> None:
    """A register that its target may keep was dead to a loop that counted in it."""
    (instruction,) = decode(bytes.fromhex(code)) or ()
    assert REGISTERS.index("rbx") in instruction.writes
    assert liveness._overwrites(instruction, REGISTERS.index("rbx")) is all_of_it


def word(begin: int, *directions: str, size: int = 4) -> list[Access]:
    return [Access(one, size, RBP, -1, 0, begin) for one in directions]  # type: ignore[arg-type]


LOW, HIGH = Range(-32, -24), Range(-16, -8)


@pytest.mark.parametrize(
    ("address", "accesses", "announced", "reached"),
    [
        (-32, word(-20, "r", "w"), [], {LOW, Range(-24, -20)}),  # a temporary follows
        (-28, word(-20, "w"), [], {LOW, Range(-24, -16)}),  # what follows is only written: it may be read by an address
        (-32, word(-20, "r", "w") + word(-20, "r", size=2), [], {LOW, Range(-24, -16)}),
        (-20, [], [], {Range(-24, -16)}),  # of what has no name
        (-24, [], [], {LOW, Range(-24, -16)}),  # right behind
        (-24, word(-32, "r", "w"), [], {Range(-24, -16)}),  # who is accessed without a word keeps its address
        (-24, word(-32, "r", "w"), [LOW], {LOW, Range(-24, -16)}),
        (-8, [], [], {HIGH}),
        (-40, [], [], None),  # below all that has a name
        (0, [], [], None),
    ],
)
def test_what_an_address_leads_to(
    address: int, accesses: list[Access], announced: list[Range], reached: set[Range] | None
) -> None:
    assert confinement.reached([address], [LOW, HIGH], accesses, announced, -8) == reached


FRAMES = """
#include <pthread.h>
_Thread_local int own;
void out(void *);
int several(int given) {
  static int kept; long numbers[3]; struct { char a; int b; } pair; pthread_t *to = 0;
  { short inner = 0; out(&inner); }
  out(numbers); out(&pair); out(&to); out(&given); return own + kept++;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_where_variables_lie(compiler: str, tmp_path: Path) -> None:
    """In the order of their sizes; statics lie elsewhere. A thread-local variable made the reader of DWARF give up."""
    source, object_file = tmp_path / "frames.c", tmp_path / "frames.o"
    source.write_text(FRAMES)
    subprocess.run(
        [compiler, "-O0", "-g", "-fPIC", "-fno-stack-protector", "-c", str(source), "-o", str(object_file)], check=True
    )
    found = FrameVariables(object_file.read_bytes).of("several")
    assert found is not None
    assert sorted(end - begin for begin, end in found) == [2, 4, 8, 8, 24]
    assert all(one.end <= other.begin for one, other in pairwise(found))
    assert FrameVariables(object_file.read_bytes).of("nobody") is None


def test_dekker_keeps_who_it_is_and_how_often(reads: dict[str, list[Entry]]) -> None:
    assert [live_bytes(entry) for entry in reads["dekker"] if entry.may_wait][-1] == 8
    assert all(not entry.whole for entry in reads["dekker"])


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
def test_a_volatile_variable_that_nobody_is_told_of_is_the_functions_own(tmp_path: Path) -> None:
    """As far as clang announces it, which it does in any case."""
    text = """
    void out(volatile int *);
    void own(void) { volatile int i = 0; while (i < 3) i++; }
    void given(void) { volatile int i = 0; out(&i); while (i < 3) i++; }
    void member(void) { struct { volatile int a, b; } s = {0, 0}; out(&s.a); while (s.b < 3) s.b++; }
    void out(volatile int *p) {}
    int main(void) { return 0; }
    """
    reads = reads_of(text, ".c", "clang", tmp_path)
    assert {name: {entry.own for entry in found} for name, found in reads.items()} == {
        "own": {True},
        "given": {False},
        "member": {False},
    }


def test_the_table_tells_what_was_found(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(SOURCE)
    table = live_table.table(build(Source((str(file),)), tmp_path))
    assert table is not None
    assert table.size % 8 == 0
    assert table.size > 16 * len(SOURCE.splitlines())
