"""``fence`` with ``--model c11``: the jobs of programs whose orders change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path

from teetotal.answers.check import CheckAnswer
from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import Location
from teetotal.answers.options import FenceOptions
from teetotal.answers.targets import OrderCosts
from teetotal.budget import Budget
from teetotal.engines import graphs
from teetotal.fences.jobs import Job, Patch, checked
from teetotal.fences.order_texts import OrderedText, skeletons
from teetotal.fences.orders import Sites
from teetotal.fences.orders_problem import OrdersProblem, Skeleton
from teetotal.fences.slots import in_loops


def refuse(path: str, options: FenceOptions) -> None:
    """What has no meaning where orders change."""
    if "c11" not in options.models:
        if options.weaken or options.target is not None:
            raise TeetotalError(
                "--weaken and --target are for --model c11: what orders cost, and which are needed there"
            )
        return
    if options.goal != "robust":
        raise TeetotalError("--goal safe with --model c11: orders are found for robust and race-free programs alone")
    if options.monitors:
        raise TeetotalError("--monitor with --model c11: the exact monitors are what its proof stands on")
    if options.remove:
        raise TeetotalError("--remove with --model c11: --weaken takes out fences too, where nothing needs them")
    if options.style == "x86":
        raise TeetotalError("--style x86 with --model c11: C11 knows nothing of assembly")
    costs = type(options.costs)()
    if options.costs != type(costs)(loop=options.costs.loop):
        raise TeetotalError("--cost with --model c11: costs come from --target; only loop= can be given")
    if Path(path).suffix == ".pml":
        raise TeetotalError(f"{path}: Promela has no orders of C11")


def costs(options: FenceOptions) -> OrderCosts:
    return OrderCosts(options.target, options.costs.loop)


def job(path: str, text: str, options: FenceOptions, budget: Budget) -> Job:
    """For programs that teetotal interprets."""
    source = _source(path, text, options)
    programs = source.programs(text)
    if not programs:
        raise ParseError(f"{path}: no program is called {options.program}")
    for program in programs:
        graphs.refuse(program)
    sites = Sites(source.places, costs(options), options.weaken)
    found = skeletons(source, sites)
    _weigh(sites, found)

    def check(patched: Mapping[str, str]) -> list[CheckAnswer]:
        return checked(source.programs(patched[path]), options, budget)

    def write(chosen: frozenset[int], removed: frozenset[int]) -> Patch:
        patched = source.written(sites.changes(chosen))
        return Patch({path: patched.text}, {n: line for n, line in patched.lines.items() if isinstance(n, int)})

    return Job(
        problem=OrdersProblem(found, sites, options, budget),
        existing=frozenset(),
        originals={path: text},
        write=write,
        check=check,
        as_it_is=lambda: check({path: text}),
        notes=source.notes,
        ordered=sites,
    )


def _source(path: str, text: str, options: FenceOptions) -> OrderedText:
    """What is wrong with the text is told by its reader first."""
    if Path(path).suffix == ".litmus":
        from teetotal.fences.ordered_litmus import OrderedLitmus
        from teetotal.programs import litmus

        graphs.refuse(litmus.read(text, path))
        return OrderedLitmus(path, text, options.weaken)
    if Path(path).suffix == ".py":
        from teetotal.fences.ordered_python import OrderedPython
        from teetotal.programs.python.loader import load_text

        load_text(path, text)
        return OrderedPython(path, text, options.weaken, options.program)
    raise ParseError(f"{path}: orders cannot be changed in {Path(path).suffix or 'files without a suffix'}")


def _weigh(sites: Sites, found: list[Skeleton]) -> None:
    """Every thread of a program that has a place pays for it; what a loop can run again is dearer."""
    passes: dict[int, Fraction] = {}
    looping: set[int] = set()
    for skeleton in found:
        own = Counter(owner.place for owner in skeleton.owners.values() if owner.part is None)
        loops = [in_loops(thread.code) for thread in skeleton.program.threads]
        looping |= {owner.place for slot, owner in skeleton.owners.items() if slot.pc in loops[slot.thread]}
        for place, count in own.items():
            passes[place] = max(passes.get(place, Fraction(1)), Fraction(count))
    sites.weigh(lambda place: passes.get(place, Fraction(1)), lambda place: place in looping)


def c_job(paths: tuple[str, ...], options: FenceOptions, budget: Budget, without: Collection[Location]) -> Job:
    """For a program that is compiled and run."""
    from teetotal.fences.ordered_c import COrdersProblem, OrderedCFiles
    from teetotal.programs.c import Source

    source = Source(paths, options.flags, options.compiler, options.arguments, options.trust)
    files = OrderedCFiles(source, costs(options), options.weaken, without)
    problem = COrdersProblem(files, options, budget=budget)
    return Job(
        problem=problem,
        existing=frozenset(),
        originals=files.originals(),
        write=lambda chosen, removed: Patch(*files.written(files.ordered.changes(chosen), options.style)),
        check=lambda patched: [problem.check_patched(patched)],
        as_it_is=lambda: [problem.check_as_it_is()],
        notes=[*files.notes, *files.unread()],
        ordered=files.ordered,
    )


def cost_as_written(sites: Sites) -> Fraction:
    passes = [max((sites.sites[site].passes for site in own), default=Fraction(1)) for own in sites.of_place]
    return sum(
        (
            sites.cost(number, place.was) * passes[number]
            for number, place in enumerate(sites.places)
            if number not in sites.untouched
        ),
        Fraction(0),
    )


def left_alone(sites: Sites) -> list[str]:
    """What --weaken has nothing to say about."""
    places = [sites.places[number] for number in sorted(sites.untouched) if sites.places[number].was != "relaxed"]
    if not places or not sites.weaken:
        return []
    lines = list(dict.fromkeys(str(place.location) for place in places))
    more = f" and {len(lines) - 8} more" if len(lines) > 8 else ""
    return [f"no execution passes {', '.join(lines[:8])}{more}: left as it is"]
