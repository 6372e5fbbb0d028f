"""``teetotal verify FILE.pml``: Promela programs with unbounded store buffers under TSO and PSO; fence insertion."""

from __future__ import annotations

import difflib
import sys
import time
from pathlib import Path
from typing import Any

import click

from teetotal.cli.options import Models, semantics, semantics_options
from teetotal.cli.streams import terminal
from teetotal.errors import TeetotalError
from teetotal.events import ModelName
from teetotal.verdicts import Verdict, to_json


@click.command()
@click.argument("files", nargs=-1, metavar="FILE.pml…", type=click.Path())
@click.option("--model", type=Models(), default="tso,pso", show_default=True, help="sc, tso, pso; several with commas")
@click.option("--goal", type=click.Choice(["safe", "robust"]), default="safe", show_default=True)
@click.option("--engine", default="saturate", show_default=True, help="saturate, accelerate, or bounded:N")
@click.option("--fence", is_flag=True, help="insert fences, and prove the program with them")
@click.option("--all", "every", is_flag=True, help="with --fence: all minimal fence sets")
@click.option("--cost", metavar="mfence=…,sfence=…,loop=…", help="with --fence: a cheapest set at these costs")
@click.option("--write", is_flag=True, help="with --fence: change the file; default is to print a diff")
@click.option("--certificate", type=click.Path(), help="where to write the proof of a safe verdict")
@click.option("--check", type=click.Path(), metavar="CERTIFICATE", help="confirm a proof with independent code")
@click.option("--replay", metavar="SCHEDULE", help="run one schedule on the model's machine, step by step")
@click.option("--time", "seconds", type=click.FloatRange(min=0), metavar="SECONDS",
              help="give up on a file after so long (inconclusive)")  # fmt: skip
@click.option("--memory", "megabytes", type=click.FloatRange(min=1, max=2**30), metavar="MB",
              help="give up above so much (inconclusive)")  # fmt: skip
@semantics_options
@click.option("--json", "as_json", is_flag=True, help="one JSON object for each file")
@click.option("--progress/--no-progress", default=None, help="show progress (default: on a terminal)")
def verify(files: tuple[str, ...], **options: Any) -> int:
    """Is a program safe (or robust) with store buffers of any length?

    Promela, as docs/reference/promela.md says. A safe verdict can be written out as a certificate and confirmed by --check;
    a violation is a schedule that the model's machine has replayed.
    """
    if options["check"] is not None:
        return _check_certificate(files, Path(options["check"]), options["as_json"])
    if not files:
        raise click.UsageError("which file?")
    for needs_fence in ("every", "cost", "write"):
        if options[needs_fence] and not options["fence"]:
            raise click.UsageError("--all, --cost and --write belong to --fence")
    if options["goal"] == "robust" and options["engine"] != "saturate":
        raise click.UsageError("robustness has an engine of its own: no --engine with --goal robust")
    verdict = Verdict.SAFE
    for file in files:
        if options["replay"] is not None:
            verdict = verdict + _replay(file, options)
        elif options["fence"]:
            verdict = verdict + _fence(file, options)
        else:
            verdict = verdict + _verify(file, options)
    return verdict.exit_status


def _semantic_options(options: dict[str, Any]) -> str:
    rmw = "" if options["rmw"] == "all" else " --rmw address"
    return rmw + ("" if options["mutex"] == "fence" else " --mutex rmw")


def _report(options: dict[str, Any]) -> Any:
    shown = options["progress"]
    if shown is None:
        shown = sys.stderr.isatty() and not options["as_json"]
    if not shown:
        return None
    last = [time.monotonic()]

    def report(states: int, frontier: int, depth: int) -> None:
        if time.monotonic() - last[0] > 0.5:
            last[0] = time.monotonic()
            terminal().write(f"\r{states} states, {frontier} to expand, depth {depth} ")
            terminal().flush()

    return report


def _verify(file: str, options: dict[str, Any]) -> Verdict:
    from teetotal.programs.promela import load
    from teetotal.symbolic import certificates, results
    from teetotal.symbolic.graph import ControlGraph
    from teetotal.symbolic.verify import Limits, interrupted, robust
    from teetotal.symbolic.verify import verify as run

    program = load(file)
    graph = ControlGraph(program, semantics(options["rmw"], options["mutex"]))
    end = None if options["seconds"] is None else time.monotonic() + options["seconds"]
    report = _report(options)
    engine = "robust" if options["goal"] == "robust" else options["engine"]
    certify = options["certificate"] is not None
    outcomes = []
    witness: dict[ModelName, str] = {}
    trouble: BaseException | None = None  # told after what is known all the same
    for model in options["model"]:
        left = None if end is None else max(0.0, end - time.monotonic())
        limits = Limits(seconds=left, megabytes=options["megabytes"])
        try:
            if options["goal"] == "robust":
                outcome = robust(graph, model, limits=limits, report=report)
            else:
                outcome = run(graph, model, engine=engine, limits=limits, certify=certify, report=report)
        except KeyboardInterrupt:
            trouble = click.Abort()
            outcomes.append(interrupted(engine, model))
            break
        outcomes.append(outcome)
        if outcome.certificate is not None:
            path = _certificate_path(Path(options["certificate"]), model, len(options["model"]) > 1)
            try:
                certificates.save(outcome.certificate, path)
                witness[model] = str(path)
            except TeetotalError as error:
                trouble = trouble or error
    if certify and not witness and trouble is None:
        click.echo("teetotal: no certificate: only a safe verdict of the saturate engine has one", err=True)
    answer = results.result(program, options["goal"], engine, outcomes, witness, _semantic_options(options))
    if options["as_json"]:
        click.echo(to_json(answer))
    else:
        _print(file, outcomes, witness, answer)
    if trouble is not None:
        raise trouble
    return answer.verdict


def _certificate_path(path: Path, model: str, several: bool) -> Path:
    return path.with_suffix(f".{model}{path.suffix}") if several else path


def _print(file: str, outcomes: Any, witness: dict[ModelName, str], answer: Any) -> None:
    click.echo(file)
    for outcome in outcomes:
        what = {
            Verdict.SAFE: "proved" if not outcome.engine.startswith("bounded") else "no buffer was ever full",
            Verdict.VIOLATION: outcome.why,
            Verdict.INCONCLUSIVE: outcome.why,
        }[outcome.verdict]
        click.echo(f"  {outcome.model}  {outcome.verdict}: {what} ({outcome.states} states, {outcome.seconds:.3f} s)")
        if outcome.model in witness:
            click.echo(f"      certificate: {witness[outcome.model]}")
        if outcome.replay is not None:
            _print_lines(outcome.replay)
            (violation,) = answer.models[outcome.model].violations
            click.echo(f"      replay: {violation.replay}")


def _print_lines(replay: Any) -> None:
    width = max((len(line.text) for line in replay.lines), default=0)
    for number, line in enumerate(replay.lines, 1):
        place = "" if line.location is None else f"  line {line.location.line}"
        click.echo(f"    {number:>3}  {line.text:<{width}}{place}")


def _fence(file: str, options: dict[str, Any]) -> Verdict:
    import msgspec

    from teetotal.fences import costs, text
    from teetotal.fences.linden_wolper import insert_fences
    from teetotal.programs.promela import load
    from teetotal.symbolic import certificates, results
    from teetotal.symbolic.verify import Limits

    program = load(file)
    started = time.process_time()
    found = insert_fences(
        program,
        goal=options["goal"],
        models=tuple(model for model in options["model"] if model != "sc"),
        engine=options["engine"],
        semantics=semantics(options["rmw"], options["mutex"]),
        limits=Limits(seconds=options["seconds"], megabytes=options["megabytes"]),
        every=options["every"],
        costs=costs.parse(options["cost"]) if options["cost"] else None,
        report=_report(options),
    )
    seconds = time.process_time() - started
    witness: dict[ModelName, str] = {}
    backup = None
    trouble: TeetotalError | None = None  # told after what is known all the same
    try:
        for proof in found.proofs if options["certificate"] is not None else ():
            if proof.certificate is not None:
                path = _certificate_path(Path(options["certificate"]), proof.model, len(found.proofs) > 1)
                certificates.save(proof.certificate, path)
                witness[proof.model] = str(path)
        if options["write"] and found.verdict is Verdict.SAFE and found.text != program.text:
            backup = text.write({file: found.text}, {file: program.text})[file]
    except TeetotalError as error:
        trouble = error
    failures = [] if found.failure is None else [found.failure]
    answer = results.result(
        program, options["goal"], options["engine"], [*found.proofs, *failures], witness, _semantic_options(options)
    )
    answer = msgspec.structs.replace(
        answer,
        seconds=seconds,
        verdict=found.verdict,
        complete=found.verdict is not Verdict.INCONCLUSIVE,
        notes=[*answer.notes, *([found.undecided] if found.undecided else [])],
        fences=[results.fence_row(fence.site, fence.processes) for fence in found.fences],
        sets=[[results.fence_row(f.site, f.processes) for f in s] for s in found.sets] if options["every"] else None,
        iterations=found.iterations,
        verifications=found.verifications,
    )
    if options["as_json"]:
        click.echo(to_json(answer))
    elif found.undecided:
        click.echo(f"{file}\n  {found.verdict}: {found.undecided}")
    elif found.failure is not None:
        click.echo(file)
        reason = "already so under SC: no fence helps" if found.failure.model == "sc" else "no fences found"
        click.echo(f"  {found.failure.model}  {found.failure.verdict}: {found.failure.why} ({reason})")
        if found.failure.replay is not None:
            _print_lines(found.failure.replay)
    else:
        _print_fences(file, program, found, answer, witness, seconds, backup)
    if trouble is not None:
        raise trouble
    return answer.verdict


def _print_fences(
    file: str,
    program: Any,
    found: Any,
    answer: Any,
    witness: dict[ModelName, str],
    seconds: float,
    backup: str | None,
) -> None:
    click.echo(file)
    for row in answer.fences:
        times = f" (in {row.processes} processes)" if row.processes > 1 else ""
        click.echo(f"  line {row.line}: {row.kind} {'after' if row.after else 'before'} the store{times}")
    if not answer.fences:
        click.echo("  no fences needed")
    for number, rows in enumerate(answer.sets or [], 1):
        click.echo(f"  set {number}: " + (", ".join(f"{row.kind} line {row.line}" for row in rows) or "no fences"))
    click.echo(f"  {found.iterations} iterations, {found.verifications} verifications, {seconds:.3f} s")
    for proof in found.proofs:
        click.echo(f"  {proof.model}  {proof.verdict}: proved with these fences ({proof.states} states)")
        if proof.model in witness:
            click.echo(f"      certificate: {witness[proof.model]}")
    if backup is not None:
        click.echo(f"  {file} is patched; as it was: {backup}")
        return
    if found.text != program.text:
        if witness:
            click.echo("  the certificates are about the fenced text: use --write, or apply the diff, before --check")
        old, new = program.text.splitlines(keepends=True), found.text.splitlines(keepends=True)
        click.echo("".join(difflib.unified_diff(old, new, file, f"{file} (fenced)")), nl=False)


def _check_certificate(files: tuple[str, ...], path: Path, as_json: bool) -> int:
    import msgspec

    from teetotal.programs.promela import load
    from teetotal.symbolic import certificates
    from teetotal.symbolic.checker import Rejected, check

    certificate = certificates.read(path)
    if len(files) > 1:
        raise click.UsageError("a certificate is about one file")
    file = files[0] if files else certificate.program
    started = time.process_time()
    try:
        states, reason = check(load(file), certificate), None
    except Rejected as error:
        states, reason = 0, str(error)
    row = {
        "input": file,
        "command": "verify",
        "model": certificate.model,
        "verdict": "safe" if reason is None else "inconclusive",
        "complete": reason is None,
        "seconds": time.process_time() - started,
        "states": states,
        "certificate": str(path),
        "accepted": reason is None,
        "reason": reason,
    }
    if as_json:
        click.echo(msgspec.json.encode(row))
    elif reason is None:
        click.echo(f"{file}: accepted: safe under {certificate.model.upper()} ({states} states)")
    else:
        click.echo(f"{file}: rejected: {reason}")
    return 0 if reason is None else 3


def _replay(file: str, options: dict[str, Any]) -> Verdict:
    from teetotal.models import is_sc
    from teetotal.programs.promela import load
    from teetotal.symbolic.schedules import parse_schedule, replay_schedule

    if len(options["model"]) != 1:
        raise click.UsageError("--replay needs one --model")
    (model,) = options["model"]
    replay = replay_schedule(
        load(file), model, parse_schedule(options["replay"]), semantics(options["rmw"], options["mutex"])
    )
    bad = replay.bad()
    drained = not replay.run.memory.commits()
    if bad is None and drained and not is_sc(replay.run.trace()):
        bad = "the trace is not sequentially consistent"
    click.echo(f"{file} under {model.upper()}")
    _print_lines(replay)
    click.echo(f"  {bad or 'no violation'}")
    return Verdict.VIOLATION if bad else Verdict.SAFE
