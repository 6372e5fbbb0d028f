"""Orders and fences in Python programs: those of ``ld``, ``st`` and the rmws, and ``yield thread_fence(…)`` between
lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from teetotal.answers.events import ORDERS, Location, MemoryOrder
from teetotal.fences.edits import Edit, Patched, apply
from teetotal.fences.orders import WHERE_IT_FAILS, Place, What
from teetotal.fences.python import PythonSource, called
from teetotal.programs.program import Program

_OPERATIONS: dict[str, tuple[What, int, int]] = {
    "ld": ("load", 1, 1),
    "st": ("store", 2, 1),
    "rmw": ("rmw", 2, 2),
    "cas": ("rmw", 3, 2),
    "fetch_add": ("rmw", 2, 1),
    "xchg": ("rmw", 2, 1),
    "thread_fence": ("fence", 0, 1),
}
"""What each is, how many arguments come before the orders, and how many orders."""
_FENCES = {"mfence": "seq_cst", "sfence": "release"}
_WORDS: dict[MemoryOrder, str] = {"seq_cst": "mfence", "release": "sfence"}


class _Spot(NamedTuple):
    """Where an order is written: from ``start`` to ``end``; where there is none, an argument more."""

    start: int
    end: int
    comma: bool


class OrderedPython:
    def __init__(self, path: str, text: str, weaken: bool, only: str | None = None) -> None:
        self.path, self.text = path, text
        self._source = PythonSource(path, text, only)
        self.notes = self._source.notes
        self.places: list[Place] = []
        self._gaps: dict[int, object] = {}
        self._spots: dict[int, _Spot] = {}
        self._fences: dict[int, object] = {}
        for key, place in self._source.places.items():
            if place.existing is None and not weaken:
                self._gaps[len(self.places)] = key
                self.places.append(
                    Place(what="gap", was="relaxed", location=place.location, after=place.after, before=place.before)
                )
            elif place.existing is not None:
                self._fences[len(self.places)] = key
                was: MemoryOrder = _FENCES[str(place.existing)]  # type: ignore[assignment]
                self.places.append(Place(what="fence", was=was, location=place.location, at=str(place.existing)))
        for node in ast.walk(self._source.tree):
            if (
                isinstance(node, ast.Yield)
                and isinstance(node.value, ast.Call)
                and called(node.value.func) in _OPERATIONS
            ):
                self._call(node.value)

    def _call(self, call: ast.Call) -> None:
        what, before, count = _OPERATIONS[called(call.func)]
        if any(isinstance(argument, ast.Starred) for argument in call.args) or len(call.args) < before:
            return
        words = {keyword.arg: keyword.value for keyword in call.keywords}
        given = [*call.args[before : before + count]]
        for name in ("order", "failure")[len(given) : count]:
            if name in words:
                given.append(words[name])
        first = len(self.places)
        orders = list(map(_order, given))
        if any(order is None for order in orders):
            return
        spots = [self._spot(node) for node in given]
        if not given and what == "rmw" and not words:  # seq_cst where nothing is said
            end = self._offset(call.end_lineno or 0, call.end_col_offset or 0) - 1
            orders, spots = ["seq_cst"], [_Spot(end, end, True)]
        for number, (order, spot) in enumerate(zip(orders, spots, strict=True)):
            assert order is not None
            self._spots[len(self.places)] = spot
            self.places.append(
                Place(
                    what="failure" if number else what,
                    was=order,
                    location=Location(self.path, call.lineno),
                    at=self._source.lines[call.lineno - 1].strip() + (WHERE_IT_FAILS if number else ""),
                    success=first if number else None,
                )
            )

    def _spot(self, node: ast.expr) -> _Spot:
        end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
        return _Spot(self._offset(node.lineno, node.col_offset), end, False)

    def _offset(self, line: int, column: int) -> int:
        """Python counts bytes of a line."""
        words = self._source.lines[line - 1]
        return self._source.starts[line - 1] + len(words.encode()[:column].decode())

    def written(self, orders: Mapping[int, MemoryOrder]) -> Patched:
        changed = {place: order for place, order in orders.items() if order != self.places[place].was}
        names, edits = self._source.names(set(self._wanted(changed)))

        def fence(order: MemoryOrder) -> str:
            if order in _WORDS:
                return f"yield {names[_WORDS[order]]}()"
            return f"yield {names['thread_fence']}({names[order]})"

        for place, order in changed.items():
            if place in self._gaps:
                edits.append(self._source.added(self._gaps[place], fence(order), place))
            elif place in self._fences and order != "relaxed":
                line = self.places[place].location.line
                start, words = self._source.starts[line - 1], self._source.lines[line - 1]
                indent = len(words) - len(words.lstrip())
                edits.append(Edit(start + indent, start + len(words.rstrip("\r")), fence(order), place))
            elif place in self._spots:
                spot = self._spots[place]
                edits.append(Edit(spot.start, spot.end, f"{', ' if spot.comma else ''}{names[order]}", place))
        edits += self._source.removals(
            [self._fences[place] for place, order in changed.items() if place in self._fences and order == "relaxed"]
        )
        return apply(self.text, edits)

    def _wanted(self, changed: Mapping[int, MemoryOrder]) -> Iterator[str]:
        for place, order in changed.items():
            if self.places[place].is_fence and place not in self._spots:
                if order in _WORDS:
                    yield _WORDS[order]
                elif order != "relaxed":
                    yield from ("thread_fence", order)
            else:
                yield order

    def programs(self, text: str) -> list[Program]:
        return self._source.programs(text)


def _order(node: ast.expr) -> MemoryOrder | None:
    word = node.value if isinstance(node, ast.Constant) else called(node)
    return word if word in ORDERS[1:] else None
