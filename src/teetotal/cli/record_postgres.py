"""``teetotal record postgres``: histories from a PostgreSQL server."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from teetotal.cli.databases import command


def _opened(*places: Any, **settings: Any) -> AbstractContextManager[Any]:
    from teetotal.record.postgres import postgres as opened

    return opened(*places, **settings)


postgres = command(
    "postgres",
    _opened,
    """Histories from a PostgreSQL server: a session for each thread, single statements on a table of our own.

    From one server they are SC; with reads from a standby they are not. PLACE is postgresql://USER:PASSWORD@HOST:PORT/DATABASE.""",
)
