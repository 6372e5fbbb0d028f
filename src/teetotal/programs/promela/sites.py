"""The places of a Promela text where a fence can stand.

There are two choices of places. ``stores`` are those of Linden, Wolper (TACAS 2013): an mfence directly after each
store, an sfence directly before it. ``gaps`` are all: either kind between any two statements, and the fences that are
there, which may go. A place belongs to the text: whatever processes run that text have the fence, as often as they run it.

No gap is inside an atomic block, nor before the first statement of a sequence if that may wait: an option of ``if`` or
``do`` that begins with a fence could always be taken. A gap in front of a label's statement is two, before the label
and behind it, for jumps go past the former.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from teetotal.answers.events import Kind, Location
from teetotal.programs.program import Assign, Assume, Branch
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.instructions import Choose, FenceSite, Instruction, Process, Slot

Places = Literal["stores", "gaps"]
KINDS: tuple[Literal[Kind.MFENCE], Literal[Kind.SFENCE]] = (Kind.MFENCE, Kind.SFENCE)


class Sites:
    """Those that a compilation has met, each once however many processes have it."""

    def __init__(self, file: str, text: str, places: Places) -> None:
        self.file, self.text, self.places = file, text, places
        self.found: list[FenceSite] = []
        self._numbers: dict[tuple[Kind, bool, bool, int], int] = {}

    def number(self, kind: Kind, statement: s.Statement, *, after: bool, existing: bool = False) -> int | None:
        """None where nothing can be written into the text."""
        span = statement.span
        if not span.whole:
            return None
        key = (kind, after, existing, span.start)
        if key not in self._numbers:
            self._numbers[key] = len(self.found)
            assert kind is Kind.MFENCE or kind is Kind.SFENCE
            line = 1 + self.text.count("\n", 0, span.end if after else span.start)
            instead = self._instead(statement) if existing else None
            self.found.append(FenceSite(kind, Location(self.file, line), span, after, instead))
        return self._numbers[key]

    def _instead(self, statement: s.Statement) -> str:
        """A label, and an option that need not wait, want a statement to begin with."""
        span = statement.span
        if statement.labels or span.first or span.follows is None:
            return "skip"
        last = span.follows == span.end
        return "skip" if last and not self.text[: span.start].rstrip().endswith(";") else ""

    def slots(self, statement: s.Statement, *, after: bool) -> list[Slot]:
        """The gap beside a statement: none where only the places at stores are asked for."""
        if self.places == "stores":
            return []
        numbers = [self.number(kind, statement, after=after) for kind in KINDS]
        return [Slot(fence=number, location=statement.location) for number in numbers if number is not None]


def without_equals(processes: Sequence[Process], sites: Sequence[FenceSite]) -> tuple[list[Process], list[FenceSite]]:
    """With one site of those that are equal: in no process lies an access, a label, a jump or another way in between
    them. The first in the code stays, beside the innermost statement, and so do existing fences."""
    runs: dict[int, list[tuple[int, int]]] = {}
    for number, process in enumerate(processes):
        targets = {process.start, *(target for instruction in process.code for target in _targets(instruction))}
        start = 0
        for pc, instruction in enumerate(process.code):
            if pc in targets:
                start = pc
            if not isinstance(instruction, Slot | Assign | Assume):
                start = pc + 1
            elif isinstance(instruction, Slot):
                runs.setdefault(instruction.fence, []).append((number, start))
                if sites[instruction.fence].existing:
                    start = pc + 1
    seen: set[tuple[Kind, tuple[tuple[int, int], ...]]] = set()
    left: dict[int, int] = {}
    for number in sorted(runs):
        signature = (sites[number].kind, tuple(runs[number]))
        if sites[number].existing or signature not in seen:
            left[number] = len(left)
        seen.add(signature)
    return [_renumbered(process, left) for process in processes], [sites[number] for number in left]


def _renumbered(process: Process, left: dict[int, int]) -> Process:
    """The process with the slots of those sites alone that ``left`` gives a new number, and with its jumps adjusted."""
    moved, code = [], list[Instruction]()
    for instruction in process.code:
        moved.append(len(code))
        if not isinstance(instruction, Slot):
            code.append(instruction)
        elif instruction.fence in left:
            code.append(msgspec.structs.replace(instruction, fence=left[instruction.fence]))
    moved.append(len(code))
    return Process(
        process.name,
        process.number,
        tuple(retargeted(instruction, moved) for instruction in code),
        process.registers,
        moved[process.start],
    )


def retargeted(instruction: Instruction, moved: Sequence[int]) -> Instruction:
    """With other places to jump to: ``moved`` of those that it has."""
    match instruction:
        case Branch(target=target):
            return msgspec.structs.replace(instruction, target=moved[target])
        case Choose(arms=arms, otherwise=otherwise):
            return msgspec.structs.replace(
                instruction,
                arms=tuple((when, moved[target]) for when, target in arms),
                otherwise=None if otherwise is None else moved[otherwise],
            )
    return instruction


def _targets(instruction: Instruction) -> list[int]:
    match instruction:
        case Branch(target=target):
            return [target]
        case Choose(arms=arms, otherwise=otherwise):
            return [target for _, target in arms] + ([] if otherwise is None else [otherwise])
    return []
