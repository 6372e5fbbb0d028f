"""``verify``: Promela programs with store buffers of any length; their fences, certificates, and the confirmation of these.

The engines give outcomes; here they become answers, and what is to be kept is written to files. Trouble in writing never
costs an answer: it is told after it (``Verified.trouble``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from teetotal.answers.answer import Interrupted
from teetotal.answers.costs import Costs
from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import ModelName
from teetotal.answers.options import VerifyOptions
from teetotal.answers.verdict import Verdict
from teetotal.answers.verify import Confirmation, VerifyAnswer
from teetotal.budget import Budget
from teetotal.engines.symbolic import certificates, results
from teetotal.engines.symbolic.certificates import Certificate, Malformed
from teetotal.engines.symbolic.checker import Rejected
from teetotal.engines.symbolic.checker import check as check_certificate
from teetotal.engines.symbolic.graph import ControlGraph
from teetotal.engines.symbolic.verify import OutOfBudget, Watch, interrupted, robust
from teetotal.engines.symbolic.verify import verify as run_engine
from teetotal.fences import edits
from teetotal.fences.linden_wolper import Insertion, insert_fences
from teetotal.programs.promela import PromelaProgram, load


class Verified(msgspec.Struct, frozen=True):
    answer: VerifyAnswer
    trouble: BaseException | None = None
    """To be raised once the answer is told: the user ended it, or a file could not be written."""


def verify(path: str, options: VerifyOptions, budget: Budget, certificate: str | None = None) -> Verified:
    """Each model by itself. ``certificate``: where the proofs of safe verdicts are written to."""
    program = load(path)
    graph = ControlGraph(program, options.semantics)
    engine = "robust" if options.goal == "robust" else options.engine
    outcomes = []
    trouble: BaseException | None = None
    kept: dict[ModelName, str] = {}
    for model in options.models:
        try:
            if options.goal == "robust":
                outcome = robust(graph, model, budget=budget)
            else:
                outcome = run_engine(graph, model, engine=engine, budget=budget, certify=certificate is not None)
        except KeyboardInterrupt:
            trouble = KeyboardInterrupt()
            outcomes.append(interrupted(model))
            break
        outcomes.append(outcome)
        try:
            kept |= _kept(outcome.certificate, certificate, model, len(options.models) > 1)
        except TeetotalError as error:
            trouble = trouble or error
    answer = results.answer(program, options.goal, engine, outcomes, kept)
    return Verified(answer, Interrupted(answer) if isinstance(trouble, KeyboardInterrupt) else trouble)


def fence(
    path: str,
    options: VerifyOptions,
    budget: Budget,
    certificate: str | None = None,
    *,
    costs: Costs | None = None,
    every: bool = False,
    write: bool = False,
) -> Verified:
    """Fences as Linden and Wolper insert them, and the proofs of the program with them."""
    program = load(path)
    started = time.process_time()
    found = insert_fences(
        program,
        goal=options.goal,
        models=tuple(model for model in options.models if model != "sc"),
        engine=options.engine,
        semantics=options.semantics,
        budget=budget,
        every=every,
        costs=costs,
    )
    seconds = time.process_time() - started
    kept: dict[ModelName, str] = {}
    backup = None
    trouble: TeetotalError | None = None
    try:
        for proof in found.proofs:
            kept |= _kept(proof.certificate, certificate, proof.model, len(found.proofs) > 1)
        if write and found.verdict is Verdict.SAFE and found.text != program.text:
            backup = edits.write({path: found.text}, {path: program.text})[path]
    except TeetotalError as error:
        trouble = error
    answer = _fenced(program, found, options, kept, seconds, every)
    return Verified(replace(answer, backup=backup), trouble)


def _fenced(
    program: PromelaProgram,
    found: Insertion,
    options: VerifyOptions,
    kept: dict[ModelName, str],
    seconds: float,
    every: bool,
) -> VerifyAnswer:
    failures = [] if found.failure is None else [found.failure]
    answer = results.answer(program, options.goal, options.engine, [*found.proofs, *failures], kept)
    return replace(
        answer,
        seconds=seconds,
        verdict=found.verdict,
        complete=found.verdict is not Verdict.INCONCLUSIVE,
        notes=[*answer.notes, *([found.undecided] if found.undecided else [])],
        fences=[results.fence_row(fence.site, fence.processes) for fence in found.fences],
        sets=[[results.fence_row(f.site, f.processes) for f in s] for s in found.sets] if every else None,
        iterations=found.iterations,
        verifications=found.verifications,
        diff=edits.unified_diffs({program.source: program.text}, {program.source: found.text}),
    )


def _kept(certificate: Certificate | None, path: str | None, model: ModelName, several: bool) -> dict[ModelName, str]:
    """Where the certificate was written to, if there is one and it is wanted."""
    if certificate is None or path is None:
        return {}
    target = Path(path)
    target = target.with_suffix(f".{model}{target.suffix}") if several else target
    certificates.save(certificate, target)
    return {model: str(target)}


# -- confirming certificates ------------------------------------------------------------------------------------------


def confirm(path: str, given: Sequence[str], options: VerifyOptions, budget: Budget) -> list[Confirmation]:
    """Whether the certificates prove what is asked: each of the models has to have one."""
    program = load(path)
    known = {name: certificates.read(Path(name)) for name in given}
    found = []
    for model in options.models:
        about = {name: certificate for name, certificate in known.items() if certificate.model == model}
        found += [_confirmed(program, model, name, one, options, budget) for name, one in about.items()]
        if not about:
            reason = f"no certificate for {model.upper()}, which --model asks for"
            found.append(_confirmation(path, model, None, reason))
    for name, certificate in known.items():
        if certificate.model not in options.models:
            reason = f"it was made for {certificate.model.upper()}, which --model does not ask for"
            found.append(_confirmation(path, certificate.model, name, reason))
    return found


def _confirmed(
    program: PromelaProgram, model: ModelName, path: str, given: Certificate, options: VerifyOptions, budget: Budget
) -> Confirmation:
    watch = Watch(budget, model)
    states, reason = 0, None
    started = time.process_time()
    try:
        states = check_certificate(program, given, model, options.semantics, watch)
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from error
    except (Rejected, OutOfBudget) as error:
        reason = str(error)
    return _confirmation(program.source, model, path, reason, states, time.process_time() - started)


def _confirmation(
    file: str, model: ModelName, path: str | None, reason: str | None, states: int = 0, seconds: float = 0.0
) -> Confirmation:
    return Confirmation(
        input=file,
        command="verify",
        verdict=Verdict.SAFE if reason is None else Verdict.INCONCLUSIVE,
        complete=reason is None,
        seconds=seconds,
        model=model,
        states=states,
        certificate=path,
        accepted=reason is None,
        reason=reason,
    )
