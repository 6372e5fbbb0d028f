"""``teetotal record redis``: histories from a Redis server."""

from __future__ import annotations

from teetotal.cli.databases import command

redis = command(
    "redis",
    """Histories from a Redis server: a connection for each thread, GET, SET and GETSET on keys of our own.

    From one server they are SC; with reads from a replica they are not. PLACE is HOST or HOST:PORT.""",
)
