"""What ``init`` does before anything else happens: it starts processes, and what it has stored by then is the initial
memory."""

from __future__ import annotations

from teetotal.answers.errors import ParseError
from teetotal.programs.expressions import Const
from teetotal.programs.program import Assume, Branch, Fence, Load, Lock, Rmw, Store, Unlock
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.control_flow import reachable, successors
from teetotal.programs.promela.instructions import Begin, Choose, Control, End, Mark, Process, Slot
from teetotal.programs.promela.operands import Spawn
from teetotal.programs.promela.runner import Runner
from teetotal.programs.promela.statements import Body

MOST_STEPS = 100_000


def run_init(shared: dict[str, int], body: Body, spawned: list[tuple[s.Proctype, tuple[int, ...]]]) -> Process | None:
    """Run init alone up to its last ``run``, on shared memory with its initial values; the rest of it, if there is any, is
    a process like the others."""
    code = body.code
    plain = tuple(Assume(condition=Const(1)) if isinstance(i, Spawn) else i for i in code)
    spawns_ahead = [False] * (len(code) + 1)
    for _ in code:
        for pc in range(len(code) - 1, -1, -1):
            spawns_ahead[pc] = isinstance(code[pc], Spawn) or any(spawns_ahead[t] for t in successors(plain, pc))
    runner = Runner((Process("init", body.number, plain, body.registers),))
    memory = dict(enumerate(shared.values()))
    pc, registers = 0, tuple(body.registers.values())
    steps = 0
    while spawns_ahead[pc]:
        instruction = code[pc]
        at = instruction.location
        steps += 1
        if steps > MOST_STEPS:
            raise ParseError(f"init takes more than {MOST_STEPS:,} steps before its last run", at)
        match instruction:
            case Spawn(proctype=proctype, arguments=arguments):
                spawned.append((proctype, tuple(runner.value(0, registers, argument) for argument in arguments)))
                pc += 1
            case Load(register=register):
                address = runner.address(0, Control(pc, registers), instruction.address)
                registers = runner.assigned(0, registers, register, memory[address])
                pc += 1
            case Store(value=value):
                if spawned:
                    raise ParseError("init assigns to shared memory between two runs: put it before the first", at)
                address = runner.address(0, Control(pc, registers), instruction.address)
                memory[address] = runner.value(0, registers, value)
                pc += 1
            case Fence() | Slot() | Mark() | Begin() | End():
                pc += 1
            case Choose():
                targets = runner.arms(0, Control(pc, registers), instruction)
                if len(targets) != 1:
                    raise ParseError("init chooses, or waits, before its last run", at)
                pc = targets[0]
            case Rmw() | Lock() | Unlock():
                raise ParseError("init cannot use atomic operations before its last run", at)
            case _:
                advanced = runner.local(0, pc, registers)
                if isinstance(advanced, str):
                    raise ParseError("init stops before its last run", at)
                pc, registers = advanced
    shared.update(zip(list(shared), memory.values(), strict=True))
    if spawned and all(isinstance(code[i], Branch | End | Mark | Slot) for i in reachable(plain, [pc])):
        return None
    start = dict(zip(body.registers, registers, strict=True))
    return Process("init", body.number, plain, start, pc)
