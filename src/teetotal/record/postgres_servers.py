"""PostgreSQL by way of pg8000 (extra ``postgres``), and servers of our own.

The keys of a history are rows of a table ``teetotal_…``; every statement is a transaction. Reads may go to a standby, which
replays what it hears of a little later: what clients then see is not SC.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from teetotal.answers.arguments import checked
from teetotal.answers.errors import TeetotalError
from teetotal.record.databases import PATIENCE, Session, are_named, free_port, program, serving
from teetotal.scale.supervision import scratch_folder

PORT = 5432
LAG = "20ms"
"""``recovery_min_apply_delay`` of a standby of our own: that it comes later than the primary is to show."""
_BINARIES = tuple(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))


def _driver() -> Any:
    try:
        from pg8000 import native
    except ImportError as missing:
        raise TeetotalError("PostgreSQL needs pg8000: pip install 'pg8000>=1.30'") from missing
    return native


class Place:
    """A server: ``postgresql://user:password@host:port/database``, or what is usual for each part that is missing."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "://" in url else f"postgresql://{url}")
        try:
            port = parts.port or PORT
        except ValueError as problem:
            raise TeetotalError(f"{url}: {problem}") from problem
        if parts.scheme not in ("postgresql", "postgres") or not parts.hostname:
            raise TeetotalError(f"{url}: a server is postgresql://user:password@host:port/database")
        self.host, self.port = parts.hostname, port
        self.user = unquote(parts.username or "postgres")
        self.password = None if parts.password is None else unquote(parts.password)
        self.database = parts.path.lstrip("/") or "postgres"

    def connect(self) -> Any:
        native = _driver()
        try:
            return native.Connection(
                self.user, host=self.host, port=self.port, password=self.password, database=self.database,
                timeout=PATIENCE,
            )  # fmt: skip
        except (native.InterfaceError, native.DatabaseError, OSError, UnicodeError) as problem:
            raise TeetotalError(f"{self.host}:{self.port}: {problem}") from problem


class PostgresSession:
    def __init__(self, database: Postgres) -> None:
        self._table = database.table
        self._primary = database.primary.connect()
        self._reader = self._primary if database.replica is None else database.replica.connect()

    def read(self, key: int) -> int:
        ((value,),) = self._reader.run(f"SELECT v FROM {self._table} WHERE k = :k", k=key)
        return int(value)

    def write(self, key: int, value: int) -> None:
        self._primary.run(f"UPDATE {self._table} SET v = :v WHERE k = :k", k=key, v=value)

    def exchange(self, key: int, value: int) -> int:
        ((old,),) = self._primary.run(
            f"UPDATE {self._table} new SET v = :v FROM (SELECT k, v FROM {self._table} WHERE k = :k FOR UPDATE) old "
            "WHERE new.k = old.k RETURNING old.v",
            k=key,
            v=value,
        )
        return int(old)

    def close(self) -> None:
        self._primary.close()
        if self._reader is not self._primary:
            self._reader.close()


class Postgres:
    name = "postgres"

    def __init__(self, primary: Place, replica: Place | None = None) -> None:
        self.primary = primary
        self.replica = replica
        self.table = f"teetotal_{os.getpid()}_{os.urandom(4).hex()}"
        self._control = primary.connect()
        self._watcher = None if replica is None else replica.connect()
        self._control.run(f"CREATE TABLE {self.table} (k integer PRIMARY KEY, v bigint NOT NULL)")

    def session(self) -> Session:
        return PostgresSession(self)

    def begin(self, keys: int) -> None:
        self._control.run(f"TRUNCATE {self.table}")
        self._control.run(f"INSERT INTO {self.table} SELECT k, 0 FROM generate_series(0, :last) AS k", last=keys - 1)
        if self._watcher is not None:
            ((place,),) = self._control.run("SELECT pg_current_wal_lsn()::text")
            while not self._watcher.run("SELECT pg_last_wal_replay_lsn() >= CAST(:place AS pg_lsn)", place=place)[0][0]:
                pass

    def clean(self) -> None:
        self._control.run(f"DROP TABLE {self.table}")
        self._control.close()
        if self._watcher is not None:
            self._watcher.close()


@checked
@contextmanager
def opened(server: str | None = None, read_from: str | None = None, *, replica: bool = False) -> Iterator[Postgres]:
    """The servers that are named, or our own: on loopback, in a folder that is gone afterwards."""
    _driver()
    if are_named(server, read_from, replica):
        yield Postgres(Place(server or ""), None if read_from is None else Place(read_from))
        return
    with scratch_folder() as folder, _own_servers(Path(folder), replica) as places:
        yield Postgres(*places)


@contextmanager
def _own_servers(folder: Path, replica: bool) -> Iterator[list[Place]]:
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to be run by root
    data, copy = folder / "primary", folder / "replica"
    for directory in (data, copy):
        directory.mkdir(0o700)
        if user is not None:
            folder.chmod(0o711)
            shutil.chown(directory, user)
    _do([program("initdb", "postgresql", *_BINARIES), "-D", str(data), "-U", "postgres", "-A", "trust", "-N"], user)
    with _serving(data, folder / "primary.log", user) as primary:
        if not replica:
            yield [primary]
            return
        source = ["-h", primary.host, "-p", str(primary.port), "-U", "postgres"]
        _do([program("pg_basebackup", "postgresql", *_BINARIES), *source, "-D", str(copy), "-R", "-c", "fast"], user)
        with _serving(copy, folder / "replica.log", user, "-c", f"recovery_min_apply_delay={LAG}") as standby:
            yield [primary, standby]


@contextmanager
def _serving(data: Path, log: Path, user: str | None, *settings: str) -> Iterator[Place]:
    place = Place(f"postgres@127.0.0.1:{free_port()}")
    options = ["-c", "fsync=off", "-c", f"unix_socket_directories={data}", "-c", "listen_addresses=127.0.0.1"]
    command = [
        program("postgres", "postgresql", *_BINARIES),
        "-D",
        str(data),
        "-p",
        str(place.port),
        *options,
        *settings,
    ]

    def answers() -> bool:
        place.connect().close()
        return True

    with serving(command, log, answers, user):
        yield place


def _do(command: list[str], user: str | None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, user=user, cwd="/")
    if done.returncode != 0:
        raise TeetotalError(f"{Path(command[0]).name}: {done.stderr.strip() or done.stdout.strip()}")
