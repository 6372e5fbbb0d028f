"""Tells the runtime where frames end, by calls put into the compiler's assembly.

A stack is memory like any other once threads share what lies on it, but nothing in the code says when that memory dies.
A function that lets the address of its own frame out calls ``teetotal_frame_ends`` just before it returns, or jumps to
another function instead. Where memory of a stack ends without a return, everything below what goes on is dead: there
the call is put at the landing pads of exceptions (the tables in ``.gcc_except_table`` name them), behind each call that
may return twice (``setjmp``), and wherever the stack pointer goes up: it is taken back to where it was (the end of a
block with an array of variable length, ``__builtin_longjmp``, a ``goto`` out of a nested function), or beyond the
arguments of a call. What such a call was given on the stack lies above what its own return ends: a function that lets
the address of that out tells its end with its own (``teetotal_parameters_end``), and where it begins, since the next
call may use the same place (``teetotal_parameters_begin``). These calls keep every register and flag; what they find
dead is all below the stack pointer. Functions that keep their frame to themselves are left as they are: nobody can look
there. What the program wrote in assembly itself is left alone, too: where that moves the stack, it is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from teetotal.programs.c.assembly import Function, Text
from teetotal.programs.c.instrument import att
from teetotal.programs.c.machine import RBP, RSP, Instruction

_FUNCTION = re.compile(r"^\s*\.type\s+(\S+),\s*@function\b")
_END = re.compile(r"^\s*\.size\s+(\S+),")
_TAKES_ADDRESS = re.compile(
    r"^\s*(?:lea\w*\s+[^#]*\(%r[bs]p\b[^#]*\)|mov\w*\s+%r[bs]p|add\w*\s+%r[bs]p|sub\w*\s+%r[bs]p)\s*,\s*%(?!r[bs]p\b)"
)
_PASSES = re.compile(r"^\s*(?:v?mov\w*\s+[^#]*,|fi?st\w*)\s*\d*\(%rsp\)")
"""Arguments on the stack, at the lower end of the frame: what became of them is over with it."""
_TAKES_PARAMETER = re.compile(r"^\s*lea\w*\s+(?:1[6-9]|[2-9]\d|\d{3,})\(%rbp\b")
_LAYS_FRAME = re.compile(r"^\s*movq?\s+%rsp,\s*%rbp\b")
_RETURN = re.compile(r"^\s*(?:rep[nz]*[;\s]+)?ret[qlw]?\b")
_GIVES_UP_FRAME = re.compile(r"^\s*(?:leaveq?|popq?\s+%rbp)\b")
_JUMP = re.compile(r"^\s*jmpq?\s+(?!\.L)")
_LABEL = re.compile(r"^(?!\.L(?:VL|BB|BE|FB|FE|VU)\d+:)[^\s#]+:")
"""Where jumps may lead: not those that gcc writes for debuggers."""
_WIDE = re.compile(r"%[xyz]mm|%st\b|^\s*fi?ld", re.MULTILINE)
_RETURNS_TWICE = re.compile(r"^\s*call\w*\s+\*?(?:_?setjmp|_{0,2}sigsetjmp|getcontext)\b")
_CALL_SITES = re.compile(r"^\s*\.uleb128\s+(\.LLSDACSE\d+|\.Lcst_end\d+)-(\S+)")
"""The size of a table of call sites, as gcc and clang write it: its end, its begin."""
_ENTRY = re.compile(r"^\s*\.(?:uleb128|byte)\s+([^\s#]+)")


def mark_raised_stacks(program: Text, functions: list[Function]) -> None:
    """A call wherever the stack pointer goes up, but in an epilogue: behind what other passes have put there, which may
    look at what lies below."""
    for function in functions:
        items = [item for block in function.blocks for item in block]
        raised = [
            item
            for before, item, behind in zip([items[0], *items], items, [*items[1:], items[-1]], strict=False)
            if not item.statement.app
            and item.whole
            and _raises_stack(before.instruction, item.instruction, behind.instruction)
        ]
        wide = bool(raised) and any(_WIDE.search(item.statement.text) for item in items)
        for item in raised:
            item.last.after += att([_call(wide)], item.statement)


def _raises_stack(before: Instruction, here: Instruction, behind: Instruction) -> bool:
    if len(here.operands) != 2 or here.operands[0] != ("r", RSP):
        return False
    by = here.operands[1]
    if here.name == "mov":  # from rbp, in an epilogue, where a return or a jump follows
        return by != ("r", RBP)
    drops = by[0] == "i" and ((here.name == "add" and by[1] > 0) or (here.name == "sub" and by[1] < 0))
    return drops and before.is_call and behind.name not in ("pop", "leave", "ret")


Parameters = Callable[[str], int | None]
"""How many bytes of what a function is given lie on the stack; None where that is not known."""


def mark_ends(text: str, parameters: Parameters = lambda _: 0, *, handmade: bool = False) -> str:
    """The assembly with a call wherever memory of a stack ends whose address may be known elsewhere. ``handmade``: no
    compiler wrote it."""
    lines = text.splitlines()
    pads = set(_landing_pads(lines))
    result: list[str] = []
    name, function = "", list[str]()
    for line in lines:
        # The function before may be another name for this one, without a size.
        if "@function" in line and (begun := _FUNCTION.match(line)) is not None:
            result += _with_ends(function, pads, name, parameters, handmade)
            name, function = begun.group(1), []
        if not name:
            result.append(line)
        else:
            function.append(line)
            if ".size" in line and _END.match(line) is not None:
                result += _with_ends(function, pads, name, parameters, handmade)
                name, function = "", []
    return "\n".join([*result, *_with_ends(function, pads, name, parameters, handmade)]) + "\n"


def _with_ends(lines: list[str], pads: set[str], name: str, parameters: Parameters, handmade: bool) -> Iterator[str]:
    """One function."""
    known_elsewhere = any(_TAKES_ADDRESS.match(line) or _PASSES.match(line) for line in lines)
    given = parameters(name) if any(_TAKES_PARAMETER.match(line) for line in lines) else 0
    wide = _WIDE.search("\n".join(lines)) is not None
    end = [_call(wide)] if given == 0 else _with_size("end", given)
    inside = False  # assembly that the program wrote itself
    for number, line in enumerate(lines):
        if "#" in line and (bare := line.strip()).startswith(("#APP", "#NO_APP")):
            inside = bare.startswith("#APP")
        compiled = not inside and not handmade
        if known_elsewhere and ((not inside and _returns(line)) or (compiled and _leaves(lines, number))):
            yield from end
        yield line
        is_pad = ":" in line and (label := line.split("#")[0].strip()).endswith(":") and label[:-1] in pads
        if is_pad or (not inside and "call" in line and _RETURNS_TWICE.match(line) is not None):
            yield _call(wide=False)
        elif given != 0 and compiled and _LAYS_FRAME.match(line) is not None:
            yield from _with_size("begin", given)


def _returns(line: str) -> bool:
    return "ret" in line and _RETURN.match(line) is not None


def _leaves(lines: list[str], number: int) -> bool:
    """Whether it is a jump to another function, in the place of a call and a return: there is no frame any more."""
    if "jmp" not in lines[number] or _JUMP.match(lines[number]) is None:
        return False
    for line in reversed(lines[:number]):
        if _LABEL.match(line) is not None:
            break
        if _GIVES_UP_FRAME.match(line) is not None:
            return True
    return False


def _call(wide: bool) -> str:
    """What a function returns is in rax and rdx, or in registers that are costly to keep."""
    return f"\tcall\tteetotal_{'wide_' if wide else ''}frame_ends@PLT"


def _with_size(what: str, size: int | None) -> list[str]:
    return [f"\tpushq\t${size or 0}", f"\tcall\tteetotal_parameters_{what}@PLT", "\tleaq\t8(%rsp), %rsp"]


def _landing_pads(lines: list[str]) -> Iterator[str]:
    """The third of each four entries of a table of call sites, where it is not 0."""
    end, entries = "", list[str]()
    for line in lines:
        if not end:
            if ".uleb128" in line and (size := _CALL_SITES.match(line)) is not None:
                end, entries = f"{size.group(1)}:", []
        elif line.split("#")[0].strip() == end:
            yield from (pad.rpartition("-")[0] for pad in entries[2::4] if "-" in pad)
            end = ""
        elif (entry := _ENTRY.match(line)) is not None:
            entries.append(entry.group(1))
