"""Which accesses of a function its compiler has announced, and which are nobody else's business.

The compiler calls a hook with an address and makes the access soon after, often with the address worked out anew. Whether
both are the same is decided inside a block of straight code by evaluating registers and slots of the frame as linear
forms over atoms: what a function was given, what a slot held, the address of a symbol, the result of an instruction on
such things. Two equal forms are equal addresses.

A hook is a place where threads switch: the access must follow before the next one. So a hook stays as it is only if
nothing that switches lies between it and the last access that it announced, and if it is one access, as it says. Otherwise
it is dropped, and its accesses get hooks of ours, each right before the instruction. That is also what happens where no
equality can be shown: a failed proof costs time, never an event.

Frames: an access to the own frame needs no hook if no address in that frame is ever taken. Where some are, a compiler that
instruments the function (it calls hooks) knows which variables escape: its plain accesses to slots that were neither
announced nor begin where an address was taken are its own, unless they may be parts of a struct that is passed or returned.
All others get hooks, and the runtime drops what is private.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.programs.c.assembly import Function, Item
from teetotal.programs.c.machine import RBP, RDI, RSP, Access, sets_frame
from teetotal.programs.c.objects import Symbol

Form = tuple[int, tuple[tuple[int, int], ...]]
"""A constant, and atoms with their factors."""

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
_GOT = (9, 41, 42)
_GOT_THREAD = 22
_MASK = (1 << 64) - 1
_CANARY = 0x28
_RANGE = "_range"
_SIZES = (2, 4, 8)
_EXTENSIONS = {"movsxd": "sign", "movsx": "sign", "cdqe": "sign", "movzx": "zero"}


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


class Evaluation:
    """Of one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.atoms: dict[object, int] = {}
        self.taken: set[int] = set()  # offsets in the frame, from rbp, whose address is taken
        self.stack_taken: set[int] = set()  # and from rsp
        self.announced: set[int] = set()  # bytes of the frame that hooks were told
        self.stored: set[int] = set()  # bytes of the frame that instructions write in so many words
        self.constants: set[tuple[int, int]] = set()  # addresses of what nobody can write
        self.instrumented = False
        self.framed = False
        other_use = copied = False
        pushed = 0  # registers of the caller's, at the top of the frame
        for number, block in enumerate(function.blocks):
            for item in block:
                instruction = item.instruction
                if instruction.address is not None:
                    if instruction.address.base == RBP:
                        self.taken.add(instruction.address.displacement)
                    elif instruction.address.base == RSP and instruction.operands[0] != ("r", RSP):
                        self.stack_taken.add(instruction.address.displacement)
                elif instruction.is_call and item.calls.startswith(("__tsan_", "teetotal_copy_")):
                    self.instrumented = True
                for access in instruction.accesses:
                    if access.base == RBP and access.scaled < 0 and access.direction != "r":
                        self.stored.update(range(access.displacement, access.displacement + access.size))
                if number == 0 and self.framed and instruction.name == "push" and instruction.operands[0][1] != RDI:
                    pushed += 8  # rdi is none of them
                    self.stored.update(range(-pushed, -pushed + 8))
                if sets_frame(instruction):
                    self.framed, other_use = self.framed or number == 0, other_use or number != 0
                elif item.takes_frame_pointer:
                    other_use = True
                elif instruction.name == "mov" and instruction.operands[1:] == (("r", RSP),):
                    copied = True
        self.framed = self.framed and not other_use  # otherwise rbp is a register like the others
        if copied and not self.framed:
            self.stack_taken.add(0)

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

    def atom(self, key: object) -> Form:
        return (0, ((self.atoms.setdefault(key, len(self.atoms)), 1),))

    def symbol(self, symbol: Symbol) -> Form:
        form = self.atom(("symbol", symbol.name or symbol.section))
        if symbol.section in self.function.constant:
            self.constants.add(form[1][0])
        return form

    def shared(self, begin: int, size: int) -> bool:
        """Whether a slot of the frame is known to be somebody else's, too."""
        return any(begin + at in self.announced or begin + at in self.taken for at in range(size))


class _Block:
    def __init__(self, function: Evaluation, block: list[Item], before: Item | None) -> None:
        self.of = function
        self.block = block
        self.frame = function.atom("frame")
        self.stack = function.atom("stack")
        self.registers = [function.atom(("register", id(block), number)) for number in range(17)]
        self.registers[RSP] = self.stack
        if function.framed and before is not None:
            self.registers[RBP] = self.frame
        self.pushed: dict[Form, Form] = {}  # what lies at the top of the stack
        self.slots: dict[int, tuple[int, Form]] = {}
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
        addresses = [self._address(access, item) for access in instruction.accesses]
        if item.calls in (OURS, SETTLES):  # which keep all registers
            self.switches.add(number)
            if item.calls == OURS:
                self.hooked = number + _AFTER_OURS
            return
        if number == self.hooked:
            self._evaluate(item, addresses)
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
        self._evaluate(item, addresses)

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
            shared = trusted and (self.of.shared(address[0], size) or self._in_a_struct(access, address[0], item))
        elif self.stack[1][0] in address[1]:
            taken, shared = self.of.stack_taken, False
        else:
            return False
        return not taken or (not shared if trusted else address[0] + size <= min(taken))

    def _in_a_struct(self, access: Access, offset: int, item: Item) -> bool:
        """gcc passes structs and takes returned ones without a hook, also from and to variables whose address is taken.
        That looks like a scalar, but for this: what is loaded was stored nowhere, and what is stored was returned."""
        if access.scaled >= 0 or all(taken > offset for taken in self.of.taken):
            return False
        if access.direction == "r":
            return offset not in self.of.stored
        operands = item.instruction.operands
        if len(operands) != 2:
            return False
        kind, register = operands[1]
        return self.returned if kind == "x" else kind == "r" and self.registers[register] in self.results

    # -- values -----------------------------------------------------------------------------------------------------------

    def _address(self, access: Access, item: Item) -> Form | None:
        """``None``: a constant, or a table that only the linker writes."""
        relocation = (
            next((one for one in item.relocations if one.place == access.field), None) if access.field else None
        )
        form: Form = (access.displacement, ())
        if relocation is not None:
            if relocation.kind in _GOT or relocation.kind == _GOT_THREAD:
                return None
            symbol = relocation.symbol
            if symbol.section in self.of.function.constant and access.direction == "r" and access.size:
                return None
            form = (relocation.addend, self.of.symbol(symbol)[1])
            if access.relative:
                form = (form[0] + len(item.code) - access.field, form[1])
        elif access.relative:
            return None  # in the code itself
        if access.base >= 0:
            form = _sum(form, self.registers[access.base])
        if access.scaled >= 0:
            form = _sum(form, _times(self.registers[access.scaled], access.scale))
        return form

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
        self._forget_shared()

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

    def _evaluate(self, item: Item, addresses: list[Form | None]) -> None:
        instruction = item.instruction
        name, operands, width = instruction.name, instruction.operands, instruction.width
        loaded: Form | None = None
        value: Form | None = None
        for access, address in zip(instruction.accesses, addresses, strict=True):
            if "r" in access.direction:
                loaded = self._load(access, address, item)
        kinds = "".join(kind for kind, _ in operands)
        if name in ("mov", "movabs") and kinds[:1] == "r" and width >= 4:
            if kinds[1] == "r":
                value = self.registers[operands[1][1]]
                if width == 4:
                    value = self.of.atom(("low", value))
            elif kinds[1] == "m":
                value = loaded
            elif kinds[1] == "i" and not item.relocations:
                value = (operands[1][1] & _MASK if width == 8 else operands[1][1] & 0xFFFFFFFF, ())
        elif name == "lea" and width == 8:
            value = self._address(instruction.address, item) if instruction.address is not None else None
        elif name in ("add", "sub") and kinds[:1] == "r" and width == 8 and not item.relocations and kinds[1] in "ri":
            right = self.registers[operands[1][1]] if kinds[1] == "r" else (operands[1][1], ())
            value = _sum(self.registers[operands[0][1]], right if name == "add" else _times(right, -1))
        elif name in _EXTENSIONS and kinds[:1] in ("r", "") and (width == 8 or name == "cdqe"):
            source = loaded if kinds == "rm" else self.registers[operands[1][1] if kinds else 0]
            value = self.of.atom((_EXTENSIONS[name], instruction.narrow, source))
        elif name in ("shl", "sal") and kinds == "ri" and width == 8:
            value = _times(self.registers[operands[0][1]], 1 << operands[1][1])
        elif name in ("push", "pop"):
            return self._push_or_pop(item, name)
        result = value
        if result is None or len(instruction.writes) != 1:
            inputs: list[object] = [self.registers[one] for one in instruction.reads]
            if width < 4 and kinds[:1] == "r":
                inputs.append(self.registers[operands[0][1]])
            what = (
                item.code,
                tuple((one.place, one.symbol, one.addend) for one in item.relocations),
                tuple(inputs),
                loaded,
            )
            vector = "x" in kinds or instruction.oddity
            for register in instruction.writes:
                key = ("fresh", id(item), register) if vector else (what, register)
                self.registers[register] = self.of.atom(key)
        if result is not None:
            register = operands[0][1] if operands else 0
            self.registers[register] = result
            if self.of.framed and register == RBP:  # the frame begins here
                self.registers[RBP] = self.registers[RSP] = self.frame
        for access, address in zip(instruction.accesses, addresses, strict=True):
            if access.direction != "r":
                self._store(item, access, address, kinds)

    def _push_or_pop(self, item: Item, name: str) -> None:
        kind, register = item.instruction.operands[0]
        stack = self.registers[RSP]
        if name == "pop":
            value = self.pushed.pop(stack, None) or self.of.atom(("popped", id(item)))
            self.registers[RSP] = _sum(stack, (8, ()))
            if kind == "r":
                self.registers[register] = value
        else:
            stack = self.registers[RSP] = _sum(stack, (-8, ()))
            self.pushed[stack] = self.registers[register] if kind == "r" else self.of.atom(("pushed", id(item)))
            if not self.of.framed:
                self._forget_slots_of(stack, 8)

    def _load(self, access: Access, address: Form | None, item: Item) -> Form:
        if address is None:  # the linker's table
            return self.of.symbol(item.relocations[0].symbol) if item.relocations else (0, ())
        if address[1] == self.frame[1] and not access.segment:
            known = self.slots.get(address[0])
            if known is not None and known[0] == access.size:
                return known[1]
            value = self.of.atom(("slot", id(item), address[0]))
            if access.size <= 8:
                self.slots[address[0]] = (access.size, value)
            return value
        return self.of.atom(("loaded", id(item)))

    def _store(self, item: Item, access: Access, address: Form | None, kinds: str) -> None:
        if address is None:
            return
        self._forget_slots_of(address, access.size)
        self.pushed.clear()
        if (
            address[1] == self.frame[1]
            and item.instruction.name == "mov"
            and kinds == "mr"
            and access.size >= 4
            and not access.segment
        ):
            value = self.registers[item.instruction.operands[1][1]]
            self.slots[address[0]] = (access.size, value if access.size == 8 else self.of.atom(("low", value)))

    def _forget_slots_of(self, address: Form, size: int) -> None:
        if address[1] == self.frame[1]:
            for offset in [
                one for one in self.slots if one < address[0] + size and address[0] < one + self.slots[one][0]
            ]:
                del self.slots[offset]
        elif self.frame[1][0] in address[1] or self.stack[1][0] in address[1]:
            self.slots.clear()
        else:
            self._forget_shared()

    def _forget_shared(self) -> None:
        if self.of.taken or self.of.announced:
            for offset in [one for one, (size, _) in self.slots.items() if self.of.shared(one, size)]:
                del self.slots[offset]


def _sum(left: Form, right: Form) -> Form:
    if not right[1]:
        return (left[0] + right[0], left[1])
    if not left[1]:
        return (left[0] + right[0], right[1])
    terms = dict(left[1])
    for atom, factor in right[1]:
        terms[atom] = terms.get(atom, 0) + factor
    return (left[0] + right[0], tuple(sorted((atom, factor) for atom, factor in terms.items() if factor)))


def _times(form: Form, factor: int) -> Form:
    return (form[0] * factor, tuple((atom, one * factor) for atom, one in form[1]))
