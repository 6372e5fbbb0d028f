"""Executions of C programs per processor second, with the exact monitors and without; and how many there are where threads
wait for each other, beside those of another model checker. One core."""

from __future__ import annotations

from pathlib import Path
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
CASES = (
    ("store buffering, 6 rounds", "buffering", ()),
    ("dekker, 2 sections", "dekker", ("-DROUNDS=2",)),
    ("dekker, 3 sections", "dekker", ("-DROUNDS=3",)),
    ("peterson, 3 sections", "peterson", ("-DROUNDS=3",)),
    ("msn, 3 + 3 operations", "msn", ("-DLONG=2",)),
)
LIMIT = 200_000


MONITORS = ("monitor=exact-tso", "monitor=exact-pso")


class Row(NamedTuple):
    executions: int
    seconds: float
    events: float
    """Per execution."""
    fresh: float
    """Of these, beyond what it shares with the execution before."""

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
    ("bakery, 2 threads", "bakery", 2, 1, "9+8"),
    ("bakery, 3 threads", "bakery", 3, 1, "254+401"),
    ("test-and-set lock, 2 threads", "tas", 2, 1, "2+2"),
    ("test-and-set lock, 3 threads", "tas", 3, 1, "6+18"),
    ("test-and-set lock, 4 threads", "tas", 4, 1, "24+168"),
    ("cas lock, 4 threads", "cas", 4, 1, "24+34"),
    ("ticket lock, 4 threads", "ticket", 4, 1, "24+66"),
    ("test and test-and-set, 3 threads", "ttas", 3, 1, "36+28"),
    ("test and test-and-set, 4 threads", "ttas", 4, 1, "576+556"),
    ("MCS lock, 3 threads", "mcs", 3, 1, "66+60"),
    ("MCS lock, 4 threads", "mcs", 4, 1, "1,080+1,057"),
    ("CLH lock, 4 threads", "clh", 4, 1, ""),
    ("seqlock, 2 readers, 2 writes", "seqlock", 3, 2, ""),
    ("barrier, 5 threads", "barrier", 5, 1, "1"),
    ("barrier, 8 threads", "barrier", 8, 1, ""),
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
                return Row(executions, seconds, answer.steps / executions, answer.fresh / executions)
    raise AssertionError("the exploration did not come to its end")


def main() -> None:
    from tempfile import TemporaryDirectory

    print(
        f"{'program':<26}{'executions':>11}{'events':>8}{'new':>6}{'plain/s':>11}{'monitored/s':>13}{'overhead':>10}"
        f"{'without snapshots':>19}{'ratio':>7}"
    )
    with TemporaryDirectory() as directory:
        for title, name, flags in CASES:
            file = PROGRAMS / f"{name}.c"
            if name == "buffering":
                file = Path(directory) / "buffering.c"
                file.write_text(BUFFERING)
            plain = measure(file, flags)
            watched = measure(file, flags, *MONITORS)
            again = measure(file, flags, *MONITORS, "snapshots=0")
            print(
                f"{title:<26}{plain.executions:>11,}{plain.events:>8.0f}{plain.fresh:>6.0f}{plain.speed:>11,.0f}"
                f"{watched.speed:>13,.0f}{plain.speed / watched.speed - 1:>10.0%}{again.speed:>19,.0f}"
                f"{watched.speed / again.speed:>7.2f}"
            )
            speeds = {"plain": plain, "monitored": watched, "without snapshots": again}
            told = {f"{words}, executions a second": round(row.speed) for words, row in speeds.items()}
            tell("c", "C programs: executions by processor second", {"program": title, **told})
    print_waiting()


def print_waiting() -> None:
    """Complete executions and those in which a round was begun in vain, with both exact monitors on."""
    print(f"\n{'threads that wait':<36}{'executions':>14}{'ms':>9}{'GenMC 0.11 --sc':>18}")
    with built(Source((str(PROGRAMS.parent / "waiting.c"),))) as program:
        for title, name, threads, rounds, peer in WAITING:
            for answer in runtime.answers(program, list(MONITORS), (name, str(threads), str(rounds))):
                if isinstance(answer, End):
                    vain = f"+{answer.blocked:,}" if answer.blocked else ""
                    counted = f"{answer.executions - answer.blocked:,}{vain}"
                    print(f"{title:<36}{counted:>14}{1000 * answer.seconds:>9.1f}{peer:>18}")
                    cells = {"threads": title, "executions": answer.executions, "ms": round(1000 * answer.seconds, 1)}
                    tell("c-waiting", "C programs whose threads wait", cells)


if __name__ == "__main__":
    main()
