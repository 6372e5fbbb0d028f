"""Where instructions of a process lead to, which registers are still read from there, and which come again."""

from __future__ import annotations

from collections.abc import Sequence

from teetotal.programs.expressions import Const, Reg, leaves
from teetotal.programs.program import Branch
from teetotal.programs.promela.instructions import Choose, Instruction


def liveness(code: tuple[Instruction, ...], registers: list[str]) -> list[tuple[bool, ...]]:
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


def successors(code: Sequence[Instruction], pc: int) -> list[int]:
    instruction = code[pc]
    match instruction:
        case Branch(target=target, when=Const(value)) if value:
            return [target]
        case Branch(target=target):
            return [target, pc + 1]
        case Choose(arms=arms, otherwise=otherwise):
            return [target for _, target in arms] + ([] if otherwise is None else [otherwise])
    return [pc + 1]


def comes_again(code: Sequence[Instruction], start: int) -> bool:
    """Whether an instruction reaches itself."""
    return start in reachable(code, successors(code, start))


def reachable(code: Sequence[Instruction], starts: list[int]) -> set[int]:
    """Every instruction that a process comes to from there."""
    todo, seen = list(starts), set[int]()
    while todo:
        pc = todo.pop()
        if pc < len(code) and pc not in seen:
            seen.add(pc)
            todo += successors(code, pc)
    return seen


def reads(instruction: Instruction) -> set[str]:
    expressions = [getattr(instruction, field, None) for field in ("address", "value", "when", "condition")]
    if isinstance(instruction, Choose):
        expressions = [when for when, _ in instruction.arms]
    return {leaf.name for e in expressions if e is not None for leaf in leaves(e) if isinstance(leaf, Reg)}
