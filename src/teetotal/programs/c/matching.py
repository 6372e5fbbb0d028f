"""Which accesses of a function its compiler has announced, and which are nobody else's business.

The compiler calls a hook with an address and makes the access soon after, often with the address worked out anew. Whether
both are the same is decided inside a block of straight code, by what registers and slots of the frame hold (``values``).

A hook is a place where threads switch: the access must follow before the next one. So a hook stays as it is only if
nothing that switches lies between it and the last access that it announced, and if it is one access, as it says. Otherwise
it is dropped, and its accesses get hooks of ours, each right before the instruction. That is also what happens where no
equality can be shown: a failed proof costs time, never an event.

Frames: an access to the own frame needs no hook if no address in that frame is ever taken. Where some are, gcc, where it
instruments the function (it calls hooks), knows which variables escape: its plain accesses to slots that were neither
announced nor begin where an address was taken are its own, unless they may be parts of a struct that is passed or returned.
clang knows that of addresses, not of variables, so only where it says that it puts a register by is a slot its own. All
others get hooks, and the runtime drops what is private.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.programs.c.assembly import Item
from teetotal.programs.c.machine import RDI, Access
from teetotal.programs.c.values import Facts, Form, Values

HOOK = re.compile(
    r"__tsan_(?:unaligned_)?(?:volatile_)?(?:(read|write)(1|2|4|8|16|_range)|vptr_(update|read))$|teetotal_copy_(to|from)$"
)
OURS, SETTLES = "teetotal_access", "teetotal_settle"
_AFTER_OURS = 3
"""A hook of ours is for the instruction so many behind its call."""
_NO_STRUCT = re.compile(
    r"__tsan_|(malloc|calloc|realloc|aligned_alloc|_Zn[wa]\w+|pthread_\w+|__errno_location|__cxa_\w+)$"
)
"""What returns no struct. The list is for speed."""
_ATOMIC_LOAD = re.compile(r"__tsan_atomic(\d+)_load$")
FENCES = ("mfence", "sfence")
_CLOBBERED = (0, 1, 2, 6, 7, 8, 9, 10, 11, 16)
_RCX, _RDX, _RSI = 1, 2, 6
_CANARY = 0x28
_RANGE = "_range"
_REGISTER = 8
_SIZES = (2, 4, 8)


class Announcement:
    __slots__ = ("address", "dropped", "first", "item", "matched", "pair", "size", "widest", "word", "write")

    def __init__(self, item: Item, first: int, write: bool, address: Form, size: int, word: str) -> None:
        self.item, self.first, self.write, self.address, self.size, self.word = item, first, write, address, size, word
        self.matched: list[int] = []
        self.widest = 0
        """The most bytes that one of the accesses has."""
        self.dropped = False
        self.pair: Announcement | None = None
        """The other side of an assignment that was announced as a whole."""

    def covers(self, address: Form, size: int, write: bool, wide: bool) -> bool:
        offset = address[0] - self.address[0]
        if write != self.write or address[1] != self.address[1] or offset < 0:
            return False
        # An integer that is loaded with more bytes than it has: the others go nowhere.
        return offset + size <= self.size or (wide and offset == 0 and self.size < size == 4)

    @property
    def torn(self) -> bool:
        """Announced as one access, and made by several, between which others run: ``__int128``, of which perhaps a half is
        looked at, ``_Complex``. The ten bytes of a ``long double`` are two accesses of the processor's. A range is taken to
        be made of quadwords."""
        several = len(self.matched) > 1
        if self.word == _RANGE or self.pair is not None:
            return several and self.widest < min(self.size, 8)
        return (several or self.widest >= 8) and self.widest < self.size

    @property
    def single(self) -> bool:
        """Announced as a range, and made by one instruction: what gcc knows to be packed."""
        return self.word == _RANGE and self.pair is None and len(self.matched) == 1 and self.widest == self.size


class Decision(NamedTuple):
    hooks: list[Item]
    """Before these instructions a hook of ours."""
    dropped: list[Item]
    """These calls of the compiler's hooks go."""
    copies: list[tuple[Item, Item, str]]
    """Hooks that announce both sides of one assignment, and its size."""
    singles: list[tuple[Item, str]]
    """Hooks of ranges that are one access, and what is its hook."""


class Evaluation(Facts):
    """Of one function."""

    def decide(self) -> Decision:
        whole = Decision([], [], [], [])
        known = -1
        while known != len(self.announced):  # what one block announces is everybody's in the others
            known = len(self.announced)
            whole = Decision([], [], [], [])
            for number, block in enumerate(self.function.blocks):
                if number == 0 or any(
                    item.instruction.accesses or item.instruction.is_call or item.instruction.name in FENCES
                    for item in block
                ):
                    before = self.function.blocks[number - 1][-1] if number else None
                    found = _Block(self, block, before).decide()
                    whole.hooks.extend(found.hooks)
                    whole.dropped.extend(found.dropped)
                    whole.copies.extend(found.copies)
                    whole.singles.extend(found.singles)
        return whole


class _Block(Values):
    def __init__(self, function: Facts, block: list[Item], before: Item | None) -> None:
        super().__init__(function, block, begins=before is None)
        self.block = block
        self.announcements: list[Announcement] = []
        self.switches: set[int] = set()
        self.owner: dict[int, list[Announcement]] = {}
        self.ours: set[int] = set()
        self.echoes: set[tuple[Form, int]] = set()  # clang leaves the load that a hook has done in place, and unused
        self.results: set[Form] = set()  # of calls
        self.returned = False
        if before is not None and before.instruction.is_call:  # a label for exceptions lies between
            self._returns(before.calls)
        self.hooked = -1  # what has a hook of ours
        self.stored = -1  # the last instruction that writes

    # -- decisions ------------------------------------------------------------------------------------------------------

    def decide(self) -> Decision:
        for number, item in enumerate(self.block):
            self._look(number, item)
        changed = True
        while changed:
            changed = False
            for one in self.announcements:
                if not one.dropped and self._must_go(one):
                    changed = True
                    for gone in (one, one.pair):
                        if gone is not None:
                            gone.dropped = True
                            self.ours.update(gone.matched)
        kept = [one for one in self.announcements if not one.dropped]
        return Decision(
            [self.block[number] for number in sorted(self.ours)],
            [one.item for one in self.announcements if one.dropped],
            [(one.item, one.pair.item, one.word) for one in kept if one.write and one.pair is not None],
            [
                (one.item, f"__tsan_unaligned_{'write' if one.write else 'read'}{one.size}")
                for one in kept
                if one.single and one.size in _SIZES
            ],
        )

    def _must_go(self, one: Announcement) -> bool:
        if not one.matched:
            return any(number > one.first and self._is(number, one.write) for number in self.ours)
        last = max(one.matched)
        for number in range(one.first + 1, last):
            if number in self.switches or number in self.ours:
                return True
        if last in self.ours or one.torn:
            return True
        return any(
            one.first < other.first < last and other is not one.pair and not other.dropped
            for other in self.announcements
        )

    def _is(self, number: int, write: bool) -> bool:
        return any(("w" if write else "r") in access.direction for access in self.block[number].instruction.accesses)

    # -- one instruction ------------------------------------------------------------------------------------------------

    def _look(self, number: int, item: Item) -> None:
        instruction = item.instruction
        addresses = [self.address_of(access, item) for access in instruction.accesses]
        if item.calls in (OURS, SETTLES):  # which keep all registers
            self.switches.add(number)
            if item.calls == OURS:
                self.hooked = number + _AFTER_OURS
            return
        if number == self.hooked:
            self.evaluate(item, addresses)
            return
        if instruction.is_call:
            for access, address in zip(instruction.accesses, addresses, strict=True):
                if address is not None and not self._exempt(access, address, item, access.size):
                    self.ours.add(number)
            return self._call(number, item)
        if instruction.name in FENCES:
            self.ours.add(number)
        elif addresses and any(address is not None for address in addresses):
            self._access(number, item, addresses)
        self.evaluate(item, addresses)

    def _access(self, number: int, item: Item, addresses: list[Form | None]) -> None:
        instruction = item.instruction
        found: list[Announcement] = []
        needed = instruction.locked
        for access, address in zip(instruction.accesses, addresses, strict=True):
            if address is None:
                continue
            size = access.size
            if instruction.repeated:
                count = self.registers[_RCX]
                size = size * count[0] if not count[1] else 1 << 40
            write = access.direction != "r"
            wide = not item.statement.app and not write
            covering = None
            announced = access.direction != "rw" and not access.segment  # gcc announces an address without its segment
            if announced and not instruction.locked and not item.statement.app:
                covering = next(
                    (one for one in reversed(self.announcements) if one.covers(address, size, write, wide)), None
                )
            if covering is not None:
                found.append(covering)
                covering.widest = max(covering.widest, size)
            elif write or item.statement.app or (address, size) not in self.echoes:
                needed = needed or not self._exempt(access, address, item, size)
        if not needed:
            for one in found:
                one.matched.append(number)
        else:
            self.ours.add(number)
            for one in found:  # it announces what now announces itself
                one.matched.append(number)
        if any(access.direction != "r" for access in instruction.accesses):
            self.stored = number

    def _exempt(self, access: Access, address: Form, item: Item, size: int) -> bool:
        """Constants, and what of the own frame nobody else can know."""
        if access.segment:
            return access.displacement == _CANARY and access.base < 0 and access.scaled < 0
        if access.direction == "r" and any(term in self.of.constants for term in address[1]):
            return True
        if item.statement.app and len(address[1]) > 1:
            return False  # what is added to the stack pointer may lead anywhere
        trusted = self.of.instrumented and not item.statement.app and size <= 8
        if self.frame[1][0] in address[1]:
            taken = self.of.taken
            shared = (
                trusted
                and not item.statement.spills
                and (
                    self.of.shared(address[0], size)
                    or self._in_a_struct(access, address[0], item)
                    or self.of.in_a_shared_variable(address[0])
                )
            )
        elif self.stack[1][0] in address[1]:
            taken, shared = self.of.stack_taken, False
        else:
            return False
        return not taken or (not shared if trusted else address[0] + size <= min(taken))

    def _in_a_struct(self, access: Access, offset: int, item: Item) -> bool:
        """gcc passes structs and takes returned ones without a hook, also from and to variables whose address is taken.
        That looks like a scalar, but for this: what is loaded was stored nowhere, or lies beside what others know, as far
        away as a struct in two registers reaches, which may have come in them; and what is stored was returned."""
        if access.scaled >= 0 or all(taken > offset + _REGISTER for taken in self.of.taken):
            return False
        if access.direction == "r":
            return offset not in self.of.stored or self.of.shared(offset - _REGISTER, 3 * _REGISTER)
        operands = item.instruction.operands
        if len(operands) != 2:
            return False
        kind, register = operands[1]
        return self.returned if kind == "x" else kind == "r" and self.registers[register] in self.results

    def _call(self, number: int, item: Item) -> None:
        name = item.calls
        hook = HOOK.match(name)
        if hook is not None:
            self._announced(number, item, hook)
        elif name != "__tls_get_addr":
            self.switches.add(number)
        if (atomic := _ATOMIC_LOAD.match(name)) is not None:
            self.echoes.add((self.registers[RDI], int(atomic.group(1)) // 8))
        thread_local = self.registers[RDI]
        for register in _CLOBBERED:
            self.registers[register] = self.of.atom(("after", id(item), register))
        self._returns(name)
        if name == "__tls_get_addr":
            self.registers[0] = self.of.atom(("thread-local", thread_local))
        self.forget_shared()

    def _returns(self, function: str) -> None:
        if not _NO_STRUCT.match(function):
            self.results.update((self.registers[0], self.registers[_RDX]))
            self.returned = True

    def _announced(self, number: int, item: Item, hook: re.Match[str]) -> None:
        address, length = self.registers[RDI], self.registers[_RSI]
        write = hook.group(1) == "write" or hook.group(3) == "update" or hook.group(4) == "to"
        word = hook.group(2) or ("8" if hook.group(3) else _RANGE)
        size = int(word) if word != _RANGE else length[0] if not length[1] else 1 << 40
        one = Announcement(item, number, write, address, size, word)
        if address[1] == self.frame[1] and size < 1 << 20:
            self.of.announced.update(range(address[0], address[0] + size))
        last = self.announcements[-1] if self.announcements else None
        if (
            last is not None
            and not write
            and last.write
            and last.pair is None
            and (last.word, last.size) == (word, size)
            and self.stored < last.first
            and not any(last.first < at for at in self.switches)
            and not last.matched
        ):
            last.pair, one.pair = one, last
        self.announcements.append(one)
