"""herd's ``C``: functions ``P0 (atomic_int* x) { … }`` as threads of a Program.

A parameter points to the shared location of its own name. A local variable is a register: 0 until it is assigned, one
register for the whole function whatever the block. Statements: declarations, assignments, ``if``, ``while``, ``do``,
``break``, ``continue``, ``return``, ``goto`` and labels (which herd does not have), and calls of ``c_calls``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.errors import ParseError
from teetotal.events import Location
from teetotal.programs.expressions import Const, Expr, Final, Reg, wrap
from teetotal.programs.litmus import conditions
from teetotal.programs.litmus.c_code import Code, Label
from teetotal.programs.litmus.c_expressions import SMALL, TOKEN, Expressions
from teetotal.programs.litmus.conditions import Place
from teetotal.programs.litmus.folding import op
from teetotal.programs.litmus.init import UNSIGNED, WIDTHS, Initial
from teetotal.programs.litmus.layout import Layout
from teetotal.programs.litmus.tokens import Tokens
from teetotal.programs.program import Program, Thread, refuse_many

_THREAD = re.compile(r"P([0-9]{1,5})\Z")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_NARROW = frozenset(name for name, width in WIDTHS.items() if width < 32) - {"bool", "_Bool", "atomic_bool"}
TYPES = frozenset(WIDTHS) | {"_Atomic", "volatile", "const", "signed", "register", "struct", "void", "static"}
STATEMENTS = frozenset(("if", "else", "while", "do", "for", "break", "continue", "return", "goto", "switch", "case"))
_COMPOUND = {f"{sign}=": sign for sign in "+-*&|^"}


class Loop(NamedTuple):
    again: Label
    out: Label


class Function(NamedTuple):
    thread: int
    code: Code
    locations: list[str]


def read(layout: Layout, initial: Initial, file: str) -> Program:
    for name, width in initial.types.items():
        if width < 32:
            raise ParseError(
                f"{name} is declared with {width} bits: less than 32 is not supported", _line(layout, file)
            )
    tokens = Tokens(TOKEN, layout.code.text, layout.code.line, file)
    taken = frozenset(tokens.tokens)
    unsigned = _unsigned(layout, initial, file)
    functions: dict[int, Function] = {}
    while tokens.peek():
        function = _function(tokens, functions, taken, unsigned)
        functions[function.thread] = function
        refuse_many(threads=len(functions), location=tokens.location)
    if not functions:
        raise ParseError("no code: expected functions, as in `P0 (int* x) { … }`", Location(file, layout.code.line))
    if max(functions) >= len(functions):
        raise ParseError(
            f"threads are numbered from P0 without a gap, but there is P{max(functions)}",
            Location(file, layout.code.line),
        )
    names = _Names([functions[i] for i in range(len(functions))], initial, file)
    question = conditions.parse(layout.condition, file, names)
    threads = tuple(
        Thread(f"P{i}", function.code.finish(), function.code.registers) for i, function in enumerate(names.functions)
    )
    return Program(
        name=layout.name,
        threads=threads,
        memory=names.memory,
        condition=question.condition,
        filter=question.filter,
        observed=question.observed,
        source=file,
    )


def _line(layout: Layout, file: str) -> Location:
    return Location(file, layout.init.line)


class _Names:
    """Locations and local variables, for the condition."""

    def __init__(self, functions: list[Function], initial: Initial, file: str) -> None:
        self.functions = functions
        names = dict.fromkeys([*initial.memory, *(name for function in functions for name in function.locations)])
        numbers = {name: 1 + i for i, name in enumerate(names)}

        def value(start: int | str) -> int:
            return numbers[start] if isinstance(start, str) else wrap(start)

        self.memory = {name: value(initial.memory.get(name, 0)) for name in names}
        for (thread, name), (start, line) in initial.registers.items():
            known = self.register(thread, name)
            if isinstance(known, str):
                raise ParseError(f"initial state: {known}", Location(file, line))
            functions[thread].code.registers[name] = value(start)

    def register(self, thread: int, name: str) -> Place | str:
        if thread >= len(self.functions):
            return f"thread {thread} is asked about, but there are {len(self.functions)} threads"
        code = self.functions[thread].code
        if name not in code.registers or name not in code.taken:
            return f"{thread}:{name} is asked about, which P{thread} does not declare"
        final = Final(thread, name)
        return Place(final, final, wrap)

    def location(self, name: str) -> Place | None:
        final = Final(None, name)
        return Place(final, final, wrap) if name in self.memory else None


def _unsigned(layout: Layout, initial: Initial, file: str) -> str | None:
    """An unsigned type that the test uses: see ``c_expressions``."""
    found = UNSIGNED.search(layout.init.text) or UNSIGNED.search(layout.code.text)
    if found is None:
        return None
    for value in [*initial.memory.values(), *(start for start, _ in initial.registers.values())]:
        if isinstance(value, int) and not 0 <= value < SMALL:
            raise ParseError(
                f"initial state: `{value}` is not supported in a test with an unsigned type ({found[0]})",
                _line(layout, file),
            )
    return found[0]


def _function(tokens: Tokens, functions: dict[int, Function], taken: frozenset[str], unsigned: str | None) -> Function:
    while tokens.peek() in ("static", "void"):
        tokens.next()
    match = _THREAD.match(tokens.peek())
    if match is None:
        tokens.fail(f"expected a function P{len(functions)}, found {tokens.describe()}")
    thread = int(match[1])
    if thread in functions:
        tokens.fail(f"two threads are called P{thread}")
    tokens.next()
    locations = _parameters(tokens)
    code = Code(taken)
    _Body(tokens, code, locations, unsigned).function()
    return Function(thread, code, locations)


def _parameters(tokens: Tokens) -> list[str]:
    tokens.expect("(", "before the parameters")
    names: list[str] = []
    if tokens.peek() == "void" and tokens.peek(1) == ")":
        tokens.next()
    while not tokens.accept(")"):
        words: list[str] = []
        while tokens.peek() not in (",", ")", ""):
            words.append(tokens.next())
        if len(words) < 3 or "*" not in words[1:-1] or not all(word == "*" or _NAME.match(word) for word in words):
            tokens.fail(f"`{' '.join(words)[:60]}`: a parameter is a pointer to a shared location, as in `int* x`")
        if narrow := _NARROW.intersection(words):
            tokens.fail(f"the type {' '.join(sorted(narrow))} is not supported")
        if words[-1] in names:
            tokens.fail(f"two parameters are called {words[-1]}")
        names.append(words[-1])
        if not tokens.accept(",") and tokens.peek() != ")":
            tokens.fail(f"expected `,` or `)` after a parameter, found {tokens.describe()}")
    return names


class _Body:
    """The statements of one function."""

    def __init__(self, tokens: Tokens, code: Code, locations: list[str], unsigned: str | None) -> None:
        self.tokens = tokens
        self.code = code
        self.locations = set(locations)
        self.expressions = Expressions(tokens, code, self.locations, unsigned)
        self.labels: dict[str, Label] = {}
        self.bound: set[str] = set()
        self.gotos: dict[str, Location] = {}
        self.end = Label()

    def function(self) -> None:
        self.tokens.expect("{", "before the body of a function")
        self.block(None)
        self.code.bind(self.end)
        for name, place in self.gotos.items():
            if name not in self.bound:
                raise ParseError(f"goto {name}, which is no label of this function", place)

    def block(self, loop: Loop | None) -> None:
        """Up to and with the closing brace."""
        self.tokens.deeper()
        declared: set[str] = set()
        while not self.tokens.accept("}"):
            if not self.tokens.peek():
                self.tokens.fail("a `}` is missing: is the file cut off?")
            self.statement(loop, declared)
        self.tokens.shallower()

    def statement(self, loop: Loop | None, declared: set[str]) -> None:
        tokens, code = self.tokens, self.code
        code.here = tokens.location
        token = tokens.peek()
        if tokens.accept("{"):
            self.block(loop)
        elif tokens.accept(";"):
            pass
        elif token in ("if", "while", "do"):
            tokens.next()
            tokens.deeper()
            {"if": self.if_, "while": self.while_, "do": self.do}[token](loop)
            tokens.shallower()
        elif token in ("break", "continue"):
            if loop is None:
                tokens.fail(f"{token} stands outside of a loop")
            tokens.next()
            self.semicolon(token)
            code.jump(loop.out if token == "break" else loop.again)
        elif token == "return":
            tokens.next()
            self.semicolon(token)
            code.jump(self.end)
        elif token == "goto":
            tokens.next()
            self.gotos.setdefault(tokens.peek(), tokens.location)
            code.jump(self.label(tokens.next()))
            self.semicolon(token)
        elif token in STATEMENTS:
            tokens.fail(f"`{token}` is not supported")
        elif token in TYPES:
            self.declaration(declared)
        elif tokens.peek(1) == ":" and _NAME.match(token):
            if token in self.bound:
                tokens.fail(f"the label {token} stands twice")
            self.bound.add(token)
            code.bind(self.label(token))
            tokens.position += 2
        else:
            self.simple()
            self.semicolon("a statement")
        code.end_statement()

    def semicolon(self, what: str) -> None:
        self.tokens.expect(";", f"after {what}")

    def label(self, name: str) -> Label:
        return self.labels.setdefault(name, Label())

    def declaration(self, declared: set[str]) -> None:
        tokens = self.tokens
        while tokens.peek() in TYPES:
            if tokens.peek() in _NARROW:
                tokens.fail(f"the type {tokens.peek()} is not supported")
            if tokens.next() == "struct":
                tokens.next()
        while True:
            while tokens.accept("*"):
                pass
            name = tokens.peek()
            if _NAME.match(name) is None or name in STATEMENTS or name in TYPES:
                tokens.fail(f"expected the name of a variable, found {tokens.describe()}")
            if name in declared or name in self.locations:
                tokens.fail(f"{name} is declared twice")
            tokens.next()
            declared.add(name)
            self.code.registers.setdefault(name, 0)
            if tokens.accept("="):
                self.code.assign(name, self.expressions.expression())
            if not tokens.accept(","):
                break
        self.semicolon("a declaration")

    def simple(self) -> None:
        """An assignment, or an expression for what it does."""
        tokens, code = self.tokens, self.code
        name = tokens.peek()
        if name == "*":
            self.store()
        elif name in code.registers and tokens.peek(1) in ("=", "++", "--", *_COMPOUND):
            tokens.next()
            if tokens.peek() in ("--", "-=", "*="):
                self.expressions.may_wrap(tokens.peek())
            operator = tokens.next()
            if operator in ("++", "--"):
                code.assign(name, op(operator[0], Reg(name), Const(1)))
            elif operator == "=":
                code.assign(name, self.expressions.expression())
            else:
                code.assign(name, op(_COMPOUND[operator], Reg(name), self.expressions.expression()))
        elif tokens.peek(1) == "=" and _NAME.match(name):
            if name in self.locations:
                tokens.fail(f"{name} is a pointer: write `*{name} = …`")
            tokens.fail(f"{name} is not declared")
        elif tokens.peek(1) == "(" and _NAME.match(name):
            code.discard(self.expressions.call())
        else:
            code.discard(self.expressions.expression())

    def store(self) -> None:
        """``*pointer = value``, or an expression that begins with a star."""
        start, before = self.tokens.position, len(self.code.items)
        address = self.expressions.place("a store")
        if self.tokens.accept("="):
            self.code.store(address, self.expressions.expression())
            return
        if self.tokens.peek() != ";":
            self.tokens.fail(f"expected `=`, found {self.tokens.describe()}")
        self.tokens.position = start
        del self.code.items[before:]
        self.expressions.expression()

    # -- control --------------------------------------------------------------------------------------------------

    def test(self) -> Expr:
        self.tokens.expect("(", "before a test")
        value = self.expressions.expression()
        self.tokens.expect(")", "after a test")
        return value

    def if_(self, loop: Loop | None) -> None:
        otherwise = Label()
        self.code.jump(otherwise, op("not", self.test()))
        self.statement(loop, set())
        if self.tokens.accept("else"):
            done = Label()
            self.code.jump(done)
            self.code.bind(otherwise)
            self.statement(loop, set())
            otherwise = done
        self.code.bind(otherwise)

    def while_(self, _: Loop | None) -> None:
        loop = Loop(Label(), Label())
        self.code.bind(loop.again)
        self.code.jump(loop.out, op("not", self.test()))
        self.statement(loop, set())
        self.code.jump(loop.again)
        self.code.bind(loop.out)

    def do(self, _: Loop | None) -> None:
        loop, body = Loop(Label(), Label()), Label()
        self.code.bind(body)
        self.statement(loop, set())
        self.tokens.expect("while", "after the body of `do`")
        self.code.bind(loop.again)
        self.code.jump(body, self.test())
        self.semicolon("`do … while`")
        self.code.bind(loop.out)
