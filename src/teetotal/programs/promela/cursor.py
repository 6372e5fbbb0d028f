"""A place in a file's tokens: what is next, what was expected, and what is refused by name."""

from __future__ import annotations

from typing import NoReturn, get_args

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.lexer import Token

TYPES: tuple[str, ...] = get_args(s.TypeName)
REFUSED = {
    "chan": "channels",
    "typedef": "typedef",
    "never": "never claims",
    "ltl": "ltl formulas (use forbidden)",
    "unless": "unless",
    "timeout": "timeout",
    "provided": "provided",
    "priority": "priority",
    "unsigned": "unsigned",
    "c_code": "embedded C",
    "c_expr": "embedded C",
    "c_decl": "embedded C",
    "_nr_pr": "_nr_pr",
    "_last": "_last",
    "enabled": "enabled()",
    "np_": "np_",
}
_OTHERS = (
    "if fi do od else goto break atomic d_step assert skip active proctype init run inline ghost forbidden mfence sfence "
    "cas xchg fetch_add lock unlock printf select for true false hidden show local"
)
KEYWORDS = {*TYPES, *REFUSED, *_OTHERS.split()}


class Cursor:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def at(self, *texts: str) -> bool:
        return self.token.kind in ("name", "punctuation") and self.token.text in texts

    def next(self) -> Token:
        token = self.token
        self.position += token.kind != "end"
        return token

    def accept(self, *texts: str) -> bool:
        if self.at(*texts):
            self.next()
            return True
        return False

    def expect(self, text: str, why: str = "") -> Token:
        if not self.at(text):
            self.fail(f"expected {text!r}{why}, found {self.token.text!r}")
        return self.next()

    def name(self, what: str) -> str:
        if self.token.kind == "name" and self.token.text in REFUSED:
            self.refuse()
        if self.token.kind != "name" or self.token.text in KEYWORDS:
            self.fail(f"expected {what}, found {self.token.text!r}")
        return self.next().text

    def fail(self, message: str, location: Location | None = None) -> NoReturn:
        raise ParseError(message, location or self.token.location)

    def refuse(self) -> NoReturn:
        self.fail(f"{REFUSED[self.token.text]} is not supported; see docs/reference/promela.md")
