"""From C and C++ sources to an instrumented shared object that ``teetotal-runtime`` can load.

Every access must be a call, and in the order of the source: hence ``-O0`` (gcc moves plain accesses across volatile ones
before it instruments) and ``-fno-builtin`` (small copies would be inlined without a hook). The object is linked without
the sanitizer's own library: the hooks are found in the explorer.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.programs import text_files
from teetotal.programs.c.compilers import (
    ASSEMBLY_SUFFIXES,
    C_SUFFIXES,
    CXX_SUFFIXES,
    INSTRUMENTED,
    CompileError,
    compiler_for,
    instrumentation,
    is_clang,
    path_of,
    run,
    shared_cxx_library,
    split_flags,
)
from teetotal.scale.supervision import scratch_folder

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
OLDEST_C_LIBRARY = (2, 34)
RECORDER = "teetotal-record"
"""The library that programs to be recorded are linked with."""
ROUNDS = "rounds"
"""Beside the object of a program that was seen through LLVM's IR: whether anything reads errno, for
runtime/schedule/rounds.hpp."""
LIVE = "live"
"""Beside the object: where in it the table of what is live begins, and its size, for runtime/schedule/local_state.hpp."""


_REGISTER = re.compile(r"\bregister\b(?P<bound>[^;{}()]*\b(?:asm|__asm|__asm__)\b)?")
"""The word keeps a variable out of the frame, where nobody notices that it was never written; but one that is bound to a
register of its name, for assembly, must be there."""


_TRAMPOLINES = re.compile(r'^\s*\.section\s+\.note\.GNU-stack,\s*"x"', re.MULTILINE)


_VECTORCALL = re.compile(
    r"^(?!\s*\.(?:symver|asci[iz]|string|file)\b).*?(?P<whole>(?P<name>[\w.$]+)@@\d+)(?=[@,:\s\"]|$)", re.MULTILINE
)
"""A function whose name has the size of its arguments in it, which to an assembler or linker is a version."""
_OPENMP_OF_CLANG = re.compile(r"\b__kmpc_\w+")
"""libgomp's entry points are modelled (runtime/hooks/hooks_openmp.cpp), these are not."""


_ATOMIC_WAITS = Path(__file__).with_name("atomic_waits.cpp")
"""What newer C++ libraries do not inline any more, for programs that call it."""
_HIDDEN_MAIN = re.compile(r"^\s*\.(?:hidden|internal)\s+main\b.*$", re.MULTILINE)
"""As ``-fvisibility=hidden`` and attributes leave it: the explorer would not find it."""


def sees_through_ir() -> bool:
    """Whether programs are seen through LLVM's IR (``ir``, docs/explanation/seeing.md), which is to take the place of the
    way through the compiler's assembly: both stand side by side until they agree on all that is tested."""
    return os.environ.get("TEETOTAL_SEE") == "ir"


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
    flags = split_flags(source.flags).compile
    with scratch_folder() as directory:
        rule = Path(directory) / "rule"
        listing = ["-E", "-dM", "-MMD", "-MT", "x", "-MF", str(rule)]
        macros = run([*_front(source, file, flags), *listing, path_of(file)], file)
        words = re.findall(r"(?:\\[ #]|[^\s])+", rule.read_text(errors="replace").replace("\\\n", " "))
    names = [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words[1:]]  # make's own spelling
    return Preprocessed([name for name in names if os.path.abspath(name) != os.path.abspath(file)], macros)


def expanded(source: Source, file: str) -> str:
    """What the preprocessor makes of it."""
    flags = split_flags(source.flags).compile
    return run([*_front(source, file, flags), "-E", path_of(file)], file)


def _front(source: Source, file: str, flags: list[str]) -> list[str]:
    """The compiler, as it reads a source that is explored."""
    compiler = compiler_for(file, source.compiler)
    if not sees_through_ir():
        return [*compiler, *INSTRUMENTED, *flags]
    from teetotal.programs.c.ir.building import front

    return front(compiler, flags, source.flags)


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
    run(
        [*compiler_for("a test of this machine", source.compiler), *flags, str(file), "-o", str(made)],
        "a test of this machine",
    )
    return made


def build(source: Source, directory: Path) -> Path:
    runtime()
    from teetotal.programs.c import assertions
    from teetotal.programs.c.addresses import AddressWatch, variables  # the disassembler is large: not for every call
    from teetotal.programs.c.audit import unaccounted
    from teetotal.programs.c.bound import BoundRegisters
    from teetotal.programs.c.deadlines import DeadlineWatch
    from teetotal.programs.c.elf import has_bit_fields, take_initialisers, waits_in_library
    from teetotal.programs.c.frames import mark_ends, mark_raised_stacks
    from teetotal.programs.c.instrument import make_visible
    from teetotal.programs.c.live_table import reads_errno, table
    from teetotal.programs.c.liveness import Liveness
    from teetotal.programs.c.locking import lock_together
    from teetotal.programs.c.unwritten import UnwrittenLocals

    compile_flags, link_flags, assembler_flags = split_flags(source.flags)
    objects: list[str] = []
    hidden: list[str] = []
    of_system: set[str] = set()
    addresses, deadlines, bound = AddressWatch(), DeadlineWatch(), BoundRegisters()
    found = (addresses, deadlines, UnwrittenLocals(), Liveness(), bound, assertions.Assertions())
    passes = (lock_together, *found, mark_raised_stacks)

    def compile_one(file: str, flags: list[str]) -> None:
        text_files.refuse_odd(file)
        compiler = compiler_for(file, source.compiler)
        assembly, output = (directory / f"{len(objects)}.{kind}" for kind in ("s", "o"))
        options = (*INSTRUMENTED, *instrumentation(compiler), *flags)
        handmade = Path(file).suffix in ASSEMBLY_SUFFIXES
        wanted = ["-xassembler-with-cpp", "-E"] if handmade else ["-S", *_plain_assembly(compiler)]
        compile_ = [*compiler, *options, *wanted, path_of(file), "-o", str(assembly)]
        through_ir = sees_through_ir() and not handmade
        assembler: list[str] = []
        if through_ir:
            from teetotal.programs.c.ir.building import assembly_of, clang_for

            seen = assembly_of(file, compiler, flags, source.flags, directory / str(len(objects)))
            if seen.verbatim and not is_clang(compiler):  # what was written for GNU's assembler is for that
                assembler.append("-fno-integrated-as")
            compiler = clang_for(compiler)
            assembly.write_text(seen.assembly, errors="surrogateescape")
            hidden.extend(seen.unseen)
            deadlines.relied_on |= seen.relied_on
            addresses.found |= seen.addresses
        else:
            try:
                run([*compile_, *_without_registers(file)], file)
            except CompileError:  # without the word it may be no declaration any more
                run(compile_, file)
        if not assembly.exists():
            raise CompileError(f"{file}: the compiler makes no code of it; what do the flags after -- ask for?")

        def assemble(text: str) -> bytes:
            assembly.write_text(text, errors="surrogateescape")
            ours = is_clang(compiler) and not (handmade or assembler_flags)
            if not (ours and _by_gnu(text, assembly, output)):
                run([*compiler, *assembler, *assembler_flags, "-c", str(assembly), "-o", str(output)], file)
            return output.read_bytes()

        compiled = _HIDDEN_MAIN.sub("", assembly.read_text(errors="surrogateescape"))
        if not handmade and _TRAMPOLINES.search(compiled):
            raise TeetotalError(f"{file}: a nested function whose address is taken runs on the stack: not explored")

        if not handmade and is_clang(compiler) and "@@" in compiled:
            refuse_vectorcall(compiled, file)

        if (entry := _OPENMP_OF_CLANG.search(compiled)) is not None:
            raise TeetotalError(f"{file}: OpenMP as clang has it ({entry.group()}) is not explored; gcc's is: --cc gcc")

        if through_ir:
            kept = (lock_together, addresses, bound, found[-1])
            visible = make_visible(compiled, assemble, file, kept, compiled=seen.functions)
            assemble(visible.text)
        else:
            visible = make_visible(compiled, assemble, file, passes, handmade=handmade)
            assemble(mark_ends(visible.text, visible.parameters, handmade=handmade))
        hidden.extend(visible.unseen)
        of_system.update(visible.of_system)
        objects.append(str(output))

    result = directory / "program.so"
    linker_map = directory / "map"
    made = ["-shared", "-Wl,-Bsymbolic", "-z", "noexecstack", "-Wl,-z,separate-code", "-o", str(result)]
    told = ["-lpthread", "-Wl,-z,undefs", f"-Wl,-Map={linker_map}"]  # the last one counts
    libraries = shared_cxx_library(*_linker(source)) if _is_cxx(source) else []

    def link() -> None:
        run([*_linker(source), *made, *objects, *link_flags, *libraries, *told], source.name)

    for file in source.files:
        compile_one(file, compile_flags)
    link()
    if waits_in_library(result):
        with suppress(CompileError):  # of a version that is not known: refused when it is called
            compile_one(str(_ATOMIC_WAITS), [*compile_flags, "-std=gnu++20", "-w"])
        link()
    hidden += unaccounted(result, linker_map.read_text(errors="replace"), objects)

    take_initialisers(result)
    if (live := table(result)) is not None:
        (directory / LIVE).write_text(f"{live.address:x} {live.size:x} {reads_errno(result):d}\n")
    if (asserts := assertions.table(result)) is not None:
        (directory / ASSERTIONS).write_text(f"{asserts.address:x} {asserts.size:x}\n")
    if sees_through_ir():
        (directory / ROUNDS).write_text("errno" if reads_errno(result) else "all")
    if has_bit_fields(result):
        (directory / BIT_FIELDS).touch()
    if addresses.found:
        (directory / VARIABLES).write_text("".join(f"{begin:x} {end:x}\n" for begin, end in variables(result)))
    hidden += bound.unseen
    hidden += [f"{name}, which the program has its own of," for name in sorted(deadlines.own(result))]
    if hidden:
        (directory / UNSEEN).write_text("".join(f"{what}\n" for what in hidden))
    if of_system or _is_cxx(source):
        from teetotal.programs.c.symbols import library_functions

        ranges = library_functions(result, of_system)
        (directory / LIBRARY).write_text("".join(f"{begin:x} {end:x} {limited:d}\n" for begin, end, limited in ranges))
    return result


def _plain_assembly(compiler: list[str]) -> list[str]:
    return ["-fno-addrsig"] if is_clang(compiler) else []  # a table for another linker, which GNU's assembler refuses


def refuse_vectorcall(compiled: str, file: str) -> None:
    if (named := _VECTORCALL.search(compiled)) is not None:
        raise TeetotalError(
            f"{file}: {_demangled(named['name'])} has the calling convention vectorcall: the name that clang gives it, "
            f"{named['whole']}, is one that no assembler takes, so it is not explored"
        )


def _demangled(name: str) -> str:
    """As the binary tools have it, which come with every compiler."""
    if (tool := shutil.which("c++filt")) is None:
        return name
    return subprocess.run([tool, name], capture_output=True, text=True, check=False).stdout.strip() or name


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
    common = ["-g", "-fsanitize=thread", *instrumentation(compiler), *calls, f"-L{folder}", f"-Wl,-rpath,{folder}"]
    if not is_clang(compiler):
        return common  # gcc asks for -ltsan by itself, and finds ours first
    ours = f"-Wl,--push-state,--no-as-needed,-l{RECORDER},--pop-state"
    return [*common, "-fno-sanitize-link-runtime", "-Qunused-arguments", ours]


@contextmanager
def built_to_record(source: Source) -> Iterator[Path]:
    """The program, as it runs natively."""
    for file in source.files:
        text_files.refuse_odd(file)
    compile_flags, link_flags, assembler_flags = split_flags(source.flags, optimised=True)
    ours = recording_flags(source)
    with scratch_folder() as directory:
        objects: list[str] = []
        for number, file in enumerate(source.files):
            objects.append(f"{directory}/{number}.o")
            run(
                [
                    *compiler_for(file, source.compiler),
                    *compile_flags,
                    *assembler_flags,
                    *ours,
                    "-c",
                    path_of(file),
                    "-o",
                    objects[-1],
                ],
                file,
            )
        result = Path(directory) / "program"
        run([*_linker(source), *ours, *objects, *link_flags, "-lpthread", "-o", str(result)], source.name)
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


def runtime() -> Path:
    """The program that C programs are loaded into."""
    if chosen := os.environ.get("TEETOTAL_RUNTIME"):  # built otherwise: with sanitizers, for instance
        return Path(chosen)
    return installed("teetotal-runtime")


def installed(name: str) -> Path:
    """What the package brings along for C programs."""
    from teetotal import _core

    path = Path(_core.__file__).parent / name  # beside it, where the package itself is installed in place too
    if not path.exists():
        raise TeetotalError(
            f"this installation cannot run C programs: that needs Linux on x86-64, and this is {platform.system()} on"
            f" {platform.machine()}; litmus tests, Python and Promela programs, histories and traces need neither"
        )
    if (version := old_c_library()) is not None:
        wanted = ".".join(map(str, OLDEST_C_LIBRARY))
        raise TeetotalError(
            f"C programs are explored with glibc {wanted} or newer (Debian 12, Ubuntu 22.04, RHEL 9), and this is glibc"
            f" {version}; litmus tests, Python and Promela programs, histories and traces need no more"
        )
    return path


def old_c_library() -> str | None:
    """The version of a C library that is too old. There threads and the dynamic linker are libraries of their own, which
    call each other's functions, and so the explorer's, while that asks them for theirs."""
    name = "CS_GNU_LIBC_VERSION"
    said = (os.confstr(name) or "") if name in os.confstr_names else ""
    version = said.removeprefix("glibc ")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    return version if len(numbers) == 2 and numbers < OLDEST_C_LIBRARY else None


def commands_for_linking(source: Source, directory: Path) -> Iterator[list[str]]:
    """Those with which a user would build the program; the last one tells all that is undefined."""
    compile_flags, link_flags, _ = split_flags(source.flags)
    objects = []
    for number, file in enumerate(source.files):
        objects.append(str(directory / f"{number}.o"))
        yield [*compiler_for(file, source.compiler), "-g", *compile_flags, "-c", path_of(file), "-o", objects[-1]]
    told = ["-Wl,--warn-unresolved-symbols", "-o", str(directory / "program")]
    yield [*_linker(source), *objects, *link_flags, "-lpthread", *told]


def library_flags(source: Source) -> list[str]:
    """For the user's own build of a library. gcc runs its assembler through ours; clang cannot, so there only what the
    compiler gives a hook is seen."""
    runtime()
    compiler = compiler_for(source.files[0], source.compiler)
    ours = [] if is_clang(compiler) else ["-wrapper", f"{sys.executable},-m,teetotal.programs.c.assembler"]
    return [*INSTRUMENTED, *instrumentation(compiler), *ours]


def unseen(program: Path) -> list[str]:
    """What a built program does to memory that no hook sees."""
    file = program.parent / UNSEEN
    return file.read_text().splitlines() if file.exists() else []


def _is_cxx(source: Source) -> bool:
    return any(Path(file).suffix in CXX_SUFFIXES for file in source.files)


def _linker(source: Source) -> list[str]:
    return compiler_for(
        next((f for f in source.files if Path(f).suffix in CXX_SUFFIXES), source.files[0]), source.compiler
    )


def _without_registers(file: str) -> list[str]:
    if Path(file).suffix not in C_SUFFIXES:
        return []  # C++ has it no more
    found = list(_REGISTER.finditer(Path(file).read_text(errors="replace")))
    return ["-Dregister="] if found and not any(one["bound"] for one in found) else []
