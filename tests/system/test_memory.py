"""Short of memory: every engine stops by itself and says so, what is known by then is told, and nothing is safe for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from large_programs import DEKKER, LIMITED, LONG_BUFFERS
from teetotal import checking
from teetotal.answers.options import CheckOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.checking import Job
from teetotal.engines import interpreted
from teetotal.programs import litmus

ROOT = Path(__file__).parents[2]
TICKET = (ROOT / "benchmarks" / "promela" / "ticket.pml").read_text().replace("byte", "int")
PETERSON = (ROOT / "benchmarks" / "promela" / "peterson.pml").read_text()


def alone(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: a copy of this one would be large from the start. Signals to this one's group are not for
    it."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False, start_new_session=True
    )


def asked(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    os.chdir(folder)
    done = alone("-m", "teetotal", *arguments, "--json")
    assert done.returncode in (0, 1, 3), done
    assert "Traceback" not in done.stderr, done
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def short(script: str) -> list[str]:
    done = alone("-c", LIMITED + script)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# ---- programs that are interpreted


@pytest.mark.parametrize("megabytes", ["1", "50"])
def test_states_that_are_too_many_cost_no_violation(megabytes: str, tmp_path: Path) -> None:
    """What was found under SC, and by the monitors, and of states until then."""
    (tmp_path / "dekker.py").write_text(DEKKER)
    status, (answer,) = asked(tmp_path, "check", "dekker.py", "--goal", "robust", "--memory", megabytes)
    assert (status, answer["verdict"], answer["complete"]) == (1, "violation", False)
    assert answer["models"]["sc"]["safe"] is True
    assert [answer["models"][model]["robust"] for model in ("tso", "pso")] == [False, False]
    assert [answer["models"][model]["safe"] for model in ("tso", "pso")] == [False, False]
    assert answer["triage"] == "breaks"
    assert any(f"as far as {megabytes} MB go; see --memory" in note for note in answer["notes"])


def test_a_robust_program_is_as_safe_as_under_sc_however_many_states_it_has(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG_BUFFERS)
    status, (answer,) = asked(tmp_path, "check", "long.py", "--memory", "3")
    assert (status, answer["verdict"], answer["complete"]) == (0, "safe", True)
    assert answer["models"]["tso"]["outcomes"] == answer["models"]["sc"]["outcomes"]
    assert any("robust there, so that it does what it does under SC" in note for note in answer["notes"])


def test_states_that_are_too_many_are_no_proof_of_what_is_not_robust(tmp_path: Path) -> None:
    """Store buffering beside it: TSO may do more than SC, and what was not explored is not known."""
    buffering = LONG_BUFFERS.replace("    r = yield", '    yield st("z", 1)\n    r = yield').replace(
        "    for number", '    yield ld("z")\n    for number'
    )
    (tmp_path / "long.py").write_text(buffering.replace("x=0, y=0", "x=0, y=0, z=0"))
    status, (answer,) = asked(tmp_path, "check", "long.py", "--memory", "3", "--explore", "random:5", "--model", "tso")
    assert (status, answer["verdict"]) == (3, "inconclusive")
    assert (answer["models"]["sc"]["safe"], answer["models"]["tso"]["safe"]) == (True, None)


@pytest.mark.parametrize("states", [14, 20, 24])
def test_sc_does_not_stand_in_for_what_was_found_not_to_be_robust(states: int) -> None:
    """All SC executions were watched, and something was found: SC's outcomes are not all of TSO's."""
    program = litmus.read(
        "X86_64 SB\n{ uint64_t x; uint64_t y; }\n P0 | P1 ;\n movq $1,(x) | movq $1,(y) ;\n"
        " movq (y),%rax | movq (x),%rax ;\nexists (0:rax=0 /\\ 1:rax=0)\n",
        "SB.litmus",
    )
    answer = interpreted.check(program, CheckOptions(models=("tso",), max_states=states), Budget())
    assert (answer.models["sc"].safe, answer.models["sc"].observation) == (True, "Never")
    found = answer.models["tso"]
    assert (found.robust, found.safe, found.complete, found.observation) == (False, None, False, None)
    assert (answer.complete, answer.triage) == (False, "unknown")
    assert not any("does what it does under SC" in note for note in answer.notes)


def test_what_is_not_known_under_sc_is_not_known_of_a_robust_program(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG_BUFFERS)
    status, (answer,) = asked(tmp_path, "check", "long.py", "--states", "50")
    assert (status, answer["verdict"], answer["complete"]) == (3, "inconclusive", False)
    assert [model["safe"] for model in answer["models"].values()] == [None] * 3


def test_a_failure_under_sc_is_none_that_others_stand_in_for(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG_BUFFERS.replace('ld("y")) == r', 'ld("y")) != 99'))
    status, (answer,) = asked(tmp_path, "check", "long.py", "--memory", "3")
    assert (status, answer["verdict"]) == (1, "violation")
    assert answer["models"]["sc"]["safe"] is False
    assert answer["models"]["tso"]["safe"] is not True


def test_where_memory_ends_in_the_midst_of_states_what_was_found_is_kept() -> None:
    script = f"""
from teetotal.engines.states import outcomes
from teetotal.programs.python.loader import load_text
(dekker,) = load_text("dekker.py", {DEKKER!r}, trust=True)
outcomes(dekker, "sc")
with short_of_memory(8):
    found = outcomes(dekker, "pso")
print(found.full, found.complete, found.states > 10_000, len(found.failures) > 0, found.failures[0].schedule != ())
again = outcomes(dekker, "sc")
print(again.complete, again.states)
"""
    assert short(script) == ["True False True True True", "True 1603"]


COUNTING = """
from teetotal import ld, program, st
def left():
    yield st("x", 1)
    r = yield ld("y")
    n = yield ld("z")
    end = n + 2000
    while n < end:
        n = n + 1
        yield st("w", n)
def right():
    yield st("y", 1)
    r = yield ld("x")
    for number in range(1, 100):
        yield st("z", 10000 * number)
counting = program(left(), right(), x=0, y=0, z=0, w=0)
"""
"""Soon an execution shows the violation; each later one brings thousands of new local states."""


@pytest.mark.parametrize("strategy", ["all", "random", "pct"])
def test_where_memory_ends_in_the_midst_of_executions_what_was_found_is_kept(strategy: str) -> None:
    script = f"""
from teetotal.answers.strategies import Strategy
from teetotal.engines.executions.robustness import robustness
from teetotal.programs.python.loader import load_text
(counting,) = load_text("counting.py", {COUNTING!r}, trust=True)
with short_of_memory(6):
    found = robustness(counting, ["tso"], strategy=Strategy({strategy!r}, 1000, 3))
print(found.complete, found.proves("tso"), len(found.violations["tso"]) > 0)
print(any("see --memory" in note for note in found.notes), found.executions > 0)
"""
    assert short(script) == ["False False True", "True True"]


def test_where_memory_ends_in_the_midst_of_a_part_what_was_found_is_kept() -> None:
    """And what is left is a part, even if nobody goes on with it."""
    script = f"""
from teetotal import _core
from teetotal.answers.events import Semantics
from teetotal.engines.executions.watched import Question, explore
from teetotal.programs.python.loader import load_text
from teetotal.scale.scale import Slice
(counting,) = load_text("counting.py", {COUNTING!r}, trust=True)
question = Question(counting, Semantics(), "skip", ("exact-tso",), "c20", 4096)
with short_of_memory(6):
    found = explore((question, _core.whole_search(), Slice(60.0, 10**9)))
print(found.refused, found.over, found.told.full, len(found.told.findings) > 0)
print(_core.state_of_part(found.left).finished)
"""
    assert short(script) == [" True True True", "False"]


def test_a_program_that_memory_is_not_enough_for_costs_no_other_s_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = ["small", "large"]

    def check(subject: Any, *_: Any, **__: Any) -> Any:
        if subject.name == "large":
            raise MemoryError
        return real(subject)

    real = checking.check
    (tmp_path / "two.py").write_text(
        "from teetotal import program, st\ndef t():\n    yield st('x', 1)\n"
        + "".join(f"{name} = program(t(), x=0)\n" for name in programs)
    )
    monkeypatch.setattr(checking, "check", check)
    done = Job((str(tmp_path / "two.py"),), CheckOptions(trust=True))._run(None)
    assert [answer.verdict for answer in done.answers] == [Verdict.SAFE]
    assert done.undecided is not None
    assert done.undecided.notes == [checking.MEMORY_IS_USED_UP]


def test_outcomes_that_cannot_be_told_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    from small_programs import ld, program, st
    from teetotal.engines.states import outcomes as states

    def told(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(sys.modules[states.__module__], "_told", told)
    buffering = program([st("x", 1), ld("r", "y")], [st("y", 1), ld("r", "x")])
    answer = interpreted.check(buffering, CheckOptions(), checking.Budget())
    assert answer.verdict is Verdict.VIOLATION  # which the monitors have seen
    assert answer.models["sc"].safe is None
    assert not answer.complete


# ---- the others


def test_a_promela_program_that_memory_is_not_enough_for_costs_no_other_s_answer(tmp_path: Path) -> None:
    (tmp_path / "ticket.pml").write_text(TICKET)
    (tmp_path / "peterson.pml").write_text(PETERSON)
    status, answers = asked(tmp_path, "verify", "ticket.pml", "peterson.pml", "--memory", "10", "--model", "tso,pso")
    assert status == 1
    assert [answer["verdict"] for answer in answers] == ["inconclusive", "violation"]
    assert [note.partition(";")[0] for note in answers[0]["notes"]] == [
        f"{model}: memory: more than 10 MB" for model in ("tso", "pso")
    ]


def test_a_control_graph_is_as_good_as_new_after_memory_has_ended() -> None:
    script = f"""
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import robust, verify
from teetotal.programs.promela.compile import compile_text
graph = ControlGraph(compile_text({TICKET.replace("int", "byte")!r}))
for megabytes in (0.5, 1, 2):
    with short_of_memory(megabytes):
        found = verify(graph, "tso")
    print(found.verdict, found.why.partition(";")[0])
print(verify(graph, "tso").verdict, verify(graph, "tso").states, robust(graph, "pso").verdict)
"""
    *shorter, last = short(script)
    assert shorter[0] == "inconclusive memory: there is no more"
    assert set(shorter) <= {"inconclusive memory: there is no more", "safe "}
    assert last == "safe 768 safe"


def test_a_history_that_memory_is_not_enough_for_costs_no_other_s_answer(tmp_path: Path) -> None:
    """And of that one it is told what is known."""
    generated = alone("-m", "teetotal", "generate", "history", "formula", "--variables", "30", "--clauses", "128")
    (tmp_path / "hard.axe").write_text(generated.stdout)
    (tmp_path / "easy.axe").write_text("0: M[0] := 1\n0: M[1] == 0\n1: M[1] := 1\n1: M[0] == 0\n")
    status, answers = asked(tmp_path, "history", "easy.axe", "hard.axe", "--engine", "dbcop", "--memory", "20")
    assert status == 1
    assert [answer["verdict"] for answer in answers] == ["violation", "inconclusive"]
    assert "program order and reading alone do not contradict each other; to search, " in answers[1]["learned"]


@pytest.mark.parametrize("goal", ["robust", "safe"])
def test_fences_are_found_in_little_memory(goal: str, tmp_path: Path) -> None:
    (tmp_path / "dekker.py").write_text(DEKKER.replace("range(4)", "range(2)"))
    status, (answer,) = asked(tmp_path, "fence", "dekker.py", "--goal", goal, "--memory", "1")
    assert (status, answer["verdict"], answer["complete"]) == (0, "safe", True)
    assert answer["fences"]
