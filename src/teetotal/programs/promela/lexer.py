"""Promela's tokens, with ``#define`` applied: every token remembers the line, and the part of the file, it came from.

A token that a macro produced carries the place of the macro's outermost use, since that is where a person would look
and the only place where text could be inserted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location

HEADER = "teetotal.h"
"""The header that makes a file run under SPIN. Its words are built in here, so including it changes nothing."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\\\r?\n)
      | (?P<newline>\n)
      | (?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<number>\d+)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<character>'(?:[^'\\\n]|\\.)')
      | (?P<punctuation>::|->|\.\.|\+\+|--|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%&|^~!<>=(){}\[\];:,.@?\#])""",
    re.VERBOSE | re.DOTALL,
)

_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "b": 8, "f": 12, "v": 11, "a": 7, "\\": 92, "'": 39, '"': 34}
TokenKind = Literal["number", "name", "string", "punctuation", "end"]


LARGEST_EXPANSION = 50_000
"""Tokens that a text may have once its macros are expanded."""


class Token(NamedTuple):
    """``start`` and ``end`` are offsets in the file. ``macro`` is the offset of the outermost macro use, or None."""

    kind: TokenKind
    text: str
    location: Location
    start: int
    end: int
    macro: int | None = None


class _Macro(NamedTuple):
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


def _code(character: str, here: Location) -> int:
    """Of a character as C writes it."""
    escaped = character[0] == "\\"
    if escaped and character[1] not in _ESCAPES:
        raise ParseError(f"the character {character} is not supported", here)
    return _ESCAPES[character[1]] if escaped else ord(character)


def tokens(text: str, file: str) -> list[Token]:
    """All tokens of a file, macros expanded, ended by one of kind ``end``."""
    source = _Preprocessor(text, file)
    result = list(source.run())
    last = Location(file, text.count("\n") + 1)
    return [*result, Token("end", "end of file", last, len(text), len(text))]


class _Preprocessor:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.macros: dict[str, _Macro] = {}

    def run(self) -> Iterator[Token]:
        lines = self._lines()
        pending: list[Token] = []
        skipping: list[bool] = []
        opened: list[Location] = []
        for line in lines:
            if line and line[0].text == "#":
                yield from self._expand(pending)
                pending = []
                self._directive(line, skipping, opened)
            elif not any(skipping):
                pending += line
        if skipping:
            raise ParseError("#ifdef without its #endif", opened[-1])
        yield from self._expand(pending)

    def _lines(self) -> Iterator[list[Token]]:
        """Raw tokens by line; a directive may run over several with a backslash."""
        position, line, current = 0, 1, list[Token]()
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            here = Location(self.file, line)
            if self.text.startswith("/*", position) and (match is None or match.lastgroup != "comment"):
                raise ParseError("a comment that nothing closes", here)
            if match is None:
                raise ParseError(f"{self.text[position]!r} is not Promela", here)
            kind, found = match.lastgroup, match.group()
            if kind == "newline":
                yield current
                current = []
            elif kind == "character":
                current.append(Token("number", str(_code(found[1:-1], here)), here, position, match.end()))
            elif kind not in ("space", "comment"):
                current.append(Token(kind, found, here, position, match.end()))  # type: ignore[arg-type]
            line += found.count("\n")
            position = match.end()
        yield current

    def _directive(self, line: list[Token], skipping: list[bool], opened: list[Location]) -> None:
        here = line[0].location
        word = line[1].text if len(line) > 1 else ""
        rest = line[2:]
        match word:
            case "ifdef" | "ifndef" if rest:
                skipping.append((rest[0].text in self.macros) == (word == "ifndef"))
                opened.append(here)
            case "else" | "endif" if not skipping:
                raise ParseError(f"#{word} without an #ifdef", here)
            case "else":
                skipping[-1] = not skipping[-1]
            case "endif":
                skipping.pop()
                opened.pop()
            case _ if any(skipping):
                pass
            case "define" if rest and rest[0].kind == "name":
                self._define(rest, here)
            case "undef" if rest:
                self.macros.pop(rest[0].text, None)
            case "include" if rest and rest[0].text == f'"{HEADER}"':
                pass
            case "include":
                raise ParseError(f'only "{HEADER}" can be included', here)
            case _:
                raise ParseError(f"#{word} is not supported; #define, #undef, #ifdef, #ifndef, #else, #endif are", here)

    def _define(self, rest: list[Token], here: Location) -> None:
        name, body = rest[0], rest[1:]
        parameters: tuple[str, ...] | None = None
        if body and body[0].text == "(" and body[0].start == name.end:
            close = next((i for i, token in enumerate(body) if token.text == ")"), None)
            if close is None:
                raise ParseError(f"the parameters of macro {name.text} are not closed", here)
            inside = body[1:close]
            if any(t.kind != "name" if i % 2 == 0 else t.text != "," for i, t in enumerate(inside)):
                raise ParseError(f"the parameters of macro {name.text} are not names", here)
            parameters = tuple(t.text for t in inside[::2])
            body = body[close + 1 :]
        self.macros[name.text] = _Macro(parameters, tuple(body))

    def _expand(self, line: list[Token], inside: tuple[str, ...] = ()) -> list[Token]:
        result: list[Token] = []
        position = 0
        while position < len(line):
            token = line[position]
            position += 1
            macro = self.macros.get(token.text) if token.kind == "name" and token.text not in inside else None
            if macro is None:
                result.append(token)
                continue
            end, body = token.end, macro.body
            if macro.parameters is not None:
                if position == len(line) or line[position].text != "(":
                    result.append(token)
                    continue
                arguments, position = self._arguments(token, line, position)
                end = line[position - 1].end
                if len(arguments) != len(macro.parameters):
                    wanted = len(macro.parameters)
                    raise ParseError(
                        f"macro {token.text} takes {wanted} arguments, not {len(arguments)}", token.location
                    )
                # As in C, before they take the parameters' places: there a macro may stand in its own argument.
                expanded = [self._expand(argument, inside) for argument in arguments]
                given = dict(zip(macro.parameters, expanded, strict=True))
                body = tuple(t for b in body for t in given.get(b.text, [b]))
            use = token.start if token.macro is None else token.macro
            placed = [t._replace(location=token.location, start=token.start, end=end, macro=use) for t in body]
            result += self._expand(placed, (*inside, token.text))
            if len(result) > LARGEST_EXPANSION:
                raise ParseError(f"macro {token.text} makes more than {LARGEST_EXPANSION:,} tokens", token.location)
        return result

    @staticmethod
    def _arguments(name: Token, line: list[Token], position: int) -> tuple[list[list[Token]], int]:
        """The arguments of a macro's use, whose ``(`` stands at ``position``, and the position after its ``)``."""
        arguments: list[list[Token]] = [[]]
        depth = 0
        while position < len(line):
            text = line[position].text
            depth += (text in "([{") - (text in ")]}")
            if depth == 0:
                return ([] if arguments == [[]] else arguments), position + 1
            if text == "," and depth == 1:
                arguments.append([])
            elif not (text == "(" and depth == 1 and arguments == [[]] and line[position - 1] is name):
                arguments[-1].append(line[position])
            position += 1
        raise ParseError(f"the arguments of macro {name.text} are not closed", name.location)
