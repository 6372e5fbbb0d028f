"""Local variables that may be read before anybody has written them: filled when their function begins, and looked at.

What such a variable holds is what an earlier call has left there: no fact about the program. Compilers warn where it
could be so; here it is seen where it is. Fresh frames are filled as fresh memory of the heap is
(runtime/memory/unwritten.hpp), and a load that sees nothing but the fill, whichever of two it is, has read what
nobody has written.

Which loads could: a slot of the frame is written for sure where each way to the load has a store to all of it (forward,
over the blocks of the function; where a block can be come to from a table, nothing is sure). All other loads get a hook.
Memory whose address is taken is written by others too: there the compiler's own hooks look. A value that is only moved on
to memory has not been used, as when a struct is copied, and leaves unwritten what it is moved to. Nor has one that goes
back to where it came from with some bits changed, in programs with bit-fields.

Functions of the system's headers are left out: they move about what is not there (``std::optional``, ``std::variant``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from teetotal.programs.c.assembly import Function, Item, Text
from teetotal.programs.c.control_flow import Flow, Labels, labels
from teetotal.programs.c.instrument import att, hook_call
from teetotal.programs.c.machine import RBP, REGISTERS, RSP, Access, sets_frame

_LOOK, _FRESH, _HALF = 12, 13, 16
_COMPARES = ("cmp", "test")
_RAX, _RDX = REGISTERS.index("rax"), REGISTERS.index("rdx")
_FILLS = (0xA5, 0x5A)
"""As in runtime/memory/unwritten.cpp."""
_SUFFIXES = {1: "b", 2: "w", 4: "l"}
_FLAGS = 16
_LOOKED_AT = (1, 2, 4, 8, 10)
_RED_ZONE = 128
_SMALL = 256
"""Bytes of a frame that are filled on the spot."""
_CHANGES_BITS = ("and", "or")
_A_FEW = 12
"""Instructions from the load to the store of a bit-field."""


class UnwrittenLocals:
    """A pass over the assembly."""

    def __init__(self) -> None:
        self._numbers = count()

    def __call__(self, program: Text, functions: Sequence[Function]) -> None:
        found = labels(program.statements)
        for function in functions:
            frame = _frame(function)
            if frame is None or function.name in program.of_system:
                continue
            looks = _Definite(function, frame, found).loads()
            if looks or frame.taken:
                frame.first.statement.before[:0] = att([*self._fill(frame)], frame.first.statement)
            for look in looks:
                for part in look.parts:
                    look.item.statement.before += att([*self._look(look, part)], look.item.statement)
            for item in (item for block in function.blocks for item in block):
                self._fill_fresh(item)

    def _fill(self, frame: _Frame) -> Iterator[str]:
        """With registers and flags that nobody needs where a function begins, but rax, which waits in the frame."""
        yield "\tmovq teetotal_fill@GOTPCREL(%rip), %r11"
        yield "\tmovq (%r11), %r11"
        if frame.size <= _SMALL:
            for offset in range(frame.low, frame.low + frame.size, 8):
                yield f"\tmovq %r11, {offset}(%rbp)"
            return
        again = f".Lteetotal_fill_{next(self._numbers)}"
        yield f"\tmovq %rax, {frame.low}(%rbp)"
        yield f"\tmovq ${8 - frame.size}, %rax"
        yield f"{again}:"
        yield f"\tmovq %r11, {frame.low + frame.size}(%rbp,%rax)"
        yield "\taddq $8, %rax"
        yield f"\tjne {again}"
        yield f"\tmovq {frame.low}(%rbp), %rax"
        yield f"\tmovq %r11, {frame.low}(%rbp)"

    def _fill_fresh(self, item: Item) -> None:
        """What the stack grows by while the function runs: ``alloca``, and arrays of a size that is not known before."""
        name, operands, statement = item.instruction.name, item.instruction.operands, item.statement
        grows = name in ("sub", "mov") and len(operands) == 2 and operands[0] == ("r", RSP) and operands[1][0] == "r"
        if not grows or operands[1][1] == RBP or not item.whole or statement.app:
            return
        by = REGISTERS[operands[1][1]]
        if name == "mov":
            statement.before += att([f"\tmovq %rsp, -8(%{by})"], statement)
            kept = []
        else:
            kept = ["\tmovq %r11, -16(%rsp)", f"\tleaq (%rsp,%{by}), %r11", "\tmovq %r11, -8(%rsp)"]
            kept.append("\tmovq -16(%rsp), %r11")
        descriptor = [f"\t.byte {_FRESH}, 0, 0, 0, 0, 0, 0, 0", "\t.quad 0, 0"]
        call = hook_call(f".Lteetotal_fresh_{next(self._numbers)}", "teetotal_settle", descriptor)
        statement.after[:0] = att([*kept, *call], statement)

    def _look(self, look: _Look, part: tuple[int, int]) -> Iterator[str]:
        """A call where the first bytes are those of either fill."""
        item = look.item
        access = next(one for one in item.instruction.accesses if one.base == RBP)
        access = access._replace(displacement=access.displacement + part[0], size=part[1])
        index = f",%{REGISTERS[access.scaled]},{access.scale}" if access.scaled >= 0 else ""
        number, width = next(self._numbers), min(access.size, 4)
        fills = [int.from_bytes(bytes([byte] * width), "little", signed=True) for byte in _FILLS]
        first, second = (f"\tcmp{_SUFFIXES[width]} ${fill}, {access.displacement}(%rbp{index})" for fill in fills)
        found, passed = f".Lteetotal_fill_seen_{number}", f".Lteetotal_fill_not_seen_{number}"
        descriptor = [
            f"\t.byte {_LOOK}, {_HALF * look.half}, {access.base}, {access.scaled}, {access.scale}, -1, 0, 0",
            f"\t.long {access.size}, 0",
            f"\t.quad {access.displacement}",
        ]
        yield from ["\tleaq -128(%rsp), %rsp", "\tpushfq"] if look.flags else []
        yield from [first, f"\tje {found}", second, f"\tjne {passed}", f"{found}:"]
        yield from hook_call(f".Lteetotal_local_{number}", "teetotal_look", descriptor)
        yield f"{passed}:"
        yield from ["\tpopfq", "\tleaq 128(%rsp), %rsp"] if look.flags else []


class _Look(NamedTuple):
    item: Item
    half: bool
    """It could be half of a store to a bit-field."""
    flags: bool
    """They may still be needed."""
    parts: tuple[tuple[int, int], ...]
    """What is looked at, as offsets and sizes: all of it, or each half, where it is compared. Else a half may go unused, as
    in structs that are passed in registers."""


class _Frame(NamedTuple):
    """Offsets are counted from rbp."""

    first: Item
    """The first instruction behind those that make it."""
    low: int
    size: int
    taken: bool
    """An address in it is."""


def _frame(function: Function) -> _Frame | None:
    """Of a function that has one, made as compilers do."""
    entry = iter(function.blocks[0])
    if not any(sets_frame(item.instruction) for item in entry):
        return None
    pushed = lowered = 0
    first = None
    for item in entry:
        name, operands = item.instruction.name, item.instruction.operands
        if name == "push" and operands[0][0] == "r":
            pushed += 8
        elif name in ("sub", "and", "add") and operands[0] == ("r", RSP) and operands[1][0] == "i":
            lowered += abs(operands[1][1]) if name != "and" else 0
        else:
            first = item
            break
    low, taken = 0, False
    for block in function.blocks:
        for item in block:
            instruction = item.instruction
            if item.takes_frame_pointer:
                return None
            for access in instruction.accesses:
                low = min(low, access.displacement if access.base == RBP else 0)
            if instruction.address is not None and instruction.address.base == RBP:
                low, taken = min(low, instruction.address.displacement), True
    low -= low % 8
    if first is None or not first.whole or first.statement.app or -low > pushed + lowered + _RED_ZONE:
        return None
    return _Frame(first, low, -low - pushed, taken) if -low > pushed else None


class _Definite:
    """Which bytes of a frame are written for sure, a bit each."""

    def __init__(self, function: Function, frame: _Frame, found: Labels) -> None:
        self.function, self.frame = function, frame
        self.halves: set[int] = set()
        self.compared: set[int] = set()
        self.touched = {
            (access.displacement, access.size)
            for block in function.blocks
            for item in block
            for access in item.instruction.accesses
            if access.base == RBP
        }
        self.all = (1 << -frame.low) - 1
        self.saved = self.all & ~((1 << frame.size) - 1)  # registers of the caller's
        self.flow = Flow(function, found)

    def loads(self) -> list[_Look]:
        """Those that may see what is not written."""
        blocks = self.function.blocks
        states = [self.saved if anywhere else self.all for anywhere in self.flow.anywhere]
        waiting = list(range(len(blocks)))
        while waiting:
            number = waiting.pop()
            after = self._walk(blocks[number], states[number], [])
            for following in self.flow.successors(number):
                joined = states[following] & after
                if joined != states[following]:
                    states[following] = joined
                    waiting.append(following)
        self.halves.clear()
        looks: list[_Look] = []
        for block, state in zip(blocks, states, strict=True):
            found: list[Item] = []
            self._walk(block, state, found)
            wanted = {id(item) for item in found}
            for number, item in enumerate(block):
                if id(item) in wanted and item.whole and not item.statement.app:
                    size = next(one.size for one in item.instruction.accesses if one.base == RBP)
                    parts = ((0, 4), (4, 4)) if size == 8 and id(item) in self.compared else ((0, size),)
                    looks.append(_Look(item, id(item) in self.halves, _needs_flags(block[number:]), parts))
        return looks

    def _walk(self, block: Sequence[Item], state: int, found: list[Item]) -> int:
        """The state behind a block; ``found`` gets the loads."""
        moved: dict[int, Item] = {}  # what a register holds that may be unwritten, and was not used yet
        kept: set[int] = set()  # those of them that are in memory by now, and in nobody's way
        vectors = False  # the same of some vector register
        returned: set[int] = set()  # registers with what a call has returned
        for number, item in enumerate(block):
            instruction = item.instruction
            loads = instruction.name == "mov" and instruction.operands[0][0] == "r"
            stores = instruction.name == "mov" and instruction.operands[0][0] == "m"
            source = instruction.operands[1][1] if stores and instruction.operands[1][0] == "r" else -1
            carried = source in moved or (stores is False and vectors and "w" in _directions(item))
            if instruction.name in _COMPARES:
                self.compared.update(id(moved[register]) for register in instruction.reads if register in moved)
                self.compared.add(id(item))
            found += [moved.pop(register) for register in instruction.reads if register in moved and register != source]
            if source in moved:
                kept.add(source)
            carried = carried or (source in returned and self._is_struct(instruction.accesses[0]))
            returned.difference_update(instruction.writes)
            if instruction.is_call:
                found += [load for register, load in moved.items() if register not in kept]
                moved.clear()
                returned = {_RAX, _RDX}
            for register in instruction.writes:
                moved.pop(register, None)
                kept.discard(register)
            for access in instruction.accesses:
                if access.base != RBP or access.displacement >= 0 or access.bit >= 0:
                    continue
                mask = self._mask(access)
                if "r" in access.direction and (access.scaled >= 0 or state & mask != mask):
                    if access.size not in _LOOKED_AT:
                        vectors = True
                    elif _bit_field(item, access, block[number + 1 : number + 1 + _A_FEW]):
                        if not _masked(block[number + 1 : number + 2], instruction.operands[0]):
                            self.halves.add(id(item))
                            found.append(item)
                    elif loads:
                        moved[instruction.operands[0][1]] = item
                    else:
                        found.append(item)
                if "w" in access.direction and access.scaled < 0:
                    state = state & ~mask | self.saved if carried else state | mask
        found += [load for register, load in moved.items() if register not in kept]
        return state

    def _is_struct(self, access: Access) -> bool:
        """Whether what is stored as one word is known by its parts, too."""
        begin, end = access.displacement, access.displacement + access.size
        return access.base == RBP and any(
            at < end and begin < at + size and (at, size) != (begin, access.size) for at, size in self.touched
        )

    def _mask(self, access: Access) -> int:
        size = min(access.size, -access.displacement)
        return ((1 << size) - 1) << (access.displacement - self.frame.low)


def _needs_flags(block: Sequence[Item]) -> bool:
    """Whether anybody could look at what they are before the first of these instructions."""
    for item in block:
        if _FLAGS in item.instruction.reads:
            return True
        if _FLAGS in item.instruction.writes or item.instruction.is_call:
            return False
    return True


def _directions(item: Item) -> str:
    return "".join(access.direction for access in item.instruction.accesses)


def _masked(following: Sequence[Item], register: tuple[str, int]) -> bool:
    """As where a struct is put together from registers, too."""
    return any(
        one.instruction.name == "and"
        and one.instruction.operands[0] == register
        and one.instruction.operands[1][0] == "i"
        for one in following
    )


def _bit_field(item: Item, access: Access, following: Sequence[Item]) -> bool:
    """Whether a load is the first half of a store to some bits."""
    instruction = item.instruction
    if access.direction == "rw":
        return instruction.name in _CHANGES_BITS and instruction.operands[1][0] == "i"
    if instruction.name not in ("mov", "movzx") or instruction.operands[0][0] != "r":
        return False
    register, changed = instruction.operands[0], False
    for later in following:
        name, operands = later.instruction.name, later.instruction.operands
        if name in _CHANGES_BITS and register in operands:
            register, changed = operands[0], True
        elif name == "mov" and operands[1] == register:
            same = any(
                one.base == RBP and one.displacement == access.displacement for one in later.instruction.accesses
            )
            return changed and same
        elif later.instruction.ends_block or later.instruction.is_call or register[1] in later.instruction.reads:
            return False
    return False
