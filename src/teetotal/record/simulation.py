"""Random clients on a simulated multiprocessor (core/simulate): caches, a coherence protocol, a network that reorders.

Without store buffers each history is SC, with them TSO; unless a named mistake is switched on.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from teetotal import _core
from teetotal.answers.arguments import Natural, checked
from teetotal.answers.errors import Fault, TeetotalError
from teetotal.answers.options import Seed
from teetotal.record.clients import Client, Recorded, Shape

PROTOCOLS = tuple(_core.simulated_protocols())
BUGS: dict[str, tuple[str, ...]] = {name: tuple(used.split()) for name, used, _ in _core.simulated_mistakes()}
"""Mistake → the protocols that can make it."""
NEED_BUFFERS = frozenset(name for name, _, needs in _core.simulated_mistakes() if needs)
"""Mistakes of processors in the handling of their store buffers."""
USUAL = Shape(threads=4, operations=100, addresses=8)


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """``buffer``: stores that a processor lets wait, 0 for none. Caches are small, so that lines are evicted: ``sets`` of
    ``ways`` lines of ``words`` addresses; ``home_lines`` fit into the inclusive second level of ``mesi``. Messages take up
    to ``delay`` steps more than one."""

    protocol: str = "mesi"
    bug: str = ""
    buffer: int = 0
    sets: int = 2
    ways: int = 1
    words: int = 2
    home_lines: int = 3
    delay: int = 20

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise TeetotalError(f"no protocol is called {self.protocol}; there are {', '.join(PROTOCOLS)}")
        if self.bug and self.protocol not in BUGS.get(self.bug, ()):
            known = ", ".join(name for name, used in BUGS.items() if self.protocol in used)
            raise TeetotalError(f"{self.protocol} has no bug called {self.bug}; there are {known}")
        if self.bug in NEED_BUFFERS and not self.buffer:
            raise TeetotalError(f"{self.bug} is a mistake in store buffers: give the processors some")
        if (
            min(self.sets, self.ways, self.home_lines) < 1
            or not 1 <= self.words <= 8
            or min(self.buffer, self.delay) < 0
        ):
            raise TeetotalError("a cache has a set, a way and 1 to 8 words in a line")


@checked
def simulate(
    machine: Machine | None = None, shape: Shape | None = None, *, count: Natural = 100, seed: Seed = 0
) -> Iterator[Recorded]:
    """So many histories, each of another client with another seed."""
    machine, shape = machine or Machine(), shape or USUAL
    for number in range(seed, seed + count):
        client = Client(shape, number)
        accesses = [access for thread in client.threads for access in thread]
        results, hangs, _ = _core.simulate(
            client.lengths,
            np.array([access.kind for access in accesses], np.uint8),
            np.array([access.address for access in accesses], np.uint32),
            np.array([access.value for access in accesses], np.int64),
            addresses=shape.addresses,
            seed=number,
            **msgspec.structs.asdict(machine),
        )
        name = f"{machine.protocol}{f'-{machine.bug}' if machine.bug else ''}-{number}"
        if hangs:
            if not machine.bug:
                raise Fault(f"the simulated machine hangs: {name}")
            raise TeetotalError(f"{name}: the bug makes the simulated machine hang")
        yield Recorded(name, client, results)
