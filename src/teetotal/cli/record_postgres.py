"""``teetotal record postgres``: histories from a PostgreSQL server."""

from __future__ import annotations

from teetotal.cli.databases import command

postgres = command(
    "postgres",
    """Histories from a PostgreSQL server: a connection for each thread, single statements on a table of our own.

    From one server they are SC; with reads from a standby they are not. PLACE is postgresql://USER:PASSWORD@HOST:PORT/DATABASE.""",
)
