"""Relations over events 0, 1, …, n-1, with the operators of herd's cat language: a row of bits for each event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


class Relation:
    """``a | b``, ``a & b``, ``a - b`` as sets of pairs; ``a @ b`` is cat's ``a ; b``; ``a.plus`` and ``a.maybe`` are its
    ``a+`` and ``a?``; ``~a`` is its ``a^-1``."""

    __slots__ = ("rows",)

    def __init__(self, rows: Iterable[int]) -> None:
        self.rows = tuple(rows)

    @classmethod
    def where(cls, size: int, related: Callable[[int, int], bool]) -> Relation:
        return cls(sum(1 << b for b in range(size) if related(a, b)) for a in range(size))

    @classmethod
    def on(cls, members: Iterable[bool]) -> Relation:
        """The identity on a set: cat's ``[S]``."""
        return cls(1 << number if member else 0 for number, member in enumerate(members))

    def __or__(self, other: Relation) -> Relation:
        return Relation(a | b for a, b in zip(self.rows, other.rows, strict=True))

    def __and__(self, other: Relation) -> Relation:
        return Relation(a & b for a, b in zip(self.rows, other.rows, strict=True))

    def __sub__(self, other: Relation) -> Relation:
        return Relation(a & ~b for a, b in zip(self.rows, other.rows, strict=True))

    def __matmul__(self, other: Relation) -> Relation:
        rows = []
        for row in self.rows:
            reached = 0
            for b in _bits(row):
                reached |= other.rows[b]
            rows.append(reached)
        return Relation(rows)

    def __invert__(self) -> Relation:
        rows = [0] * len(self.rows)
        for a, row in enumerate(self.rows):
            for b in _bits(row):
                rows[b] |= 1 << a
        return Relation(rows)

    @property
    def maybe(self) -> Relation:
        return Relation(row | 1 << number for number, row in enumerate(self.rows))

    @property
    def plus(self) -> Relation:
        rows = list(self.rows)
        for middle in range(len(rows)):
            through = rows[middle]
            for a, row in enumerate(rows):
                if row >> middle & 1:
                    rows[a] |= through
        return Relation(rows)

    @property
    def irreflexive(self) -> bool:
        return not any(row >> number & 1 for number, row in enumerate(self.rows))

    @property
    def acyclic(self) -> bool:
        return self.plus.irreflexive

    @property
    def empty(self) -> bool:
        return not any(self.rows)

    def __contains__(self, pair: tuple[int, int]) -> bool:
        return bool(self.rows[pair[0]] >> pair[1] & 1)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((a, b) for a, row in enumerate(self.rows) for b in _bits(row))


def _bits(row: int) -> Iterator[int]:
    while row:
        low = row & -row
        yield low.bit_length() - 1
        row ^= low
