"""The end of a litmus test: ``locations``, ``filter``, and a condition on the final states.

herd's language, with herd's precedence: ``~`` (or ``not``) binds tightest, then ``=>`` (to the right), then ``/\\``,
then ``\\/``. So ``a /\\ b => c`` is ``a /\\ (b => c)``, which is not what a logician expects.

An atom compares a register ``0:rax`` or a location ``x`` (or ``[x]``) by ``=``, ``==``, ``!=`` or ``<>`` with

- a number;
- a name: the *address* of that location, as in herd; its contents are written ``[y]`` or ``*y``;
- another register, ``1:rbx``.

A test without a condition asks nothing: herd reads it as ``forall true``, and so does ``observation``.

Two things of Dat3M's may follow, which are read and mean nothing here, as there: what somebody expects of other models,
``with tso: ~exists; cc: exists;``, and how to run the test, ``<< … >>``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol, cast

from teetotal.programs.expressions import Addr, Const, Expr, Final, Op
from teetotal.programs.litmus.layout import Part
from teetotal.programs.litmus.tokens import Tokens, number
from teetotal.programs.program import Condition

_TOKEN = re.compile(
    r"""/\\ | \\/ | => | == | != | <> | -?0[xX][0-9a-fA-F]+ | -?[0-9]+ | [A-Za-z_.$%][\w.$]* | \S""",
    re.ASCII | re.VERBOSE,
)
_QUANTIFIERS = frozenset(("exists", "forall", "final"))
_NOT = frozenset(("~", "not"))
KEYWORDS = _QUANTIFIERS | _NOT | {"locations", "filter", "with", "observed", "Observed", "fault", "Fault"}
_NAME = re.compile(r"[A-Za-z_][\w.]*\Z", re.ASCII)


class Place(NamedTuple):
    """A register or location as a condition sees it: its ``value``, and how a number is brought into its range."""

    final: Final
    value: Expr
    fit: Callable[[int], int]


class Names(Protocol):
    """What the code before the condition declares."""

    def register(self, thread: int, name: str) -> Place | str:
        """The register, or what is wrong with it."""

    def location(self, name: str) -> Place | None: ...


class Question(NamedTuple):
    condition: Condition | None
    filter: Expr | None
    observed: tuple[Final, ...]


_HOW_TO_RUN = re.compile(r"<<.*?>>", re.DOTALL)


def parse(part: Part, file: str, names: Names) -> Question:
    text = _HOW_TO_RUN.sub(lambda match: "\n" * match[0].count("\n"), part.text)  # so that lines keep their numbers
    return _Parser(Tokens(_TOKEN, text, part.line, file), names).question()


def balanced(operator: str, operands: list[Expr]) -> Expr:
    """``a and b and …`` as a tree of little depth, so that no evaluator's stack minds how long it is."""
    while len(operands) > 1:
        pairs: list[Expr] = [Op(operator, (a, b)) for a, b in zip(operands[::2], operands[1::2], strict=False)]
        operands = pairs + operands[len(pairs) * 2 :]
    return operands[0]


class _Parser:
    def __init__(self, tokens: Tokens, names: Names) -> None:
        self.tokens = tokens
        self.names = names
        self.seen: dict[Final, None] = {}

    def question(self) -> Question:
        tokens = self.tokens
        if tokens.accept("locations"):
            self.locations()
        chosen = self.proposition() if tokens.accept("filter") else None
        condition = self.condition()
        tokens.accept(";")
        if condition is not None and tokens.accept("with"):
            self.expectations()
        if tokens.peek():
            tokens.fail(f"expected the end of the condition, found {tokens.describe()}")
        observed = sorted(self.seen, key=lambda what: (what.thread is None, what.thread or 0, what.name))
        return Question(condition, chosen, tuple(observed))

    def locations(self) -> None:
        tokens = self.tokens
        tokens.expect("[", "after `locations`")
        while not tokens.accept("]"):
            if tokens.peek(1) == "[":
                tokens.fail(f"`{tokens.peek()}[…]`: arrays are not supported")
            self.place("a register or location")
            if tokens.peek() not in (";", "]", "*"):  # a type says how to print: herd's business
                tokens.next()
            tokens.accept("*")
            if tokens.peek() != "]":
                tokens.expect(";", "between two locations")

    def condition(self) -> Condition | None:
        tokens = self.tokens
        token = tokens.peek()
        if token in _NOT and tokens.peek(1) == "exists":
            tokens.next()
            tokens.next()
            return Condition("~exists", self.proposition())
        if token in _QUANTIFIERS:
            tokens.next()
            quantifier = "exists" if token == "final" else token
            return Condition(cast(Literal["exists", "forall"], quantifier), self.proposition())
        if token == "(":
            return Condition("exists", self.proposition())
        if token in ("", ";"):
            return None
        tokens.fail(f"expected `exists`, `~exists`, `forall` or the end, found {tokens.describe()}")

    def expectations(self) -> None:
        """``tso: ~exists; cc: exists;``: at least one."""
        tokens = self.tokens
        while True:
            if _NAME.match(tokens.peek()) is None or tokens.peek() in KEYWORDS:
                tokens.fail(f"expected the name of a model after `with`, found {tokens.describe()}")
            tokens.next()
            tokens.expect(":", "after the name of a model")
            if tokens.peek() in _NOT:
                tokens.next()
            tokens.expect("exists", "as what is expected")
            tokens.expect(";", "after what is expected")
            if not tokens.peek():
                return

    def proposition(self) -> Expr:
        return self.chain("\\/", "or", lambda: self.chain("/\\", "and", self.implication))

    def chain(self, token: str, operator: str, operand: Callable[[], Expr]) -> Expr:
        first = operand()
        if self.tokens.peek() != token:
            return first
        operands = [first]
        while self.tokens.accept(token):
            operands.append(operand())
        return balanced(operator, operands)

    def implication(self) -> Expr:
        first = self.negation()
        if not self.tokens.accept("=>"):
            return first
        self.tokens.deeper()
        second = self.implication()
        self.tokens.shallower()
        return Op("or", (Op("not", (first,)), second))

    def negation(self) -> Expr:
        tokens = self.tokens
        token = tokens.peek()
        if token in _NOT or token == "(":
            tokens.next()
            tokens.deeper()
            if token == "(":
                inner = self.proposition()
                tokens.expect(")", "to close a parenthesis")
            else:
                inner = Op("not", (self.negation(),))
            tokens.shallower()
            return inner
        if token in ("true", "false"):
            tokens.next()
            return Const(int(token == "true"))
        return self.atom()

    def atom(self) -> Expr:
        tokens = self.tokens
        if tokens.peek(1) == "[":
            tokens.fail(f"`{tokens.peek()}[…]`: arrays are not supported")
        left = self.place("a register or location")
        operator = tokens.next()
        if operator not in ("=", "==", "!=", "<>"):
            tokens.position -= bool(operator)
            tokens.fail(f"expected `=` after {left.final}, found {tokens.describe()}")
        return Op("==" if operator in ("=", "==") else "!=", (left.value, self.right(left)))

    def right(self, left: Place) -> Expr:
        tokens = self.tokens
        token = tokens.peek()
        if tokens.peek(1) == ":" or token in ("[", "*"):
            tokens.accept("*")
            return self.place("a value").value
        value = number(token)
        if value is not None:
            tokens.next()
            return Const(left.fit(value))
        if token.lstrip("-")[:1].isdigit():
            tokens.fail(f"`{token[:40]}` is not a number of at most 64 bits")
        tokens.accept("&")
        name = tokens.peek()
        if _NAME.match(name) is None or name in KEYWORDS:
            tokens.fail(f"expected a number, a location or a register after {left.final}=, found {tokens.describe()}")
        if self.names.location(name) is None:
            tokens.fail(f"the condition compares with the address of {name}, which the test does not use")
        tokens.next()
        return Addr(name)

    def place(self, what: str) -> Place:
        """``0:rax``, ``P0:rax``, ``x`` or ``[x]``."""
        tokens = self.tokens
        token = tokens.peek()
        if tokens.peek(1) == ":":
            thread = token[1:] if token[:1] == "P" else token
            if not (thread.isascii() and thread.isdigit() and len(thread) < 6):
                tokens.fail(f"`{token[:40]}:` does not name a thread")
            name = tokens.peek(2)
            found = self.names.register(int(thread), name)
            if isinstance(found, str):
                tokens.fail(found)
            tokens.position += 3
            self.seen[found.final] = None
            return found
        bracket = tokens.accept("[")
        name = tokens.peek()
        if _NAME.match(name) is None or name in KEYWORDS:
            tokens.fail(f"expected {what}, found {tokens.describe()}")
        found_location = self.names.location(name)
        if found_location is None:
            tokens.fail(f"the condition asks about {name}, which the test does not use")
        tokens.next()
        if bracket:
            tokens.expect("]", "to close a bracket")
        self.seen[found_location.final] = None
        return found_location
