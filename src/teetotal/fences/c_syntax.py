"""tree-sitter's view of C and C++: the text as it is, before the preprocessor, with the place of every token.

The tree is copied into plain objects at once. Nodes of the binding that keep lists of their children have crashed the
interpreter when they were collected (py-tree-sitter 0.26.0); a cursor keeps none.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

_ATOMIC = re.compile(rb"\b_Atomic(\s*)\(([^()]*)\)")
"""An atomic type. The grammars have the qualifier alone, and take ``_Atomic(struct node *) top;`` for a mistake."""


class Node:
    """``field``: what it is to its parent. Places are in bytes; the ``row`` counts from 0."""

    __slots__ = ("_data", "children", "end_byte", "field", "missing", "named", "parent", "row", "start_byte", "type")

    def __init__(self, parent: Node | None, field: str | None, told: object, data: bytes) -> None:
        self.parent, self.field, self._data = parent, field, data
        self.type: str = told.type  # type: ignore[attr-defined]
        self.start_byte: int = told.start_byte  # type: ignore[attr-defined]
        self.end_byte: int = told.end_byte  # type: ignore[attr-defined]
        self.row: int = told.start_point[0]  # type: ignore[attr-defined]
        self.named: bool = told.is_named  # type: ignore[attr-defined]
        self.missing: bool = told.is_missing  # type: ignore[attr-defined]
        self.children: list[Node] = []

    @property
    def text(self) -> str:
        return self._data[self.start_byte : self.end_byte].decode()

    @property
    def named_children(self) -> list[Node]:
        return [child for child in self.children if child.named]

    def child(self, field: str) -> Node | None:
        return next((child for child in self.children if child.field == field), None)

    def all(self) -> Iterator[Node]:
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo += reversed(node.children)

    @property
    def unread(self) -> bool:
        """Not what the parser expected here."""
        return self.type == "ERROR" or self.missing


def parse(data: bytes, cpp: bool) -> Node:
    import tree_sitter

    grammar = importlib.import_module("tree_sitter_cpp" if cpp else "tree_sitter_c")
    plain = _ATOMIC.sub(lambda found: b"%7s%s %s " % (b"", found[1], found[2]), data)  # all else stays in its place
    tree = tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(plain)
    cursor = tree.walk()
    root = here = Node(None, None, cursor.node, data)
    while True:
        if cursor.goto_first_child():
            parent: Node | None = here
        else:
            parent = here.parent
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent() or parent is None:
                    return root
                parent = parent.parent
        assert parent is not None
        here = Node(parent, cursor.field_name, cursor.node, data)
        parent.children.append(here)


def arguments(call: Node) -> list[Node]:
    found = call.child("arguments")
    return [child for child in found.named_children if child.type != "comment"] if found is not None else []


class Expression:
    """An expression that stands nowhere in the file, such as what a macro makes: its ``root``, None if it is none."""

    _HEAD = "void f(void) {\n"

    def __init__(self, words: str, cpp: bool) -> None:
        self.source = f"{self._HEAD}{words};\n}}"
        self._data = self.source.encode()
        self.root = _whole(parse(self._data, cpp))

    def at(self, byte: int) -> int:
        return len(self._data[:byte].decode())

    def words(self, source: str) -> str:
        """Of the source after edits."""
        return source[len(self._HEAD) : -len(";\n}")]


def _whole(tree: Node) -> Node | None:
    """The expression, if the function's body is that and nothing else."""
    if any(node.unread for node in tree.all()):
        return None
    body = tree.named_children[0].child("body")
    if body is None or [child.type for child in body.named_children] != ["expression_statement"]:
        return None
    inner = body.named_children[0].named_children
    while len(inner) == 1 and inner[0].type == "parenthesized_expression":
        inner = inner[0].named_children
    return inner[0] if len(inner) == 1 else None
