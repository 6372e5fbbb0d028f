"""The compiler: which one a file is for, which of the user's flags are for whom and which are not the user's to choose, and
what it says about a program."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.surroundings import compilers_advice

C_SUFFIXES = (".c",)
CXX_SUFFIXES = (".cc", ".cpp", ".cxx", ".C")
ASSEMBLY_SUFFIXES = (".s", ".S")
COMPILED = C_SUFFIXES + CXX_SUFFIXES
SUFFIXES = COMPILED + ASSEMBLY_SUFFIXES

INSTRUMENTED = (
    "-O0",
    "-g",
    "-fPIC",
    "-fno-builtin",
    "-fno-omit-frame-pointer",
    "-fcf-protection=none",
    "-fno-stack-protector",
    "-fno-stack-clash-protection",
    "-U_FORTIFY_SOURCE",
    "-fsanitize=thread",
)
"""Some systems' compilers harden by themselves."""
_GCC = ("--param", "tsan-distinguish-volatile=1", "--param", "tsan-instrument-func-entry-exit=0")
_CLANG = (
    "-mllvm", "-tsan-distinguish-volatile=1",
    "-mllvm", "-tsan-instrument-read-before-write=1",
    "-mllvm", "-tsan-instrument-func-entry-exit=0",
)  # fmt: skip

_OTHER_PRODUCTS = frozenset(
    [
        "-E",
        "-S",
        "-c",
        "-M",
        "-MM",
        "-r",
        "-fsyntax-only",
        "-shared",
        "-static",
        "-static-pie",
        "-m16",
        "-m32",
        "-mx32",
        "-nostartfiles",
        "-nostdlib",
        "-###",
        "--help",
        "--version",
    ]
)
"""Flags that make something else than the code of this machine's processes, or nothing."""
_MEASURE = ("--coverage", "-coverage", "-fprofile-arcs", "-ftest-coverage", "-fprofile-generate", "-pg")
"""Flags that make a program count what it does, and change nothing else."""
_ELSEWHERE = ("-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE", "-fpie", "-fPIE", "-pie", "-no-pie", "-fsplit-stack")
"""Where code and stacks lie is ours to choose: what the code does is the same."""
_STATIC = ("-static-libstdc++", "-static-libgcc")
"""The C++ library is the one that the explorer has: its state is there once, and its functions are known by name."""
_FILES_BESIDE = ("-gsplit-dwarf", "-save-temps", "--save-temps")
"""Flags that leave files where the user is, and take debugging information out of the code's."""
_WHEN_LINKED = (
    "-flto",
    "-fno-lto",
    "-ffat-lto",
    "-fno-fat-lto",
    "-fuse-linker-plugin",
    "-fwhole-program",
    "-fsplit-lto",
)
"""Optimisation that waits for the linker."""
_TO_LINKER = ("-Xlinker", "-z", "-u", "-T")
_TO_ASSEMBLER = ("-Xassembler",)
"""Flags whose next word belongs to them."""
_HARDENING = (
    "-fstack-protector",
    "-fno-stack-protector",
    "-fstack-clash-",
    "-fno-stack-clash-",
    "-fcf-protection",
    "-fhardened",
)
"""Checks of a program that go wrong and nothing else: what distributions compile with changes no answer."""
_FORTIFIED = re.compile(r"-[DU]\s*_FORTIFY_SOURCE(=.*)?")
_NO_FRAMES = ("-fomit-frame-pointer", "-momit-leaf-frame-pointer")
"""Flags without which functions keep the frames by which their variables are known."""
_DIAGNOSTIC = re.compile(r"(?:.*?: )?(?P<severity>(?:fatal )?error|warning|note): ")
_LEADING = re.compile(r"In file included from |\S.*: (In|At) .*:$")
"""What belongs to the diagnostic behind it."""


class CompileError(ParseError):
    """What the compiler said about the program."""


def compiler_for(file: str, chosen: str | None) -> list[str]:
    """The user's choice, or the system's compiler for the language of the file."""
    plus_plus = Path(file).suffix in CXX_SUFFIXES
    if chosen is not None:
        command = chosen.split()
        if plus_plus and command:
            command[0] = _plus_plus(command[0])
    else:
        command = (os.environ.get("CXX" if plus_plus else "CC") or ("c++" if plus_plus else "cc")).split()
    if not command:
        raise TeetotalError("--cc names no compiler")
    if shutil.which(command[0]) is None:
        package = "g++, gcc-c++ or clang" if plus_plus else "gcc or clang"
        why = f"checking {file} needs a C compiler, and there is no {command[0]} here"
        raise TeetotalError(f"{why}: install the package {package}, or name another compiler with --cc")
    return command


def path_of(file: str) -> str:
    """As no compiler takes it for an option."""
    return f"./{file}" if file.startswith(("-", "@")) else file


def _plus_plus(command: str) -> str:
    """The C++ compiler beside a C compiler: ``gcc-12`` → ``g++-12``, ``clang`` → ``clang++``."""
    head, name = os.path.split(command)
    if "++" in name:
        return command
    name = name.replace("clang", "clang++", 1) if "clang" in name else name.replace("gcc", "g++", 1)
    return os.path.join(head, "c++" if name == "cc" else name)


def is_clang(compiler: list[str]) -> bool:
    return _says_clang(*compiler)


@cache
def _says_clang(*compiler: str) -> bool:
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, errors="replace", check=False)
    return "clang" in version.stdout


@cache
def shared_cxx_library(*compiler: str) -> list[str]:
    """To link a program with, before what the compiler adds by itself: where a system has no ``libstdc++.so`` that names
    it, that is the static one."""
    command = [*compiler, "-print-file-name=libstdc++.so.6"]
    path = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout.strip()
    return ["-Wl,--push-state,--as-needed", path, "-Wl,--pop-state"] if os.path.isabs(path) else []


def instrumentation(compiler: list[str]) -> tuple[str, ...]:
    return _CLANG if is_clang(compiler) else _GCC


class Flags(NamedTuple):
    compile: list[str]
    link: list[str]
    assemble: list[str]


def split_flags(flags: tuple[str, ...], *, optimised: bool = False) -> Flags:
    """What the user gave, by whom it is for. Optimisation is not ours to take, but for programs that are recorded: the
    last ``-O`` would win, and false alarms with it. Nor does it matter what a program counts about itself, and who can see
    its functions: ``main`` must be seen."""
    split = Flags([], [], [])
    left = iter(_listed(flags))
    for flag in left:
        if flag in ("-D", "-U"):  # with its name in one word, as most have it
            flag += next(left, "")
        if flag in _OTHER_PRODUCTS or flag.startswith(("-o", "-mcmodel=l", "-mcmodel=m")):
            raise TeetotalError(f"{flag} after --: what the compiler makes is not for the user to choose")
        if Path(flag).suffix in SUFFIXES and os.path.isfile(flag):
            raise TeetotalError(f"{flag} after --: sources come before it")
        if flag in (*_TO_LINKER, *_TO_ASSEMBLER):
            (split.link if flag in _TO_LINKER else split.assemble).extend([flag, *itertools.islice(left, 1)])
        elif flag.startswith("-Wa,"):
            split.assemble.append(flag)
        elif flag.startswith(("-l", "-L", "-Wl,", "-T")) or Path(flag).suffix in (".a", ".so", ".o"):
            split.link.append(flag)
        elif optimised and flag.startswith("-O"):
            split.compile.append(flag)
        elif flag.startswith(
            (
                "-O",
                "-fsanitize",
                *_MEASURE,
                "-fvisibility",
                *_NO_FRAMES,
                *_ELSEWHERE,
                *_STATIC,
                *_FILES_BESIDE,
                *_WHEN_LINKED,
            )
        ) or (not optimised and (flag.startswith(_HARDENING) or _FORTIFIED.fullmatch(flag))):
            continue
        elif flag.startswith("-Wp,") and not optimised:
            given = [word for word in flag.split(",") if not _FORTIFIED.fullmatch(word)]
            split.compile.extend([",".join(given)] if given[1:] else [])
        else:
            split.compile.append(flag)
    return split


def _listed(flags: Iterable[str]) -> Iterator[str]:
    """With those that are in a file (``@file``) in its place."""
    for flag in flags:
        if flag.startswith("@") and os.path.isfile(flag[1:]):
            yield from _listed(shlex.split(Path(flag[1:]).read_text(errors="surrogateescape")))
        else:
            yield flag


def errors_first(said: str) -> str:
    """What a compiler said, whole: errors before warnings, each with the notes and lines that belong to it."""
    blocks: list[tuple[bool, list[str]]] = []
    leading: list[str] = []
    for line in said.strip().splitlines():
        told = _DIAGNOSTIC.match(line)
        if told is not None and told["severity"] != "note":
            blocks.append((told["severity"] != "warning", [*leading, line]))
            leading = []
        elif leading or not blocks or _LEADING.match(line):
            leading.append(line)
        else:
            blocks[-1][1].append(line)
    ordered = sorted(blocks, key=lambda block: not block[0])
    return "\n".join([line for _, lines in ordered for line in lines] + leading)


def run(command: list[str], what: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        if (change := compilers_advice(done.stderr)) is not None:
            raise TeetotalError(f"{what} could not be compiled: {change}")
        raise CompileError(f"{what} does not compile:\n{errors_first(done.stderr or done.stdout)}")
    return done.stdout
