"""Confirms a certificate of safety: small, plain, and independent of the engines.

It is told the program with its fences, the model and its semantics, and believes nothing that the certificate says about
them. It knows what a process can do in a control state (``PromelaProgram``, the front end, which the engines use too) and
the machines' rules, and nothing of how the certificate was found. It confirms that

1. some state holds the initial configuration;
2. in each state, each process's automaton is closed under the process's steps while memory stays as it is;
3. after each commit of a store, and each atomic step that changes memory, ONE state holds all that results;
4. no state holds a bad configuration.

Together: every configuration that the machine reaches with unbounded buffers lies in some state, and none is bad. The proof
is in docs/explanation/unbounded-buffers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from teetotal.answers.errors import ProgramError, TeetotalError
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.engines.symbolic.certificates import Certificate, digest
from teetotal.engines.symbolic.wellformed import MARKER, check_form
from teetotal.programs.program import Unlock
from teetotal.programs.promela.evaluation import ghosts_hold
from teetotal.programs.promela.instructions import AccessAction, Atomically, Control, Fenced, Tau
from teetotal.programs.promela.program import PromelaProgram

Memory = tuple[int, ...]
Automaton = list[tuple[dict[int, int], frozenset[int]]]


class Rejected(TeetotalError):
    """The certificate does not prove what it claims."""


class View(NamedTuple):
    """What a process knows of its own buffer: its last store to each location, how the word ends, and whether it
    has a marker."""

    own: tuple[tuple[int, int], ...] = ()
    empty: bool = True
    fenced: bool = False
    marked: bool = False

    def after(self, letter: int, letters: list[tuple[int, int]]) -> View:
        if letter == MARKER:
            return View(self.own, False, True, True)
        location, value = letters[letter]
        return View(tuple(sorted({**dict(self.own), location: value}.items())), False, False, self.marked)


class Effect(NamedTuple):
    """One thing that a process can do: append ``letter`` (None: nothing), or write; then stand at ``target``."""

    target: Control
    letter: tuple[int, int] | int | None = None
    writes: tuple[tuple[int, int], ...] = ()


def check(
    program: PromelaProgram,
    certificate: Certificate,
    model: ModelName,
    semantics: Semantics = Semantics(),
    tick: Callable[[], None] = lambda: None,
) -> int:
    """The number of states, if the certificate proves this program, with the fences that it has, safe under this model.
    ``Rejected`` if it does not, ``Malformed`` if it is none. ``tick`` is called now and then, and may end it."""
    _check_made_for(program, certificate, model, semantics)
    check_form(certificate, program, model)
    try:
        return _Checker(program, certificate, model, semantics, tick).run()
    except MemoryError:
        raise Rejected("there is not enough memory to follow it") from None
    except (ProgramError, ArithmeticError, AssertionError, LookupError, ValueError) as error:
        # The form is right, so the program itself stumbled: over registers that it never has.
        raise Rejected(f"it has a control state that the program cannot be in: {error}") from error


def _check_made_for(program: PromelaProgram, certificate: Certificate, model: ModelName, semantics: Semantics) -> None:
    """A clear word where somebody took the wrong file. No proof depends on it: the certificate may lie here."""
    if certificate.digest != digest(program.text):
        raise Rejected("it was made for another program text")
    if certificate.locations != list(program.memory):
        raise Rejected("it was made for other locations")
    if certificate.model != model:
        raise Rejected(f"it was made for {certificate.model.upper()}, not for {model.upper()}")
    for option in ("rmw", "mutex"):
        theirs, ours = getattr(certificate.semantics, option), getattr(semantics, option)
        if theirs != ours:
            raise Rejected(f"it was made for --{option} {theirs}, not for --{option} {ours}")
    if frozenset(certificate.fences) != program.fences:
        raise Rejected("it was made for the program with other fences")


class _Checker:
    def __init__(
        self,
        program: PromelaProgram,
        certificate: Certificate,
        model: ModelName,
        semantics: Semantics,
        tick: Callable[[], None],
    ) -> None:
        self.program = program
        self.model = model
        self.semantics = semantics
        self.tick = tick
        self.work = 0
        self.letters = [(-1, 0), *certificate.letters]
        self.letter_numbers = {letter: n for n, letter in enumerate(self.letters) if n}
        self.controls = [[Control(*control) for control in process] for process in certificate.controls]  # type: ignore[arg-type]
        self.numbers = [{control: n for n, control in enumerate(process)} for process in self.controls]
        self.automata: list[Automaton] = [
            [(dict(edges), frozenset(finals)) for edges, finals in nodes] for nodes in certificate.automata
        ]
        self.states = [(tuple(certificate.memories[memory]), tuple(parts)) for memory, parts in certificate.states]
        self.by_memory: dict[Memory, list[tuple[int, ...]]] = {}
        for memory, parts in self.states:
            self.by_memory.setdefault(memory, []).append(parts)
        self.inclusions: dict[tuple[int, int], bool] = {}
        self.closed: set[tuple[int, int, Memory]] = set()

    def run(self) -> int:
        program = self.program
        start = tuple(
            self.number(p, program.past_absent_fences(p, program.begin(p))) for p in range(len(program.processes))
        )
        held = self.by_memory.get(tuple(self.program.memory.values()), [])
        if not any(all(q in self.automata[k][0][1] for q, k in zip(start, parts, strict=True)) for parts in held):
            raise Rejected("the initial configuration is in no state")
        for memory, parts in self.states:
            self.tick()
            for p, k in enumerate(parts):
                if (p, k, memory) not in self.closed:
                    self.check_closed(p, k, memory)
                    self.closed.add((p, k, memory))
                self.check_events(p, memory, parts)
            self.check_not_bad(memory, parts)
        return len(self.states)

    def count(self) -> None:
        self.work += 1
        if self.work % 1024 == 0:
            self.tick()

    # -- what a process can do ----------------------------------------------------------------------------------------

    def number(self, p: int, state: Control) -> int:
        if state not in self.numbers[p]:
            raise Rejected(
                f"{self.program.processes[p].name} reaches a control state that the certificate lacks: {state}"
            )
        return self.numbers[p][state]

    def effects(self, p: int, q: int, view: View, memory: Memory) -> Iterator[Effect]:
        """Everything that the process can do at q with a buffer like that."""
        state, program = self.controls[p][q], self.program
        for action in program.actions(p, state):
            match action:
                case Tau(target):
                    yield Effect(target)
                case Fenced(fence, target):
                    assert fence in program.fences, "absent fences are no places to stand at"
                    yield from self.fence(program.sites[fence].kind, target, view)
                case AccessAction(Kind.LD, location, _):
                    value = dict(view.own).get(location, memory[location])
                    yield Effect(program.after_load(p, state, value))
                case AccessAction(Kind.ST, location, value):
                    after = program.after(p, state)
                    if self.model == "sc":
                        yield Effect(after, writes=((location, value),))
                    else:
                        yield Effect(after, (location, value))
                case AccessAction(kind, _, _):
                    yield from self.fence(kind, program.after(p, state), view)
                case Atomically(footprint, needs):
                    unlocks = isinstance(program.instruction(p, state), Unlock) and self.semantics.mutex == "fence"
                    everything = needs == "all" or self.semantics.rmw == "all" or self.model != "pso" or unlocks
                    if (
                        needs is None
                        or view.empty
                        or (not everything and not view.marked and needs not in dict(view.own))
                    ):
                        for writes, target in program.outcomes(p, state, {x: memory[x] for x in footprint}):
                            yield Effect(target, writes=writes)

    def fence(self, kind: Kind, target: Control, view: View) -> Iterator[Effect]:
        if self.model == "sc" or (kind is Kind.SFENCE and self.model == "tso") or view.empty:
            yield Effect(target)
        elif kind is Kind.SFENCE:
            yield Effect(target, None if view.fenced else MARKER)

    # -- the four conditions --------------------------------------------------------------------------------------------

    def check_closed(self, p: int, k: int, memory: Memory) -> None:
        for node, view in self.places(k):
            edges, finals = self.automata[k][node]
            for q in finals:
                for target, letter, writes in self.effects(p, q, view, memory):
                    if any(memory[x] != v for x, v in writes):
                        continue  # an event
                    goal: int | None = node
                    if letter is not None:
                        number = letter if letter == MARKER else self.letter_numbers.get(letter)  # type: ignore[arg-type]
                        goal = None if number is None else edges.get(number)
                    reached = self.number(p, self.program.past_absent_fences(p, target))
                    if goal is None or reached not in self.automata[k][goal][1]:
                        name = self.program.processes[p].name
                        raise Rejected(f"{name} leaves its automaton {k} by a step from {self.controls[p][q]}")

    def places(self, k: int) -> Iterator[tuple[int, View]]:
        """Every node of an automaton, with every view that a word leading there gives."""
        pending = [(0, View())]
        seen = set(pending)
        while pending:
            self.count()
            node, view = pending.pop()
            yield node, view
            for letter, to in self.automata[k][node][0].items():
                place = (to, view.after(letter, self.letters))
                if place not in seen:
                    seen.add(place)
                    pending.append(place)

    def check_events(self, p: int, memory: Memory, parts: tuple[int, ...]) -> None:
        nodes = self.automata[parts[p]]
        if self.model == "pso":
            for letter in {letter for edges, _ in nodes for letter in edges if letter != MARKER}:
                self.check_successor(p, memory, parts, (self.letters[letter],), *self.removal(nodes, letter))
        else:
            for letter, to in nodes[0][0].items():
                self.check_successor(p, memory, parts, (self.letters[letter],), [to], _moves(nodes), _ends(nodes))
        atomic: dict[tuple[int, tuple[tuple[int, int], ...]], dict[tuple[int, View], set[int]]] = {}
        for place in self.places(parts[p]):
            for q in nodes[place[0]][1]:
                for target, _, writes in self.effects(p, q, place[1], memory):
                    if any(memory[x] != v for x, v in writes):
                        reached = self.number(p, self.program.past_absent_fences(p, target))
                        atomic.setdefault((q, writes), {}).setdefault(place, set()).add(reached)
        for (_, writes), ends in atomic.items():

            def moves(place: tuple[int, View]) -> list[tuple[int, tuple[int, View]]]:
                return [(a, (to, place[1].after(a, self.letters))) for a, to in nodes[place[0]][0].items()]

            def finals(place: tuple[int, View], ends: dict[tuple[int, View], set[int]] = ends) -> set[int]:
                return ends.get(place, set())

            self.check_successor(p, memory, parts, writes, [(0, View())], moves, finals)

    def removal(self, nodes: Automaton, wanted: int) -> tuple[list[Any], Callable[..., Any], Callable[..., Any]]:
        """PSO: the words without one letter, which had nothing to its location and no marker before it, and without
        markers that come to the front by that."""
        location = self.letters[wanted][0]

        def entered(node: int, front: bool) -> list[tuple[str, int]]:
            found = [("before", node)]
            if wanted in nodes[node][0]:
                found.append(("gone at front" if front else "gone", nodes[node][0][wanted]))
                behind = nodes[found[-1][1]][0]
                if front and MARKER in behind:  # one: no word has two in a row
                    found.append(("gone at front", behind[MARKER]))
            return found

        def moves(state: tuple[str, int]) -> Iterator[tuple[int, tuple[str, int]]]:
            phase, node = state
            for letter, to in nodes[node][0].items():
                if phase == "gone" or (phase == "gone at front" and letter != MARKER):
                    yield letter, ("gone", to)
                elif phase == "before" and letter != MARKER and self.letters[letter][0] != location:
                    for state in entered(to, False):
                        yield letter, state

        def finals(state: tuple[str, int]) -> frozenset[int]:
            return frozenset() if state[0] == "before" else nodes[state[1]][1]

        return entered(0, True), moves, finals

    def check_successor(
        self,
        p: int,
        memory: Memory,
        parts: tuple[int, ...],
        writes: tuple[tuple[int, int], ...],
        start: Iterable[Any],
        moves: Callable[..., Any],
        finals: Callable[..., Any],
    ) -> None:
        changed = list(memory)
        for location, value in writes:
            changed[location] = value
        start = list(start)
        for other in self.by_memory.get(tuple(changed), []):
            rest = (r for r in range(len(parts)) if r != p)
            if all(self.included(parts[r], other[r]) for r in rest) and self.inside(start, moves, finals, other[p]):
                return
        if self.is_empty(start, moves, finals):
            return
        text = ", ".join(f"{self.program.addresses[x]} = {v}" for x, v in writes)
        raise Rejected(f"after {self.program.processes[p].name} makes {text} visible, no state holds the result")

    def included(self, a: int, b: int) -> bool:
        if (a, b) not in self.inclusions:
            nodes = self.automata[a]
            self.inclusions[a, b] = a == b or self.inside([0], _moves(nodes), _ends(nodes), b)
        return self.inclusions[a, b]

    def inside(self, start: Iterable[Any], moves: Callable[..., Any], finals: Callable[..., Any], b: int) -> bool:
        """Whether an automaton, nondeterministic and given by its moves, accepts only what automaton b does."""
        nodes = self.automata[b]
        pending: list[tuple[Any, int | None]] = [(state, 0) for state in start]
        seen = set(pending)
        while pending:
            self.count()
            state, node = pending.pop()
            if not set(finals(state)) <= (nodes[node][1] if node is not None else frozenset()):
                return False
            for letter, to in moves(state):
                pair = (to, None if node is None else nodes[node][0].get(letter))
                if pair not in seen:
                    seen.add(pair)
                    pending.append(pair)
        return True

    def is_empty(self, start: Iterable[Any], moves: Callable[..., Any], finals: Callable[..., Any]) -> bool:
        pending = list(start)
        seen = set(pending)
        while pending:
            self.count()
            state = pending.pop()
            if finals(state):
                return False
            for _, to in moves(state):
                if to not in seen:
                    seen.add(to)
                    pending.append(to)
        return True

    def check_not_bad(self, memory: Memory, parts: tuple[int, ...]) -> None:
        standing = [
            [self.controls[p][q] for q in {q for _, finals in self.automata[k] for q in finals}]
            for p, k in enumerate(parts)
        ]
        for p, controls in enumerate(standing):
            if any(control.status == "failed" for control in controls):
                raise Rejected(f"a state in which an assertion of {self.program.processes[p].name} fails")
        named = dict(zip(self.program.memory, memory, strict=True))
        for condition in self.program.properties:
            for case in condition.cases:
                possible = all(
                    any(
                        all((label in self.program.labels(p, c)) == at for r, label, at in case.labels if r == p)
                        for c in controls
                    )
                    for p, controls in enumerate(standing)
                )
                if possible and all(ghosts_hold(ghost, named) for ghost in case.ghosts):
                    raise Rejected(f"a state in which {condition.name} may hold")


def _moves(nodes: Automaton) -> Callable[[int], Iterable[tuple[int, int]]]:
    return lambda node: nodes[node][0].items()


def _ends(nodes: Automaton) -> Callable[[int], frozenset[int]]:
    return lambda node: nodes[node][1]
