"""The compiler's assembly as statements, each with the machine code that it becomes.

Text says little for sure: syntaxes, macros, ``.byte``. So every statement in a section of code gets a label, the labelled
text is assembled, and the bytes between two labels are the code of the statement before. What is done about them (see
``audit``) is text again, before or instead of a statement. Debugging information, which is most of the text, takes no
part in that.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from teetotal.programs.c.frame_variables import FrameVariables
from teetotal.programs.c.machine import RBP, RSP, Instruction, decode, is_prefix, takes_frame_pointer
from teetotal.programs.c.objects import Object, Relocation

_LABEL = "teetotal.statement."
_LABELS = re.compile(r'\s*((?:[\w.$@]+|"[^"]*")\s*:)(?!=)\s*')
_QUOTED = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^\\])'?"""
"""A string, or a character, which needs no second quote: ``$'#``."""
_SPLIT = re.compile(rf"""((?:{_QUOTED}|[^;"'])*);?""")
_UNTIL_COMMENT = re.compile(rf"""(?:{_QUOTED}|[^#"'])*""")
_DEBUG = re.compile(r"\.section\s+\.debug_")
_LINE = re.compile(
    r"^[ \t]*\.section[ \t]+\.debug_"
    r"(?:.*\n(?![ \t]*\.(?:section[ \t]+(?!\.debug_)|text\b|data\b|bss\b|popsection|previous)))*.*"
    r"|^.*",
    re.MULTILINE,
)
"""One line, or debugging information up to the next section of something else."""
_LOCAL = re.compile(r"\.L[\w.$]+")
_COMMENT = re.compile(rf"({_QUOTED})|/\*.*?\*/", re.DOTALL)
_FLAGS = re.compile(r'[^"]*"(\w*)"')
_SILENT = (
    ".loc", ".cfi", ".file", ".glob", ".type", ".size", ".weak", ".hidden", ".ident", ".intel_syntax", ".att_syntax",
    ".local", ".set", ".internal", ".protected", ".comm", ".addrsig", ".equ", ".symver", ".code64", ".if", ".else",
    ".endif", ".altmacro", ".noaltmacro", ".purgem", ".err", ".warning", ".print", ".arch",
)  # fmt: skip
_PADS = (".p2align", ".align", ".balign")
SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/bin/../lib/")
DATA = (".byte", ".value", ".short", ".word", ".long", ".int", ".quad", ".ascii")
_OURS = re.compile(r"(lea|push|pop|mov|add|cmp)[bwlq]?|(push|pop)fq|call|j\w+")
"""Instructions that are put into a program as text, and must be what they are called."""
_SPILLED = ("-byte Spill", "-byte Reload", "-byte Folded Spill", "-byte Folded Reload")
"""What clang writes beside an instruction."""
_BODIES = (".macro", ".rept", ".irp", ".irpc")


class Place(NamedTuple):
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Statement:
    """``code`` is ``None`` where there can be none."""

    __slots__ = (
        "after",
        "app",
        "before",
        "code",
        "intel",
        "is_code",
        "label",
        "place",
        "relocations",
        "spills",
        "text",
    )

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_code = False
        self.label = ""
        self.app = 0
        """The number of the piece of assembly that the program brought along, if it is one."""
        self.intel = ""
        self.spills = False
        """The compiler says that it puts a register by, or takes it back: no variable lies there."""
        self.place: Place | None = None
        self.code = b""
        self.relocations: list[Relocation] = []
        self.before: list[str] = []
        self.after: list[str] = []


class Item:
    """An instruction: of one statement, or of several where prefixes stand on lines of their own."""

    __slots__ = ("code", "instruction", "last", "relocations", "statement", "takes_frame_pointer", "whole")

    def __init__(
        self, statement: Statement, code: bytes, instruction: Instruction, relocations: list[Relocation], whole: bool
    ) -> None:
        self.statement = statement
        self.last = statement
        self.code = code
        self.instruction = instruction
        self.relocations = relocations
        """Their places are counted from the first byte."""
        self.whole = whole
        """It is all of its statement."""
        self.takes_frame_pointer = takes_frame_pointer(instruction)

    @property
    def calls(self) -> str:
        """The function that it calls by name."""
        return self.relocations[0].symbol.name if self.instruction.is_call and self.relocations else ""


class Function(NamedTuple):
    name: str
    blocks: list[list[Item]]
    """Nothing jumps into the middle of one."""
    constant: frozenset[int]
    """Sections that nobody can write."""
    by_gcc: bool
    """Whether gcc put in its hooks, which knows of a variable as a whole whether others may look at it."""


class Text:
    """All of a compiler's output."""

    def __init__(self, text: str, *, handmade: bool = False, variables: FrameVariables | None = None) -> None:
        """``handmade``: no compiler wrote any of it. ``variables``: where those of its functions lie."""
        self.variables = variables or FrameVariables(lambda: b"")
        self.statements: list[Statement] = []
        self._labelled: list[str] = []
        self.strange: list[tuple[Statement, str]] = []
        """Bytes in sections of code that are no instructions."""
        self.constant: frozenset[int] = frozenset()
        self.by_gcc = False
        self.of_system: set[str] = set()
        """Functions whose source is one of the system's headers."""
        self._targets: set[str] = set()
        self._read(text, int(handmade))

    # -- from text to statements ------------------------------------------------------------------------------------

    def _read(self, text: str, app: int) -> None:
        if "/*" in text:
            text = _COMMENT.sub(lambda found: found.group(1) or " ", text)
        code, before = True, True  # where we are, and where we were
        sections = {
            ".text": True,
            ".data": False,
            ".bss": False,
        }  # what each was declared as first: later words are ignored
        stack: list[tuple[bool, bool]] = []  # what .popsection brings back
        apps, intel, depth = app, "", 0
        place: Place | None = None
        users: Place | None = None
        fresh = ""  # the function that has just begun
        files: dict[str, str] = {}
        body: list[str] = []
        for line in _LINE.findall(text):
            bare = line.strip()
            if bare.startswith(".section") and _DEBUG.match(bare):
                self._plain(line)
                continue
            if bare.startswith("#"):
                if bare.startswith("#APP"):
                    app = apps = apps + 1
                elif bare.startswith("#NO_APP"):
                    app = 0
                self._plain(line)
                continue
            for part in self._parts(bare) if code or ";" in bare or "#" in bare else (bare,):
                if not part:
                    continue
                if part[0] == ".":
                    word = part.split(None, 1)[0].lower()
                    if depth or word in _BODIES:
                        depth += (word in _BODIES) - (word in (".endm", ".endr"))
                        if word == ".macro" and _OURS.fullmatch(re.split(r"[\s,]+", part.lower())[1]):
                            self.strange.append((Statement(part), f"{part}, which is an instruction"))
                        body.append(part)
                        if depth == 0:
                            self._add("\n".join(body), code and word == ".endr", app, intel, users or place)
                            body = []
                        continue
                    if word == ".loc":
                        words = part.split(None, 3)
                        place = Place(files.get(words[1], "?"), int(words[2]))
                        if not place.file.startswith(SYSTEM):
                            users = place
                        elif fresh:
                            self.of_system.add(fresh)
                        fresh = ""
                    elif word == ".file":
                        number, _, name = part[5:].strip().partition(" ")
                        files[number] = os.path.join("", *name.split('"')[1::2])
                    elif word in (".section", ".pushsection", ".text", ".data", ".bss", ".previous", ".popsection"):
                        if word == ".pushsection":
                            stack.append((code, before))
                        if word == ".popsection":
                            code, before = stack.pop() if stack else (True, True)
                        elif word == ".previous":
                            code, before = before, code
                        else:
                            named = word if word in sections else part[len(word) :].split(",")[0].strip()
                            code, before = sections.setdefault(named, _is_code(part, word)), code
                        self._labelled.append(part)
                        if not code:  # whatever comes there belongs to no statement, if the assembler has another mind
                            self._labelled.append(f"{_LABEL}{len(self.statements)}:")
                        self.statements.append(Statement(part))
                        continue
                    elif word == ".intel_syntax":
                        intel = part
                    elif word == ".att_syntax":
                        intel = ""
                    if word.startswith((".loc", ".cfi")):
                        self.statements.append(Statement(part))
                        continue
                elif depth:
                    body.append(part)
                    continue
                elif part[-1] == ":" and code and not part[0].isdigit() and not part.startswith((".L", '"')):
                    users, fresh = None, part[:-1]  # another function
                self._add(part, code, app, intel, users or place)
            if code and not app and line.endswith(_SPILLED):
                self.statements[-1].spills = True

    def _parts(self, bare: str) -> Iterator[str]:
        """Labels and statements of a line."""
        if "#" in bare and (told := _UNTIL_COMMENT.match(bare)) is not None:
            bare = told.group()
        pieces = _SPLIT.findall(bare) if ";" in bare else (bare,)
        for piece in pieces:
            at = 0
            if ":" in piece:
                while found := _LABELS.match(piece, at):
                    yield found.group(1)
                    at = found.end()
            yield piece[at:].strip()

    def _plain(self, line: str) -> None:
        self.statements.append(Statement(line))

    def _add(self, text: str, code: bool, app: int, intel: str, place: Place | None) -> None:
        statement = Statement(text)
        if code:
            statement.app, statement.intel, statement.place = app, intel, place
            if text[-1] == ":":
                statement.label = text[:-1].strip()
            elif not text.startswith(_SILENT):
                statement.is_code = True
                if ".L" in text:
                    self._targets.update(_LOCAL.findall(text))
                self._labelled.append(f"{_LABEL}{len(self.statements)}:")
        elif ".L" in text and text[-1] != ":":
            self._targets.update(_LOCAL.findall(text))
        self._labelled.append(text)
        self.statements.append(statement)

    @property
    def labelled(self) -> str:
        return "\n".join(self._labelled) + "\n"

    # -- from machine code to functions --------------------------------------------------------------------------------

    def attach(self, machine: Object) -> None:
        """The code of each statement, from what the labelled text became."""
        self.constant = frozenset(number for number, one in enumerate(machine.sections) if number and not one.writable)
        self.by_gcc = machine.by_gcc
        starts: dict[int, list[tuple[int, int]]] = {}
        for symbol in machine.symbols:
            if symbol.name.startswith(_LABEL):
                starts.setdefault(symbol.section, []).append((symbol.value, int(symbol.name[len(_LABEL) :])))
        for number, section in enumerate(machine.sections):
            if section.executable and section.size and number not in starts:
                self.strange.append((Statement(""), f"{section.size} bytes in {section.name}"))
        for number, found in starts.items():
            if not machine.sections[number].executable:
                continue
            found.sort()
            code = machine.code(machine.sections[number])
            relocations = machine.relocations(number)
            places = [one.place for one in relocations]
            ends = [place for place, _ in found[1:]] + [len(code)]
            for (begin, index), end in zip(found, ends, strict=True):
                if begin == end:
                    continue
                statement = self.statements[index]
                if not statement.is_code:
                    self.strange.append((statement, f"{end - begin} bytes in {machine.sections[number].name}"))
                    continue
                statement.code = code[begin:end]
                at = bisect_left(places, begin)
                while at < len(places) and places[at] < end:
                    statement.relocations.append(relocations[at]._replace(place=places[at] - begin))
                    at += 1

    def functions(self) -> Iterator[Function]:
        name = ""
        blocks: list[list[Item]] = []
        block: list[Item] = []
        pending: list[Statement] = []  # prefixes on lines of their own
        pushed = _Pushed()
        for statement in self.statements:
            if statement.label:
                if statement.label.startswith(".L") and statement.label not in self._targets:
                    continue  # for debuggers
                if block:
                    blocks.append(block)
                    block = []
                self._lost(pending)
                if not statement.label[0].isdigit() and not statement.label.startswith(".L"):
                    if blocks:
                        yield Function(name, blocks, self.constant, self.by_gcc)
                    name, blocks = statement.label, []
            elif statement.code and not (statement.text.startswith(_PADS) and _is_fill(statement.code)):
                pending.append(statement)
                for item in self._items(pending):
                    if statement.app:
                        pushed.follow(item)
                    block.append(item)
                    if item.instruction.ends_block:
                        blocks.append(block)
                        block = []
        self._lost(pending)
        if block:
            blocks.append(block)
        if blocks:
            yield Function(name, blocks, self.constant, self.by_gcc)

    def _lost(self, pending: list[Statement]) -> None:
        if pending:
            self.strange.append((pending[0], f"the bytes {b''.join(one.code for one in pending).hex(' ')}"))
            pending.clear()

    def _items(self, pending: list[Statement]) -> Iterable[Item]:
        """What the statements make up by now; they are kept while that is only a prefix."""
        first = pending[0]
        code = b"".join(one.code for one in pending)
        if is_prefix(code):
            return ()
        instructions = decode(_without_target(code))
        if instructions is None:
            if not first.text.startswith(DATA):  # byte by byte
                self._lost(pending)
            return ()
        relocations: list[Relocation] = []
        at = 0
        for one in pending:
            relocations += [found._replace(place=found.place + at) for found in one.relocations]
            at += len(one.code)
        last = pending[-1]
        pending.clear()
        if len(instructions) == 1:
            item = Item(first, code, instructions[0], relocations, True)
            item.last = last
            return (item,)
        items, at = [], 0
        for instruction in instructions:
            end = at + instruction.size
            own = [found._replace(place=found.place - at) for found in relocations if at <= found.place < end]
            items.append(Item(first, code[at:end], instruction, own, False))
            at = end
        return items

    # -- and back ---------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        lines: list[str] = []
        for statement in self.statements:
            lines += statement.before
            lines.append(statement.text)
            lines += statement.after
        return "\n".join(lines) + "\n"


class _Pushed:
    """Registers that the program's own assembly has pushed: ``pop`` need not bring back what was there."""

    def __init__(self) -> None:
        self.piece = 0
        self.registers: list[int] = []

    def follow(self, item: Item) -> None:
        instruction = item.instruction
        name, operands = instruction.name, instruction.operands
        if item.statement.app != self.piece:
            self.piece, self.registers = item.statement.app, []
        if name.startswith("push"):
            kind, register = operands[0] if operands else ("", 0)
            self.registers.append(register if kind == "r" else -1)
        elif name.startswith("pop") and name != "popcnt":
            top = self.registers.pop() if self.registers else RBP
            item.takes_frame_pointer = operands[:1] == (("r", RBP),) and top != RBP
        elif name == "add" and operands[0] == ("r", RSP) and operands[1][0] == "i" and operands[1][1] > 0:
            del self.registers[-(operands[1][1] // 8) :]


def _is_code(part: str, word: str) -> bool:
    flags = _FLAGS.match(part)
    if flags is not None and "," in part:
        return "x" in flags.group(1)
    return part[len(word) :].strip().startswith((".text", ".init", ".fini"))


def _is_fill(code: bytes) -> bool:
    """Whether an assembler chose it: the program may have said what to fill up with."""
    return all(one.name in ("nop", "int3") or one.text == "xchg ax, ax" for one in decode(code) or ())


def _without_target(code: bytes) -> bytes:
    """A jump, whose target says nothing here, as one of many that are alike."""
    if code[0] in (0xEB, 0xE9, 0xE8) or 0x70 <= code[0] < 0x80:
        return code[:1] + bytes(len(code) - 1) if len(code) in (2, 5) else code
    if code[0] == 0x0F and 0x80 <= code[1] < 0x90 and len(code) == 6:
        return code[:2] + bytes(4)
    return code
