"""``teetotal fence`` on litmus tests and Python programs: the patch, and nothing but the patch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fencing_tools import added, fenced, taken
from teetotal.answers.costs import parse
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind
from teetotal.answers.verdict import Verdict
from teetotal.cli import teetotal as command
from teetotal.fences.fencing import fence
from teetotal.fences.python import PythonSource

SB = """X86_64 SB
"Fre PodWR Fre PodWR"
{ uint64_t x; uint64_t y; }
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;  (* a ; and a | in a comment *)
 movq (y),%rax | movq (x),%rax ;
exists (0:rax=0 /\\ 1:rax=0)
"""


def test_a_row_in_the_table_and_the_rest_as_it_was(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.litmus", SB)
    assert answer.answer.verdict is Verdict.SAFE
    assert added(answer) == [" mfence        | mfence        ;"]
    assert taken(answer) == []
    assert answer.text.replace(" mfence        | mfence        ;\n", "") == SB


def test_crlf_stays_crlf(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.litmus", SB.replace("\n", "\r\n"))
    assert answer.answer.verdict is Verdict.SAFE
    assert answer.text.count("\n") == answer.text.count("\r\n") == SB.count("\n") + 1


def test_a_fence_in_one_column_only(tmp_path: Path) -> None:
    passing = SB.replace("movq (y),%rax | movq (x),%rax", "movq $1,(y)   | movq (x),%rbx").replace(
        "movq $1,(x)   | movq $1,(y) ", "movq $1,(x)   | movq (y),%rax"
    )
    answer = fenced(tmp_path, "mp.litmus", passing)
    assert [f.kind for f in answer.answer.fences] == ["sfence"]
    assert added(answer)[0].split("|")[1].strip() == ";"
    assert fenced(tmp_path, "mp.litmus", passing, models=("tso",)).answer.diff == ""


def test_a_fence_behind_a_label_is_a_fence(tmp_path: Path) -> None:
    over = SB.replace(" movq (y)", " mfence        | mfence        ;\n L0: mfence    | L1: sfence    ;\n movq (y)", 1)
    answer = fenced(tmp_path, "sb.litmus", over, remove=True)
    assert answer.answer.verdict is Verdict.SAFE
    assert len(answer.answer.removed) == 2
    assert answer.text.count("fence") == 2


def test_a_fence_in_a_loop_costs_more(tmp_path: Path) -> None:
    twice = """X86_64 SB+twice
{ 0:rcx=2; }
 P0            | P1            ;
 L0:           |               ;
 movq $1,(x)   | movq $1,(y)   ;
 movq (y),%rax | movq (x),%rax ;
 decq %rcx     |               ;
 jne L0        |               ;
exists (1:rax=0)
"""
    for settings, factor in (({}, 4), ({"costs": parse("loop=7")}, 7)):
        answer = fenced(tmp_path, "twice.litmus", twice, models=("tso",), **settings).answer
        assert [(fence.in_loop, fence.cost) for fence in answer.fences] == [(True, 10 * factor), (False, 10)]


def test_existing_fences_that_are_not_needed(tmp_path: Path) -> None:
    over = SB.replace(" movq (y)", " mfence        | mfence        ;\n sfence        | mfence        ;\n movq (y)", 1)
    answer = fenced(tmp_path, "sb.litmus", over)
    assert answer.answer.diff == ""
    assert len(answer.answer.unnecessary) == 3  # each by itself
    removed = fenced(tmp_path, "sb.litmus", over, remove=True)
    assert removed.answer.verdict is Verdict.SAFE
    assert [f.kind for f in removed.answer.removed] == ["sfence", "mfence"] or len(removed.answer.removed) == 2
    assert removed.text.count("mfence") == 2
    assert "sfence" not in removed.text


C_SB = """C SB
{}
P0 (atomic_int* x, atomic_int* y) {
  // größer
  atomic_store_explicit(x, 1, memory_order_relaxed); // first
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  int r1 = 1;
  if (r1)
    atomic_store_explicit(y, 1, memory_order_relaxed);
  while (r1 == 1) r1 = atomic_load_explicit(x, memory_order_relaxed) + 2;
}
exists (0:r0=0 /\\ 1:r1=2)
"""


def test_c_litmus(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.litmus", C_SB)
    assert answer.answer.verdict is Verdict.SAFE
    assert "  // größer\n" in answer.text
    assert "  atomic_thread_fence(memory_order_seq_cst);" in added(answer)
    assert len(answer.answer.fences) == 2


def test_c_litmus_in_the_words_of_the_kernel(tmp_path: Path) -> None:
    kernel = "C SB\n{}\nP0 (int* x, int* y) {\n  WRITE_ONCE(*x, 1);\n  int r = READ_ONCE(*y);\n}\n"
    kernel += "P1 (int* x, int* y) {\n  WRITE_ONCE(*y, 1);\n  int r = READ_ONCE(*x);\n}\nexists (0:r=0 /\\ 1:r=0)\n"
    assert added(fenced(tmp_path, "sb.litmus", kernel)) == ["  smp_mb();", "  smp_mb();"]


PYTHON = '''"""Größe."""

from teetotal import ld, program, st  # what it needs


def left(rounds):
    """A docstring stays first."""
    for _ in range(rounds):
        yield st("x", 1)
        r = yield ld("y")


def right():
\tyield st("y", 1)
\tif True:
\t\tr = yield ld("x")


sb = program(left(1), right(), x=0, y=0)
'''


def test_python(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.py", PYTHON)
    assert answer.answer.verdict is Verdict.SAFE
    assert added(answer) == [
        "from teetotal import ld, mfence, program, st  # what it needs",
        "        yield mfence()",
        "\tyield mfence()",
    ]
    assert [f.line for f in answer.answer.fences] == [9, 14]
    assert [f.patched_line for f in answer.answer.fences] == [10, 16]


def test_python_with_another_name_for_teetotal(tmp_path: Path) -> None:
    text = PYTHON.replace("from teetotal import ld, program, st  # what it needs", "import teetotal as t")
    for word in ("ld", "st", "program"):
        text = text.replace(f" {word}(", f" t.{word}(")
    assert added(fenced(tmp_path, "sb.py", text)) == ["        yield t.mfence()", "\tyield t.mfence()"]


@pytest.mark.parametrize(
    "taken_by",
    [
        "mfence = 1",
        "def mfence(): return 1",
        "from math import tau as mfence",
        "class mfence: pass",
        "teetotal = mfence = 1",
    ],
)
def test_python_where_the_fence_s_name_is_taken(tmp_path: Path, taken_by: str) -> None:
    """It was used all the same, and the file refused for what it then meant."""
    text = PYTHON.replace("# what it needs", f"# what it needs\n{taken_by}")
    answer = fenced(tmp_path, "sb.py", text)
    assert answer.answer.verdict is Verdict.SAFE
    name = "teetotal_1" if taken_by.startswith("teetotal") else "teetotal"
    assert added(answer)[0] == ("import teetotal" if name == "teetotal" else f"import teetotal as {name}")
    assert {line.strip() for line in added(answer)[1:]} == {f"yield {name}.mfence()"}


def test_python_where_a_parameter_has_the_fence_s_name(tmp_path: Path) -> None:
    text = "from teetotal import *\n\n\ndef thread(mfence, other):\n    yield st(mfence, 1)\n    r = yield ld(other)\n"
    answer = fenced(tmp_path, "sb.py", text + '\n\nsb = program(thread("x", "y"), thread("y", "x"), x=0, y=0)\n')
    assert added(answer) == ["import teetotal", "    yield teetotal.mfence()"]


def test_python_lines_that_end_with_a_carriage_return_are_refused(tmp_path: Path) -> None:
    """Their numbers are Python's and nobody else's: it was an internal error, or the fence came to another line."""
    with pytest.raises(TeetotalError, match=r"sb\.py:3: .* carriage return"):
        fenced(tmp_path, "sb.py", PYTHON.replace("# what it needs\n", "# what\r# it needs\n"))


def test_python_statements_that_share_a_line_are_refused_with_the_place(tmp_path: Path) -> None:
    text = PYTHON.replace(
        '        yield st("x", 1)\n        r = yield ld("y")', '        yield st("x", 1); r = yield ld("y")'
    )
    answer = fenced(tmp_path, "sb.py", text)
    assert answer.answer.verdict is Verdict.VIOLATION
    assert any("sb.py:9: several statements on one line" in note for note in answer.answer.notes)


def test_python_whose_last_line_has_no_end(tmp_path: Path) -> None:
    """A fence could stand behind it, so that one is put there to see."""
    answer = fenced(tmp_path, "sb.py", PYTHON + '\n\ndef unused():\n    yield st("x", 1)')
    assert answer.answer.verdict is Verdict.SAFE
    assert answer.text.endswith('\n    yield st("x", 1)')


def test_a_shared_function_gets_one_fence(tmp_path: Path) -> None:
    text = (
        "from teetotal import ld, program, st\n\n\ndef thread(mine, other):\n    yield st(mine, 1)\n"
        '    r = yield ld(other)\n\n\nsb = program(thread("x", "y"), thread("y", "x"), x=0, y=0)\n'
    )
    answer = fenced(tmp_path, "sb.py", text)
    assert [(f.cost, f.passes) for f in answer.answer.fences] == [(20, 2)]  # both threads have it
    assert answer.answer.verdict is Verdict.SAFE


def test_python_fences_that_are_not_needed_go(tmp_path: Path) -> None:
    text = PYTHON.replace("import ld,", "import ld, mfence, sfence,").replace(
        'yield st("x", 1)\n', 'yield st("x", 1)\n        yield mfence\n        yield sfence\n'
    )
    text = text.replace('\tyield st("y", 1)\n', '\tyield st("y", 1)\n\tyield mfence()\n')
    answer = fenced(tmp_path, "sb.py", text)
    assert answer.answer.diff == ""
    assert [(f.kind, f.line) for f in answer.answer.unnecessary] == [("sfence", 11)]
    removed = fenced(tmp_path, "sb.py", text, remove=True)
    assert taken(removed) == ["        yield sfence"]
    assert removed.answer.verdict is Verdict.SAFE


def test_a_block_that_loses_its_only_fence_passes() -> None:
    text = (
        "from teetotal import mfence\ndef t():\n    if True:\n        yield mfence()\n    yield mfence()\n    return\n"
    )
    source = PythonSource("p.py", text)
    gone = source.patched([], [("existing", 4), ("existing", 5)]).text
    stays = "from teetotal import mfence\ndef t():\n    if True:\n        pass\n    yield from ()\n    return\n"
    assert gone == stays
    assert (7, 4) not in source.places  # behind the return


def test_a_function_that_loses_its_only_yield_stays_a_generator(tmp_path: Path) -> None:
    """Without it, it was a plain function, and the patched file no program."""
    text = (
        "from teetotal import ld, mfence, program, st\n\n\ndef barrier():\n    yield mfence\n\n\n"
        'def left():\n    yield st("x", 1)\n    yield from barrier()\n    r = yield ld("x")\n\n\n'
        "def right():\n    if True:\n        yield mfence\n\n\np = program(left(), right(), x=0)\n"
    )
    answer = fenced(tmp_path, "helper.py", text, remove=True)
    assert answer.text == text.replace("yield mfence", "yield from ()")
    assert answer.answer.verdict is Verdict.SAFE
    assert [placed.line for placed in answer.answer.removed] == [5, 16]


def test_a_function_that_gets_another_fence_needs_no_other_yield() -> None:
    source = PythonSource("p.py", "from teetotal import mfence, sfence\ndef t():\n    yield mfence\n")
    gone = source.patched([((4, 4), Kind.SFENCE)], [("existing", 3)]).text
    assert gone == "from teetotal import mfence, sfence\ndef t():\n    pass\n    yield sfence()\n"


def test_write_keeps_a_backup_and_the_patch_applies(tmp_path: Path) -> None:
    path = tmp_path / "sb.litmus"
    path.write_text(SB)
    path.chmod(0o640)
    run = CliRunner().invoke(command, ["fence", str(path), "--write", "--json"], standalone_mode=False)
    result = json.loads(run.output)
    assert run.return_value == 0
    assert result["verdict"] == "safe"
    assert {"kind", "file", "line", "after"} <= result["fences"][0].keys()
    assert (tmp_path / "sb.litmus.orig").read_text() == SB
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_text().count("mfence") == 2
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    again = CliRunner().invoke(command, ["fence", str(path), "--write"], standalone_mode=False)
    assert "already robust" in again.output
    assert not (tmp_path / "sb.litmus.orig1").exists()


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_the_diff_is_one_that_patch_understands(tmp_path: Path) -> None:
    answer = fenced(tmp_path, "sb.litmus", SB.rstrip("\n"))
    done = subprocess.run(
        ["patch", "-s", str(tmp_path / "sb.litmus")],
        input=answer.answer.diff.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sb.litmus").read_text() == answer.text


def test_all_sets_and_costs(tmp_path: Path) -> None:
    passing = (
        "X86_64 MP\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq (y),%rax ;\n"
        " movq $2,(z) | movq (z),%rbx ;\n movq $1,(y) | movq (x),%rcx ;\nexists (1:rax=1 /\\ 1:rcx=0)\n"
    )
    answer = fenced(tmp_path, "mp.litmus", passing, every=True)
    assert answer.answer.verdict is Verdict.SAFE
    costs = [sum(f.cost for f in one) for one in answer.answer.sets]
    assert costs == sorted(costs)
    assert len({tuple((f.kind, f.line) for f in one) for one in answer.answer.sets}) == len(costs)
    run = CliRunner().invoke(
        command, ["fence", str(tmp_path / "mp.litmus"), "--cost", "sfence=0", "--json"], standalone_mode=False
    )
    assert "more than 0" in str(run.exception)


@pytest.mark.parametrize("place", [1, 2])
def test_a_fence_that_is_there_stays_where_another_would_do_as_well(tmp_path: Path, place: int) -> None:
    left = ["movq $1,(x)", "movq (z),%rcx", "movq (y),%rax"]
    left.insert(place, "mfence")
    right = ["movq $1,(y)", "mfence", "movq (x),%rax", ""]
    rows = "".join(f" {a} | {b} ;\n" for a, b in zip(left, right, strict=True))
    text = f"X86_64 kept\n{{}}\n P0 | P1 ;\n{rows}exists (0:rax=0)\n"
    result = fenced(tmp_path, "kept.litmus", text, minimum=True, remove=True).answer
    assert (result.verdict, result.fences, result.removed) == (Verdict.SAFE, [], [])


def test_a_program_that_is_wrong_anyway(tmp_path: Path) -> None:
    text = PYTHON.replace("x=0, y=0)", 'x=0, y=0, always="x == 2")')
    answer = fenced(tmp_path, "sb.py", text, goal="safe")
    assert answer.answer.verdict is Verdict.VIOLATION
    assert "under SC too" in answer.answer.notes[0]


@pytest.mark.parametrize("example", ["dekker", "message_passing", "peterson", "spinlock", "store_buffering"])
def test_the_examples_are_repaired(example: str) -> None:
    path = Path(__file__).parents[2] / "examples" / f"{example}.py"
    answer = fence(str(path))
    assert answer.answer.fences
    assert answer.answer.met
    failing = [note.partition(" fails under SC already")[0] for note in answer.answer.notes]
    assert failing == (["no_lock"] if example == "spinlock" else [])
    assert (answer.answer.verdict is Verdict.SAFE) == (not failing)


def test_loading_the_command_does_not_load_the_solvers() -> None:
    code = (
        "import sys, teetotal.cli.fence; print([m for m in ('pysat', 'tree_sitter', 'elftools') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("monitors", "verdict", "said"),
    [
        ("exact-tso,exact-pso", Verdict.SAFE, "robust under TSO and PSO: proved"),
        ("exact-pso", Verdict.INCONCLUSIVE, "no monitor for TSO was chosen with --monitor"),
        ("exact-pso,sober", Verdict.INCONCLUSIVE, "sober can miss violations"),
    ],
)
def test_only_monitors_that_miss_nothing_prove_fences(
    tmp_path: Path, monitors: str, verdict: Verdict, said: str
) -> None:
    path = tmp_path / "sb.litmus"
    path.write_text(SB)
    run = CliRunner().invoke(command, ["fence", "--monitor", monitors, str(path)], standalone_mode=False)
    assert run.return_value == verdict.exit_status
    assert said in run.output


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--monitor", "exact"], "no monitor is called exact"),
        (["--monitor", "sober", "--goal", "safe"], "--goal robust"),
        (["--monitor", "sober"], "Promela"),
    ],
)
def test_monitors_are_for_robustness_and_not_for_promela(tmp_path: Path, options: list[str], why: str) -> None:
    path = tmp_path / "p.pml"
    path.write_text("byte x; active proctype P() { x = 1 }")
    run = CliRunner().invoke(command, ["fence", *options, str(path)], standalone_mode=False)
    assert isinstance(run.exception, TeetotalError | click.UsageError)
    assert why in str(run.exception)


@pytest.mark.parametrize("type", ["volatile int*", "const volatile int*", "_Atomic int*", "int* restrict"])
def test_threads_of_c_whose_parameters_are_qualified(tmp_path: Path, type: str) -> None:
    """tree-sitter takes ``P0 (volatile int* x) {`` for a call that went wrong, and found no statement in its body."""
    text = (
        f"C MP\n{{ }}\nP0 ({type} x,\n    {type} y) {{\n  *x = 1;\n  *y = 1;\n}}\n"
        f"P1 ({type} x, {type} y) {{\n  int r0 = *y;\n  int r1 = *x;\n}}\nexists (1:r0=1 /\\ 1:r1=0)\n"
    )
    answer = fenced(tmp_path, "mp.litmus", text)
    assert answer.answer.verdict is Verdict.SAFE
    assert added(answer) == ["  atomic_thread_fence(memory_order_release);"]
