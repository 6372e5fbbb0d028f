"""``teetotal check`` and ``teetotal replay`` as their users call them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SB = """X86_64 SB
{
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 movq (y),%rax | movq (x),%rax ;
exists (0:rax=0 /\\ 1:rax=0)
"""
MP = """X86_64 MP
{
}
 P0          | P1            ;
 movq $1,(x) | movq (y),%rax ;
 movq $1,(y) | movq (x),%rbx ;
exists (1:rax=1 /\\ 1:rbx=0)
"""
FENCED = SB.replace("X86_64 SB", "X86_64 SB+mfences").replace(
    " movq (y),%rax | movq (x),%rax ;", " mfence | mfence ;\n movq (y),%rax | movq (x),%rax ;"
)
PYTHON = """
from teetotal import cas, fetch_add, ld, lock, mfence, program, st, unlock

def writer():
    yield st("data", 1)
    yield st("ready", 1)

def reader():
    if (yield ld("ready")) == 1:
        r = yield ld("data")
        assert r == 1, "the data is there"

message_passing = program(writer(), reader(), data=0, ready=0)

def locker(first, second):
    yield lock(first)
    yield lock(second)
    yield unlock(second)
    yield unlock(first)

deadlock = program(locker("a", "b"), locker("b", "a"), a=0, b=0)

def adder():
    r = yield ld("n")
    yield st("n", r + 1)

lost_update = program(adder(), adder(), n=0, always="n == 2")
"""

Run = Callable[..., tuple[int, str, str]]


def checked(run: Run, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    status, out, _ = run("check", "--json", *arguments)
    return status, [json.loads(line) for line in out.splitlines()]


def test_store_buffering(run: Run) -> None:
    Path("SB.litmus").write_text(SB)
    status, out, err = run("check", "SB.litmus")
    assert status == 1
    assert err == ""
    assert [line for line in out.splitlines() if line.startswith("Observation")] == [
        "Observation SB Never 0 3",
        "Observation SB Sometimes 1 3",
        "Observation SB Sometimes 1 3",
    ]
    assert "TSO: NOT ROBUST, safe, breaks, 4 outcomes" in out
    assert "0:rax=0; 1:rax=0;  not under SC" in out
    assert "T1: st y = 1 reaches memory" in out
    assert "would come before itself: a contradiction." in out


def test_json_has_the_keys_of_the_contract(run: Run) -> None:
    Path("SB.litmus").write_text(SB)
    status, (result,) = checked(run, "SB.litmus")
    assert status == 1
    assert {"input", "command", "models", "verdict", "complete", "seconds", "executions", "states", "violations"} <= (
        result.keys()
    )
    assert (result["input"], result["command"], result["verdict"]) == ("SB.litmus", "check", "violation")
    assert result["complete"] is True
    assert list(result["models"]) == ["sc", "tso", "pso"]
    sc, tso = result["models"]["sc"], result["models"]["tso"]
    assert (sc["verdict"], sc["robust"], sc["safe"]) == ("safe", True, True)
    assert (tso["verdict"], tso["robust"], tso["safe"]) == ("violation", False, True)
    assert (tso["observation"], tso["positive"], tso["negative"]) == ("Sometimes", 1, 3)
    assert {"0:rax": 0, "1:rax": 0} in tso["outcomes"]
    assert {"model", "monitor", "events", "cycle", "locations", "replay"} <= result["violations"][0].keys()
    assert result["violations"][0]["locations"] == ["SB.litmus:5", "SB.litmus:6"]


@pytest.mark.parametrize(
    ("text", "tso", "pso"),
    [
        pytest.param(SB, False, False, id="SB"),
        pytest.param(MP, True, False, id="MP"),
        pytest.param(FENCED, True, True, id="SB+mfences"),
    ],
)
def test_textbook_verdicts(run: Run, text: str, tso: bool, pso: bool) -> None:
    Path("test.litmus").write_text(text)
    status, (result,) = checked(run, "test.litmus")
    assert (result["models"]["tso"]["robust"], result["models"]["pso"]["robust"]) == (tso, pso)
    assert status == (0 if tso and pso else 1)
    only_tso, (result,) = checked(run, "--model", "tso", "test.litmus")
    assert only_tso == (0 if tso else 1)
    assert list(result["models"]) == ["sc", "tso"]


def test_python_programs(run: Run) -> None:
    Path("several.py").write_text(PYTHON)
    status, results = checked(run, "several.py")
    assert status == 1
    passing, deadlock, lost = results
    assert [result["name"] for result in results] == ["message_passing", "deadlock", "lost_update"]
    assert (passing["models"]["tso"]["safe"], passing["models"]["pso"]["safe"]) == (True, False)
    (failure,) = [v for v in passing["violations"] if v["kind"] == "assertion"]
    assert "an assertion of T1 (reader) fails" in failure["message"]
    assert "several.py:11" in failure["message"]
    assert [v["kind"] for v in deadlock["models"]["sc"]["violations"]] == ["deadlock"]
    assert [v["kind"] for v in lost["models"]["sc"]["violations"]] == ["final assertion"]


def test_every_violation_can_be_replayed(run: Run) -> None:
    Path("several.py").write_text(PYTHON)
    Path("SB.litmus").write_text(SB)
    _, results = checked(run, "several.py", "SB.litmus")
    commands = [violation["replay"] for result in results for violation in result["violations"]]
    assert len(commands) > 5
    for command in commands:
        teetotal, *arguments = command.split()
        assert teetotal == "teetotal"
        status, out, err = run(*arguments)
        assert err == ""
        assert status == 1
        assert "contradiction" in out or "Not safe: " in out


def test_a_token_of_another_program_is_refused(run: Run) -> None:
    Path("SB.litmus").write_text(SB)
    for token in ("nonsense", "9t:0", "1t:0x99", "1t:0cc", "1t:7", "1p:0.0c9", "1t:0x99999999999", "1s:0.0c"):
        status, out, err = run("replay", token, "SB.litmus")
        assert (status, out) == (2, "")
        assert err.startswith("teetotal: ")


def test_bad_input_does_not_keep_the_others_from_being_checked(run: Run) -> None:
    Path("good.litmus").write_text(FENCED)
    Path("empty.litmus").write_text("")
    Path("truncated.litmus").write_text(SB[: SB.index("exists") - 8])
    Path("unknown.litmus").write_text(SB.replace("movq (y),%rax", "vaddps (y),%rax"))
    Path("register.litmus").write_text(SB.replace("movq (y),%rax", "movq (y),%rqx"))
    Path("junk.litmus").write_bytes(bytes(range(256)) * 10)
    Path("raising.py").write_text("x = 1\nraise ValueError('no')\n")
    Path("nothing.py").write_text("x = 1\n")
    Path("notes.txt").write_text("not a program")
    Path("folder").mkdir()
    names = ["empty.litmus", "truncated.litmus", "unknown.litmus", "register.litmus", "junk.litmus", "raising.py",
             "nothing.py", "notes.txt", "folder", "missing.litmus"]  # fmt: skip
    for workers in ("1", "2"):
        status, out, err = run("check", "--workers", workers, "--json", *names, "good.litmus")
        assert status == 2
        answers = [json.loads(line) for line in out.splitlines()]
        assert [answer["input"] for answer in answers if "error" not in answer] == ["good.litmus"]
        assert {answer["input"] for answer in answers if "error" in answer} == set(names)
        lines = err.splitlines()
        assert len(lines) == len(names)
        for name in names:
            assert any(name in line for line in lines), name
        assert any("unknown.litmus:6" in line and "vaddps" in line for line in lines)
        assert any("register.litmus:6" in line and "rqx" in line for line in lines)
        assert any("raising.py:2" in line for line in lines)
        assert "Traceback" not in err


def test_directories_and_workers_give_the_same_answers_in_order(run: Run) -> None:
    Path("tests/deep").mkdir(parents=True)
    for name, text in (("tests/a", SB), ("tests/b", MP), ("tests/deep/c", FENCED)):
        Path(f"{name}.litmus").write_text(text)
    answers = []
    for workers in ("1", "2"):
        status, results = checked(run, "--workers", workers, "tests")
        assert status == 1
        answers.append([(r["input"], r["verdict"], r["models"]["pso"]["outcomes"]) for r in results])
    assert answers[0] == answers[1]
    assert [name for name, _, _ in answers[0]] == ["tests/a.litmus", "tests/b.litmus", "tests/deep/c.litmus"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["--model", "arm", "SB.litmus"], ["--explore", "some", "SB.litmus"], ["--monitor", "nobody", "SB.litmus"],
     ["--workers", "-1", "SB.litmus"], ["--no-such-option", "SB.litmus"]],
)  # fmt: skip
def test_bad_usage(run: Run, arguments: list[str]) -> None:
    Path("SB.litmus").write_text(SB)
    status, out, err = run("check", *arguments)
    assert (status, out) == (2, "")
    assert err


def test_a_wrong_monitor_is_named_once_and_a_right_one_may_have_blanks(run: Run) -> None:
    Path("SB.litmus").write_text(SB)
    status, out, err = run("check", "--monitor", "nobody", "SB.litmus", "SB.litmus")
    assert (status, out, err.count("nobody")) == (2, "", 1)
    assert run("check", "--monitor", "burnim-tso, burnim-pso", "SB.litmus")[0] == 1


def test_what_was_not_explored_is_inconclusive(run: Run) -> None:
    Path("fenced.litmus").write_text(FENCED)
    for options in (["--explore", "random:5"], ["--states", "3"], ["--time", "0"]):
        status, (result,) = checked(run, *options, "fenced.litmus")
        assert (status, result["verdict"], result["complete"]) == (3, "inconclusive", False), options
        assert result["notes"]


def test_what_was_not_explored_is_never_called_never(run: Run) -> None:
    """An outcome that was not met before the budget ended may still exist."""
    Path("SB.litmus").write_text(SB)
    status, out, _ = run("check", "--states", "3", "SB.litmus")
    assert status == 1  # robustness needs no states
    assert out.count("Observation SB unknown 0 0") == 3
    assert "TSO: NOT ROBUST, safe or not: unknown, unknown whether that breaks anything, 0 outcomes so far" in out
    _, (result,) = checked(run, "--states", "3", "SB.litmus")
    for model in result["models"].values():
        assert model["complete"] is False
        assert "observation" not in model
    assert result["notes"][0] == "SC: stopped after 3 states; see --time, --states and --memory"


def models_of(run: Run, *arguments: str) -> dict[str, Any]:
    _, results = checked(run, *arguments)
    return results[-1]["models"]  # type: ignore[no-any-return]


PUBLISHED = """X86_64 published
{
}
 P0             | P1            ;
 movq $1,(x)    | movq (y),%rax ;
 lock incq (y)  | movq (x),%rbx ;
exists (1:rax=1 /\\ 1:rbx=0)
"""


def test_options_reach_the_engines(run: Run) -> None:
    Path("published.litmus").write_text(PUBLISHED)
    assert models_of(run, "published.litmus")["pso"]["robust"] is True
    address = models_of(run, "--rmw", "address", "published.litmus")["pso"]
    assert (address["robust"], address["observation"]) == (False, "Sometimes")
    assert list(models_of(run, "--model", "pso", "published.litmus")) == ["sc", "pso"]
    Path("SB.litmus").write_text(SB)
    _, (result,) = checked(run, "--explore", "preemptions:0", "SB.litmus")
    assert result["executions"] == 2
    Path("unasked.litmus").write_text(SB.replace("exists (0:rax=0 /\\ 1:rax=0)", ""))  # only monitors can tell
    seeds = [models_of(run, "--explore", "random:1", "--seed", str(seed), "unasked.litmus") for seed in range(12)]
    assert {models["tso"]["robust"] for models in seeds} == {False, None}
    Path("loop.py").write_text(
        "from teetotal import fetch_add, program\n"
        "def adder():\n    while (yield fetch_add('n', 1)) < 4:\n        pass\n"
        "counts = program(adder(), n=0)\n"
    )
    assert [checked(run, "--loop-bound", bound, "loop.py")[0] for bound in ("2", "9")] == [3, 0]


def test_a_deadlock_and_a_broken_final_assertion_are_violations(run: Run) -> None:
    Path("programs.py").write_text(PYTHON)
    _, results = checked(run, "programs.py")
    kinds = {result["name"]: {v["kind"] for v in result["models"]["sc"].get("violations", [])} for result in results}
    assert kinds == {"message_passing": set(), "deadlock": {"deadlock"}, "lost_update": {"final assertion"}}


WAITING = """
from teetotal import ld, lock, program, st, unlock

def waits(mine, other):
    yield st(mine, 1)
    while (yield ld(other)) == 0:
        pass

def looks(mine, other):
    yield st(mine, 1)
    r = yield ld(other)

longer = program(waits("x", "y"), looks("y", "x"), x=0, y=0)
"""
STUCK = (
    WAITING
    + """
def holds():
    yield lock("m")
    while (yield ld("x")) == 0:
        pass

def sets():
    yield lock("m")
    yield st("x", 1)
    yield unlock("m")

stuck = program(holds(), sets(), x=0, m=0)
"""
)


def test_a_difference_that_only_lets_a_thread_wait_longer_is_none_unless_it_is_asked_for(run: Run) -> None:
    Path("longer.py").write_text(WAITING)
    status, (result,) = checked(run, "longer.py")
    assert (status, result["executions"], "waiting" in result) == (0, 2, False)
    status, (result,) = checked(run, "--waiting", "count", "longer.py")
    assert (status, result["waiting"], result["models"]["tso"]["robust"]) == (1, "count", False)
    assert run("fence", "longer.py")[0] == 0
    assert "already robust" in run("fence", "longer.py")[1]
    assert "2 fences, cost 20" in run("fence", "--model", "tso", "--waiting", "count", "longer.py")[1]
    assert run("check", "--waiting", "perhaps", "longer.py")[0] == 2


def test_a_livelock_names_the_loops_and_what_they_wait_for(run: Run) -> None:
    Path("stuck.py").write_text(STUCK)
    status, results = checked(run, "stuck.py")
    (found,) = [result for result in results if result["name"] == "stuck"]
    violation = found["models"]["sc"]["violations"][0]
    line = STUCK.splitlines().index('    while (yield ld("x")) == 0:') + 1
    assert (status, violation["kind"]) == (1, "livelock")
    assert violation["message"] == f"livelock: T0 goes round stuck.py:{line} for ever: x is 0; T1 waits for the mutex m"
    shown = run(*violation["replay"].split()[1:])
    assert violation["message"] in shown[1]


def test_a_path_that_is_not_there_is_bad_usage(run: Run) -> None:
    Path("fenced.litmus").write_text(FENCED)
    assert run("check", "fenced.litmus")[0] == 0
    assert run("check", "fenced.litmus", "nowhere.litmus")[0] == 2
    assert run("check", "nowhere.litmus")[0] == 2


def test_bad_input_ends_with_status_2(run: Run) -> None:
    Path("SB.litmus").write_text(SB)
    assert run("replay", "no token", "SB.litmus")[0] == 2
    assert run("check", "--explore", "nowhere", "SB.litmus")[0] == 2


def test_a_model_without_a_monitor_is_said_to_have_none(run: Run) -> None:
    Path("fenced.litmus").write_text(FENCED)
    status, (result,) = checked(run, "--monitor", "exact-tso", "fenced.litmus")
    assert (status, result["models"]["tso"]["robust"], "robust" in result["models"]["pso"]) == (3, True, True)
    assert result["models"]["pso"]["robust"] is None
    assert result["notes"] == ["no monitor for PSO was chosen with --monitor"]


def test_the_text_tells_each_thing_once(run: Run) -> None:
    Path("several.py").write_text(PYTHON)
    Path("SB.litmus").write_text(SB)
    status, out, _ = run("check", "several.py", "SB.litmus")
    assert status == 1
    assert out.count("In every outcome: data=1; ready=1;\n") == 1
    assert "PSO: NOT ROBUST, NOT SAFE, 1 outcome" not in out
    assert out.count("Not robust under") == 0  # each cycle is that of something worse
    assert out.count("Beyond SC under TSO and PSO: ") == 1
    assert out.count("a contradiction.") == 2
    assert out.count("  those of TSO") == 1
    assert out.endswith("4 programs: 4 violation\n")
    _, out, _ = run("check", "--violations", "--outcomes", "several.py")
    assert "In every outcome" not in out
    assert "a=0; b=0;" in out


def test_replay_says_what_is_wrong_and_what_is_not(run: Run) -> None:
    Path("several.py").write_text(PYTHON)
    Path("SB.litmus").write_text(SB)
    status, out, _ = run("replay", "1s:0x2.1x2", "SB.litmus")
    assert status == 0
    assert out.endswith("\n  A sequentially consistent execution can do that too.\n")
    for token, name, wrong in (
        ("1p:0x2.0c1.1x2", "message_passing", "an assertion of T1 (reader) fails at several.py:11: assert r == 1"),
        ("1s:0.1", "deadlock", "every thread that has not ended waits for a mutex"),
        ("1s:0.1.0.1", "lost_update", "(n == 2) does not hold in the end: 0:r=0, 1:r=0, n=1"),
    ):
        status, out, _ = run("replay", token, "several.py", "--program", name)
        assert status == 1
        assert f"  Not safe: {wrong}" in out
    for token, name in (("1p:0x2.0c1.1", "message_passing"), ("1s:0", "deadlock"), ("1s:0x2.1x2", "lost_update")):
        status, out, _ = run("replay", token, "several.py", "--program", name)
        assert (status, "Not safe" in out) == (0, False)


def test_c_that_is_not_even_text_is_a_compile_error(run: Run) -> None:
    """The compiler quotes the bytes back, and they are no UTF-8."""
    Path("junk.c").write_bytes(b"\x83\xff int main(void) { return \xfe; }\n")
    status, out, err = run("check", "junk.c")
    assert (status, out) == (2, "")
    assert "junk.c" in err
    assert "Traceback" not in err
