"""Fences in Promela programs, with unbounded buffers: ``symbolic.fences`` told as ``teetotal fence`` tells it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from teetotal.errors import TeetotalError
from teetotal.events import Kind, ModelName
from teetotal.fences import text as texts
from teetotal.fences.result import FenceResult, PlacedFence
from teetotal.programs.promela.compile import compile_text
from teetotal.programs.promela.program import FenceSite
from teetotal.symbolic.fences import Insertion, insert_fences
from teetotal.symbolic.results import violation
from teetotal.symbolic.verify import Limits
from teetotal.verdicts import CheckResult, ModelResult, Verdict

if TYPE_CHECKING:
    from teetotal.fences.fencing import Options


def fence(path: str, text: str, options: Options, command: str) -> tuple[FenceResult, str]:
    if options.remove:
        raise TeetotalError(f"{path}: --remove does not look at Promela programs")
    started = time.perf_counter()
    program = compile_text(text, path)
    prices = {Kind.MFENCE: float(options.costs.mfence), Kind.SFENCE: float(options.costs.sfence)}
    least = options.minimum or options.every
    found = insert_fences(
        program,
        goal=options.goal,
        models=options.models,
        semantics=options.semantics,
        limits=Limits(seconds=None if options.seconds == float("inf") else options.seconds),
        every=options.every,
        costs=prices if least else None,
    )

    def placed(site: FenceSite, processes: int = 1) -> PlacedFence:
        words = program.text[site.span.start : site.span.end].partition("\n")[0].strip()
        full = site.kind is Kind.MFENCE
        return PlacedFence(
            kind="mfence" if full else "sfence",
            file=site.location.file,
            line=site.location.line,
            after=words if full else "",
            before="" if full else words,
            patched_line=site.location.line,  # fences share the line of their store
            cost=prices[site.kind] * processes,
        )

    fences = [placed(site, n) for site, n in zip(found.fences, found.processes, strict=True)]
    failure = found.failure
    result = FenceResult(
        input=path,
        command=command,
        models=list(options.models),
        goal=options.goal,
        verdict=found.verdict,
        complete=found.verdict is not Verdict.INCONCLUSIVE,
        seconds=time.perf_counter() - started,
        fences=fences,
        cost=sum(fence.cost for fence in fences),
        least_cost=least,
        minimality="of least cost" if least else "minimal: none can go",
        sets=[[placed(site) for site in one] for one in found.sets],
        diff=texts.unified_diff(text, found.text, path),
        patched=[] if failure is not None else [_proof(path, program.name, found, options.goal)],
        violations=[violation(program, options.goal, failure, "")] if failure and failure.replay is not None else [],
        checks=found.verifications,
        notes=[] if failure is None else [failure.why],
    )
    return result, found.text


def _proof(path: str, name: str, found: Insertion, goal: str) -> CheckResult:
    """What the engine says of the patched text: of the goal, and nothing else."""
    models: dict[ModelName, ModelResult] = {}
    for outcome in found.proofs:
        holds = {Verdict.SAFE: True, Verdict.VIOLATION: False, Verdict.INCONCLUSIVE: None}[outcome.verdict]
        models[outcome.model] = ModelResult(
            verdict=outcome.verdict,
            robust=holds if goal == "robust" else None,
            safe=holds if goal == "safe" else None,
            states=outcome.states,
        )
    return CheckResult(
        input=path,
        command="fence",
        name=name,
        models=models,
        verdict=found.verdict,
        complete=found.verdict is not Verdict.INCONCLUSIVE,
        seconds=sum(outcome.seconds for outcome in found.proofs),
    )
