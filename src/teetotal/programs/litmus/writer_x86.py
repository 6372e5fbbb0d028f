"""A Program as an X86_64 litmus test: each instruction as one to four of the machine's.

==================================================  ==================================================================
instruction                                         how it is said
==================================================  ==================================================================
Load, Store                                         ``movq``, after the computation, if there is one
Rmw that swaps                                      ``xchgq``
Rmw that adds to the old value                      ``lock addq``, or ``lock xaddq`` where the old value is wanted
Rmw by ``-``, ``&``, ``|``, ``^``, ``~``            ``lock subq`` … where the old value is not wanted
Rmw when the old value equals something             ``lock cmpxchgq``
Assign by one operation of ``+ - & | ^ ~``          ``movq`` and ``addq`` …
Branch on comparisons, and, or, not                 ``cmpq`` and jumps
Assign of a comparison                              ``movq $1``, and ``movq $0`` unless a jump goes round it
==================================================  ==================================================================

Everything else is said in C.
"""

from __future__ import annotations

from teetotal.answers.events import Kind
from teetotal.programs.expressions import Addr, Const, Expr, Final, Old, Op, Reg, wrap
from teetotal.programs.litmus.writer import LOW_HALF, InexpressibleError, Writer
from teetotal.programs.litmus.x86_decode import REGISTERS
from teetotal.programs.program import Assign, Branch, Fence, Instruction, Load, Program, Rmw, Store

WHOLE = tuple(dict.fromkeys(name for name, _ in REGISTERS[64].values()))
_COMPUTED = {"+": "add", "-": "sub", "&": "and", "|": "or", "^": "xor"}
_JUMPS = {"==": "je", "!=": "jne", "<": "jl", "<=": "jle", ">": "jg", ">=": "jge"}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class X86Writer(Writer):
    """With ``rename``, registers that the machine does not have take the names of those that it has."""

    architecture = "X86_64"
    type_of_locations = "uint64_t"

    def __init__(self, program: Program, *, rename: bool) -> None:
        super().__init__(program, REGISTERS[64])
        observed = {what for what in program.observed if what.thread is not None}
        for number, thread in enumerate(program.threads):
            chosen = {name: name for name in thread.registers if name in WHOLE}
            free = [name for name in (*WHOLE[1:], "rax") if name not in chosen]
            for name in thread.registers:
                if name in chosen:
                    continue
                if not rename and Final(number, name) in observed:
                    raise InexpressibleError(f"{number}:{name} is not a register of the machine")
                if not free:
                    raise InexpressibleError(f"thread {number} has more registers than the machine")
                chosen[name] = free.pop(0)
            self.registers.append(chosen)

    def code(self) -> str:
        columns = [_Column(self, number).cells() for number in range(len(self.program.threads))]
        heads = [f"P{number}" for number in range(len(columns))]
        height = max((len(column) for column in columns), default=0)
        padded = [[head, *column, *[""] * (height - len(column))] for head, column in zip(heads, columns, strict=True)]
        widths = [max(map(len, column)) for column in padded]
        return "\n".join(
            " " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " ;"
            for row in zip(*padded, strict=True)
        )

    def initial(self) -> list[str]:
        lines = super().initial()
        for number, thread in enumerate(self.program.threads):
            pointers = {i.address.name for i in thread.code if isinstance(getattr(i, "address", None), Reg)}  # type: ignore[union-attr]
            for name, value in thread.registers.items():
                if value:
                    shown = self.address(value) if name in pointers else str(value)
                    lines.append(f"uint64_t {number}:{self.registers[number][name]}={shown};")
        return lines

    def address(self, value: int) -> str:
        names = list(self.program.memory)
        return self.locations[names[value - 1]] if 1 <= value <= len(names) else str(value)

    def side(self, expression: Expr, right: bool = False) -> str:
        match expression:
            case Op("&", (Final(thread, name), mask)) if thread is not None and mask == LOW_HALF and not right:
                whole = self.registers[thread][name]
                return f"{thread}:{whole}d" if whole[1].isdigit() else f"{thread}:e{whole[1:]}"
        return super().side(expression, right)


class _Column:
    def __init__(self, writer: X86Writer, number: int) -> None:
        self.writer = writer
        self.thread = writer.program.threads[number]
        self.names = writer.registers[number]
        self.scratch = [name for name in (*WHOLE[1:], "rax") if name not in self.names.values()]
        self.lines: list[str] = []
        self.labels = 0

    def cells(self) -> list[str]:
        code = self.thread.code
        targets = {instruction.target for instruction in code if isinstance(instruction, Branch)}
        cells: list[str] = []
        for position, instruction in enumerate(code):
            self.lines = []
            self.write(instruction)
            if position in targets:
                cells.append(f"L{position}:")
            cells += self.lines
        return [*cells, f"L{len(code)}:"] if len(code) in targets else cells

    def write(self, instruction: Instruction) -> None:
        match instruction:
            case Load(register=register, address=address):
                self.say("movq", self.memory(address), self.register(register))
            case Store(address=address, value=value):
                if isinstance(value, Op):
                    self.compute(self.spare(), None, value)
                    self.say("movq", self.spare(), self.memory(address))
                else:
                    self.say("movq", self.simple(value), self.memory(address))
            case Fence(kind=kind):
                self.lines.append("mfence" if kind is Kind.MFENCE else "sfence")
            case Assign(register=register, value=value):
                self.compute(self.register(register), Reg(register), value)
            case Branch(target=target, when=when):
                self.branch(f"L{target}", when)
            case Rmw():
                self.rmw(instruction)
            case _:
                raise InexpressibleError(f"x86 has no {type(instruction).__name__.lower()}", instruction.location)

    def say(self, operation: str, *operands: str) -> None:
        self.lines.append(f"{operation} {','.join(operands)}")

    # -- operands -------------------------------------------------------------------------------------------------

    def register(self, name: str) -> str:
        return f"%{self.names[name]}"

    def memory(self, address: Expr) -> str:
        match address:
            case Addr(name):
                return f"({self.writer.locations[name]})"
            case Reg(name):
                return f"(%{self.names[name]})"
        raise InexpressibleError("x86 follows a location or a register, not a computed address")

    def simple(self, value: Expr) -> str:
        match value:
            case Const(number):
                return f"${wrap(number)}"
            case Reg(name):
                return self.register(name)
            case Addr(name):
                return f"${self.writer.locations[name]}"
        raise InexpressibleError("x86 does one operation at a time")

    def spare(self) -> str:
        """A register that the thread does not use."""
        if not self.scratch or self.scratch == ["rax"]:
            raise InexpressibleError("no register is left")
        return f"%{self.scratch[0]}"

    # -- computing ------------------------------------------------------------------------------------------------

    def compute(self, target: str, before: Reg | None, value: Expr) -> None:
        """``target = value``, where ``before`` is what the target holds until then, if anybody knows."""
        match value:
            case Op("~", (operand,)):
                if operand != before:
                    self.say("movq", self.simple(operand), target)
                self.say("notq", target)
            case Op("-", (left, right)) if right == before != left:
                self.say("negq", target)
                self.say("addq", self.simple(left), target)
            case Op(name, (left, right)) if name in _COMPUTED:
                if right == before:
                    left, right = right, left
                second = self.simple(right)
                if left != before:
                    self.say("movq", self.simple(left), target)
                self.say(f"{_COMPUTED[name]}q", second, target)
            case Const() | Reg() | Addr():
                self.say("movq", self.simple(value), target)
            case Op(name, _) if name in _JUMPS or name in ("and", "or", "not"):
                result = target if before is None else self.spare()  # the target may be compared
                done = self.fresh()
                self.say("movq", "$1", result)
                self.branch(done, value)
                self.say("movq", "$0", result)
                self.lines.append(f"{done}:")
                if result != target:
                    self.say("movq", result, target)
            case _:
                raise InexpressibleError("x86 does one operation at a time")

    def fresh(self) -> str:
        """A label of our own; those of branches are L and a number."""
        self.labels += 1
        return f"M{self.labels}"

    def branch(self, label: str, when: Expr) -> None:
        match when:
            case Const(value):
                if value:
                    self.say("jmp", label)
            case Op("not", (Op(name, (left, right)),)) if name in _OPPOSITE:
                self.branch(label, Op(_OPPOSITE[name], (left, right)))
            case Op("not", (Op("not", (inner,)),)):
                self.branch(label, inner)
            case Op("or", (left, right)):
                self.branch(label, left)
                self.branch(label, right)
            case Op("and", (left, right)):
                skip = self.fresh()
                self.branch(skip, Op("not", (left,)))
                self.branch(label, right)
                self.lines.append(f"{skip}:")
            case Op("not", (Op("or" | "and" as name, (left, right)),)):
                self.branch(label, Op("and" if name == "or" else "or", (Op("not", (left,)), Op("not", (right,)))))
            case Op("not", (Const(value),)):
                self.branch(label, Const(int(not value)))
            case Op("not", (Reg() as register,)):
                self.branch(label, Op("==", (register, Const(0))))
            case Reg():
                self.branch(label, Op("!=", (when, Const(0))))
            case Op(name, (Const() | Addr() as left, Reg() as right)) if name in _JUMPS:
                self.branch(label, Op(_MIRRORED[name], (right, left)))
            case Op(name, (Reg() as left, right)) if name in _JUMPS:
                self.say("cmpq", self.simple(right), self.simple(left))
                self.say(_JUMPS[name], label)
            case _:
                raise InexpressibleError("x86 jumps on comparisons of registers")

    # -- rmw ------------------------------------------------------------------------------------------------------

    def rmw(self, instruction: Rmw) -> None:
        when = instruction.when
        if isinstance(when, Const) and when.value:
            when = None
        if when is not None:
            self.compare_and_swap(instruction, when)
            return
        memory = self.memory(instruction.address)
        value, register = instruction.value, instruction.register
        match value:
            case Const() | Reg() | Addr():
                self.exchange("xchgq", value, register, instruction.address)
            case Old():
                self.exchange("lock xaddq", Const(0), register, instruction.address)
            case Op("+", (Old(), operand)) | Op("+", (operand, Old())) if register is not None:
                self.exchange("lock xaddq", operand, register, instruction.address)
            case Op("-", (Old(), Const(number))) if register is not None:
                self.exchange("lock xaddq", Const(wrap(-number)), register, instruction.address)
            case Op(name, (Old(), operand)) if name in _COMPUTED and register is None:
                self.say(f"lock {_COMPUTED[name]}q", self.simple(operand), memory)
            case Op(name, (operand, Old())) if name in _COMPUTED and name != "-" and register is None:
                self.say(f"lock {_COMPUTED[name]}q", self.simple(operand), memory)
            case Op("-", (Const(0), Old())) if register is None:
                self.say("lock negq", memory)
            case Op("~", (Old(),)) if register is None:
                self.say("lock notq", memory)
            case _:
                raise InexpressibleError("x86 has no such atomic operation", instruction.location)

    def exchange(self, operation: str, operand: Expr, register: str | None, address: Expr) -> None:
        """An operation that takes its operand in the register which gets the old value."""
        if register is None or (address == Reg(register) and operand != Reg(register)):
            target = self.spare()
        else:
            target = self.register(register)
        if self.simple(operand) != target:
            self.say("movq", self.simple(operand), target)
        self.say(operation, target, self.memory(address))
        if register is not None and self.register(register) != target:
            self.say("movq", target, self.register(register))

    def compare_and_swap(self, instruction: Rmw, when: Expr) -> None:
        match when:
            case Op("==", (Old(), expected)) | Op("==", (expected, Old())):
                pass
            case _:
                raise InexpressibleError("x86 compares the old value for equality only", instruction.location)
        new = expected if instruction.value == Old() else instruction.value
        accumulator = next((name for name, chosen in self.names.items() if chosen == "rax"), None)
        direct = accumulator is not None and instruction.register == accumulator and expected == Reg(accumulator)
        if accumulator is not None and not direct:
            raise InexpressibleError("cmpxchg needs rax, which holds something else", instruction.location)
        if isinstance(new, Reg):
            source = self.register(new.name)
        else:
            source = self.spare()
            self.say("movq", self.simple(new), source)
        if not direct:
            self.say("movq", self.simple(expected), "%rax")
        self.say("lock cmpxchgq", source, self.memory(instruction.address))
        if not direct and instruction.register is not None:
            self.say("movq", "%rax", self.register(instruction.register))
