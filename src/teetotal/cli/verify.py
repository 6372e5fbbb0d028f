"""``teetotal verify FILE.pml``: Promela programs with unbounded store buffers under TSO and PSO; fence insertion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from teetotal.answers import costs
from teetotal.answers.answer import Refusal
from teetotal.answers.errors import TeetotalError
from teetotal.answers.options import VerifyOptions, asked
from teetotal.answers.verdict import Verdict
from teetotal.budget import Budget
from teetotal.cli import outputs
from teetotal.cli.options import Models, Number, Seconds, semantics_options
from teetotal.cli.telling import page, quiet, telling_options, watching
from teetotal.report.json import to_json

if TYPE_CHECKING:
    from teetotal.verifying import Verified


@click.command()
@click.argument("files", nargs=-1, metavar="FILE.pml…", type=click.Path())
@click.option(
    "--model", "models", type=Models(), default="tso,pso", show_default=True, help="sc, tso, pso; several with commas"
)
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
@click.option("--memory", "max_megabytes", type=Number(min=1, max=2**30), metavar="MB",
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
    fields = ("models", "goal", "engine", "rmw", "mutex", "failed_cas", "seconds", "max_megabytes")
    question = asked(VerifyOptions, {name: options[name] for name in fields})
    if options["certificate"] is not None and len(files) > 1:
        raise click.UsageError("--certificate: a proof is about one file")
    if options["checked"]:
        return _confirm(files, question, options).exit_status
    if options["fence"] and options["cost"]:
        options["cost"] = costs.parse(options["cost"])
    verdict, refused = Verdict.SAFE, False
    for file in files:
        try:
            found = _found(file, question, options)
        except TeetotalError as error:
            outputs.refuse(Refusal.of(error, file, "verify"), options["as_json"])
            refused = True
            continue
        verdict += _told(found, options)
        if isinstance(found.trouble, TeetotalError):
            click.echo(f"teetotal: {found.trouble}", err=True)
            refused = True
    return 2 if refused else verdict.exit_status


def _found(file: str, question: VerifyOptions, options: dict[str, Any]) -> Verified:
    from teetotal import verifying

    certificate = options["certificate"]
    with watching(file, wanted=not options["as_json"]) as watcher:
        budget = Budget(question.seconds, question.max_megabytes, watcher)
        if not options["fence"]:
            return verifying.verify(file, question, budget, certificate)
        every, write = options["every"], options["write"]
        return verifying.fence(file, question, budget, certificate, costs=options["cost"], every=every, write=write)


def _told(found: Verified, options: dict[str, Any]) -> Verdict:
    from teetotal.report import verify as report

    answer = found.answer
    if options["certificate"] is not None and not options["fence"] and not answer.witness and found.trouble is None:
        click.echo("teetotal: no certificate: only a safe verdict of the saturate engine has one", err=True)
    outputs.note(answer)
    click.echo(
        to_json(answer) if options["as_json"] else report.headline(answer) if quiet() else report.render(answer, page())
    )
    if isinstance(found.trouble, KeyboardInterrupt):
        raise click.Abort
    return answer.verdict


def _confirm(files: tuple[str, ...], question: VerifyOptions, options: dict[str, Any]) -> Verdict:
    from teetotal import verifying
    from teetotal.report import verify as report

    if len(files) > 1:
        raise click.UsageError("a certificate is about one file")
    if options["fence"] or options["certificate"] is not None or options["goal"] != "safe":
        raise click.UsageError("--check is about the file as it is, and whether it is safe: nothing else with it")
    (file,) = files
    verdict = Verdict.SAFE
    for found in verifying.confirm(
        file, options["checked"], question, Budget(question.seconds, question.max_megabytes)
    ):
        verdict = verdict + found.verdict
        outputs.note(found)
        click.echo(to_json(found) if options["as_json"] else report.confirmed(found))
    return verdict
