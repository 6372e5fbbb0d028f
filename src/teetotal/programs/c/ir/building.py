"""From a source to the assembly of its code with hooks, through LLVM's IR: four runs of clang at most, each a stage.

1. ``-O1 -Xclang -disable-llvm-passes``: the accesses of the abstract machine, in clang's order, with the marks of
   lifetimes that ``-O0`` leaves out, and without a pass that merges or moves any.
2. Where the text has coroutines, ``-O0`` lowers them, and does nothing else.
3. Our own pass.
4. ``-O0``: what was rewritten becomes code as it stands. Nothing is folded, inlined or moved once hooks are in.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from teetotal.answers.errors import TeetotalError
from teetotal.programs.c.compilers import is_clang, path_of, run
from teetotal.programs.c.ir import names
from teetotal.programs.c.ir.reading import Instruction, Module
from teetotal.programs.c.ir.seeing import called
from teetotal.programs.c.ir.writing import is_naked, write

FIRST = (
    "-O1", "-Xclang", "-disable-llvm-passes", "-g", "-fPIC", "-fno-builtin", "-fno-omit-frame-pointer",
    "-fcf-protection=none", "-fno-addrsig", "-Wno-macro-redefined", "-D_GLIBCXX_TSAN=1",
)  # fmt: skip
"""For the first stage. libstdc++ looks at the two counts of a shared pointer one by one, as for the compiler's own race
detector, and not at both at once."""
_MACROS = {
    "": ("-U__OPTIMIZE__", "-D__NO_INLINE__=1"),
    "-O0": ("-U__OPTIMIZE__", "-D__NO_INLINE__=1"),
    "-Os": ("-D__OPTIMIZE_SIZE__=1",),
    "-Oz": ("-D__OPTIMIZE_SIZE__=1",),
    "-Ofast": ("-D__FAST_MATH__=1", "-D__FINITE_MATH_ONLY__=1"),
}
"""What a program can see of how much the user wants it optimised: what headers make of that is another program."""
LAST = ("-O0", "-fPIC", "-fno-addrsig", "-Wno-override-module", "-Qunused-arguments")
_VERBATIM = "-fno-integrated-as"
"""The program's own assembly stays as it is written: clang would print what it has made of it. But in Intel's syntax it
only says so where it has."""
_INTEL = " inteldialect "
_MAY_BE_IN_REGISTER = re.compile(r"[^*=+&~mo{}<>V]")
_ONLY_GCC = ("-fcoroutines",)
"""What clang does without being asked."""
_COROUTINE = "@llvm.coro.begin"


class Seen(NamedTuple):
    """``functions`` are those of the IR: others are assembly that somebody wrote. ``unseen`` lists what has no hook,
    ``relied_on`` functions that must be the C library's own; ``addresses``: some may be treated as numbers;
    ``verbatim``: assembly is as it was written."""

    assembly: str
    functions: frozenset[str]
    unseen: list[str]
    relied_on: set[str]
    addresses: bool
    verbatim: bool


def clang_for(compiler: Sequence[str]) -> list[str]:
    """The compiler, if it is clang; otherwise the one that is installed."""
    if is_clang(list(compiler)):
        return list(compiler)
    name = "clang++" if "++" in Path(compiler[0]).name else "clang"
    if shutil.which(name) is None:
        raise TeetotalError(f"programs are seen through LLVM's IR with clang, and there is no {name} here")
    return [name]


def _standard(compiler: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Of the language, where the user's compiler is another and nothing says which: that of gcc 11 and later."""
    if is_clang(list(compiler)) or any(flag.startswith(("-std", "--std", "-ansi")) for flag in flags):
        return []
    return ["-std=gnu++17"] if "++" in clang_for(compiler)[0] else []


def front(compiler: Sequence[str], flags: Sequence[str], given: Sequence[str]) -> list[str]:
    """The command of the first stage. ``given``: all that the user wants, of which ``flags`` are for the compiler."""
    levels = [flag for flag in given if flag.startswith("-O")]
    macros = _MACROS.get(levels[-1] if levels else "", ())
    kept = [flag for flag in flags if flag not in _ONLY_GCC]
    return [*clang_for(compiler), *FIRST, *macros, *_standard(compiler, flags), *kept]


def assembly_of(file: str, compiler: Sequence[str], flags: Sequence[str], given: Sequence[str], stem: Path) -> Seen:
    """``stem``: where files may be written, each with a suffix of its own."""
    clang = clang_for(compiler)
    first, rewritten, last = (stem.with_suffix(suffix) for suffix in (".ll", ".hooks.ll", ".s"))
    # clang writes a path that shares a beginning with the working directory in two parts, which its last stage, where it
    # writes for GNU's assembler, takes apart again in another way.
    whole = ["-fdebug-compilation-dir=/"] if os.path.isabs(file) else []
    run([*front(compiler, flags, given), *whole, "-S", "-emit-llvm", path_of(file), "-o", str(first)], file)
    text = first.read_text(errors="surrogateescape")
    if _COROUTINE in text:
        run([*clang, "-O0", "-Wno-override-module", "-S", "-emit-llvm", str(first), "-o", str(first)], file)
        text = first.read_text(errors="surrogateescape")
    module = Module(text)
    written = write(module)
    rewritten.write_text(written.text, errors="surrogateescape")
    verbatim = _INTEL not in text
    run([*clang, *LAST, *([_VERBATIM] if verbatim else []), "-S", str(rewritten), "-o", str(last)], file)
    unseen = [said for one in written.unseen for said in names.of_unseen(module, one, file)]
    functions = frozenset(
        one.name.removeprefix("\\01")
        for one in module.functions
        if not (is_naked(module, one) or any(map(_moves_itself, one.instructions)))
    )
    return Seen(
        last.read_text(errors="surrogateescape"),
        functions,
        list(dict.fromkeys(unseen)),
        written.relied_on,
        "@teetotal_address" in written.text,
        verbatim,
    )


def _moves_itself(instruction: Instruction) -> bool:
    """Whether it is a piece of assembly beside which clang may load and store by itself, since it keeps in a register what
    has an address; or one that looks as if it ended sooner than it does. Then all code of the function is looked at."""
    told = called(instruction)
    if told is None or not told.is_assembly:
        return False
    _, text, _, constraints, *_ = told.callee.split('"')
    indirect = [one for one in constraints.split(",") if "*" in one]
    return "APP" in text or any(_MAY_BE_IN_REGISTER.search(one) for one in indirect)
