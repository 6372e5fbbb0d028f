"""Promela's expressions: C's operators on integers, and ``(a -> b : c)``."""

from __future__ import annotations

from teetotal.programs.expressions import BINDING
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.cursor import Cursor
from teetotal.programs.promela.folding import fold
from teetotal.programs.promela.lexer import Token

LONGEST_NUMBER = 20
"""Digits: more than any number has that a variable can hold."""


class ExpressionParser(Cursor):
    """``mtypes``: the constants that are declared so far."""

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self.mtypes: dict[str, int] = {}

    def expression(self) -> s.Expression:
        return fold(self.binary(1))

    def binary(self, weakest: int) -> s.Expression:
        """Operators that bind at least as tightly as the weakest."""
        left = self.unary()
        while self.token.kind == "punctuation" and (strength := BINDING.get(self.token.text, 0)) >= weakest:
            token = self.next()
            left = fold(s.Operation(token.text, (left, self.binary(strength + 1)), token.location))
        return left

    def unary(self) -> s.Expression:
        if self.at("!", "-", "~"):
            token = self.next()
            return fold(s.Operation(token.text, (self.unary(),), token.location))
        return self.primary()

    def primary(self) -> s.Expression:
        token = self.token
        if token.kind == "number":
            if len(token.text) > LONGEST_NUMBER:
                self.fail(f"a number of {len(token.text)} digits")
            return s.Number(int(self.next().text))
        if self.accept("("):
            inner = self.expression()
            if self.accept("->"):
                yes = self.expression()
                self.expect(":")
                inner = s.Operation("?:", (inner, yes, self.expression()), token.location)
            self.expect(")")
            return fold(inner)
        if self.accept("true", "skip"):
            return s.Number(1)
        if self.accept("false"):
            return s.Number(0)
        name = self.name("an expression")
        if name in self.mtypes:
            return s.Number(self.mtypes[name])
        index = None
        if self.accept("["):
            index = self.expression()
            self.expect("]")
        if self.accept("@"):
            return s.At(name, index, self.name("a label"), token.location)
        if self.at("."):
            self.fail("typedef is not supported; see docs/reference/promela.md")
        if self.at("?"):
            self.fail("channels are not supported; see docs/reference/promela.md")
        return s.Name(name, index, token.location)
