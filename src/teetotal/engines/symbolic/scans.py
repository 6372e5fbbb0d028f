"""Processes that look at the others in the order of their numbers, taken as if the order were free.

``j = 0; do :: j == N -> break :: else -> ... level[j] ...; j++ od`` tells processes apart that nothing else does, so that
none can take another's place (``renaming.py``). Let such a j, a *scan* of the names ``first`` to ``end`` - 1, remember
which names it has had, and go on with any that it has not:

- ``j = first`` becomes ``had = {}; j = any name``;
- ``j++`` becomes ``had = had + {j}; j = any name that is not in had``, or ``end`` if there is none. Where j is no name it
  is what it was before; and if j is one after it, because it came round, had is all names below j.

*Whatever the program does, the other one can do*, if it always takes the smallest name: then j is the same in both, and had
is all names below j wherever j is a name. It does more; so if it is safe, both are. Nothing else is used of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from teetotal.engines.symbolic.slots import Holder, Names, Slots
from teetotal.programs.expressions import Const, Expr, Op, Reg, leaves
from teetotal.programs.program import Assign, Branch
from teetotal.programs.promela.instructions import Choose, Instruction, Process
from teetotal.programs.promela.program import PromelaProgram
from teetotal.programs.promela.sites import retargeted

MOST_NAMES = 16
"""Names are less: the sets of those that a scan may have had are many more."""
HAD = "!had"
"""Behind a register's name: the names that it has had, as bits."""


class Scan(msgspec.Struct, frozen=True):
    """The register, and the names that it goes through: from ``first`` to before ``end``."""

    register: str
    first: int
    end: int


def in_any_order(
    program: PromelaProgram, owners: list[list[int]], slots: Slots
) -> tuple[PromelaProgram, dict[Holder, Names]]:
    """The program with the scans of ``owners`` in any order, and the names that these go through."""
    processes = list(program.processes)
    found: dict[Holder, Names] = {}
    for group in owners:
        for p in group:
            for scan, names in _scans(program, p, group[0], slots):
                processes[p] = _freed(processes[p], scan)
                found[group[0], scan.register] = names
    return program.with_processes(tuple(processes)), found


def _scans(program: PromelaProgram, p: int, first_of_group: int, slots: Slots) -> Iterator[tuple[Scan, Names]]:
    process = program.processes[p]
    start = dict(zip(process.registers, program.live_registers(p, process.start), strict=True))
    for register, initial in process.registers.items():
        names = slots.names.get((first_of_group, register)) or _indexed(program, p, register, slots)
        assigned = [i for i in process.code if getattr(i, "register", None) == register]
        values = [i.value for i in assigned if isinstance(i, Assign)]
        constants = {value.value for value in values if isinstance(value, Const)}
        steps = [value for value in values if not isinstance(value, Const)]
        if not names or len(values) < len(assigned) or len(constants) != 1 or not steps:
            continue
        scan = Scan(register, constants.pop(), max(names.values()) + 1)
        if start[register] and initial != scan.first:
            continue
        if 0 <= scan.first < scan.end <= MOST_NAMES and all(_goes_on(program, p, scan, step) for step in steps):
            yield scan, names


def _indexed(program: PromelaProgram, p: int, register: str, slots: Slots) -> Names:
    """The names that a register goes through if it is an index of an array with own slots."""
    for instruction in program.processes[p].code:
        match getattr(instruction, "address", None):
            case Op("[]", (Const(base), Reg(name), Const(size))) if name == register:
                for family in slots.families:
                    if all(base - 1 <= x < base - 1 + size for x in family.values()):
                        return {owner: x - (base - 1) for owner, x in family.items()}
    return {}


def _goes_on(program: PromelaProgram, p: int, scan: Scan, step: Expr) -> bool:
    """Whether the expression is the next number of every name."""
    if any(not isinstance(leaf, Const) and leaf != Reg(scan.register) for leaf in leaves(step)):
        return False
    registers = list(program.processes[p].registers)
    return all(
        program.value(p, tuple(j if name == scan.register else 0 for name in registers), step) == j + 1
        for j in range(scan.first, scan.end)
    )


def _freed(process: Process, scan: Scan) -> Process:
    """The process with one scan in any order."""
    blocks = [_block(instruction, scan) for instruction in process.code]
    at = [0]
    for block in blocks:
        at.append(at[-1] + len(block))
    code: list[Instruction] = []
    for pc, block in enumerate(blocks):
        if len(block) == 1:
            code.append(retargeted(block[0], at))
        else:
            inside = [at[pc] + n for n in range(len(block))] + [at[pc + 1]]
            code += [retargeted(instruction, inside) for instruction in block]
    registers = process.registers | {scan.register + HAD: 0}
    return Process(process.name, process.number, tuple(code), registers, at[process.start])


def _block(instruction: Instruction, scan: Scan) -> list[Instruction]:
    """What takes the instruction's place; where it jumps, it counts from its own beginning."""
    if not isinstance(instruction, Assign) or instruction.register != scan.register:
        return [instruction]
    place = instruction.location
    j, had = Reg(scan.register), Reg(scan.register + HAD)
    names = range(scan.first, scan.end)
    block: list[Instruction] = []
    if isinstance(instruction.value, Const):
        block.append(Assign(register=had.name, value=Const(0), location=place))
    else:
        is_name = Op("and", (Op("<=", (Const(scan.first), j)), Op("<", (j, Const(scan.end)))))
        below = Op("-", (_bit(j), _bit(Const(scan.first))))  # as bits: all names below j
        last = 7 + 2 * (len(names) + 1)
        block += [
            Branch(when=is_name, target=5, location=place),
            instruction,
            Branch(when=Op("not", (is_name,)), target=last, location=place),
            Assign(register=had.name, value=below, location=place),
            Branch(when=Const(1), target=last, location=place),
            Assign(register=had.name, value=Op("|", (had, _bit(j))), location=place),
        ]
    choice = len(block)
    free = [Op("==", (Op("&", (had, Const(1 << name))), Const(0))) for name in names]
    none = Op("==", (had, Const(sum(1 << name for name in names))))
    targets = [choice + 1 + 2 * n for n in range(len(names) + 1)]
    block.append(Choose(arms=tuple(zip([*free, none], targets, strict=True)), location=place))
    for value in [*names, scan.end]:
        block.append(Assign(register=j.name, value=Const(value), location=place))
        block.append(Branch(when=Const(1), target=targets[-1] + 2, location=place))
    return block


def _bit(name: Expr) -> Expr:
    return Op("<<", (Const(1), name))
