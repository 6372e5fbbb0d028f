"""``python -m portability [SYSTEM …] [--stage STAGE …]``: tries teetotal on other systems, and says what fails there.

The systems are made below ``--folder`` by the first run, and kept. ``--whole`` runs all tests; ``--promote`` writes the
tables of docs/reference/platforms.md from the results that are kept; ``--list`` says what there is to choose from;
``--dist FOLDER`` puts the wheels there, of the checkout or of ``--tree``, and does nothing else; ``--can`` says whether
systems can be made here. ``--here TITLE`` runs demo, tests and battery on this machine as it is, and ``--take FILE`` adds
results that another machine has kept so.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from portability import here, wheels
from portability.chroots import CannotBeMade, Chroot, needs
from portability.record import Record
from portability.stages import ROOT, STAGES, Room, copy_tree, packages
from portability.systems import SYSTEMS, System


def main() -> int:
    parser = argparse.ArgumentParser(prog="portability", description=__doc__)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM")
    parser.add_argument("--stage", action="append", choices=STAGES, help="this one, instead of all")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "portability")
    for flag in ("--whole", "--promote", "--list", "--can"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--dist", type=Path, metavar="FOLDER")
    parser.add_argument("--here", metavar="TITLE")
    parser.add_argument("--take", type=Path, metavar="FILE")
    parser.add_argument("--tree", type=Path, default=ROOT)
    chosen = parser.parse_args()
    unknown = set(chosen.systems) - {system.name for system in SYSTEMS}
    if chosen.list or unknown:
        print("\n".join(f"{system.name}: {system.title}; {', '.join(system.compilers)}" for system in SYSTEMS))
        return 2 if unknown else 0
    record = Record(chosen.folder / "results.json")
    if chosen.take is not None:
        record.take_over(chosen.take)
        return 0
    if chosen.here is not None:
        return 0 if here.tried(chosen.here, record) else 1
    if chosen.promote:
        record.promote(SYSTEMS)
        return 0
    if (problem := needs()) is not None:
        print(problem, file=sys.stderr)
        return 2
    if chosen.can:
        return 0
    if chosen.dist is not None:
        chosen.dist.mkdir(parents=True, exist_ok=True)
        print("\n".join(str(wheel) for wheel in wheels.build(chosen.folder, chosen.tree, chosen.dist)))
        return 0
    wanted = [system for system in SYSTEMS if not chosen.systems or system.name in chosen.systems]
    good = [_try(system, chosen, record) for system in wanted]
    return 0 if all(good) else 1


def _try(system: System, chosen: argparse.Namespace, record: Record) -> bool:
    chroot = Chroot(system, chosen.folder)
    room = Room(chroot, chosen.folder / "logs", chosen.whole)
    stages = chosen.stage or [name for name in STAGES if name == "wheel" or not system.wheel_only]
    _say(system, "is made, as far as it is not there")
    try:
        chroot.make([package for name in stages for package in packages(name, system)])
    except CannotBeMade as error:
        _say(system, f"cannot be made: {error}")
        return False
    record.add_facts(system.name, _facts(chroot))
    copy_tree(chroot)
    good = True
    for name in stages:
        begin = time.monotonic()
        result = STAGES[name](room)
        record.add(system.name, name, result)
        _say(system, f"{name}: {result.summary} ({time.monotonic() - begin:.0f} s)")
        for detail in result.details:
            _say(system, f"  {detail}")
        good = good and result.good
    return good


def _facts(chroot: Chroot) -> dict[str, str]:
    commands = here.facts(chroot.system.python)
    return {name: chroot.run(["sh", "-c", command]).stdout.strip() for name, command in commands.items()}


def _say(system: System, text: str) -> None:
    print(f"{system.name}: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
