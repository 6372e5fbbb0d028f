"""A Promela program: processes of instructions over shared memory, with what ``Program`` does not have.

``start``, ``next``, ``update`` and ``halted`` are those of ``models.ProgramLike``: the machines of ``models/`` run
it, once somebody makes the choices (``Choice``) that are no accesses: see ``teetotal.engines.symbolic.schedules``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from teetotal.answers.events import Kind, Location, Request
from teetotal.programs.expressions import Const, Expr, Op
from teetotal.programs.program import Assert, Fence, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.promela.instructions import (
    AccessAction,
    Action,
    Atomically,
    Begin,
    Choose,
    Control,
    End,
    Fenced,
    FenceSite,
    InBounds,
    Mark,
    Process,
    Property,
    Slot,
    Tau,
)
from teetotal.programs.promela.runner import Runner


class PromelaProgram(Runner):
    """``memory`` maps every shared location to its initial value, buffered ones first, then the ghosts. Locations are
    numbered in that order. ``asserts``: whether it says what matters."""

    def __init__(
        self,
        name: str,
        source: str,
        text: str,
        processes: tuple[Process, ...],
        memory: dict[str, int],
        ghosts: frozenset[str],
        properties: tuple[Property, ...],
        sites: tuple[FenceSite, ...],
        fences: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(processes)
        self.name = name
        self.source = source
        self.text = text
        self.memory = memory
        self.ghosts = ghosts
        self.properties = properties
        self.sites = sites
        self.fences = fences
        self.asserts = bool(properties) or any(
            isinstance(instruction, Assert) and not isinstance(instruction, InBounds)
            for process in processes
            for instruction in process.code
        )
        self.addresses = list(memory)
        self.buffered = len(memory) - len(ghosts)

    def __repr__(self) -> str:
        return f"<PromelaProgram {self.name}: {len(self.processes)} processes>"

    def with_fences(self, fences: frozenset[int]) -> PromelaProgram:
        """The same program with just these of its ``sites`` fenced."""
        other = copy.copy(self)
        other.fences = fences
        return other

    def with_processes(self, processes: tuple[Process, ...]) -> PromelaProgram:
        """The same memory and the same sites, but other code."""
        return PromelaProgram(
            self.name,
            self.source,
            self.text,
            processes,
            self.memory,
            self.ghosts,
            self.properties,
            self.sites,
            self.fences,
        )

    @property
    def written_fences(self) -> frozenset[int]:
        """The ``sites`` that are fences of the text itself."""
        return frozenset(number for number, site in enumerate(self.sites) if site.existing)

    # -- the control graph of a process -----------------------------------------------------------------------------

    def past_absent_fences(self, process: int, state: Control) -> Control:
        """From one of its sites that is not fenced on to what it does next."""
        while state.status == "running":
            instruction = self.instruction(process, state)
            if not isinstance(instruction, Slot) or instruction.fence in self.fences:
                break
            state = self.after(process, state)
        return state

    def begin(self, process: int) -> Control:
        started = self.processes[process]
        return self.settle(process, started.start, tuple(started.registers.values()))

    def labels(self, process: int, state: Control) -> tuple[str, ...]:
        """The labels, of those that properties speak about, at which it stands."""
        if state.status != "running":
            return ()
        instruction = self.instruction(process, state)
        return instruction.labels if isinstance(instruction, Mark) else ()

    def actions(self, process: int, state: Control) -> list[Action]:
        """Everything that the process can do here. What a load or an atomic step leads to is asked for by
        ``after_load`` and ``outcomes``, for a store or a fence by ``after``."""
        if state.status != "running":
            return []
        instruction = self.instruction(process, state)
        match instruction:
            case Choose():
                targets = self.arms(process, state, instruction)
                return [Tau(self.settle(process, target, state.registers)) for target in targets]
            case Mark():
                return [Tau(self.after(process, state))]
            case Slot(fence=fence):
                return [Fenced(fence, self.after(process, state))]
            case Load():
                return [AccessAction(Kind.LD, self.address(process, state, instruction.address), 0)]
            case Store():
                address = self.address(process, state, instruction.address)
                return [AccessAction(Kind.ST, address, self.value(process, state.registers, instruction.value))]
            case Fence(kind=kind):
                return [AccessAction(kind, 0, 0)]
            case Begin(ghost=ghost):
                return [Atomically(self.footprint(process, state.pc), None if ghost else "all")]
            case Rmw() | Lock() | Unlock():
                address = self.address(process, state, instruction.address)
                return [Atomically((address,), address)]
        raise AssertionError(f"a control state cannot stand before {instruction}")

    def after_load(self, process: int, state: Control, value: int) -> Control:
        instruction = self.instruction(process, state)
        assert isinstance(instruction, Load)
        return self.settle(process, state.pc + 1, self.assigned(process, state.registers, instruction.register, value))

    def footprint(self, process: int, pc: int) -> tuple[int, ...]:
        """Every location that the atomic block beginning at ``pc`` may touch."""
        code = self.processes[process].code
        found: set[int] = set()
        depth = 0
        for instruction in code[pc:]:
            depth += isinstance(instruction, Begin) - isinstance(instruction, End)
            if isinstance(instruction, Load | Store | Rmw | Lock | Unlock):
                found.update(self.possible_addresses(instruction.address))
            if depth == 0:
                break
        return tuple(sorted(found))

    def possible_addresses(self, address: Expr) -> range:
        """A location, or, where an index is not constant, its whole array."""
        if isinstance(address, Const):
            return range(address.value - 1, address.value)
        assert isinstance(address, Op)
        base, size = address.operands[0], address.operands[2]
        assert isinstance(base, Const)
        assert isinstance(size, Const)
        return range(base.value - 1, base.value - 1 + size.value)

    def loaded(self, process: int) -> frozenset[int]:
        """Every buffered location that the process may load outside atomic blocks."""
        return self._accessed(process, Load)

    def stored(self, process: int) -> frozenset[int]:
        """Every buffered location that the process may store to outside atomic blocks."""
        return self._accessed(process, Store)

    def _accessed(self, process: int, kind: type[Load] | type[Store]) -> frozenset[int]:
        found: set[int] = set()
        depth = 0
        for instruction in self.processes[process].code:
            depth += isinstance(instruction, Begin) - isinstance(instruction, End)
            if isinstance(instruction, kind) and depth == 0:
                found.update(self.possible_addresses(instruction.address))
        return frozenset(found)

    def fences_of(self, process: int, pc: int) -> tuple[int | None, int | None]:
        """The sfence's place before the store at ``pc``, and the mfence's after it."""
        code = self.processes[process].code
        store = code[pc]
        assert isinstance(store, Store)
        behind = code[pc + 1] if pc + 1 < len(code) else None
        before = next((i for i in reversed(code[:pc]) if isinstance(i, Slot | Store)), None)
        found: list[int | None] = []
        for slot, kind in ((before, Kind.SFENCE), (behind, Kind.MFENCE)):
            fits = isinstance(slot, Slot) and self.sites[slot.fence].kind is kind and slot.location == store.location
            found.append(slot.fence if isinstance(slot, Slot) and fits else None)
        return found[0], found[1]

    def where(self, process: int, state: Control) -> Location | None:
        code = self.processes[process].code
        return code[state.pc].location if state.pc < len(code) else None

    # -- models.ProgramLike -----------------------------------------------------------------------------------------

    @property
    def initial_memory(self) -> Mapping[str, int]:
        """Ghosts are no memory to a machine."""
        return {name: value for name, value in self.memory.items() if name not in self.ghosts}

    @property
    def thread_count(self) -> int:
        return len(self.processes)

    def start(self, thread: int) -> Control:
        return self.begin(thread)

    def next(self, thread: int, state: Control) -> Request | None:
        """The access it stands before; None at a choice, a label, an atomic block or an absent fence."""
        if state.status != "running":
            return None
        instruction = self.instruction(thread, state)
        place = instruction.location
        match instruction:
            case Slot(fence=fence) if fence in self.fences:
                return Request(self.sites[fence].kind, location=place)
            case Fence(kind=kind):
                return Request(kind, location=place)
            case Load():
                return Request(Kind.LD, self._name(thread, state, instruction.address), location=place)
            case Store(value=value):
                name = self._name(thread, state, instruction.address)
                return Request(Kind.ST, name, self.value(thread, state.registers, value), location=place)
            case Lock():
                return Request(Kind.LOCK, self._name(thread, state, instruction.address), location=place)
            case Unlock():
                return Request(Kind.UNLOCK, self._name(thread, state, instruction.address), location=place)
            case Rmw(value=new, when=when):

                def function(old: int) -> int | None:
                    if when is None or self.value(thread, state.registers, when, old):
                        return self.value(thread, state.registers, new, old)
                    return None

                name = self._name(thread, state, instruction.address)
                return Request(Kind.RMW, name, function=function, location=place)
        return None

    def update(self, thread: int, state: Control, response: int | None) -> Control:
        instruction = self.instruction(thread, state)
        if isinstance(instruction, Load | Rmw) and instruction.register is not None:
            assert response is not None
            registers = self.assigned(thread, state.registers, instruction.register, response)
            return self.settle(thread, state.pc + 1, registers)
        return self.after(thread, state)

    def halted(self, thread: int, state: Control) -> bool:
        return state.status == "ended"

    def _name(self, process: int, state: Control, address: Expr) -> str:
        return self.addresses[self.address(process, state, address)]
