"""The gaps between the statements of C and C++: where a fence can stand, and how it is written there; and the stores
whose order can be stronger (``c_orders``).

tree-sitter parses the text as it is, without headers and macros, and keeps the place of every token. A macro's call is a
statement like any other; what a macro does inside is one piece, in which no gap is found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from teetotal.answers.events import Kind
from teetotal.fences import c_atomics
from teetotal.fences.c_atomics import AtomicCall
from teetotal.fences.c_macros import NO_MACROS, Macros
from teetotal.fences.c_orders import Calls, StoreCall
from teetotal.fences.c_syntax import Node, parse
from teetotal.fences.edits import Edit, newline_of

_LEAVES = {"return_statement", "break_statement", "continue_statement", "goto_statement", "throw_statement"}
_LOOPS = {"for_statement", "while_statement", "do_statement", "for_range_loop"}
_GROUPS = {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"}
_NO_CODE = {"comment", "preproc_include", "preproc_def", "preproc_function_def", "preproc_call", "preproc_directive"}
_SEMICOLON = re.compile(r"\s*;")


class Statement(NamedTuple):
    """Of the text, from ``start`` to ``end``. Without braces (``bare``), the body of the ``if`` or loop whose head ends at
    ``head`` and which begins at ``owner``."""

    start: int
    end: int
    bare: bool
    head: int
    owner: int


class Gap(NamedTuple):
    """After a statement, or before the first one of its block."""

    statement: Statement
    before: bool
    in_loop: bool

    @property
    def at(self) -> int:
        return self.statement.start if self.before else self.statement.end


class ExistingFence(NamedTuple):
    statement: Statement
    kind: Kind
    in_loop: bool


class Gaps:
    """``stores`` are looked for with ``orders``, in the words of the ``kernel`` or in C's own, and with ``atomics`` every
    operation that has an order; nothing on the lines ``without``."""

    def __init__(
        self,
        text: str,
        cpp: bool,
        macros: Macros = NO_MACROS,
        *,
        orders: bool = False,
        kernel: bool = False,
        atomics: bool = False,
        without: Collection[int] = (),
    ) -> None:
        self.text, self.macros = text, macros
        self.newline = newline_of(text)
        data = text.encode()
        self._bytes = [] if len(data) == len(text) else list(accumulate(len(letter.encode()) for letter in text))
        self.gaps: list[Gap] = []
        self.fences: list[ExistingFence] = []
        self.stores: list[StoreCall] = []
        self.atomics: list[AtomicCall] = []
        self.unread: list[int] = []  # the lines that the parser did not understand
        self._calls = Calls(self._at, macros, cpp, kernel) if orders else None
        self._cpp, self._atomics = cpp, atomics
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._walk(parse(data, cpp))
        if without:
            self.gaps = [gap for gap in self.gaps if self.line(gap.at) not in without]
            self.stores = [store for store in self.stores if self.line(store.start) not in without]
            self.atomics = [call for call in self.atomics if self.line(call.start) not in without]

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def words(self, what: Statement | StoreCall | AtomicCall) -> str:
        return self.text[what.start : what.end].partition("\n")[0].strip()

    def beside(self, store: StoreCall) -> list[int]:
        """The gaps just before and after a store that is a statement, with nothing between."""
        semicolon = _SEMICOLON.match(self.text, store.end)
        if semicolon is None:
            return []
        previous = store.start
        while previous and self.text[previous - 1].isspace():
            previous -= 1
        before = self._places.get((store.start, True), ())
        after = [
            n for n in self._places.get((semicolon.end(), False), ()) if self.gaps[n].statement.start == store.start
        ]
        return [*before, *after, *self._places.get((previous, False), ())]

    @cached_property
    def _places(self) -> dict[tuple[int, bool], list[int]]:
        """The gaps by where they are, and whether before a statement."""
        found: dict[tuple[int, bool], list[int]] = {}
        for number, gap in enumerate(self.gaps):
            found.setdefault((gap.at, gap.before), []).append(number)
        return found

    # -- finding -------------------------------------------------------------------------------------------------------

    def _walk(self, root: Node) -> None:
        """From top to bottom, each node with whether a loop can run it again and whether it is code."""
        todo = [(root, False, False)]
        while todo:
            node, looping, in_code = todo.pop()
            if node.unread:
                self.unread.append(node.row + 1)
            if node.parent is not None and _is_body(node.parent, node):
                self._bare(node.parent, node, looping)
            if node.type == "function_definition":
                looping = False
                heads = {c.text for c in node.children if c.type in ("type_qualifier", "storage_class_specifier")}
                if heads & {"constexpr", "consteval"}:
                    continue
            inside = looping or node.type in _LOOPS
            in_code = in_code or node.type == "compound_statement"
            if in_code and node.type in ("compound_statement", "case_statement", "labeled_statement", *_GROUPS):
                self._block([child for child in node.named_children if _is_statement(child)], inside)
            if in_code and node.type == "call_expression" and self._calls is not None:
                store = self._calls.read(node, inside)
                if store is not None:
                    self.stores.append(store)
            if in_code and node.type == "call_expression" and self._atomics:
                call = c_atomics.read(node, self._at, self._cpp, inside, self.macros)
                if call is not None:
                    self.atomics.append(call)
            for child in reversed(node.children):
                once = node.type in _LOOPS and child.field == "initializer"
                todo.append((child, looping if once else inside, in_code))

    def _block(self, statements: list[Node], looping: bool) -> None:
        for position, node in enumerate(statements):
            if node.type in _GROUPS or node.type == "case_statement":  # those have gaps of their own inside
                continue
            statement = Statement(self._at(node.start_byte), self._at(node.end_byte), False, 0, 0)
            self._remember(statement, looping)
            previous = statements[position - 1] if position else None
            if previous is None or previous.type in (*_GROUPS, "case_statement"):
                self.gaps.append(Gap(statement, True, looping))
            whole = self.text[statement.start : statement.end].endswith(
                (";", "}")
            )  # not a macro that takes a statement
            if whole and node.type not in _LEAVES and not _ends_in_leave(node):
                self.gaps.append(Gap(statement, False, looping))

    def _bare(self, owner: Node, body: Node, looping: bool) -> None:
        before = [child for child in owner.children[: owner.children.index(body)] if child.type != "comment"]
        head = self._at(before[-1].end_byte if before else body.start_byte)
        top = owner.parent if owner.type == "else_clause" and owner.parent is not None else owner
        statement = Statement(self._at(body.start_byte), self._at(body.end_byte), True, head, self._at(top.start_byte))
        self._remember(statement, looping)
        self.gaps.append(Gap(statement, True, looping))
        if body.type not in _LEAVES:
            self.gaps.append(Gap(statement, False, looping))

    def _remember(self, statement: Statement, looping: bool) -> None:
        kind = self.macros.fence(self.text[statement.start : statement.end])
        if kind is not None:
            self.fences.append(ExistingFence(statement, kind, looping))

    def _at(self, byte: int) -> int:
        """tree-sitter counts bytes."""
        return bisect_right(self._bytes, byte) if self._bytes else byte

    # -- writing -------------------------------------------------------------------------------------------------------

    def wrapped(self, gaps: Sequence[tuple[Gap, str]]) -> list[Edit]:
        """Everything on the line where it was, so that no line moves, with braces around bodies that had none."""
        opening: dict[int, list[tuple[int, str]]] = {}
        closing: dict[int, list[tuple[int, str]]] = {}
        braced: set[Statement] = set()
        for gap, words in gaps:
            statement = gap.statement
            size = statement.end - statement.start
            if statement.bare and statement not in braced:
                braced.add(statement)
                opening.setdefault(statement.start, []).append((-size, "{ "))
                closing.setdefault(statement.end, []).append((2 * size + 1, " }"))
            if gap.before:
                opening.setdefault(statement.start, []).append((-size, f"{words} "))
            else:
                closing.setdefault(statement.end, []).append((2 * size, f" {words}"))
        edits = []
        for parts in (closing, opening):
            for at, pieces in parts.items():
                pieces.sort(key=lambda piece: piece[0])
                edits.append(Edit(at, at, "".join(words for _, words in pieces)))
        return edits

    def patch(self, added: Sequence[tuple[Gap, str, object]], removed: Sequence[Statement]) -> list[Edit]:
        """Fences put in, with their words and keys, and fences taken out."""
        gone = {statement.start: statement for statement in removed}
        edits: list[Edit] = []
        for gap, words, key in added:
            if gap.statement.start in gone:  # one fence in the place of another
                del gone[gap.statement.start]
                edits.append(Edit(gap.statement.start, gap.statement.end, words, key))
            else:
                edits += self.pretty(gap, words, key)
        edits += map(self.removal, gone.values())
        return list(dict.fromkeys(edits))  # two fences may ask for the same braces

    def pretty(self, gap: Gap, words: str, key: object) -> list[Edit]:
        """As a person would write it: a line of its own where the statement has one."""
        statement = gap.statement
        line_start = self._starts[self.line(statement.start) - 1]
        indent = self.text[line_start : statement.start]
        alone = not indent.strip()
        if statement.bare:
            return self._braced(gap, words, key, indent if alone else None)
        if not alone:
            at = statement.start if gap.before else statement.end
            return [Edit(at, at, f"{words} " if gap.before else f" {words}", key)]
        if gap.before:
            return [Edit(line_start, line_start, f"{indent}{words}{self.newline}", key)]
        end = self._end_of_line(statement.end)
        if end is None:
            return [Edit(statement.end, statement.end, f" {words}", key)]
        return [Edit(end, end, f"{self.newline}{indent}{words}", key)]

    def _braced(self, gap: Gap, words: str, key: object, indent: str | None) -> list[Edit]:
        statement = gap.statement
        owner_start = self._starts[self.line(statement.owner) - 1]
        head = self.text[owner_start : statement.owner]
        outer = head[: len(head) - len(head.lstrip())]
        end = self._end_of_line(statement.end)
        if indent is None or end is None:
            if gap.before:
                return [
                    Edit(statement.start, statement.start, f"{{ {words} ", key),
                    Edit(statement.end, statement.end, " }"),
                ]
            return [
                Edit(statement.start, statement.start, "{ "),
                Edit(statement.end, statement.end, f" {words} }}", key),
            ]
        close = f"{self.newline}{outer}}}"
        start = statement.start - len(indent)
        if gap.before:
            return [
                Edit(statement.head, statement.head, " {"),
                Edit(start, start, f"{indent}{words}{self.newline}", key),
                Edit(end, end, close),
            ]
        return [
            Edit(statement.head, statement.head, " {"),
            Edit(end, end, f"{self.newline}{indent}{words}{close}", key),
        ]

    def removal(self, statement: Statement) -> Edit:
        """The whole line, where nothing else is on it."""
        line_start = self._starts[self.line(statement.start) - 1]
        line_end = self.text.find("\n", statement.end)
        line_end = len(self.text) if line_end < 0 else line_end + 1
        if statement.bare:
            return Edit(statement.start, statement.end, ";")
        if self.text[line_start : statement.start].strip() or self.text[statement.end : line_end].strip():
            return Edit(statement.start, statement.end, "")
        return Edit(line_start, line_end, "")

    def _end_of_line(self, offset: int) -> int | None:
        """Where the line ends, if nothing but a comment stands behind the offset, and none that goes on in the next."""
        end = self.text.find("\n", offset)
        end = len(self.text) if end < 0 else end
        rest = self.text[offset:end].strip()
        if rest.endswith("\\"):
            return None
        if rest and not rest.startswith("//") and not (rest.startswith("/*") and rest.find("*/") == len(rest) - 2):
            return None
        return end - 1 if self.text[offset:end].endswith("\r") else end


def _is_statement(node: Node) -> bool:
    return node.type in _GROUPS or (
        (node.type.endswith("statement") or node.type in ("declaration", "for_range_loop"))
        and node.type not in _NO_CODE
    )


def _is_body(owner: Node, child: Node) -> bool:
    """A body without braces: of a loop, an if, an else."""
    if owner.type not in (*_LOOPS, "if_statement", "else_clause") or child.type == "compound_statement":
        return False
    if owner.type == "else_clause" and child.type == "if_statement":  # else if
        return False
    return (
        child.named and child.type.endswith("statement") and child.field in ("body", "consequence", "alternative", None)
    )


def _ends_in_leave(node: Node) -> bool:
    """A labelled ``return`` and its like: nothing comes after it."""
    if node.type not in ("labeled_statement", "case_statement") or not node.named_children:
        return False
    last = node.named_children[-1]
    return last.type in _LEAVES or _ends_in_leave(last)
