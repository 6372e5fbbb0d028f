"""``--html FILE`` and ``--output FORMAT:FILE``: the answers of a verb, written down beside what it prints.

Every verb that answers says each answer once more to ``note``; when it has ended, the files are written, each whole or
not at all. A verb that is refused its input has answered too. Before it begins, the files say that there is no answer yet:
if it is ended by force, that is what they say, and not what an older run has found.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from teetotal import writing
from teetotal.answers.answer import Answer, Refusal, Undecided
from teetotal.answers.errors import OutputError, TeetotalError
from teetotal.report import streams
from teetotal.report.formats import FORMATS, WITHOUT_VERDICTS, Plain
from teetotal.report.json import to_json, to_plain

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_META = "teetotal.outputs"
NOT_YET = "teetotal was ended before it had an answer"


class Target(NamedTuple):
    """Where answers go, and as what; ``-`` is standard output."""

    format: str
    path: str

    @property
    def is_file(self) -> bool:
        """And not a device or a pipe, which more than one may write to."""
        return self.path != "-" and (Path(self.path).is_file() or not Path(self.path).exists())


class Wanted(msgspec.Struct):
    """What is to be written, the answers until now, and what could not be written beside them."""

    targets: list[Target] = []
    answers: list[Plain] = []
    trouble: list[OutputError] = []


def _wanted() -> Wanted:
    context = click.get_current_context(silent=True)
    if context is None:
        return Wanted()
    found: Wanted = context.meta.setdefault(_META, Wanted())
    return found


def are_wanted() -> bool:
    """Whether anybody reads what ``note`` is told."""
    return bool(_wanted().targets)


def note(answer: Answer) -> None:
    """One more answer of the verb that runs."""
    if are_wanted():
        note_plain(to_plain(answer))


def note_plain(answer: Plain) -> None:
    _wanted().answers.append(answer)


def refuse(refusal: Refusal, as_json: bool) -> None:
    """One input of several that cannot be read: told, and the verb goes on with the others."""
    note(refusal)
    if as_json:
        click.echo(to_json(refusal))
    click.echo(f"teetotal: {refusal.message}", err=True)


def names_a_file(text: str) -> bool:
    """``FORMAT:FILE``"""
    kind, _, path = text.partition(":")
    return kind in FORMATS and bool(path)


class _Output(click.ParamType[Target]):
    """``FORMAT:FILE``, or a file in a format that is fixed."""

    name = "output"

    def __init__(self, fixed: str = "") -> None:
        self.fixed = fixed

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Target:
        if isinstance(value, Target):
            return value
        named = f"{self.fixed}:{value}" if self.fixed else str(value)
        kind, _, path = named.partition(":")
        if not names_a_file(named):
            self.fail(f"{value!r} is not FORMAT:FILE, where FORMAT is one of {', '.join(FORMATS)}", parameter, context)
        if path != "-" and (Path(path).is_dir() or not Path(path).absolute().parent.is_dir()):
            self.fail(f"{path} cannot be a file: there is no such folder, or it is one", parameter, context)
        return Target(kind, path)

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        if self.fixed:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(f"{name}:") for name in FORMATS if name.startswith(incomplete)]


def _note_target(context: click.Context, parameter: click.Parameter, value: Target | tuple[Target, ...] | None) -> None:
    targets = _wanted().targets
    for target in [] if value is None else [value] if isinstance(value, Target) else value:
        if any(os.path.realpath(other.path) == os.path.realpath(target.path) for other in targets if target.is_file):
            raise click.BadParameter(f"{target.path} is to be written twice", context, parameter)
        targets.append(target)


def _own_file(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str:
    """Of a verb that writes a file by itself: what is no ``FORMAT:FILE`` is that file."""
    own = [value for value in values if not names_a_file(value)]
    if len(own) > 1:
        raise click.BadParameter(f"{own[1]}: {own[0]} is written already", context, parameter)
    named = [_Output().convert(value, parameter, context) for value in values if names_a_file(value)]
    _note_target(context, parameter, tuple(named))
    if own and os.path.realpath(own[0]) in {os.path.realpath(target.path) for target in named if target.is_file}:
        raise click.BadParameter(f"{own[0]} is to be written twice", context, parameter)
    return own[0] if own else "-"


def options(*, own_file: str = "") -> list[click.Option]:
    """One of each per command: ``--html`` and ``--output``. ``own_file``: what the verb writes itself, whose place is the
    parameter ``output``."""
    common: dict[str, Any] = {"expose_value": False, "callback": _note_target}
    known = ", ".join(FORMATS)
    output = click.Option(["--output", "output_targets"], type=_Output(), metavar="FORMAT:FILE", multiple=True, **common,
                          help=f"Also as a file, - for standard output: {known}. Several at once.")  # fmt: skip
    if own_file:
        output = click.Option(["--output"], metavar="FILE", multiple=True, callback=_own_file,
                              help=f"A file for {own_file}; default: standard output. With FORMAT: before it, where to "
                                   f"tell about them: {known}. Several at once.")  # fmt: skip
    return [
        click.Option(["--html", "html_target"], type=_Output("html"), metavar="FILE", multiple=True, **common,
                     help="Also as a page: one HTML file that needs nothing else."),
        output,
    ]  # fmt: skip


def offer(verb: str, command: click.Command) -> None:
    """A verb gets these options."""
    assert command.callback is not None
    command.params += options()
    command.callback = written(verb, command.callback)


def written(verb: str, callback: Callable[..., int]) -> Callable[..., int]:
    """The verb, after which its answers are written to their files, however it ends."""

    @wraps(callback)
    def run(**parameters: Any) -> int:
        if verb == "reproduce":
            refuse_judgements("tables")
        paths: tuple[str, ...] = parameters.get("paths") or parameters.get("files") or ()
        read = {os.path.realpath(path) for path in paths}
        for target in _wanted().targets:
            if target.path != "-" and os.path.realpath(target.path) in read:
                raise click.UsageError(f"{target.path} is read, and would be written over")
        for target in _wanted().targets if verb != "report" else ():
            if target.is_file:
                _write(target, [to_plain(Undecided(input=" ".join(paths) or verb, command=verb, notes=[NOT_YET]))])
        try:
            status = callback(**parameters)
        except OutputError:
            raise
        except TeetotalError as error:
            note(Refusal.of(error, " ".join(paths) or verb, verb))
            write()
            raise
        except (click.Abort, KeyboardInterrupt):
            write()
            raise
        write()
        for trouble in _wanted().trouble:
            raise trouble
        return status

    return run


def complain_of(error: OutputError) -> None:
    """Once the verb has told its answers, and they are written."""
    _wanted().trouble.append(error)


def refuse_judgements(what: str) -> None:
    """Where a format is wanted that knows verdicts alone."""
    if any(target.format not in WITHOUT_VERDICTS for target in _wanted().targets):
        raise TeetotalError(f"{what} can be written as {' and '.join(WITHOUT_VERDICTS)}")


def also(format: str, path: str) -> None:
    """One more file, of a verb that has files of its own."""
    _wanted().targets.append(Target(format, path))


def write() -> None:
    """Everything that is wanted."""
    wanted = _wanted()
    for target in wanted.targets:
        _write(target, wanted.answers)


def _write(target: Target, answers: list[Plain]) -> None:
    text = streams.as_called(FORMATS[target.format](answers))
    if target.path == "-":
        click.echo(text, nl=False)
        sys.stdout.flush()
    else:
        writing.write(target.path, text.encode(errors="backslashreplace"))
