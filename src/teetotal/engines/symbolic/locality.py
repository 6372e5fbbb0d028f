"""What the search for robustness asks of a program, so that one delaying process is enough (docs, unbounded-buffers).

The proof moves steps of one process past those of others wherever no conflict in memory forbids it, and lets the last step
happen where memory holds something else. So

- nothing that a process does may depend on ghost variables, which make no events: they are taken out here, with the
  assertions about them, and a program that does depend on them is refused;
- the last step must be able to happen: a lock, which waits, on a location that is also stored to plainly, is refused, and
  so are atomic blocks.
"""

from __future__ import annotations

from teetotal.answers.errors import ProgramError
from teetotal.programs.expressions import Const
from teetotal.programs.program import Assert, Assign, Assume, Load, Lock, Store
from teetotal.programs.promela.control_flow import reachable, reads
from teetotal.programs.promela.instructions import Begin, Instruction, Process
from teetotal.programs.promela.program import PromelaProgram


def events_only(program: PromelaProgram) -> PromelaProgram:
    """The program without what makes no events; every instruction that stays is where it was."""
    running = [
        process.code[pc] for process in program.processes for pc in sorted(reachable(process.code, [process.start]))
    ]  # what init did before its last run is the initial memory, and no matter
    stored: set[int] = set()
    for instruction in running:
        if isinstance(instruction, Store):
            stored.update(program.possible_addresses(instruction.address))
    for instruction in running:
        if isinstance(instruction, Begin) and not instruction.ghost:
            raise ProgramError("robustness of programs with atomic blocks is not supported", instruction.location)
        if isinstance(instruction, Lock) and not stored.isdisjoint(program.possible_addresses(instruction.address)):
            raise ProgramError("robustness where a mutex is also stored to is not supported", instruction.location)
    return program.with_processes(tuple(_without_ghosts(program, process) for process in program.processes))


def _without_ghosts(program: PromelaProgram, process: Process) -> Process:
    told = _told_by_ghosts(program, process)
    code: list[Instruction] = []
    for instruction in process.code:
        depends = not told.isdisjoint(reads(instruction))
        if _is_ghostly(program, instruction) or (depends and isinstance(instruction, Assign | Assert)):
            code.append(Assume(condition=Const(1), location=instruction.location))
        elif depends:
            raise ProgramError(
                "robustness where ghost variables decide what happens is not supported", instruction.location
            )
        else:
            code.append(instruction)
    return Process(process.name, process.number, tuple(code), process.registers, process.start)


def _told_by_ghosts(program: PromelaProgram, process: Process) -> set[str]:
    """The registers whose values may come from ghost variables."""
    told = {i.register for i in process.code if isinstance(i, Load) and _is_ghostly(program, i)}
    size = -1
    while size < len(told):
        size = len(told)
        told |= {i.register for i in process.code if isinstance(i, Assign) and not told.isdisjoint(reads(i))}
    return told


def _is_ghostly(program: PromelaProgram, instruction: Instruction) -> bool:
    if not isinstance(instruction, Load | Store):
        return False
    return program.possible_addresses(instruction.address).start >= program.buffered
