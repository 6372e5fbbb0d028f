"""The initial state: ``{ uint64_t x; y=1; int* p = x; 0:rax=5; 1:rbx=y; }``.

Each item may have a type, names a location or a thread's register, and may have a value: a number, or the address of a
location. What has no value, and what is not named at all, begins as 0, as in herd. Locations keep their order, since a
location's address is its number.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs.litmus.layout import Part
from teetotal.programs.litmus.tokens import number

_ITEM = re.compile(
    r"""(?P<type>(?:[A-Za-z_]\w*\b[\s*]+)*) (?P<star>\*?) \s*
        (?: P?(?P<thread>[0-9]{1,5}) \s*:\s* (?P<register>%?[A-Za-z_]\w*)
          | (?P<open>\[)?\s* (?P<location>[A-Za-z_][\w.]*) \s*(?(open)\]) )
        \s* (?: = \s* (?P<value>.*?) )? \s* \Z""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)
_ADDRESS = re.compile(r"&?\s*([A-Za-z_][\w.]*)\Z", re.ASCII)
_WRAPPED = re.compile(r"ATOMIC_INIT\s*\((.*)\)\Z", re.DOTALL)

WIDTHS = {
    **dict.fromkeys(("char", "int8_t", "uint8_t", "bool", "_Bool", "atomic_char", "atomic_bool"), 8),
    **dict.fromkeys(("short", "int16_t", "uint16_t", "atomic_short"), 16),
    **dict.fromkeys(("int", "unsigned", "int32_t", "uint32_t", "atomic_int", "atomic_uint", "atomic_t"), 32),
    **dict.fromkeys(("spinlock_t", "mutex", "mtx_t"), 32),
    **dict.fromkeys(("long", "int64_t", "uint64_t", "intptr_t", "uintptr_t", "size_t"), 64),
    **dict.fromkeys(("atomic_long", "atomic_ulong", "atomic64_t", "atomic_intptr_t"), 64),
}
"""How many bits a type has; a pointer has 64."""
UNSIGNED = re.compile(r"\b(unsigned|uint\d+_t|uintptr_t|size_t|atomic_uint|atomic_ulong)\b", re.ASCII)
_QUALIFIERS = frozenset(("_Atomic", "volatile", "const", "signed", "atomic"))


class Initial(NamedTuple):
    """``types`` (bits) and ``registers`` are by location and by (thread, register as written), ``declared`` has the words
    of types. An address has yet to be turned into its number: it is a string."""

    memory: dict[str, int | str]
    types: dict[str, int]
    registers: dict[tuple[int, str], tuple[int | str, int]]
    declared: dict[str, list[str]]


def parse(part: Part, file: str) -> Initial:
    initial = Initial({}, {}, {}, {})
    line = part.line
    for item in part.text.split(";"):
        if item.strip():
            _read(item, file, line, initial)
        line += item.count("\n")
    # a location that is only pointed at exists too
    pointed_at = [value for value in initial.memory.values() if isinstance(value, str)]
    pointed_at += [value for value, _ in initial.registers.values() if isinstance(value, str)]
    for name in pointed_at:
        initial.memory.setdefault(name, 0)
    return initial


def _read(item: str, file: str, line: int, initial: Initial) -> None:
    line += len(item[: len(item) - len(item.lstrip())].split("\n")) - 1

    def fail(message: str) -> ParseError:
        return ParseError(f"initial state: {message}", Location(file, line))

    item = " ".join(item.split())
    shown = item[:60]
    match = _ITEM.match(item)
    if match is None:
        if "[" in item or "{" in item:
            raise fail(f"`{shown}`: arrays are not supported")
        raise fail(f"cannot read `{shown}`")
    value = _value(match["value"])
    if value is None:
        raise fail(f"`{shown}`: the value should be a number of at most 64 bits or the name of a location")
    thread, location = match["thread"], match["location"]
    if location is None:
        key = (int(thread), match["register"])
        if initial.registers.get(key, (value, 0))[0] != value:
            raise fail(f"{thread}:{key[1]} has two values")
        initial.registers[key] = (value, line)
        return
    if initial.memory.get(location, value) != value:
        raise fail(f"{location} has two values")
    initial.memory[location] = value
    declared = match["type"].split()
    if declared:
        initial.declared[location] = [*match["type"].replace("*", " * ").split(), *match["star"]]
    if "*" in match["type"] or match["star"]:
        initial.types[location] = 64
    elif declared:
        width = _width(declared)
        if width is None:
            raise fail(f"`{shown}`: the type {' '.join(declared)} is not supported")
        initial.types[location] = width


def _value(text: str | None) -> int | str | None:
    if text is None:
        return 0
    wrapped = _WRAPPED.match(text)
    if wrapped is not None:
        text = wrapped[1].strip()
    value = number(text)
    if value is not None:
        return value
    address = _ADDRESS.match(text)
    return None if address is None else address[1]


def _width(words: list[str]) -> int | None:
    words = [word for word in words if word not in _QUALIFIERS] or ["int"]
    widths = [WIDTHS.get(word) for word in words]
    if words[0] == "unsigned" and len(words) > 1:
        widths = widths[1:]
    if set(words) == {"long", "int"}:
        return 64
    return widths[0] if len(set(widths)) == 1 else None
