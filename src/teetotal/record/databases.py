"""Random clients of a database: a session per thread, all at once, each doing one operation after the other.

A database is what opens sessions (``Database``); a session reads, writes and exchanges a key. ``redis.py`` and
``postgres.py`` have one each, and start servers of their own where none is named.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind
from teetotal.record.clients import Access, Client, Recorded, Shape

USUAL = Shape(threads=4, operations=80, addresses=4)
PATIENCE = 60.0
"""Seconds for a server to begin, or to answer."""


class Session(Protocol):
    """What one client does. Keys are numbers; each begins as 0."""

    def read(self, key: int) -> int: ...
    def write(self, key: int, value: int) -> None: ...
    def exchange(self, key: int, value: int) -> int: ...
    def close(self) -> None: ...


class Database(Protocol):
    name: str

    def session(self) -> Session: ...
    def begin(self, keys: int) -> None:
        """All keys are 0, for everybody who reads from now on."""

    def clean(self) -> None:
        """Nothing is left of what we wrote."""


def runs(database: Database, shape: Shape | None = None, *, count: int = 10, seed: int = 0) -> Iterator[Recorded]:
    """So many histories, each of another client."""
    shape = shape or USUAL
    if shape.fences:
        raise TeetotalError("a database has no fences")
    sessions = [database.session() for _ in range(shape.threads)]
    try:
        for number in range(seed, seed + count):
            client = Client(shape, number)
            database.begin(shape.addresses)
            yield Recorded(f"{database.name}-{number}", client, _run(client, sessions))
    finally:
        for session in sessions:
            session.close()
        database.clean()


def _run(client: Client, sessions: list[Session]) -> list[int]:
    """What the reads of each thread saw, thread after thread."""
    results: list[list[int]] = [[] for _ in sessions]
    failures: list[BaseException] = []
    start = threading.Barrier(len(sessions))

    def work(thread: int) -> None:
        try:
            start.wait()
            for access in client.threads[thread]:
                if failures:
                    return
                _perform(access, sessions[thread], results[thread])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(thread,), daemon=True) for thread in range(len(sessions))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt as interrupt:
        failures.append(interrupt)
        raise
    if failures:  # a write that failed may or may not have happened: this history is not told
        raise TeetotalError(f"the database does not answer as expected: {failures[0]}") from failures[0]
    return [result for of_thread in results for result in of_thread]


def _perform(access: Access, session: Session, results: list[int]) -> None:
    match access.kind:
        case Kind.LD:
            results.append(session.read(access.address))
        case Kind.ST:
            session.write(access.address, access.value)
        case _:
            results.append(session.exchange(access.address, access.value))


# -- servers of our own ----------------------------------------------------------------------------------------------


def are_named(server: str | None, read_from: str | None, replica: bool) -> bool:
    """Whether the servers are somebody else's."""
    if server is not None and replica:
        raise TeetotalError("a replica is started only beside a server of our own: name where to read from instead")
    if server is None and read_from is not None:
        raise TeetotalError("a server to read from is a replica of the one that is named: name that, too")
    return server is not None


def program(name: str, package: str, *elsewhere: Path) -> str:
    """Where a program of a server is."""
    found = shutil.which(name) or next((str(path / name) for path in elsewhere if (path / name).exists()), None)
    if found is None:
        raise TeetotalError(
            f"there is no {name} here: install Debian's package {package}, or name a server that runs with --server"
        )
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(command: list[str], log: Path, answers: Callable[[], bool], user: str | None = None) -> Iterator[None]:
    """A server, from when it answers until it is no longer needed."""
    with open(log, "wb") as output, subprocess.Popen(command, stdout=output, stderr=output, user=user) as process:
        try:
            end = time.monotonic() + PATIENCE
            while not _answers(answers):
                if process.poll() is not None or time.monotonic() > end:
                    said = log.read_text(errors="replace").strip().splitlines()[-3:]
                    raise TeetotalError(f"{Path(command[0]).name} does not begin to serve: {' / '.join(said)}")
                time.sleep(0.02)
            yield
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def _answers(asks: Callable[[], bool]) -> bool:
    try:
        return asks()
    except Exception:  # not yet: whatever the driver makes of that
        return False


def address(text: str, usual_port: int) -> tuple[str, int]:
    """``HOST`` or ``HOST:PORT``."""
    host, _, port = text.rpartition(":") if ":" in text else (text, "", str(usual_port))
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise TeetotalError(f"{text}: a server is HOST or HOST:PORT")
    return host, int(port)
