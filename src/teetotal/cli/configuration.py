"""Options from a file: ``teetotal.toml``, or ``[tool.teetotal]`` in ``pyproject.toml``, of this folder or the next above.

Keys are options without their dashes. At the top they are for every verb that has such an option, in a table of a verb's
name for that verb alone::

    [tool.teetotal]
    model = ["tso"]
    time = 60

    [tool.teetotal.check]
    goal = "safe"

The command line overrides them. ``TEETOTAL_CONFIG`` names another file, or none where it is empty.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import click

from teetotal.answers.errors import TeetotalError

_OWN = "teetotal.toml"
_SHARED = "pyproject.toml"


def find() -> Path | None:
    """The nearest file that says something."""
    if (named := os.environ.get("TEETOTAL_CONFIG")) is not None:
        return Path(named) if named else None
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / _OWN).is_file():
            return folder / _OWN
        shared = folder / _SHARED
        if shared.is_file() and b"teetotal" in shared.read_bytes() and _says_something(shared):
            return shared
    return None


@cache
def _content(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TeetotalError(f"{path}: {error}") from None


def _says_something(shared: Path) -> bool:
    tools = _content(shared).get("tool")
    return isinstance(tools, dict) and "teetotal" in tools


def read(path: Path) -> dict[str, Any]:
    content = _content(path)
    if path.name != _SHARED:
        return content
    table = content.get("tool", {}).get("teetotal", {})
    if not isinstance(table, dict):
        raise TeetotalError(f"{path}: tool.teetotal is no table")
    return table


def defaults(verb: str, command: click.Command, group: click.Group, context: click.Context) -> dict[str, Any]:
    """For click's ``default_map``: by the names of parameters. A key that means nothing is refused: it would look like an
    option that is in force."""
    path = find()
    if path is None:
        return {}
    content, verbs = read(path), group.list_commands(context)
    tables = {name: value for name, value in content.items() if isinstance(value, dict) or name in verbs}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise TeetotalError(f"{path}: {name} is a verb; its options stand in a table, [{name}]")
        if name not in verbs:
            raise TeetotalError(f"{path}: no verb is called {name}{_meant(name, verbs)}")
    common = {name: value for name, value in content.items() if name not in tables}
    options = _options(command)
    if not common.keys() <= options.keys():  # then perhaps of another verb
        known = {
            option for other in verbs if (found := group.get_command(context, other)) for option in _options(found)
        }
        for name in common:
            if name not in known:
                raise TeetotalError(f"{path}: no verb has an option --{name}{_meant(name, sorted(known))}")
    chosen = {
        options[name].name or "": _value(options[name], value) for name, value in common.items() if name in options
    }
    for name, value in tables.get(verb, {}).items():
        if name not in options:
            raise TeetotalError(f"{path}: teetotal {verb} has no option --{name}{_meant(name, list(options))}")
        chosen[options[name].name or ""] = _value(options[name], value)
    return chosen


def blamed(error: click.BadParameter) -> click.BadParameter:
    """Where a value was not given on the command line: whoever reads that it is wrong has to know where it stands."""
    context, option = error.ctx, error.param
    if context is None or option is None or option.name is None:
        return error
    if context.get_parameter_source(option.name) is not click.core.ParameterSource.DEFAULT_MAP:
        return error
    return click.BadParameter(
        f"{error.message.removesuffix('.')}. {find()} says so.", context, option, error.param_hint
    )


def _options(command: click.Command) -> dict[str, click.Option]:
    """From the option's name, without dashes, to the option."""
    return {
        option.removeprefix("--"): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option.startswith("--") and option not in ("--help", "--json")
    }


def _meant(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _value(option: click.Option, value: Any) -> Any:
    """As text, as the command line has it: neither 1.5 nor true is a whole number then. Of an option that may be given more
    than once, or takes several, a list has each; of another one a list of words has commas."""
    if option.multiple:
        return [_text(word) for word in (value if isinstance(value, list) else [value])]
    if not isinstance(value, list):
        return _text(value)
    return tuple(map(_text, value)) if option.nargs != 1 else ",".join(map(_text, value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower()
