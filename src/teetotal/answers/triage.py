"""What it means that a program is not robust, for what its programmer asserts: one of three words, for every front end.

``breaks``: something fails there, or a result shows that SC does not have, as far as the program asks about results.
``harmless``: nothing does, and that is proved: every execution of the relaxed machine was looked at. ``unknown``: neither,
within the budget.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Triage = Literal["breaks", "harmless", "unknown"]


def triaged(robust: bool | None, safe: bool | None, *, new_result: bool = False) -> Triage | None:
    """Of one model; None where there is nothing to ask: the program is robust, or not known not to be. ``safe`` is that
    of the relaxed machine, and so are results; ``new_result``: one that the program asks about, and SC does not have."""
    if robust is not False:
        return None
    if new_result or safe is False:
        return "breaks"
    return "unknown" if safe is None else "harmless"


def worst(found: Iterable[Triage | None]) -> Triage | None:
    """Of all models."""
    asked = set(found)
    order: tuple[Triage, ...] = ("breaks", "unknown", "harmless")
    return next((word for word in order if word in asked), None)
