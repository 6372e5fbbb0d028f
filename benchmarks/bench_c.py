"""Executions of C programs per processor second, with the exact monitors and without; one core."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

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


if __name__ == "__main__":
    main()
