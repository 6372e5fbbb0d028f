"""Clients of real libraries: nothing is proved that was not seen, nothing found that is not there, and a fence that is
taken out of a library is missed, and put back beside its old place. Skipped where a library is not installed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from library_clients import CLIENTS, TWO, Client, Weakened
from teetotal.answers.options import CheckOptions
from teetotal.answers.options import FenceOptions as Fencing
from teetotal.answers.verdict import Goal
from teetotal.checking import check
from teetotal.fences.fencing import fence
from teetotal.programs.c.build import Source

SYSTEM = Path("/usr/include")
PATIENT = os.environ.get("TEETOTAL_PROFILE") == "fuzz"
GOALS: list[Goal] = ["robust", "safe"] if PATIENT else ["robust"]
ASKED = [client for client in CLIENTS if PATIENT or not client.slow]

UNSEEN = {
    "urcu-memb": "urcu",
    "urcu-qsbr": "urcu",
    "urcu-bp": "urcu",
    "tbb-concurrent_queue": "tbb",
    "glib-async-queue": "g_async_queue",
}
"""Clients of code that nobody compiles here: a note must name it."""


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
        result = check(
            Source((write(client, folder),), client.flags), CheckOptions(models=("tso",), goal=goal, seconds=30)
        )
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
    assert is_right(client, word), word


IN_C11 = {
    "boost-stack": ("safe", ""),
    "moodycamel-concurrentqueue": ("safe", ""),
    "xenium-vyukov": ("safe", ""),
    "xenium-chase-lev": ("weak", "deque.bottom may still see 2"),
    "ck-ring": ("race", "ring.p_tail"),
}
"""Each is explained in docs/explanation/c11.md."""


@pytest.mark.parametrize("client", [client for client in CLIENTS if client.name in IN_C11], ids=lambda each: each.name)
def test_clients_of_libraries_in_c11(client: Client, tmp_path: Path) -> None:
    installed(client)
    answer = check(Source((write(client, tmp_path),), client.flags), CheckOptions(models=("c11",), seconds=60))
    expected, about = IN_C11[client.name]
    c11 = answer.models["c11"]
    if expected == "safe":
        assert (c11.robust, c11.race_free, c11.portable, c11.safe) == (True, True, True, True)
    else:
        assert (c11.robust, c11.race_free) == ((False, True) if expected == "weak" else (None, False))
        assert about in c11.violations[0].message


def weaken(weakened: Weakened, folder: Path) -> tuple[Path, int]:
    """A copy of the library with the fence or the order taken out, and the line where it was."""
    home = Path(weakened.file).parent
    if home == Path():  # a header that lies beside those of others
        shutil.copy(SYSTEM / weakened.file, folder)
    else:
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
    found = check(Source((source,), flags), CheckOptions(models=(model,), seconds=30))
    assert found.models[model].robust is False
    answer = fence(source, Fencing(models=(model,), flags=flags, seconds=60))
    assert str(answer.answer.verdict) == "safe"
    (placed,) = answer.answer.fences
    if client.weakened.in_client:
        assert placed.file == source
        return
    assert placed.file == str(file)
    assert abs(placed.line - line) <= client.weakened.close


def test_a_fence_goes_beside_the_call_of_what_lies_in_the_system_s_headers(tmp_path: Path) -> None:
    client = Client(name="ck-pr", header="ck_pr.h", language="c", text=_PRIMITIVES)
    installed(client)
    source = write(client, tmp_path)
    answer = fence(source, Fencing(models=("tso",)))
    assert str(answer.answer.verdict) == "safe"
    assert [(placed.kind, placed.file, placed.after) for placed in answer.answer.fences] == [
        ("mfence", source, "ck_pr_store_int(&x, 1);"),
        ("mfence", source, "ck_pr_store_int(&y, 1);"),
    ]
    assert list(answer.texts) == [source]


_PRIMITIVES = """
#include <stdio.h>
#include <ck_pr.h>
int x, y, seen[2];
static void *first(void *p) { ck_pr_store_int(&x, 1); seen[0] = ck_pr_load_int(&y); return 0; }
static void *second(void *p) { ck_pr_store_int(&y, 1); seen[1] = ck_pr_load_int(&x); return 0; }
MAIN(, )
"""
