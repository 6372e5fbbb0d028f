"""A program: threads of instructions with registers, shared memory with initial values, and what is asked of it.

Every front end produces this one type and every engine takes it. To the engines it is the tuple of Burnim, Sen,
Stergiou (TACAS 2011), section 2.1:

==============================  ==================
paper                           here
==============================  ==================
``s_0(p)``                      ``Program.start``
``next(p, σ)``                  ``Program.next``
``update(p, σ, v)``             ``Program.update``
==============================  ==================

A local state stands just before a memory instruction, or at the end: what lies between two accesses is run at once,
since nobody else can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Literal, NamedTuple

import msgspec

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Kind, Location, MemoryOrder, Request
from teetotal.programs.expressions import Addr, Const, Expr, Final, Old, Outcome, Reg, evaluate, leaves, predicate

LOCAL_STEPS = 100_000
"""A thread that computes longer than this without touching memory is refused as an endless loop."""


class Load(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    register: str
    address: Expr
    order: MemoryOrder = "na"
    location: Location | None = None


class Store(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    address: Expr
    value: Expr
    order: MemoryOrder = "na"
    location: Location | None = None


class Rmw(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """``register := [address]; [address] := value`` in one step, where ``value`` may use ``Old()``.

    With ``when``, it writes only where that is not 0: a compare-and-swap has ``when = (old == expected)``. ``failure`` is
    its order where it does not.
    """

    address: Expr
    value: Expr
    register: str | None = None
    when: Expr | None = None
    order: MemoryOrder = "na"
    failure: MemoryOrder = "na"
    location: Location | None = None


class Fence(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What it is to TSO and PSO, and its ``order`` in C11: ``na`` for one that C11 does not know of."""

    kind: Kind
    order: MemoryOrder = "na"
    location: Location | None = None


class Lock(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Wait until the mutex is 0 and make it 1."""

    address: Expr
    location: Location | None = None


class Unlock(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    address: Expr
    location: Location | None = None


class Assign(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    register: str
    value: Expr
    location: Location | None = None


class Branch(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Go to instruction ``target`` (the number of instructions = the end) where ``when`` is not 0."""

    target: int
    when: Expr = Const(1)
    location: Location | None = None


class Assert(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Where ``condition`` is 0 the program is not safe, and this thread stops here.

    ``implied``: nobody wrote it down; an index has to be within its array, a shift within its word.
    """

    condition: Expr
    location: Location | None = None
    implied: bool = False


class Assume(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Where ``condition`` is 0 this thread stops here, and the execution counts as blocked."""

    condition: Expr
    location: Location | None = None


Instruction = Load | Store | Rmw | Fence | Lock | Unlock | Assign | Branch | Assert | Assume
_ACCESSES = (Load, Store, Rmw, Lock, Unlock)


Status = Literal["running", "ended", "failed", "blocked", "cut", "wild"]
"""Why a thread has no next access: it ``ended``, an assertion ``failed``, an assumption ``blocked`` it, a loop's bound
``cut`` it, or it would follow a ``wild`` address. ``running`` otherwise."""


class LocalState(NamedTuple):
    """``σ``: where the thread stands, what its registers hold, how often it has jumped back, and whether it runs."""

    pc: int
    registers: tuple[int, ...]
    jumps: int = 0
    status: Status = "running"


class Thread(msgspec.Struct, frozen=True):
    """``registers`` are all that the code uses, with their initial values."""

    name: str
    code: tuple[Instruction, ...]
    registers: dict[str, int]


MAX_THREADS = 1000
MAX_LOCATIONS = 1 << 20
"""More than this is refused at once, by the front ends that meet it first: nothing so large can be explored."""


def refuse_many(threads: int = 0, locations: int = 0, location: Location | None = None) -> None:
    if threads > MAX_THREADS:
        raise ProgramError(f"{threads:,} threads; at most {MAX_THREADS:,} are supported", location)
    if locations > MAX_LOCATIONS:
        raise ProgramError(f"{locations:,} locations; at most {MAX_LOCATIONS:,} are supported", location)


class Condition(msgspec.Struct, frozen=True):
    """A litmus test's question about the final states. Not an assertion: see ``Program.final_assertion``."""

    quantifier: Literal["exists", "~exists", "forall"]
    proposition: Expr


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """``observed`` says which registers and locations make up an outcome. ``loop_bound`` is the number of backward
    jumps that each thread may take before it is cut; None means no bound. ``ordered``: its accesses have the orders of C11
    (an instruction of a processor has none)."""

    name: str
    threads: tuple[Thread, ...]
    memory: dict[str, int]
    condition: Condition | None = None
    filter: Expr | None = None
    observed: tuple[Final, ...] = ()
    final_assertion: Expr | None = None
    loop_bound: int | None = None
    source: str | None = None
    ordered: bool = True

    def __post_init__(self) -> None:
        self._check()

    # -- the paper's (s_0, next, update) --------------------------------------------------------------------------

    @property
    def initial_memory(self) -> Mapping[str, int]:
        return self.memory

    @property
    def thread_count(self) -> int:
        return len(self.threads)

    def start(self, thread: int) -> LocalState:
        return self._settle(thread, LocalState(0, tuple(self.threads[thread].registers.values())))

    def next(self, thread: int, state: LocalState) -> Request | None:
        if state.status != "running":
            return None
        instruction = self.threads[thread].code[state.pc]

        def value(expression: Expr, old: int = 0) -> int:
            return self._value(thread, state.registers, expression, old)

        if isinstance(instruction, Fence):
            return Request(instruction.kind, location=instruction.location, order=instruction.order)
        assert isinstance(instruction, _ACCESSES)
        address = self._address(value(instruction.address))
        assert address is not None  # _settle stops a thread before a wild access
        place = instruction.location
        match instruction:
            case Load():
                return Request(Kind.LD, address, location=place, order=instruction.order)
            case Store():
                return Request(Kind.ST, address, value(instruction.value), location=place, order=instruction.order)
            case Lock():
                return Request(Kind.LOCK, address, location=place)
            case Unlock():
                return Request(Kind.UNLOCK, address, location=place)
            case Rmw(value=new, when=when, order=order, failure=failure):

                def function(old: int) -> int | None:
                    return value(new, old) if when is None or value(when, old) else None

                return Request(Kind.RMW, address, None, function, place, order, failure)

    def update(self, thread: int, state: LocalState, response: int | None) -> LocalState:
        instruction = self.threads[thread].code[state.pc]
        registers = state.registers
        if isinstance(instruction, (Load, Rmw)) and instruction.register is not None:
            assert response is not None
            registers = self._set(thread, registers, instruction.register, response)
        return self._settle(thread, LocalState(state.pc + 1, registers, state.jumps))

    def halted(self, thread: int, state: LocalState) -> bool:
        return state.status == "ended"

    # -- what is asked of it --------------------------------------------------------------------------------------

    def final(self, states: tuple[LocalState, ...], memory: Mapping[str, int], what: Final) -> int:
        if what.thread is None:
            return memory[what.name]
        names = list(self.threads[what.thread].registers)
        return states[what.thread].registers[names.index(what.name)]

    def outcome(self, states: tuple[LocalState, ...], memory: Mapping[str, int]) -> tuple[int, ...]:
        """The values of ``observed``, in that order."""
        return tuple(self.final(states, memory, what) for what in self.observed)

    def predicate(self, proposition: Expr) -> Callable[[Outcome], int]:
        """Whether a proposition over observed values holds, as a function of an outcome."""

        def leaf(what: Addr | Final) -> Callable[[Outcome], int]:
            if isinstance(what, Addr):
                address = self.address_of(what.name)
                return lambda _: address
            return itemgetter(self.observed.index(what))

        return predicate(proposition, leaf)

    def address_of(self, name: str) -> int:
        return 1 + list(self.memory).index(name)

    def expressions(self) -> Iterator[tuple[int, Instruction, Expr]]:
        """Every expression of the code, with its thread and instruction."""
        for number, thread in enumerate(self.threads):
            for instruction in thread.code:
                for field in ("address", "value", "when", "condition"):
                    expression = getattr(instruction, field, None)
                    if expression is not None:
                        yield number, instruction, expression

    # -- how a thread computes between two accesses -----------------------------------------------------------------

    def _settle(self, thread: int, state: LocalState) -> LocalState:
        """Run local instructions until the next access, or the end."""
        code = self.threads[thread].code
        pc, registers, jumps, _ = state
        for _ in range(LOCAL_STEPS):
            if pc == len(code):
                return LocalState(pc, registers, jumps, "ended")
            instruction = code[pc]
            match instruction:
                case Assign(register=register, value=value):
                    registers = self._set(thread, registers, register, self._value(thread, registers, value))
                    pc += 1
                case Branch(target=target, when=when):
                    if not self._value(thread, registers, when):
                        pc += 1
                        continue
                    if target <= pc and self.loop_bound is not None:
                        if jumps == self.loop_bound:
                            return LocalState(pc, registers, jumps, "cut")
                        jumps += 1
                    pc = target
                case Assert(condition=condition) | Assume(condition=condition):
                    if not self._value(thread, registers, condition):
                        return LocalState(
                            pc, registers, jumps, "failed" if isinstance(instruction, Assert) else "blocked"
                        )
                    pc += 1
                case Fence():
                    return LocalState(pc, registers, jumps)
                case _:
                    wild = self._address(self._value(thread, registers, instruction.address)) is None
                    return LocalState(pc, registers, jumps, "wild" if wild else "running")
        where = code[pc].location if pc < len(code) else None
        raise ProgramError(f"thread {thread} loops without touching memory", where)

    def _set(self, thread: int, registers: tuple[int, ...], register: str, value: int) -> tuple[int, ...]:
        position = list(self.threads[thread].registers).index(register)
        return (*registers[:position], value, *registers[position + 1 :])

    def _value(self, thread: int, registers: tuple[int, ...], expression: Expr, old: int = 0) -> int:
        names = list(self.threads[thread].registers)

        def lookup(leaf: Reg | Addr | Old | Final) -> int:
            match leaf:
                case Reg(name):
                    return registers[names.index(name)]
                case Addr(name):
                    return self.address_of(name)
                case Old():
                    return old
                case Final():
                    raise AssertionError("a thread cannot see final values")

        return evaluate(expression, lookup)

    def _address(self, value: int) -> str | None:
        return list(self.memory)[value - 1] if 1 <= value <= len(self.memory) else None

    def _check(self) -> None:
        """Names that nothing declares and jumps to nowhere are the front end's mistakes: refuse them here."""
        refuse_many(len(self.threads), len(self.memory))
        for number, instruction, expression in self.expressions():
            registers = self.threads[number].registers
            for leaf in leaves(expression):
                if isinstance(leaf, Reg) and leaf.name not in registers:
                    raise ProgramError(f"thread {number} uses register {leaf.name}, not declared", instruction.location)
                if isinstance(leaf, Addr) and leaf.name not in self.memory:
                    raise ProgramError(f"thread {number} uses {leaf.name}, not declared", instruction.location)
        for number, thread in enumerate(self.threads):
            for instruction in thread.code:
                register = getattr(instruction, "register", None)
                if register is not None and register not in thread.registers:
                    raise ProgramError(f"thread {number} uses register {register}, not declared", instruction.location)
                if isinstance(instruction, Branch) and not 0 <= instruction.target <= len(thread.code):
                    raise ProgramError(f"thread {number} jumps out of its code", instruction.location)
        for what in self.observed:
            known = self.memory if what.thread is None else None
            if what.thread is not None and 0 <= what.thread < len(self.threads):
                known = self.threads[what.thread].registers
            if known is None or what.name not in known:
                raise ProgramError(f"{what} is asked about, but nothing declares it")
