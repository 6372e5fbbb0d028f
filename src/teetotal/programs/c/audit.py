"""After linking: every byte of code in the program came through the build, or is accounted for by what it is.

The linker's map tells which file each piece of code came from. Ours were instrumented. The compiler's start files and
libgcc are known. Any other object is read as ours are (``matching``), although nothing can be put in: if each access has
its hook, it is seen, whoever built it (``teetotal cflags`` tells how); otherwise its functions are named. Of shared
libraries beyond the system's the functions that the program calls are named.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from teetotal.answers.errors import TeetotalError
from teetotal.programs.c.assembly import Function, Item, Statement
from teetotal.programs.c.machine import sweep
from teetotal.programs.c.matching import Evaluation
from teetotal.programs.c.objects import FUNCTION, VARIABLE, NotElf, Object, Section, Symbol
from teetotal.programs.c.shipped import Placed, without_fill

_PIECE = re.compile(r"^ (\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)(?: (.*))?$", re.MULTILINE)
_OUTPUT = re.compile(r"^(\S+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+", re.MULTILINE)
"""A section of the program in the linker's map; its pieces follow. Those that are not loaded, debugging information, have
addresses of their own from 0 on."""
_LOADED = re.compile(r"^LOAD (.*\.so(?:\.[\d.]+)?)$", re.MULTILINE)
_KNOWN = re.compile(r"(crt\w*|Scrt1)\.o$|lib(gcc|gcc_eh|c_nonshared|pthread_nonshared|ssp_nonshared)\.a\(")
_SYSTEM = re.compile(r"(ld-linux[\w-]*|lib(c|m|pthread|dl|rt|util|resolv))\.so(\.|$)")
_COMPILERS = re.compile(r"lib(gcc_s|stdc\+\+|atomic|c\+\+|c\+\+abi|unwind|quadmath)\.so(\.|$)")
"""Which come with a compiler, wherever that is installed."""
_PLACES = ("/usr/lib", "/lib", "/usr/local/lib", "/opt")
_HOOKS = (
    "__tsan_",
    "teetotal_access",
    "teetotal_settle",
    "teetotal_copy_",
    "teetotal_frame_ends",
    "teetotal_parameters_",
    "teetotal_fill",
    "teetotal_look",
)
_LINKER = "linker stubs"
"""The file that GNU's linker, from 2.47 on, names for what it makes itself; others name one of those that are linked."""
_WRAPPED = "__wrap_"
"""What ``--wrap`` makes of a name."""
_RUN_BY_LINKER = (".init", ".fini")
_NOT_BUILT = "which was not built for checking"
_NAME_TYPE, _INDIRECT = 0, 10


def unaccounted(program: Path, linker_map: str, own: list[str]) -> list[str]:
    """What of a linked program is not seen. ``own`` are the object files that were instrumented here."""
    linked = Object(program.read_bytes())
    if linked.executable_stack:
        raise TeetotalError("a program that can run code on its stack is not explored")
    found: list[str] = []
    asked: set[str] = set(own)
    code = {file: {one.name for one in Object(Path(file).read_bytes()).sections if one.executable} for file in own}
    for section in linked.sections:
        if not section.executable:
            continue
        covered = 0
        for name, place, size, origin in _pieces(linker_map, section):
            if not (section.address <= int(place, 16) < section.address + section.size and int(size, 16)):
                continue
            covered += int(size, 16)
            if name not in code.get(origin, (name,)):
                found.append(f"{name}, which the linker puts into {section.name}")
            if name in _RUN_BY_LINKER and not _is_known(origin):
                found.append(f"{int(size, 16)} bytes of code in {name}, which is not run")
            if origin == _LINKER and name.startswith(".plt") and not os.path.exists(origin):
                continue
            if origin and origin not in asked and not _is_known(origin):
                asked.add(origin)
                found += _foreign(origin)
        if covered < section.size:
            found.append(
                f"{section.size - covered} bytes of code in {section.name}, whose origin the linker does not tell"
            )
    if data := linked.executable_data():
        found.append(f"data that can be executed as code, in {', '.join(data)}")
    found += [f"{name}, which the program defines itself" for name in _own_hooks(linked, own)]
    return found + list(_libraries(linked, linker_map))


def _pieces(linker_map: str, section: Section) -> list[tuple[str, str, str, str]]:
    """Name, address, size and file of what the linker put into a section of the program."""
    outputs = list(_OUTPUT.finditer(linker_map))
    ends = [one.start() for one in outputs[1:]] + [len(linker_map)]
    return [
        piece
        for one, end in zip(outputs, ends, strict=False)
        if one[1] == section.name and int(one[2], 16) == section.address
        for piece in _PIECE.findall(linker_map, one.end(), end)
    ]


def _own_hooks(linked: Object, own: list[str]) -> list[str]:
    """Names by which what was put into the program calls us, and that lead elsewhere."""
    symbols = [*_called(linked, linked.symbols), *_called(linked, linked.dynamic_symbols)]
    for file in own:  # the linker may have been told to leave out their symbols
        made = Object(Path(file).read_bytes())
        symbols += _called(made, made.symbols)
    return sorted(
        {one.name for one in symbols if one.section and one.name.startswith(_HOOKS)}
        | {
            one.name
            for one in symbols
            if one.name.startswith(_WRAPPED) and one.name.removeprefix(_WRAPPED).startswith(_HOOKS)
        }
    )


def _called(machine: Object, symbols: list[Symbol]) -> Iterator[Symbol]:
    """Without constants, such as headers of the sanitizer have: nobody calls what is data that cannot be run."""
    for one in symbols:
        known = 0 < one.section < len(machine.sections)
        if not (one.kind == VARIABLE and known and not machine.sections[one.section].executable):
            yield one


def _is_known(origin: str) -> bool:
    return bool(_KNOWN.search(origin)) and os.path.realpath(origin.partition("(")[0]).startswith(_PLACES)


def _is_system(library: str) -> bool:
    name = os.path.basename(library)
    system = _SYSTEM.match(name) and os.path.realpath(library).startswith(_PLACES)
    return bool(system or _COMPILERS.match(name))


def _foreign(origin: str) -> list[str]:
    path, _, member = origin.partition("(")
    try:
        data = _member(Path(path).read_bytes(), member[:-1]) if member else Path(path).read_bytes()
        return [f"{what} in {os.path.basename(origin)}, {_NOT_BUILT}" for what in unseen_in(Object(data))]
    except (OSError, NotElf, ValueError, IndexError, struct.error):
        return [f"{os.path.basename(origin)}, {_NOT_BUILT}"]


def unseen_in(machine: Object) -> list[str]:
    """The functions of an object file that do something which no hook of theirs announces."""
    found: dict[str, None] = {}
    constant = frozenset(number for number, one in enumerate(machine.sections) if number and not one.writable)
    for number, section in enumerate(machine.sections):
        if section.executable and section.size:
            for function in _functions(machine, number, section, constant):
                decision = Evaluation(function).decide()
                unpaired = any(not to.calls.startswith("teetotal_") for to, _, _ in decision.copies)
                odd = any(item.instruction.oddity for block in function.blocks for item in block)
                if decision.hooks or decision.dropped or unpaired or odd or not function.blocks:
                    found[f"{function.name}()"] = None
    return list(found)


def _functions(machine: Object, number: int, section: Section, constant: frozenset[int]) -> Iterator[Function]:
    """By symbols; where bytes cannot be decoded, one without any code."""
    starts: dict[int, Symbol] = {}
    for symbol in machine.symbols:
        named = symbol.section == number and symbol.kind in (_NAME_TYPE, FUNCTION) and symbol.name
        if named and (symbol.value not in starts or symbol.kind == FUNCTION):
            starts[symbol.value] = symbol
    starts.setdefault(0, Symbol(section.name, number, 0, 0, _NAME_TYPE))
    code, relocations = machine.code(section), machine.relocations(number)
    ordered = sorted(starts)
    for begin, end in zip(ordered, [*ordered[1:], section.size], strict=True):
        name = starts[begin].name
        items: list[Placed] = []
        at = begin
        for at, instruction in sweep(code[begin:end], begin):
            own = [one._replace(place=one.place - at) for one in relocations if at <= one.place < at + instruction.size]
            items.append((at, Item(Statement(""), code[at : at + instruction.size], instruction, own, True)))
            at += instruction.size
        if at < end:
            yield Function(name, [], constant, machine.by_gcc)
            continue
        items = without_fill(items)
        targets = {
            item.instruction.operands[0][1] for _, item in items if item.instruction.branches and not item.relocations
        }
        blocks: list[list[Item]] = [[]]
        for place, item in items:
            if place in targets and blocks[-1]:
                blocks.append([])
            blocks[-1].append(item)
            if item.instruction.ends_block:
                blocks.append([])
        if any(blocks):
            yield Function(name, [block for block in blocks if block], constant, machine.by_gcc)


def _member(archive: bytes, wanted: str) -> bytes:
    """Of an archive, by name."""
    if not archive.startswith(b"!<arch>\n"):
        raise NotElf
    at, names = 8, b""
    while at + 60 <= len(archive):
        name, size = archive[at : at + 16].rstrip(), int(archive[at + 48 : at + 58])
        data = archive[at + 60 : at + 60 + size]
        if name == b"//":
            names = data
        elif name.startswith(b"/") and name[1:].isdigit():
            start = int(name[1:])
            name = names[start : names.index(b"\n", start)]
        if name.rstrip(b"/").decode(errors="replace") == wanted:
            return data
        at += 60 + size + size % 2
    raise ValueError(wanted)


def _libraries(linked: Object, linker_map: str) -> Iterator[str]:
    wanted = {symbol.name for symbol in linked.dynamic_symbols if symbol.section == 0}
    for path in dict.fromkeys(_LOADED.findall(linker_map)):
        if any(_is_system(one) for one in (path, os.path.realpath(path))):
            continue
        try:
            there = {
                one.name
                for one in Object(Path(path).read_bytes()).dynamic_symbols
                if one.section and one.kind == FUNCTION
            }
        except (OSError, NotElf):
            continue  # a script of the linker's, which loads what it names
        yield from (f"{name}() in {os.path.basename(path)}, {_NOT_BUILT}" for name in sorted(wanted & there))
