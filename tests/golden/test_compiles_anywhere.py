"""Sources compile by themselves, and with the flags that distributions set.

What was compiled is remembered in ``build/compiled.json`` by the contents of all files of ours that it includes: without a
change it is not compiled again. ``packaging/builds.sh`` builds the whole under each set of flags.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from test_includes import FILES, ROOMS, ROOT, own_includes

COMPILER = os.environ.get("CXX", "c++")
HARDENED = (
    "-O1 -D_FORTIFY_SOURCE=3 -D_FILE_OFFSET_BITS=64 -fstack-protector-strong -fstack-clash-protection "
    "-fcf-protection=full -D_GLIBCXX_ASSERTIONS -fPIE"
)
REMEMBERED = ROOT / "build" / "compiled.json"

pytestmark = pytest.mark.skipif(shutil.which(COMPILER) is None, reason="there is no C++ compiler")


@cache
def closure(file: Path) -> frozenset[Path]:
    """A file with those of ours that it includes."""
    return frozenset({file}).union(*(closure(other) for other in own_includes(file)))


@cache
def compiler_version() -> str:
    return subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout


def digest(files: frozenset[Path], *how: str) -> str:
    text = b"".join(str(file).encode() + b"\0" + (ROOT / file).read_bytes() for file in sorted(files))
    return hashlib.sha256(text + "\0".join((COMPILER, compiler_version(), *how)).encode()).hexdigest()


@contextmanager
def compiled_before() -> Iterator[set[str]]:
    """What other runs have compiled; what is added to it is there for the next ones."""
    REMEMBERED.parent.mkdir(exist_ok=True)
    with REMEMBERED.open("a+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        known = set(json.loads(stream.read() or "[]"))
        before = set(known)
        yield known
        if known != before:
            stream.seek(0)
            stream.truncate()
            json.dump(sorted(known), stream)


def test_each_header_compiles_alone() -> None:
    headers = [file for file in FILES if file.suffix == ".hpp" and "bindings" not in file.parts]
    digests = {file: digest(closure(file)) for file in headers}
    folders = [f"-I{ROOT / room}" for room in ROOMS if room != "core/bindings"]

    def complaint(file: Path) -> str:
        command = [COMPILER, "-std=c++20", "-mcx16", "-fsyntax-only", "-w", *folders, "-x", "c++", str(ROOT / file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"{file}: {done.stderr}"

    with compiled_before() as known:
        new = [file for file in headers if digests[file] not in known]
        with ThreadPoolExecutor(2) as pool:
            complaints = dict(zip(new, pool.map(complaint, new), strict=True))
        known |= {digests[file] for file, found in complaints.items() if not found}
    assert not [found for found in complaints.values() if found]


def test_what_defines_functions_of_the_c_library_compiles_hardened(tmp_path: Path) -> None:
    """And is linked to the C++ library that programs have, where another one is wanted by the flags."""
    of_runtime = frozenset(file for file in FILES if file.parts[0] == "runtime")
    with compiled_before() as known:
        key = digest(of_runtime.union(*map(closure, of_runtime), {Path("CMakeLists.txt")}), HARDENED)
        if key in known:
            return
        configure(tmp_path)
        targets = ["unity_runtime_hooks_cxx.cxx.o", "hooks_access.cpp.o"]
        listed = ninja(tmp_path, "-t", "targets", "all")
        objects = [line.split(":")[0] for line in listed.splitlines() if line.split(":")[0].endswith(tuple(targets))]
        if not objects:  # compilers without unity builds
            objects = [line.split(":")[0] for line in listed.splitlines() if "/runtime/hooks/" in line.split(":")[0]]
        ninja(tmp_path, "-j2", *objects, "teetotal-instrumented", "teetotal-record")
        with (tmp_path / "teetotal-instrumented.so").open("rb") as stream:
            tables = [one for one in ELFFile(stream).iter_sections() if isinstance(one, DynamicSection)]
            assert "libstdc++.so.6" in {tag.needed for table in tables for tag in table.iter_tags("DT_NEEDED")}
        known.add(key)


def configure(folder: Path) -> None:
    tools = Path(sys.executable).parent
    command = [
        str(tools / "cmake"), "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", f"-DPython_EXECUTABLE={sys.executable}",
        "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_CXX_FLAGS={HARDENED}",
        "-DCMAKE_MODULE_LINKER_FLAGS=-static-libstdc++ -Wl,-z,now -Wl,--as-needed",
        "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,now -Wl,--as-needed",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def ninja(folder: Path, *arguments: str) -> str:
    tool = Path(sys.executable).with_name("ninja")
    done = subprocess.run([str(tool), "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
