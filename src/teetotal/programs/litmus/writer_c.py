"""A Program as a C litmus test: any expression, mutexes, and every name.

Plain accesses become relaxed atomic ones, an sfence a release fence, an mfence a seq_cst fence. A branch over
instructions that nothing else jumps into becomes ``if`` or ``if … else``; any other becomes ``goto``, which herd
does not have but our reader does. A compare-and-swap is Linux's ``cmpxchg_relaxed``, which gives the old value as an
Rmw does (herd wants ``linux-kernel.def`` for it, as for ``spin_lock``).
"""

from __future__ import annotations

from teetotal.answers.events import Kind
from teetotal.programs.expressions import Addr, Const, Expr, Old, Op, Reg, leaves, wrap
from teetotal.programs.litmus.c import STATEMENTS, TYPES
from teetotal.programs.litmus.c_calls import CALLS
from teetotal.programs.litmus.writer import InexpressibleError, Writer, unique_names
from teetotal.programs.program import Assign, Branch, Fence, Instruction, Load, Lock, Program, Rmw, Store, Unlock

_FETCH = {"+": "add", "-": "sub", "&": "and", "|": "or", "^": "xor"}
_SIGNS = {"and": "&&", "or": "||", "not": "!"}
_RELAXED = "memory_order_relaxed"
_DEEPEST_EXPRESSION = 20
_DEEPEST_BLOCK = 20


class CWriter(Writer):
    architecture = "C"

    def __init__(self, program: Program) -> None:
        super().__init__(program, [*STATEMENTS, *TYPES, *CALLS, "NULL"])
        reserved = self.reserved | set(self.locations.values())
        self.registers = [unique_names(thread.registers, reserved) for thread in program.threads]
        self.wide = any(abs(number) >= 1 << 31 for number in _numbers(program))
        addresses = [i for thread in program.threads for i in thread.code if not isinstance(i, Lock | Unlock)]
        shared = {leaf.name for i in addresses for e in _expressions(i) for leaf in leaves(e) if isinstance(leaf, Addr)}
        locks = {
            i.address.name
            for thread in program.threads
            for i in thread.code
            if isinstance(i, Lock | Unlock) and isinstance(i.address, Addr)
        }
        self.mutexes = locks - shared

    @property
    def type_of_values(self) -> str:
        return "int64_t" if self.wide else "int"

    def type_of_location(self, name: str) -> str:
        if name in self.mutexes:
            return "spinlock_t"
        return "_Atomic int64_t" if self.wide else "atomic_int"

    def code(self) -> str:
        return "\n".join(_Function(self, number).text() for number in range(len(self.program.threads)))


def _expressions(instruction: Instruction) -> list[Expr]:
    found = [getattr(instruction, field, None) for field in ("address", "value", "when", "condition")]
    return [expression for expression in found if expression is not None]


def _numbers(program: Program) -> list[int]:
    numbers = [*program.memory.values()]
    for thread in program.threads:
        numbers += thread.registers.values()
        for instruction in thread.code:
            for expression in _expressions(instruction):
                numbers += [leaf.value for leaf in leaves(expression) if isinstance(leaf, Const)]
    return numbers


class _Function:
    """One thread. Written twice: which labels are wanted is known only after the first time."""

    def __init__(self, writer: CWriter, number: int) -> None:
        self.writer = writer
        self.number = number
        self.thread = writer.program.threads[number]
        self.names = writer.registers[number]
        self.jumps = [(i, b.target) for i, b in enumerate(self.thread.code) if isinstance(b, Branch)]
        self.wanted: set[int] = set()
        self.lines: list[str] = []
        self.indent = 1
        self.spare: list[str] = []
        self.spare_in_use = 0
        self.taken = {*writer.reserved, *writer.locations.values(), *self.names.values()}

    def text(self) -> str:
        for _ in range(2):
            self.lines = []
            self.block(0, len(self.thread.code))
            self.label(len(self.thread.code))
        used = dict.fromkeys(
            leaf.name for i in self.thread.code for e in _expressions(i) for leaf in leaves(e) if isinstance(leaf, Addr)
        )
        parameters = ", ".join(f"{self.writer.type_of_location(name)}* {self.writer.locations[name]}" for name in used)
        kind = self.writer.type_of_values
        declared = [f"  {kind} {self.names[name]} = {value};" for name, value in self.thread.registers.items()]
        declared += [f"  {kind} {name};" for name in self.spare]
        return "\n".join([f"P{self.number} ({parameters}) {{", *declared, *self.lines, "}"])

    def say(self, line: str) -> None:
        self.lines.append("  " * self.indent + line)

    # -- control --------------------------------------------------------------------------------------------------

    def label(self, position: int) -> None:
        if position in self.wanted:
            self.lines.append(f"L{position}: ;")

    def block(self, start: int, end: int) -> None:
        code, position = self.thread.code, start
        while position < end:
            self.label(position)
            self.spare_in_use = 0
            instruction = code[position]
            if isinstance(instruction, Branch):
                position = self.branch(position, instruction, end)
            else:
                self.simple(instruction)
                position += 1

    def branch(self, position: int, branch: Branch, end: int) -> int:
        """Write a branch, with all that it encloses, and say where to go on."""
        target = branch.target
        if position < target <= end and self.indent < _DEEPEST_BLOCK:
            last = self.thread.code[target - 1]
            if (
                isinstance(last, Branch)
                and last.when == Const(1)
                and target < last.target <= end
                and target - 1 > position
            ):
                otherwise = last.target
                if self.closed(position + 1, target - 1, []) and self.closed(target, otherwise, [position]):
                    self.say(f"if (!{self.value(branch.when)}) {{")
                    self.nested(position + 1, target - 1)
                    self.label(target - 1)  # of the jump to the end, which the braces say already
                    self.say("} else {")
                    self.nested(target, otherwise)
                    self.say("}")
                    return otherwise
            if self.closed(position + 1, target, []):
                if target > position + 1:
                    self.say(f"if (!{self.value(branch.when)}) {{")
                    self.nested(position + 1, target)
                    self.say("}")
                return target
        self.wanted.add(target)
        if branch.when == Const(1):
            self.say(f"goto L{target};")
        else:
            self.say(f"if ({self.value(branch.when)}) goto L{target};")
        return position + 1

    def nested(self, start: int, end: int) -> None:
        self.indent += 1
        self.block(start, end)
        self.indent -= 1

    def closed(self, start: int, end: int, entries: list[int]) -> bool:
        """Nothing jumps from here to elsewhere, nor from elsewhere to here but at the entries, to the start."""
        for source, target in self.jumps:
            if start <= source < end:
                if not start <= target <= end:
                    return False
            elif start <= target < end and not (source in entries and target == start):
                return False
        return True

    # -- instructions ---------------------------------------------------------------------------------------------

    def simple(self, instruction: Instruction) -> None:
        match instruction:
            case Load(register=register, address=address):
                self.say(f"{self.names[register]} = atomic_load_explicit({self.value(address)}, {_RELAXED});")
            case Store(address=address, value=value):
                self.say(f"atomic_store_explicit({self.value(address)}, {self.value(value)}, {_RELAXED});")
            case Fence(kind=kind):
                order = "seq_cst" if kind is Kind.MFENCE else "release"
                self.say(f"atomic_thread_fence(memory_order_{order});")
            case Assign(register=register, value=value):
                self.say(f"{self.names[register]} = {self.value(value)};")
            case Lock(address=address):
                self.say(f"spin_lock({self.value(address)});")
            case Unlock(address=address):
                self.say(f"spin_unlock({self.value(address)});")
            case Rmw(register=register):
                into = "" if register is None else f"{self.names[register]} = "
                self.say(f"{into}{self.rmw(instruction)};")
            case _:
                kind_of = type(instruction).__name__.lower()
                raise InexpressibleError(f"a litmus test has no {kind_of}", instruction.location)

    def rmw(self, instruction: Rmw) -> str:
        address, value, when = self.value(instruction.address), instruction.value, instruction.when
        if when is None or (isinstance(when, Const) and when.value):
            match value:
                case Old():
                    return f"atomic_fetch_add_explicit({address}, 0, {_RELAXED})"
                case Op(name, (Old(), operand)) if name in _FETCH and not _has_old(operand):
                    return f"atomic_fetch_{_FETCH[name]}_explicit({address}, {self.value(operand)}, {_RELAXED})"
                case Op(name, (operand, Old())) if name in _FETCH and name != "-" and not _has_old(operand):
                    return f"atomic_fetch_{_FETCH[name]}_explicit({address}, {self.value(operand)}, {_RELAXED})"
                case Op("~", (Old(),)):
                    return f"atomic_fetch_xor_explicit({address}, (-1), {_RELAXED})"
                case _ if not _has_old(value):
                    return f"atomic_exchange_explicit({address}, {self.value(value)}, {_RELAXED})"
            raise InexpressibleError("C has no such atomic operation", instruction.location)
        match when:
            case Op("==", (Old(), expected)) | Op("==", (expected, Old())) if not _has_old(expected):
                new = _replace_old(value, expected)
                return f"cmpxchg_relaxed({address}, {self.value(expected)}, {self.value(new)})"
        raise InexpressibleError("C compares the old value for equality only", instruction.location)

    # -- expressions ----------------------------------------------------------------------------------------------

    def value(self, expression: Expr) -> str:
        return self._value(expression)[0]

    def held(self, text: str) -> str:
        """The value in a variable of its own, assigned just before this statement."""
        if self.spare_in_use == len(self.spare):
            number = len(self.spare)
            while (name := f"part{number}") in self.taken:
                number += 1
            self.taken.add(name)
            self.spare.append(name)
        name = self.spare[self.spare_in_use]
        self.spare_in_use += 1
        self.say(f"{name} = {text};")
        return name

    def _value(self, expression: Expr) -> tuple[str, int]:
        """The text and how deep its parentheses go."""
        match expression:
            case Const(number):
                number = wrap(number)
                return (str(number), 0) if number >= 0 else (f"({number})", 1)
            case Reg(name):
                return self.names[name], 0
            case Addr(name):
                return self.writer.locations[name], 0
            case Op(name, operands):
                parts = [self._value(operand) for operand in operands]
                texts, depth = [text for text, _ in parts], 1 + max(depth for _, depth in parts)
                if depth > _DEEPEST_EXPRESSION:
                    texts, depth = [self.held(text) for text in texts], 1
                return self.operation(name, texts, operands), depth + 3 * (name in ("//", "%"))
        raise InexpressibleError("an expression that C does not have")

    def operation(self, name: str, texts: list[str], operands: tuple[Expr, ...]) -> str:
        if len(texts) == 1:
            return f"({_SIGNS.get(name, name)}{texts[0]})"
        left, right = texts
        if name in ("<<", ">>") and not (isinstance(operands[1], Const) and 0 <= operands[1].value < 64):
            right = f"({right} & 63)"
        if name in ("//", "%"):
            return self.floored(name, left if isinstance(operands[0], Const | Reg) else self.held(left), operands[1])
        return f"({left} {_SIGNS.get(name, name)} {right})"

    def floored(self, name: str, left: str, divisor: Expr) -> str:
        """Here division rounds down, in C towards zero."""
        if not isinstance(divisor, Const) or divisor.value in (0, -(1 << 63)):
            raise InexpressibleError("division is by a constant other than 0")
        right = self.value(divisor)
        uneven = f"(({left} % {right}) {'<' if divisor.value > 0 else '>'} 0)"
        if name == "//":
            return f"(({left} / {right}) - {uneven})"
        return f"(({left} % {right}) + ({right} * {uneven}))"


def _has_old(expression: Expr) -> bool:
    return any(isinstance(leaf, Old) for leaf in leaves(expression))


def _replace_old(expression: Expr, expected: Expr) -> Expr:
    """A compare-and-swap that writes knows what the old value was."""
    match expression:
        case Old():
            return expected
        case Op(name, operands):
            return Op(name, tuple(_replace_old(operand, expected) for operand in operands))
    return expression
