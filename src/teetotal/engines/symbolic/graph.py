"""What the engines of the core ask about a program: its control graphs, state by state, in numbers.

A ``Control`` of a process gets the next free number when it is first met. The core remembers every answer, so one
``ControlGraph`` serves all verifications of a program, whatever the model and the fences. Interchangeable processes have
the same numbers for the same control states, so that the core can compare them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property

from teetotal import _core
from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind, ModelName, Semantics
from teetotal.engines.symbolic.locality import events_only
from teetotal.engines.symbolic.renaming import Renaming, freed, renamings
from teetotal.engines.symbolic.symmetry import interchangeable
from teetotal.programs.program import Lock, Rmw, Unlock
from teetotal.programs.promela.evaluation import ghosts_hold
from teetotal.programs.promela.instructions import AccessAction, Atomically, Begin, Control, Fenced, Tau
from teetotal.programs.promela.live_locations import Unread
from teetotal.programs.promela.program import PromelaProgram

MODEL_NUMBERS: dict[ModelName, int] = {"sc": 0, "tso": 1, "pso": 2}
TAU, LOAD, STORE, MFENCE, SFENCE, ATOMIC = range(6)
NOTHING, EMPTY = -1, -2
MANY_VALUES = 32
"""Of one location, before it is named as the reason why a run does not end."""
_KINDS = {Kind.LD: LOAD, Kind.ST: STORE, Kind.MFENCE: MFENCE, Kind.SFENCE: SFENCE}

Row = tuple[int, int, int, int, int, tuple[int, ...]]
"""Kind, location (what an atomic step needs), value, target, fence (-1 for none), footprint."""


class ControlGraph:
    """A program's control graphs, for the core (``core``) and by number (``controls``). Without ``symmetry`` every process
    counts as different from the others."""

    def __init__(self, program: PromelaProgram, semantics: Semantics = Semantics(), *, symmetry: bool = True) -> None:
        self.program = program
        self.semantics = semantics
        self.symmetry = symmetry
        self._freed: ControlGraph | None = None
        self._may_be_freed = symmetry
        processes = range(len(program.processes))
        self.alike = alike = interchangeable(program) if symmetry else list(processes)
        self.controls: list[list[Control]] = []
        self._numbers: list[dict[Control, int]] = []
        for p in processes:
            self.controls.append([] if alike[p] == p else self.controls[alike[p]])
            self._numbers.append({} if alike[p] == p else self._numbers[alike[p]])
        self._values: dict[int, set[int]] = {}
        """What has been written to each location so far."""
        self._unread = [Unread(program, p) for p in processes]
        names = sorted({label for p in program.properties for case in p.cases for _, label, _ in case.labels})
        if len(names) > 64:
            raise ProgramError("forbidden speaks of more than 64 labels")
        self._bits = {name: 1 << position for position, name in enumerate(names)}
        self.cases = [case for p in program.properties for case in p.cases]
        bad = []
        for case in self.cases:
            must, must_not = [0] * len(processes), [0] * len(processes)
            for process, label, stands in case.labels:
                (must if stands else must_not)[process] |= self._bits[label]
            bad.append((must, must_not, bool(case.ghosts)))
        loads = [sorted(program.loaded(p) | self._watched(p)) for p in processes]
        touches = [sorted(self._touched(p)) for p in processes]
        stores = [sorted(program.stored(p)) for p in processes]
        start = [self.number(p, program.begin(p)) for p in processes]
        memory = list(program.memory.values())
        self.core = _core.ControlGraph(
            weakref.proxy(self),
            start,
            memory,
            program.buffered,
            loads,
            touches,
            stores,
            bad,
            semantics.rmw == "address",
            alike,
        )

    @cached_property
    def events_only(self) -> ControlGraph:
        """For questions about traces, where ghost variables are nothing."""
        return ControlGraph(events_only(self.program), self.semantics, symmetry=self.symmetry)

    @cached_property
    def renamings(self) -> list[Renaming]:
        """Exchanges of processes with slots of their own."""
        return renamings(self.program, self.alike) if self.symmetry else []

    @cached_property
    def _with_first(self) -> dict[int, Renaming]:
        """By process: the exchange with the first of its group."""
        return {g.exchanged[1]: g for g in reversed(self.renamings)}

    def freed(self, poll: Callable[[], None]) -> ControlGraph | None:
        """The same with scans in any order, for safe verdicts alone, if that is what lets processes be exchanged."""
        if self._may_be_freed and not self.renamings:
            found = freed(self.program, self.alike, poll)
            self._may_be_freed = False
            if found is not None:
                program, exchanges = found
                self._freed = ControlGraph(program, self.semantics)
                self._freed.renamings = exchanges
        return self._freed

    def number(self, process: int, state: Control) -> int:
        numbers = self._numbers[process]
        if state not in numbers:
            self.controls[process].append(state)  # first: where memory ends in between, nobody else gets its number
            numbers[state] = len(self.controls[process]) - 1
        return numbers[state]

    def needs(self, process: int, state: Control, action: Atomically) -> int:
        """What the buffer must be for an atomic step."""
        if action.needs is None:
            return NOTHING
        fences = isinstance(self.program.instruction(process, state), Unlock) and self.semantics.mutex == "fence"
        if action.needs == "all" or self.semantics.rmw == "all" or fences:
            return EMPTY
        return action.needs

    def growing(self) -> str:
        """The variable that has taken most values, if these are so many that it seems to grow for ever."""
        address = max(self._values, key=lambda a: len(self._values[a]), default=None)
        if address is None or len(self._values[address]) < MANY_VALUES:
            return ""
        return f"{self.program.addresses[address]} has taken {len(self._values[address])} values so far"

    # -- called by the core -----------------------------------------------------------------------------------------

    def expand(self, process: int, q: int) -> tuple[list[Row], int, bool]:
        state = self.controls[process][q]
        program = self.program
        rows: list[Row] = []
        for action in program.actions(process, state):
            match action:
                case Tau(target):
                    rows.append((TAU, 0, 0, self.number(process, target), -1, ()))
                case Fenced(fence, target):
                    kind = _KINDS[program.sites[fence].kind]
                    rows.append((kind, 0, 0, self.number(process, target), fence, ()))
                case AccessAction(Kind.LD, address, _):
                    rows.append((LOAD, address, 0, 0, -1, ()))
                case AccessAction(kind, address, value):
                    after = self.number(process, program.after(process, state))
                    rows.append((_KINDS[kind], address, value, after, -1, ()))
                    if kind is Kind.ST:
                        self._values.setdefault(address, set()).add(value)
                case Atomically(footprint, _):
                    rows.append((ATOMIC, self.needs(process, state, action), 0, 0, -1, footprint))
        labels = sum(self._bits[label] for label in program.labels(process, state))
        return rows, labels, state.status == "failed"

    def after_load(self, process: int, q: int, value: int) -> int:
        return self.number(process, self.program.after_load(process, self.controls[process][q], value))

    def outcomes(self, process: int, q: int, values: list[int]) -> list[tuple[tuple[tuple[int, int], ...], int]]:
        state = self.controls[process][q]
        (action,) = self.program.actions(process, state)
        assert isinstance(action, Atomically)
        found = self.program.outcomes(process, state, dict(zip(action.footprint, values, strict=True)))
        if self.semantics.failed_cas == "write" and isinstance(self.program.instruction(process, state), Rmw):
            old = tuple(zip(action.footprint, values, strict=True))
            found = [(writes or old, target) for writes, target in found]
        for writes, _ in found:
            for address, value in writes:
                self._values.setdefault(address, set()).add(value)
        return [(writes, self.number(process, target)) for writes, target in found]

    def still_read(self, process: int, q: int) -> list[int]:
        """What the first of a group of owners reads, renamed, is what any of them does."""
        state = self.controls[process][q]
        exchange = self._with_first.get(process)
        if exchange is None:
            return sorted(self._unread[process].still_read(state))
        first = exchange.process(process)
        reads = self._unread[first].still_read(exchange.control(self.program, process, state))
        return sorted(exchange.locations[x] for x in reads)

    def renamed(self, renaming: int, process: int, q: int) -> int:
        exchange = self.renamings[renaming]
        state = exchange.control(self.program, process, self.controls[process][q])
        return self.number(exchange.process(process), state)

    def ghosts_hold(self, case: int, memory: list[int]) -> bool:
        named = dict(zip(self.program.memory, memory, strict=True))
        return all(ghosts_hold(condition, named) for condition in self.cases[case].ghosts)

    # -- what a process's steps depend on -----------------------------------------------------------------------------

    def _touched(self, process: int) -> set[int]:
        found: set[int] = set()
        for pc, instruction in enumerate(self.program.processes[process].code):
            if isinstance(instruction, Begin | Lock | Unlock | Rmw):
                found.update(self.program.footprint(process, pc))
        return found

    def _watched(self, process: int) -> set[int]:
        """Locations that no store in the buffer may have for some atomic step."""
        if self.semantics.rmw == "all":
            return set()
        return {x for x in self._touched(process) if x < self.program.buffered}
