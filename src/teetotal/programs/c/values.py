"""What registers and the slots of a frame hold in a block of straight code, so that two addresses can be shown to be equal.

Values are linear forms over atoms: what a function was given, what a slot held, the address of a symbol, the result of an
instruction on such things. Equal forms are equal values; of different forms nothing is known.
"""

from __future__ import annotations

from teetotal.programs.c.assembly import Function, Item
from teetotal.programs.c.machine import RBP, RDI, RSP, Access, sets_frame
from teetotal.programs.c.objects import Symbol

Form = tuple[int, tuple[tuple[int, int], ...]]
"""A constant, and atoms with their factors."""

_GOT = (9, 41, 42)
"""R_X86_64_GOTPCREL, GOTPCRELX and REX_GOTPCRELX: an entry of the linker's table of addresses."""
_GOT_THREAD = 22
"""R_X86_64_GOTTPOFF: the same for a thread-local variable."""
_MASK = (1 << 64) - 1
_EXTENSIONS = {"movsxd": "sign", "movsx": "sign", "cdqe": "sign", "movzx": "zero"}


class Facts:
    """Of one function: what its frame is used for, and which atoms its forms are made of."""

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

    def in_a_shared_variable(self, begin: int) -> bool:
        """Whether a slot may be a part of a variable whose address is taken. clang asks of a member, or an element, only
        where that address of its own goes: it announces none whose variable is known elsewhere by another part of it. Where
        variables begin and end the code does not say, but that arguments in memory lie apart from the others."""
        return not self.function.by_gcc and any((taken < 0) == (begin < 0) for taken in self.taken)


class Values:
    """In a block of a function, as its instructions are evaluated one after the other."""

    def __init__(self, function: Facts, block: list[Item], *, begins: bool) -> None:
        self.of = function
        self.frame = function.atom("frame")
        self.stack = function.atom("stack")
        self.registers = [function.atom(("register", id(block), number)) for number in range(17)]
        self.registers[RSP] = self.stack
        if function.framed and not begins:
            self.registers[RBP] = self.frame
        self.pushed: dict[Form, Form] = {}  # what lies at the top of the stack
        self.slots: dict[int, tuple[int, Form]] = {}

    def address_of(self, access: Access, item: Item) -> Form | None:
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

    def evaluate(self, item: Item, addresses: list[Form | None]) -> None:
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
            value = self.address_of(instruction.address, item) if instruction.address is not None else None
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
            self.forget_shared()

    def forget_shared(self) -> None:
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
