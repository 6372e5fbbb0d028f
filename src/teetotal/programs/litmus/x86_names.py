"""What an x86 test names, for its code and for its condition: locations, registers, and how many bits they have.

A register has 64 bits (32 in ``X86``). A location has the width of its accesses, 32 or 64: a program that accesses one
with both is refused, as is one whose accesses disagree with the declared type. When some access follows a register,
all accesses must have one width, since nobody knows where it leads.
"""

from __future__ import annotations

from collections.abc import Mapping

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Addr, Final, op, wrap
from teetotal.programs.litmus.conditions import Place
from teetotal.programs.litmus.init import Initial
from teetotal.programs.litmus.x86_decode import REGISTERS, Decoded, Operand
from teetotal.programs.litmus.x86_flags import LOW_HALF, Arithmetic
from teetotal.programs.litmus.x86_table import Column


class Names:
    """Locations, registers and their widths, for the code and for the condition."""

    def __init__(self, bits: int, initial: Initial, threads: int, file: str) -> None:
        self.bits = bits
        self.arithmetic = Arithmetic(bits)
        self.initial = initial
        self.file = file
        self.widths: dict[str, int] = {}
        self.width_behind_registers: int | None = None
        self.registers: list[dict[str, int]] = [{} for _ in range(threads)]
        self.wide = [False] * threads
        """Threads with a register that may hold more than 32 bits."""
        self.memory: dict[str, int] = {}

    def meet(self, columns: list[Column]) -> None:
        """Learn every location with its width, then what memory and registers begin with."""
        names: dict[str, None] = dict.fromkeys(self.initial.memory)
        first: dict[str | None, tuple[int, Location]] = {}
        for thread, column in enumerate(columns):
            for decoded, here in column.lines:
                for operand in decoded.operands:
                    if operand.kind == "memory" or operand.kind == "address":
                        self._meet(operand, decoded, here, names, first)
                if decoded.width == 64 and any(operand.kind == "register" for operand in decoded.operands):
                    self.wide[thread] = True
        self._settle_widths(first)
        self._begin(names)

    def width(self, decoded: Decoded) -> int:
        """An operation without register or suffix has the width of its location."""
        if decoded.width is not None:
            return decoded.width
        for operand in decoded.operands:
            if operand.kind == "memory" and isinstance(operand.value, Addr):
                return self.widths.get(operand.value.name, self.width_behind_registers or self.bits)
        return self.width_behind_registers or self.bits

    def register(self, thread: int, name: str) -> Place | str:
        if thread >= len(self.registers):
            return f"the condition asks about thread {thread}, but there are {len(self.registers)} threads"
        known = REGISTERS[self.bits].get(name.lstrip("%").lower())
        if known is None or known[1] < 32:
            return f"the condition asks about {thread}:{name}, which is not a register of this machine"
        self.registers[thread].setdefault(known[0], 0)
        final = Final(thread, known[0])
        if known[1] == 32:
            masked = self.bits == 64 and self.wide[thread]
            return Place(final, op("&", final, LOW_HALF) if masked else final, self._fit_low)
        return Place(final, final, wrap)

    def location(self, name: str) -> Place | None:
        if name not in self.memory:
            return None
        final = Final(None, name)
        return Place(final, final, self._fit_low if self.widths.get(name, self.bits) == 32 else wrap)

    def _fit_low(self, value: int) -> int:
        return self.arithmetic.fit(value, 32)

    def _meet(
        self,
        operand: Operand,
        decoded: Decoded,
        here: Location,
        names: dict[str, None],
        first: dict[str | None, tuple[int, Location]],
    ) -> None:
        name = None
        if isinstance(operand.value, Addr):
            name = operand.value.name
            names[name] = None
        if operand.kind == "address":
            return
        if name is not None and self.initial.types.get(name, 32) < 32:
            raise ParseError(
                f"{name} is declared with {self.initial.types[name]} bits: less than 32 is not supported", here
            )
        if decoded.width is None:
            return
        width, _ = first.setdefault(name, (decoded.width, here))
        if width != decoded.width:
            what = name or "memory behind a register"
            raise ParseError(
                f"{what} is accessed with {width} bits and with {decoded.width}: mixed sizes are not supported", here
            )

    def _settle_widths(self, first: Mapping[str | None, tuple[int, Location]]) -> None:
        self.widths = {name: width for name, width in self.initial.types.items() if width >= 32}
        if None in first:
            width, here = self.width_behind_registers, _ = first[None]
            for name, (other, _) in first.items():
                if other != width:
                    raise ParseError(
                        f"{name} is accessed with {other} bits and memory behind a register with {width}: "
                        "mixed sizes are not supported",
                        here,
                    )
        for name, (width, here) in first.items():
            if name is not None:
                declared = self.initial.types.get(name, width)
                if declared != width:
                    raise ParseError(
                        f"{name} is declared with {declared} bits but accessed with {width}: mixed sizes "
                        "are not supported",
                        here,
                    )
                self.widths[name] = width

    def _begin(self, names: dict[str, None]) -> None:
        numbers = {name: 1 + i for i, name in enumerate(names)}
        for name in names:
            value = self.initial.memory.get(name, 0)
            width = self.widths.get(name, self.width_behind_registers or self.bits)
            self.memory[name] = numbers[value] if isinstance(value, str) else self.arithmetic.fit(value, width)
        for (thread, name), (value, line) in self.initial.registers.items():
            here = Location(self.file, line)
            if thread >= len(self.registers):
                raise ParseError(f"initial state: there is no thread P{thread}", here)
            known = REGISTERS[self.bits].get(name.lstrip("%").lower())
            if known is None or known[1] < 32:
                raise ParseError(f"initial state: {thread}:{name} is not a register of this machine", here)
            start = numbers[value] if isinstance(value, str) else self.arithmetic.fit(value, known[1])
            if self.registers[thread].setdefault(known[0], start) != start:
                raise ParseError(f"initial state: {thread}:{name} has two values", here)
            if not 0 <= start < 1 << 32:
                self.wide[thread] = True
