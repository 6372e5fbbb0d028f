"""Writes src/teetotal/answers/numbers.py: the numbers that C++ and Python share, read from the headers that define them.

``python core/numbers.py`` writes it; a test says when that is due.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src" / "teetotal" / "answers" / "numbers.py"
ENUMS = {
    "Kind": ("core/event.hpp", "Kind"),
    "Order": ("core/event.hpp", "Order"),
    "Op": ("core/program.hpp", "Op"),
    "Opcode": ("core/program.hpp", "Opcode"),
    "TraceFault": ("core/tracecheck.hpp", "Fault"),
    "Before": ("core/histories/chains.hpp", "Reason"),
    "Tag": ("runtime/memory/cells.hpp", "Tag"),
    "Verb": ("runtime/schedule/operation.hpp", "Verb"),
}
"""What each is called here, its header, and what it is called there."""


def members(name: str, text: str) -> list[tuple[str, int]]:
    """Of ``enum class NAME : TYPE { … };``, with their numbers."""
    found = re.search(rf"enum class {name} : [\w:]+ \{{(.*?)\}};", text, re.DOTALL)
    assert found is not None, name
    result: list[tuple[str, int]] = []
    for part in re.sub(r"//[^\n]*", "", found[1]).split(","):
        word, _, given = (half.strip() for half in part.partition("="))
        if word:
            result.append((word.upper(), int(given) if given else result[-1][1] + 1 if result else 0))
    return result


def generated() -> str:
    lines = [
        '"""The numbers that C++ and Python share. Made by core/numbers.py: not to be changed by hand."""',
        "",
        "from enum import IntEnum",
    ]
    for name, (header, theirs) in ENUMS.items():
        lines += ["", "", f"class {name}(IntEnum):", f'    """As {header} has them."""', ""]
        lines += (f"    {word} = {number}" for word, number in members(theirs, (ROOT / header).read_text()))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(generated())
