"""The verdict about a C program that follows from what the runtime told of it (``findings``), and what is said beside it:
why something is not known, and what a proof does not speak of."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers import strategies
from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.events import ModelName
from teetotal.answers.verdict import Verdict, both
from teetotal.answers.violation import Hazard
from teetotal.engines.runtime import vacuous
from teetotal.engines.runtime.events import signed
from teetotal.engines.runtime.findings import NAMED, STEPS, Findings
from teetotal.engines.runtime.messages import CutLoop, End
from teetotal.engines.runtime.orders import NO_MEANING, Orders


def _cuts(findings: Findings, end: End) -> Iterator[str]:
    """Loops that were not run to their end, those together that were cut alike."""
    for rounds in sorted({loop.rounds for loop in end.loops}):
        alike = [loop for loop in end.loops if loop.rounds == rounds]
        places = {findings.place(loop.place) for loop in alike} - {None}
        where = f" at {', '.join(sorted(map(str, places))[:NAMED])}" if places else ""
        saw = [text for loop in alike if (text := _saw(findings, loop))][:NAMED]
        often = f"{rounds:,} round{'s' if rounds != 1 else ''}"
        yield f"loop{where} cut after {often}{', ' if saw else ''}{', '.join(saw)}; see --loop-bound"


def _saw(findings: Findings, loop: CutLoop) -> str:
    """``where T1 read turn = 0 (line 4, written at line 5)``: the last that it read, if that has a name."""
    if findings.names is None or not loop.read:
        return ""
    at, writer = findings.place(loop.read), findings.place(loop.writer)
    name = findings.symbols.variable(loop.address - findings.names.base, loop.size)
    if at is None or name is None:
        return ""
    written = f", written at line {writer.line}" if writer is not None else ""
    return f"where T{loop.thread} read {name} = {signed(loop.value, loop.size)} (line {at.line}{written})"


def result(findings: Findings, command: str) -> CheckAnswer:
    end = findings.end or End(executions=findings.executions)
    notes = list(dict.fromkeys([*findings.notes, *end.oddities]))
    if findings.ended_early:
        notes.append(f"{findings.ended_early}; what was found until then is told")
    if end.cut and end.longest >= STEPS:
        notes.append(f"an execution was cut after {STEPS:,} steps")
    elif end.cut:
        notes += _cuts(findings, end)
    elif end.stopped == "memory":
        notes.append(f"what is yet to be explored needs more than {findings.options.max_megabytes:,} MB; see --memory")
    elif end.stopped == "hangs":
        notes.append("the search was stopped after three executions that hang, or wait, or need too much memory")
    elif end.stopped and not findings.ended_early:
        notes.append("the budget ran out; see --time and --executions")
    elif findings.options.explore.name == "all" and notes:
        pass  # which say why something was left out
    elif not end.complete and not findings.undecided and not findings.ended_early:
        notes.append(f"{findings.options.explore} leaves executions out")
    if end.mixed and findings.names is not None:
        named = sorted(
            {findings.symbols.variable(address - findings.names.base) or f"{address:#x}" for address in end.mixed}
        )
        notes.append(f"accessed in different sizes, which the monitors take for one location: {', '.join(named[:8])}")
    if findings.options.explore.name == "exactly" and (findings.settled or findings.options.explore.is_last):
        notes.append(strategies.how_far(findings.options.explore, any(findings.violations.values())))
    if not findings.orders.races:  # which are told as violations
        notes += _data_races(findings, end.races)
    if (
        findings.options.fitting
        and "c11" not in findings.relaxed
        and (end.races or any(map(findings.violations.get, findings.relaxed)))
    ):
        notes.append(NO_MEANING)
    if end.complete and not end.executions:
        notes.append("no execution was explored: nothing is known")
    complete = bool(end.complete and end.executions) and not findings.undecided and not findings.ended_early
    if complete and not findings.orders.violations and not any(findings.violations.values()):
        notes += vacuous.proof(end)
    models = {findings.model: _model(findings, findings.model, complete, True)}
    hazards: list[Hazard] = []
    if findings.options.fitting and end.assembly and "c11" in findings.relaxed:  # nobody asked for what cannot be known
        notes += findings.orders.notes(end.assembly)
        findings.relaxed, findings.orders = (
            [m for m in findings.relaxed if m != "c11"],
            Orders(findings.source, findings.options),
        )
    for model in findings.relaxed:
        watching = [monitor for monitor in findings.monitors if monitor.model == model]
        sure = any(monitor.misses_nothing(findings.options.explore) for monitor in watching)
        if complete and not sure:
            notes.append(
                f"{', '.join(monitor.name for monitor in watching)} can miss violations "
                f"among the executions of {findings.options.explore}"
            )
        proved = complete and sure and not end.mixed
        if model == "c11":
            by_x86 = models["tso"].robust is False if "tso" in models else None
            hazards = findings.orders.hazards(end, findings.names)
            sure = proved and not end.assembly
            models[model] = findings.orders.answer(sure, bool(findings.violations["sc"]), by_x86, bool(hazards))
            notes += findings.orders.notes(end.assembly)
        else:
            models[model] = _model(findings, model, complete, proved)
            if findings.kept is not None and proved:
                findings.kept.proved |= {model}
    return CheckAnswer(
        input=findings.source.name,
        command=command,
        name=findings.source.name,
        models=models,
        verdict=sum((result.verdict for result in models.values()), Verdict.SAFE),
        complete=complete,
        seconds=0.0,
        executions=end.executions,
        blocked=end.blocked,
        violations=[violation for result in models.values() for violation in result.violations],
        notes=notes,
        cpu=end.cpu,
        goal=findings.options.goal,
        symmetric=end.symmetric,
        races=findings.orders.races,
        hazards=hazards,
        isolated=None if findings.isolated or findings.source.trust else False,
    )


def _data_races(findings: Findings, told: list[tuple[int, int, int]]) -> list[str]:
    """As information: where threads touch the same location without atomic operations. At most a few."""
    if findings.names is None:
        return []
    races: dict[str, None] = {}
    for first, second, address in told:
        name = findings.symbols.variable(address - findings.names.base) or "memory"
        places = sorted({str(findings.names.place(first)), str(findings.names.place(second))})
        races[f"data race on {name}: {' and '.join(places)}"] = None
    shown = list(races)[:8]
    return shown + ([f"{len(races) - len(shown)} more data races"] if len(races) > len(shown) else [])


def _model(findings: Findings, model: ModelName, complete: bool, proved: bool) -> ModelAnswer:
    found = findings.violations[model]
    safe: bool | None = False if findings.violations[findings.model] else True if complete else None
    robust: bool | None = True
    if findings.options.goal == "safe":
        robust = True if model == "sc" else None
        verdict = Verdict.of(safe)
        return ModelAnswer(verdict=verdict, robust=robust, safe=safe, violations=found)
    if model != "sc":
        robust = False if found else True if proved else None
        if robust is not True and safe:  # what it does beyond SC was not looked at
            safe = None
    verdict = Verdict.of(both(robust, safe))
    return ModelAnswer(verdict=verdict, robust=robust, safe=safe, violations=found)
