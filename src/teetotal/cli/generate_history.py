"""``teetotal generate history``: random and hard histories, to standard output or a file."""

from __future__ import annotations

from typing import Any

import click

from teetotal.answers.history import HISTORY_KINDS, HistoryKind
from teetotal.cli.options import Number, budget_options

MANY = 1_000_000


@click.command()
@click.argument("kind", type=click.Choice(HISTORY_KINDS), default="sc")
@click.option("--threads", type=click.IntRange(min=1, max=MANY), default=4, show_default=True)
@click.option("--operations", type=click.IntRange(min=0, max=100 * MANY), default=100, show_default=True)
@click.option("--addresses", type=click.IntRange(min=1, max=MANY), default=4, show_default=True)
@click.option("--writes", type=Number(0, 1), default=0.5, show_default=True, help="Share of stores.")
@click.option("--rmws", type=Number(0, 1), default=0.0, show_default=True, help="Share of rmws.")
@click.option("--fences", type=Number(0, 1), default=0.0, show_default=True, help="Share of fences.")
@click.option("--reads", type=click.IntRange(min=1), default=1, show_default=True, help="Reads to change (corrupted).")
@click.option("--length", type=click.IntRange(min=2, max=MANY), default=2, show_default=True, help="Threads of a ring.")
@click.option("--variables", type=click.IntRange(min=3, max=MANY), default=6, show_default=True, help="Of a formula.")
@click.option("--clauses", type=click.IntRange(min=1, max=MANY), default=26, show_default=True, help="Of a formula.")
@click.option("--count", type=click.IntRange(min=1), default=1, show_default=True, help="Histories, one seed each.")
@click.option("--seed", type=click.IntRange(min=0, max=2**63 - 1), default=0, show_default=True)
@click.option("--by-thread", is_flag=True, help="Thread after thread, so that the file's order tells nothing.")
@click.option("--format", "format", type=click.Choice(("axe", "text")), default="axe", show_default=True)
@budget_options
@click.option("--output", type=click.Path(), default="-", help="A file; default: standard output.")
def history(kind: HistoryKind, count: int, seed: int, format: str, output: str, **parameters: Any) -> int:
    """A history of that KIND.

    sc: a run of an SC machine. tso: a TSO run that is not SC. pso: a PSO run that is not TSO. corrupted: an SC run with
    reads changed. fig1c, fig5, ring: the paper's histories that saturation does not decide. formula: a random 3-SAT
    formula as a history, SC if and only if it is satisfiable.
    """
    from teetotal import writing
    from teetotal.histories import generate
    from teetotal.histories.history import to_text

    if parameters["rmws"] + parameters["fences"] > 1:
        raise click.UsageError("--rmws and --fences together are more than everything")
    texts = []
    for number in range(count):
        made = generate.history(kind, seed=seed + number, **parameters)
        if count > 1 or not made.name:
            made.name = f"{kind}-{seed + number}"
        texts.append(generate.to_axe(made) if format == "axe" else to_text(made))
        if output == "-":
            click.echo(texts.pop(), nl=False)
    if output != "-":
        writing.write(output, "".join(texts).encode())
    return 0
