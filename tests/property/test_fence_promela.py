"""``teetotal fence`` on Promela: every benchmark program is repaired, proved, and none of its fences can go or be cheaper;
sets of least cost are those of brute force over all placements."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, islice, product
from pathlib import Path
from random import Random

import pytest

from amounts import some
from symbolic_programs import NAMES, PROGRAMS, random_program
from teetotal import _core
from teetotal.answers.costs import Costs, parse
from teetotal.answers.events import Issue, ModelName, Semantics
from teetotal.answers.options import FenceOptions
from teetotal.answers.verdict import Goal, Verdict
from teetotal.budget import Budget
from teetotal.engines.symbolic.graph import MODEL_NUMBERS, ControlGraph
from teetotal.engines.symbolic.schedules import Replay
from teetotal.engines.symbolic.verify import robust, verify
from teetotal.fences.fencing import fence
from teetotal.fences.insertion import NoFenceHelps, Search
from teetotal.fences.promela import PromelaProblem, _proof, killers_of, loops, patched
from teetotal.programs.promela import compile_text
from teetotal.programs.promela.instructions import Slot

MODELS: tuple[ModelName, ...] = ("tso", "pso")


def holds(text: str, goal: Goal, models: tuple[ModelName, ...] = MODELS, semantics: Semantics = Semantics()) -> bool:
    """Of the text itself, without any places for fences."""
    graph = ControlGraph(compile_text(text), semantics)
    judge = robust if goal == "robust" else verify
    return all(judge(graph, model).verdict is Verdict.SAFE for model in models)


def without(text: str, line: int, old: str, new: str) -> Iterator[str]:
    """The text with one word on that line replaced: each of them by itself."""
    lines = text.splitlines()
    pieces = lines[line - 1].split(old)
    for number in range(1, len(pieces)):
        changed = old.join(pieces[:number]) + new + old.join(pieces[number:])
        yield "\n".join([*lines[: line - 1], changed, *lines[line:]])


@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("name", NAMES)
def test_repaired_and_proved_and_nothing_can_go_or_be_cheaper(name: str, goal: Goal) -> None:
    path = PROGRAMS / f"{name}.pml"
    was_right = holds(path.read_text(), goal)
    result, text = fence(str(path), FenceOptions(goal=goal))
    assert result.verdict is Verdict.SAFE
    assert bool(result.fences) == (result.diff != "") == (not was_right)
    assert result.minimality == "minimal: none can go, none can be of a cheaper kind"
    assert holds(text, goal)
    for placed in result.fences:
        assert placed.patched_line is not None
        assert placed.breaks
        for weaker in ("skip", "sfence") if placed.kind == "mfence" else ("skip",):
            changed = list(without(text, placed.patched_line, placed.kind, weaker))
            assert changed
            assert not any(holds(each, goal) for each in changed), f"{placed} could be {weaker}"


@pytest.mark.parametrize("name", ["dijkstra", "szymanski"])
def test_a_set_of_least_cost_is_the_first_of_all(name: str) -> None:
    path = str(PROGRAMS / f"{name}.pml")
    every = fence(path, FenceOptions(every=True, most=60)).answer
    least = fence(path, FenceOptions(minimum=True)).answer
    assert every.verdict is Verdict.SAFE
    assert len(every.sets) > 1
    costs = [sum(placed.cost for placed in one) for one in every.sets]
    assert costs == sorted(costs)
    assert every.cost == least.cost == costs[0] <= fence(path).answer.cost


def test_a_fence_costs_each_process_that_has_it_and_more_in_a_loop() -> None:
    path = str(PROGRAMS / "peterson_n.pml")  # three processes, in a loop
    for costs, factor in ((Costs(), 4), (parse("loop=7"), 7)):
        result = fence(path, FenceOptions(costs=costs, every=True)).answer
        for one in (result.fences, *result.sets):
            for placed in one:
                assert placed.in_loop
                assert placed.cost == 3 * factor * {"mfence": 10, "sfence": 3}[placed.kind]


TWICE = """bit x, y;
inline both(mine, other) { mine = 1; other == 1 }
active proctype P() { do :: both(x, y); x = 0 :: break od; both(x, y) }
"""


def test_a_fence_in_a_loop_and_outside_of_it_is_in_a_loop() -> None:
    """An inline's gap stands where it is called: in a loop first, and then once more."""
    program = compile_text(TWICE, "twice.pml", "gaps")
    inside = [sites for sites, site in zip(loops(program), program.sites, strict=True) if site.location.line == 2]
    assert inside
    assert all(sites == [True] for sites in inside)


PAIR = """bit x, y;
active proctype P() {{ x = 1; {0} y = 1 }}
active proctype Q() {{ byte a, b; a = y; b = x; assert(!(a == 1 && b == 0)) }}
"""


@pytest.mark.parametrize(("costs", "kind"), [("mfence=10,sfence=1", "sfence"), ("mfence=1,sfence=10", "mfence")])
def test_costs_decide_which_kind(costs: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "pair.pml"
    path.write_text(PAIR.format(""))
    for options in (FenceOptions(costs=parse(costs)), FenceOptions(costs=parse(costs), minimum=True)):
        (placed,) = fence(str(path), options).answer.fences
        assert (placed.kind, placed.after) == (kind, "x = 1")


# -- least cost, by brute force over all placements ----------------------------------------------------------------------


def cheaper_sets(costs: list[Fraction], bound: Fraction) -> Iterator[frozenset[int]]:
    """Every set of sites that costs less."""
    for size in range(int(bound / min(costs)) + 1):
        for chosen in combinations(range(len(costs)), size):
            if sum((costs[site] for site in chosen), Fraction(0)) < bound:
                yield frozenset(chosen)


def random_text(seed: int, goals: tuple[int, ...] = (0, 0, 0, 0)) -> str:
    """Two processes of a few accesses that may meet if they have read the goals, or, every fourth time, with choices and
    atomic operations."""
    random = Random(seed)
    if seed % 4 == 3:
        return random_program(seed, loops=False)
    lines = ["byte x, y, z;"]
    for p in range(2):
        body = []
        for _ in range(random.randint(1, 2)):
            store = f"{random.choice('xyz')} = 1"
            load = f"{random.choice('ab')} = {random.choice('xyz')}"
            body.append(random.choice([store, store, store, load, f"if :: {store} :: skip fi"]))
        body += random.choice([["a = x", "b = y"], ["b = y", "a = x"], ["y = 1", "a = x"], ["x = 1", "b = y"]])
        goal = f"(a == {goals[2 * p]} && b == {goals[2 * p + 1]}); here: skip"
        lines.append(f"active proctype P{p}() {{ byte a, b; {'; '.join(body)}; {goal} }}")
    return "\n".join([*lines, "forbidden(meeting, P0@here && P1@here)"])


@cache
def unsafe_text(seed: int) -> str | None:
    """One with goals that only stores in buffers make possible."""
    for goals in product((0, 1), repeat=4):
        text = random_text(seed, goals)
        if holds(text, "safe", ("sc",)) and not holds(text, "safe", ("pso",)):
            return text
        if seed % 4 == 3:
            return None
    return None


def _quietly(states: int, fraction: float) -> None:
    pass


class BruteForce:
    """Whether sets of fences work, asked one by one."""

    def __init__(self, text: str, goal: Goal, models: tuple[ModelName, ...], semantics: Semantics) -> None:
        self.program = compile_text(text, "random.pml", "gaps")
        self.always = frozenset(number for number, site in enumerate(self.program.sites) if site.existing)
        self.new = [number for number in range(len(self.program.sites)) if number not in self.always]
        self.goal, self.models, self.semantics = goal, models, semantics
        self.graph = ControlGraph(self.program, semantics)

    def works(self, fences: frozenset[int]) -> bool:
        """Asked of the core itself, for safety of another engine than the search's, so that nothing is replayed."""
        on = [site in fences | self.always for site in range(len(self.program.sites))]
        for model in map(MODEL_NUMBERS.__getitem__, self.models):
            if self.goal == "robust":
                answer = _core.verify_robust(self.graph.core, model, on, _quietly)["answer"]
            else:
                answer = _core.verify_bounded(self.graph.core, model, on, 20, _quietly)["answer"]
                assert answer != "cut"
            if answer != "safe":
                return False
        return True

    def problem(self, costs: Costs) -> PromelaProblem:
        return PromelaProblem(self.program, self.models, self.goal, self.semantics, costs, always=self.always)


def least_cost(brute: BruteForce, most: int) -> int | None:
    """How many cheaper sets brute force tried; None if that is too many, or no fence is needed, or none helps."""
    problem = brute.problem(parse("mfence=2,sfence=1,loop=2"))
    search = Search(problem)
    try:
        found = next(search.cheapest_first())
    except NoFenceHelps as hopeless:
        if hopeless.violation.model != "sc" and brute.works(frozenset(brute.new)):
            pytest.fail(f"fences would have helped\n{brute.program.text}")
        return None
    text = patched(brute.program, found).text
    assert holds(text, brute.goal, brute.models, brute.semantics)
    tried = 0
    for chosen in cheaper_sets([problem.sites[number].cost for number in brute.new], search.cost(found)):
        tried += 1
        if tried > most:
            return None
        fences = frozenset(brute.new[number] for number in chosen)
        assert not brute.works(fences), f"cheaper: {fences}\n{brute.program.text}"
        if tried % 50 == 0:  # what is tried is what would be written
            assert not holds(patched(brute.program, fences).text, brute.goal, brute.models, brute.semantics)
    return tried or None


@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("models", [("tso",), ("pso",), ("tso", "pso")])
def test_least_cost_is_that_of_brute_force(goal: Goal, models: tuple[ModelName, ...]) -> None:
    semantics = Semantics(rmw="address") if models == ("pso",) else Semantics()
    compared = tried = 0
    for seed in range(some(40, least=10) if goal == "robust" else some(100, least=24)):
        text = random_text(seed) if goal == "robust" else unsafe_text(seed)
        if text is None or (goal == "robust" and "atomic {" in text):
            continue
        sets = least_cost(BruteForce(text, goal, models, semantics), most=400)
        compared += sets is not None
        tried += sets or 0
    assert compared >= some(10, least=4)
    assert tried > 15 * compared


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 8, 9, 10, 12])
def test_minimal_sets_are_those_of_brute_force(seed: int) -> None:
    brute = BruteForce(random_text(seed), "robust", MODELS, Semantics())
    search = Search(brute.problem(Costs()))
    sets = {found for found in islice(search.cheapest_first(), 300) if len(found) < 3}
    working: list[frozenset[int]] = []
    for size in range(3):
        for chosen in map(frozenset, combinations(brute.new, size)):
            if not any(smaller <= chosen for smaller in working) and brute.works(chosen):
                working.append(chosen)
    assert sets == set(working)


# -- killers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_a_run_stays_possible_with_every_fence_that_is_no_killer(seed: int) -> None:
    """Why clauses are exact: with all other fences on at once, the machine can still do the same."""
    text = random_program(seed, loops=seed % 2 == 0)
    program = compile_text(text, "random.pml", "gaps")
    always = frozenset(number for number, site in enumerate(program.sites) if site.existing)
    for model, rmw in (("tso", "all"), ("pso", "all"), ("pso", "address")):
        graph = ControlGraph(program, Semantics(rmw=rmw))
        outcome = verify(graph, model, fences=always)
        if outcome.replay is None:
            continue
        others = frozenset(range(len(program.sites))) - killers_of(outcome.replay)
        assert verify(graph, model, fences=others).verdict is Verdict.VIOLATION
        assert _same_run_with(outcome.replay, others)


def _same_run_with(replay: Replay, fences: frozenset[int]) -> bool:
    """The run's steps on a machine of the program with these fences, which processes pass as late as they can."""
    other = Replay(replay.program.with_fences(fences), replay.model, replay.run.memory.semantics)
    new = fences - replay.program.fences

    def pass_new_fences(p: int) -> None:
        while other.control(p).status == "running":
            slot = other.program.instruction(p, other.control(p))
            if not isinstance(slot, Slot) or slot.fence not in new:
                return
            other.take(Issue(p))

    for line in replay.lines:
        if line.committed is None:
            pass_new_fences(line.step[0])
        other.take(line.step)  # refuses what cannot happen
        assert line.buffers == () or other.lines[-1].text == line.text
    for p in range(len(replay.program.processes)):
        pass_new_fences(p)
    return other.bad() is not None


# -- fences that are there ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", ["robust", "safe"])
@pytest.mark.parametrize("name", ["burns", "clh", "dekker", "lamport_fast", "mcs", "peterson_n", "spsc", "szymanski"])
def test_over_fenced_programs_are_reduced(name: str, goal: Goal, tmp_path: Path) -> None:
    """An mfence and an sfence at every store, and so on: what is left is minimal, and nothing else has changed."""
    original = (PROGRAMS / f"{name}.pml").read_text()
    program = compile_text(original, "over.pml")
    path = tmp_path / "over.pml"
    path.write_text(patched(program, frozenset(range(len(program.sites)))).text)
    result, text = fence(str(path), FenceOptions(goal=goal, remove=True))
    assert result.verdict is Verdict.SAFE
    assert not result.fences
    assert result.removed
    assert holds(text, goal)
    left = compile_text(text, "left.pml", "gaps")
    existing = frozenset(number for number, site in enumerate(left.sites) if site.existing)
    assert len(existing) + len(result.removed) == len(program.sites)
    for number in existing:
        assert not holds(patched(left, frozenset(), frozenset({number})).text, goal)
    bare = patched(left, frozenset(), existing).text
    assert _words(bare) == _words(original)
    assert fence(str(path), FenceOptions(goal=goal)).answer.unnecessary


def _words(text: str) -> list[str]:
    """Without what a fence may leave behind: a skip, or a separator at an end."""
    return text.replace("skip", "").replace(";", " ").split()


def test_remove_writes_what_promela_allows(tmp_path: Path) -> None:
    path = tmp_path / "over.pml"
    path.write_text(OVER)
    result, text = fence(str(path), FenceOptions(remove=True))
    assert result.verdict is Verdict.SAFE
    assert [(placed.kind, placed.line) for placed in result.removed] == [
        ("sfence", 4), ("sfence", 6), ("mfence", 8), ("sfence", 9), ("mfence", 10), ("sfence", 12), ("mfence", 13),
    ]  # fmt: skip
    assert text == REDUCED


OVER = """bit f[2];
active [2] proctype P() {
  f[_pid] = 1;
  sfence;
  mfence;
  sfence;
  if
  :: f[1 - _pid] == 0 -> mfence; skip
  :: f[1 - _pid] == 1 -> sfence
  :: mfence; f[1 - _pid] == 1
  fi;
L: sfence;
  goto end; mfence;
end: skip
}
"""
REDUCED = """bit f[2];
active [2] proctype P() {
  f[_pid] = 1;
  mfence;
  if
  :: f[1 - _pid] == 0 -> skip
  :: f[1 - _pid] == 1 -> skip
  :: skip; f[1 - _pid] == 1
  fi;
L: skip;
  goto end;
end: skip
}
"""


def test_a_cheaper_kind_in_the_place_of_a_dearer_one(tmp_path: Path) -> None:
    path = tmp_path / "pair.pml"
    path.write_text(PAIR.format("mfence;"))
    result, text = fence(str(path), FenceOptions(remove=True, minimum=True))
    assert [placed.kind for placed in result.removed] == ["mfence"]
    assert [placed.kind for placed in result.fences] == ["sfence"]
    assert text == PAIR.format("sfence;")


# -- what is written ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(0, 120, 6))
def test_what_is_tried_is_what_is_written(seed: int) -> None:
    """Fences at random, in programs with loops, choices, labels and atomic blocks: the text means the same."""
    random = Random(seed)
    program = compile_text(random_program(seed), "random.pml", "gaps")
    graph = ControlGraph(program)
    existing = frozenset(number for number, site in enumerate(program.sites) if site.existing)
    for _ in range(4):
        fences = frozenset(n for n in range(len(program.sites)) if random.random() < 0.2)
        text = patched(program, fences - existing, existing - fences).text
        written = ControlGraph(compile_text(text))
        for model in ("sc", "tso", "pso"):
            assert verify(graph, model, fences=fences).verdict is verify(written, model).verdict, text


@pytest.mark.parametrize("name", NAMES)
def test_every_gap_can_be_written(name: str) -> None:
    program = compile_text((PROGRAMS / f"{name}.pml").read_text(), f"{name}.pml", "gaps")
    everything = frozenset(number for number, site in enumerate(program.sites) if not site.existing)
    again = compile_text(patched(program, everything).text, f"{name}.pml", "gaps")
    assert sum(site.existing for site in again.sites) == len(program.sites)
    for number in everything:
        compile_text(patched(program, frozenset({number})).text, f"{name}.pml")


def patch_of(text: str, tmp_path: Path, **options: object) -> str:
    path = tmp_path / "program.pml"
    path.write_bytes(text.encode())
    result, patched_text = fence(str(path), FenceOptions(**options))  # type: ignore[arg-type]
    assert result.verdict is Verdict.SAFE, result.notes
    return patched_text


def test_fences_go_into_inlines_never_into_their_arguments(tmp_path: Path) -> None:
    text = """bit x, y;
inline announce(mine) { mine = 1 }
inline look(place, other) { place = other }
active proctype P() { byte a; announce(x); look(a, y) }
active proctype Q() { byte b; announce(y); look(b, x) }
"""
    written = patch_of(text, tmp_path)
    assert "{ mine = 1; mfence }" in written or "{ mfence; place = other }" in written
    assert "announce(x); look(a, y)" in written


def test_no_option_becomes_one_that_can_always_be_taken(tmp_path: Path) -> None:
    text = """bit x, y, z;
active proctype P() { x = 1; if :: y == 0 -> z = 1 :: y == 1 fi }
active proctype Q() { byte a; y = 1; do :: { x == 1; break } od; a = z }
"""
    program = compile_text(text, "options.pml", "gaps")
    everything = patched(program, frozenset(range(len(program.sites)))).text
    assert ":: y == 0 -> mfence; sfence; z = 1; mfence; sfence :: y == 1; mfence; sfence fi" in everything
    assert ":: { x == 1; " in everything


def test_windows_line_ends_and_labels_stay(tmp_path: Path) -> None:
    text = "bit f[2];\r\nactive [2] proctype P() {\r\nL: f[_pid] = 1;\r\nM: (f[1 - _pid] == 0)\r\n}\r\n"
    written = patch_of(text, tmp_path)
    assert written.replace("f[_pid] = 1; mfence;", "f[_pid] = 1;").replace("M: mfence; (", "M: (") == text


def test_a_store_and_a_load_that_one_macro_makes_leave_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "macro.pml"
    path.write_text("#define BOTH f[_pid] = 1; (f[1 - _pid] == 0)\nbit f[2];\nactive [2] proctype P() { BOTH }\n")
    result, _ = fence(str(path))
    assert result.verdict is Verdict.VIOLATION
    assert any("write them as two statements" in note for note in result.notes)


def test_what_is_unsafe_under_sc_no_fence_repairs(tmp_path: Path) -> None:
    path = tmp_path / "unsafe.pml"
    path.write_text("byte x; active [2] proctype P() { x = 1; cs: skip } forbidden(m, P[0]@cs && P[1]@cs)")
    result, _ = fence(str(path), FenceOptions(goal="safe"))
    assert result.verdict is Verdict.VIOLATION
    assert "SC too" in result.notes[0]
    assert result.violations[0].replay == f"teetotal replay 1s:0.1 {path}"


def test_a_budget_that_runs_out_is_told() -> None:
    result, text = fence(str(PROGRAMS / "lamport_fast.pml"), FenceOptions(goal="safe", seconds=0.0))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert not result.complete
    assert "is not known: time" in result.notes[0]
    assert text == (PROGRAMS / "lamport_fast.pml").read_text()


@pytest.mark.parametrize("models", [("tso", "pso"), ("pso", "tso")])
def test_a_proof_is_one_under_every_model(models: tuple[ModelName, ...]) -> None:
    """Message passing is robust under TSO alone, whichever is asked last."""
    text = "byte x, y; active proctype P() { x = 1; y = 1 } active proctype Q() { byte a, b; a = y; b = x }"
    answer = _proof("mp.pml", compile_text(text), FenceOptions(models=models), Budget())
    assert answer.verdict is Verdict.VIOLATION
    assert (answer.models["tso"].robust, answer.models["pso"].robust) == (True, False)
