"""Every access in a compiler's assembly gets an event: by the hook that the compiler put there, or by one of ours.

Ours is a call right before the instruction that keeps every register and flag. What the instruction does is told by a
constant beside the code, which runtime/hooks/hooks_assembly.cpp reads together with the registers. What cannot be
followed, or not be given a hook, is listed; see ``machine`` and ``matching``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from teetotal.programs.c.assembly import DATA, Function, Item, Statement, Text
from teetotal.programs.c.frame_variables import FrameVariables
from teetotal.programs.c.machine import RSP, Access, moves_stack, odd_by_hand, stack_from_frame
from teetotal.programs.c.matching import FENCES, Evaluation
from teetotal.programs.c.objects import Object

_HERE = re.compile(r"(?<![\w.])\.\s*[-+]|\.L[\w.$]+\s*[-+]\s*\d")
"""An address that is counted from where it stands, or from a label."""
_BESIDE = re.compile(r"[\w.$]\s*[-+]\s*\w")
"""A place that is counted from a label."""
_SYMBOL_IN = (
    re.compile(r"([^\s,()*]+)\(%rip\)"),
    re.compile(r"([\w.$+-]+)\s*\[\s*rip\s*\]"),
    re.compile(r"\[\s*rip\s*\+\s*([\w.$+-]+)\s*\]"),
)
_KINDS = {"r": 0, "w": 1, "rw": 2}
_LOCKED, _COMPARED, _MFENCE, _SFENCE, _COPY, _SETTLE = 3, 4, 5, 6, 7, 8
_SIMPLE = (1, 2, 4, 8, 16)
BACK = "_back"
"""Behind the label of a hook's constant: where the hook returns to."""
_EXACT, _REPEATED, SYMBOLIC, _THREAD_LOCAL, _CALLS = 1, 2, 4, 8, 32


class Visible(NamedTuple):
    text: str
    unseen: list[str]
    """What no hook sees, each with its place."""
    of_system: set[str]
    """Functions that come from the system's headers."""
    parameters: Callable[[str], int | None]
    """How many bytes of what a function is given lie on the stack; None where that matters and is not known."""


Pass = Callable[[Text, list[Function]], None]
"""Puts lines before statements, knowing their machine code."""


def make_visible(
    text: str,
    assemble: Callable[[str], bytes],
    file: str,
    passes: tuple[Pass, ...] = (),
    *,
    handmade: bool = False,
    compiled: frozenset[str] | None = None,
) -> Visible:
    """``assemble`` makes an object file of assembly; ``file`` is what the compiler made it from, or (``handmade``) what
    somebody wrote. ``compiled``: functions that have their hooks already, but for the program's own assembly in them."""
    variables = FrameVariables(lambda: assemble(text))
    program = Text(text, handmade=handmade, variables=variables)
    program.attach(Object(assemble(program.labelled)))
    functions = list(program.functions())
    unseen = _Hooks(program, file, compiled).put(functions)
    for further in passes:
        further(program, functions)

    def parameters(function: str) -> int | None:
        size = variables.parameters(function)
        return 0 if size is None and program.by_gcc else size  # whose callers give them up at once

    return Visible(str(program), unseen, program.of_system, parameters)


class _Hooks:
    def __init__(self, program: Text, file: str, compiled: frozenset[str] | None) -> None:
        self.program = program
        self.compiled = compiled
        self.file = file
        self.unseen: dict[str, None] = {}
        self.numbers = count()
        self.calls = False
        """Whether the function at hand calls others: then nothing of its frame lies below its stack pointer."""

    def put(self, functions: list[Function]) -> list[str]:
        for statement, what in self.program.strange:
            self._name(statement, what, "")
        for function in functions:
            if self._chooses(function.name):
                continue
            has_hooks = self.compiled is not None and function.name in self.compiled
            if has_hooks and not any(item.statement.app for block in function.blocks for item in block):
                continue
            decision = Evaluation(function).decide()
            if has_hooks:
                written = [item for item in decision.hooks if item.statement.app]
                decision = decision._replace(hooks=written, dropped=[], copies=[], singles=[])
            self.calls = any(item.instruction.is_call for block in function.blocks for item in block)
            for item in decision.dropped:
                item.statement.text = f"# {item.statement.text}"
            for to, source, word in decision.copies:
                to.statement.text, source.statement.text = _copy_hook("to", word, to), _copy_hook("from", word, source)
            for item, hook in decision.singles:
                item.statement.text = "\n".join(att([f"\tcall {hook}@PLT"], item.statement))
            wanted = {id(item) for item in decision.hooks}
            fixed = _immovable(function)
            parts: dict[int, list[Item]] = {}
            framed = not any(item.takes_frame_pointer for block in function.blocks for item in block)
            below: set[tuple[int, int, int]] = set()  # what a piece of assembly has written below the stack pointer
            for block in function.blocks:
                kept: set[tuple[int, int]] = set()  # registers in which assembly keeps its stack pointer
                for item in block:
                    if has_hooks and not item.statement.app:
                        continue
                    oddity = odd_by_hand(item.instruction) if item.statement.app else item.instruction.oddity
                    if oddity:
                        self._name(item.statement, oddity, function.name, item)
                    elif item.statement.app:
                        self._follow_stack(item, function.name, kept, framed)
                        self._look_below_stack(item, function.name, below)
                        if _goes_anywhere(item):
                            self._name(
                                item.statement, f"{item.instruction.text}, which may go anywhere,", function.name
                            )
                    if not item.whole:
                        parts.setdefault(id(item.statement), []).append(item)
                    elif id(item) in wanted:
                        if item.statement.app in fixed:
                            self._name(item.statement, item.instruction.text, function.name, item)
                        else:
                            before, after = self._hook(item, function.name)
                            item.statement.before += before
                            item.last.after += after
            for items in parts.values():
                if any(id(item) in wanted for item in items):
                    self._explode(items, wanted, fixed, function.name)
            _look_at_guards(function)
        return list(self.unseen)

    def _name(self, statement: Statement, what: str, function: str, item: Item | None = None) -> None:
        """By its text, where the program wrote it."""
        if item is not None and statement.app and item.whole and what == item.instruction.text:
            what = " ".join(statement.text.split())
        kind = "inline assembly" if statement.app else "code"
        where = f" in {function}()" if function else ""
        place = "" if statement.place is None else f" at {self._spelled(statement.place.file)}:{statement.place.line}"
        self.unseen[f"{kind}{place}{where}: {what}"] = None

    def _chooses(self, function: str) -> bool:
        """Whether it is the compiler's own that asks the processor which clone to take, before any hook is bound."""
        chosen = re.escape(function.removesuffix(".resolver"))
        return function.endswith(".resolver") and any(
            re.fullmatch(rf"\.type\s+{chosen},\s*@gnu_indirect_function", one.text.strip())
            for one in self.program.statements
        )

    def _follow_stack(self, item: Item, function: str, kept: set[tuple[int, int]], framed: bool) -> None:
        """Names what makes another stack; to go back to one's own is none."""
        instruction, piece = item.instruction, item.statement.app
        source = (piece, instruction.operands[1][1]) if len(instruction.operands) > 1 else (piece, -1)
        back = instruction.name == "mov" and instruction.operands[1][0] == "r" and source in kept
        if (moves_stack(instruction) and not back) or (stack_from_frame(instruction) and not framed):
            self._name(item.statement, f"{instruction.text}, which moves the stack,", function)
        for register in instruction.writes:
            kept.discard((piece, register))
        if instruction.name == "mov" and instruction.operands[1] == ("r", RSP) and instruction.operands[0][0] == "r":
            kept.add((piece, instruction.operands[0][1]))

    def _look_below_stack(self, item: Item, function: str, below: set[tuple[int, int, int]]) -> None:
        """Names what reads below the stack pointer something that the same piece of assembly has not written: between two
        pieces hooks are called, which write there. A locked instruction there is a fence, whatever it finds."""
        for access in item.instruction.accesses:
            if access.base != RSP or access.displacement >= 0 or item.instruction.locked:
                continue
            place = (item.statement.app, access.displacement, access.size)
            if "r" in access.direction and (place not in below or access.scaled >= 0):
                self._name(item.statement, f"{item.instruction.text}, which reads below the stack,", function)
            if "w" in access.direction and access.scaled < 0:
                below.add(place)

    def _spelled(self, file: str) -> str:
        """As the user did."""
        if os.path.abspath(file) == os.path.abspath(self.file):
            return self.file
        return os.path.normpath(file).removeprefix(os.getcwd() + os.sep)

    def _explode(self, items: list[Item], wanted: set[int], fixed: set[int], function: str) -> None:
        """A statement that became several instructions, such as ``.byte`` or a macro, as one statement for each."""
        statement = items[0].statement
        if statement.app in fixed or any(item.relocations or item.instruction.branches for item in items):
            for item in items:
                if id(item) in wanted:
                    self._name(statement, item.instruction.text, function)
            return
        lines: list[str] = []
        for item in items:
            before, after = self._hook(item, function) if id(item) in wanted else ([], [])
            lines += [*before, ".byte " + ", ".join(map(str, item.code)), *after]
        statement.text = "\n".join(lines)

    def _hook(self, item: Item, function: str) -> tuple[list[str], list[str]]:
        """What comes before the instruction, and what behind it: where it is announced, it is settled there."""
        instruction = item.instruction
        flags, symbol = 0, "0"
        access = instruction.accesses[0] if instruction.accesses else Access("r", 0, -1, -1, 1, 0)
        if instruction.name in FENCES:
            kind = _MFENCE if instruction.name == "mfence" else _SFENCE
        elif instruction.locked and access.base == RSP and access.scaled < 0:
            kind = _MFENCE  # a locked instruction on one's own stack is the old way to write a fence
        elif instruction.locked:
            kind = _COMPARED if instruction.name.startswith("cmpxchg") else _LOCKED
        else:
            kind = _COPY if len(instruction.accesses) == 2 else _KINDS[access.direction]
        if access.field and any(one.place == access.field for one in item.relocations):
            found = symbol_of(item) if access.relative else None
            if found is None:
                self._name(item.statement, instruction.text, function, item)
                return [], []
            flags, symbol = flags | SYMBOLIC, f"{found} - ."
        elif access.relative:
            self._name(item.statement, instruction.text, function, item)
            return [], []
        flags |= _EXACT * bool(item.statement.app) | _REPEATED * instruction.repeated
        flags |= _THREAD_LOCAL * bool(access.segment) | _CALLS * self.calls
        halves = instruction.name == "cmpxchg8b"
        displacement = 0 if flags & SYMBOLIC else access.displacement
        told = [
            f"\t.byte {kind}, {flags}, {access.base}, {access.scaled}, {access.scale}, {access.bit}, {int(halves)}, 0",
            f"\t.long {access.size}, {symbol}",
            f"\t.quad {displacement}",
        ]
        settled = [f"\t.byte {_SETTLE}, 0, 0, 0, 0, 0, 0, 0", "\t.quad 0, 0"]
        announced = kind in (_KINDS["w"], _KINDS["rw"], _COPY) or (kind == _KINDS["r"] and access.size not in _SIMPLE)
        behind = self._call("teetotal_settle", settled, item) if announced else []
        return self._call("teetotal_access", told, item), behind

    def _call(self, hook: str, descriptor: list[str], item: Item) -> list[str]:
        return hook_call(f".Lteetotal_access_{next(self.numbers)}", hook, descriptor, item.statement)


def hook_call(label: str, hook: str, descriptor: list[str], statement: Statement | None = None) -> list[str]:
    """Which changes nothing: below the red zone, and all registers are kept by the hook."""
    lines = [
        "\tleaq -128(%rsp), %rsp",
        "\tpushq %rdi",
        f"\tleaq {label}(%rip), %rdi",
        f"\tcall {hook}@PLT",
        f"{label}{BACK}:",
        "\tpopq %rdi",
        "\tleaq 128(%rsp), %rsp",
        '\t.pushsection .rodata.teetotal,"a",@progbits',
        "\t.balign 8",
        f"{label}:",
        *descriptor,
        "\t.popsection",
    ]
    return lines if statement is None else att(lines, statement)


def symbol_of(item: Item) -> str | None:
    """What an address that is counted from the instruction is, as text."""
    if item.whole:
        for pattern in _SYMBOL_IN:
            found = pattern.search(item.statement.text)
            if found is not None and "@" not in found.group(1):
                return found.group(1)
    return None


def _goes_anywhere(item: Item) -> bool:
    """A jump of the program's own assembly that may lead into the middle of an instruction."""
    instruction = item.instruction
    computed = instruction.name == "jmp" and instruction.operands[0][0] != "i"
    return computed or (instruction.branches and item.whole and bool(_BESIDE.search(item.statement.text)))


def _immovable(function: Function) -> set[int]:
    """Pieces of the program's own assembly that count bytes, whose branches may reach no farther than they do, or that
    take from hooks what makes them run: a thread's own memory."""
    found: set[int] = set()
    for block in function.blocks:
        for item in block:
            statement = item.statement
            if statement.app and (
                item.instruction.short
                or item.instruction.name == "wrfsbase"
                or _HERE.search(statement.text)
                or (item.instruction.branches and statement.text.startswith(DATA))
            ):
                found.add(statement.app)
    return found


def _look_at_guards(function: Function) -> None:
    """Loads by which a compiler asks whether a function's static variable is there: no access of the program's text."""
    for block in function.blocks:
        guard = False
        for item in block:
            guard = guard or "_ZGV" in item.statement.text
            if item.instruction.is_call:
                if guard and item.calls == "__tsan_atomic8_load":
                    item.statement.text = item.statement.text.replace("__tsan_atomic8_load", "teetotal_look_at_guard")
                guard = False


def _copy_hook(side: str, word: str, item: Item) -> str:
    given = [] if word == "_range" else [f"\tmovl ${word}, %esi"]
    return "\n".join(att([*given, f"\tcall teetotal_copy_{side}@PLT"], item.statement))


def att(lines: list[str], statement: Statement) -> list[str]:
    """Lines for before a statement that may be in another syntax."""
    return ["\t.att_syntax prefix", *lines, f"\t{statement.intel}"] if statement.intel else lines
