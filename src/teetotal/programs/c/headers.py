"""Which functions of a program stand in a system's header: what they do is told by the line that calls them.

The compiler's assembly says it: ``.file`` numbers the files, and the first ``.loc`` behind a function's label is the line
that it is defined at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.MULTILINE)
_FUNCTION = re.compile(r'^"?([\w.$]+)"?:\n(?:(?!^\S)[^\n]*\n|^\.L\w+:[^\n]*\n)*?\s*\.loc\s+(\d+)\s', re.MULTILINE)
SYSTEM = ("/usr/", "/opt/")


def functions_of_headers(assembly: str) -> Iterator[str]:
    """The names of their symbols."""
    files = {number: f"{first}/{second}" if second else first for number, first, second in _FILE.findall(assembly)}
    headers = {number for number, name in files.items() if name.startswith(SYSTEM)}
    if headers:
        yield from (name for name, number in _FUNCTION.findall(assembly) if number in headers)
