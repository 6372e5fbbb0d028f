"""``python -m battery [PATTERN …]``: asks about the programs whose titles have all patterns, and compares with the record.

``--list`` prints the wrong answers on record, ``--table`` the table of the documentation; ``--promote`` keeps what was
said, but no wrong answer in the place of a right one. ``--new`` asks only what was never asked. ``--native`` runs the
programs themselves, without teetotal: each channel must do what it says. ``--tally`` compares with no record: on another
system, or with another compiler, it counts the answers and lists the wrong ones, as one line of JSON; ``--sample`` takes a
few programs of every class.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from battery import channels
from battery.record import Asked, answers, everything, keep, noted, sample, table
from going_on import State, add_state


def main() -> int:
    parser = argparse.ArgumentParser(prog="battery", description=__doc__)
    parser.add_argument("patterns", nargs="*")
    for flag in ("--list", "--table", "--promote", "--new", "--native", "--sample", "--tally"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after that")
    add_state(parser)
    chosen = parser.parse_args()
    wanted: Callable[[str], bool] = lambda title: all(re.search(part, title) for part in chosen.patterns)  # noqa: E731
    if chosen.table:
        print(table())
        return 0
    if chosen.list:
        print("\n".join(f"{title} {word}" for title, word in answers().items() if word.endswith("WRONG")))
        return 0
    end = time.monotonic() + chosen.seconds
    if chosen.native:
        programs = [p for p in channels.programs() if not p.fenced and channels.can_run(p) and wanted(p.title)]
        return _natively(programs, chosen.jobs, end)
    asked = [one for one in (sample(4) if chosen.sample else everything()) if wanted(one.title)]
    return _tally(asked, chosen.jobs, end) if chosen.tally else _ask(asked, chosen, end)


def _tally(asked: Sequence[Asked], jobs: int, end: float) -> int:
    """How often each word was said, and which programs were answered wrongly."""

    def ask(one: Asked) -> tuple[str, str] | None:
        return one.ask() if time.monotonic() < end else None

    words: Counter[str] = Counter()
    wrong: list[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        for one, said in zip(asked, pool.map(ask, asked), strict=True):
            word = "not tried" if said is None else said[0] if one.right(said[0]) else "wrong"
            words[word] += 1
            if word == "wrong" and said is not None:
                wrong.append(f"{one.title} {said[0]}")
                print(f"{one.title}: {said[0]}: {said[1][:300]!r}", flush=True)
    print(json.dumps({"words": words, "wrong": wrong}))
    return int(bool(wrong))


def _ask(asked: Sequence[Asked], chosen: argparse.Namespace, end: float) -> int:
    known = answers()
    if chosen.new:
        asked = [one for one in asked if one.title not in known]
    state = State(chosen)
    as_known: list[str] = state.known.get("as_known", [])  # titles: they were answered as they were before
    left = [one for one in asked if one.title not in set(as_known)]
    surprises = 0

    def ask(one: Asked) -> tuple[str, str] | None:
        return one.ask() if time.monotonic() < end else None

    with state, ThreadPoolExecutor(chosen.jobs) as pool:
        for one, said in zip(left, pool.map(ask, left), strict=True):
            if said is None:
                continue
            word = noted(one, said[0])
            before = known.get(one.title)
            if word != before:
                print(f"{one.title}: {word}, and it was {before or 'not asked'}; {said[1][:200]!r}", flush=True)
                worse = word.endswith("WRONG") and before is not None and not before.endswith("WRONG")
                surprises += worse or not chosen.promote
                if chosen.promote and not worse:
                    known[one.title] = word
                    keep(known)
            else:
                as_known.append(one.title)
                state.done(as_known=as_known)
        if time.monotonic() < end:
            state.end()
    print(f"{surprises} answers are not those on record")
    return int(surprises > 0)


def _natively(programs: Sequence[channels.Program], jobs: int, end: float) -> int:
    def run(program: channels.Program) -> str:
        if time.monotonic() > end:
            return "not run"
        with TemporaryDirectory() as folder:
            return program.native(Path(folder))

    broken = 0
    with ThreadPoolExecutor(jobs) as pool:
        for program, problem in zip(programs, pool.map(run, programs), strict=True):
            if problem:
                broken += 1
                print(f"{program.title}: {problem[:300]}", flush=True)
    print(f"{len(programs)} programs, {broken} broken")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
