"""Histories from the world: this machine's processors, simulated multiprocessors, databases.

Each source gives ``Recorded`` runs of random clients, one by one, for as long as somebody asks for the next; a
``Recording`` is the file that takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from teetotal.answers.arguments import Natural, checked
from teetotal.record.clients import Client, Recorded, Shape
from teetotal.record.databases import runs
from teetotal.record.processors import available, hardware
from teetotal.record.programs import RecordedExecution
from teetotal.record.recording import Recording
from teetotal.record.simulation import BUGS, NEED_BUFFERS, PROTOCOLS, Machine, simulate
from teetotal.record.stress import stress

__all__ = [
    "BUGS", "NEED_BUFFERS", "PROTOCOLS", "Client", "Machine", "Recorded", "RecordedExecution", "Recording", "Shape",
    "available", "hardware", "postgres", "program", "redis", "simulate", "stress",
]  # fmt: skip


@checked
def redis(shape: Shape | None = None, *, count: Natural = 10, seed: Natural = 0, **servers: Any) -> Iterator[Recorded]:
    """Histories from Redis. ``server`` and ``read_from`` name servers, ``replica`` starts one beside our own."""
    from teetotal.record.redis_servers import opened

    with opened(**servers) as database:
        yield from runs(database, shape, count=count, seed=seed)


@checked
def postgres(
    shape: Shape | None = None, *, count: Natural = 10, seed: Natural = 0, **servers: Any
) -> Iterator[Recorded]:
    """Histories from PostgreSQL, as ``redis``."""
    from teetotal.record.postgres_servers import opened

    with opened(**servers) as database:
        yield from runs(database, shape, count=count, seed=seed)


@checked
def program(
    *files: str,
    compiler: str | None = None,
    flags: Sequence[str] = (),
    arguments: Sequence[str] = (),
    trust: bool = False,
    native: bool = False,
    **settings: Any,
) -> Iterator[RecordedExecution]:
    """Random executions of a C or C++ program: ``program("queue.c", count=10, seed=0, model="sc")``. They come when all of
    them have ended. ``program("queue.c", native=True, window=100_000)``: one run without the explorer, window by window."""
    from teetotal.programs.c.build import Source
    from teetotal.record.native_runs import natively
    from teetotal.record.programs import executed, settled

    source = Source(files, tuple(flags), compiler, tuple(arguments), trust)
    yield from natively(source, **settings) if native else settled(executed(source, **settings))
