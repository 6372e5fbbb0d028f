"""Fences in Python programs: a line ``yield mfence()`` of its own, indented as its block, and the import that it needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, count
from typing import TypeGuard

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Kind, Location
from teetotal.answers.remedies import Remedy
from teetotal.fences.edits import Edit, Patched, apply, newline_of
from teetotal.fences.sources import Place, all_fences
from teetotal.programs.program import Fence, Program
from teetotal.programs.python import loader

_NAMES = {Kind.MFENCE: "mfence", Kind.SFENCE: "sfence"}


class PythonSource:
    """A place is a position between lines: ``(line of the statement before which, indentation)``."""

    def __init__(self, path: str, text: str, only: str | None = None, *, trust: bool = False) -> None:
        self.path, self.text, self.only, self.trust = path, text, only, trust
        self.notes: list[str] = []
        self.newline = newline_of(text)
        if (lone := re.search(r"\r(?!\n)", text)) is not None:
            where = Location(path, 1 + text.count("\n", 0, lone.start()))
            raise ParseError(
                "Python ends a line at a carriage return alone, and no fence is put into such a file", where
            )
        self.tree = ast.parse(text.removeprefix("\ufeff"))
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.places: dict[object, Place] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and any(map(_yields, node.body)):
                self._block(node.body)

    # -- places --------------------------------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt]) -> None:
        own_lines = self._stand_alone(body)
        for position, statement in enumerate(body):
            if own_lines:
                kind = _fence(statement)
                if kind is not None:
                    self.places[("existing", statement.lineno)] = Place(self._at(statement), existing=kind)
                if position:
                    previous = body[position - 1]
                    self._gap(statement.lineno, statement.col_offset, after=previous)
                elif not _is_docstring(statement):
                    self._gap(statement.lineno, statement.col_offset, before=statement)
            for inner in _blocks(statement):
                self._block(inner)
        if own_lines:
            last = body[-1]
            assert last.end_lineno is not None
            if not isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise):
                self._gap(last.end_lineno + 1, last.col_offset, after=last)

    def _gap(self, line: int, column: int, after: ast.stmt | None = None, before: ast.stmt | None = None) -> None:
        statement = after or before
        assert statement is not None
        words = self._words(statement)
        self.places[(line, column)] = Place(
            self._at(statement), after=words if after else "", before=words if before else ""
        )

    def _at(self, statement: ast.stmt) -> Location:
        return Location(self.path, statement.lineno)

    def _words(self, statement: ast.stmt) -> str:
        return self.lines[statement.lineno - 1].strip()

    def _stand_alone(self, body: list[ast.stmt]) -> bool:
        """Whether each statement begins on a line of its own; otherwise nothing is put between them, and that is said."""
        for statement in body:
            line = self.lines[statement.lineno - 1].encode()
            if line[: statement.col_offset].strip() or self._shares_its_end(statement, body):
                if any(map(_yields, body)):
                    self.notes.append(
                        f"{self._at(statement)}: several statements on one line; "
                        "a fence between them needs a line break there"
                    )
                return False
        return True

    def _shares_its_end(self, statement: ast.stmt, body: list[ast.stmt]) -> bool:
        return any(other is not statement and other.lineno == statement.end_lineno for other in body)

    # -- patches -------------------------------------------------------------------------------------------------------

    def everywhere(self) -> Patched:
        return self.patched(all_fences(self.places))

    def patched(self, chosen: Sequence[tuple[object, Remedy]], removed: Collection[object] = ()) -> Patched:
        names, edits = self.names({_NAMES[kind] for _, kind in chosen if isinstance(kind, Kind)})
        for place, kind in chosen:
            assert isinstance(kind, Kind)
            edits.append(self.added(place, f"yield {names[_NAMES[kind]]}()", (place, kind)))
        edits += self.removals(removed, [place for place, _ in chosen])
        return apply(self.text, edits)

    def added(self, place: object, words: str, key: object) -> Edit:
        """A line of its own in a gap."""
        assert isinstance(place, tuple)
        line, column = place
        start = min(self.starts[line - 1], len(self.text))
        new = f"{self._indentation(column)}{words}{self.newline}"
        if start and self.text[start - 1] != "\n":  # the last line has no end
            new = self.newline + new.removesuffix(self.newline)
        return Edit(start, start, new, key)

    def _indentation(self, column: int) -> str:
        """The characters that some statement of the block stands behind: tabs stay tabs."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and node.col_offset == column:
                return self.lines[node.lineno - 1][:column]
        raise AssertionError("a place in no block")

    def removals(self, removed: Collection[object], added: Collection[object] = ()) -> Iterator[Edit]:
        """The line goes; ``pass`` comes where its block would be empty, and ``yield from ()`` where its function would have
        no ``yield`` any more."""
        lines = {place[1] for place in removed}  # type: ignore[index]
        kept = self._last_yields(lines, [place for place in added if isinstance(place, tuple)])
        for node in ast.walk(self.tree):
            for body in _blocks(node):
                gone = [s for s in body if s.lineno in lines and _fence(s) is not None]
                empty = len(gone) == len(body) and all(statement.lineno not in kept for statement in gone)
                for statement in gone:
                    start, end = self.starts[statement.lineno - 1], self.starts[statement.lineno]
                    stays = "yield from ()" if statement.lineno in kept else "pass"
                    if statement.lineno in kept or (empty and statement is gone[0]):
                        at = start + len(self.lines[statement.lineno - 1][: statement.col_offset])
                        assert statement.end_col_offset is not None
                        yield Edit(at, start + statement.end_col_offset, stays)
                    else:
                        yield Edit(start, min(end, len(self.text)), "")

    def _last_yields(self, lines: Collection[int], added: Collection[tuple[int, int]]) -> set[int]:
        """Of each function that yields nothing but the fences on these lines, and gets none: its last one."""
        found = set()
        for function in ast.walk(self.tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            own = [node for statement in function.body for node in _own_yields(statement)]
            assert function.end_lineno is not None
            end = function.end_lineno + 1
            gets = any(function.lineno < line <= end and column > function.col_offset for line, column in added)
            if own and not gets and all(node.lineno in lines for node in own):
                found.add(own[-1].lineno)
        return found

    def names(self, wanted: set[str]) -> tuple[dict[str, str], list[Edit]]:
        """What these names of teetotal's are called in this module, and the import where one is missing. A name that stands
        for something else somewhere in it, as a parameter or a function of its own, is not used."""
        found: dict[str, str] = {}
        direct: list[ast.ImportFrom] = []
        taken = _bound_by_others(self.tree)
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == "teetotal" and (alias.asname or alias.name) not in taken:
                        for name in wanted:
                            found.setdefault(name, f"{alias.asname or alias.name}.{name}")
            elif _is_of_teetotal(node):
                direct.append(node)
                for alias in node.names:
                    for name in wanted:
                        if alias.name in (name, "*") and (alias.asname or name) not in taken:
                            found[name] = alias.asname or name
        missing = sorted(wanted - found.keys())
        if not missing:
            return found, []
        if taken.isdisjoint(missing):
            return found | {name: name for name in missing}, [self._import(missing, direct)]
        names = chain(["teetotal"], map("teetotal_{}".format, count(1)))
        module = next(name for name in names if name not in taken)
        imported = "import teetotal" if module == "teetotal" else f"import teetotal as {module}"
        return found | {name: f"{module}.{name}" for name in missing}, [self._import_line(imported)]

    def _import(self, missing: list[str], direct: list[ast.ImportFrom]) -> Edit:
        for node in direct:
            line = self.lines[node.lineno - 1]
            if node.lineno == node.end_lineno and "(" not in line and not any(alias.asname for alias in node.names):
                start, base = self.starts[node.lineno - 1], len(line[: node.names[0].col_offset])
                end = node.names[-1].end_col_offset
                assert end is not None
                names = sorted([*(alias.name for alias in node.names), *missing])
                return Edit(start + base, start + end, ", ".join(names))
        return self._import_line(f"from teetotal import {', '.join(missing)}")

    def _import_line(self, words: str) -> Edit:
        after = [node for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        line_number = max((node.end_lineno or 0 for node in after), default=0)
        if not after and self.tree.body and _is_docstring(self.tree.body[0]):
            line_number = self.tree.body[0].end_lineno or 0
        start = min(self.starts[line_number], len(self.text))
        return Edit(start, start, f"{words}{self.newline}")

    # -- programs ------------------------------------------------------------------------------------------------------

    def programs(self, text: str) -> list[Program]:
        found = loader.load_text(self.path, text.removeprefix("\ufeff"), trust=self.trust)
        return [program for program in found if self.only in (None, program.name)]

    def site_of(self, thread: int, fence: Fence, everywhere: Patched) -> tuple[object, Remedy] | None:
        if fence.location is None or fence.location.file != self.path:
            return None
        line = fence.location.line
        for key, at in everywhere.lines.items():
            assert isinstance(key, tuple)
            if at == line and key[1] is fence.kind:
                return key
        existing = ("existing", everywhere.was[line])
        return (existing, fence.kind) if existing in self.places else None


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def _is_of_teetotal(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module in ("teetotal", "teetotal.programs.python")


def _bound_by_others(tree: ast.Module) -> set[str]:
    """Names that something else than an import of teetotal binds, anywhere in the module."""
    taken: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                taken.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                taken.add(name)
            case ast.Import(names=names):
                taken |= {alias.asname or alias.name.partition(".")[0] for alias in names if alias.name != "teetotal"}
            case ast.ImportFrom(names=names) if not _is_of_teetotal(node):
                taken |= {alias.asname or alias.name for alias in names}
    return taken


def _yields(node: ast.AST) -> bool:
    return bool(_own_yields(node))


def _own_yields(node: ast.AST) -> list[ast.Yield | ast.YieldFrom]:
    """In the order of the text, without those of functions inside."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    own = [node] if isinstance(node, ast.Yield | ast.YieldFrom) else []
    return [*own, *chain.from_iterable(map(_own_yields, ast.iter_child_nodes(node)))]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _fence(statement: ast.stmt) -> Kind | None:
    """``yield mfence``, ``yield sfence()`` and the like, alone."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Yield):
        return None
    what = statement.value.value
    if isinstance(what, ast.Call) and not what.args and not what.keywords:
        what = what.func
    return {"mfence": Kind.MFENCE, "sfence": Kind.SFENCE}.get(called(what))


def called(what: ast.AST | None) -> str:
    return what.id if isinstance(what, ast.Name) else what.attr if isinstance(what, ast.Attribute) else ""
