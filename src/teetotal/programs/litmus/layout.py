"""A litmus file cut into its parts: header, information, initial state, code, condition.

herd's layout, which every architecture shares::

    X86_64 SB                                  architecture and name
    "Fre PodWR Fre PodWR"                      a doc string, which nobody needs
    Generator=diy7                             information: one Key=value a line
    { uint64_t x; uint64_t y; 0:rax=5; }       initial state
     P0            | P1            ;           code: columns, or C functions
     movq $1,(x)   | movq $1,(y)   ;
     movq (y),%rax | movq (x),%rax ;
    locations [x;] exists (0:rax=0 /\\ 1:rax=0)

Comments ``(* … *)`` nest and may stand anywhere after the header, but not inside C functions, where ``(*`` is a pointer
that is followed and comments are C's own. A comment becomes blanks, so that lines keep their numbers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location

_HEADER = re.compile(r"\s*(\w+)[ \t]+([\w./+\[\]-]+)[ \t\r]*(?:\([^)\n]*\)[ \t\r]*)?", re.ASCII)
_BEFORE_INIT = re.compile(
    r"""\s+ | ; | "[^"]*" | (?P<comment>\(\*) | (?P<key>[A-Za-z][\w./-]*)[ \t]*=(?P<value>[^\n]*) | (?P<init>\{) |
        [^\n{"(;=]+ | .""",
    re.ASCII | re.VERBOSE,
)
_CONDITION = re.compile(
    r"(?<![\w./-])(?:~\s*exists|not\s+exists|exists|forall|final|locations|filter|observed|Observed|cases)(?![\w./-])",
    re.ASCII,
)
_COMMENT_MARK = re.compile(r"\(\*|\*\)")
_C_PART = re.compile(
    r"""(?P<blank>/\*.*?\*/|//[^\n]*) | (?P<comment>\(\*) | (?P<brace>[{}]) | (?P<open>/\*) | \w+ | .""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)
_WORDS_OF_A_CONDITION = frozenset(("exists", "forall", "final", "locations", "filter", "observed", "Observed", "not"))
_NOT_NEWLINE = re.compile(r"[^\n]")


class Part(NamedTuple):
    """A piece of the file and the line on which it begins."""

    text: str
    line: int


class Layout(NamedTuple):
    architecture: str
    name: str
    info: dict[str, str]
    init: Part
    code: Part
    condition: Part


def split(text: str, file: str) -> Layout:
    if not text.strip():
        raise ParseError("the file is empty", Location(file, 1))
    if text.startswith("\ufeff"):
        text = text[1:]
    header = _HEADER.match(text)
    if header is None:
        raise ParseError(
            "not a litmus test: the first line should name an architecture and a test, as in `X86_64 SB`",
            Location(file, 1),
        )
    architecture, name = header.groups()
    info, start = _find_init(text, header.end(), file)
    if "(*" in text:
        text = _blank(text, start, _end_of_init(text, start, file) if architecture == "C" else len(text), file)
    end = text.find("}", start)
    if end < 0:
        raise ParseError("the initial state has no closing `}`: is the file cut off?", _at(text, start, file))
    if architecture == "C":
        code_end, text = _end_of_functions(text, end + 1, file)
        text = _blank(text, code_end, len(text), file)
    else:
        condition = _CONDITION.search(text, end)
        code_end = len(text) if condition is None else condition.start()

    line_of_init = 1 + text.count("\n", 0, start)
    line_of_code = line_of_init + text.count("\n", start, end)
    line_of_condition = line_of_code + text.count("\n", end, code_end)
    return Layout(
        architecture,
        name,
        info,
        Part(text[start:end], line_of_init),
        Part(text[end + 1 : code_end], line_of_code),
        Part(text[code_end:], line_of_condition),
    )


def _find_init(text: str, position: int, file: str) -> tuple[dict[str, str], int]:
    """The ``Key=value`` lines, and where the initial state begins, just behind its ``{``."""
    info: dict[str, str] = {}
    while match := _BEFORE_INIT.match(text, position):
        position = match.end()
        kind = match.lastgroup
        if kind == "value":
            info[match["key"]] = match["value"].strip()
        elif kind == "init":
            return info, position
        elif kind == "comment":
            position = _end_of_comment(text, match.start(), file)
    raise ParseError("no initial state: a litmus test has one in braces, as in `{ x=0; }`", Location(file, 1))


def _end_of_comment(text: str, start: int, file: str) -> int:
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark[0] == "(*" else -1
        if depth == 0:
            return mark.end()
    raise ParseError("a comment `(*` is never closed", _at(text, start, file))


def _end_of_init(text: str, start: int, file: str) -> int:
    """Where the initial state ends, looking past the comments in it."""
    position = start
    while True:
        end, comment = text.find("}", position), text.find("(*", position)
        if end < 0 or comment < 0 or end < comment:
            return end if end >= 0 else len(text)
        position = _end_of_comment(text, comment, file)


def _blank(text: str, start: int, end: int, file: str) -> str:
    """The same text with blanks for the comments that begin between start and end."""
    pieces = [text[:start]]
    position = start
    while (comment := text.find("(*", position, end)) >= 0:
        close = _end_of_comment(text, comment, file)
        pieces += [text[position:comment], _NOT_NEWLINE.sub(" ", text[comment:close])]
        position = close
    return "".join([*pieces, text[position:]])


def _end_of_functions(text: str, start: int, file: str) -> tuple[int, str]:
    """Where the C functions end and the condition begins, and the text with blanks for the comments before that."""
    depth, position, end = 0, start, len(text)
    pieces = [text[:start]]
    while position < end:
        match = _C_PART.match(text, position)
        assert match is not None
        kind, piece = match.lastgroup, match[0]
        position = match.end()
        if kind == "open" or (kind == "comment" and depth == 0):
            if kind == "open":
                raise ParseError("a comment `/*` is never closed", _at(text, match.start(), file))
            position = _end_of_comment(text, match.start(), file)
            pieces.append(_NOT_NEWLINE.sub(" ", text[match.start() : position]))
            continue
        if kind == "brace":
            depth += 1 if piece == "{" else -1
        elif depth == 0 and (piece == "~" or piece in _WORDS_OF_A_CONDITION):
            return match.start(), "".join([*pieces, text[match.start() :]])
        pieces.append(_NOT_NEWLINE.sub(" ", piece) if kind == "blank" else piece)
    return end, "".join(pieces)


def _at(text: str, position: int, file: str) -> Location:
    return Location(file, 1 + text.count("\n", 0, position))
