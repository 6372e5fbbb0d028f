"""Histories from databases: SC from one server, not with reads from a replica. Skipped without the servers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from teetotal import record
from teetotal.answers.errors import TeetotalError
from teetotal.answers.verdict import Verdict
from teetotal.histories.check import check
from teetotal.record.databases import address, runs
from teetotal.record.postgres import Postgres, postgres
from teetotal.record.redis import Connection, redis

SHAPE = record.Shape(threads=3, operations=60, addresses=3, rmws=0.1)
needs_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server")
needs_postgres = pytest.mark.skipif(
    shutil.which("postgres") is None and not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")),
    reason="no postgres",
)


def verdicts(opened: AbstractContextManager[Any], count: int = 3) -> list[Verdict]:
    with opened as database:
        return [check(one.history, "sc").verdict for one in runs(database, SHAPE, count=count)]


@needs_redis
def test_one_redis_is_sc() -> None:
    assert verdicts(redis(), 5) == [Verdict.SAFE] * 5


@needs_redis
def test_a_replica_of_redis_is_not() -> None:
    """It is late by up to 40 ms, and a session reads its own writes a moment later."""
    assert Verdict.VIOLATION in verdicts(redis(replica=True), 10)


@needs_redis
def test_a_redis_that_runs_is_left_as_it_was() -> None:
    with redis() as own:
        other = Connection(own.primary)
        other.ask("SET", "precious", "1")
        assert verdicts(redis(f"{own.primary[0]}:{own.primary[1]}")) == [Verdict.SAFE] * 3
        assert other.ask("DBSIZE") == "1"
        other.close()
        own.clean()


@needs_postgres
def test_one_postgres_is_sc_and_with_a_standby_it_is_not() -> None:
    pytest.importorskip("pg8000")
    with postgres(replica=True) as own:
        alone = Postgres(own.primary)
        assert [check(one.history, "sc").verdict for one in runs(alone, SHAPE, count=3)] == [Verdict.SAFE] * 3
        assert Verdict.VIOLATION in [check(one.history, "sc").verdict for one in runs(own, SHAPE, count=3)]


def test_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(TeetotalError, match="there is no redis-server here: install Debian's package"), redis():
        pass


def test_a_server_that_is_not_there() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "teetotal", "record", "redis", "--server", "127.0.0.1:1"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "127.0.0.1:1: Connection refused" in done.stderr


@pytest.mark.parametrize("wrong", ["", ":", "host:", "host:x", "host:99999", ":80"])
def test_places_that_cannot_be(wrong: str) -> None:
    with pytest.raises(TeetotalError, match="a server is HOST or HOST:PORT"):
        address(wrong, 6379)


def test_what_is_asked_must_fit() -> None:
    for opened in (redis, postgres):
        pytest.importorskip("pg8000")
        with pytest.raises(TeetotalError, match="beside a server of our own"), opened("host", replica=True):
            pass
        with pytest.raises(TeetotalError, match="name that, too"), opened(read_from="host"):
            pass
