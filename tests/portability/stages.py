"""What is done in a system, one stage after the other: each gives a short result, and leaves its whole output in a file.

- ``demo``: ``make demo`` from a clean copy of the checkout.
- ``tests``: the tests about compilers and C libraries, or all of them.
- ``wheel``: as an ordinary user with a fresh virtual environment, the wheel of ``dist/`` and every verb that it serves.
- ``builds``: the project built with each compiler of the system, and the demo with what was built.
- ``battery``: a sample of the battery with each compiler.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from portability.chroots import USER, Chroot, mirror
from portability.systems import BASIC, COMPARED, FOR_PYTHON, System

ROOT = Path(__file__).resolve().parents[2]
TREE = "/srv/teetotal"
_CONCERNED = (
    "tests/system/test_c_*.py", "tests/golden/test_c_*.py", "tests/property/test_c_*.py", "tests/unit/test_c_*.py",
    "tests/golden/test_imports_table.py", "tests/golden/test_docs.py", "tests/system/test_fence_c.py",
    "tests/system/test_isolation.py", "tests/system/test_record_native.py", "tests/unit/test_python_*.py",
    "tests/system/test_sources_*.py", "tests/unit/test_sources_*.py",
)  # fmt: skip
"""What depends on compilers, the C library and the version of Python."""
_BUILD = {"CCACHE_BASEDIR": TREE, "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}


_PYTHON = """
set -e
cd /usr/src
echo "deb-src {mirror} bookworm main" >/etc/apt/sources.list.d/python.list
apt-get update -qq
apt-get source -qq --download-only {python}
rm /etc/apt/sources.list.d/python.list
tar xf {python}_*.orig.tar.?z
cd Python-*/
./configure --quiet --prefix=/usr/local
make -s -j"$(nproc)"
make -s altinstall
"""
"""Debian 12's Python, compiled: for releases that have none that is new enough."""


class Result(NamedTuple):
    """``good``: as it should be. ``summary`` goes into the table, ``details`` below it."""

    good: bool
    summary: str
    details: tuple[str, ...] = ()


class Room(NamedTuple):
    """Where a stage runs, and where its output goes."""

    chroot: Chroot
    logs: Path
    whole: bool

    def log(self, name: str) -> Path:
        self.logs.mkdir(parents=True, exist_ok=True)
        return self.logs / f"{self.chroot.system.name}-{name}.log"

    def sh(self, name: str, script: str, **more: object) -> bool:
        command = ["sh", "-c", script]
        done = self.chroot.run(command, folder=TREE, log=self.log(name), environment=_BUILD, **more)  # type: ignore[arg-type]
        return done.returncode == 0


def copy_tree(chroot: Chroot, tree: Path = ROOT) -> None:
    """Of the checkout the files that git knows or would take, and no others; of another tree, all. What was built there
    before stays."""
    target = chroot.root / TREE.lstrip("/")
    target.mkdir(parents=True, exist_ok=True)
    keep = ["!", "-name", ".venv*", "!", "-name", "build"]
    chroot.run(["find", TREE, "-mindepth", "1", "-maxdepth", "1", *keep, "-exec", "rm", "-rf", "{}", "+"])
    names = b".\0"
    if tree == ROOT:
        listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        known = subprocess.run(listed, capture_output=True, check=True).stdout.split(b"\0")
        names = b"\0".join(name for name in known if name and (ROOT / name.decode()).exists())
    pack = ["tar", "-C", str(tree), "-c", "--null", "-T", "-"]
    packed = subprocess.run(pack, input=names, capture_output=True, check=True)
    subprocess.run(["tar", "-C", str(target), "-x", "--no-same-owner"], input=packed.stdout, check=True)
    if chroot.system.hardened:
        wrap = ["sh", "packaging/as_ubuntu.sh", "/usr/local/bin", str(chroot.system.gcc[0])]
        chroot.run(wrap, folder=TREE)


def demo(room: Room) -> Result:
    good = room.sh("demo", f"make demo PYTHON={room.chroot.system.python}")
    return Result(good, "passes" if good else "**fails**", () if good else _tail(room.log("demo")))


def tests(room: Room) -> Result:
    paths = "" if room.whole else " ".join(_CONCERNED)
    script = f"make build PYTHON={room.chroot.system.python} && set -- $(ls -d {paths} 2>/dev/null) && "
    if room.whole:
        script = f"make build PYTHON={room.chroot.system.python} && set -- && "
    good = room.sh("tests", script + '.venv/bin/python -m pytest -n 2 --dist worksteal -rfE --tb=short "$@"')
    return counted(good, room.log("tests").read_text(errors="replace"))


def counted(good: bool, text: str) -> Result:
    """What pytest printed."""
    line = re.search(r"^(?=.*\d+ passed).*$", text, re.MULTILINE)
    if line is None:
        return Result(False, "**none ran**", tuple(text.strip().splitlines()[-6:]))
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", line[0])}
    summary = ", ".join(f"{number:,} {word}" for word, number in counts.items())
    return Result(good, summary, tuple(re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)))


def wheel(room: Room) -> Result:
    """Of those in ``dist/`` pip takes the one for the system's Python."""
    wheels = sorted((ROOT / "dist").glob("*.whl"))
    if not wheels:
        return Result(False, "no wheel: `make dist` first")
    python = room.chroot.system.python
    if not room.chroot.has(python):
        room.sh("python", _PYTHON.format(mirror=mirror(), python=python))
    home = room.chroot.root / "home" / USER
    for old in home.glob("wheels/*"):
        old.unlink()
    (home / "wheels").mkdir(exist_ok=True)
    for file in wheels:
        (home / "wheels" / file.name).write_bytes(file.read_bytes())
    for folder in ("examples", "packaging"):
        subprocess.run(["cp", "-rT", str(ROOT / folder), str(home / folder)], check=True)
    command = ["sh", "packaging/try_wheel.sh", python, "wheels"]
    done = room.chroot.run(command, folder=f"/home/{USER}", user=USER, log=room.log("wheel"))
    good = done.returncode == 0
    works = "works, but for C" if room.chroot.system.wheel_only else "works"
    return Result(good, works if good else "**fails**", () if good else _tail(room.log("wheel")))


def builds(room: Room) -> Result:
    """With each compiler plainly, and with the system's own under every set of flags of packaging/builds.sh."""
    plus = " ".join(one.replace("gcc", "g++").replace("clang", "clang++") for one in room.chroot.system.compilers)
    script = f"""
export PYTHON=.venv/bin/python
SETS=plain sh packaging/builds.sh {plus}
sh packaging/builds.sh g++
"""
    room.sh("builds", script)
    text = room.log("builds").read_text(errors="replace")
    good = re.findall(r"^builds: (\S+), (\S+): works", text, re.MULTILINE)
    bad = re.findall(r"^builds: (.*: FAILS).*", text, re.MULTILINE)
    flags = [name for compiler, name in good if compiler == "g++"]
    plain = [compiler.replace("++-", "++ ").replace("clang++", "clang") for compiler, _ in good if compiler != "g++"]
    if not good and not bad:
        return Result(False, "**nothing was built**", _tail(room.log("builds")))
    return Result(not bad, f"{', '.join(plain)}; flags: {', '.join(flags)}", tuple(bad))


def battery(room: Room) -> Result:
    """A sample with each compiler, as far as it can be had in ten minutes for each."""
    said = {}
    for compiler in room.chroot.system.compilers:
        family = compiler.partition("-")[0]
        links = []
        for name in (family, f"{family.replace('gcc', 'g')}++", "cc", "c++"):
            real = compiler.replace(family, f"{family.replace('gcc', 'g')}++") if "++" in name else compiler
            links.append(f"ln -sf /usr/bin/{real} build/only/{compiler}/{name}")
        script = f"mkdir -p build/only/{compiler}; {'; '.join(links)}; export PATH=$PWD/build/only/{compiler}:$PATH; "
        script += f"PYTHONPATH=tests .venv/bin/python -m battery --sample --tally --seconds 600 -- -{family}$"
        room.sh(f"battery-{compiler}", script)
        said[compiler] = room.log(f"battery-{compiler}").read_text(errors="replace")
    return tallied(said)


def tallied(said: dict[str, str]) -> Result:
    """By compiler, what the battery's ``--tally`` printed: a line of JSON at the end."""
    rows, details = [], []
    for compiler, text in said.items():
        found = re.findall(r"^\{.*\}$", text, re.MULTILINE)
        if not found:
            details += [f"{compiler}: {line}" for line in text.strip().splitlines()[-6:]]
            continue
        tally = json.loads(found[-1])
        rows.append(f"{compiler} " + json.dumps(tally["words"]))
        details += [f"{compiler}: {title}" for title in tally["wrong"]]
    return Result(not details, "; ".join(rows), tuple(details))


def packages(stage: str, system: System) -> tuple[str, ...]:
    """What a stage needs of a system."""
    if stage == "demo":
        return (*BASIC, *(system.packages if system.hardened else ()))
    if stage == "wheel" and system.wheel_only:
        return (*BASIC, *FOR_PYTHON, *system.packages)
    return (*BASIC, *COMPARED, *(system.packages if stage in ("builds", "battery") or system.hardened else ()))


STAGES: dict[str, Callable[[Room], Result]] = {
    "demo": demo,
    "tests": tests,
    "wheel": wheel,
    "builds": builds,
    "battery": battery,
}


def _tail(log: Path, lines: int = 6) -> tuple[str, ...]:
    return tuple(log.read_text(errors="replace").strip().splitlines()[-lines:])
