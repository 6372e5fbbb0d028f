"""What a shell may offer behind an option: values, not only names. ``teetotal completion bash`` prints the script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[str]]

STRATEGIES = ("all", "interleavings", "preemptions:2", "preemptions:0..3", "random:1000", "pct:1000:3")


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def one_of(words: Sequence[str] | Callable[[], Sequence[str]]) -> Completer:
    """Of words, or of what is loaded to know them."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        return [word for word in (words() if callable(words) else words) if word.startswith(incomplete)]

    return complete


def several_of(words: Callable[[], Sequence[str]]) -> Completer:
    """Separated by commas: each is offered behind those that are there."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        offered = (word for word in words() if word.startswith(last) and word not in before.split(","))
        return [f"{before}{comma}{word}" for word in offered]

    return complete


def monitors() -> Sequence[str]:
    from teetotal.engines.executions.monitors import MONITORS

    return list(MONITORS)


def families() -> Sequence[str]:
    from teetotal.generate.names import FAMILIES

    return ["all", *FAMILIES]


def protocols() -> Sequence[str]:
    from teetotal.record.simulation import PROTOCOLS

    return PROTOCOLS


def bugs() -> Sequence[str]:
    from teetotal.record.simulation import BUGS

    return ["list", *BUGS]
