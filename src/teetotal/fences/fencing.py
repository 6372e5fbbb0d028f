"""``fence``: from a file to its patch, and to the proof that the patched file is what was asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec

from teetotal.answers.answer import Interrupted
from teetotal.answers.check import CheckAnswer
from teetotal.answers.costs import PREFERRED
from teetotal.answers.errors import ParseError, TeetotalError
from teetotal.answers.events import Location
from teetotal.answers.fence import FenceAnswer
from teetotal.answers.options import FenceOptions
from teetotal.answers.remedies import Order, Remedy
from teetotal.answers.verdict import Verdict, both
from teetotal.answers.violation import Violation
from teetotal.budget import Budget
from teetotal.fences import edits, order_jobs
from teetotal.fences.explaining import failures_under_sc, what_they_buy, why_no_fence_helps, why_not_safe
from teetotal.fences.insertion import NoFenceHelps, Search, Site, Undecided
from teetotal.fences.jobs import Job, Patch, Repair, checked
from teetotal.fences.placed import Placing
from teetotal.fences.program_problem import ProgramProblem
from teetotal.fences.slots import Slots, from_fences, without_equals
from teetotal.fences.sources import TextSource, relocated
from teetotal.programs import goals, text_files
from teetotal.programs.c.compilers import COMPILED
from teetotal.programs.program import Program


def fence(
    path: str | Sequence[str],
    options: FenceOptions = FenceOptions(),
    budget: Budget | None = None,
    *,
    command: str = "fence",
) -> Repair:
    """Of one file, or of the C and C++ files of one program."""
    paths = (path,) if isinstance(path, str) else tuple(path)
    budget = budget or Budget(options.seconds, options.max_megabytes)
    if not paths:
        raise TeetotalError("no file is named")
    order_jobs.refuse(paths[0], options)
    if all(Path(each).suffix in COMPILED for each in paths):
        return fence_c(paths, options, budget, command)
    if len(paths) > 1:
        other = next(each for each in paths if Path(each).suffix not in COMPILED)
        raise TeetotalError(
            f"{other}: several files are the C and C++ files of one program ({' '.join(COMPILED)}); headers of yours "
            "are found by themselves, and anything else goes one by one"
        )
    (only,) = paths
    text = text_files.read(only)
    if "c11" in options.models:
        return run(only, order_jobs.job(only, text, options, budget), options, budget, command)
    if Path(only).suffix == ".pml":
        from teetotal.fences import promela

        _refuse_strengthen(only, options)
        if options.monitors:
            raise TeetotalError(
                f"{only}: --monitor is for programs that are run: those in Promela are proved, as by verify"
            )
        return run(only, promela.job(only, text, options, budget), options, budget, command)
    return run(only, job(source(only, text, options), options, budget), options, budget, command)


def fence_c(paths: tuple[str, ...], options: FenceOptions, budget: Budget, command: str) -> Repair:
    """Gaps that the compiler does not take for gaps are left out, and if need be more and more around them."""
    from teetotal.fences.c import Misplaced

    make = order_jobs.c_job if "c11" in options.models else c_job
    without: set[Location] = set()
    for around in (0, 2, 10, 50):
        try:
            return run(" ".join(paths), make(paths, options, budget, without), options, budget, command)
        except Misplaced as misplaced:
            if not misplaced.places:
                raise
            reach = range(-around, around + 1)
            without |= {Location(place.file, place.line + offset) for place in misplaced.places for offset in reach}
    return run(" ".join(paths), make(paths, options, budget, without), options, budget, command)


def _refuse_strengthen(path: str, options: FenceOptions) -> None:
    if options.strengthen:
        raise TeetotalError(f"{path}: --strengthen is for C and C++, where stores have orders")


def source(path: str, text: str, options: FenceOptions) -> TextSource:
    """Where fences can be put into a text. What is wrong with it is told by its reader, before anything is cut out."""
    match Path(path).suffix:
        case ".litmus":
            from teetotal.fences.litmus_x86 import X86Litmus
            from teetotal.programs import litmus
            from teetotal.programs.litmus import layout

            litmus.read(text, path)
            if layout.split(text, path).architecture == "C":
                from teetotal.fences.litmus_c import CLitmus

                return CLitmus(path, text, options.strengthen, options.costs)
            _refuse_strengthen(path, options)
            return X86Litmus(path, text)
        case ".py":
            _refuse_strengthen(path, options)
            from teetotal.fences.python import PythonSource
            from teetotal.programs.python.loader import load_text

            load_text(path, text, trust=options.trust)
            return PythonSource(path, text, options.program, trust=options.trust)
        case suffix:
            raise ParseError(f"{path}: fences cannot be put into {suffix or 'files without a suffix'}")


def job(source: TextSource, options: FenceOptions, budget: Budget) -> Job:
    """A job for programs that teetotal interprets: slots come from the text with a fence in every place."""
    if not source.programs(source.text):
        raise ParseError(f"{source.path}: no program is called {options.program}")

    def programs(text: str) -> list[Program]:
        found = source.programs(text)
        return [goals.demanding(program) for program in found] if options.goal == "safe" else found

    programs(source.text)  # what is wrong with the program itself is told as such
    everywhere = source.everywhere()

    def describe(key: object, kind: Remedy) -> Site:
        place = source.places[key]
        return Site(
            kind=kind,
            place=key,
            cost=Fraction(1),
            location=place.location,
            after=place.after,
            before=place.before,
            at=place.at,
            beside=place.beside,
        )

    slots = from_fences(
        programs(everywhere.text),
        lambda thread, found: source.site_of(thread, found, everywhere),
        options.costs,
        describe,
    )
    slots = [Slots(relocated(each.program, everywhere.was, source.path), each.site_of, each.sites) for each in slots]
    slots = without_equals(slots, _existing(source, slots[0].sites))
    existing = _existing(source, slots[0].sites)
    sites = tuple(
        msgspec.structs.replace(site, cost=site.cost * PREFERRED) if number in existing else site
        for number, site in enumerate(slots[0].sites)
    )
    slots = [Slots(each.program, each.site_of, sites) for each in slots]
    problem = ProgramProblem(
        slots, options, always=frozenset() if options.remove else existing, existing=existing, budget=budget
    )
    problem.notes += source.notes

    def write(added: frozenset[int], removed: frozenset[int]) -> Patch:
        chosen = {site: (sites[site].place, sites[site].kind) for site in sorted(added)}
        patched = source.patched(list(chosen.values()), [sites[site].place for site in removed])
        lines = {site: patched.lines[key] for site, key in chosen.items() if key in patched.lines}
        return Patch({source.path: patched.text}, lines)

    def check(patched: Mapping[str, str]) -> list[CheckAnswer]:
        return checked(source.programs(patched[source.path]), options, budget)

    return Job(
        problem=problem,
        existing=existing,
        originals={source.path: source.text},
        write=write,
        check=check,
        as_it_is=lambda: check({source.path: source.text}),
        notes=problem.notes,
    )


def c_job(
    paths: tuple[str, ...], options: FenceOptions, budget: Budget, without: Collection[Location] = frozenset()
) -> Job:
    """A job for a program that is compiled and run."""
    from teetotal.fences.c import CProblem
    from teetotal.fences.c_files import CFiles, in_words
    from teetotal.programs.c import Source

    source = Source(paths, options.flags, options.compiler, options.arguments, options.trust)
    files = CFiles(source, options.costs, options.strengthen, without)
    problem = CProblem(files, options, always=frozenset() if options.remove else files.existing, budget=budget)
    notes = problem.notes
    if problem.kernel_fences:
        notes.append("checked with smp_mb and smp_wmb as the compiler's own fences")
    if options.strengthen and not any(isinstance(site.kind, Order) for site in files.sites):
        notes.append("--strengthen found no store whose order could be stronger")
    for name in sorted({place.file for place in without}):
        where = in_words(place.line for place in without if place.file == name)
        notes.append(f"{name}: the compiler does not take fences at {where}: perhaps macros hide what stands there")
    notes += [*files.notes, *files.unread()]
    return Job(
        problem=problem,
        existing=files.existing,
        originals=files.originals(),
        write=lambda added, removed: Patch(*files.patched(added, removed, options.style)),
        check=lambda patched: [problem.check_patched(patched)],
        as_it_is=lambda: [problem.check_as_it_is()],
        notes=notes,
    )


def _existing(source: TextSource, sites: Sequence[Site]) -> frozenset[int]:
    return frozenset(number for number, site in enumerate(sites) if source.places[site.place].existing is not None)


def run(path: str, job: Job, options: FenceOptions, budget: Budget, command: str) -> Repair:
    search = Search(job.problem)
    try:
        return _run(search, path, job, options, budget, command)
    finally:
        search.asking.close()


def _run(search: Search, path: str, job: Job, options: FenceOptions, budget: Budget, command: str) -> Repair:
    notes: list[str] = []
    sets: list[frozenset[int]] = []
    violations: list[Violation] = []
    interrupted = False
    verdict, chosen, least = Verdict.SAFE, frozenset[int](), options.minimum or options.every
    try:
        if options.every:
            for found in filter(search.is_minimal, search.cheapest_first()):
                if len(sets) == options.most:
                    notes.append(f"there are more than these {options.most} sets; see --most")
                    break
                sets.append(found)
            chosen = sets[0]
        elif options.minimum:
            chosen = next(search.cheapest_first())
        elif options.remove:
            chosen = search.reduce(job.existing | (frozenset() if search.works(job.existing) else search.grow()))
        else:
            chosen = search.minimal()
    except NoFenceHelps as unrepairable:
        verdict, violations = Verdict.VIOLATION, [unrepairable.violation]
        notes += why_no_fence_helps(unrepairable.violation, options.weaken)
    except Undecided as undecided:
        verdict = Verdict.INCONCLUSIVE
        notes.append(undecided.message)
    except KeyboardInterrupt:
        verdict, interrupted = Verdict.INCONCLUSIVE, True
        notes.append("interrupted")
    if verdict is not Verdict.SAFE:
        failure = FenceAnswer(
            input=path,
            command=command,
            models=list(options.models),
            goal=options.goal,
            verdict=verdict,
            met=verdict.holds,
            complete=verdict is Verdict.VIOLATION,
            seconds=budget.passed,
            sets=[Placing(path, search, {}, job.ordered).all(one) for one in sets],
            violations=violations or search.violations,
            checks=search.checks,
            notes=[*job.notes, *notes],
        )
        if interrupted:
            raise Interrupted(failure)
        return Repair(failure, job.originals, job.originals)
    if job.ordered is not None:
        chosen = job.ordered.chosen(chosen)
        notes += order_jobs.left_alone(job.ordered)
    added = chosen - job.existing
    removed = job.existing - chosen if options.remove else frozenset[int]()
    patched = job.write(added, removed)
    results = job.check(patched.texts)
    met = _met(results, options)
    verdict = sum((result.verdict for result in results), met)
    placing = Placing(path, search, patched.lines, job.ordered)
    weighs = added and not options.weaken and options.goal == "robust" and options.models != ("c11",)
    as_it_is = job.as_it_is() if weighs and not budget.over else []
    triage, buys = what_they_buy(as_it_is)
    under_sc = as_it_is or results  # where no fence matters
    notes += why_not_safe(under_sc, met, verdict)
    result = FenceAnswer(
        input=path,
        command=command,
        models=list(options.models),
        goal=options.goal,
        verdict=verdict,
        met=met.holds,
        complete=all(result.complete for result in results),
        seconds=budget.passed,
        fences=placing.all(added),
        cost=float(search.cost(added)),
        cost_before=float(order_jobs.cost_as_written(job.ordered))
        if job.ordered is not None and options.weaken
        else 0.0,
        target=options.target,
        least_cost=least,
        minimality="of least cost" if least else "minimal: none can go, none can be of a cheaper kind",
        sets=[placing.all(one) for one in sets],
        unnecessary=[] if added or options.remove else placing.all(_unnecessary(job, search, notes)),
        removed=placing.all(removed) if removed else [],
        diff=edits.unified_diffs(job.originals, patched.texts),
        patched=results,
        violations=search.violations + [failure for each in under_sc for failure in failures_under_sc(each)],
        checks=search.checks,
        notes=[*job.notes, *notes],
        triage=triage,
        buys=buys,
    )
    return Repair(result, patched.texts, job.originals)


def _unnecessary(job: Job, search: Search, notes: list[str]) -> frozenset[int]:
    """Existing fences without which, each by itself, the goal is met all the same."""
    problem = job.problem
    found = set()
    for site in sorted(job.existing):
        problem.always = job.existing - {site}
        try:
            known = problem.known(frozenset())
            if not (search.asking.findings(frozenset()) if known is None else known):
                found.add(site)
        except Undecided as undecided:
            fence = search.sites[site]
            notes.append(f"whether the {fence.kind} at {fence.location} is needed is not known: {undecided.message}")
        finally:
            problem.always = job.existing
    return frozenset(found)


def _met(results: list[CheckAnswer], options: FenceOptions) -> Verdict:
    """What the goal names, and no more: a robust program may well fail its own assertions under SC."""
    verdict = Verdict.SAFE
    for result in results:
        for model in options.models:
            about = result.models[model]
            holds = about.robust if options.goal == "robust" else about.safe
            verdict += Verdict.of(holds if about.race_free is msgspec.UNSET else both(holds, about.race_free))
    return verdict
