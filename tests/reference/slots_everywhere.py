"""A slot for either kind of fence in every gap of a program: what a cheapest set is compared over by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from teetotal.answers.costs import Costs
from teetotal.answers.remedies import KINDS
from teetotal.fences.insertion import Site
from teetotal.fences.slots import Slot, Slots, in_loops, moved_to
from teetotal.programs.expressions import Const
from teetotal.programs.program import Assert, Assign, Assume, Branch, Fence, Instruction, Program, Thread


def everywhere(program: Program, costs: Costs = Costs()) -> Slots:
    """A slot of either kind in every gap between two instructions that differs from the others.

    A gap before an instruction that is jumped to is two: jumps go past the fence, or run it. Gaps with nothing between
    them but computation that nobody else can see are one.
    """
    site_of: dict[Slot, int] = {}
    sites: list[Site] = []
    threads = []
    for number, thread in enumerate(program.threads):
        code: list[Instruction] = []
        moved: list[int] = []
        fresh: list[tuple[int, int]] = []  # pc, site
        gaps = set(_gaps(thread.code))
        for position, instruction in enumerate([*thread.code, None]):
            for jumped in (False, True):
                if jumped:
                    moved.append(len(code))
                if (position, jumped) not in gaps:
                    continue
                for kind in KINDS:
                    fresh.append((len(code), len(sites)))
                    sites.append(Site(kind=kind, place=(number, position, jumped), cost=Fraction(0)))
                    code.append(Fence(kind=kind))
            if instruction is not None:
                code.append(instruction)
        code = [moved_to(i, moved) for i in code]
        looping = in_loops(code)
        for pc, site in fresh:
            site_of[Slot(number, pc)] = site
            sites[site] = msgspec.structs.replace(
                sites[site], in_loop=pc in looping, cost=costs.of(sites[site].kind, pc in looping)
            )
        threads.append(Thread(thread.name, tuple(code), thread.registers))
    return Slots(msgspec.structs.replace(program, threads=tuple(threads)), site_of, sites)


def _gaps(code: Sequence[Instruction]) -> Iterator[tuple[int, bool]]:
    """(position, whether jumps there run the fence), one for each class of equal gaps."""
    targets = {instruction.target for instruction in code if isinstance(instruction, Branch)}
    for position in range(1, len(code)):
        previous = code[position - 1]
        always = isinstance(previous, Branch) and previous.when == Const(1)
        local = isinstance(previous, Assign | Assert | Assume)
        if position in targets:
            yield position, True
            if not always and not local:
                yield position, False
        elif not local and not always:
            yield position, True
    if 0 in targets and code:
        yield 0, True
