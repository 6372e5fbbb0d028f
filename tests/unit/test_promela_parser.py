"""What is not Promela, or not supported, is refused with its line and a reason; what is, means what the reference says."""

from __future__ import annotations

import pytest

from promela_plain import as_program
from teetotal.answers.errors import ParseError, ProgramError
from teetotal.answers.verdict import Verdict
from teetotal.engines.symbolic.verify import verify
from teetotal.models import is_sc, traces
from teetotal.programs.program import Load, Store
from teetotal.programs.promela import compile_text

REFUSED = [
    ("active proctype P() {\n  x = 1\n}", 2, "x is not declared"),
    ("chan c = [1] of { byte };", 1, "channels"),
    ("byte x;\nactive proctype P() { x = 1", 2, "expected"),
    ("byte x;\nactive proctype P() { if :: x == 1 -> skip }", 2, "expected"),
    ("byte x;\nactive proctype P() {\n goto nowhere }", 3, "no label nowhere"),
    ("active proctype P() { break }", 1, "break outside"),
    ("active proctype P() { else }", 1, "else"),
    ("byte x[2];\nactive proctype P() { x[2] = 1 }", 2, "outside the array"),
    ("byte x[2];\nactive proctype P() { x = 1 }", 2, "an array"),
    ("byte x; byte x;", 1, "declared twice"),
    ("active proctype P() { a: skip;\n a: skip }", 2, "defined twice"),
    ("byte x;\n\nactive proctype P() { x = 1 $ 2 }", 3, "'$' is not Promela"),
    ("/* never closed", 1, "comment"),
    ('#include "other.h"', 1, "teetotal.h"),
    ("#if 1", 1, "#if is not supported"),
    ("#ifdef A\nbyte x;", 1, "#endif"),
    ("#define F(a, b) a\nactive proctype P() { F(1) }", 2, "takes 2 arguments"),
    ("inline f(a) { skip }\nactive proctype P() { f() }", 2, "takes 1 argument"),
    ("inline f() { f() }\nactive proctype P() { f() }", 1, "calls itself"),
    ("active proctype P() { byte a; a = 1 / a }", 1, "positive constant"),
    ("proctype P(byte v) { skip }\ninit { run P() }", 2, "takes 1 argument"),
    ("proctype P() { run P() }\ninit { run P() }", 1, "init only"),
    ("byte x;\nproctype P() { skip }\ninit { run P(); x = 1; run P() }", 3, "between two runs"),
    ("byte x;", 1, "no process"),
    ("active [2] proctype P() { cs: skip }\nforbidden(m, P@cs)", 2, "which process"),
    ("active proctype P() { cs: skip }\nforbidden(m, P@sc)", 2, "no label sc"),
    ("byte x; active proctype P() { cs: skip }\nforbidden(m, P@cs && x == 1)", 2, "ghost"),
    ("ghost byte g; active proctype P() { byte a;\ncas(a, g, 0, 1) }", 2, "shared memory"),
    ("byte x;\nactive proctype P() { cas(x, x, 0, 1) }", 2, "process's own"),
    ("byte x; active proctype P() { byte a;\ncas(a, x, 0) }", 2, "cas(r, x, old, new)"),
    ("active proctype P(byte b) { skip }", 1, "start it with run"),
    ("never { skip }", 1, "never claims"),
    ("active proctype P() { atomic { a: goto a } }", 1, "atomic"),
    ("byte x;\nactive proctype P() { goto a; atomic { x = 1; a: x = 2 } }", 2, "goto into an atomic block"),
    ("byte x; active proctype P() {\ndo :: atomic { x == 0 -> break } od }", 2, "break out of an atomic block"),
    ("byte x; active proctype P() { byte r;\nselect (r : 0 .. x) }", 2, "select cannot read shared memory"),
    ("byte x; active proctype P() { byte a[2];\nselect (a[x] : 0 .. 1) }", 2, "select cannot read shared memory"),
    ("ghost byte g; byte x; active proctype P() { byte a[2];\nxchg(a[g], x, 1) }", 2, "cannot read ghost variables"),
    ("bit m; active proctype P() {\nif :: lock(m) -> skip :: else -> skip fi }", 2, "may wait"),
]


@pytest.mark.parametrize(("text", "line", "reason"), REFUSED)
def test_refused_with_line_and_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(ParseError) as refused:
        compile_text(text, "f.pml")
    assert refused.value.location is not None
    assert (refused.value.location.file, refused.value.location.line) == ("f.pml", line)
    assert reason in refused.value.message


def test_waiting_inside_an_atomic_block_is_refused_when_it_happens() -> None:
    program = compile_text("byte x, y;\nactive proctype P() { atomic { x = 1;\n y == 1; x = 2 } }")
    with pytest.raises(ProgramError, match=r"3: .*atomic block"):
        verify(program, "tso")


def test_each_statement_is_split_into_single_accesses() -> None:
    program = compile_text("byte x, y, z; active proctype P() { x = y + z + y }")
    accesses = [i for i in program.processes[0].code if isinstance(i, Load | Store)]
    names = [program.addresses[program.possible_addresses(i.address)[0]] for i in accesses]
    assert names == ["y", "z", "x"], "each shared variable is loaded once"


def test_an_index_out_of_bounds_is_a_violation() -> None:
    program = compile_text(
        "byte x, a[2]; active proctype P() { byte i; i = x; a[i] = 1 } active proctype Q() { x = 2 }"
    )
    assert verify(program, "sc").verdict is Verdict.VIOLATION


def test_ghosts_are_not_buffered() -> None:
    text = """byte x; ghost byte g;
    active proctype P() { x = 1; g = 1 }
    active proctype Q() { byte a; (g == 1); a = x; assert(a == 1) }"""
    assert verify(compile_text(text), "sc").verdict is Verdict.SAFE
    assert verify(compile_text(text), "tso").verdict is Verdict.VIOLATION, "the store may lag behind the ghost"


def test_a_locked_block_flushes() -> None:
    text = """byte x, y, z;
    active proctype P() { x = 1; atomic { z = 1 }; (y == 0); here: skip }
    active proctype Q() { y = 1; atomic { z = 2 }; (x == 0); here: skip }
    forbidden(both, P@here && Q@here)"""
    assert verify(compile_text(text), "pso").verdict is Verdict.SAFE
    assert verify(compile_text(text.replace("atomic { z = 2 };", "")), "tso").verdict is Verdict.VIOLATION


def test_a_plain_program_is_a_program_for_the_others_too() -> None:
    text = "byte x, y; active proctype P() { byte a; x = 1; a = y } active proctype Q() { byte b; y = 1; b = x }"
    program = as_program(compile_text(text))
    assert all(is_sc(trace) for trace in traces(program, "sc"))
    assert not all(is_sc(trace) for trace in traces(program, "tso"))
    with pytest.raises(ProgramError, match="only verify"):
        as_program(compile_text("active proctype P() { if :: skip :: skip fi }"))


def test_macros_and_conditional_text() -> None:
    text = """#define TWO 2
#define add(a, b) (a + b)
#define add3(a) add(a, \\
  1 + TWO)
#ifdef MISSING
nonsense
#else
byte x;
#endif
active proctype P() { assert(add3(TWO) == 5); assert('a' == 97) }"""
    assert verify(compile_text(text), "sc").verdict is Verdict.SAFE


def test_a_macro_may_stand_in_its_own_argument() -> None:
    """Arguments are expanded before they are put in, as in C; a macro in its own body stays as it is."""
    text = """#define MAX(a, b) (a > b -> a : b)
#define next(a) (a + 1)
#define again again
byte again;
active proctype P() { again = MAX(MAX(1, 7), next(next(MAX(2, 3)))); assert(again == 7) }"""
    assert verify(compile_text(text), "sc").verdict is Verdict.SAFE


def test_init_goes_on_after_its_last_run() -> None:
    text = "byte x; proctype P() { x = 1 } init { byte a; run P(); a = x; assert(a == 0) }"
    assert verify(compile_text(text), "sc").verdict is Verdict.VIOLATION


def test_init_goes_on_above_its_last_run() -> None:
    """The rest of init was looked for behind its last run only, and this was proved."""
    text = """byte x;
    proctype P() { x = 1 }
    init { goto start; rest: x == 1; assert(false); goto end; start: run P(); goto rest; end: skip }"""
    assert verify(compile_text(text), "tso").verdict is Verdict.VIOLATION


@pytest.mark.parametrize("text", ["init { skip }", "byte x; init { }", "active proctype P() { }"])
def test_a_process_without_statements_is_a_process(text: str) -> None:
    assert [verify(compile_text(text), m).verdict for m in ("tso", "pso")] == [Verdict.SAFE, Verdict.SAFE]


@pytest.mark.parametrize(("jump", "apart"), [("goto again", True), ("skip", False)])
def test_places_on_both_sides_of_a_label_are_one_unless_somebody_jumps_there(jump: str, apart: bool) -> None:
    text = f"byte x, y; active proctype P() {{ byte r; x = 1; again: y = 1; r = x; if :: r == 1 -> {jump} :: else fi }}"
    sites = {(text[site.span.start : site.span.end], site.after) for site in compile_text(text, places="gaps").sites}
    assert ("x = 1", True) in sites
    assert (("y = 1", False) in sites) == apart
