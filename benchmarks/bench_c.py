"""Executions of C programs per processor second, with the exact monitors and without, and with C11's; how many there are
where threads wait for each other, beside those of another model checker; and what it is worth that threads are identical.
One core. ``--profile``: where the time goes instead, as ``perf`` has it. ``--against RUNTIME``: how much faster it is
than another ``teetotal-runtime``, beside which lies all that it needs."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rows import tell
from teetotal.engines.runtime import driver as runtime
from teetotal.engines.runtime.messages import End
from teetotal.programs.c.build import Source, built

PROGRAMS = Path(__file__).parent / "programs"
BUFFERING = """#include "bench.h"
static atomic_int x[2];
static void *section(void *argument) {
    long me = (long)argument;
    for (int round = 0; round < 6; round++) { STORE(x[me], round); LOAD(x[1 - me]); }
    return 0;
}
int main(void) { run(2, (void *(*[])(void *)){section, section}); }
"""
LOADS = """#include "bench.h"
static atomic_int x;
static void *section(void *argument) {
    for (int round = 0; round < 5; round++) { int seen = LOAD(x); STORE(x, seen + 1 + 16 * (int)(long)argument); }
    return 0;
}
int main(void) { run(2, (void *(*[])(void *)){section, section}); }
"""
TEXTS = {"buffering": BUFFERING, "loads": LOADS}
IDENTICAL = """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_flag lock;
static atomic_int x;
static void *thread(void *argument) { WHAT; return 0; }
int main(int count, char **given) {
    pthread_t threads[16];
    int most = atoi(given[1]);
    for (int i = 0; i < most; i++) pthread_create(&threads[i], 0, thread, 0);
    for (int i = 0; i < most; i++) pthread_join(threads[i], 0);
}
"""
ALIKE = (
    ("take a lock", "while (atomic_flag_test_and_set(&lock)); atomic_flag_clear(&lock)", (4, 6, 8)),
    ("add", "atomic_fetch_add(&x, 1)", (4, 6, 8)),
    ("store, then load", "x = 1; (void)x", (3, 4, 5)),
    ("load, then store", "x = x + 1", (3, 4)),
)
CASES = (
    ("store buffering, 6 rounds", "buffering", ()),
    ("dekker, 4 sections", "dekker", ("-DROUNDS=4",)),
    ("dekker, 5 sections", "dekker", ("-DROUNDS=5",)),
    ("dekker, 4, fenced", "dekker", ("-DROUNDS=4", "-DFENCED")),
    ("peterson, 4 sections", "peterson", ("-DROUNDS=4",)),
    ("peterson, 5 sections", "peterson", ("-DROUNDS=5",)),
    ("2 x 5 load, store", "loads", ()),
    ("msn, 3 + 3 operations", "msn", ("-DLONG=2",)),
    ("msn, 4 + 4 operations", "msn", ("-DLONG=3",)),
)
LIMIT = 200_000
TURNS = 9
PROFILED = (
    "store buffering, 6 rounds",
    "dekker, 4 sections",
    "dekker, 5 sections",
    "peterson, 5 sections",
    "msn, 4 + 4 operations",
)


MONITORS = ("monitor=exact-tso", "monitor=exact-pso")
C11 = "monitor=exact-c11"


class Row(NamedTuple):
    executions: int
    seconds: float
    events: float
    """Per execution."""
    fresh: float
    """Of these, beyond what it shares with the execution before."""
    shown: int
    """How many executions the monitors had to look at."""

    @property
    def speed(self) -> float:
        return self.executions / self.seconds


WAITING: tuple[tuple[str, str, int, int, str], ...] = (
    ("await the last of 4 stores", "await", 2, 4, "1"),
    ("await the last of 1,000 stores", "await", 2, 1000, "1"),
    ("Dekker, 1 section", "dekker", 2, 1, "4+6"),
    ("Dekker, 2 sections", "dekker", 2, 2, "71+123"),
    ("Dekker, 3 sections", "dekker", 2, 3, "1,344+2,326"),
    ("Dekker, 4 sections", "dekker", 2, 4, ""),
    ("Peterson, 1 section", "peterson", 2, 1, "4+4"),
    ("Peterson, 2 sections", "peterson", 2, 2, "48+67"),
    ("Peterson, 3 sections", "peterson", 2, 3, "588+843"),
    ("Peterson, 4 sections", "peterson", 2, 4, ""),
    ("bakery, 2 threads", "bakery", 2, 1, "9+8"),
    ("bakery, 3 threads", "bakery", 3, 1, "254+401"),
    ("test-and-set lock, 2 threads", "tas", 2, 1, "2+2"),
    ("test-and-set lock, 3 threads", "tas", 3, 1, "6+18"),
    ("test-and-set lock, 4 threads", "tas", 4, 1, "24+168"),
    ("cas lock, 2 threads", "cas", 2, 1, "2+1"),
    ("cas lock, 3 threads", "cas", 3, 1, "6+6"),
    ("cas lock, 4 threads", "cas", 4, 1, "24+34"),
    ("ticket lock, 2 threads", "ticket", 2, 1, "2+1"),
    ("ticket lock, 3 threads", "ticket", 3, 1, "6+8"),
    ("ticket lock, 4 threads", "ticket", 4, 1, "24+66"),
    ("test and test-and-set, 2 threads", "ttas", 2, 1, "4+2"),
    ("test and test-and-set, 3 threads", "ttas", 3, 1, "36+28"),
    ("test and test-and-set, 4 threads", "ttas", 4, 1, "576+556"),
    ("MCS lock, 2 threads", "mcs", 2, 1, "6+3"),
    ("MCS lock, 3 threads", "mcs", 3, 1, "66+60"),
    ("MCS lock, 4 threads", "mcs", 4, 1, "1,080+1,057"),
    ("CLH lock, 2 threads", "clh", 2, 1, ""),
    ("CLH lock, 3 threads", "clh", 3, 1, ""),
    ("CLH lock, 4 threads", "clh", 4, 1, ""),
    ("seqlock, 1 reader, 2 writes", "seqlock", 2, 2, ""),
    ("seqlock, 2 readers, 2 writes", "seqlock", 3, 2, ""),
    *((f"barrier, {threads} threads", "barrier", threads, 1, "1" if threads < 6 else "") for threads in range(2, 9)),
)
"""GenMC 0.11 with --sc: executions that are complete, and blocked ones, as recorded; empty where it was not run."""


def measure(file: Path, flags: tuple[str, ...], *more: str) -> Row:
    """The best of three."""
    return max((measure_once(file, flags, *more) for _ in range(3)), key=lambda row: row.speed)


def measure_once(file: Path, flags: tuple[str, ...], *more: str) -> Row:
    options = [f"executions={LIMIT}", "nondet-low=0", *more]
    with built(Source((str(file),), (f"-I{PROGRAMS}", *flags))) as program:
        for answer in runtime.answers(program, options):
            if isinstance(answer, End):
                executions, seconds = answer.executions, answer.cpu or 0.0
                return Row(executions, seconds, answer.steps / executions, answer.fresh / executions, answer.shown)
    raise AssertionError("the exploration did not come to its end")


PARTS = (
    ("the search", r"OptimalSearch|search"),
    ("known steps, which are not run", r"KnownSteps|known_step|Controlled::skip|stand_again|take_back"),
    ("monitors", r"monitors::|hear_waiting|Explorer::(watch|visit|tell)|leads_on"),
    (
        "waiting: local states, where reads lead",
        r"LocalState|waits_now|tried|goes_|look_ahead|onward|hash_|go_up|judge",
    ),
    ("snapshots, and copies of any kind", r"Snapshots|memmove|memcpy|memset|Memory::"),
    ("running steps again", r"next_to_run|run_to|run_again|arrive"),
    ("new steps: the scheduler's records", r"Controlled::|Cells::|seen_of_object"),
    (
        "hooks, and switches to and from them",
        r"__tsan_|pthread_|visible|synchronise|teetotal_|finish|join|_entry|fence",
    ),
)
"""Of functions of the explorer, by the first pattern that occurs in their names."""


def profile() -> None:
    """Shares of the samples taken while a program is explored with both exact monitors."""
    real = runtime.executable()
    print(f"{'where the time goes':<44}" + "".join(f"{title:>28}" for title in PROFILED))
    columns = []
    with TemporaryDirectory() as directory:
        data, wrapper = Path(directory) / "perf.data", Path(directory) / "runtime"
        wrapper.write_text(f'#!/bin/sh\nexec perf record -q -F 9999 -o {data} -- {real} "$@"\n')
        wrapper.chmod(0o755)
        os.environ["TEETOTAL_RUNTIME"] = str(wrapper)
        for title, name, flags in CASES:
            if title not in PROFILED:
                continue
            with built(Source((str(source_of(name, Path(directory))),), (f"-I{PROGRAMS}", *flags))) as program:
                list(runtime.answers(program, [f"executions={LIMIT}", *MONITORS]))
            report = ["perf", "script", "-i", str(data), "-F", "ip,sym,dso"]
            lines = subprocess.run(report, capture_output=True, text=True, check=True).stdout.splitlines()
            columns.append(Counter(map(part_of, filter(str.strip, lines))))
    for part in (*(title for title, _ in PARTS), "the program", "the rest"):
        print(f"{part:<44}" + "".join(f"{column[part] / column.total():>28.0%}" for column in columns))


def part_of(sample: str) -> str:
    if "program.so" in sample:
        return "the program"
    return next((title for title, pattern in PARTS if re.search(pattern, sample)), "the rest")


def source_of(name: str, directory: Path) -> Path:
    if name not in TEXTS:
        return PROGRAMS / f"{name}.c"
    file = directory / f"{name}.c"
    file.write_text(TEXTS[name])
    return file


def compare(other: Path) -> None:
    """Executions by processor second with the other runtime and with this one, in turns, and the median of the ratios."""
    print(f"{'program':<26}" + "".join(f"{title:>12}{'':>12}{'ratio':>7}" for title in ("plain/s", "monitored/s")))
    both = (other, runtime.executable())
    with TemporaryDirectory() as directory:
        for title, name, flags in CASES:
            file, told = source_of(name, Path(directory)), ""
            for monitors in ((), MONITORS):
                turns = [[speed_with(one, file, flags, monitors) for one in both] for _ in range(TURNS)]
                ratio = statistics.median(new / old for old, new in turns)
                told += "".join(f"{max(speeds):>12,.0f}" for speeds in zip(*turns, strict=True)) + f"{ratio:>7.2f}"
            print(f"{title:<26}{told}", flush=True)


def speed_with(real: Path, file: Path, flags: tuple[str, ...], monitors: tuple[str, ...]) -> float:
    """Of a copy of its own: which pages of memory a file happens to have is worth up to 4 %."""
    with TemporaryDirectory() as directory:
        for file_of_it in real.parent.glob("teetotal-*"):
            shutil.copy(file_of_it, directory)
        os.environ["TEETOTAL_RUNTIME"] = str(Path(directory) / real.name)
        return measure_once(file, flags, *monitors).speed


def main() -> None:
    if "--profile" in sys.argv[1:]:
        return profile()
    if "--against" in sys.argv[1:]:
        return compare(Path(sys.argv[sys.argv.index("--against") + 1]).resolve())
    print(
        f"{'program':<26}{'executions':>11}{'events':>8}{'new':>6}{'plain/s':>11}{'monitored/s':>13}{'monitors':>10}{'shown':>9}"
        f"{'without snapshots':>19}{'ratio':>7}{'C11/s':>11}{'of plain':>10}"
    )
    with TemporaryDirectory() as directory:
        for title, name, flags in CASES:
            file = source_of(name, Path(directory))
            turns = [(measure_once(file, flags), measure_once(file, flags, *MONITORS)) for _ in range(TURNS)]
            plain, watched = (max(rows, key=lambda row: row.speed) for rows in zip(*turns, strict=True))
            share = statistics.median(1 - with_them.speed / without.speed for without, with_them in turns)
            again = measure(file, flags, *MONITORS, "snapshots=0")
            ordered = measure(file, flags, C11)
            print(
                f"{title:<26}{plain.executions:>11,}{plain.events:>8.0f}{plain.fresh:>6.0f}{plain.speed:>11,.0f}"
                f"{watched.speed:>13,.0f}{share:>10.0%}{watched.shown:>9,}{again.speed:>19,.0f}"
                f"{watched.speed / again.speed:>7.2f}{ordered.speed:>11,.0f}{ordered.speed / plain.speed:>10.0%}"
            )
            speeds = {"plain": plain, "monitored": watched, "without snapshots": again, "C11": ordered}
            told = {f"{words}, executions a second": round(row.speed) for words, row in speeds.items()}
            tell("c", "C programs: executions by processor second", {"program": title, **told})
    print_waiting()
    print_identical()


def print_identical() -> None:
    """Executions of threads that all do the same, each way."""
    print(f"\n{'identical threads':<36}{'executions':>14}{'ms':>9}{'--symmetry off':>18}{'ms':>9}")
    with TemporaryDirectory() as directory:
        for title, what, sizes in ALIKE:
            file = Path(directory) / "identical.c"
            file.write_text(IDENTICAL.replace("WHAT", what))
            with built(Source((str(file),))) as program:
                for threads in sizes:
                    ends = [
                        quickest(program, [*MONITORS, f"symmetry={symmetry}"], str(threads))
                        for symmetry in ("on", "off")
                    ]
                    counts = "".join(
                        f"{end.executions:>{width},}{milliseconds(end):>9.1f}"
                        for end, width in zip(ends, (14, 18), strict=True)
                    )
                    print(f"{f'{threads} {title}':<36}{counts}")


def print_waiting() -> None:
    """Complete executions and those in which a round was begun in vain, with both exact monitors on."""
    print(f"\n{'threads that wait':<36}{'executions':>14}{'ms':>9}{'GenMC 0.11 --sc':>18}")
    with built(Source((str(PROGRAMS.parent / "waiting.c"),))) as program:
        for title, name, threads, rounds, peer in WAITING:
            end = quickest(program, MONITORS, name, str(threads), str(rounds))
            vain = f"+{end.blocked:,}" if end.blocked else ""
            counted = f"{end.executions - end.blocked:,}{vain}"
            print(f"{title:<36}{counted:>14}{milliseconds(end):>9.1f}{peer:>18}")
            cells = {"threads": title, "executions": end.executions, "ms": round(milliseconds(end), 1)}
            tell("c-waiting", "C programs whose threads wait", cells)


def quickest(program: Path, options: Sequence[str], *arguments: str) -> End:
    """Of three explorations: on a machine with other work to do."""
    told = (answer for _ in range(3) for answer in runtime.answers(program, list(options), arguments))
    return min((answer for answer in told if isinstance(answer, End)), key=milliseconds)


def milliseconds(end: End) -> float:
    """Of the search, or of the processor where others had that meanwhile."""
    return 1000 * min(end.seconds, end.cpu or end.seconds)


if __name__ == "__main__":
    main()
