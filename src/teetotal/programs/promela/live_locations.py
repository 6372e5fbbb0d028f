"""Which shared locations a process may still read before it stores to them itself.

What a location holds matters to nobody if every process is going to store to it before reading it: memories that differ
only there have the same future. Registers that hold what was loaded are unknown here, the others keep their values, so that
``turn[k]`` is one location where ``k`` is known. A process whose registers take too many values for that is looked at with
all of them unknown.
"""

from __future__ import annotations

from teetotal.programs.expressions import Const, Expr, Old, Op, Reg, leaves
from teetotal.programs.program import Assert, Assign, Assume, Branch, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.promela.instructions import Begin, Choose, Control
from teetotal.programs.promela.program import PromelaProgram

MOST_PLACES = 20_000
"""Of one process, before its registers count as unknown."""

Registers = tuple[int | None, ...]
Place = tuple[int, Registers]


class Unread:
    """Of one process of a program."""

    def __init__(self, program: PromelaProgram, process: int, most: int = MOST_PLACES) -> None:
        self.program, self.process, self.most = program, process, most
        self.code = program.processes[process].code
        self.names = list(program.processes[process].registers)
        self.live: dict[Place, frozenset[int]] = {}
        self.crowded = False
        """Whether all registers count as unknown from now on."""

    def still_read(self, state: Control) -> frozenset[int]:
        """Every location whose value now may be read by this process."""
        if state.status != "running":
            return frozenset()
        place: Place = (state.pc, state.registers)
        if place not in self.live:
            place = self._at(state.pc, state.registers)
        if place not in self.live:
            self._explore(place)
        return self.live[place]

    def _explore(self, start: Place) -> None:
        after: dict[Place, list[Place]] = {}
        todo = [start]
        while todo:
            place = todo.pop()
            if place in after or place in self.live:
                continue
            self.crowded = len(after) + len(self.live) >= self.most
            after[place] = self._successors(*place)
            todo += after[place]
        for place in after:
            self.live[place] = frozenset()
        before: dict[Place, list[Place]] = {}
        for place, successors in after.items():
            for successor in successors:
                before.setdefault(successor, []).append(place)
        pending = dict.fromkeys(reversed(after))
        while pending:
            place, _ = pending.popitem()
            reads, stores = self._accesses(*place)
            found = frozenset().union(*(self.live[s] for s in after[place])) - stores | reads
            if found != self.live[place]:
                self.live[place] = found
                pending.update(dict.fromkeys(b for b in before.get(place, []) if b in after))

    def _successors(self, pc: int, registers: Registers) -> list[Place]:
        if pc == len(self.code):
            return []
        instruction = self.code[pc]
        match instruction:
            case Assign(register=register, value=value):
                return [self._at(pc + 1, self._assigned(registers, register, self._value(value, registers)))]
            case Branch(target=target, when=when):
                taken = self._value(when, registers)
                targets = ([target] if taken != 0 else []) + ([pc + 1] if not taken else [])
                return [self._at(target, registers) for target in targets]
            case Choose(arms=arms, otherwise=otherwise):
                values = [(self._value(when, registers), target) for when, target in arms]
                targets = [target for value, target in values if value != 0]
                if otherwise is not None and not any(value for value, _ in values):
                    targets.append(otherwise)
                return [self._at(target, registers) for target in targets]
            case Assert(condition=condition) | Assume(condition=condition):
                return [] if self._value(condition, registers) == 0 else [self._at(pc + 1, registers)]
            case Load(register=register) | Rmw(register=str(register)):
                return [self._at(pc + 1, self._assigned(registers, register, None))]
        return [self._at(pc + 1, registers)]

    def _accesses(self, pc: int, registers: Registers) -> tuple[frozenset[int], frozenset[int]]:
        """What is read, and what is stored to for sure."""
        none: frozenset[int] = frozenset()
        if pc == len(self.code):
            return none, none
        instruction = self.code[pc]
        match instruction:
            case Load(address=address) | Rmw(address=address) | Lock(address=address) | Unlock(address=address):
                return frozenset(self._addresses(address, registers)), none
            case Store(address=address):
                stored = self._addresses(address, registers)
                return none, frozenset(stored) if len(stored) == 1 else none
            case Begin():
                return frozenset(self.program.footprint(self.process, pc)), none
        return none, none

    def _addresses(self, address: Expr, registers: Registers) -> range:
        possible = self.program.possible_addresses(address)
        if isinstance(address, Const):
            return possible
        assert isinstance(address, Op)
        index = self._value(address.operands[1], registers)
        return possible if index is None else possible[index : index + 1]

    def _value(self, expression: Expr, registers: Registers) -> int | None:
        if isinstance(expression, Const):
            return expression.value
        for leaf in leaves(expression):
            if isinstance(leaf, Old) or (isinstance(leaf, Reg) and registers[self.names.index(leaf.name)] is None):
                return None
        return self.program.value(self.process, registers, expression)  # type: ignore[arg-type]

    def _assigned(self, registers: Registers, register: str, value: int | None) -> Registers:
        position = self.names.index(register)
        return (*registers[:position], value, *registers[position + 1 :])

    def _at(self, pc: int, registers: Registers) -> Place:
        if self.crowded:
            return pc, (None,) * len(registers)
        alive = self.program.live_registers(self.process, pc)
        return pc, tuple(v if live else 0 for v, live in zip(registers, alive, strict=True))
