"""Goals mean the same everywhere: what ``--goal safe`` is about, and what outcomes say about robustness."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notation import program
from teetotal import checking, traces
from teetotal.answers.errors import Fault
from teetotal.answers.events import Event, Kind, ModelName
from teetotal.answers.options import CheckOptions
from teetotal.answers.strategies import parse
from teetotal.answers.verdict import Verdict
from teetotal.engines import interpreted
from teetotal.engines.executions.robustness import Robustness
from teetotal.programs.expressions import Const, Final, Op
from teetotal.programs.litmus import read
from teetotal.programs.program import Program
from teetotal.traces.trace import Trace

SB = """X86_64 SB
{
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 movq (y),%rax | movq (x),%rax ;
"""
FENCED = SB.replace(" movq (y)", " mfence | mfence ;\n movq (y)")
BOTH_ZERO = "(0:rax=0 /\\ 1:rax=0)"
LOCKED = """C locked
{}
P0 (int* m, int* n) { spin_lock(m); spin_lock(n); spin_unlock(n); spin_unlock(m); }
P1 (int* m, int* n) { spin_lock(n); spin_lock(m); spin_unlock(m); spin_unlock(n); }
exists (true)
"""
Run = Callable[..., tuple[int, str, str]]


def safe(text: str) -> dict[ModelName, bool | None]:
    result = checking.check(read(text, "test.litmus"), CheckOptions(goal="safe"))
    return {model: found.safe for model, found in result.models.items()}


# -- a litmus condition -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [f"~exists {BOTH_ZERO}", "forall (0:rax=1 \\/ 1:rax=1)"])
def test_a_claim_is_what_safe_is_about(run: Run, claim: str) -> None:
    assert safe(SB + claim) == {"sc": True, "tso": False, "pso": False}
    assert safe(FENCED + claim) == {"sc": True, "tso": True, "pso": True}
    Path("SB.litmus").write_text(SB + claim)
    assert run("check", "--goal", "safe", "SB.litmus")[0] == 1
    status, out, _ = run("fence", "--goal", "safe", "--json", "SB.litmus")
    answer = json.loads(out)
    assert (status, len(answer["fences"]), answer["verdict"]) == (0, 2, "safe")
    assert [found["goal"] for found in answer["patched"]] == ["safe"]


def test_a_claim_that_sc_breaks_has_no_fences(run: Run) -> None:
    Path("SB.litmus").write_text(SB + "~exists (0:rax=1)")
    assert run("check", "--goal", "safe", "SB.litmus")[0] == 1
    status, out, _ = run("fence", "--goal", "safe", "SB.litmus")
    assert status == 1
    assert "SC" in out


def test_a_condition_is_no_assertion_by_itself(run: Run) -> None:
    """Only the goal makes it one: the same test without it is robust and safe."""
    Path("SB.litmus").write_text(FENCED + "~exists (0:rax=1)")
    assert run("check", "SB.litmus")[0] == 0
    assert run("check", "--goal", "safe", "SB.litmus")[0] == 1


def test_a_filter_exempts_final_states() -> None:
    assert safe(f"{SB}filter (0:rax=1)\n~exists {BOTH_ZERO}") == {"sc": True, "tso": True, "pso": True}
    assert safe(f"{SB}filter (0:rax=0)\n~exists {BOTH_ZERO}") == {"sc": True, "tso": False, "pso": False}


def test_a_claim_and_an_assertion_about_the_end_must_both_hold() -> None:
    zero, one = (Op("==", (Final(0, "rax"), Const(value))) for value in (0, 1))
    fails, holds = one, Op("or", (zero, one))
    for claim, always, expected in ((BOTH_ZERO, holds, True), (BOTH_ZERO, fails, False), ("(0:rax=0)", holds, False)):
        asked = msgspec.structs.replace(read(f"{SB}~exists {claim}", "sb.litmus"), final_assertion=always)
        assert checking.check(asked, CheckOptions(models=("sc",), goal="safe")).models["sc"].safe is expected


@pytest.mark.parametrize("verb", ["check", "fence"])
@pytest.mark.parametrize("question", [f"exists {BOTH_ZERO}", "", "locations [x;]"])
def test_a_question_is_no_requirement(run: Run, verb: str, question: str) -> None:
    Path("SB.litmus").write_text(SB + question)
    status, out, err = run(verb, "--goal", "safe", "SB.litmus")
    assert (status, out) == (2, "")
    assert "SB.litmus: SB: nothing here can fail" in err
    assert ("`exists` is a question" in err) == question.startswith("exists")


def test_what_can_fail_beside_a_question_is_the_goal(run: Run) -> None:
    Path("locked.litmus").write_text(LOCKED)
    status, out, _ = run("check", "--goal", "safe", "locked.litmus")
    assert status == 1
    assert "every thread that has not ended waits for a mutex" in out
    assert "Note: `exists` is a question, and no part of the goal" in out


def test_python_programs_have_the_same_goals(run: Run) -> None:
    Path("sb.py").write_text(
        "from teetotal import ld, program, st\n"
        "def left():\n    yield st('x', 1)\n    r = yield ld('y')\n"
        "def right():\n    yield st('y', 1)\n    r = yield ld('x')\n"
        "claim = program(left(), right(), x=0, y=0, never='left.r == 0 and right.r == 0')\n"
        "question = program(left(), right(), x=0, y=0, exists='left.r == 0 and right.r == 0')\n"
    )
    status, out, err = run("check", "--goal", "safe", "--json", "sb.py")
    assert status == 2
    assert "sb.py: question: nothing here can fail" in err
    claim, refused = map(json.loads, out.splitlines())
    assert refused["error"].startswith("sb.py: question: nothing here can fail")
    assert [model["safe"] for model in claim["models"].values()] == [True, False, False]
    assert run("fence", "--goal", "safe", "--program", "claim", "sb.py")[0] == 0


def test_replay_knows_the_goal(run: Run) -> None:
    Path("SB.litmus").write_text(f"{SB}~exists {BOTH_ZERO}")
    _, out, _ = run("check", "--goal", "safe", "--model", "tso", "--json", "SB.litmus")
    (violation,) = json.loads(out)["violations"]
    assert violation["kind"] == "final assertion"
    status, out, _ = run(*violation["replay"].split()[1:])
    assert status == 1
    assert "Not safe: (not ((0:rax == 0) and (1:rax == 0))) does not hold in the end" in out


def test_promela_knows_the_goal(run: Run) -> None:
    Path("sb.pml").write_text(
        "byte x, y;\nactive proctype P() { byte r; x = 1; r = y }\nactive proctype Q() { byte r; y = 1; r = x }\n"
    )
    for goal, status, robust in (("robust", 1, False), ("safe", 0, None)):
        found = run("check", "--goal", goal, "--json", "sb.pml")
        assert found[0] == status
        assert json.loads(found[1])["models"]["tso"]["robust"] is robust


# -- robust, and failing under SC ----------------------------------------------------------------------------------------

FAILING = {
    "sb.py": (
        "from teetotal import ld, program, st\n"
        "def left():\n    yield st('x', 1)\n    assert (yield ld('y')) == 1\n"
        "def right():\n    yield st('y', 1)\n    r = yield ld('x')\n"
        "p = program(left(), right(), x=0, y=0)\n"
    ),
    "sb.pml": (
        "byte x, y;\nactive proctype P() { byte r; x = 1; r = y; assert(r == 1) }\n"
        "active proctype Q() { byte r; y = 1; r = x }\n"
    ),
    "sb.c": (
        "#include <assert.h>\n#include <pthread.h>\nvolatile int x, y, r;\n"
        "void *f(void *p) {\n    x = 1;\n    assert(y == 1);\n    return p;\n}\n"
        "int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, f, 0);\n"
        "    y = 1;\n    r = x;\n    return pthread_join(t, 0);\n}\n"
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_fences_do_not_make_safe_what_fails_under_sc(run: Run, name: str) -> None:
    """They make it robust, which is proved, and what is wrong with it beside that is the verdict, as of ``check``."""
    Path(name).write_text(FAILING[name])
    status, out, _ = run("fence", "--json", name)
    answer = json.loads(out)
    assert (status, answer["verdict"], answer["met"], len(answer["fences"])) == (1, "violation", True, 2)
    assert answer["violations"][-1]["model"] == "sc"
    status, out, _ = run("fence", "--write", name)
    told = " ".join(out.split())
    assert status == 1
    assert "robust under TSO and PSO: proved, but NOT SAFE" in told
    assert "it fails under SC already, and no fence repairs that:" in told
    assert Path(f"{name}.orig").read_text() == FAILING[name]
    status, out, _ = run("fence", "--json", name)  # of the patched program, which needs none
    answer = json.loads(out)
    assert (status, answer["verdict"], answer["met"], "fences" in answer) == (1, "violation", True, False)
    assert run("check", name)[0] == 1


def test_a_fix_of_a_program_that_fails_under_sc_is_a_fix(run: Run) -> None:
    Path("sb.py").write_text(FAILING["sb.py"])
    assert run("fence", "--output", "sarif:out.sarif", "--output", "github:out.txt", "sb.py")[0] == 1
    results = json.loads(Path("out.sarif").read_text())["runs"][0]["results"]
    assert all(result["fixes"] for result in results)
    assert "mfence here, with 1 more: proved" in Path("out.txt").read_text()


# -- robust, and outcomes -------------------------------------------------------------------------------------------------

UNSEEN_BY_SOBER = program("T0: y=2; r0=y; r1=x || T1: x=1; y=1")
BUFFERING = program("T0: x=1; r0=y || T1: y=1; r1=x")


def observed(subject: Program) -> Program:
    registers = [Final(number, name) for number, thread in enumerate(subject.threads) for name in thread.registers]
    return msgspec.structs.replace(subject, observed=(*registers, *(Final(None, name) for name in subject.memory)))


@pytest.mark.parametrize(
    ("subject", "options"),
    [
        pytest.param(UNSEEN_BY_SOBER, {"monitors": ("sober",)}, id="a monitor that misses it"),
        pytest.param(BUFFERING, {"explore": parse("random:0")}, id="no execution at all"),
    ],
)
def test_an_outcome_that_sc_lacks_is_not_robust(subject: Program, options: dict[str, Any]) -> None:
    result = checking.check(observed(subject), CheckOptions(models=("tso",), **options))
    assert result.models["tso"].robust is False
    violation, new = result.violations
    assert (new.kind, result.triage) == ("outcome", "breaks")
    assert (violation.kind, violation.monitor) == ("robustness", None)
    assert violation.cycle


def test_without_such_an_outcome_robustness_stays_unknown() -> None:
    fenced = observed(program("T0: x=1; mfence; r0=y || T1: y=1; mfence; r1=x"))
    result = checking.check(fenced, CheckOptions(models=("tso",), explore=parse("random:0")))
    assert result.models["tso"].robust is None
    assert result.verdict is Verdict.INCONCLUSIVE


def sees_nothing(subject: Program, models: list[ModelName], *_: object, **__: object) -> Robustness:
    """A search that claims to have seen everything, and found every model robust."""
    return Robustness({model: [] for model in models}, 1, 0, True, frozenset(models), [], False, "skip", [])


def test_robust_with_other_outcomes_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreted, "robustness", sees_nothing)
    with pytest.raises(Fault, match=r"TSO has the outcome .*, which SC does not have, and yet"):
        checking.check(observed(BUFFERING))
    assert checking.check(observed(program("T0: x=1; mfence; r0=y || T1: y=1; mfence; r1=x"))).verdict is Verdict.SAFE


def test_json_is_the_same_for_any_number_of_workers(run: Run) -> None:
    """In order, keys and content, but for the seconds."""
    Path("a.litmus").write_text(f"{SB}~exists {BOTH_ZERO}")
    Path("b.litmus").write_text(f"{FENCED}exists {BOTH_ZERO}")
    Path("c.litmus").write_text("X86_64 nothing")
    Path("d.py").write_text(
        "from teetotal import ld, program, st\n"
        "def writer():\n    yield st('x', 1)\n    yield st('y', 1)\n"
        "def reader():\n    if (yield ld('y')):\n        assert (yield ld('x')) == 1\n"
        "one = program(writer(), reader(), x=0, y=0)\ntwo = program(reader(), writer(), x=0, y=0)\n"
    )
    Path("e.c").write_text(
        "#include <pthread.h>\nint x;\nvoid *f(void *p) { x = 1; return 0; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); int r = x; pthread_join(t, 0); return r - r; }\n"
    )
    found = []
    for workers in ("1", "2", "4"):
        for goal in ((), ("--goal", "robust")):
            files = ["a.litmus", "b.litmus", "c.litmus", "d.py", "e.c"]
            status, out, err = run("check", "--json", "--workers", workers, *goal, *files)
            lines = re.sub(r'"(seconds|cpu)":[0-9.e-]+', r'"\1":0', out)
            found.append((status, lines, err))
    assert found[0][1].count("\n") == 6
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_fault_is_told_as_such_and_costs_one_file(run: Run, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    """Never a verdict; the other files are still answered."""
    monkeypatch.setattr(interpreted, "robustness", sees_nothing)
    Path("bad.litmus").write_text(f"{SB}exists {BOTH_ZERO}")
    Path("good.litmus").write_text(f"{FENCED}exists {BOTH_ZERO}")
    status, out, err = run("check", "--json", "--workers", workers, "bad.litmus", "good.litmus")
    assert status == 70
    assert [json.loads(line)["input"] for line in out.splitlines()] == ["good.litmus"]
    assert "SB: TSO has the outcome 0:rax=0, 1:rax=0, which SC does not have" in err
    assert "this is a fault of teetotal itself" in err


# -- a compare-and-swap that fails ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("choice", "status"), [("read", 0), ("write", 1)])
def test_a_recorded_failed_compare_and_swap_reads_or_writes(run: Run, choice: str, status: int) -> None:
    """The trace of T0: y=1; r=x || T1: cas(x,5,6); r3=y, robust only if the failed operation does not write."""
    events = [
        Event(0, 0, Kind.ST, "y", 1),
        Event(0, 1, Kind.LD, "x", 0),
        Event(1, 0, Kind.RMW, "x", read=0),
        Event(1, 1, Kind.LD, "y", 1),
    ]
    traces.write(Trace.from_events(events), Path("trace.jsonl"))
    found, out, err = run("monitor", "--failed-cas", choice, "--json", "trace.jsonl")
    assert (found, err) == (status, "")
    assert len(json.loads(out)["violations"]) == 2 * status


@pytest.mark.parametrize(("choice", "robust"), [("read", True), ("write", False)])
def test_a_failed_compare_and_swap_in_every_verb(run: Run, choice: str, robust: bool) -> None:
    Path("cas.py").write_text(
        "from teetotal import cas, ld, program, st\n"
        "def a():\n    yield st('y', 1)\n    r = yield ld('x')\n"
        "def b():\n    r2 = yield cas('x', 5, 6)\n    r3 = yield ld('y')\n"
        "p = program(a(), b(), x=0, y=0)\n"
    )
    status, out, _ = run("check", "--failed-cas", choice, "--json", "cas.py")
    assert (status == 0) == robust
    for violation in json.loads(out).get("violations", []):
        assert run(*violation["replay"].split()[1:])[0] == 1  # the token knows
    status, out, _ = run("fence", "--failed-cas", choice, "--json", "cas.py")
    assert (status, len(json.loads(out).get("fences", []))) == (0, 0 if robust else 1)
