"""A Promela program: processes of instructions over shared memory, with what ``Program`` does not have.

The instructions are those of ``teetotal.programs.program``, and five more: a nondeterministic choice, a place where a
fence could be, a label that a property speaks about, and the begin and end of an atomic block. A process's control state
stands before an access, a choice, a fence's place, a label or an atomic block; what lies between is run at once, since
nobody else can see it. Registers that are read no more are set to 0, so that equal futures are equal states.

``start``, ``next``, ``update`` and ``halted`` are those of ``models.ProgramLike``: the machines of ``models/`` run
it, once somebody makes the choices (``Move``) that are no accesses: see ``teetotal.symbolic.schedules``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from teetotal.errors import ProgramError
from teetotal.events import Kind, Location, Request
from teetotal.programs.expressions import Const, Expr, Old, Op, Reg, evaluate, leaves
from teetotal.programs.program import (
    Assert,
    Assign,
    Assume,
    Branch,
    Fence,
    Load,
    Lock,
    Program,
    Rmw,
    Store,
    Thread,
    Unlock,
)
from teetotal.programs.promela.syntax import Span

LOCAL_STEPS = 100_000


class InBounds(Assert, frozen=True, kw_only=True):
    """An index lies inside its array: where it does not, the access is wild."""


class Blocks(Assume, frozen=True, kw_only=True):
    """Inside an atomic block, not at its head: SPIN would let the block be interrupted here, so this is refused."""


class Choose(msgspec.Struct, frozen=True, kw_only=True):
    """Go to the target of any arm whose condition holds, or to ``otherwise`` if none does (None: wait for ever)."""

    arms: tuple[tuple[Expr, int], ...]
    otherwise: int | None = None
    location: Location | None = None


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A fence, if that fence is in the set; nothing, if not."""

    fence: int
    location: Location | None = None


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """The process stands at these labels."""

    labels: tuple[str, ...]
    location: Location | None = None


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """What follows, up to ``End``, is one step. Without ``ghost``, on an empty store buffer and straight to memory, as a
    locked instruction; with it, only ghost variables are used, and the buffer does not matter."""

    ghost: bool
    location: Location | None = None


class End(msgspec.Struct, frozen=True, kw_only=True):
    location: Location | None = None


Access = Load | Store | Rmw | Fence | Lock | Unlock
Instruction = Access | Assign | Branch | Assert | Assume | Choose | Slot | Mark | Begin | End
STOPS = (Load, Store, Rmw, Fence, Lock, Unlock, Slot, Mark, Begin)
Status = Literal["running", "ended", "failed", "cut"]


class Control(NamedTuple):
    """A process's control state."""

    pc: int
    registers: tuple[int, ...]
    status: Status = "running"


class FenceSite(msgspec.Struct, frozen=True):
    """Where a fence could be: directly ``after`` the statement with that span, or before it. Or the statement is that
    fence: then ``instead`` is what the text needs in its place to be without it."""

    kind: Literal[Kind.MFENCE, Kind.SFENCE]
    location: Location
    span: Span
    after: bool
    instead: str | None = None

    @property
    def existing(self) -> bool:
        return self.instead is not None


class Literals(msgspec.Struct, frozen=True):
    """One conjunction of a forbidden condition: (process, label, whether it stands there), and a condition over ghost
    variables (their addresses are in ``Reg`` names)."""

    labels: tuple[tuple[int, str, bool], ...]
    ghosts: tuple[Expr, ...]


class Property(msgspec.Struct, frozen=True):
    """No reachable state satisfies any of ``cases``."""

    name: str
    cases: tuple[Literals, ...]
    location: Location


class Process(msgspec.Struct, frozen=True):
    """``number`` is its ``_pid``; ``start`` is where it begins (``init`` after its last ``run``)."""

    name: str
    number: int
    code: tuple[Instruction, ...]
    registers: dict[str, int]
    start: int = 0


class Tau(NamedTuple):
    target: Control


class Atomically(NamedTuple):
    """``outcomes`` of the values of ``footprint``: what is written where, and the control state after it.

    ``needs``: None if the buffer does not matter, ``all`` if it must be empty, or the one address that no store in the
    buffer may have for ``Semantics.rmw == "address"``.
    """

    footprint: tuple[int, ...]
    needs: int | Literal["all"] | None


class AccessAction(NamedTuple):
    """A load, a store, or a fence."""

    kind: Kind
    address: int
    value: int


class Fenced(NamedTuple):
    """A fence's place: what happens depends on whether the fence is in the set."""

    fence: int
    target: Control


Action = Tau | Atomically | AccessAction | Fenced
Outcome = tuple[tuple[tuple[int, int], ...], Control]


class PromelaProgram:
    """``memory`` maps every shared location to its initial value, buffered ones first, then the ghosts. Locations are
    numbered in that order from 0; in the instructions an address is that number plus 1, as in ``Program``, and an element
    of an array has the address ``Op("[]", (first, index, size))``."""

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
        self.name = name
        self.source = source
        self.text = text
        self.processes = processes
        self.memory = memory
        self.ghosts = ghosts
        self.properties = properties
        self.sites = sites
        self.fences = fences
        self.addresses = list(memory)
        self.buffered = len(memory) - len(ghosts)
        self._live = [_liveness(process.code, list(process.registers)) for process in processes]
        self._compiled: list[dict[Expr, Callable[..., int]]] = [{} for _ in processes]

    def with_fences(self, fences: frozenset[int]) -> PromelaProgram:
        """The same program with just these of its ``sites`` fenced."""
        return PromelaProgram(
            self.name,
            self.source,
            self.text,
            self.processes,
            self.memory,
            self.ghosts,
            self.properties,
            self.sites,
            fences,
        )

    # -- the control graph of a process -----------------------------------------------------------------------------

    def begin(self, process: int) -> Control:
        started = self.processes[process]
        return self._settle(process, started.start, tuple(started.registers.values()))

    def instruction(self, process: int, state: Control) -> Instruction:
        return self.processes[process].code[state.pc]

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
                targets = self._arms(process, state, instruction)
                return [Tau(self._settle(process, target, state.registers)) for target in targets]
            case Mark():
                return [Tau(self.after(process, state))]
            case Slot(fence=fence):
                return [Fenced(fence, self.after(process, state))]
            case Load():
                return [AccessAction(Kind.LD, self._address(process, state, instruction.address), 0)]
            case Store():
                address = self._address(process, state, instruction.address)
                return [AccessAction(Kind.ST, address, self._value(process, state.registers, instruction.value))]
            case Fence(kind=kind):
                return [AccessAction(kind, 0, 0)]
            case Begin(ghost=ghost):
                return [Atomically(self.footprint(process, state.pc), None if ghost else "all")]
            case Rmw() | Lock() | Unlock():
                address = self._address(process, state, instruction.address)
                return [Atomically((address,), address)]
        raise AssertionError(f"a control state cannot stand before {instruction}")

    def after(self, process: int, state: Control) -> Control:
        """After a store, a fence, or nothing."""
        return self._settle(process, state.pc + 1, state.registers)

    def after_load(self, process: int, state: Control, value: int) -> Control:
        instruction = self.instruction(process, state)
        assert isinstance(instruction, Load)
        return self._settle(process, state.pc + 1, self._set(process, state.registers, instruction.register, value))

    def outcomes(self, process: int, state: Control, values: Mapping[int, int]) -> list[Outcome]:
        """What an atomic step can do where memory holds ``values`` (by location); nothing if it has to wait."""
        instruction = self.instruction(process, state)
        match instruction:
            case Begin():
                return list(self._block(process, state, values))
            case Lock() | Unlock():
                address = self._address(process, state, instruction.address)
                if isinstance(instruction, Lock) and values[address] != 0:
                    return []
                held = int(isinstance(instruction, Lock))
                return [(((address, held),), self.after(process, state))]
            case Rmw(register=register, value=value, when=when):
                address = self._address(process, state, instruction.address)
                old = values[address]
                registers = state.registers
                if register is not None:
                    registers = self._set(process, registers, register, old)
                written: tuple[tuple[int, int], ...] = ()
                if when is None or self._value(process, state.registers, when, old):
                    written = ((address, self._value(process, state.registers, value, old)),)
                return [(written, self._settle(process, state.pc + 1, registers))]
        raise AssertionError(f"not an atomic step: {instruction}")

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
        found: set[int] = set()
        depth = 0
        for instruction in self.processes[process].code:
            depth += isinstance(instruction, Begin) - isinstance(instruction, End)
            if isinstance(instruction, Load) and depth == 0:
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
                return Request(Kind.ST, name, self._value(thread, state.registers, value), location=place)
            case Lock():
                return Request(Kind.LOCK, self._name(thread, state, instruction.address), location=place)
            case Unlock():
                return Request(Kind.UNLOCK, self._name(thread, state, instruction.address), location=place)
            case Rmw(value=new, when=when):

                def function(old: int) -> int | None:
                    if when is None or self._value(thread, state.registers, when, old):
                        return self._value(thread, state.registers, new, old)
                    return None

                name = self._name(thread, state, instruction.address)
                return Request(Kind.RMW, name, function=function, location=place)
        return None

    def update(self, thread: int, state: Control, response: int | None) -> Control:
        instruction = self.instruction(thread, state)
        if isinstance(instruction, Load | Rmw) and instruction.register is not None:
            assert response is not None
            registers = self._set(thread, state.registers, instruction.register, response)
            return self._settle(thread, state.pc + 1, registers)
        return self.after(thread, state)

    def halted(self, thread: int, state: Control) -> bool:
        return state.status == "ended"

    # -- running a process between two stops --------------------------------------------------------------------------

    def _settle(self, process: int, pc: int, registers: tuple[int, ...]) -> Control:
        code = self.processes[process].code
        seen: set[tuple[int, tuple[int, ...]]] = set()
        for step in range(LOCAL_STEPS):
            if pc == len(code):
                return self._stop(process, pc, registers, "ended")
            instruction = code[pc]
            if isinstance(instruction, STOPS):
                return self._stop(process, pc, registers)
            if step > 100:  # a loop that touches nothing is nobody's business: the process has left for ever
                if (pc, registers) in seen:
                    return self._stop(process, pc, registers, "cut")
                seen.add((pc, registers))
            match instruction:
                case Choose():
                    targets = self._arms(process, Control(pc, registers), instruction)
                    if not targets:
                        return self._stop(process, pc, registers, "cut")
                    if len(targets) > 1:
                        return self._stop(process, pc, registers)
                    pc = targets[0]
                case _:
                    advanced = self._local(process, pc, registers)
                    if isinstance(advanced, str):
                        return self._stop(process, pc, registers, advanced)
                    pc, registers = advanced
        raise ProgramError(f"{self.processes[process].name} computes for too long without an access", code[pc].location)

    def _local(self, process: int, pc: int, registers: tuple[int, ...]) -> tuple[int, tuple[int, ...]] | Status:
        """One instruction that is no stop and no choice: where it leads, or why it leads nowhere."""
        instruction = self.processes[process].code[pc]
        match instruction:
            case Assign(register=register, value=value):
                return pc + 1, self._set(process, registers, register, self._value(process, registers, value))
            case Branch(target=target, when=when):
                return (target if self._value(process, registers, when) else pc + 1), registers
            case Assert(condition=condition):
                return (pc + 1, registers) if self._value(process, registers, condition) else "failed"
            case Assume(condition=condition):
                return (pc + 1, registers) if self._value(process, registers, condition) else "cut"
            case End():
                return pc + 1, registers
        raise AssertionError(f"not a local instruction: {instruction}")

    def _arms(self, process: int, state: Control, choose: Choose) -> list[int]:
        targets = [target for when, target in choose.arms if self._value(process, state.registers, when)]
        if not targets and choose.otherwise is not None:
            return [choose.otherwise]
        return targets

    def _block(self, process: int, state: Control, values: Mapping[int, int]) -> Iterator[Outcome]:
        """Every way through an atomic block."""
        code = self.processes[process].code
        pending: list[tuple[int, tuple[int, ...], dict[int, int]]] = [(state.pc + 1, state.registers, {})]
        steps = 0
        while pending:
            pc, registers, written = pending.pop()
            steps += 1
            if steps > LOCAL_STEPS:
                raise ProgramError("an atomic block that does not end", code[state.pc].location)
            instruction = code[pc]
            here = Control(pc, registers)
            match instruction:
                case End():
                    changes = tuple(sorted((a, v) for a, v in written.items() if values[a] != v))
                    yield changes, self._settle(process, pc + 1, registers)
                case Mark() | Slot() | Begin():
                    pending.append((pc + 1, registers, written))
                case Choose():
                    targets = self._arms(process, here, instruction)
                    pending += [(target, registers, written) for target in reversed(targets)]
                case Load(register=register):
                    address = self._address(process, here, instruction.address)
                    value = written.get(address, values[address])
                    pending.append((pc + 1, self._set(process, registers, register, value), written))
                case Store(value=expression):
                    address = self._address(process, here, instruction.address)
                    stored = {**written, address: self._value(process, registers, expression)}
                    pending.append((pc + 1, registers, stored))
                case Rmw() | Lock() | Unlock():
                    address = self._address(process, here, instruction.address)
                    for change, after in self.outcomes(process, here, {address: written.get(address, values[address])}):
                        pending.append((after.pc, after.registers, {**written, **dict(change)}))
                case Fence():
                    pending.append((pc + 1, registers, written))
                case _:
                    advanced = self._local(process, pc, registers)
                    if advanced == "failed":
                        changes = tuple(sorted((a, v) for a, v in written.items() if values[a] != v))
                        yield changes, self._stop(process, pc, registers, "failed")
                    elif isinstance(advanced, str):
                        if isinstance(instruction, Blocks):
                            raise ProgramError(
                                "this may wait inside an atomic block, not at its head", instruction.location
                            )
                    else:
                        pending.append((*advanced, written))

    def _stop(self, process: int, pc: int, registers: tuple[int, ...], status: Status = "running") -> Control:
        if status != "running":
            registers = (0,) * len(registers)
        else:
            registers = tuple(v if live else 0 for v, live in zip(registers, self._live[process][pc], strict=True))
        return Control(pc, registers, status)

    def _set(self, process: int, registers: tuple[int, ...], register: str, value: int) -> tuple[int, ...]:
        position = list(self.processes[process].registers).index(register)
        return (*registers[:position], value, *registers[position + 1 :])

    def _value(self, process: int, registers: tuple[int, ...], expression: Expr, old: int = 0) -> int:
        if isinstance(expression, Const):
            return expression.value
        compiled = self._compiled[process].get(expression)
        if compiled is None:
            compiled = python(expression, list(self.processes[process].registers))
            self._compiled[process][expression] = compiled
        return compiled(registers, old)

    def _address(self, process: int, state: Control, address: Expr) -> int:
        if isinstance(address, Const):
            return address.value - 1
        assert isinstance(address, Op)
        base, index, size = address.operands
        offset = self._value(process, state.registers, index)
        assert isinstance(base, Const)
        assert isinstance(size, Const)
        assert 0 <= offset < size.value, "InBounds comes before every access"
        return base.value - 1 + offset

    def _name(self, process: int, state: Control, address: Expr) -> str:
        return self.addresses[self._address(process, state, address)]

    # -- what else it is ----------------------------------------------------------------------------------------------

    def as_program(self) -> Program:
        """The same as a ``Program``, where it has none of what only Promela has."""
        if self.ghosts or self.properties:
            raise ProgramError(f"{self.name} has ghost variables or forbidden states, which only verify knows")
        threads = []
        for number, process in enumerate(self.processes):
            threads.append(Thread(process.name, _plain(self, number), dict(process.registers)))
        return Program(name=self.name, threads=tuple(threads), memory=dict(self.memory), source=self.source)


PlainInstruction = Access | Assign | Branch | Assert | Assume


def _plain(program: PromelaProgram, number: int) -> tuple[PlainInstruction, ...]:
    process = program.processes[number]
    if process.start:
        raise ProgramError(f"{process.name} goes on after its last run, which only verify knows")
    code: list[PlainInstruction] = []
    for instruction in process.code:
        place = instruction.location
        match instruction:
            case Choose() | Begin() | End():
                raise ProgramError("a choice or an atomic block, which only verify knows", place)
            case Slot(fence=fence) if fence in program.fences:
                code.append(Fence(kind=program.sites[fence].kind, location=place))
            case Slot() | Mark():
                code.append(Assume(condition=Const(1), location=place))
            case (
                Load(address=Op()) | Store(address=Op()) | Rmw(address=Op()) | Lock(address=Op()) | Unlock(address=Op())
            ):
                assert isinstance(instruction.address, Op)
                element = Op("+", instruction.address.operands[:2])
                code.append(msgspec.structs.replace(instruction, address=element))
            case InBounds(condition=condition):
                code.append(Assert(condition=condition, location=place))
            case _:
                code.append(instruction)
    return tuple(code)


def python(expression: Expr, registers: list[str]) -> Callable[..., int]:
    """An expression as a Python function of the registers and of what an rmw read."""
    return eval(f"lambda r, old: {_python(expression, registers)}", {})  # type: ignore[no-any-return]


_PYTHON = {"and": "({0} != 0 and {1} != 0)", "or": "({0} != 0 or {1} != 0)", "not": "({0} == 0)", "~": "(~{0})"}


def _python(expression: Expr, registers: list[str]) -> str:
    match expression:
        case Const(value):
            return f"({value})"
        case Reg(name):
            return f"r[{registers.index(name)}]"
        case Old():
            return "old"
        case Op(name, operands):
            parts = [_python(operand, registers) for operand in operands]
            if name in ("==", "!=", "<", "<=", ">", ">=", "and", "or", "not"):
                return f"int{_PYTHON.get(name, '({0} ' + name + ' {1})').format(*parts)}"
            return _PYTHON.get(name, "({0} " + name + " {1})").format(*parts)
    raise AssertionError(f"not an expression of a process: {expression}")


def ghosts_hold(condition: Expr, memory: Mapping[str, int]) -> bool:
    """A condition over ghost variables, each a ``Reg`` of its name."""

    def lookup(leaf: object) -> int:
        assert isinstance(leaf, Reg)
        return memory[leaf.name]

    return bool(evaluate(condition, lookup))


def _liveness(code: tuple[Instruction, ...], registers: list[str]) -> list[tuple[bool, ...]]:
    """For each instruction and the end, which registers may still be read from there."""
    live: list[set[str]] = [set() for _ in range(len(code) + 1)]
    changed = True
    while changed:
        changed = False
        for pc in range(len(code) - 1, -1, -1):
            after: set[str] = set().union(*(live[target] for target in successors(code, pc)))
            now = (after - {getattr(code[pc], "register", None)}) | reads(code[pc])
            if now != live[pc]:
                live[pc] = now
                changed = True
    return [tuple(name in alive for name in registers) for alive in live]


def successors(code: tuple[Instruction, ...], pc: int) -> list[int]:
    instruction = code[pc]
    match instruction:
        case Branch(target=target, when=Const(value)) if value:
            return [target]
        case Branch(target=target):
            return [target, pc + 1]
        case Choose(arms=arms, otherwise=otherwise):
            return [target for _, target in arms] + ([] if otherwise is None else [otherwise])
    return [pc + 1]


def comes_again(code: tuple[Instruction, ...], start: int) -> bool:
    """Whether an instruction reaches itself."""
    todo, seen = successors(code, start), set[int]()
    while todo and start not in seen:
        pc = todo.pop()
        if pc < len(code) and pc not in seen:
            seen.add(pc)
            todo += successors(code, pc)
    return start in seen


def reads(instruction: Instruction) -> set[str]:
    expressions = [getattr(instruction, field, None) for field in ("address", "value", "when", "condition")]
    if isinstance(instruction, Choose):
        expressions = [when for when, _ in instruction.arms]
    return {leaf.name for e in expressions if e is not None for leaf in leaves(e) if isinstance(leaf, Reg)}
