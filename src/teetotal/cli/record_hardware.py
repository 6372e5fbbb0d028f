"""``teetotal record hardware``: random clients, or a litmus test, on this machine's own processors."""

from __future__ import annotations

from typing import Any

import click

from teetotal.answers.errors import ParseError
from teetotal.answers.verdict import Verdict
from teetotal.cli import outputs
from teetotal.cli.record import MANY, client_options, format_option, recorded, recording_options
from teetotal.cli.telling import watching

ROUNDS = 100
ROUNDS_OF_A_TEST = 1_000_000


@click.command()
@click.argument("test", required=False, type=click.Path(), metavar="[TEST.litmus]")
@client_options(threads=None)
@click.option("--clients", type=click.IntRange(1, MANY), default=1, show_default=True, help="Different random clients.")
@click.option(
    "--rounds",
    type=click.IntRange(1),
    help=f"Histories of each client (default: {ROUNDS}), or rounds of the test (default: {ROUNDS_OF_A_TEST:,}).",
)
@click.option(
    "--lines",
    type=click.Choice(("separate", "shared")),
    default="separate",
    show_default=True,
    help="Cache lines: one for each address, or eight addresses in one.",
)
@click.option("--cc", "compiler", metavar="COMPILER", help="C compiler (default: cc or $CC).")
@click.option(
    "--model", type=click.Choice(("sc", "tso", "pso")), help="What a test is held against (default on x86: tso)."
)
@format_option
@recording_options
def hardware(
    test: str | None, threads: int | None, seed: int, clients: int, rounds: int | None, lines: Any,
    compiler: str | None, model: Any, as_json: bool, output: str, format: str, seconds: float | None, **shape: Any,
) -> int:  # fmt: skip
    """Histories from this machine's own processors; or how often a litmus test shows which outcome.

    On x86 each history is TSO, and with enough rounds some are not SC: `teetotal history --model sc` says which. For a
    test, outcomes that SC forbids are marked, and status 1 means that one was seen that the model forbids.
    """
    if test is not None:
        return _stress(test, rounds or ROUNDS_OF_A_TEST, model, lines, compiler, seconds, as_json)
    from teetotal import record

    found = record.hardware(
        record.Shape(threads=threads or record.available(), **shape),
        clients=clients, rounds=rounds or ROUNDS, seed=seed, lines=lines, compiler=compiler,
    )  # fmt: skip
    count = clients * (rounds or ROUNDS)
    return recorded("hardware", found, output, format, count=count, seconds=seconds, as_json=as_json)


def _stress(
    path: str, rounds: int, model: Any, lines: Any, compiler: str | None, seconds: float | None, as_json: bool
) -> int:
    from teetotal import record
    from teetotal.programs import litmus
    from teetotal.report.json import to_json
    from teetotal.report.stress import render

    if not path.endswith(".litmus"):
        raise ParseError(f"{path}: not a litmus test; without a file, random clients are run")
    with watching("record hardware"):
        answer = record.stress(
            litmus.read_file(path),
            rounds=rounds,
            model=model,
            lines=lines,
            compiler=compiler,
            seconds=seconds,
            name=path,
        )
    outputs.note(answer)
    click.echo(to_json(answer) if as_json else render(answer))
    return int(answer.verdict is Verdict.VIOLATION)
