"""Types of LLVM's IR: how they are written, and how large they are in memory.

A type is read from text with what comes behind it left to the caller, since the text of an instruction mixes types,
attributes and values. ``Layout`` holds what the module's ``target datalayout`` says: a store touches the *store* size of
a type (10 bytes of an ``x86_fp80``), while elements of arrays, fields and locals take the *allocation* size (16).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from teetotal.answers.errors import TeetotalError

_WORD = re.compile(r"[a-z_]\w*")
_INTEGER = re.compile(r"i(\d+)\b")
_NAME = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')
_SPACE = re.compile(r" addrspace\((\d+|\"[^\"]*\")\)")
_PLAIN = {
    "void": 0, "label": 0, "metadata": 0, "token": 0, "opaque": 0, "half": 16, "bfloat": 16, "float": 32,
    "double": 64, "x86_fp80": 80, "fp128": 128, "ppc_fp128": 128, "x86_mmx": 64, "x86_amx": 8192,
}  # fmt: skip
"""Types that are one word, and how many bits each has."""
OPENING, CLOSING = "([{<", ")]}>"


class Unreadable(TeetotalError):
    """Text that is not understood. Whoever reads leniently catches it where not to understand does no harm."""


class Type(NamedTuple):
    """``kind``: ``integer``, ``pointer``, ``array``, ``vector``, ``struct``, ``function``, ``named``, ``target``, or a
    plain word. ``number``: bits of an integer, elements, the address space of a pointer, 1 for a packed struct.
    ``parts``: the types that it is made of; for a function its result, then its parameters."""

    kind: str
    text: str
    number: int = 0
    parts: tuple[Type, ...] = ()


def after_group(text: str, at: int) -> int:
    """The index behind the bracket that closes the one at ``at``. Strings are looked over."""
    depth = 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            at = text.index('"', at + 1)
        elif letter in OPENING:
            depth += 1
        elif letter in CLOSING:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise Unreadable(f"a bracket that nothing closes: {text[:80]}")


def split(text: str) -> list[str]:
    """The pieces between commas that stand in no bracket and no string."""
    pieces: list[str] = []
    begin = at = 0
    while at < len(text):
        letter = text[at]
        if letter == '"':
            at = text.find('"', at + 1)
            if at < 0:
                raise Unreadable(f"a string without an end: {text[:80]}")
        elif letter in OPENING:
            at = after_group(text, at) - 1
        elif letter == ",":
            pieces.append(text[begin:at].strip())
            begin = at + 1
        at += 1
    last = text[begin:].strip()
    return [*pieces, last] if pieces or last else []


def starts_type(text: str, at: int) -> bool:
    """Whether what stands there can only be a type: attributes and values are no such words."""
    if text[at] in "{[<%":
        return True
    if _INTEGER.match(text, at) or text.startswith("target(", at):
        return True
    word = _WORD.match(text, at)
    return word is not None and (word.group() == "ptr" or word.group() in _PLAIN)


def read_type(text: str, at: int = 0) -> tuple[Type, int]:
    """The type that stands at an index, and the index behind it."""
    begin = at
    if at >= len(text):
        raise Unreadable("the end of a line where a type should be")
    letter = text[at]
    if (integer := _INTEGER.match(text, at)) is not None:
        found, at = Type("integer", integer.group(), int(integer.group(1))), integer.end()
    elif letter == "%":
        name = _NAME.match(text, at)
        if name is None:
            raise Unreadable(f"no name: {text[at : at + 40]}")
        found, at = Type("named", name.group()), name.end()
    elif letter in "[{<":
        found, at = _read_group(text, at)
    elif text.startswith("target(", at):
        at = after_group(text, at + 6)
        found = Type("target", text[begin:at])
    else:
        word = _WORD.match(text, at)
        if word is None or (word.group() != "ptr" and word.group() not in _PLAIN):
            raise Unreadable(f"no type: {text[at : at + 40]}")
        at = word.end()
        found = Type("pointer" if word.group() == "ptr" else word.group(), word.group())
        if found.kind == "pointer" and (space := _SPACE.match(text, at)) is not None:
            at = space.end()
            found = Type("pointer", text[begin:at], _space(space.group(1)))
    return _with_suffixes(text, begin, at, found)


def _with_suffixes(text: str, begin: int, at: int, found: Type) -> tuple[Type, int]:
    """Pointers as they were written until clang 14, and functions, come behind what they are made of."""
    while True:
        space = _SPACE.match(text, at)
        behind = space.end() if space is not None else at
        if text.startswith("*", behind):
            at = behind + 1
            found = Type("pointer", text[begin:at], _space(space.group(1)) if space is not None else 0, (found,))
        elif text.startswith(" (", at):
            end = after_group(text, at + 1)
            parameters = [one for one in split(text[at + 2 : end - 1]) if one != "..."]
            at = end
            found = Type("function", text[begin:at], 0, (found, *(read_type(one)[0] for one in parameters)))
        else:
            return found, at


def _space(text: str) -> int:
    return int(text) if text.isdigit() else 1


def _read_group(text: str, at: int) -> tuple[Type, int]:
    end = after_group(text, at)
    inside = text[at + 1 : end - 1].strip()
    whole = text[at:end]
    if text[at] == "{" or inside.startswith("{"):
        packed = text[at] == "<"
        fields = split(inside[1:-1] if packed else inside)
        return Type("struct", whole, int(packed), tuple(read_type(one)[0] for one in fields)), end
    scalable = inside.startswith("vscale x ")
    count, _, element = inside.removeprefix("vscale x ").partition(" x ")
    if not count.strip().isdigit():
        raise Unreadable(f"neither an array nor a vector: {whole[:40]}")
    kind = "target" if scalable else "array" if text[at] == "[" else "vector"
    return Type(kind, whole, int(count), (read_type(element)[0],)), end


class Layout:
    """Sizes and alignments of one module, in bytes. ``named``: its types by name, as they are written."""

    def __init__(self, datalayout: str, named: dict[str, str]) -> None:
        self._named = named
        self._known: dict[str, tuple[int, int]] = {}
        self._integers = {1: 1, 8: 1, 16: 2, 32: 4, 64: 4}
        self._others: dict[str, int] = {"f80": 16, "f128": 16}
        self._pointers = {0: 8}
        for part in datalayout.split("-"):
            if (found := re.fullmatch(r"([ifv])(\d+):(\d+)(?::\d+)?", part)) is not None:
                kind, bits, alignment = found[1], int(found[2]), max(int(found[3]) // 8, 1)
                if kind == "i":
                    self._integers[bits] = alignment
                else:
                    self._others[f"{kind}{bits}"] = alignment
            elif (found := re.fullmatch(r"p(\d*):(\d+):(\d+).*", part)) is not None:
                self._pointers[int(found[1] or 0)] = int(found[2]) // 8

    def resolved(self, kind: Type) -> Type:
        """The same type, not by its name."""
        for _ in range(64):
            if kind.kind != "named":
                return kind
            text = self._named.get(kind.text)
            if text is None:
                break
            kind = read_type(text)[0]
        raise Unreadable(f"a type that is not defined: {kind.text}")

    def bits(self, kind: Type) -> int:
        kind = self.resolved(kind)
        if kind.kind == "integer":
            return kind.number
        if kind.kind == "pointer":
            return 8 * self._pointers.get(kind.number, 8)
        if kind.kind == "vector":
            return kind.number * self.bits(kind.parts[0])
        if _PLAIN.get(kind.kind):
            return _PLAIN[kind.kind]
        if kind.kind in ("array", "struct"):
            return 8 * self._shape(kind)[0]
        raise Unreadable(f"a type without a size: {kind.text}")

    def store_size(self, kind: Type) -> int:
        """The bytes that a load or store of it touches."""
        return (self.bits(kind) + 7) // 8

    def alignment(self, kind: Type) -> int:
        return self._shape(kind)[1]

    def size(self, kind: Type) -> int:
        """The distance of two elements in an array: the bytes that a local takes."""
        return self._shape(kind)[0]

    def offsets(self, kind: Type) -> list[int]:
        """Where the fields of a struct begin."""
        kind = self.resolved(kind)
        result: list[int] = []
        at = 0
        for part in kind.parts:
            size, alignment = self._shape(part)
            if not kind.number:
                at = -(-at // alignment) * alignment
            result.append(at)
            at += size
        return result

    def _shape(self, kind: Type) -> tuple[int, int]:
        if (known := self._known.get(kind.text)) is None:
            known = self._known[kind.text] = self._measured(self.resolved(kind))
        return known

    def _measured(self, kind: Type) -> tuple[int, int]:
        if kind.kind == "array":
            size, alignment = self._shape(kind.parts[0])
            return kind.number * size, alignment
        if kind.kind == "struct":
            alignment = 1 if kind.number else max((self._shape(part)[1] for part in kind.parts), default=1)
            end = self.offsets(kind)[-1] + self._shape(kind.parts[-1])[0] if kind.parts else 0
            return -(-end // alignment) * alignment, alignment
        size = self.store_size(kind)
        if kind.kind == "integer":
            larger = [bits for bits in sorted(self._integers) if bits >= kind.number]
            alignment = self._integers[larger[0] if larger else max(self._integers)]
        elif kind.kind == "vector":
            alignment = self._others.get(f"v{self.bits(kind)}", 1 << max(size - 1, 0).bit_length())
        else:
            name = {"x86_fp80": "f80", "fp128": "f128"}.get(kind.kind, "")
            alignment = self._others.get(name, size)
        return -(-size // alignment) * alignment, alignment
