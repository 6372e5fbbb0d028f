"""What must hold of a program with loops that wait, by definition (``waitless.py``), of both engines that explore it.

``Definition`` is the program by brute force; ``interpreted`` and ``Compiled`` raise AssertionError where an engine differs.
Used by test_waiting.py and test_c_waiting.py on hundreds of programs, and by fuzz_waiting.py on as many as one likes.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import waitless
from c_programs import compiled, explore, reported, translate
from in_parts import in_parts, told
from sc_executions import executions
from teetotal import _core
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.answers.numbers import Tag
from teetotal.engines.encoding import encode, encode_semantics, twins
from teetotal.engines.executions import exchanging
from teetotal.engines.executions.robustness import robustness
from teetotal.engines.executions.watched import Finding
from teetotal.engines.runtime import driver
from teetotal.engines.runtime.messages import COMMIT, StepRow
from teetotal.engines.states.outcomes import outcomes
from teetotal.programs.c.symbols import Symbols
from teetotal.programs.program import Program, Rmw
from waitless import INITIAL, Id, Recorded, Summary, TooMany, Trace

RELAXED: tuple[ModelName, ...] = ("tso", "pso")
MONITORS = ("monitor=exact-tso", "monitor=exact-pso")


class Definition:
    """A program by brute force, under SC and under those relaxed machines on which it is not too large."""

    def __init__(self, program: Program, semantics: Semantics = Semantics(), *, most: int = 5_000) -> None:
        """TooMany where it is too large under SC."""
        self.program, self.semantics = program, semantics
        self.sc = waitless.summary(program, "sc", semantics)
        self.relaxed: dict[tuple[ModelName, Semantics], Summary] = {}
        machines = [(model, semantics) for model in RELAXED]
        if any(isinstance(instruction, Rmw) for thread in program.threads for instruction in thread.code):
            machines.append(("pso", Semantics(rmw="address", mutex="rmw", failed_cas=semantics.failed_cas)))
        self.too_many = 0
        for machine in machines:
            try:
                self.relaxed[machine] = waitless.summary(program, *machine, most=most)
            except TooMany:
                self.too_many += 1

    def counted(self) -> Counter[str]:
        count = Counter(programs=1, classes=len(self.sc.traces))
        count["machines too large"] = self.too_many
        count["vain"] = list(self.sc.traces.values()).count("vain")
        for (model, semantics), summary in self.relaxed.items():
            name = model if semantics.rmw == "all" else f"{model}, rmw=address"
            count.update({name: 1, f"{name}: not robust": not summary.robust, f"{name}: traces": len(summary.traces)})
        return count


# -- the interpreter --------------------------------------------------------------------------------------------------


def interpreted(definition: Definition) -> None:
    """One execution for each class, none begun in vain; robust, outcomes and failures as by definition."""
    program, semantics, expected = definition.program, definition.semantics, definition.sc.traces
    machine = waitless.Machine(program, "sc", semantics)
    found = executions(program, semantics=semantics, keep=100_000)
    traces = [machine.run(schedule).trace for schedule in found.schedules]
    assert len(set(traces)) == len(traces) == found.executions
    assert set(traces) == set(expected)
    assert (found.redundant, found.complete) == (0, True)
    if "other" not in expected.values():
        assert found.vain == list(expected.values()).count("vain")
    for (model, under), summary in definition.relaxed.items():
        searched = robustness(program, [model], under)
        assert searched.complete
        assert (not searched.violations[model]) == summary.robust, (model, under)
        reached = outcomes(program, model, under)
        assert reached.values == summary.outcomes, (model, under)
        assert (reached.deadlock is not None or reached.livelock is not None) == summary.hangs, (model, under)
        assert {failure.thread for failure in reached.failures} == {thread for thread, _ in summary.failures}
    if alike(program):
        exchanged(definition, traces)


def exchanged(definition: Definition, every: Sequence[Trace]) -> None:
    """Threads that do the same in order: the same classes up to exchanging them, none more, and the same violations."""
    program, semantics = definition.program, definition.semantics
    machine = waitless.Machine(program, "sc", semantics)
    found = executions(program, semantics=semantics, keep=100_000, symmetry="on")
    left = [machine.run(schedule).trace for schedule in found.schedules]
    assert len(set(left)) == len(left) == found.executions <= len(every)
    assert (found.redundant, found.complete) == (0, True)
    assert {least(trace, program) for trace in left} == {least(trace, program) for trace in every}
    names, numbers = ["exact-tso", "exact-pso"], twins(program)
    for under in {under for _, under in definition.relaxed}:
        on, off = (
            {
                (names[monitor], *(_place(machine, renamed, event) for event in triple))
                for monitor, triple, schedule, _ in _reports(program, under, names, given)
                for renamed in exchanging.exchanged(schedule, schedule[triple[0]], schedule[-1], given)
            }
            for given in (numbers, [])
        )
        assert on == off, under


def _reports(program: Program, semantics: Semantics, names: list[str], given: list[int]) -> list[Finding]:
    request = (encode(program), encode_semantics(semantics), True, "all", 0, 0, 0, names, 1e9, 1024, None, False, given)
    return [finding for _, finding in _core.monitored_search(*request)[1]]


def _place(machine: waitless.Machine, schedule: list[int], event: int) -> tuple[int, int]:
    """The thread and the instruction of an event of an execution, or of what comes behind its last one."""
    thread = schedule[event]
    return thread, machine.run(schedule[:event]).locals[thread].pc


# -- the same program in C ---------------------------------------------------------------------------------------------


@contextmanager
def in_one_object(definitions: Iterable[Definition], compiler: str) -> Iterator[Compiled]:
    """Many programs, by their numbers: to compile takes longer than to explore."""
    programs = [definition.program for definition in definitions]
    with compiled(translate(programs, observed=True), compiler=compiler) as file, closing(Symbols(file)) as symbols:
        yield Compiled(file, symbols)


class Compiled(NamedTuple):
    file: Path
    symbols: Symbols

    def agrees(self, definition: Definition, number: int) -> None:
        """The same classes, each once, with its end; under SC robust alike, under TSO and PSO itself the same failures.
        Threads that are alike in order: the same classes up to exchanging them, none more."""
        program = definition.program
        every = None
        for semantics in {semantics for _, semantics in definition.relaxed} | {definition.semantics}:
            end, answers = self.explore(number, semantics, *MONITORS, "symmetry=off")
            every = self.covers(definition.sc, program, end, answers, "sc")
            for model, count in zip(RELAXED, reported(answers), strict=True):
                if (model, semantics) in definition.relaxed:
                    assert (count == 0) == definition.relaxed[model, semantics].robust, (model, semantics)
        for (model, semantics), summary in definition.relaxed.items():
            self.covers(summary, program, *self.explore(number, semantics, f"model={model}"), model)
        if every is not None and alike(program):
            _, answers = self.explore(number, definition.semantics, "symmetry=on")
            left = list(self.traces(program, answers, "sc"))
            assert len(set(left)) == len(left) <= len(every)
            assert {least(trace, program) for trace in left} == {least(trace, program) for trace in every}

    def agrees_in_parts(self, number: int) -> None:
        """What several workers tell is what one tells, with store buffers too."""
        for options in (MONITORS, ["model=tso"], ["model=pso"]):
            request = ["strategy=all", *options]
            found, notes = in_parts(self.file, request, [str(number)], 1 + number % 3, 1 + number // 10 % 4)
            assert found == told(driver.answers(self.file, request, [str(number)])), options
            assert not notes

    def explore(self, number: int, semantics: Semantics, *options: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        options = ("tell-all=1", *driver.semantics_options(semantics), *options)
        return explore(self.file, *options, arguments=[str(number)])

    def covers(
        self, summary: Summary, program: Program, end: dict[str, Any], answers: list[dict[str, Any]], model: str
    ) -> set[Trace]:
        traces = list(self.traces(program, answers, model))
        assert (end["complete"], end["redundant"]) == (True, 0), model
        assert len(set(traces)) == len(traces) == end["executions"], model
        assert set(traces) == set(summary.traces), model
        assert end["blocked"] == sum(ending != "end" for ending in summary.traces.values()), model
        failures = [answer for answer in answers if answer["type"] == "failure"]
        asserted = {answer["thread"] - 1 for answer in failures if answer["what"] == "assertion"}
        assert asserted <= {thread for thread, _ in summary.failures}, model  # each place is told once
        assert bool(asserted) == bool(summary.failures), model
        assert any(answer["what"] in ("deadlock", "livelock") for answer in failures) == summary.hangs, model
        return set(traces)

    def traces(self, program: Program, answers: list[dict[str, Any]], model: str) -> Iterator[Trace]:
        base = next(answer["base"] for answer in answers if answer["type"] == "loaded")
        names = {name: number for number, name in enumerate(program.memory)}
        for answer in answers:
            if answer["type"] == "execution":
                cells = {}
                for cell, (_, address, _, region, *_) in answer["cells"].items():
                    if region == "object":
                        name = self.symbols.variable(address - base)
                        cells[cell] = names[str(name).partition("_")[2].partition(".")[0]]
                yield trace_of([StepRow(*row) for row in answer["steps"]], cells, program, model)


def trace_of(steps: Sequence[StepRow], cells: dict[int, int], program: Program, model: str) -> Trace:
    """Of an execution as the runtime tells it: sources by running it again, against what each step says it saw."""
    threads: list[list[Recorded]] = [[] for _ in program.threads]
    order: list[list[Id]] = [[] for _ in program.memory]
    memory: list[tuple[int | None, Id]] = [(value, INITIAL) for value in program.memory.values()]
    buffers: defaultdict[int, list[tuple[int, int, Id]]] = defaultdict(list)

    def write(address: int, value: int, event: Id) -> None:
        memory[address] = (value, event)
        order[address].append(event)

    for step in steps:
        thread = step.thread - 1
        if thread < 0 or step.tag == Tag.THREAD or step.place == 0:  # main, or what begins and ends a thread
            continue
        address = -1 if step.cell < 0 else cells[step.cell]
        if step.kind == COMMIT:
            oldest = next(entry for entry in buffers[thread] if entry[0] == address)
            buffers[thread].remove(oldest)
            write(*oldest)
            continue
        kind, event = Kind(step.kind), (thread, len(threads[thread]))
        wrote = kind is Kind.ST or (bool(step.wrote) and kind is not Kind.LD)
        source = None
        if kind is not Kind.ST and address >= 0:
            own = [entry for entry in buffers[thread] if entry[0] == address]
            value, source = own[-1][1:] if own else memory[address]
            assert step.tag > Tag.VECTOR or step.before == value, (step, value)
        threads[thread].append(Recorded(kind, address, source, wrote))
        if kind is Kind.ST and model != "sc":
            buffers[thread].append((address, step.after, event))
        elif wrote:
            write(address, step.after, event)
    return Trace(tuple(map(tuple, threads)), tuple(map(tuple, order)))


def alike(program: Program) -> list[list[int]]:
    """Threads that do the same."""
    groups = defaultdict(list)
    for number, thread in enumerate(program.threads):
        groups[thread.code].append(number)
    return [group for group in groups.values() if len(group) > 1]


def least(trace: Trace, program: Program) -> object:
    """The same for traces that differ in who of those that do the same is who."""
    groups = alike(program)
    members = [member for group in groups for member in group]
    renamed = []
    for order in itertools.product(*map(itertools.permutations, groups)):
        new = dict(zip(members, itertools.chain(*order), strict=True))

        def name(event: Id | None, new: dict[int, int] = new) -> Id:
            return (-2, 0) if event is None else (new.get(event[0], event[0]), event[1])

        threads = [()] * len(trace.threads)
        for number, events in enumerate(trace.threads):
            threads[new.get(number, number)] = tuple(event._replace(source=name(event.source)) for event in events)
        renamed.append((tuple(threads), tuple(tuple(map(name, events)) for events in trace.order)))
    return min(renamed)
