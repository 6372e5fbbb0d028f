"""Executions of a C program as they are, whether anything is wrong with them or not."""

from __future__ import annotations

from collections.abc import Iterator

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import ModelName
from teetotal.answers.options import COMPILED_LOOP_BOUND
from teetotal.answers.strategies import Strategy
from teetotal.engines.runtime import driver, events
from teetotal.engines.runtime.findings import STEPS
from teetotal.engines.runtime.messages import End, Executed, Loaded, Restart, Trouble
from teetotal.programs.c import build
from teetotal.programs.c.build import Source, built
from teetotal.programs.c.symbols import Symbols


def executions(
    source: Source,
    strategy: Strategy,
    model: ModelName = "sc",
    *,
    seed: int = 0,
    seconds: float | None = None,
    unseen: list[str] | None = None,
) -> Iterator[events.Execution | None]:
    """Those that the strategy chooses, as they come. None: threads share more than was known, so those before lack events
    and do not count; the search begins again. ``unseen`` is told what no hook sees, and so is in none of them."""
    options = [
        f"model={model}", f"strategy={strategy.name}", f"count={strategy.count}", f"depth={strategy.depth}",
        f"seed={seed}", "tell-all=1", f"steps={STEPS}", f"loop-bound={COMPILED_LOOP_BOUND}",
        *([] if seconds is None else [f"seconds={seconds}"]),
    ]  # fmt: skip
    with built(source) as program:
        missed = build.unseen(program)
        symbols = Symbols(program, source.files)
        try:
            names: events.Names | None = None
            for answer in driver.answers(program, options, source.arguments, trust=source.trust):
                match answer:
                    case Loaded():
                        names = events.Names(symbols, answer.base)
                    case Restart():
                        yield None
                    case Executed():
                        assert names is not None
                        yield events.execution(answer.steps, answer.cells, names, model)
                    case Trouble():
                        message = answer.message
                        if answer.what == "nondeterministic":
                            assert names is not None
                            message = events.divergence(answer, names)
                        raise ProgramError(f"{source.name}: {message}")
                    case End():
                        missed += [what for what, _ in answer.unseen]
            if unseen is not None:
                unseen += dict.fromkeys(missed)
        finally:
            symbols.close()
