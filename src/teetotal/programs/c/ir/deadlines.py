"""Looks at the clock whose only use is the limit of a wait: ``clock_gettime``, a second more, ``pthread_cond_timedwait``.

What waits with a limit is explored either way, whatever the limit. So such a look decides nothing and is not named, if no
other use can be made of what it shows. That is so where, in one function,

- the clock is asked to write to a local whose address goes nowhere but to clocks and to waits with a limit, and is
  accessed by nothing but loads and stores of its two fields;
- what is loaded from it is added to, subtracted from, and stored in it again; or compared, and the branch behind that
  leads around one block that does nothing but more of the same;
- where the nanoseconds are changed, something is compared with a second: a wait whose limit is out of range fails at once.

The calls become calls of a function that names nothing (runtime/hooks/hooks_clock.cpp).
"""

from __future__ import annotations

import re

from teetotal.programs.c.ir.reading import Block, Function, Instruction
from teetotal.programs.c.ir.seeing import LIFETIME, Seeing, accessed, called

CLOCKS = {"clock_gettime": 1, "timespec_get": 0}
"""Which of their arguments they write to."""
WAITS = {
    **dict.fromkeys(("sem_timedwait", "mtx_timedlock", "pthread_mutex_timedlock"), 1),
    **dict.fromkeys(("pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock"), 1),
    **dict.fromkeys(("pthread_cond_timedwait", "cnd_timedwait", "pthread_mutex_clocklock", "sem_clockwait"), 2),
    "pthread_cond_clockwait": 3,
}
"""Which of their arguments is the limit."""
_SECOND = ("999999999", "1000000000")
_FIELDS = (0, 8)
_SIZE = 16


def quiet_looks(seeing: Seeing) -> list[Instruction]:
    """The calls of clocks in a function, if no other use is made of any."""
    function = seeing.function
    looks = [one for one in function.instructions if (told := called(one)) is not None and told.name in CLOCKS]
    return looks if looks and _Check(seeing, function).holds(looks) else []


def relied_on(function: Function) -> set[str]:
    """Functions that must be those of the C library, then."""
    names = {told.name for one in function.instructions if (told := called(one)) is not None}
    return names & {*CLOCKS, *WAITS}


class _Check:
    def __init__(self, seeing: Seeing, function: Function) -> None:
        self.seeing, self.function = seeing, function
        self.limits: set[str] = set()
        """Locals that clocks write to."""
        self.shown: set[str] = set()
        """Values that depend on what a clock has shown."""
        self.knows_a_second = self.changes_nanoseconds = False

    def holds(self, looks: list[Instruction]) -> bool:
        for one in looks:
            told = called(one)
            assert told is not None
            at = told.arguments[CLOCKS[told.name]].value
            memory = self.seeing.memory.get(self.seeing.roots.get(at, ""))
            if memory is None or self.seeing.offsets[at] != 0 or memory.size != _SIZE:
                return False
            self.limits.add(memory.name)
        more = True
        while more:
            before = len(self.shown)
            if not all(self._is_harmless(one) for one in self.function.instructions if not one.is_debug):
                return False
            more = len(self.shown) > before
        return self.knows_a_second or not self.changes_nanoseconds

    def _is_limit(self, name: str) -> bool:
        return self.seeing.roots.get(name, "") in self.limits

    def _field(self, instruction: Instruction) -> int | None:
        """Of a limit, that it loads or stores; -1: another part of one."""
        told = accessed(instruction)
        if told is None or not self._is_limit(told.pointer.value):
            return None
        offset = self.seeing.offsets[told.pointer.value]
        fits = offset in _FIELDS and told.type.text == "i64" and not told.order and not told.volatile
        return offset if fits and offset is not None else -1

    def _is_harmless(self, instruction: Instruction) -> bool:
        names = instruction.names
        reads_shown = [name for name in names if name in self.shown]
        if (field := self._field(instruction)) is not None:
            return field >= 0 and self._accesses(instruction, field)
        if instruction.opcode in ("getelementptr", "bitcast", "alloca"):
            return not reads_shown
        told = called(instruction)
        if told is not None and any(self._is_limit(name) for name in names):
            limit = {**CLOCKS, **WAITS}.get(told.name)
            given = [at for at, one in enumerate(told.arguments) if self._is_limit(one.value)]
            passes = given == [limit] and self.seeing.offsets[told.arguments[given[0]].value] == 0
            marks = LIFETIME.match(told.name) or told.name.startswith("llvm.dbg.")
            return bool(marks or passes) and not reads_shown
        if any(self._is_limit(name) for name in names):
            return False
        return not reads_shown or self._follows(instruction, reads_shown)

    def _accesses(self, instruction: Instruction, field: int) -> bool:
        told = accessed(instruction)
        assert told is not None
        if told.kind == "load":
            self.shown.add(instruction.result)
            return True
        if told.kind != "store" or told.value is None:
            return False
        self.changes_nanoseconds |= field == _FIELDS[1] and told.value.value.startswith("%")
        return not self._is_limit(told.value.value)

    def _follows(self, instruction: Instruction, shown: list[str]) -> bool:
        """What uses a value that a clock has shown."""
        if instruction.opcode in ("add", "sub"):
            self.shown.add(instruction.result)
            return True
        if instruction.opcode == "icmp":
            self.shown.add(instruction.result)
            self.knows_a_second |= instruction.body.rpartition(" ")[2] in _SECOND
            return True
        return instruction.opcode == "br" and self._leads_around(instruction)

    def _leads_around(self, branch: Instruction) -> bool:
        """Whether a branch does one block, or none, before it comes to another: one that touches nothing but limits."""
        targets = re.findall(r"label (%\S+?)(?:,|$)", branch.body)
        blocks = {block.name: block for block in self.function.blocks}
        for one, other in (targets, targets[::-1]) if len(targets) == 2 else ():
            block = blocks[one]
            last = block.instructions[-1]
            if last.opcode == "br" and last.targets == [other] and not self._joins(blocks[other]):
                return all(self._is_arithmetic(each) for each in block.instructions[:-1])
        return False

    def _joins(self, block: Block) -> bool:
        return any(one.opcode == "phi" for one in block.instructions)

    def _is_arithmetic(self, instruction: Instruction) -> bool:
        if self._field(instruction) is not None or instruction.is_debug:
            return True
        return instruction.opcode in ("add", "sub", "getelementptr", "bitcast")
