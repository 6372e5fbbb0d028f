"""What of its frame and of its registers a function still needs, at each place that a call returns to.

A thread waits if its loop brings it back to the same state. What nobody will read again does not belong to that state:
code without optimisation leaves every value that it has loaded somewhere in the frame, or in ``rbx``. So this is the
textbook's backward analysis (a place is live where some way leads to a read of it, with no write to all of it before),
over machine code. Places are the bytes of the frame and the registers. Each call gets an entry in a table beside the
code, for runtime/schedule/local_state.hpp, which compares what is live in each frame on a stack; and so does each hook
that keeps all registers (``instrument``).

A call in which a waiting loop could be is marked (``rounds``). Elsewhere the runtime need not look.

What makes it sound:

- A register that a function saves is judged where it was called, the copy too. Its own frame begins below these copies.
- The address of a slot may go to a compiler's hook, which forgets it, to a compare-and-swap, as what it expects, or to
  ``pthread_create`` and ``thrd_create``, for the handle.
  Wherever else it goes, somebody may read by it whatever belongs to the same variable (``confinement``): that is live,
  everywhere, but where other threads have looked.
- Where it is not known which variable that is, it may be whatever lies in the frame: then all of that is live,
  everywhere, but where other threads have looked: what is accessed there by hooks is an event, and only what no hook was
  told of is the function's own, and listed.
- A function that makes its frame in no way known here, or whose frame others may reach beyond, gets no entries. The
  runtime takes everything for live where it finds none.
- What assembly written by hand pushes lies in the frame without a place of its own, and so does what an instruction
  reaches from a slot by a register, a number of bits too: then all is live.
- Exceptions go from any call to any landing pad, jumps by a table to anything a table names.
- A call leaves something of its own in registers that it may overwrite, and nobody reads that: such a register is live
  again once something is written there, though the next call might be given something in it. What is read across hooks,
  which the source does not have, is put by, and nobody waits then (``bound``).
- By the rules no register for vectors or fractions lives on across a call, and the runtime does not look at them there.
  Assembly written by hand may keep something in one all the same: where it uses any, nobody is said to wait.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from teetotal.programs.c import confinement
from teetotal.programs.c.assembly import Function, Item, Text
from teetotal.programs.c.control_flow import Flow, Labels, labels
from teetotal.programs.c.frame_variables import Range
from teetotal.programs.c.instrument import BACK, att
from teetotal.programs.c.live_table import Entry, entry_lines, nobody_waits
from teetotal.programs.c.machine import RBP, RDI, REGISTERS, RSP, Instruction, moves_stack, sets_frame
from teetotal.programs.c.matching import HOOK
from teetotal.programs.c.rounds import called, rounds, surely_storing

_KEPT = tuple(REGISTERS.index(name) for name in ("rbx", "r12", "r13", "r14", "r15"))
"""By calls."""
_FLAGS = len(REGISTERS)
_PLACES = _FLAGS + 1
"""Registers, and flags."""
_ATOMIC = re.compile(r"__tsan_atomic(\d+)_(\w+)$")
_VOLATILE_READ = re.compile(r"__tsan_(unaligned_)?volatile_read")
_FORGETS_FIRST = ("pthread_create", "thrd_create")
"""They write there and keep no address. What ``main`` waits with mostly lies beside such a handle."""
_TWICE = re.compile(r"(_?setjmp|_{0,2}sigsetjmp|getcontext|vfork)$")
_COMPARES = ("cmp", "test", "add", "sub", "and", "or", "xor")
_OVERWRITES = re.compile(r"(v?mov\w*|lea|pop|imul|v?cvt\w+|v?pextr[bwdq]|v?p?movmsk\w+)$")
"""Not ``cmov``, nor what leaves its target as it was where there is nothing to tell: ``bsf``, ``lsl``, ``rdssp``."""
_HOOK = re.compile(rf"(\.Lteetotal_access_\d+{BACK}):$")
_RSI = REGISTERS.index("rsi")
_ARGUMENTS = frozenset(REGISTERS.index(name) for name in ("rdi", "rsi", "rdx", "rcx", "r8", "r9"))
_BEHIND = 16
"""Above rbp lie the caller's and the return address; arguments begin here."""
_GIVEN = sum(1 << number for number in _ARGUMENTS) | 1 << REGISTERS.index("r10")
_LOST = (1 << _PLACES) - 1 - sum(1 << number for number in (*_KEPT, RBP, RSP))
_RETURNED = 1 | 1 << REGISTERS.index("rdx")


class Liveness:
    """A pass over the assembly: puts the table there."""

    def __init__(self) -> None:
        self._numbers = count()

    def __call__(self, program: Text, functions: Sequence[Function]) -> None:
        for function in functions:
            for item in (item for block in function.blocks for item in block):
                if item.statement.app and _uses_vectors(item.instruction):
                    item.statement.before += att(nobody_waits(), item.statement)
                    break
        for entry in entries(program, functions):
            if entry.hook:
                entry.item.statement.before += att(entry_lines(entry, entry.hook), entry.item.statement)
            elif entry.item.whole and not entry.item.statement.app:
                label = f".Lteetotal_live_{next(self._numbers)}"
                entry.item.last.after[:0] = att([f"{label}:", *entry_lines(entry, label)], entry.item.last)


def _uses_vectors(instruction: Instruction) -> bool:
    return any(kind == "x" for kind, _ in instruction.operands) or instruction.name.startswith("f")


def entries(program: Text, functions: Sequence[Function]) -> list[Entry]:
    """Of every call in a function whose frame is understood."""
    found = labels(program.statements)
    flows = {function.name: Flow(function, found) for function in functions}
    changing = surely_storing(flows)
    told: list[Entry] = []
    for function in functions:
        analysis = _Analysis(function, found)
        if analysis.understood:
            around = rounds(flows[function.name], changing)
            if analysis.escaped and not analysis.whole:
                asked = (any(around) or bool(analysis.volatile)) and function.name not in program.of_system
                analysis.confine(program.variables.of(function.name) if asked else None)
            told += analysis.entries(around)
    return told


class _Pointer(NamedTuple):
    """Into the frame, by offsets from rbp: to what it was made from, and where it leads."""

    object: int
    offset: int

    def moved(self, by: int) -> _Pointer:
        return self._replace(offset=self.offset + by)


class _Analysis:
    """Of one function. A set of places is a number: a bit for each register and for the flags, then one for each byte of
    the frame, from the lowest."""

    def __init__(self, function: Function, found: Labels) -> None:
        self.blocks = function.blocks
        self.flow = Flow(function, found)
        self.understood = False
        self.whole = False  # addresses in the frame are known elsewhere, and nobody knows of what
        self.escaped: set[int] = set()  # these are
        self.given_away = 0
        saved = self._prologue()
        if saved is None:
            return
        self.saved = saved
        self.top = -8 * len(saved)  # of what is the function's own
        self.low, self.high = self.top, _BEHIND
        self.understood = all(self._fits(item, called(item)) for block in self.blocks for item in block)
        self.low -= self.low % 8
        self.uses: dict[int, int] = {}  # of a call: what it reads in the frame
        self.hooked: list[Range] = []  # what hooks of the compiler's are told of
        self.told: list[Range] = []  # and what ours are told of
        self.volatile: dict[int, Range] = {}  # of a hook: what is volatile there, and loaded
        self.vectors = any(_uses_vectors(item.instruction) for block in self.blocks for item in block)
        if self.understood:
            for block in self.blocks:
                self._follow_addresses(block)

    def _prologue(self) -> tuple[str, ...] | None:
        """The registers that are saved; ``None`` where the frame is made in another way."""
        instructions = [item.instruction for item in self.blocks[0]]
        if len(instructions) < 2 or instructions[0].name != "push" or instructions[0].operands != (("r", RBP),):
            return None
        if not sets_frame(instructions[1]):
            return None
        saved: list[str] = []
        for instruction in instructions[2:]:
            if instruction.name != "push" or instruction.operands[0] not in [("r", number) for number in _KEPT]:
                break
            saved.append(REGISTERS[instruction.operands[0][1]])
        return tuple(saved)

    def _fits(self, item: Item, name: str) -> bool:
        """Notes how far the frame reaches; whether the instruction leaves it what it is."""
        instruction = item.instruction
        if item.takes_frame_pointer:
            return False
        if instruction.oddity or moves_stack(instruction) or _TWICE.match(name):
            return False
        if item.statement.app and instruction.name.startswith("push"):
            self.whole = True  # what a compiler pushes is for whom it calls
        operands = instruction.operands
        if instruction.name == "mov" and operands[1:] == (("r", RSP),) and operands[0] != ("r", RBP):
            return False
        for access in (*instruction.accesses, *([instruction.address] if instruction.address is not None else [])):
            if access.base == RBP:
                anywhere = access.scaled >= 0 or access.bit >= 0
                if access.displacement >= 0 and (anywhere or not access.size):
                    return False
                self.low = min(self.low, access.displacement)
                self.high = max(self.high, access.displacement + access.size)
                self.whole = self.whole or anywhere
            elif access.base == RSP and operands[0] != ("r", RSP):
                self.whole = True
            elif RBP in (access.base, access.scaled) or access.scaled == RSP:
                return False
        return True

    # -- addresses ----------------------------------------------------------------------------------------------------

    def _follow_addresses(self, block: Sequence[Item]) -> None:
        """Where addresses of the frame go, inside a block: into the next one, none may."""
        held: dict[int, _Pointer] = {}
        for item in block:
            instruction = item.instruction
            operands = instruction.operands
            if _hook_before(item):
                self.told += [
                    Range(access.displacement, access.displacement + access.size)
                    for access in instruction.accesses
                    if access.base == RBP and access.displacement < 0 and access.scaled < 0 and access.bit < 0
                ]
            if instruction.is_call:
                self._given(item, held)
                held = {register: pointer for register, pointer in held.items() if register in _KEPT}
                continue
            copied = (
                instruction.name == "mov" and instruction.width == 8 and [kind for kind, _ in operands] == ["r", "r"]
            )
            if copied and operands[1][1] in held:
                held[operands[0][1]] = held[operands[1][1]]
                continue
            moved = (
                instruction.name == "add" and instruction.width == 8 and [kind for kind, _ in operands] == ["r", "i"]
            )
            if moved and operands[0][1] in held:  # to a member
                held[operands[0][1]] = held[operands[0][1]].moved(operands[1][1])
                continue
            self.escaped |= {held[register].object for register in instruction.reads if register in held}
            for register in instruction.writes:
                held.pop(register, None)
            if instruction.name == "lea" and instruction.address is not None and instruction.address.base == RBP:
                begin = instruction.address.displacement
                held[operands[0][1]] = _Pointer(begin, begin)
                self.whole = self.whole or operands[0][0] != "r"
        self.escaped |= {pointer.object for pointer in held.values()}

    def _given(self, item: Item, held: dict[int, _Pointer]) -> None:
        name = called(item)
        given = {register: pointer for register, pointer in held.items() if register in _ARGUMENTS}
        if not given:
            return
        if (hook := HOOK.match(name)) is not None:
            size, begin = hook.group(2) or "8", given[RDI].offset if RDI in given else 0
            self.hooked.append(Range(begin, begin + (int(size) if size.isdigit() else self.high - self.low)))
            if RDI in given and _VOLATILE_READ.match(name) is not None:
                self.volatile[id(item)] = self.hooked[-1]
            self.escaped |= {pointer.object for register, pointer in given.items() if register != RDI}
            return
        if name in _FORGETS_FIRST:
            given.pop(RDI, None)
        atomic = _ATOMIC.match(name)
        if atomic is None or not set(given) <= {RDI, _RSI} or (_RSI in given and "compare_exchange" not in name):
            self.escaped |= {pointer.object for pointer in given.values()}
            return
        self.uses[id(item)] = 0
        for pointer in given.values():
            self.uses[id(item)] |= self._bytes(pointer.offset, int(atomic.group(1)) // 8)

    def confine(self, variables: Sequence[Range] | None) -> None:
        """What can be read by the addresses that are known elsewhere; all of the frame where variables are not known."""
        reached = None
        if variables is not None:
            accesses = [
                access
                for block in self.blocks
                for item in block
                for access in item.instruction.accesses
                if access.base == RBP
            ]
            reached = confinement.reached(self.escaped, variables, accesses, self.hooked, self.top)
        if reached is None:
            self.whole = True
            return
        lowest = min(self.low, *(begin for begin, _ in reached))
        lowest -= lowest % 8
        more, self.low = self.low - lowest, lowest
        self.uses = {call: places << more for call, places in self.uses.items()}
        for begin, end in reached:
            self.given_away |= self._bytes(begin, end - begin)

    # -- places -------------------------------------------------------------------------------------------------------

    def _bytes(self, offset: int, size: int) -> int:
        """Those of the frame that are the function's own, or its arguments."""
        places = 0
        for begin, end in ((self.low, self.top), (_BEHIND, self.high)):
            first, last = max(offset, begin), min(offset + size, end)
            if first < last:
                places |= ((1 << (last - first)) - 1) << (_PLACES + first - self.low)
        return places

    def entries(self, around: Sequence[bool]) -> list[Entry]:
        told: list[Entry] = []
        hooks = any(_hook_before(item) for block in self.blocks for item in block)
        read = {id(item): live for of_block in self._found(0) for item, hook, live in of_block if hook} if hooks else {}
        left, may_be = (self._left_by_calls(surely) if hooks else {} for surely in (True, False))
        for number, of_block in enumerate(self._found(_GIVEN)):
            for item, hook, live in reversed(of_block):
                remains = False
                if hook:  # also what a call may give back counts where it is read by an instruction
                    live &= ~left[id(item)] | read[id(item)] & _RETURNED
                    remains = bool(live & may_be[id(item)])
                told.append(self._entry(item, hook, live, around[number], remains))
        return told

    def _found(self, given: int) -> list[list[tuple[Item, str, int]]]:
        """Of each block, from its end: calls, and what stands behind hooks with the label of that. And what is live there,
        if calls read what is ``given`` in registers."""
        blocks = self.blocks
        # What is live where a block begins, and at whatever an exception or a table leads to.
        begins, stray = [0] * len(blocks), 0
        more = True
        while more:
            more = False
            for number in reversed(range(len(blocks))):
                live = self._through(blocks[number], self._behind(number, begins, stray), stray, given, None)
                if live != begins[number]:
                    begins[number], more = live, True
                    if self.flow.anywhere[number] and number and stray | live != stray:
                        stray |= live
        found: list[list[tuple[Item, str, int]]] = [[] for _ in blocks]
        for number, block in enumerate(blocks):
            self._through(block, self._behind(number, begins, stray), stray, given, found[number])
        return found

    def _left_by_calls(self, surely: bool) -> dict[int, int]:
        """Of each instruction behind a hook that keeps all registers: those in which there is what a call left, also one
        before the function began, by whichever way it is come to; or by some way."""
        flow, blocks = self.flow, self.blocks
        named = [number for number, anywhere in enumerate(flow.anywhere) if anywhere]
        begins = [_LOST if anywhere != surely else 0 for anywhere in flow.anywhere]
        left: dict[int, int] = {}
        waiting = list(range(len(blocks)))
        while waiting:
            number = waiting.pop()
            remains = begins[number]
            for item in blocks[number]:
                if _hook_before(item):
                    left[id(item)] = remains
                if item.instruction.is_call:  # in assembly written by hand, it may give back something in any
                    remains = 0 if surely and item.statement.app else _LOST
                else:
                    for register in item.instruction.writes:
                        remains &= ~(1 << register)
            for following in (*flow.successors(number), *(named if flow.strays(number) else ())):
                met = begins[following] & remains if surely else begins[following] | remains
                if met != begins[following]:
                    begins[following] = met
                    waiting.append(following)
        return left

    def _behind(self, number: int, begins: Sequence[int], stray: int) -> int:
        live = stray if self.flow.strays(number) else 0
        if not any(True for _ in self.flow.successors(number)):
            live |= _RETURNED
        for following in self.flow.successors(number):
            live |= begins[following]
        return live

    def _through(
        self, block: Sequence[Item], live: int, stray: int, given: int, told: list[tuple[Item, str, int]] | None
    ) -> int:
        """From the end of a block to its begin."""
        for item in reversed(block):
            instruction = item.instruction
            if instruction.is_call:
                live |= stray
                if told is not None:
                    told.append((item, "", live & ~_LOST | live & 1))  # and what it returns
                live = live & ~_LOST | given | self.uses.get(id(item), 0)
            for register in instruction.writes:
                if _overwrites(instruction, register):
                    live &= ~(1 << register)
            for register in instruction.reads:
                live |= 1 << register
            for access in instruction.accesses:
                if access.base != RBP or access.segment:
                    continue
                places = self._bytes(access.displacement, access.size)
                if access.direction == "w" and access.scaled < 0 and not _in_part(instruction):
                    live &= ~places
                else:
                    live |= places
            if told is not None and (hook := _hook_before(item)):
                told.append((item, hook, live))
        return live

    def _entry(self, item: Item, hook: str, live: int, may_wait: bool, remains: bool) -> Entry:
        registers = frozenset(
            name for number, name in enumerate((*REGISTERS, "flags")) if live >> number & 1 and number not in (RSP, RBP)
        )
        if self.whole:
            for begin, end in (*self.hooked, *self.told):
                live &= ~self._bytes(begin, end - begin)
        slots = self._slots(live & ~self.given_away)
        given_away = self._slots(self.given_away)
        own = self._own(item)
        return Entry(
            item, hook, registers, slots, given_away, self.saved, self.whole, may_wait, self.vectors, remains, own
        )

    def _own(self, item: Item) -> bool:
        """clang announces what is volatile, whoever has its address."""
        loaded = self.volatile.get(id(item))
        if loaded is None or self.whole or loaded.begin < self.low or loaded.end > self.top:
            return False
        return not self._bytes(loaded.begin, loaded.end - loaded.begin) & self.given_away

    def _slots(self, places: int) -> tuple[tuple[int, int], ...]:
        slots: list[tuple[int, int]] = []
        rest, at = places >> _PLACES, self.low
        while rest:
            skipped = (rest & -rest).bit_length() - 1
            rest, at = rest >> skipped, at + skipped
            size = (~rest & (rest + 1)).bit_length() - 1
            slots.append((at, size))
            rest, at = rest >> size, at + size
        return tuple(slots)


def _hook_before(item: Item) -> str:
    for line in item.statement.before if item.whole else ():
        if (label := _HOOK.match(line)) is not None:
            return label.group(1)
    return ""


def _in_part(instruction: Instruction) -> bool:
    """Whether it may leave something of what it writes to as it was."""
    return instruction.repeated or instruction.name.startswith("fxsave")


def _overwrites(instruction: Instruction, register: int) -> bool:
    """All of it, in any case. What reads it as well need not be told."""
    if register == _FLAGS:
        return instruction.name in _COMPARES
    in_any_case = instruction.width >= 4 and _OVERWRITES.match(instruction.name) is not None
    return in_any_case and instruction.operands[:1] == (("r", register),)
