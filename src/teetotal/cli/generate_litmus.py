"""``teetotal generate litmus``: tests from critical cycles, each with the verdict that theory predicts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from teetotal.answers.events import ModelName, Semantics
from teetotal.cli import completing
from teetotal.cli.options import Models, budget_options, semantics_options
from teetotal.generate import candidate, cycles, files, names
from teetotal.generate.candidate import Litmus
from teetotal.generate.cycles import Cycle
from teetotal.generate.edges import FENCES


class Fences(click.ParamType["tuple[str, ...]"]):
    """``mfence,sfence`` and the like."""

    name = "fences"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        chosen = [name.strip().lower() for name in str(value).split(",") if name.strip()]
        unknown = [name for name in chosen if name not in FENCES]
        if unknown:
            self.fail(f"{', '.join(unknown)}: no such fence; there are {', '.join(FENCES)}", parameter, context)
        return tuple(fence for fence in FENCES if fence in chosen)


@click.command(short_help="Litmus tests from critical cycles.")
@click.argument("cycle", nargs=-1, metavar="[EDGE…]")
@click.option("--length", type=click.IntRange(min=2), help="All cycles of at most so many edges.")
@click.option(
    "--family",
    metavar="NAME",
    help="A classical family (SB, MP, IRIW, …), or all of them: all.",
    shell_complete=completing.one_of(completing.families),
)
@click.option(
    "--fences", type=Fences(), default="", metavar="LIST", help="On program-order edges: mfence, sfence, xchg."
)
@click.option("--every", is_flag=True, help="With --length: also internal edges, and cycles that could be shorter.")
@click.option("--allowed", type=Models(), default=(), metavar="MODELS", help="Only outcomes that these models allow.")
@click.option(
    "--forbidden", type=Models(), default=(), metavar="MODELS", help="Only outcomes that these models forbid."
)
@click.option("--count", type=click.IntRange(min=1), help="With --length: so many random ones instead of all.")
@click.option("--seed", type=int, default=0, show_default=True, help="For --count.")
@budget_options
@click.option("--output", default="-", show_default=True, metavar="DIR|-", help="Where the files go, or -: print them.")
@click.option("--force", is_flag=True, help="Overwrite files.")
@click.option("--list", "only_list", is_flag=True, help="Print name, cycle and prediction instead, one test a line.")
@semantics_options
def litmus(
    cycle: tuple[str, ...],
    length: int | None,
    family: str | None,
    fences: tuple[str, ...],
    every: bool,
    allowed: tuple[ModelName, ...],
    forbidden: tuple[ModelName, ...],
    count: int | None,
    seed: int,
    output: str,
    force: bool,
    only_list: bool,
    rmw: str,
    mutex: str,
    failed_cas: str,
) -> int:
    """Make litmus tests from cycles of edges in diy's notation, as in

    teetotal generate litmus PodWR Fre MFencedWR Fre

    Each asks whether the cycle's outcome exists and says in its Prediction line which models allow it."""
    if sum((bool(cycle), length is not None, family is not None)) != 1:
        raise click.UsageError("say what to make: the edges of a cycle, --length or --family (one of the three)")
    if length is None and (count is not None or every):
        raise click.UsageError("--count and --every go with --length")
    if cycle and fences:
        raise click.UsageError("--fences goes with --length or --family; in a cycle write MFencedWR and the like")
    chosen = Semantics(rmw=rmw, mutex=mutex, failed_cas=failed_cas)  # type: ignore[arg-type]

    def wanted(test: Litmus) -> bool:
        verdict = test.predict(chosen).allowed
        return all(verdict[model] for model in allowed) and not any(verdict[model] for model in forbidden)

    found: Iterable[Cycle]
    if cycle:
        found = [Cycle.parse(" ".join(cycle))]
    elif family is not None:
        families = names.FAMILIES if family.lower() == "all" else [family]
        found = [member for name in families for member in cycles.of_family(name, fences)]
    else:
        assert length is not None
        edges = cycles.vocabulary(fences, every=every)
        if count is None:
            found = cycles.enumerate_cycles(length, edges, every=every)
        else:  # all or none: there may not be so many
            rng = random.Random(seed)
            found = list(
                cycles.sample(count, length, edges, rng, every=every, keep=lambda c: wanted(candidate.litmus(c)))
            )
    tests = filter(wanted, map(candidate.litmus, found))
    if only_list:
        return _list(tests, chosen)
    return _write(tests, output, force)


def _list(tests: Iterator[Litmus], chosen: Semantics) -> int:
    for test in tests:
        click.echo(f"{test.name}\t{test.cycle}\t{test.predict(chosen)}")
    return 0


def _write(tests: Iterator[Litmus], output: str, force: bool) -> int:
    if output == "-":
        for number, test in enumerate(tests):
            click.echo(("\n" if number else "") + files.text(test), nl=False)
        return 0
    texts = {f"{test.name}.litmus": files.text(test) for test in tests}
    files.write_files(Path(output), texts, force=force)
    click.echo(f"{len(texts)} litmus tests in {output}")
    return 0
