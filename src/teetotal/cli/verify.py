"""``teetotal verify FILE.pml``: Promela programs with unbounded store buffers under TSO and PSO; fence insertion."""

from __future__ import annotations

from typing import Any

import click

from teetotal.answers.options import VerifyOptions
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.cli import outputs
from teetotal.cli.options import Models, Number, Seconds, semantics, semantics_options
from teetotal.cli.telling import page, quiet, telling_options, watching
from teetotal.report.json import to_json


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
@click.option("--memory", "megabytes", type=Number(min=1, max=2**30), metavar="MB",
              help="give up above so much (inconclusive)")  # fmt: skip
@semantics_options
@click.option("--json", "as_json", is_flag=True, help="one JSON object for each file")
@telling_options
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
    asked = VerifyOptions(
        models=options["model"],
        goal=options["goal"],
        engine=options["engine"],
        semantics=semantics(options["rmw"], options["mutex"], options["failed_cas"]),
        seconds=float("inf") if options["seconds"] is None else options["seconds"],
        max_megabytes=options["megabytes"],
    )
    if options["checked"]:
        return _confirm(files, asked, options).exit_status
    verdict = Verdict.SAFE
    for file in files:
        verdict = verdict + _verify(file, asked, options)
    return verdict.exit_status


def _verify(file: str, asked: VerifyOptions, options: dict[str, Any]) -> Verdict:
    from teetotal import verifying
    from teetotal.answers import costs
    from teetotal.report import verify as report

    certificate = options["certificate"]
    with watching(file, wanted=not options["as_json"]) as watcher:
        budget = Budget(asked.seconds, asked.max_megabytes, watcher)
        if options["fence"]:
            cost = costs.parse(options["cost"]) if options["cost"] else None
            found = verifying.fence(
                file, asked, budget, certificate, costs=cost, every=options["every"], write=options["write"]
            )
        else:
            found = verifying.verify(file, asked, budget, certificate)
    answer = found.answer
    if certificate is not None and not options["fence"] and not answer.witness and found.trouble is None:
        click.echo("teetotal: no certificate: only a safe verdict of the saturate engine has one", err=True)
    outputs.note(answer)
    click.echo(
        to_json(answer) if options["as_json"] else report.headline(answer) if quiet() else report.render(answer, page())
    )
    if isinstance(found.trouble, KeyboardInterrupt):
        raise click.Abort
    if found.trouble is not None:
        raise found.trouble
    return answer.verdict


def _confirm(files: tuple[str, ...], asked: VerifyOptions, options: dict[str, Any]) -> Verdict:
    from teetotal import verifying
    from teetotal.report import verify as report

    if len(files) > 1:
        raise click.UsageError("a certificate is about one file")
    if options["fence"] or options["certificate"] is not None or options["goal"] != "safe":
        raise click.UsageError("--check is about the file as it is, and whether it is safe: nothing else with it")
    (file,) = files
    verdict = Verdict.SAFE
    for found in verifying.confirm(file, options["checked"], asked, Budget(asked.seconds, asked.max_megabytes)):
        verdict = verdict + found.verdict
        outputs.note(found)
        click.echo(to_json(found) if options["as_json"] else report.confirmed(found))
    return verdict
