"""What it means that a program is not robust, for what its programmer asserts: one of three words, for every front end.

``breaks``: something fails there, or a result shows that SC does not have, as far as the program asks about results.
``harmless``: nothing does, and that is proved: every execution of the relaxed machine was looked at. ``unknown``: neither,
within the budget; or the program asserts nothing, and nobody can know whether what it does there matters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Triage = Literal["breaks", "harmless", "unknown"]
NOTHING_ASSERTED = (
    "the program asserts nothing, so whether its results matter is not known; that nothing crashes, and that nobody waits "
    "for ever, is proved"
)


def triaged(robust: bool | None, safe: bool | None, *, new_result: bool = False, asserts: bool = True) -> Triage | None:
    """Of one model; None where there is nothing to ask: the program is robust, or not known not to be. ``safe`` is that
    of the relaxed machine, and so are results; ``new_result``: one that the program asks about, and SC does not have.
    ``asserts``: whether the program says what matters."""
    if robust is not False:
        return None
    if new_result or safe is False:
        return "breaks"
    return "harmless" if safe and asserts else "unknown"


def worst(found: Iterable[Triage | None]) -> Triage | None:
    """Of all models."""
    asked = set(found)
    order: tuple[Triage, ...] = ("breaks", "unknown", "harmless")
    return next((word for word in order if word in asked), None)
