"""``teetotal record redis``: histories from a Redis server."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from teetotal.cli.databases import command


def _opened(*places: Any, **settings: Any) -> AbstractContextManager[Any]:
    from teetotal.record.redis import redis as opened

    return opened(*places, **settings)


redis = command(
    "redis",
    _opened,
    """Histories from a Redis server: a session for each thread, GET, SET and GETSET on keys of our own.

    From one server they are SC; with reads from a replica they are not. PLACE is HOST or HOST:PORT.""",
)
