"""Counts over the benchmark programs: executions, violations by places, time."""

from __future__ import annotations

import atexit
import re
import time
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal, NamedTuple

from teetotal import _core
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Kind, Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.runtime import driver
from teetotal.engines.runtime.messages import End, Found, Loaded, Restart
from teetotal.programs.c.build import Source, built
from teetotal.programs.c.symbols import Symbols

PAPERS = Semantics(rmw="address", mutex="rmw", failed_cas="write")
"""The papers' PSO: an atomic operation flushes its own address, a mutex is nothing more than such operations, and a
compare-and-swap that fails writes the old value back (TACAS 2011, footnote 1)."""


class Counts(NamedTuple):
    executions: int
    seconds: float
    length: float
    reporting: dict[str, int]
    """Executions in which each monitor reports something."""
    triples: dict[str, set[tuple[int, int, int]]]
    """The places of the delayed store, of the event before, and of the deciding event."""
    lines: dict[int, str]
    """Of places."""

    def pairs(self, monitor: str, *, by_line: bool = False) -> int:
        """Of the delayed store and the deciding event, told apart by instruction or by line of code."""
        return len({(told[0], told[2]) for told in self._distinct(monitor, by_line)})

    def distinct(self, monitor: str, *, by_line: bool = False) -> int:
        return len(self._distinct(monitor, by_line))

    def _distinct(self, monitor: str, by_line: bool) -> set[tuple[object, ...]]:
        return {tuple(self.lines[place] if by_line else place for place in told) for told in self.triples[monitor]}


def folder(kind: Literal["programs", "promela"]) -> Path:
    """Of benchmark programs: in the source tree, or installed beside the compiled core."""
    in_tree = Path(__file__).parents[3] / "benchmarks" / kind
    installed = Path(_core.__file__).parent / "benchmarks" / kind
    for directory in (in_tree, installed):
        if directory.is_dir():
            return directory
    raise TeetotalError(f"{installed}: the benchmark programs are not installed")


def program(name: str) -> Path:
    path = folder("programs") / f"{name}.c"
    if not path.exists():
        raise TeetotalError(f"the benchmark program {name} is not installed")
    return path


def lines_of_code(name: str) -> int:
    """As the papers count: without blank lines, comments, and the test harness, which is ``main`` and the functions of
    threads; where there are no others, these are the program."""
    text = program(name).read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]
    parts = _functions(lines)
    ran = {"main", *re.findall(r"^static void \*(\w+)\(void \*", text, re.MULTILINE)}
    if set(parts) <= ran:
        ran = {"main"}
    return len(lines) - sum(length for function, length in parts.items() if function in ran)


def _functions(lines: list[str]) -> dict[str, int]:
    """How many lines each function has. Its first begins at the margin, and its last is a brace there or ends the first."""
    found: dict[str, int] = {}
    open_since: tuple[str, int] | None = None
    for number, line in enumerate(lines):
        begins = re.match(r"(?:static |inline )*(?:int|void)\b[^=;]*?\b(\w+)\(", line)
        if begins is not None:
            open_since = begins[1], number
        if open_since is not None and (line.startswith("}") or (begins is not None and line.rstrip().endswith("}"))):
            found[open_since[0]] = number - open_since[1] + 1
            open_since = None
    return found


class _Latest:
    """The program that was built last, kept: a row runs it in several ways."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._open = ExitStack()
        atexit.register(self._open.close)

    def built(self, name: str, flags: tuple[str, ...]) -> tuple[Path, Symbols]:
        source = Source((str(program(name)),), flags)
        if source != self._source:
            self._open.close()
            self._source = None
            self._object = self._open.enter_context(built(source))
            self._symbols = self._open.enter_context(closing(Symbols(self._object, source.files)))
            self._source = source
        return self._object, self._symbols


_LATEST = _Latest()


def count(
    name: str,
    strategy: Strategy,
    monitors: list[str],
    *,
    flags: tuple[str, ...] = (),
    seed: int = 0,
    semantics: Semantics = PAPERS,
    preempted: Iterable[Kind] = tuple(Kind),
) -> Counts:
    """``preempted``: before what a thread may be."""
    options = [*_options(strategy, monitors, seed, semantics), "reporting=1"]
    options.append(f"preempted={sum(1 << kind for kind in preempted)}")
    triples: dict[str, set[tuple[int, int, int]]] = {monitor: set() for monitor in monitors}
    object_file, symbols = _LATEST.built(name, flags)
    base = 0
    for answer in driver.answers(object_file, options):
        match answer:
            case Loaded():
                base = answer.base
            case Restart():
                triples = {monitor: set() for monitor in monitors}
            case Found():
                places = [answer.steps[event].place for event in answer.report]
                triples[answer.monitor].add((places[0], places[1], places[2]))
            case End():
                told_at = {place for found in triples.values() for told in found for place in told}
                return Counts(
                    executions=answer.executions,
                    seconds=answer.cpu or 0.0,
                    length=answer.steps / max(answer.executions, 1),
                    reporting=dict(zip(monitors, answer.reporting, strict=True)),
                    triples=triples,
                    lines={place: str(symbols.line(place - base)) for place in told_at},
                )
    raise TeetotalError(f"{name}: the exploration did not come to its end")


def first_report(name: str, strategy: Strategy, monitor: str, *, flags: tuple[str, ...] = ()) -> float | None:
    """Seconds until a monitor reports something; None where it never does."""
    object_file, _ = _LATEST.built(name, flags)
    begun = time.monotonic()
    for answer in driver.answers(object_file, _options(strategy, [monitor], 0, PAPERS)):
        if isinstance(answer, Found):
            return time.monotonic() - begun
    return None


def overhead(seconds: float, alone: float) -> str:
    """What monitors add to the time without them."""
    return f"{100 * (seconds / alone - 1):.0f} %" if alone > 0.05 else "too short"


def _options(strategy: Strategy, monitors: list[str], seed: int, semantics: Semantics) -> list[str]:
    return [
        f"strategy={strategy.name}", f"count={strategy.count}", f"depth={strategy.depth}", f"seed={seed}",
        *driver.semantics_options(semantics), *driver.loop_options(None, "count"),
        *(f"monitor={monitor}" for monitor in monitors),
    ]  # fmt: skip
