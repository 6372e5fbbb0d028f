"""Processes that run: what lies between two stops, and what an atomic step does.

A control state stands before an access, a choice, a fence's place, a label or an atomic block; what lies between is run at
once, since nobody else can see it. Registers that are read no more are set to 0, so that equal futures are equal states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from teetotal.answers.errors import ProgramError
from teetotal.programs.expressions import Const, Expr, Op
from teetotal.programs.program import Assert, Assign, Assume, Branch, Fence, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.promela.control_flow import liveness
from teetotal.programs.promela.evaluation import python
from teetotal.programs.promela.instructions import (
    STOPS,
    Begin,
    Blocks,
    Choose,
    Control,
    End,
    Instruction,
    Mark,
    Outcome,
    Process,
    Slot,
    Status,
    Writes,
)

LOCAL_STEPS = 100_000


class Runner:
    """Locations are numbered from 0; in the instructions an address is that number plus 1, as in ``Program``, and an
    element of an array has the address ``Op("[]", (first, index, size))``."""

    def __init__(self, processes: tuple[Process, ...]) -> None:
        self.processes = processes
        self._live = [liveness(process.code, list(process.registers)) for process in processes]
        self._compiled: list[dict[Expr, Callable[..., int]]] = [{} for _ in processes]

    def instruction(self, process: int, state: Control) -> Instruction:
        return self.processes[process].code[state.pc]

    def after(self, process: int, state: Control) -> Control:
        """After a store, a fence, or nothing."""
        return self.settle(process, state.pc + 1, state.registers)

    def outcomes(self, process: int, state: Control, values: Mapping[int, int]) -> list[Outcome]:
        """What an atomic step can do where memory holds ``values`` (by location); nothing if it has to wait."""
        instruction = self.instruction(process, state)
        match instruction:
            case Begin():
                return list(self._block(process, state, values))
            case Rmw() | Lock() | Unlock():
                address = self.address(process, state, instruction.address)
                done = self._locked(process, state, instruction, values[address])
                return [] if done is None else [(done[0], self.settle(process, state.pc + 1, done[1]))]
        raise AssertionError(f"not an atomic step: {instruction}")

    def _locked(
        self, process: int, state: Control, instruction: Rmw | Lock | Unlock, old: int
    ) -> tuple[Writes, tuple[int, ...]] | None:
        """What one operation writes, and the registers after it; None if it has to wait."""
        address = self.address(process, state, instruction.address)
        if not isinstance(instruction, Rmw):
            waits = isinstance(instruction, Lock) and old != 0
            return None if waits else (((address, int(isinstance(instruction, Lock))),), state.registers)
        registers = state.registers
        if instruction.register is not None:
            registers = self.assigned(process, registers, instruction.register, old)
        if instruction.when is not None and not self.value(process, state.registers, instruction.when, old):
            return (), registers
        return ((address, self.value(process, state.registers, instruction.value, old)),), registers

    def settle(self, process: int, pc: int, registers: tuple[int, ...]) -> Control:
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
                    targets = self.arms(process, Control(pc, registers), instruction)
                    if not targets:
                        return self._stop(process, pc, registers, "cut")
                    if len(targets) > 1:
                        return self._stop(process, pc, registers)
                    pc = targets[0]
                case _:
                    advanced = self.local(process, pc, registers)
                    if isinstance(advanced, str):
                        return self._stop(process, pc, registers, advanced)
                    pc, registers = advanced
        raise ProgramError(f"{self.processes[process].name} computes for too long without an access", code[pc].location)

    def local(self, process: int, pc: int, registers: tuple[int, ...]) -> tuple[int, tuple[int, ...]] | Status:
        """One instruction that is no stop and no choice: where it leads, or why it leads nowhere."""
        instruction = self.processes[process].code[pc]
        match instruction:
            case Assign(register=register, value=value):
                return pc + 1, self.assigned(process, registers, register, self.value(process, registers, value))
            case Branch(target=target, when=when):
                return (target if self.value(process, registers, when) else pc + 1), registers
            case Assert(condition=condition):
                return (pc + 1, registers) if self.value(process, registers, condition) else "failed"
            case Assume(condition=condition):
                return (pc + 1, registers) if self.value(process, registers, condition) else "cut"
            case End():
                return pc + 1, registers
        raise AssertionError(f"not a local instruction: {instruction}")

    def arms(self, process: int, state: Control, choose: Choose) -> list[int]:
        targets = [target for when, target in choose.arms if self.value(process, state.registers, when)]
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
                    yield changes, self.settle(process, pc + 1, registers)
                case Mark() | Slot() | Begin():
                    pending.append((pc + 1, registers, written))
                case Choose():
                    targets = self.arms(process, here, instruction)
                    pending += [(target, registers, written) for target in reversed(targets)]
                case Load(register=register):
                    address = self.address(process, here, instruction.address)
                    value = written.get(address, values[address])
                    pending.append((pc + 1, self.assigned(process, registers, register, value), written))
                case Store(value=expression):
                    address = self.address(process, here, instruction.address)
                    stored = {**written, address: self.value(process, registers, expression)}
                    pending.append((pc + 1, registers, stored))
                case Rmw() | Lock() | Unlock():
                    address = self.address(process, here, instruction.address)
                    done = self._locked(process, here, instruction, written.get(address, values[address]))
                    assert done is not None, "no lock is taken inside an atomic block"
                    pending.append((pc + 1, done[1], {**written, **dict(done[0])}))
                case Fence():
                    pending.append((pc + 1, registers, written))
                case _:
                    advanced = self.local(process, pc, registers)
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
            alive = self.live_registers(process, pc)
            registers = tuple(v if live else 0 for v, live in zip(registers, alive, strict=True))
        return Control(pc, registers, status)

    def live_registers(self, process: int, pc: int) -> tuple[bool, ...]:
        """Which registers may still be read from there."""
        return self._live[process][pc]

    def assigned(self, process: int, registers: tuple[int, ...], register: str, value: int) -> tuple[int, ...]:
        position = list(self.processes[process].registers).index(register)
        return (*registers[:position], value, *registers[position + 1 :])

    def value(self, process: int, registers: tuple[int, ...], expression: Expr, old: int = 0) -> int:
        if isinstance(expression, Const):
            return expression.value
        compiled = self._compiled[process].get(expression)
        if compiled is None:
            compiled = python(expression, list(self.processes[process].registers))
            self._compiled[process][expression] = compiled
        return compiled(registers, old)

    def address(self, process: int, state: Control, address: Expr) -> int:
        if isinstance(address, Const):
            return address.value - 1
        assert isinstance(address, Op)
        base, index, size = address.operands
        offset = self.value(process, state.registers, index)
        assert isinstance(base, Const)
        assert isinstance(size, Const)
        assert 0 <= offset < size.value, "InBounds comes before every access"
        return base.value - 1 + offset
