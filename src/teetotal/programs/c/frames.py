"""Tells the runtime where frames end, by calls put into the compiler's assembly.

A stack is memory like any other once threads share what lies on it, but nothing in the code says when that memory dies.
A function that lets the address of its own frame out calls ``teetotal_frame_ends`` just before it returns. Where frames
end without a return, everything below the frame that goes on is dead: there the call is put at the landing pads of
exceptions (the tables in ``.gcc_except_table`` name them) and behind each call that may return twice (``setjmp``). The
call keeps every register; what it finds dead is all below the stack pointer. Functions that keep their frame to
themselves are left as they are: nobody can look there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FUNCTION = re.compile(r"^\s*\.type\s+(\S+),\s*@function\b")
_END = re.compile(r"^\s*\.size\s+(\S+),")
_TAKES_ADDRESS = re.compile(
    r"^\s*(?:lea\w*\s+[^#]*\(%r[bs]p\b[^#]*\)|mov\w*\s+%r[bs]p|add\w*\s+%r[bs]p|sub\w*\s+%r[bs]p)\s*,\s*%(?!r[bs]p\b)"
)
_RETURN = re.compile(r"^\s*(?:rep[nz]*[;\s]+)?ret[qlw]?\b")
_WIDE = re.compile(r"%[xyz]mm|%st\b|^\s*fi?ld", re.MULTILINE)
_RETURNS_TWICE = re.compile(r"^\s*call\w*\s+\*?(?:_?setjmp|_{0,2}sigsetjmp|getcontext)\b")
_CALL_SITES = re.compile(r"^\s*\.uleb128\s+(\.LLSDACSE\d+|\.Lcst_end\d+)-(\S+)")
"""The size of a table of call sites, as gcc and clang write it: its end, its begin."""
_ENTRY = re.compile(r"^\s*\.(?:uleb128|byte)\s+([^\s#]+)")


def mark_ends(text: str) -> str:
    """The assembly with a call wherever frames end whose addresses may be known elsewhere."""
    lines = text.splitlines()
    pads = set(_landing_pads(lines))
    result: list[str] = []
    function: list[str] | None = None
    for line in lines:
        # The function before may be another name for this one, without a size.
        if "@function" in line and _FUNCTION.match(line) is not None:
            result += _with_ends(function or [], pads)
            function = []
        if function is None:
            result.append(line)
        else:
            function.append(line)
            if ".size" in line and _END.match(line) is not None:
                result += _with_ends(function, pads)
                function = None
    return "\n".join([*result, *_with_ends(function or [], pads)]) + "\n"


def _with_ends(lines: list[str], pads: set[str]) -> Iterator[str]:
    """One function."""
    known_elsewhere = any(_TAKES_ADDRESS.match(line) for line in lines)
    wide = _WIDE.search("\n".join(lines)) is not None
    inside = False  # assembly that the program wrote itself
    for line in lines:
        if "#" in line and (bare := line.strip()).startswith(("#APP", "#NO_APP")):
            inside = bare.startswith("#APP")
        if known_elsewhere and not inside and "ret" in line and _RETURN.match(line) is not None:
            yield _call(wide)
        yield line
        is_pad = ":" in line and (label := line.split("#")[0].strip()).endswith(":") and label[:-1] in pads
        if is_pad or (not inside and "call" in line and _RETURNS_TWICE.match(line) is not None):
            yield _call(wide=False)


def _call(wide: bool) -> str:
    """What a function returns is in rax and rdx, or in registers that are costly to keep."""
    return f"\tcall\tteetotal_{'wide_' if wide else ''}frame_ends@PLT"


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
