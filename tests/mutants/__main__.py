"""``make mutants``: plants each fault of the list in a copy of the tree and runs the tests that must notice it."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import resource
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from mutants.listing import ROOT, Mutant, mutants
from mutants.workshop import BROKEN, CODE, KILLED, SURVIVED, TIMED_OUT, Result, Workshop, among, files, stop_all

STALE, EQUIVALENT = "stale", "equivalent"
HERE = "killed in this code"
COLUMNS = (KILLED, SURVIVED, TIMED_OUT, STALE, BROKEN, EQUIVALENT)


def code() -> str:
    """Changes with whatever faults are planted in: which code a result is of."""
    digest = hashlib.sha256()
    for file in sorted(files(ROOT, CODE)):
        digest.update(f"{file}\0".encode() + (ROOT / file).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Record:
    """The results so far, kept in a file after each one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._code = code()
        self._lock = threading.Lock()
        self._kept: dict[str, dict[str, object]] = json.loads(path.read_text()) if path.exists() else {}

    def add(self, mutant: Mutant, result: Result) -> None:
        with self._lock:
            self._kept[mutant.title] = {"digest": mutant.digest, "code": self._code, **asdict(result)}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self._kept, indent=1, sort_keys=True))

    def status(self, mutant: Mutant) -> str | None:
        """None where this fault was not tried yet, or was another one then."""
        if mutant.equivalent:
            return EQUIVALENT
        if mutant.problem():
            return STALE
        kept = self._kept.get(mutant.title)
        return str(kept["status"]) if kept and kept["digest"] == mutant.digest else None

    def killed_here(self, mutant: Mutant) -> bool:
        """And not in the code as it was at some earlier time."""
        return self.status(mutant) == KILLED and self._kept[mutant.title].get("code") == self._code


def table(chosen: list[Mutant], record: Record) -> str:
    areas = {mutant.area: Counter[str]() for mutant in chosen}
    for mutant in chosen:
        areas[mutant.area][record.status(mutant) or "not tried"] += 1
        areas[mutant.area][HERE] += record.killed_here(mutant)
    total = sum(areas.values(), Counter())
    columns = [column for column in (*COLUMNS, "not tried") if column == KILLED or total[column]]
    columns.insert(1, HERE)
    lines = [f"| area | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for area, counts in [*areas.items(), ("**all**", total)]:
        lines.append(f"| {area} | {' | '.join(str(counts[column]) for column in columns)} |")
    judged = len(chosen) - total[EQUIVALENT] - total["not tried"]
    left = f", {total['not tried']} not tried" if total["not tried"] else ""
    lines.append(f"\n{total[KILLED]} of {judged} faults noticed ({total[KILLED] / max(1, judged):.1%}){left}.")
    return "\n".join(lines)


class Sound:
    """A copy without faults: a test that does not pass there notices nothing. Files are run when one of theirs is asked."""

    def __init__(self, workshop: Workshop, chosen: list[Mutant]) -> None:
        self._workshop = workshop
        self._named = {test for mutant in chosen for test in mutant.killed_by}
        self._passing: dict[str, set[str]] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def failing(self, tests: Iterable[str]) -> list[str]:
        return [test for test in tests if test not in self._passing_of(test.partition("::")[0])]

    def _passing_of(self, file: str) -> set[str]:
        with self._locks[file]:
            if file not in self._passing:
                asked = (test for test in self._named if test.startswith(f"{file}::"))
                self._passing[file] = self._workshop.passing(asked, 1800)
            return self._passing[file]


class Campaign:
    """A queue of faults and a workshop for each worker."""

    def __init__(self, chosen: list[Mutant], record: Record, options: argparse.Namespace) -> None:
        self._record = record
        self._folder: Path = options.folder
        self._flags: str = options.flags
        self._seconds: float = options.seconds
        self._waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        # What needs no compiler comes first; then file by file, so that little is compiled twice; headers take longest.
        self._chosen = sorted(chosen, key=lambda mutant: (mutant.compiled, mutant.file.endswith(".hpp"), mutant.file))

    def run(self, jobs: int) -> None:
        """First those that need no compiler, then the others, beside a copy without faults that is made as theirs are."""
        for compiled in (False, True):
            some = [mutant for mutant in self._chosen if mutant.compiled == compiled]
            if some:
                self._run(some, jobs, compiled)

    def _run(self, chosen: list[Mutant], jobs: int, compiled: bool) -> None:
        workshop = Workshop(self._folder / "sound", self._flags)
        if compiled and (problem := workshop.build()):
            raise SystemExit(problem)
        sound = Sound(workshop, chosen)
        for mutant in chosen:
            self._waiting.put(mutant)
        workers = [
            threading.Thread(target=self._work, args=(number, sound), daemon=True) for number in range(1, jobs + 1)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _work(self, number: int, sound: Sound) -> None:
        workshop = Workshop(self._folder / str(number), self._flags)
        while True:
            try:
                mutant = self._waiting.get_nowait()
            except queue.Empty:
                return
            result = self._judge(mutant, workshop, sound)
            self._record.add(mutant, result)
            detail = "" if result.status == KILLED else f"  {result.detail}"
            print(f"{result.status:9} {result.seconds:6.1f} s  {mutant.title}{detail}", flush=True)

    def _judge(self, mutant: Mutant, workshop: Workshop, sound: Sound) -> Result:
        if not mutant.killed_by:
            return Result(BROKEN, 0, "names no test")
        result = workshop.judge(mutant, self._seconds)
        noticed = [test for test in mutant.killed_by if among(test, [result.failed])]
        if result.status != BROKEN and (failing := sound.failing(noticed or mutant.killed_by)):
            return Result(BROKEN, result.seconds, f"does not pass without the fault: {failing[0]}")
        return result


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("areas", nargs="*", help="these areas, or AREA/NAME; all of them if none is given")
    parser.add_argument("--list", action="store_true", help="say what is on the list, and run nothing")
    parser.add_argument("--left", action="store_true", help="leave out those that were killed in an earlier run")
    parser.add_argument("--score", action="store_true", help="the table of what earlier runs found, and run nothing")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="copies at a time")
    parser.add_argument("--seconds", type=float, default=300, help="for the tests of one fault")
    parser.add_argument("--flags", default="-O1 -DNDEBUG", help="a fault is compiled once and run for seconds")
    parser.add_argument(
        "--folder",
        type=lambda text: Path(text).resolve(),
        default=ROOT / "build" / "mutants",
        help="where the copies are",
    )
    options = parser.parse_args()
    known = mutants()
    for asked in options.areas:
        if not any(asked in (mutant.area, mutant.title) for mutant in known):
            parser.error(f"no area or fault is called {asked}")
    chosen = [m for m in known if not options.areas or {m.area, m.title} & set(options.areas)]
    if options.list:
        for mutant in chosen:
            print(
                f"{mutant.title}  {mutant.file}\n    {mutant.why}\n    {mutant.equivalent or ' '.join(mutant.killed_by)}"
            )
        return 0
    record = Record(options.folder / "results.json")
    stopped = False
    if not options.score:
        signal.signal(signal.SIGTERM, _interrupted)
        can = [m for m in chosen if not m.equivalent and not m.problem()]
        if options.left:
            can = [m for m in can if record.status(m) != KILLED]
        begun = time.monotonic()
        try:
            Campaign(can, record, options).run(options.jobs)
        except KeyboardInterrupt:
            stopped = True
            stop_all()
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        worked = (spent.ru_utime + spent.ru_stime) / 60
        print(f"\n{worked:.1f} minutes of a processor, in {(time.monotonic() - begun) / 60:.1f} minutes")
    print(f"\n{table(chosen, record)}")
    for mutant in chosen:
        if (status := record.status(mutant)) not in (KILLED, EQUIVALENT):
            print(f"{status or 'not tried'}: {mutant.title} {mutant.problem() or ''}")
    if stopped:
        return 130
    return int(any(record.status(mutant) not in (KILLED, EQUIVALENT) for mutant in chosen))


if __name__ == "__main__":
    sys.exit(main())
