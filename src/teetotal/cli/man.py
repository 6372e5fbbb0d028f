"""``teetotal man``: the manual page, made of what every verb says about itself."""

from __future__ import annotations

from collections.abc import Iterator

import click

from teetotal.answers.version import VERSION

_STATUS = {
    0: "safe",
    1: "a violation was found",
    2: "bad usage or bad input",
    3: "inconclusive: a budget ended, or something was left out",
    70: "a fault of teetotal itself",
}


@click.command(short_help="The manual page.")
def man() -> int:
    """Print the manual page: teetotal man | man -l -"""
    from teetotal import cli

    click.echo("\n".join(_page(cli.teetotal)))
    return 0


def _page(group: click.Group) -> Iterator[str]:
    yield f'.TH TEETOTAL 1 "" "teetotal {VERSION}" "User Commands"'
    yield from (".SH NAME", r"teetotal \- keeps lock-free code sober: sequential consistency on TSO and PSO")
    yield from (".SH SYNOPSIS", r"\fBteetotal\fR \fIVERB\fR [\fIOPTION\fR]... [\fIFILE\fR]...")
    context = click.Context(group, info_name="teetotal")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from _section(command, click.Context(command, context, name), f"teetotal {name}")
    yield ".SH EXIT STATUS"
    for status, meaning in _STATUS.items():
        yield from (".TP", str(status), _text(meaning))
    yield from (".SH SEE ALSO", r"\fBherd7\fR(1), \fBspin\fR(1)")


def _section(command: click.Command, context: click.Context, name: str) -> Iterator[str]:
    yield f".SH {_text(name.upper())}"
    yield _text(" ".join((command.help or command.short_help or "").split()))
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", rf"\fB{_text(record[0])}\fR", _text(" ".join(record[1].split())))
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _section(found, click.Context(found, context, inner), f"{name} {inner}")


def _text(words: str) -> str:
    """As roff takes it: no line begins with a control character."""
    escaped = words.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
