"""Clients of real libraries: nothing is proved that was not seen, nothing found that is not there, and a fence that is
taken out of a library is missed, and put back beside its old place. Skipped where a library is not installed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from library_clients import CLIENTS, TWO, Client, Weakened
from teetotal.fences.fencing import Options as Fencing
from teetotal.fences.fencing import fence
from teetotal.programs.c.build import Source
from teetotal.programs.c.check import Options, check
from teetotal.verdicts import Goal

SYSTEM = Path("/usr/include")
PATIENT = os.environ.get("TEETOTAL_PROFILE") == "fuzz"
GOALS: list[Goal] = ["robust", "safe"] if PATIENT else ["robust"]
ASKED = [client for client in CLIENTS if PATIENT or not client.slow]

UNSEEN = {
    "ck-ring": "assembly",
    "ck-stack": "assembly",
    "ck-spinlock": "assembly",
    "urcu-memb": "urcu",
    "tbb-concurrent_queue": "tbb",
    "glib-async-queue": "g_async_queue",
}
"""Clients of code that nobody compiles here, or that is written in assembly: where it is not seen, a note must name it."""

KNOWN_WRONG: dict[tuple[str, Goal], str] = {
    ("urcu-memb", "robust"): "safe",
    ("urcu-memb", "safe"): "safe",
    ("tbb-concurrent_queue", "robust"): "unnamed",
    ("tbb-concurrent_queue", "safe"): "unnamed",
    ("glib-async-queue", "robust"): "violation",
    ("glib-async-queue", "safe"): "violation",
}
"""What is said today, and must not be. Each of these is still wrong: one that is put right has to leave the list."""

CLOSE = 8
"""So many lines from the place where the library was weakened is beside it."""


def installed(client: Client) -> None:
    if not any((SYSTEM / folder / client.header).exists() for folder in (".", "x86_64-linux-gnu")):
        pytest.skip(f"{client.header} is not installed")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")


def write(client: Client, folder: Path) -> str:
    file = folder / ("client.c" if client.language == "c" else "client.cc")
    file.write_text(TWO + client.text)
    return str(file)


def said(client: Client, folder: Path, goal: Goal) -> str:
    """``safe``, ``named``, or what is wrong. Under TSO: Concurrency Kit has no fences for less on this machine."""
    try:
        result = check(Source((write(client, folder),), client.flags), Options(models=("tso",), goal=goal, seconds=30))
    except AssertionError:
        return "error"
    word, notes = str(result.verdict), "\n".join(result.notes)
    if word == "inconclusive":
        mixed = "accessed in different sizes" in notes
        named = client.name in UNSEEN and UNSEEN[client.name] in notes
        return "named" if named or mixed else "unnamed"
    return word


def is_right(client: Client, word: str) -> bool:
    """Code of a library that was not compiled here may be proved only where all of it is seen; inlined code always is."""
    library = any(flag.startswith("-l") for flag in client.flags) and client.name in UNSEEN
    return word == "named" or (word == "safe" and not library)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("client", ASKED, ids=lambda client: client.name)
def test_clients_of_libraries(client: Client, goal: Goal, tmp_path: Path) -> None:
    installed(client)
    word = said(client, tmp_path, goal)
    if (client.name, goal) in KNOWN_WRONG:
        assert word == KNOWN_WRONG[client.name, goal]
    else:
        assert is_right(client, word), word


def weaken(weakened: Weakened, folder: Path) -> tuple[Path, int]:
    """A copy of the library with the fence or the order taken out, and the line where it was."""
    home = Path(weakened.file).parent
    shutil.copytree(SYSTEM / home, folder / home)
    file = folder / weakened.file
    text = file.read_text()
    places = [match.start() for match in re.finditer(weakened.old, text)]
    assert places, f"{weakened.file} is another version"
    file.write_text(re.sub(weakened.old, weakened.new, text))
    return file, text.count("\n", 0, places[0]) + 1


@pytest.mark.parametrize(
    "client", [client for client in ASKED if client.weakened is not None], ids=lambda client: client.name
)
def test_a_weakened_library_is_found_and_mended(client: Client, tmp_path: Path) -> None:
    installed(client)
    assert client.weakened is not None
    file, line = weaken(client.weakened, tmp_path)
    flags = (f"-I{tmp_path}", *client.flags)
    source = write(client, tmp_path)
    model = client.weakened.model
    found = check(Source((source,), flags), Options(models=(model,), seconds=30))
    assert found.models[model].robust is False
    answer = fence(source, Fencing(models=(model,), flags=flags, seconds=60))
    assert str(answer.result.verdict) == "safe"
    assert [(placed.file, abs(placed.line - line) <= CLOSE) for placed in answer.result.fences] == [(str(file), True)]
