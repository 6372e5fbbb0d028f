"""``teetotal record program``: executions of a C or C++ program, as histories and as SC traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from teetotal.answers.errors import TeetotalError
from teetotal.cli.options import Number, WithCompilerFlags, c_options
from teetotal.cli.record import recorded, recording_options

if TYPE_CHECKING:
    from teetotal.record.programs import RecordedExecution


@click.command(cls=WithCompilerFlags)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--count", type=click.IntRange(1, 1_000_000), default=10, show_default=True, help="Random executions.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option(
    "--model", type=click.Choice(("sc", "tso", "pso")), default="sc", show_default=True, help="Of the machine."
)
@click.option(
    "--traces", type=click.Path(file_okay=False), metavar="DIR", help="Also SC traces, NUMBER.jsonl, in a folder."
)
@click.option(
    "--native", is_flag=True, help="As it runs by itself: sources, or a program built as cflags --record says."
)
@click.option(
    "--window",
    type=click.IntRange(1, 100_000_000),
    show_default="100000",
    metavar="EVENTS",
    help="With --native: accesses of one history.",
)
@click.option(
    "--every",
    type=Number(min=0),
    show_default="0",
    metavar="SECONDS",
    help="With --native: between two of them.",
)
@c_options
@recording_options
def program(
    files: tuple[str, ...], count: int, seed: int, model: Any, traces: str | None, native: bool, window: int | None,
    every: float | None, compiler: str | None, trust: bool, arguments: tuple[str, ...], flags: tuple[str, ...],
    seconds: float | None, output: str, as_json: bool,
) -> int:  # fmt: skip
    """Random executions of a C or C++ program under the explorer: histories, and traces for `teetotal monitor`.

    What follows -- goes to the compiler. Under SC each history is SC; under TSO and PSO perhaps not. With --native: one run
    without the explorer, as windows of so many accesses; the program runs to its end, or until --time is over.
    """
    from teetotal.programs.c.build import Source
    from teetotal.programs.files import is_c
    from teetotal.record.native_runs import natively
    from teetotal.record.programs import executed

    if not all(is_c(path) for path in files) and (not native or len(files) > 1):
        raise TeetotalError("only C and C++ programs are recorded")
    if (traces is not None or native) and model != "sc":
        raise TeetotalError(f"{'a trace' if traces else 'what runs natively'} is of an SC execution: --model sc")
    if not native and (window is not None or every is not None):
        raise click.UsageError("--window and --every are for --native")
    notes: list[str] = []
    missed: list[str] = []
    source = Source(files, flags, compiler, arguments, trust)
    found: Iterable[RecordedExecution | None]
    if native:
        window = 100_000 if window is None else window
        found = natively(
            source, window=window, every=every or 0.0, count=count, seed=seed, seconds=seconds, notes=notes
        )
    else:
        found = executed(source, count=count, seed=seed, model=model, seconds=seconds, unseen=missed)
    if traces is not None:
        found = _traced(found, Path(traces))
    status = recorded(
        "program", found, output, "text", count=count, seconds=None if native else seconds, as_json=as_json,
        input=source.name, notes=notes,
    )  # fmt: skip
    notes += (f"what cannot be seen, and is in no history: {what}" for what in missed)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return status


def _traced(found: Iterable[RecordedExecution | None], folder: Path) -> Iterator[RecordedExecution | None]:
    """The same, each written as a trace, too."""
    from teetotal.traces import write

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for one in found:
        if one is None:
            for path in written:
                path.unlink()
            written.clear()
        else:
            written.append(folder / f"{len(written)}.jsonl")
            write(one.trace, written[-1], orders=one.orders)
        yield one
