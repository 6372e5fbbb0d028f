"""From a text to a ``PromelaProgram``: its memory, its processes with ``init`` run as far as it starts them, its
properties."""

from __future__ import annotations

from pathlib import Path

from teetotal.answers.errors import ParseError
from teetotal.answers.events import Location
from teetotal.programs import text_files
from teetotal.programs.promela import syntax as s
from teetotal.programs.promela.initial import run_init
from teetotal.programs.promela.instructions import Process
from teetotal.programs.promela.parser import MAX_PROCESSES, parse
from teetotal.programs.promela.program import PromelaProgram
from teetotal.programs.promela.properties import property_of
from teetotal.programs.promela.scope import Scope, locations
from teetotal.programs.promela.sites import Places, without_equals
from teetotal.programs.promela.statements import Body


def load(path: str | Path) -> PromelaProgram:
    """The program in a file."""
    return compile_text(text_files.read(path), str(path))


def compile_text(text: str, file: str = "program.pml", places: Places = "stores") -> PromelaProgram:
    """The program of a text, with places for fences as ``sites`` has them."""
    try:
        return _compiled(text, file, places)
    except RecursionError:
        raise ParseError("nested too deeply", Location(file, 1)) from None


def _compiled(text: str, file: str, places: Places) -> PromelaProgram:
    module = parse(text, file)
    scope = Scope(module, places)
    by_name = {p.name: p for p in module.proctypes}
    processes: list[Process] = []
    spawned: list[tuple[s.Proctype, tuple[int, ...]]] = []
    number = 0
    numbers: dict[int, str] = {}
    init: tuple[s.Proctype, int, int] | None = None
    for proctype in module.proctypes:
        for _ in range(proctype.active):
            numbers[number] = proctype.name
            if proctype.name == ":init:":
                init = (proctype, number, len(processes))
            else:
                processes.append(Body(scope, proctype, number, ()).process())
            number += 1
    if init is not None:
        body = Body(scope, init[0], init[1], (), spawns=by_name)
        rest = run_init(scope.memory, body, spawned)
        if rest is not None:
            processes.insert(init[2], rest)
    for proctype, arguments in spawned:
        numbers[number] = proctype.name
        processes.append(Body(scope, proctype, number, arguments).process())
        number += 1
    if not processes:
        raise ParseError("no process: nothing is active and there is no init", Location(module.file, 1))
    if number > MAX_PROCESSES:
        raise ParseError(f"more than {MAX_PROCESSES} processes", Location(module.file, 1))
    order = [process.number for process in processes]
    properties = tuple(property_of(f, numbers, by_name, scope, order) for f in module.forbidden)
    sites = scope.sites.found
    if scope.sites.places == "gaps":
        processes, sites = without_equals(processes, sites)
    return PromelaProgram(
        name=Path(module.file).stem,
        source=module.file,
        text=module.text,
        processes=tuple(processes),
        memory=scope.memory,
        ghosts=frozenset(n for v in module.variables if v.ghost for n in locations(v)),
        properties=properties,
        sites=tuple(sites),
    )
