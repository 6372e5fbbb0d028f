"""``teetotal verify FILE.pml``: Promela programs with unbounded store buffers under TSO and PSO; fence insertion."""

from __future__ import annotations

import difflib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from teetotal.cli.options import Models, Seconds, semantics, semantics_options
from teetotal.cli.streams import terminal
from teetotal.errors import TeetotalError
from teetotal.events import ModelName
from teetotal.verdicts import Verdict, to_json

if TYPE_CHECKING:
    from teetotal.programs.promela import PromelaProgram
    from teetotal.symbolic.certificates import Certificate
    from teetotal.symbolic.schedules import Replay


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
@click.option("--check", "checked", type=click.Path(), metavar="CERTIFICATE", multiple=True,
              help="confirm a proof with independent code; once for each model")  # fmt: skip
@click.option("--time", "seconds", type=Seconds(), metavar="SECONDS",
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
    if not files:
        raise click.UsageError("which file?")
    for needs_fence in ("every", "cost", "write"):
        if options[needs_fence] and not options["fence"]:
            raise click.UsageError("--all, --cost and --write belong to --fence")
    if options["goal"] == "robust" and options["engine"] != "saturate":
        raise click.UsageError("robustness has an engine of its own: no --engine with --goal robust")
    if options["checked"]:
        return _confirm(files, options).exit_status
    verdict = Verdict.SAFE
    for file in files:
        verdict = verdict + (_fence if options["fence"] else _verify)(file, options)
    return verdict.exit_status


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
    graph = ControlGraph(program, semantics(options["rmw"], options["mutex"], options["failed_cas"]))
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
    answer = results.result(program, options["goal"], engine, outcomes, witness)
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
            print_lines(outcome.replay)
            (violation,) = answer.models[outcome.model].violations
            click.echo(f"  Again: {violation.replay}")


def print_lines(replay: Replay) -> None:
    """A run, a step a line."""
    from teetotal.report import terminal

    rows: list[tuple[str, str, tuple[tuple[str, ...], ...]]] = []
    for line in replay.lines:
        name = replay.program.processes[line.step.thread].name
        rows += [(f"T{store.thread} {name}: {store.text} reaches memory", "", ()) for store in line.flushed]
        where = "" if line.location is None or line.committed else f"line {line.location.line}"
        rows.append((f"T{line.step.thread} {line.text}", where, line.buffers))
    click.echo("\n".join(terminal.table(rows, replay.model)))


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
        semantics=semantics(options["rmw"], options["mutex"], options["failed_cas"]),
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
    answer = results.result(program, options["goal"], options["engine"], [*found.proofs, *failures], witness)
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
            print_lines(found.failure.replay)
            (violation,) = answer.models[found.failure.model].violations
            if violation.replay:
                click.echo(f"  Again: {violation.replay}")
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


def _confirm(files: tuple[str, ...], options: dict[str, Any]) -> Verdict:
    """Whether the certificates prove what the command line says: each of its models has to have one."""
    import msgspec

    from teetotal.programs.promela import load
    from teetotal.symbolic import certificates

    if len(files) > 1:
        raise click.UsageError("a certificate is about one file")
    if options["fence"] or options["certificate"] is not None or options["goal"] != "safe":
        raise click.UsageError("--check is about the file as it is, and whether it is safe: nothing else with it")
    (file,) = files
    program = load(file)
    given = {path: certificates.read(Path(path)) for path in options["checked"]}
    rows = []
    for model in options["model"]:
        about = {path: certificate for path, certificate in given.items() if certificate.model == model}
        rows += [_confirmed(program, model, path, certificate, options) for path, certificate in about.items()]
        if not about:
            rows.append(_row(file, model, None, f"no certificate for {model.upper()}, which --model asks for"))
    for path, certificate in given.items():
        if certificate.model not in options["model"]:
            reason = f"it was made for {certificate.model.upper()}, which --model does not ask for"
            rows.append(_row(file, certificate.model, path, reason))
    verdict = Verdict.SAFE
    for row in rows:
        accepted = row["accepted"]
        verdict = verdict + (Verdict.SAFE if accepted else Verdict.INCONCLUSIVE)
        if options["as_json"]:
            click.echo(msgspec.json.encode(row))
            continue
        named = "" if row["certificate"] is None else f"{row['certificate']}: "
        told = f"accepted: safe under {row['model'].upper()} ({row['states']} states)" if accepted else row["reason"]
        click.echo(f"{file}: {named}{'' if accepted else 'rejected: '}{told}")
    return verdict


def _confirmed(
    program: PromelaProgram, model: ModelName, path: str, certificate: Certificate, options: dict[str, Any]
) -> dict[str, Any]:
    from teetotal.symbolic.certificates import Malformed
    from teetotal.symbolic.checker import Rejected, check
    from teetotal.symbolic.verify import Limits, OutOfBudget, Watch

    watch = Watch(Limits(seconds=options["seconds"], megabytes=options["megabytes"]), None)
    chosen = semantics(options["rmw"], options["mutex"], options["failed_cas"])
    states, reason = 0, None
    started = time.process_time()
    try:
        states = check(program, certificate, model, chosen, lambda: watch(0, 0, 0))
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from error
    except (Rejected, OutOfBudget) as error:
        reason = str(error)
    return _row(program.source, model, path, reason, states, time.process_time() - started)


def _row(
    file: str, model: ModelName, path: str | None, reason: str | None, states: int = 0, seconds: float = 0.0
) -> dict[str, Any]:
    return {
        "input": file,
        "command": "verify",
        "model": model,
        "verdict": "safe" if reason is None else "inconclusive",
        "complete": reason is None,
        "seconds": seconds,
        "states": states,
        "certificate": path,
        "accepted": reason is None,
        "reason": reason,
    }
