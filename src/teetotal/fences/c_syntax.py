"""tree-sitter's view of C and C++: the text as it is, before the preprocessor, with the place of every token."""

from __future__ import annotations

import importlib
from typing import Any


def parse(data: bytes, cpp: bool) -> Any:
    import tree_sitter

    grammar = importlib.import_module("tree_sitter_cpp" if cpp else "tree_sitter_c")
    return tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(data).root_node


def text(node: Any) -> str:
    words: str = node.text.decode()
    return words


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


def _whole(tree: Any) -> Any:
    """The expression, if the function's body is that and nothing else."""
    if tree.has_error:
        return None
    body = tree.named_children[0].child_by_field_name("body")
    if body is None or [child.type for child in body.named_children] != ["expression_statement"]:
        return None
    inner = body.named_children[0].named_children
    while len(inner) == 1 and inner[0].type == "parenthesized_expression":
        inner = inner[0].named_children
    return inner[0] if len(inner) == 1 else None
