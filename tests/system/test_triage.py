"""What it means that a program is not robust: breaks, harmless or unknown, by one mechanism for every front end."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import teetotal
from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import TeetotalError
from teetotal.answers.triage import NOTHING_ASSERTED, triaged, worst
from teetotal.engines.runtime.orders import NO_MEANING

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]

SB = """X86_64 SB
{
}
 P0            | P1            ;
 movq $1,(x)   | movq $1,(y)   ;
 movq (y),%rax | movq (x),%rax ;
"""
FENCED = SB.replace(" movq (y)", " mfence | mfence ;\n movq (y)")
PYTHON = """from teetotal import ld, program, st
def left(limit):
    yield st("x", 1)
    r = yield ld("y")
    assert r <= limit
    if r == 7:
        assert r == 8
def right():
    yield st("y", 1)
    r = yield ld("x")
fine = program(left(1), right(), x=0, y=0)
broken = program(left(0), right(), x=0, y=0)
"""
PROMELA = "bit x, y, a, b;\nactive proctype P() { x = 1; a = y }\nactive proctype Q() { y = 1; b = x }\n"
C = """#include <assert.h>
#include <pthread.h>
volatile int x, y; int a, b;
void *f(void *p) { x = 1; a = y; return 0; }
void *g(void *p) { y = 1; b = x; return 0; }
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    %s
}
"""


def check(name: str, text: str, **settings: Any) -> CheckAnswer:
    Path(name).write_text(text)
    return teetotal.check(name, **settings)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_three_words() -> None:
    assert triaged(True, True) is triaged(None, False) is None
    assert [triaged(False, safe) for safe in (True, False, None)] == ["harmless", "breaks", "unknown"]
    assert triaged(False, True, new_result=True) == "breaks"
    assert triaged(False, True, asserts=False) == "unknown"
    assert worst([None, "harmless", "unknown"]) == "unknown"
    assert worst(["harmless", "breaks", None]) == "breaks"
    assert worst([None]) is None


@pytest.mark.parametrize(
    ("condition", "word"),
    [
        ("exists (0:rax=0 /\\ 1:rax=0)", "breaks"),
        ("~exists (0:rax=0 /\\ 1:rax=0)", "breaks"),
        ("forall (0:rax=1 \\/ 1:rax=1)", "breaks"),
        ("exists (0:rax=0)", "harmless"),  # both answers are there under SC
        ("exists (x=1)", "harmless"),
        ("filter (0:rax=1)\nexists (0:rax=0 /\\ 1:rax=0)", "harmless"),
        ("", "harmless"),  # nothing is observed
        ("locations [0:rax; 1:rax;]", "breaks"),
    ],
)
def test_litmus_tests_are_judged_by_what_they_ask(condition: str, word: str) -> None:
    answer = check("SB.litmus", SB + condition)
    assert (answer.models["tso"].triage, answer.triage, answer.models["sc"].triage) == (word, word, None)
    assert answer.models["tso"].safe is True  # a condition is no assertion
    new = [violation for violation in answer.violations if violation.kind == "outcome"]
    assert bool(new) == (word == "breaks")
    assert all(violation.cycle for violation in new)
    assert check("fenced.litmus", FENCED + condition).triage is None


def test_python_programs_are_judged_by_their_assertions() -> None:
    Path("p.py").write_text(PYTHON)
    fine, broken = (teetotal.check("p.py", program=name) for name in ("fine", "broken"))
    assert (fine.triage, fine.models["pso"].triage, fine.verdict.value) == ("harmless", "harmless", "violation")
    assert broken.models["sc"].safe is False
    assert (broken.triage, broken.models["tso"].triage) == ("breaks", "breaks")
    assert [note for note in fine.notes if "never evaluated" in note] == [
        "the assertion at p.py:7 is never evaluated: nothing is known about it"
    ]


UNSAID = """from teetotal import array, ld, lock, program, st, unlock

a = array("a", 2)


def left():
    yield st("x", 1)
    r = yield ld("y")
    yield st(a[r], 1)


def right():
    yield st("y", 1)
    r = yield ld("x")
    yield lock("m")
    yield unlock("m")


test = program(left(), right(), x=0, y=0, m=0)
"""


def test_a_mutex_and_an_index_are_no_assertions() -> None:
    """Where nothing is asserted, a result that SC does not have breaks something: that a mutex could be waited for, and an
    index be out of range, does not say what matters."""
    answer = check("unsaid.py", UNSAID)
    assert (answer.models["tso"].safe, answer.models["tso"].triage) == (True, "breaks")
    assert [violation.kind for violation in answer.models["tso"].violations].count("outcome") == 1
    said = check("said.py", UNSAID.replace("    yield unlock", "    assert r >= 0\n    yield unlock"))
    assert (said.models["tso"].safe, said.models["tso"].triage) == (True, "harmless")


def test_an_index_that_is_never_computed_is_no_vacuous_assertion() -> None:
    answer = check("unsaid.py", UNSAID.replace("    yield st(a[r], 1)", "    if r > 1:\n        yield st(a[r], 1)"))
    assert (answer.complete, answer.notes) == (True, [])


def test_what_is_true_whatever_happens_is_pointed_out_and_asserts_nothing() -> None:
    trivial = check("trivial.py", UNSAID.replace("    yield unlock", "    assert 2 > 1\n    yield unlock"))
    assert trivial.notes == ["the assertion at trivial.py:16 is always true, whatever the program does"]
    assert trivial.models["tso"].triage == "breaks"
    alone = UNSAID.partition("def right")[0].replace("a[r]", '"y"').rstrip()
    nothing = alone + "\n    assert True\n\n\ntest = program(left(), x=0, y=0)\n"
    with pytest.raises(TeetotalError, match="nothing here can fail"):
        check("nothing.py", nothing, goal="safe")


def test_a_filter_that_leaves_nothing_is_pointed_out() -> None:
    claim = "filter (x=5)\nforall (x=2)"
    answer = check("none.litmus", SB + claim, goal="safe")
    assert answer.verdict.value == "safe"
    assert answer.notes == ["no final state passes its filter: what is asked about final states is asked of none"]
    assert check("some.litmus", SB + claim.replace("5", "1"), goal="safe").notes == []


def test_promela_programs_are_judged_by_what_is_safe() -> None:
    answer = check("p.pml", PROMELA)
    assert (answer.triage, answer.complete, answer.notes) == ("unknown", True, [NOTHING_ASSERTED])
    assert check("q.pml", PROMELA.replace("b = x", "b = x; assert(b <= 1)")).triage == "harmless"
    spsc = teetotal.check(ROOT / "benchmarks" / "promela" / "spsc.pml")
    assert {name: model.triage for name, model in spsc.models.items()} == {
        "sc": None,
        "tso": "harmless",
        "pso": "breaks",
    }


def test_c_programs_are_run_on_the_relaxed_machine() -> None:
    breaks = check("b.c", C % "assert(a || b);")
    assert {name: (model.safe, model.triage) for name, model in breaks.models.items()} == {
        "sc": (True, None),
        "tso": (False, "breaks"),
        "pso": (False, "breaks"),
    }
    harmless = check("h.c", C % "assert(x && y);")
    assert (harmless.triage, harmless.models["tso"].safe, harmless.verdict.value) == ("harmless", True, "violation")
    assert harmless.models["tso"].executions
    assert harmless.notes == [NO_MEANING]
    nothing = check("n.c", C % "")
    assert (nothing.triage, nothing.models["tso"].safe) == ("unknown", True)
    assert nothing.notes == [NO_MEANING, NOTHING_ASSERTED]
    unknown = check("h.c", C % "assert(x && y);", triage=0)
    assert (unknown.triage, unknown.models["tso"].safe, unknown.complete) == ("unknown", None, True)
    assert "was not asked" in unknown.notes[-1]
    already = check("a.c", C % "assert(a);")
    assert (already.models["sc"].safe, already.models["tso"].triage) == (False, "breaks")


def test_what_cannot_be_seen_bars_the_proof() -> None:
    text = (C % "assert(x && y);").replace("a = y;", 'a = y; __asm__ volatile("sidt 0(%0)" :: "r"(&b) : "memory");')
    answer = check("u.c", text)
    assert "harmless" not in (answer.triage, answer.models["tso"].triage)


GOALS = [
    pytest.param("h.c", C % "assert(x && y);", {"robust": 1, "safe": 0, "both": 1}, id="harmless"),
    pytest.param("b.c", C % "assert(a || b);", {"robust": 1, "safe": 1, "both": 1}, id="breaks"),
    pytest.param("f.litmus", FENCED + "~exists (0:rax=1)", {"robust": 0, "safe": 1, "both": 1}, id="a claim"),
    pytest.param("f.litmus", FENCED + "exists (0:rax=1)", {"robust": 0, "safe": 2, "both": 0}, id="a question"),
    pytest.param("p.pml", PROMELA, {"robust": 1, "safe": 0, "both": 1}, id="Promela"),
]


@pytest.mark.parametrize(("name", "text", "statuses"), GOALS)
def test_the_goal_says_what_the_status_means(run: Run, name: str, text: str, statuses: dict[str, int]) -> None:
    Path(name).write_text(text)
    for goal, expected in statuses.items():
        status, out, _ = run("check", "--goal", goal, name)
        assert status == expected, goal
        if status in (1, 3):
            assert f"Exit status {status} (--goal {goal}: " in out
    status, out, _ = run("check", name)
    if name.endswith((".c", ".pml")):
        assert f"; with --goal safe: {statuses['safe']}\n" in out


def test_what_breaks_is_told_first(run: Run) -> None:
    spsc = str(ROOT / "benchmarks" / "programs" / "spsc.c")
    _, out, _ = run("check", spsc)
    first, *_ = out.splitlines()
    assert first == (
        f"{spsc}: violation: breaks under PSO: T2's assertion value == last + 1 fails at {spsc}:37; "
        "not robust under TSO, harmless for what it asserts: proved; not robust under C11"
    )
    told = [line for line in out.splitlines() if line.startswith(("Not safe", "Not robust"))]
    assert len(told) == 1
    assert told[0].startswith("Not safe under PSO: ")
    status, quiet, _ = run("check", "-q", spsc)
    assert (status, quiet) == (1, f"{first}\n")


def test_fence_says_what_it_would_buy(run: Run) -> None:
    bought = {}
    for name, end in {"breaks": "assert(a || b);", "harmless": "assert(x && y);"}.items():
        Path(f"{name}.c").write_text(C % end)
        _, out, _ = run("fence", "--model", "tso", f"{name}.c")
        (bought[name],) = [line for line in out.splitlines() if line.startswith("What they buy: ")]
        _, out, _ = run("fence", "--model", "tso", "--json", f"{name}.c")
        assert json.loads(out)["triage"] == name
    assert bought == {
        "breaks": "What they buy: safety: without them, under TSO, T0's assertion a || b fails at breaks.c:10",
        "harmless": "What they buy: robustness alone: without them nothing that the program asserts fails (proved)",
    }


def test_failures_in_c_are_told_by_few_steps(run: Run) -> None:
    spsc = str(ROOT / "benchmarks" / "programs" / "spsc.c")
    lengths = {}
    for shorten in (False, True):
        answer = teetotal.check(spsc, models="pso", shorten=shorten)
        (failure,) = [violation for violation in answer.violations if violation.kind == "assertion"]
        lengths[shorten] = len(failure.steps)
        status, out, _ = run(*shlex.split(failure.replay)[1:])
        assert status == 1
        assert "Not safe: T2: assertion (value == last + 1)" in out
    assert lengths[True] < lengths[False] / 1.5


BUSY = """#include <pthread.h>
#include <assert.h>
volatile int x, y, a, b, n;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *busy(void *p) {
  for (int i = 0; i < 3; ++i) { pthread_mutex_lock(&m); ++n; pthread_mutex_unlock(&m); }
  return p;
}
static void *f(void *p) { busy(p); x = 1; a = y; return p; }
static void *g(void *p) { busy(p); y = 1; b = x; return p; }
int main(void) {
  pthread_t s, t, u;
  pthread_create(&u, 0, busy, 0);
  pthread_create(&s, 0, f, 0);
  pthread_create(&t, 0, g, 0);
  pthread_join(u, 0);
  pthread_join(s, 0);
  pthread_join(t, 0);
  assert(n == 9);
}
"""


def test_cycles_in_c_are_shortened_where_nothing_fails(tmp_path: Path) -> None:
    """Store buffering behind other work, beside a thread that has nothing to do with it: that is left out."""
    (tmp_path / "busy.c").write_text(BUSY)
    lengths = {}
    for shorten in (False, True):
        answer = teetotal.check(
            str(tmp_path / "busy.c"), models="tso", explore="random:50", triage=0.0, shorten=shorten
        )
        violation = answer.models["tso"].violations[0]
        assert violation.kind == "robustness"
        again = teetotal.replay(shlex.split(violation.replay)[2], str(tmp_path / "busy.c"))
        assert [step.thread for step in again.execution.steps] == [step.thread for step in violation.steps]
        lengths[shorten] = len(violation.steps)
        if shorten:
            assert not any(event.thread == 1 for event in violation.events)
    assert lengths[True] < lengths[False]


TWO_FAILURES = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *busy(void *p) { y = 1; y = 2; y = 3; return p; }
static void *look(void *p) {
  int seen = x;
  assert(seen != 2);
  assert(seen != 1);
  return p;
}
int main(void) {
  pthread_t s, t;
  pthread_create(&s, 0, busy, 0);
  pthread_create(&t, 0, look, 0);
  x = 1;
  x = 2;
  pthread_join(t, 0);
  pthread_join(s, 0);
}
"""


def test_an_execution_is_not_shortened_to_that_of_another_failure(tmp_path: Path) -> None:
    """Without x = 2 the other assertion fails, sooner: that is no reason to tell the longer execution of the first."""
    (tmp_path / "two.c").write_text(TWO_FAILURES)
    found = teetotal.check(str(tmp_path / "two.c"), models="tso").models["sc"].violations
    assert sorted((one.locations[-1].rpartition(":")[2], one.events[-1].value) for one in found) == [("8", 2), ("9", 1)]
    assert not any(event.thread == 1 for one in found for event in one.events)
