"""herd's ``X86`` and ``X86_64``: columns of instructions as threads of a Program.

==========================================  =====================================================================
instruction                                 what it becomes
==========================================  =====================================================================
``mov`` from or to memory                   Load or Store
``xchg`` with memory, ``lock`` anything     Rmw
``add (x),%rax``, ``cmp $1,(x)``            Load, then the computation
``inc (x)`` and the like without ``lock``   Load, then Store: two accesses, as on the machine
registers only                              Assign
``cmp``, ``test``, arithmetic               also Assigns of the flags that the thread's jumps look at (``x86_flags``)
jumps, ``ret``                              Branch
``mfence``, ``sfence``                      Fence
``lfence``, ``nop``, ``pause``              nothing: loads stay in order under TSO and PSO
==========================================  =====================================================================

An operation of 32 bits clears the upper half of its register, as the machine does; ``x86_names`` tells more of widths.
"""

from __future__ import annotations

from teetotal.answers.events import Kind, Location
from teetotal.programs.expressions import Const, Expr, Old, Reg, op
from teetotal.programs.litmus import conditions
from teetotal.programs.litmus.init import Initial
from teetotal.programs.litmus.layout import Layout
from teetotal.programs.litmus.x86_decode import NOTHING, Decoded, Operand
from teetotal.programs.litmus.x86_flags import JUMP_CONDITIONS, LOW_HALF, ZERO, Arithmetic
from teetotal.programs.litmus.x86_names import Names
from teetotal.programs.litmus.x86_table import Column, columns
from teetotal.programs.program import Assign, Branch, Fence, Instruction, Load, Program, Rmw, Store, Thread

SCRATCH = "tmp"
"""The register for a value on its way from memory into a computation."""
_OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "inc": "+", "dec": "-"}


def read(layout: Layout, initial: Initial, file: str) -> Program:
    bits = 64 if layout.architecture == "X86_64" else 32
    table = columns(layout.code, bits, file)
    names = Names(bits, initial, len(table), file)
    names.meet(table)
    threads = tuple(_Compiler(names, thread, column).thread() for thread, column in enumerate(table))
    question = conditions.parse(layout.condition, file, names)
    return Program(
        ordered=False,
        name=layout.name,
        threads=threads,
        memory=names.memory,
        condition=question.condition,
        filter=question.filter,
        observed=question.observed,
        source=file,
    )


class _Compiler:
    """One thread. Jumps count lines until the end, when it is known where each line's instructions begin."""

    def __init__(self, names: Names, thread: int, column: Column) -> None:
        self.names = names
        self.arithmetic: Arithmetic = names.arithmetic
        self.number = thread
        self.column = column
        self.registers = names.registers[thread]
        self.masks = names.bits == 64 and names.wide[thread]
        self.code: list[Instruction] = []
        self.here = Location("", 0)
        self.wanted: set[str] = set()
        for decoded, _ in column.lines:
            if decoded.operation in JUMP_CONDITIONS:
                self.wanted.update(JUMP_CONDITIONS[decoded.operation][1])

    def thread(self) -> Thread:
        starts: list[int] = []
        jumps: list[tuple[int, str]] = []
        for decoded, here in self.column.lines:
            starts.append(len(self.code))
            self.here = here
            operation = decoded.operation
            if operation == "mov":
                self.move(decoded)
            elif operation == "mfence" or operation == "sfence":
                self.code.append(Fence(kind=Kind.MFENCE if operation == "mfence" else Kind.SFENCE, location=here))
            elif operation in NOTHING:
                pass
            elif decoded.label or operation == "ret":
                when = JUMP_CONDITIONS[operation][0] if operation in JUMP_CONDITIONS else Const(1)
                jumps.append((len(self.code), decoded.label))
                self.code.append(Branch(target=0, when=when, location=here))
            elif operation in ("xchg", "xadd", "cmpxchg"):
                getattr(self, operation)(decoded)
            else:
                self.compute(decoded)
        starts.append(len(self.code))
        for position, label in jumps:
            branch = self.code[position]
            assert isinstance(branch, Branch)
            target = starts[self.column.labels[label]] if label else len(self.code)
            self.code[position] = Branch(target=target, when=branch.when, location=branch.location)
        return Thread(f"P{self.number}", tuple(self.code), self.registers)

    # -- operands -------------------------------------------------------------------------------------------------

    def use(self, name: str) -> str:
        self.registers.setdefault(name, 0)
        return name

    def value(self, operand: Operand, width: int) -> Expr:
        """An operand that is not in memory, as the operation sees it."""
        if operand.kind == "number":
            return Const(self.arithmetic.fit(operand.immediate, width))
        assert operand.value is not None
        if isinstance(operand.value, Reg):
            self.use(operand.value.name)
            if width == 32 and self.masks:
                return op("&", operand.value, LOW_HALF)
        return operand.value

    def address(self, operand: Operand) -> Expr:
        assert operand.value is not None
        if isinstance(operand.value, Reg):
            self.use(operand.value.name)
        return operand.value

    def fetch(self, operand: Operand, width: int) -> Expr:
        """An operand's value, loaded first if it is in memory."""
        if operand.kind != "memory":
            return self.value(operand, width)
        self.load(SCRATCH, operand)
        return Reg(SCRATCH)

    def load(self, register: str, operand: Operand) -> None:
        self.code.append(Load(register=self.use(register), address=self.address(operand), location=self.here))

    def store(self, operand: Operand, value: Expr) -> None:
        self.code.append(Store(address=self.address(operand), value=value, location=self.here))

    def assign(self, register: str, value: Expr) -> None:
        self.code.append(Assign(register=self.use(register), value=value, location=self.here))

    def set_flags(self, operation: str, a: Expr, b: Expr, width: int) -> None:
        if self.wanted:
            for flag, value in self.arithmetic.flags(operation, a, b, width).items():
                if flag in self.wanted:
                    self.assign(flag, value)

    # -- operations -----------------------------------------------------------------------------------------------

    def move(self, decoded: Decoded) -> None:
        target, source = decoded.operands
        if target.kind == "memory":
            self.store(target, self.value(source, self.names.width(decoded)))
            return
        register = _name(target)
        if source.kind == "memory":
            self.load(register, source)
        else:
            self.assign(register, self.value(source, self.names.width(decoded)))

    def compute(self, decoded: Decoded) -> None:
        """add, sub, and, or, xor, cmp, test; inc, dec, neg, not."""
        operation, width = decoded.operation, self.names.width(decoded)
        target = decoded.operands[0]
        if decoded.locked:
            needed = bool(self.wanted) and operation != "not"
            before: Expr = Reg(SCRATCH)
            second = self.second(decoded, width)
            self.code.append(
                Rmw(
                    address=self.address(target),
                    value=self.result(operation, Old(), second, width),
                    register=self.use(SCRATCH) if needed else None,
                    location=self.here,
                )
            )
        else:
            before = self.fetch(target, width)
            second = self.second(decoded, width)
        if operation == "neg":
            self.set_flags("sub", ZERO, before, width)
        elif operation == "test":
            self.set_flags("&", before, second, width)
        elif operation in ("and", "or", "xor"):
            self.set_flags(_OPERATORS[operation], before, second, width)
        elif operation != "not":
            self.set_flags(operation, before, second, width)
        if decoded.locked or operation in ("cmp", "test"):
            return
        result = self.result(operation, before, second, width)
        if target.kind == "memory":
            self.store(target, result)
        else:
            self.assign(_name(target), result)

    def second(self, decoded: Decoded, width: int) -> Expr:
        return self.fetch(decoded.operands[1], width) if len(decoded.operands) == 2 else Const(1)

    def result(self, operation: str, a: Expr, b: Expr, width: int) -> Expr:
        if operation == "not":
            return self.arithmetic.invert(a, width)
        if operation == "neg":
            return self.arithmetic.narrow(op("-", ZERO, a), width)
        if operation in ("cmp", "test"):
            return a
        result = op(_OPERATORS[operation], a, b)
        return result if operation in ("and", "or", "xor") else self.arithmetic.narrow(result, width)

    def xchg(self, decoded: Decoded) -> None:
        target, source = decoded.operands
        width = self.names.width(decoded)
        register, value = _name(source), self.value(source, width)
        if target.kind == "memory":  # locked, with or without the prefix
            self.code.append(Rmw(address=self.address(target), value=value, register=register, location=self.here))
            return
        self.assign(SCRATCH, value)
        self.assign(register, self.value(target, width))
        self.assign(_name(target), Reg(SCRATCH))

    def xadd(self, decoded: Decoded) -> None:
        target, source = decoded.operands
        width = self.names.width(decoded)
        register, value = _name(source), self.value(source, width)
        if decoded.locked:
            old = self.use(SCRATCH) if self.wanted else register
            total = self.arithmetic.narrow(op("+", Old(), value), width)
            self.code.append(Rmw(address=self.address(target), value=total, register=old, location=self.here))
            if self.wanted:
                self.set_flags("add", Reg(SCRATCH), value, width)
                self.assign(register, Reg(SCRATCH))
        elif target.kind == "memory":
            before = self.fetch(target, width)
            self.set_flags("add", before, value, width)
            self.store(target, self.arithmetic.narrow(op("+", before, value), width))
            self.assign(register, before)
        else:
            before = self.value(target, width)
            self.set_flags("add", before, value, width)
            self.assign(SCRATCH, self.arithmetic.narrow(op("+", before, value), width))
            self.assign(register, before)
            self.assign(_name(target), Reg(SCRATCH))

    def cmpxchg(self, decoded: Decoded) -> None:
        """If the accumulator equals the location, ZF and the location becomes the register; otherwise the accumulator
        becomes the location. In the first case not even its upper half changes."""
        target, source = decoded.operands
        width = self.names.width(decoded)
        accumulator = "rax" if self.names.bits == 64 else "EAX"
        expected = self.value(Operand("register", Reg(accumulator)), width)
        keeps_upper_half = width == 32 and self.masks
        direct = not self.wanted and not keeps_upper_half
        self.code.append(
            Rmw(
                address=self.address(target),
                value=self.value(source, width),
                when=op("==", Old(), expected),
                register=self.use(accumulator if direct else SCRATCH),
                location=self.here,
            )
        )
        if direct:
            return
        self.set_flags("cmp", expected, Reg(SCRATCH), width)
        if keeps_upper_half:
            after = len(self.code) + 2
            self.code.append(Branch(target=after, when=op("==", expected, Reg(SCRATCH)), location=self.here))
        self.assign(accumulator, Reg(SCRATCH))


def _name(operand: Operand) -> str:
    assert isinstance(operand.value, Reg)
    return operand.value.name
