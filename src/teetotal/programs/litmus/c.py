"""herd's ``C``: functions ``P0 (atomic_int* x) { … }`` as threads of a Program.

A parameter points to the shared location of its own name. A local variable is a register: 0 until it is assigned, one
register for the whole function whatever the block. Statements: declarations, assignments, ``if``, ``while``, ``do``,
``break``, ``continue``, ``return``, ``goto`` and labels (which herd does not have), and calls of ``c_calls``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs.expressions import Const, Expr, Final, op
from teetotal.programs.labels import Label
from teetotal.programs.litmus import conditions
from teetotal.programs.litmus.c_code import Code
from teetotal.programs.litmus.c_expressions import TOKEN, Expressions
from teetotal.programs.litmus.c_types import PLAIN, CType, Typed, declared, fitted, has_unsigned
from teetotal.programs.litmus.conditions import Place
from teetotal.programs.litmus.init import WIDTHS, Initial
from teetotal.programs.litmus.layout import Layout
from teetotal.programs.litmus.tokens import Tokens
from teetotal.programs.program import Program, Thread, refuse_many

_THREAD = re.compile(r"P([0-9]{1,5})\Z")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_NARROW = frozenset(name for name, width in WIDTHS.items() if width < 32) - {"bool", "_Bool", "atomic_bool"}
TYPES = frozenset(WIDTHS) | {"_Atomic", "volatile", "const", "signed", "register", "struct", "void", "static"}
STATEMENTS = frozenset(("if", "else", "while", "do", "for", "break", "continue", "return", "goto", "switch", "case"))
_COMPOUND = tuple(f"{sign}=" for sign in "+-*&|^")


class Loop(NamedTuple):
    again: Label
    out: Label


class Function(NamedTuple):
    """``types``: of local variables and of pointers to shared locations, in a test with unsigned types."""

    thread: int
    code: Code
    locations: list[str]
    types: dict[str, CType] | None
    place: Location


def read(layout: Layout, initial: Initial, file: str) -> Program:
    for name, width in initial.types.items():
        if width < 32:
            raise ParseError(
                f"{name} is declared with {width} bits: less than 32 is not supported", _line(layout, file)
            )
    tokens = Tokens(TOKEN, layout.code.text, layout.code.line, file)
    taken = frozenset(tokens.tokens)
    typed = has_unsigned(layout.init.text, layout.code.text)
    functions: dict[int, Function] = {}
    while tokens.peek():
        function = _function(tokens, functions, taken, typed)
        functions[function.thread] = function
        refuse_many(threads=len(functions), location=tokens.location)
    if not functions:
        raise ParseError("no code: expected functions, as in `P0 (int* x) { … }`", Location(file, layout.code.line))
    if max(functions) >= len(functions):
        raise ParseError(
            f"threads are numbered from P0 without a gap, but there is P{max(functions)}",
            Location(file, layout.code.line),
        )
    ordered = [functions[i] for i in range(len(functions))]
    names = _Names(ordered, _types(ordered, initial, file) if typed else {}, initial, file)
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
    """Locations and local variables, for the condition. ``types`` are those of locations."""

    def __init__(self, functions: list[Function], types: dict[str, CType], initial: Initial, file: str) -> None:
        self.functions, self.types = functions, types
        names = dict.fromkeys([*initial.memory, *(name for function in functions for name in function.locations)])
        numbers = {name: 1 + i for i, name in enumerate(names)}

        def value(start: int | str, kind: CType) -> int:
            return numbers[start] if isinstance(start, str) else fitted(start, kind)

        self.memory = {name: value(initial.memory.get(name, 0), types.get(name, PLAIN)) for name in names}
        for (thread, name), (start, line) in initial.registers.items():
            known = self.register(thread, name)
            if isinstance(known, str):
                raise ParseError(f"initial state: {known}", Location(file, line))
            functions[thread].code.registers[name] = value(start, (functions[thread].types or {}).get(name, PLAIN))

    def register(self, thread: int, name: str) -> Place | str:
        if thread >= len(self.functions):
            return f"thread {thread} is asked about, but there are {len(self.functions)} threads"
        code = self.functions[thread].code
        if name not in code.registers or name not in code.taken:
            return f"{thread}:{name} is asked about, which P{thread} does not declare"
        return _place(Final(thread, name), (self.functions[thread].types or {}).get(name, PLAIN))

    def location(self, name: str) -> Place | None:
        return _place(Final(None, name), self.types.get(name, PLAIN)) if name in self.memory else None


def _place(final: Final, kind: CType) -> Place:
    return Place(final, final, lambda value: fitted(value, kind))


def _types(functions: list[Function], initial: Initial, file: str) -> dict[str, CType]:
    """What every location is: as its pointers say, else as the initial state does."""
    found = {name: declared(words) for name, words in initial.declared.items()}
    by: dict[str, CType] = {}
    for function in functions:
        for name in function.locations:
            pointer = (function.types or {})[name]
            kind = pointer._replace(stars=pointer.stars - 1)
            if by.setdefault(name, kind) != kind:
                raise ParseError(
                    f"{name} is a {by[name]} in one thread and a {kind} in another: not supported in a test with an "
                    "unsigned type",
                    function.place,
                )
            if not kind.stars and name in initial.types and initial.types[name] != kind.bits:
                raise ParseError(
                    f"{name} has {initial.types[name]} bits in the initial state and is a {kind} here: not supported in "
                    "a test with an unsigned type",
                    function.place,
                )
    return found | by


def _function(tokens: Tokens, functions: dict[int, Function], taken: frozenset[str], typed: bool) -> Function:
    while tokens.peek() in ("static", "void"):
        tokens.next()
    match = _THREAD.match(tokens.peek())
    if match is None:
        tokens.fail(f"expected a function P{len(functions)}, found {tokens.describe()}")
    thread, place = int(match[1]), tokens.location
    if thread in functions:
        tokens.fail(f"two threads are called P{thread}")
    tokens.next()
    locations = _parameters(tokens)
    code = Code(taken)
    types = dict(locations) if typed else None
    _Body(tokens, code, list(locations), types).function()
    return Function(thread, code, list(locations), types, place)


def _parameters(tokens: Tokens) -> dict[str, CType]:
    tokens.expect("(", "before the parameters")
    names: dict[str, CType] = {}
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
        names[words[-1]] = declared(words[:-1])
        if not tokens.accept(",") and tokens.peek() != ")":
            tokens.fail(f"expected `,` or `)` after a parameter, found {tokens.describe()}")
    return names


class _Body:
    """The statements of one function."""

    def __init__(self, tokens: Tokens, code: Code, locations: list[str], types: dict[str, CType] | None) -> None:
        self.tokens = tokens
        self.code = code
        self.locations = set(locations)
        self.expressions = Expressions(tokens, code, self.locations, types)
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

    def declaration(self, here: set[str]) -> None:
        tokens, words = self.tokens, list[str]()
        while tokens.peek() in TYPES:
            if tokens.peek() in _NARROW:
                tokens.fail(f"the type {tokens.peek()} is not supported")
            words.append(tokens.next())
            if words[-1] == "struct":
                tokens.next()
        while True:
            kind = declared(words)
            while tokens.accept("*"):
                kind = kind._replace(stars=kind.stars + 1)
            name = tokens.peek()
            if _NAME.match(name) is None or name in STATEMENTS or name in TYPES:
                tokens.fail(f"expected the name of a variable, found {tokens.describe()}")
            if name in here or name in self.locations:
                tokens.fail(f"{name} is declared twice")
            types = self.expressions.types
            if types is not None and types.setdefault(name, kind) != kind:
                tokens.fail(f"{name} is a {types[name]} elsewhere: not supported in a test with an unsigned type")
            tokens.next()
            here.add(name)
            self.code.registers.setdefault(name, 0)
            if tokens.accept("="):
                self.assign(name, self.expressions.typed())
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
            old = self.expressions.variable(name)
            tokens.next()
            operator = tokens.next()
            if operator == "=":
                self.assign(name, self.expressions.typed())
            else:
                one = Typed(Const(1), old.type)
                operand = one if operator in ("++", "--") else self.expressions.typed()
                self.assign(name, self.expressions.combined(operator[0], old, operand))
        elif tokens.peek(1) == "=" and _NAME.match(name):
            if name in self.locations:
                tokens.fail(f"{name} is a pointer: write `*{name} = …`")
            tokens.fail(f"{name} is not declared")
        elif tokens.peek(1) == "(" and _NAME.match(name):
            called = self.expressions.call()
            code.discard(None if called is None else called.value)
        else:
            code.discard(self.expressions.expression())

    def assign(self, name: str, value: Typed) -> None:
        self.code.assign(name, self.expressions.convert(value, self.expressions.type_of(name)))

    def store(self) -> None:
        """``*pointer = value``, or an expression that begins with a star."""
        start, before = self.tokens.position, len(self.code.items)
        pointer = self.expressions.place("a store")
        if self.tokens.accept("="):
            kind = self.expressions.pointee(pointer)
            self.code.store(pointer.value, self.expressions.expression(kind))
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
