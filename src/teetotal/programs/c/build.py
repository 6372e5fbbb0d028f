"""From C and C++ sources to an instrumented shared object that ``teetotal-runtime`` can load.

Every access must be a call, and in the order of the source: hence ``-O0`` (gcc moves plain accesses across volatile ones
before it instruments) and ``-fno-builtin`` (small copies would be inlined without a hook). The object is linked without
the sanitizer's own library: the hooks are found in the explorer.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.programs import text_files
from teetotal.programs.c.frames import mark_ends
from teetotal.scale.supervision import scratch_folder

C_SUFFIXES = (".c",)
CXX_SUFFIXES = (".cc", ".cpp", ".cxx", ".C")
ASSEMBLY_SUFFIXES = (".s", ".S")
COMPILED = C_SUFFIXES + CXX_SUFFIXES
SUFFIXES = COMPILED + ASSEMBLY_SUFFIXES

_COMMON = ("-O0", "-g", "-fPIC", "-fno-builtin", "-fno-omit-frame-pointer", "-fcf-protection=none", "-fsanitize=thread")
_GCC = ("--param", "tsan-distinguish-volatile=1", "--param", "tsan-instrument-func-entry-exit=0")
_CLANG = (
    "-mllvm", "-tsan-distinguish-volatile=1",
    "-mllvm", "-tsan-instrument-read-before-write=1",
    "-mllvm", "-tsan-instrument-func-entry-exit=0",
)  # fmt: skip
UNSEEN = "unseen"
"""Beside the object: a file that lists accesses to memory that no hook sees, if there are any."""
LIBRARY = "library"
"""Beside the object: which of its functions are the library's or come from the system's headers, for
runtime/telling/callers.hpp."""
BIT_FIELDS = "bit-fields"
"""Beside the object of a program that has bit-fields: an empty file, for runtime/memory/unwritten.hpp."""
VARIABLES = "variables"
"""Beside the object of a program that may compare addresses: where each of its variables lies, for
runtime/memory/addresses.hpp."""
ASSERTIONS = "assertions"
"""Beside the object: where in it the list of what decides assertions begins, and its size, for
runtime/telling/assertions.hpp."""
RECORDER = "teetotal-record"
"""The library that programs to be recorded are linked with."""
LIVE = "live"
"""Beside the object: where in it the table of what is live begins, and its size, for runtime/schedule/local_state.hpp."""


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


_NO_FRAMES = ("-fomit-frame-pointer", "-momit-leaf-frame-pointer")
"""Flags without which functions keep the frames by which their variables are known."""


_REGISTER = re.compile(r"\bregister\b(?P<bound>[^;{}()]*\b(?:asm|__asm|__asm__)\b)?")
"""The word keeps a variable out of the frame, where nobody notices that it was never written; but one that is bound to a
register of its name, for assembly, must be there."""


_TRAMPOLINES = re.compile(r'^\s*\.section\s+\.note\.GNU-stack,\s*"x"', re.MULTILINE)


_OPENMP_OF_CLANG = re.compile(r"\b__kmpc_\w+")
"""libgomp's entry points are modelled (runtime/hooks/hooks_openmp.cpp), these are not."""


_HIDDEN_MAIN = re.compile(r"^\s*\.(?:hidden|internal)\s+main\b.*$", re.MULTILINE)
"""As ``-fvisibility=hidden`` and attributes leave it: the explorer would not find it."""


_DIAGNOSTIC = re.compile(r"(?:.*?: )?(?P<severity>(?:fatal )?error|warning|note): ")


_LEADING = re.compile(r"In file included from |\S.*: (In|At) .*:$")
"""What belongs to the diagnostic behind it."""


class CompileError(ParseError):
    """What the compiler said about the program."""


class Source(msgspec.Struct, frozen=True):
    """The files of one program, how to compile them, and whether it may do what its user may (``trust``)."""

    files: tuple[str, ...]
    flags: tuple[str, ...] = ()
    compiler: str | None = None
    arguments: tuple[str, ...] = ()
    trust: bool = False

    @property
    def name(self) -> str:
        return " ".join(self.files)


class Preprocessed(NamedTuple):
    """``included``: the files that a source takes in, without the system's. ``macros``: ``#define`` lines, as they are
    at its end."""

    included: list[str]
    macros: str


def preprocessed(source: Source, file: str) -> Preprocessed:
    flags = _split(source.flags).compile
    with scratch_folder() as directory:
        rule = Path(directory) / "rule"
        listing = ["-E", "-dM", "-MMD", "-MT", "x", "-MF", str(rule)]
        macros = _run([*_compiler(source, file), *_COMMON, *flags, *listing, _path(file)], file)
        words = re.findall(r"(?:\\[ #]|[^\s])+", rule.read_text(errors="replace").replace("\\\n", " "))
    names = [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words[1:]]  # make's own spelling
    return Preprocessed([name for name in names if os.path.abspath(name) != os.path.abspath(file)], macros)


def expanded(source: Source, file: str) -> str:
    """What the preprocessor makes of it."""
    flags = _split(source.flags).compile
    return _run([*_compiler(source, file), *_COMMON, *flags, "-E", _path(file)], file)


@contextmanager
def built(source: Source) -> Iterator[Path]:
    """The shared object, for as long as it is needed."""
    with scratch_folder() as directory:
        yield build(source, Path(directory))


def executable(text: str, directory: Path, compiler: str | None, flags: tuple[str, ...]) -> Path:
    """A C program of ours, as this machine runs it: nothing is instrumented."""
    file, made = directory / "program.c", directory / "program"
    file.write_text(text)
    source = Source((str(file),), compiler=compiler)
    _run([*_compiler(source, "a test of this machine"), *flags, str(file), "-o", str(made)], "a test of this machine")
    return made


def build(source: Source, directory: Path) -> Path:
    from teetotal.programs.c import assertions
    from teetotal.programs.c.addresses import AddressWatch, variables  # the disassembler is large: not for every call
    from teetotal.programs.c.audit import unaccounted
    from teetotal.programs.c.deadlines import DeadlineWatch
    from teetotal.programs.c.instrument import make_visible
    from teetotal.programs.c.liveness import Liveness, table
    from teetotal.programs.c.unwritten import UnwrittenLocals

    compile_flags, link_flags, assembler_flags = _split(source.flags)
    objects: list[str] = []
    hidden: list[str] = []
    of_system: set[str] = set()
    addresses, deadlines = AddressWatch(), DeadlineWatch()
    passes = (addresses, deadlines, UnwrittenLocals(), Liveness(), assertions.Assertions())
    for number, file in enumerate(source.files):
        text_files.refuse_odd(file)
        compiler = _compiler(source, file)
        assembly, output = (directory / f"{number}.{kind}" for kind in ("s", "o"))
        options = (*_COMMON, *_instrumentation(compiler), *compile_flags)
        handmade = Path(file).suffix in ASSEMBLY_SUFFIXES
        wanted = ["-xassembler-with-cpp", "-E"] if handmade else ["-S", *_plain_assembly(compiler)]
        compile_ = [*compiler, *options, *wanted, _path(file), "-o", str(assembly)]
        try:
            _run([*compile_, *_without_registers(file)], file)
        except CompileError:  # without the word it may be no declaration any more
            _run(compile_, file)
        if not assembly.exists():
            raise CompileError(f"{file}: the compiler makes no code of it; what do the flags after -- ask for?")

        def assemble(text: str) -> bytes:
            assembly.write_text(text, errors="surrogateescape")  # noqa: B023
            ours = is_clang(compiler) and not (handmade or assembler_flags)  # noqa: B023
            if not (ours and _by_gnu(text, assembly, output)):  # noqa: B023
                _run([*compiler, *assembler_flags, "-c", str(assembly), "-o", str(output)], file)  # noqa: B023
            return output.read_bytes()  # noqa: B023

        compiled = _HIDDEN_MAIN.sub("", assembly.read_text(errors="surrogateescape"))
        if not handmade and _TRAMPOLINES.search(compiled):
            raise TeetotalError(f"{file}: a nested function whose address is taken runs on the stack: not explored")

        if (entry := _OPENMP_OF_CLANG.search(compiled)) is not None:
            raise TeetotalError(f"{file}: OpenMP as clang has it ({entry.group()}) is not explored; gcc's is: --cc gcc")

        visible = make_visible(compiled, assemble, file, passes, handmade=handmade)
        hidden += visible.unseen
        of_system |= visible.of_system
        assemble(mark_ends(visible.text))
        objects.append(str(output))
    result = directory / "program.so"
    linker_map = directory / "map"
    made = ["-shared", "-Wl,-Bsymbolic", "-Wl,-z,noexecstack", "-Wl,-z,separate-code", "-o", str(result)]
    told = ["-lpthread", "-Wl,-z,undefs", f"-Wl,-Map={linker_map}"]  # the last one counts
    _run([*_linker(source), *made, *objects, *link_flags, *told], source.name)
    hidden += unaccounted(result, linker_map.read_text(errors="replace"), objects)
    from teetotal.programs.c.elf import has_bit_fields, take_initialisers  # loaded for C alone

    take_initialisers(result)
    if (live := table(result)) is not None:
        (directory / LIVE).write_text(f"{live.address:x} {live.size:x}\n")
    if (asserts := assertions.table(result)) is not None:
        (directory / ASSERTIONS).write_text(f"{asserts.address:x} {asserts.size:x}\n")
    if has_bit_fields(result):
        (directory / BIT_FIELDS).touch()
    if addresses.found:
        (directory / VARIABLES).write_text("".join(f"{begin:x} {end:x}\n" for begin, end in variables(result)))
    hidden += [f"{name}, which the program has its own of," for name in sorted(deadlines.own(result))]
    if hidden:
        (directory / UNSEEN).write_text("".join(f"{what}\n" for what in hidden))
    if of_system or any(Path(file).suffix in CXX_SUFFIXES for file in source.files):
        from teetotal.programs.c.symbols import library_functions

        ranges = library_functions(result, of_system)
        (directory / LIBRARY).write_text("".join(f"{begin:x} {end:x} {limited:d}\n" for begin, end, limited in ranges))
    return result


def _plain_assembly(compiler: list[str]) -> list[str]:
    return ["-fno-addrsig"] if is_clang(compiler) else []  # a table for another linker, which GNU's assembler refuses


def _by_gnu(text: str, assembly: Path, output: Path) -> bool:
    """Whether GNU's assembler, where there is one, takes what clang made without a word: in 2 ms, where clang, which
    only starts for it, takes 27. What a person has written stays with the assembler it was written for."""
    if "#APP" in text or (assembler := shutil.which("as")) is None:
        return False
    command = [assembler, "--64", str(assembly), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode == 0 and not done.stderr


def recording_flags(source: Source) -> list[str]:
    """With which one compiles and links a program that can be recorded as it runs: with runtime/native in the place of
    the sanitizer's own library. Copies must be calls."""
    folder = str(installed("native"))
    compiler = _linker(source)
    calls = [f"-fno-builtin-{name}" for name in ("memcpy", "memmove", "memset")]
    common = ["-g", "-fsanitize=thread", *_instrumentation(compiler), *calls, f"-L{folder}", f"-Wl,-rpath,{folder}"]
    if not is_clang(compiler):
        return common  # gcc asks for -ltsan by itself, and finds ours first
    ours = f"-Wl,--push-state,--no-as-needed,-l{RECORDER},--pop-state"
    return [*common, "-fno-sanitize-link-runtime", "-Qunused-arguments", ours]


@contextmanager
def built_to_record(source: Source) -> Iterator[Path]:
    """The program, as it runs natively."""
    for file in source.files:
        text_files.refuse_odd(file)
    compile_flags, link_flags, assembler_flags = _split(source.flags, optimised=True)
    ours = recording_flags(source)
    with scratch_folder() as directory:
        objects: list[str] = []
        for number, file in enumerate(source.files):
            objects.append(f"{directory}/{number}.o")
            _run(
                [
                    *_compiler(source, file),
                    *compile_flags,
                    *assembler_flags,
                    *ours,
                    "-c",
                    _path(file),
                    "-o",
                    objects[-1],
                ],
                file,
            )
        result = Path(directory) / "program"
        _run([*_linker(source), *ours, *objects, *link_flags, "-lpthread", "-o", str(result)], source.name)
        yield result


def refuse_unrecordable(program: Path) -> None:
    """An executable that was not linked with the recorder."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    try:
        with program.open("rb") as stream:
            tables = [one for one in ELFFile(stream).iter_sections() if isinstance(one, DynamicSection)]
            needed = {getattr(tag, "needed") for table in tables for tag in table.iter_tags("DT_NEEDED")}  # noqa: B009
    except OSError as problem:
        raise TeetotalError(f"cannot read {program}: {problem.strerror}") from problem
    except ELFError as problem:
        raise TeetotalError(f"{program} is neither a C or C++ source nor an executable") from problem
    if f"lib{RECORDER}.so" not in needed:
        raise TeetotalError(
            f"{program} cannot be recorded: compile and link it with the flags of teetotal cflags --record"
        )
    if not os.access(program, os.X_OK):
        raise TeetotalError(f"{program} is not executable")


def installed(name: str) -> Path:
    """What the package brings along for C programs."""
    from teetotal import _core

    path = Path(_core.__file__).parent / name  # beside it, where the package itself is installed in place too
    if not path.exists():
        raise TeetotalError("this installation cannot run C programs: that needs Linux on x86-64")
    return path


def commands_for_linking(source: Source, directory: Path) -> Iterator[list[str]]:
    """Those with which a user would build the program; the last one tells all that is undefined."""
    compile_flags, link_flags, _ = _split(source.flags)
    objects = []
    for number, file in enumerate(source.files):
        objects.append(str(directory / f"{number}.o"))
        yield [*_compiler(source, file), "-g", *compile_flags, "-c", _path(file), "-o", objects[-1]]
    told = ["-Wl,--warn-unresolved-symbols", "-o", str(directory / "program")]
    yield [*_linker(source), *objects, *link_flags, "-lpthread", *told]


def library_flags(source: Source) -> list[str]:
    """For the user's own build of a library. gcc runs its assembler through ours; clang cannot, so there only what the
    compiler gives a hook is seen."""
    compiler = _compiler(source, source.files[0])
    ours = [] if is_clang(compiler) else ["-wrapper", f"{sys.executable},-m,teetotal.programs.c.assembler"]
    return [*_COMMON, *_instrumentation(compiler), *ours]


def unseen(program: Path) -> list[str]:
    """What a built program does to memory that no hook sees."""
    file = program.parent / UNSEEN
    return file.read_text().splitlines() if file.exists() else []


def _compiler(source: Source, file: str) -> list[str]:
    """The user's choice, or the system's compiler for the language of the file."""
    plus_plus = Path(file).suffix in CXX_SUFFIXES
    if source.compiler is not None:
        command = source.compiler.split()
        if plus_plus and command:
            command[0] = _plus_plus(command[0])
    else:
        command = (os.environ.get("CXX" if plus_plus else "CC") or ("c++" if plus_plus else "cc")).split()
    if not command:
        raise TeetotalError("--cc names no compiler")
    if shutil.which(command[0]) is None:
        raise TeetotalError(f"checking {file} needs a C compiler, and there is no {command[0]} here; see --cc")
    return command


def _linker(source: Source) -> list[str]:
    return _compiler(source, next((f for f in source.files if Path(f).suffix in CXX_SUFFIXES), source.files[0]))


def _path(file: str) -> str:
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


def _instrumentation(compiler: list[str]) -> tuple[str, ...]:
    return _CLANG if is_clang(compiler) else _GCC


class _Flags(NamedTuple):
    compile: list[str]
    link: list[str]
    assemble: list[str]


def _split(flags: tuple[str, ...], *, optimised: bool = False) -> _Flags:
    """What the user gave, by whom it is for. Optimisation is not ours to take, but for programs that are recorded: the
    last ``-O`` would win, and false alarms with it. Nor does it matter what a program counts about itself, and who can see
    its functions: ``main`` must be seen."""
    split = _Flags([], [], [])
    left = iter(_listed(flags))
    for flag in left:
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
            ("-O", "-fsanitize", *_MEASURE, "-fvisibility", *_NO_FRAMES, *_ELSEWHERE, *_FILES_BESIDE, *_WHEN_LINKED)
        ):
            continue
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


def _without_registers(file: str) -> list[str]:
    if Path(file).suffix not in C_SUFFIXES:
        return []  # C++ has it no more
    found = list(_REGISTER.finditer(Path(file).read_text(errors="replace")))
    return ["-Dregister="] if found and not any(one["bound"] for one in found) else []


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


def _run(command: list[str], what: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise CompileError(f"{what} does not compile:\n{errors_first(done.stderr or done.stdout)}")
    return done.stdout
