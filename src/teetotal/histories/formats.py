"""Which format a history is in, by the first line that is clearly one of them."""

from __future__ import annotations

import re

_LINE = 300
"""So much of a line is enough."""
_FORMATS: tuple[tuple[str, re.Pattern[bytes]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("polysi", rb"[rw]\(\s*-?\d"),
        ("edn", rb"\(?\[?\s*(#\S+\s*)?\{\s*:|#jepsen\S*\s*\{"),
        ("json", rb'\[\s*(\[\s*)?\{\s*"|\[\s*\[\s*$'),
        ("jepsen", rb"(.*\s)?\d+\s+:(invoke|ok|fail|info)\s+:\S"),
        ("dbcop", rb"\[\s*[^\s:=\[\]{}]+(:=|==)|\[\s*\]|-+\s*$"),
        ("tracegen", rb"\d+\s*:\s*(load|store|swap|load-reserve|store-cond|fence)-(req|resp)|\d+\s*:\s*resp\b"),
        ("axe", rb"\d+\s*:\s*(M\[|v\d|sync|\{)|final\s+(M\[|v\d+\s*==)|check\s*$"),
        ("gem5", rb"\d+\s*:\s*\S.* : "),
        ("text", rb"history\b|(init|final)\s+\S+\s*=[^=]|\S+\s*:\s*(st|ld|rmw|mfence|sfence)\b"),
    )
)
FORMATS = ("axe", "text", "json", "dbcop", "polysi", "edn", "jepsen", "tracegen", "gem5")


def detect(beginning: bytes) -> str | None:
    """None where it looks like none of them."""
    for line in beginning.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = line[:_LINE].lstrip(b" \t\r,").rstrip(b" \r")
        tagged = line.startswith(b"#jepsen")
        comment = line[:1] in (b"", b";") or line.startswith(b"//") or (line[:1] == b"#" and not tagged)
        if comment or line in (b"[", b"("):
            continue
        if line[:1] == b"{":
            return "edn" if line[1:].lstrip(b" \t").startswith(b":") else "json"
        for name, pattern in _FORMATS:
            if pattern.match(line):
                return name
    return None
