"""What of a frame can be read by addresses that a function gives away.

A pointer leads to the object that it was made from and to nothing else. Of variables it is known where they lie
(``frame_variables``). What a compiler makes for itself has no name: an address between two variables may be of anything
that lies between them. And one address may be of two objects:

- It may be right behind the first of them. Compilers announce accesses to variables whose addresses are taken, so it is
  not, if that one is accessed and not announced.
- gcc lets large ones of different blocks begin at the same place, a variable with a name and a longer one without. So what
  follows a variable is taken for a part of it, but for what is certainly a temporary: a word that instructions write and
  read, always as a whole and by its place in the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from teetotal.programs.c.frame_variables import Range
from teetotal.programs.c.machine import Access

_WORD = 8


def reached(
    escaped: Iterable[int],
    variables: Sequence[Range],
    accesses: Sequence[Access],
    announced: Sequence[Range],
    top: int,
) -> set[Range] | None:
    """``accesses`` are those of the frame by its own register, ``announced`` what hooks are told of; ``top`` is where what
    the function saves begins. None where anything may be meant."""
    direct = [Range(access.displacement, access.displacement + access.size) for access in accesses]
    temporaries = _temporaries(accesses)
    found: set[Range] = set()
    for offset in escaped:
        if offset > top or (offset == top and not any(one.end == top for one in variables)):
            return None
        found |= {one for one in variables if one.end == offset and not _kept(one, direct, announced)}
        if offset == top:
            continue
        if inside := {one for one in variables if one.begin <= offset < one.end}:
            found |= inside
            continue
        before = [one.end for one in variables if one.end <= offset]
        if not before:
            return None
        found.add(Range(max(before), _next(offset, variables, top)))
    for one in list(found):
        found |= set(_without(Range(one.end, _next(one.end - 1, variables, top)), temporaries))
    return found


def _kept(variable: Range, direct: Sequence[Range], announced: Sequence[Range]) -> bool:
    """Whether nobody else has its address."""
    return _overlap(variable, direct) and not _overlap(variable, announced)


def _overlap(one: Range, others: Sequence[Range]) -> bool:
    return any(other.begin < one.end and one.begin < other.end for other in others)


def _next(offset: int, variables: Sequence[Range], top: int) -> int:
    """Where the first variable behind it begins."""
    return min((one.begin for one in variables if one.begin > offset), default=top)


def _temporaries(accesses: Sequence[Access]) -> list[Range]:
    directions: dict[tuple[int, int], set[str]] = {}
    for access in accesses:
        directions.setdefault((access.displacement, access.size), set()).update(access.direction)
    ranges = [Range(begin, begin + size) for begin, size in directions]
    return [
        one
        for one, used in zip(ranges, directions.values(), strict=True)
        if one.end - one.begin <= _WORD
        and used == {"r", "w"}
        and not _overlap(one, [other for other in ranges if other != one])
    ]


def _without(whole: Range, parts: Sequence[Range]) -> Iterator[Range]:
    begin = whole.begin
    for part in sorted(part for part in parts if _overlap(part, [whole])):
        if begin < part.begin:
            yield Range(begin, part.begin)
        begin = part.end
    if begin < whole.end:
        yield Range(begin, whole.end)
