"""What is live where a hook returns, in small functions as gcc and clang compile them."""

from __future__ import annotations

from pathlib import Path

import pytest

from c_programs import COMPILERS
from teetotal.programs.c import liveness
from teetotal.programs.c.assembly import Function, Text
from teetotal.programs.c.build import Source, build
from teetotal.programs.c.liveness import Entry
from teetotal.programs.c.machine import REGISTERS, decode

SOURCE = """
#include <stdatomic.h>
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
int main(void) { return 0; }
"""


@pytest.fixture(scope="module", params=COMPILERS)
def reads(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Entry]]:
    """Of each function, the entries of its reads of memory that others see."""
    found: dict[str, list[Entry]] = {}

    class Spy(liveness.Liveness):
        def __call__(self, program: Text, functions: list[Function]) -> None:  # type: ignore[override]
            owner = {id(item): function.name for function in functions for block in function.blocks for item in block}
            for entry in liveness.entries(program, functions):
                if "volatile_read" in entry.item.calls or "__tsan_atomic" in entry.item.calls:
                    found.setdefault(owner[id(entry.item)], []).append(entry)
            super().__call__(program, functions)

    directory = tmp_path_factory.mktemp("liveness")
    file = directory / "program.c"
    file.write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(liveness, "Liveness", Spy)
        program = build(Source((str(file),), (), request.param), directory)
    assert liveness.table(program) is not None
    return found


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


def test_frames_that_others_know_are_live_as_a_whole(reads: dict[str, list[Entry]]) -> None:
    assert all(entry.whole and entry.may_wait for entry in reads["escapes"])
    assert all(entry.whole for entry in reads["indexed"])


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


def test_dekker_keeps_who_it_is_and_how_often(reads: dict[str, list[Entry]]) -> None:
    assert [live_bytes(entry) for entry in reads["dekker"] if entry.may_wait][-1] == 8
    assert all(not entry.whole for entry in reads["dekker"])


def test_the_table_tells_what_was_found(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(SOURCE)
    table = liveness.table(build(Source((str(file),)), tmp_path))
    assert table is not None
    assert table.size % 8 == 0
    assert table.size > 16 * len(SOURCE.splitlines())
