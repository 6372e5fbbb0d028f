"""Options that several verbs share, spelled the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from teetotal.answers.events import CHECKED, MODELS, ModelName
from teetotal.cli.completing import several_of
from teetotal.scale import supervision

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])


def semantics_options(command: Command) -> Command:
    """``--rmw``, ``--mutex`` and ``--failed-cas``, as the parameters ``rmw``, ``mutex`` and ``failed_cas``."""
    for option in (
        click.option(
            "--failed-cas",
            type=click.Choice(["read", "write"]),
            default="read",
            show_default=True,
            help="What a failed compare-and-swap does: only read, or also write the old value back.",
        ),
        click.option(
            "--mutex",
            type=click.Choice(["fence", "rmw"]),
            default="fence",
            show_default=True,
            help="What an unlock is: also a full fence, or a bare rmw.",
        ),
        click.option(
            "--rmw",
            type=click.Choice(["all", "address"]),
            default="all",
            show_default=True,
            help="What a PSO rmw flushes: all buffers of its thread, or its own address.",
        ),
    ):
        command = option(command)
    return command


def waiting_option(command: Command) -> Command:
    return click.option(
        "--waiting", type=click.Choice(["skip", "count"]), default="skip", show_default=True,
        help="Rounds of a loop in which nothing happens: no part of executions, so that a difference that only lets a "
        "thread wait longer is none, or counted as the papers do.",
    )(command)  # fmt: skip


def release_sequence_option(command: Command) -> Command:
    return click.option(
        "--release-sequence", type=click.Choice(["c20", "c11"]), default="c20", show_default=True,
        help="C11: whether later stores of the thread that released go on with it (before C++20, RC11).",
    )(command)  # fmt: skip


class WithCompilerFlags(click.Command):
    """A command whose last arguments, after ``--``, go to the compiler: the parameter ``flags``."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        flags: list[str] = []
        if "--" in args:
            split = args.index("--")
            args, flags = args[:split], args[split + 1 :]
        context.params["flags"] = tuple(flags)
        return super().parse_args(context, args)


def c_options(command: Command) -> Command:
    """``--cc``, ``--args`` and ``--trust``, as the parameters ``compiler``, ``arguments`` and ``trust``."""
    for option in (
        click.option(
            "--trust", is_flag=True, help="Let the program reach the network, and write to files (C, Python)."
        ),
        click.option(
            "--args", "arguments", multiple=True, metavar="ARG", help="An argument of main (C); once for each."
        ),
        click.option("--cc", "compiler", metavar="COMPILER", help="C compiler (default: cc, c++, or $CC, $CXX)."),
    ):
        command = option(command)
    return command


def monitor_names(listed: str) -> tuple[str, ...]:
    """What ``--monitor`` names: all of them monitors."""
    from teetotal.engines.executions.monitors import monitor_info

    return tuple(monitor_info(name.strip()).name for name in listed.split(",") if name.strip())


def budget_options(command: Command) -> Command:
    """``--time`` and ``--memory`` of a verb whose engines know neither: ``budget.limited`` sees to them."""
    return memory_option(time_option(command))


class Number(click.FloatRange):
    """A fraction in a range, in which ``nan`` is not."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        number = super().convert(value, parameter, context)
        if math.isnan(number):
            self.fail(f"{value} is not a number", parameter, context)
        return number


class Seconds(Number):
    """Of a ``--time``, which is counted from the start of the process."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        return supervision.left_of(super().convert(value, parameter, context))


def time_option(command: Command) -> Command:
    return click.option("--time", type=Seconds(), metavar="SECONDS", expose_value=False, callback=_noted,
                        help="Give up after so long (inconclusive).")(command)  # fmt: skip


def memory_option(command: Command) -> Command:
    return click.option("--memory", type=Number(min=1, max=2**30), metavar="MB", expose_value=False,
                        callback=_noted, help="Give up above so much (inconclusive).")(command)  # fmt: skip


def _noted(context: click.Context, parameter: click.Parameter, value: float | None) -> None:
    context.meta[f"teetotal.{parameter.name}"] = value


def spurious_option(command: Command) -> Command:
    return click.option(
        "--spurious", type=click.IntRange(min=0, max=2**31 - 1), default=0, show_default=True, metavar="N",
        help="How often a thread may wake up on a condition variable for no reason (C).",
    )(command)  # fmt: skip


class Models(click.ParamType["tuple[ModelName, ...]"]):
    """``tso,pso`` and the like; ``c11`` where it is known."""

    name = "models"

    def __init__(self, known: tuple[ModelName, ...] = MODELS) -> None:
        self.known = known

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[ModelName, ...]:
        if isinstance(value, tuple):
            return value
        names = [name.strip().lower() for name in str(value).split(",")]
        unknown = [name for name in names if name not in self.known]
        if unknown:
            here = " here" if set(unknown) <= set(CHECKED) else ""
            self.fail(
                f"{', '.join(unknown)}: no such model{here}; there are {', '.join(self.known)}", parameter, context
            )
        return tuple(model for model in self.known if model in names)

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(models) for models in several_of(lambda: self.known)(context, parameter, incomplete)]
