"""Redis: its protocol, as far as numbers under keys need it, and servers of our own.

Each history has keys of its own. Reads may go to a replica, which hears of writes later: what clients then see is not SC.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from teetotal.answers.arguments import checked
from teetotal.answers.errors import TeetotalError
from teetotal.record.databases import PATIENCE, Session, address, are_named, free_port, program, serving
from teetotal.scale.supervision import scratch_folder

PORT = 6379
LAG = ("--repl-disable-tcp-nodelay", "yes")
"""A setting of Redis that lets writes to replicas wait for company, up to 40 ms: so that it shows that they come later."""


class Connection:
    """One command at a time, and its answer (RESP 2)."""

    def __init__(self, server: tuple[str, int]) -> None:
        try:
            self._socket = socket.create_connection(server, PATIENCE)
        except (OSError, UnicodeError) as problem:
            why = getattr(problem, "strerror", None) or problem
            raise TeetotalError(f"{server[0]}:{server[1]}: {why}") from problem
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("rb")

    def ask(self, *words: str) -> str | None:
        parts = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
        self._socket.sendall(f"*{len(words)}\r\n{parts}".encode())
        line = self._lines.readline()
        kind, rest = line[:1], line[1:].strip().decode()
        match kind:
            case b"+" | b":":
                return rest
            case b"$" if rest == "-1":
                return None
            case b"$":
                return self._lines.read(int(rest) + 2)[:-2].decode()
            case b"-":
                raise TeetotalError(f"redis refuses {words[0]}: {rest}")
        raise TeetotalError("what answers is not Redis" if line else "redis has closed the connection")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


class RedisSession:
    def __init__(self, database: Redis) -> None:
        self._database = database
        self._primary = Connection(database.primary)
        self._reader = self._primary if database.replica is None else Connection(database.replica)

    def read(self, key: int) -> int:
        return int(self._reader.ask("GET", self._database.key(key)) or 0)

    def write(self, key: int, value: int) -> None:
        self._primary.ask("SET", self._database.key(key), str(value))

    def exchange(self, key: int, value: int) -> int:
        return int(self._primary.ask("GETSET", self._database.key(key), str(value)) or 0)

    def close(self) -> None:
        self._primary.close()
        if self._reader is not self._primary:
            self._reader.close()


class Redis:
    name = "redis"

    def __init__(self, primary: tuple[str, int], replica: tuple[str, int] | None = None) -> None:
        self.primary = primary
        self.replica = replica
        self._run = f"teetotal-{os.getpid()}-{os.urandom(4).hex()}"
        self._histories = 0
        self._used = 0
        self._control = Connection(primary)

    def key(self, number: int) -> str:
        return f"{self._run}-{self._histories}-{number}"

    def session(self) -> Session:
        return RedisSession(self)

    def begin(self, keys: int) -> None:
        self._forget()
        self._histories += 1  # keys that nobody has heard of are 0 on every server
        self._used = keys

    def _forget(self) -> None:
        for key in range(self._used):
            self._control.ask("DEL", self.key(key))

    def clean(self) -> None:
        self._forget()
        self._control.close()


@checked
@contextmanager
def opened(server: str | None = None, read_from: str | None = None, *, replica: bool = False) -> Iterator[Redis]:
    """The servers that are named, or our own: on loopback, in a folder that is gone afterwards."""
    if are_named(server, read_from, replica):
        yield Redis(address(server or "", PORT), None if read_from is None else address(read_from, PORT))
        return
    with scratch_folder() as folder, ExitStack() as servers:
        primary = servers.enter_context(_own_server(Path(folder) / "primary", *LAG))
        copy = (
            servers.enter_context(_own_server(Path(folder) / "replica", "--replicaof", *map(str, primary)))
            if replica
            else None
        )
        yield Redis(primary, copy)


@contextmanager
def _own_server(folder: Path, *options: str) -> Iterator[tuple[str, int]]:
    command = program("redis-server", "redis-server")
    folder.mkdir()
    place = ("127.0.0.1", free_port())
    settings = ["--port", str(place[1]), "--bind", place[0], "--save", "", "--appendonly", "no", "--dir", str(folder)]
    is_replica = "--replicaof" in options

    def answers() -> bool:
        connection = Connection(place)
        try:
            linked = "master_link_status:up" in (connection.ask("INFO", "replication") or "")
            return connection.ask("PING") == "PONG" and (linked or not is_replica)
        finally:
            connection.close()

    with serving([command, *settings, "--repl-diskless-sync-delay", "0", *options], folder / "log", answers):
        yield place
