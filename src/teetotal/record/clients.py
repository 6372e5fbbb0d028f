"""Random clients of a shared memory, whatever it is: per thread a list of accesses, with values that nobody else writes.

What differs from one recording of a client to the next is only what its reads saw: so its text is made once, with gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind
from teetotal.histories.history import History
from teetotal.histories.readers import read_text

Format = Literal["axe", "text"]
MAX_ACCESSES = 10_000_000


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How large a client is, and what it does: ``operations`` of all threads together, of which the shares ``fences`` and
    ``rmws`` are such, and of the rest the share ``writes``."""

    threads: int = 2
    operations: int = 100
    addresses: int = 4
    writes: float = 0.5
    rmws: float = 0.0
    fences: float = 0.0

    def __post_init__(self) -> None:
        if min(self.threads, self.addresses) < 1 or not 0 <= self.operations <= MAX_ACCESSES:
            raise TeetotalError(f"a client has a thread, an address and at most {MAX_ACCESSES:,} operations")
        if min(self.writes, self.rmws, self.fences) < 0 or self.writes > 1 or self.rmws + self.fences > 1:
            raise TeetotalError("shares of operations lie between 0 and 1, those of rmws and fences together, too")


class Access(NamedTuple):
    kind: Kind
    address: int = 0
    value: int = 0
    """What it writes."""

    @property
    def reads(self) -> bool:
        return self.kind in (Kind.LD, Kind.RMW)


class Client:
    """``body``: what each thread does, again and again until it has done its share of the operations."""

    def __init__(self, shape: Shape, seed: int, *, body: int | None = None) -> None:
        self.shape = shape
        self.seed = seed
        rng = np.random.default_rng(seed)
        least, more = divmod(shape.operations, shape.threads)
        self.lengths = [least + (thread < more) for thread in range(shape.threads)]
        self.body = [self._drawn(rng, length if body is None else min(body, length)) for length in self.lengths]

    def _drawn(self, rng: np.random.Generator, length: int) -> list[tuple[Kind, int]]:
        shape = self.shape
        bounds = np.cumsum([shape.fences, shape.rmws, shape.writes * (1 - shape.fences - shape.rmws)])
        kinds = np.array([Kind.MFENCE, Kind.RMW, Kind.ST, Kind.LD])[
            np.searchsorted(bounds, rng.random(length), "right")
        ]
        addresses = rng.integers(0, shape.addresses, length)
        return [(Kind(kind), address) for kind, address in zip(kinds.tolist(), addresses.tolist(), strict=True)]

    def value(self, thread: int, position: int) -> int:
        """What the access at that place of a thread writes, if it does: nobody writes it twice, and nobody 0."""
        return position * self.shape.threads + thread + 1

    @cached_property
    def threads(self) -> list[list[Access]]:
        return [
            [Access(*body[place % len(body)], self.value(thread, place)) for place in range(length)] if body else []
            for thread, (body, length) in enumerate(zip(self.body, self.lengths, strict=True))
        ]

    @cached_property
    def reads(self) -> list[int]:
        """How many accesses of each thread read."""
        return [sum(access.reads for access in accesses) for accesses in self.threads]

    @cached_property
    def templates(self) -> dict[Format, str]:
        """Per format the text of what it did, with ``%s`` where a result goes; thread after thread."""
        lines: dict[Format, Callable[[int, Access], str]] = {"axe": _axe, "text": _text}
        return {
            name: "".join(line(thread, access) for thread, accesses in enumerate(self.threads) for access in accesses)
            for name, line in lines.items()
        }


class Recorded(NamedTuple):
    """A run of a client: ``results`` are what its reads saw, thread after thread, None where that is not known."""

    name: str
    client: Client
    results: Sequence[int | None]

    def text(self, format: Format = "axe") -> str:
        shown = tuple("?" if result is None else result for result in self.results)
        body = self.client.templates[format] % shown
        return f"# {self.name}\n{body}check\n" if format == "axe" else f"history {self.name}\n{body}"

    @property
    def history(self) -> History:
        (history,) = read_text(self.text("text"), format="text")
        return history


def _axe(thread: int, access: Access) -> str:
    cell = f"M[{access.address}]"
    match access.kind:
        case Kind.LD:
            return f"{thread}: {cell} == %s\n"
        case Kind.ST:
            return f"{thread}: {cell} := {access.value}\n"
        case Kind.RMW:
            return f"{thread}: {{ {cell} == %s; {cell} := {access.value} }}\n"
        case _:
            return f"{thread}: sync\n"


def _text(thread: int, access: Access) -> str:
    match access.kind:
        case Kind.LD:
            return f"T{thread}: ld x{access.address} -> %s\n"
        case Kind.ST:
            return f"T{thread}: st x{access.address} = {access.value}\n"
        case Kind.RMW:
            return f"T{thread}: rmw x{access.address}: %s -> {access.value}\n"
        case _:
            return f"T{thread}: {access.kind}\n"
