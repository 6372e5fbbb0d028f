"""What a thread may say, construct by construct: each is run by Python too, and must agree with it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from python_reference import agree, execute
from teetotal import models
from teetotal.answers.events import Kind, MemoryOrder, Semantics
from teetotal.programs.expressions import Addr, Const, Final, Old, Op, Reg
from teetotal.programs.program import Assert, Assume, Branch, Fence, Load, Lock, Program, Rmw, Store, Unlock

HEAD = """
from teetotal import *
cells = array("cells", 3, initial=[10, 20, 30])
"""


def build(text: str, **options: Any) -> tuple[Callable[[], list[Generator[Any, Any, Any]]], Program]:
    """The one thread ``t`` of this text, with locations x, y, z."""
    module = execute(HEAD + text)
    return lambda: [module["t"]()], module["program"](module["t"](), x=0, y=1, z=2, **options)


def run(body: str, before: str = "") -> dict[str, int]:
    """The final registers and memory of a thread that runs alone, checked against Python."""
    indented = "\n".join("    " + line for line in body.strip("\n").splitlines())
    make, program = build(f"{before}\ndef t():\n    yield mfence\n{indented}\n")
    assert agree(make, program, seed=0) == ["ended"]
    ((states, memory),) = models.final_states(program, "sc")
    registers = dict(zip(program.threads[0].registers, states[0].registers, strict=True))
    assert all(value == 0 for name, value in registers.items() if not name.isidentifier()), "a temporary is left behind"
    return {**dict(memory), **registers}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('r = yield ld("y")', {"r": 1}),
        ('yield st("x", 5)', {"x": 5}),
        ('r = yield rmw("z", lambda old: old * 3 + 1)', {"r": 2, "z": 7}),
        ('r = yield rmw("z", lambda old: 9 if old == 2 else None)', {"r": 2, "z": 9}),
        ('r = yield rmw("z", lambda old: None if old == 2 else 9)', {"r": 2, "z": 2}),
        ('a = 4\nr = yield rmw("z", lambda old: old + a)', {"r": 2, "z": 6}),
        ('r = yield cas("y", 1, 8)', {"r": 1, "y": 8}),
        ('r = yield cas("y", expected=0, new=8)', {"r": 1, "y": 1}),
        ('r = yield fetch_add("y", 4)', {"r": 1, "y": 5}),
        ('r = yield xchg("y", 4)', {"r": 1, "y": 4}),
        ('yield fetch_add("y", 4)', {"y": 5}),
        ('yield mfence\nyield sfence\nyield mfence()\nyield sfence()\nyield lock("x")', {"x": 1}),
        ('yield lock("x")\nyield unlock("x")', {"x": 0}),
        ('go = st("x", 3)\nyield go', {"x": 3}),
        ('ask = cas("y", 1, 6)\nr = yield ask', {"r": 1, "y": 6}),
        ("yield cells[0] and st(cells[1], 2)", {"cells[1]": 2}),
        ('yield from ()\nyield st("x", 4)', {"x": 4}),
    ],
)
def test_operations(body: str, expected: dict[str, int]) -> None:
    assert expected.items() <= run(body).items()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('a = (yield ld("y")) + (yield ld("z")) * 10', {"a": 21}),
        ('a = b = yield ld("z")', {"a": 2, "b": 2}),
        ("a, b = 3, 4\na, b = b, a", {"a": 4, "b": 3}),
        ('a, b = (yield ld("y")), (yield ld("z"))\na, b = b, a + b', {"a": 2, "b": 3}),
        ("(a, b), c = (1, 2), 3", {"a": 1, "b": 2, "c": 3}),
        ('a: int = yield ld("z")\nb: int', {"a": 2}),
        ('a = 7\na += yield ld("z")\na *= 2\na -= 1\na //= 2\na %= 5\na <<= 3\na |= 1\na ^= 3\na >>= 1', {"a": 13}),
        ('r = yield ld("z")\na = -r\nb = ~r\nc = +r\nd = not r', {"a": -2, "b": -3, "c": 2, "d": 0}),
        ('r = yield ld("z")\na = r // -3\nb = -r % 3\nc = r << 3 >> 1', {"a": -1, "b": 1, "c": 8}),
        ('r = yield ld("z")\na = 1 << r', {"a": 4}),
        ('r = yield ld("z")\na = 1 < r < 3\nb = 0 < r < 2 < 5\nc = r == 2 != 3', {"a": 1, "b": 0, "c": 1}),
        (
            'r = yield ld("z")\na = 1 and r\nb = 0 and r\nc = 0 or r\nd = 3 or r\ne = 4 if 1 and r - 2 else 5',
            {"a": 2, "b": 0, "c": 2, "d": 3, "e": 5},
        ),
        ('r = yield ld("z")\na = r in (1, 2)\nb = r not in [1, r]\nc = r in ()', {"a": 1, "b": 0, "c": 0}),
        (
            'r = yield ld("z")\na = r or 5\nb = r and 5\nc = (r - 2) or 5\nd = (r - 2) and 5',
            {"a": 2, "b": 5, "c": 5, "d": 0},
        ),
        ('r = yield ld("z")\na = 7 if r == 2 else 8\nb = 7 if r != 2 else 8', {"a": 7, "b": 8}),
        (
            'r = yield ld("z")\na = max(r, 1, 5)\nb = min(r, 3)\nc = abs(-r)\nd = bool(r)\ne = int(r)',
            {"a": 5, "b": 2, "c": 2, "d": 1},
        ),
        ('a = (yield ld("x")) and (yield fetch_add("y", 1))', {"a": 0, "y": 1}),
        ('a = (yield ld("z")) and (yield fetch_add("y", 1))', {"a": 1, "y": 2}),
        ('a = (yield ld("z")) or (yield fetch_add("y", 1))', {"a": 2, "y": 1}),
        ('a = (yield xchg("x", 3)) if (yield ld("y")) else (yield xchg("y", 3))', {"a": 0, "x": 3, "y": 1}),
        ('a = 0 < (yield ld("x")) < (yield fetch_add("y", 1))', {"a": 0, "y": 1}),
        ('yield st("x", (yield ld("y")) + (yield ld("z")))', {"x": 3}),
        ("a = sum(n * n for n in range(4))\nb = len('abc')\nc = {1: 5}[1]", {"a": 14, "b": 3, "c": 5}),
        ("a = True\nb = a + 1", {"a": 1, "b": 2}),
        ("a = -(2**63)", {"a": -(2**63)}),
        ('if (r := (yield ld("z"))) == 2:\n    a = r + (s := 4) + s', {"a": 10, "s": 4}),
    ],
)
def test_expressions(body: str, expected: dict[str, int]) -> None:
    assert expected.items() <= run(body).items()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('r = yield ld("z")\nif r == 1:\n    a = 1\nelif r == 2:\n    a = 2\nelse:\n    a = 3', {"a": 2}),
        ('if False:\n    yield ld("nowhere")\nelse:\n    a = 1', {"a": 1}),
        ('a = 0\nwhile (yield fetch_add("x", 1)) < 3:\n    a += 1', {"a": 3, "x": 4}),
        ("a = 0\nwhile a < 3:\n    a += 1\nelse:\n    a = 9", {"a": 9}),
        ("a = 0\nwhile True:\n    a += 1\n    if a == 3:\n        break\nelse:\n    a = 9", {"a": 3}),
        ("a = b = 0\nwhile a < 5:\n    a += 1\n    if a == 3:\n        continue\n    b += a", {"a": 5, "b": 12}),
        ('for i in range(3):\n    yield st("xyz"[i], i + 5)', {"x": 5, "y": 6, "z": 7, "i": 2}),
        ('for place in "x", "y":\n    yield st(place, 9)', {"x": 9, "y": 9}),
        ('for i, place in enumerate(("z", "y", "x")):\n    yield st(place, i)', {"z": 0, "y": 1, "x": 2}),
        ("for cell in cells:\n    yield st(cell, 4)", {"cells[0]": 4, "cells[2]": 4}),
        ('for i in range(5):\n    if i == (yield ld("z")):\n        break\nelse:\n    i = 9', {"i": 2}),
        ("a = 0\nfor i in range(4):\n    if i == 1:\n        continue\n    a += i", {"a": 5}),
        ('a = 0\nfor i in range((yield ld("z"))):\n    a += 10 + i\n    i = 7', {"a": 21, "i": 7}),
        ('a = 0\nn = yield ld("z")\nfor i in range(5, n, -2):\n    a += i\nelse:\n    a += 100', {"a": 108, "i": 3}),
        (
            'n = yield ld("z")\na = 0\nfor i in range(n, 9):\n    if i == 3:\n        continue\n'
            "    if i == 5:\n        break\n    a += i",
            {"a": 6, "i": 5},
        ),
        ("a = 0\nfor i in range(1000):\n    a += i", {"a": 499500, "i": 999}),
        ('for i in range(0):\n    yield st("x", 1)', {"x": 0}),
        ('r = yield ld("z")\nif r == 2:\n    return\nyield st("x", 1)', {"x": 0}),
        ('"""Documented."""\n...\npass\nreturn (yield fetch_add("x", 1))', {"x": 1}),
        ('assert (yield ld("z")) == 2, "message"\nassume((yield ld("z")) == 2)\nassert True\nassume(1)', {}),
        ('for i in range(2):\n    for j in range(2):\n        yield fetch_add("x", 2 * i + j)', {"x": 6}),
        ('a = 1\nif (yield ld("x")) == 1:\n    a = 2\nyield st("y", a)', {"a": 1, "y": 1}),
        ('a = 1\nif (yield ld("y")) == 1:\n    a = 2\nyield st("x", a)', {"a": 2, "x": 2}),
    ],
)
def test_statements(body: str, expected: dict[str, int]) -> None:
    assert expected.items() <= run(body).items()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("yield st(f\"{'x'}\", 3)", {"x": 3}),
        ("r = yield ld(cells[1])", {"r": 20}),
        ('i = yield ld("z")\nr = yield ld(cells[i])', {"r": 30}),
        ('r = yield ld(cells[(yield ld("y"))])', {"r": 20}),
        ('cell = cells[(yield ld("y"))]\nyield st(cell, 5)\nyield fetch_add(cell, 1)', {"cells[1]": 6}),
        ('r = yield ld("z")\nyield st("x" if r == 1 else "y", 7)', {"y": 7}),
        (
            'r = yield ld("z")\nif r == 2:\n    place = "x"\nelse:\n    place = "y"\nyield st(place, 7)',
            {"x": 7, "y": 1},
        ),
        ('yield st("x", address("z"))\np = yield ld("x")\nr = yield ld(p)\na = p == address("z")', {"r": 2, "a": 1}),
        ('p = address(cells[(yield ld("y"))])\nr = yield ld(p)', {"r": 20}),
        ('p = address("y")\nif (yield ld("z")) == 2:\n    p = address("z")\nr = yield ld(p)', {"r": 2}),
    ],
)
def test_addresses(body: str, expected: dict[str, int]) -> None:
    assert expected.items() <= run(body).items()


HELPERS = """
def bump(place, by=1):
    old = yield ld(place)
    yield st(place, old + by)
    return old
def twice(place):
    a = yield from bump(place)
    b = yield from bump(place, by=10)
    return a * 100 + b
def nothing():
    return
    yield
def first(n):
    for i in range(n):
        r = yield ld(cells[i])
        if r == 20:
            return i
    return -1
def double(n):
    "Twice as much."
    return n + n
def inc(old): return old + STEP
STEP = 5
def sometimes():
    if (yield fetch_add("x", 1)):
        return 1
class Account:
    def __init__(self, place): self.place = place
    def add(self, n):
        yield fetch_add(self.place, n)
    def worth(self, n): return n * 3
account = Account("x")
def change(n):
    n += 1
    yield st("x", n)
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('r = yield from bump("z")', {"r": 2, "z": 3}),
        ('old = 5\nr = yield from bump("z")', {"r": 2, "old": 5}),
        ('yield from bump("z", 4)', {"z": 6}),
        ('r = (yield from bump("z")) * 10 + (yield from bump("z"))', {"r": 23, "z": 4}),
        ('r = yield from twice("z")', {"r": 203, "z": 13}),
        ("yield from nothing()", {}),
        ("r = yield from first(3)", {"r": 1}),
        ("r = yield from first(1)", {"r": -1}),
        ("yield from bump(cells[(yield ld('y'))], (yield ld('z')))", {"cells[1]": 22}),
        ("r = yield ld('z')\nyield from change(r)\na = r", {"x": 3, "a": 2}),
        ('r = yield ld("z")\na = double(r) + double(3)', {"a": 10}),
        ('r = yield rmw("z", inc)', {"r": 2, "z": 7}),
        ('yield rmw("z", double)', {"z": 4}),
        ("yield from account.add(4)\nr = account.worth((yield ld('z')))", {"x": 4, "r": 6}),
        ('g = bump("z")\nyield from g', {"z": 3}),
        ("yield from sometimes()", {"x": 1}),
        ("kind = int\na = kind(5)", {"a": 5}),
    ],
)
def test_helpers(body: str, expected: dict[str, int]) -> None:
    assert expected.items() <= run(body, before=HELPERS).items()


def test_a_swap_with_a_computed_location_takes_all_values_first() -> None:
    found = run('b = yield ld("y")\nb, cell = 2, cells[b]\nyield st(cell, 7)')
    assert (found["cells[1]"], found["b"]) == (7, 2)


def test_long_choices_stay_short() -> None:
    """Each operand is written down a bounded number of times, or an expression would grow exponentially."""
    many = [f"(r + {n})" for n in range(40)]
    body = f'r = yield ld("z")\na = {" and ".join(many)}\nb = {" or ".join(many)}\nc = max({", ".join(many)})'
    found = run(body + f'\nyield rmw("x", lambda old: min({", ".join(many[:16])}, old) or {" or ".join(many)})')
    assert (found["a"], found["b"], found["c"], found["x"]) == (41, 2, 41, 2)


def test_arguments_closures_and_defaults_are_constants() -> None:
    def maker(place: str) -> Callable[..., Generator[Any, Any, Any]]:
        scale = 10

        def worker(me: int, *, more: int = 1) -> Generator[Any, Any, Any]:
            mine = f"{place}{me}"
            yield st(mine, scale * me + more)
            me += 1
            yield st(mine, me)

        return worker

    from teetotal import program, st

    worker = maker("x")
    test = program(worker(0), worker(1, more=7), x0=0, x1=0)
    agree(lambda: [worker(0), worker(1, more=7)], test, seed=3)
    values = [i.value for t in test.threads for i in t.code if isinstance(i, Store)]
    assert values == [Const(1), Const(1), Const(17), Const(2)]
    assert [thread.name for thread in test.threads] == ["worker0", "worker1"]
    assert test.observed == (Final(None, "x0"), Final(None, "x1")), "me always ends with the same value"


def test_instructions_keep_their_source_lines() -> None:
    _, program = build(
        'def h():\n    yield st("x", 1)\ndef t():\n    yield from h()\n    r = (yield\n        ld("y"))\n'
    )
    lines = [i.location.line for i in program.threads[0].code if isinstance(i, Load | Store)]
    assert lines == [5, 9]
    assert program.source == __file__


def test_the_instructions_are_the_ones_expected() -> None:
    _, program = build(
        """
def t():
    r = yield ld("x")
    yield st("y", r + 1)
    r = yield cas("z", r, 3)
    yield rmw("z", lambda old: old + r)
    yield mfence
    yield mfence()
    yield sfence()
    yield lock("x")
    yield unlock("x")
    assert r == 0
    assume(r == 0)
    while r:
        pass
"""
    )
    (thread,) = program.threads
    bare = [i.__class__(**{f: getattr(i, f) for f in i.__struct_fields__ if f != "location"}) for i in thread.code]
    zero = Op("==", (Reg("r"), Const(0)))
    rmw: dict[str, MemoryOrder] = {"order": "seq_cst", "failure": "seq_cst"}
    assert bare == [
        Load(register="r", address=Addr("x")),
        Store(address=Addr("y"), value=Op("+", (Reg("r"), Const(1)))),
        Rmw(address=Addr("z"), value=Const(3), register="r", when=Op("==", (Old(), Reg("r"))), **rmw),
        Rmw(address=Addr("z"), value=Op("+", (Old(), Reg("r"))), **rmw),
        Fence(kind=Kind.MFENCE, order="seq_cst"),
        Fence(kind=Kind.MFENCE, order="seq_cst"),
        Fence(kind=Kind.SFENCE, order="release"),
        Lock(address=Addr("x")),
        Unlock(address=Addr("x")),
        Assert(condition=zero),
        Assume(condition=zero),
        Branch(target=13, when=zero),
        Branch(target=11),
    ]


def test_a_failing_assertion_and_an_index_out_of_range_stop_the_thread() -> None:
    for body in (
        'assert (yield ld("x")) == 1',
        'yield ld(cells[(yield ld("z")) + 1])',
        'yield ld(cells[(yield ld("x")) - 1])',
        'a = 1 << ((yield ld("x")) - 1)',
    ):
        _, program = build(f"def t():\n    {body}\n")
        run = models.Run(program, "sc", Semantics())
        while run.steps():
            run.take(run.steps()[0])
        assert run.locals[0].status == "failed", body


def test_an_assumption_blocks_the_thread_and_the_loop_bound_cuts_it() -> None:
    ends = {'assume((yield ld("x")) == 1)': "blocked", 'while (yield ld("x")) == 0:\n        pass': "cut"}
    for body, status in ends.items():
        _, program = build(f"def t():\n    {body}\n", loop_bound=3)
        assert {run.locals[0].status for run in models.executions(program, "sc")} == {status}
        assert models.final_states(program, "sc") == set()


def test_a_loop_bound_is_kept() -> None:
    for bound in (None, 3):
        assert build("def t():\n    yield mfence\n", loop_bound=bound)[1].loop_bound == bound


def test_arrays_are_declared_by_use_and_stay_side_by_side() -> None:
    _, program = build('def t():\n    i = yield ld("x")\n    yield st(cells[i], 1)\n    yield ld(cells[0])\n')
    assert list(program.memory) == ["x", "y", "z", "cells[0]", "cells[1]", "cells[2]"]
    assert program.memory["cells[2]"] == 30
    _, program = build("def t():\n    yield ld(cells[1])\n", cells=[7, 8, 9])
    assert program.memory == {"x": 0, "y": 1, "z": 2, "cells[0]": 7, "cells[1]": 8, "cells[2]": 9}


def test_memory_may_begin_with_addresses_and_unusual_names() -> None:
    from teetotal import address, ld, program

    def t() -> Generator[Any, Any, Any]:
        p = yield ld("the head")
        r = yield ld(p)
        assert r == 5

    test = program(t(), memory={"the head": address("node"), "node": 5})
    assert test.memory == {"the head": 2, "node": 5}
    assert {run.locals[0].status for run in models.executions(test, "sc")} == {"ended"}


def test_spinning_leaves_no_trace_in_the_state() -> None:
    """However long a thread has waited, its state is the same: the state space of a spin loop is finite."""
    _, program = build('def t():\n    while (yield ld("x")) + (yield ld("y")) != 0:\n        pass\n')
    state = program.start(0)
    seen = {state}
    for answer in (3, 1, 4, 1, 5, 9, 2, 6):
        state = program.update(0, state, answer)
        seen.add(state)
    assert len({s for s in seen if s.pc == state.pc}) == 1
