"""Executions of C programs per processor second, with the exact monitors and without; one core."""

from __future__ import annotations

from pathlib import Path

from teetotal.programs.c import runtime
from teetotal.programs.c.build import Source, built

PROGRAMS = Path(__file__).parent / "programs"
BUFFERING = """#include "bench.h"
static atomic_int x[2];
static void *section(void *argument) {
    long me = (long)argument;
    for (int round = 0; round < 5; round++) { STORE(x[me], round); LOAD(x[1 - me]); }
    return 0;
}
int main(void) { run(2, (void *(*[])(void *)){section, section}); }
"""
CASES = (
    ("store buffering, 5 rounds", "buffering", ()),
    ("dekker, 2 sections", "dekker", ("-DROUNDS=2",)),
    ("dekker, 3 sections", "dekker", ("-DROUNDS=3",)),
    ("peterson, 2 sections", "peterson", ("-DROUNDS=2",)),
    ("msn, 3 operations", "msn", ("-DLONG",)),
)
LIMIT = 200_000


def measure(file: Path, flags: tuple[str, ...], monitors: tuple[str, ...]) -> tuple[int, float, float]:
    """Executions, processor seconds, and events per execution."""
    options = [f"executions={LIMIT}", "nondet-low=0", *(f"monitor={name}" for name in monitors)]
    with built(Source((str(file),), (f"-I{PROGRAMS}", *flags))) as program:
        for answer in runtime.answers(program, options):
            if answer["type"] == "end":
                executions = answer["executions"]
                return executions, answer["cpu"], answer["steps"] / executions
    raise AssertionError("the exploration did not come to its end")


def main() -> None:
    from tempfile import TemporaryDirectory

    print(f"{'program':<28}{'executions':>12}{'events':>8}{'plain/s':>12}{'monitored/s':>13}{'overhead':>10}")
    with TemporaryDirectory() as directory:
        for title, name, flags in CASES:
            file = PROGRAMS / f"{name}.c"
            if name == "buffering":
                file = Path(directory) / "buffering.c"
                file.write_text(BUFFERING)
            count, plain, events = min((measure(file, flags, ()) for _ in range(3)), key=lambda row: row[1])
            _, watched, _ = min(
                (measure(file, flags, ("exact-tso", "exact-pso")) for _ in range(3)), key=lambda row: row[1]
            )
            print(
                f"{title:<28}{count:>12,}{events:>8.0f}{count / plain:>12,.0f}{count / watched:>13,.0f}"
                f"{watched / plain - 1:>10.0%}"
            )


if __name__ == "__main__":
    main()
