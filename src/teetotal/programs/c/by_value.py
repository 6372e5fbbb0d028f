"""Structs that gcc passes or returns by value straight from or to memory: it copies them without any hook.

Its dump of the instrumented code (``-fdump-tree-tsan0-lineno``) shows these calls: an operand that is neither a register,
nor a constant, nor a variable of the function itself. What such a call copies cannot be seen, and is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TAG = re.compile(r"\[([^\[\]]*):(\d+):\d+[^\[\]]*\] ")
_CALL = re.compile(r"^(?:(?P<into>.+?) = )?(?P<function>[^\s(][^(]*) \((?P<given>.*)\);(?: \[[^\]]*\])?$")
_DECLARED = re.compile(r"^  (?P<type>[^\[=]+?)[ *]+(?P<name>[\w.]+)(?:\[[^;]*\])*;$")
_PARAMETER = re.compile(r"([\w.]+)$")
_REGISTER = re.compile(r"^[\w.]*_\d+(\(D\))?$")
_NAME = re.compile(r"^(D\.\d+|\w+)")
_OBJECT = re.compile(r"^\s*\.(?:type\s+(\w+), *@object|comm\s+(\w+)|local\s+(\w+))", re.MULTILINE)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_KEYWORDS = ("if", "switch", "return", "goto")


def unseen_copies(dump: str, assembly: str) -> list[str]:
    """``file:line`` of each, once. ``assembly`` tells variables from functions among bare names."""
    variables = {name for names in _OBJECT.findall(assembly) for name in names if name}
    found: dict[str, None] = {}
    own: set[str] = set()
    header = ""
    for line in dump.splitlines():
        if line == "{":
            own = {match.group() for part in _arguments(header) if (match := _PARAMETER.search(part))}
        elif not line.startswith(" "):
            header = line[line.find("(") + 1 : line.rfind(")")]
        elif declared := _DECLARED.match(line):
            if not declared["type"].startswith("static "):
                own.add(declared["name"])
        elif (place := _TAG.search(line)) and not place.group(1).startswith("/usr/"):
            call = _CALL.match(_TAG.sub("", _STRING.sub('""', line)).strip())
            if call is None or call["function"].startswith(("__builtin___tsan", ".")) or call["function"] in _KEYWORDS:
                continue
            passed = any(_in_memory(part, own, variables) for part in _arguments(call["given"]))
            if passed or (call["into"] and _in_memory(call["into"], own, None)):
                found[f"{place.group(1)}:{place.group(2)}"] = None
    return list(found)


def _in_memory(operand: str, own: set[str], variables: set[str] | None) -> bool:
    """Whether others may look at it. A bare name among arguments must be that of a variable."""
    if operand.startswith(("&", '"')):
        return False
    if operand.startswith(("*", "MEM")) or "->" in operand:
        return True
    name = _NAME.match(operand)
    if _REGISTER.match(operand) or name is None or operand[0].isdigit() or name.group().startswith("D."):
        return False
    if name.group() in own:
        return False
    return variables is None or name.group() in variables


def _arguments(text: str) -> Iterator[str]:
    """Split at the commas that stand outside of any bracket."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()
