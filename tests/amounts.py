"""How many random programs a test draws: ``TEETOTAL_PERCENT`` of what it asks for.

``make test`` draws a seventh, the same ones in every run; ``make fuzz`` and ``make mutants`` draw all.
"""

from __future__ import annotations

import os

PERCENT = int(os.environ.get("TEETOTAL_PERCENT", "15"))


def some(count: int, least: int = 8) -> int:
    return max(least, count * PERCENT // 100)
