"""From a running function back to its text: the AST of a code object, and what the names in it mean."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
from collections import ChainMap
from collections.abc import Mapping
from types import CodeType, FunctionType, GeneratorType
from typing import Any, NamedTuple

from teetotal.answers.errors import ProgramError
from teetotal.answers.events import Location


class Function(NamedTuple):
    """A function's text and surroundings. ``arguments`` are those that a generator object was made with."""

    code: CodeType
    node: ast.FunctionDef | ast.Lambda
    outside: Mapping[str, Any]
    arguments: Mapping[str, Any]


def of_generator(generator: GeneratorType[Any, Any, Any]) -> Function:
    """The function behind a generator object that has not started yet."""
    code = generator.gi_code
    if inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
        raise ProgramError(f"the generator {code.co_name}() has already run; make a new one", _location(code))
    frame = generator.gi_frame
    assert frame is not None  # it has one until it ends
    cells = {name: value for name, value in frame.f_locals.items() if name in code.co_freevars}
    arguments = {name: value for name, value in frame.f_locals.items() if name not in code.co_freevars}
    outside = ChainMap(cells, frame.f_globals, frame.f_builtins)
    return Function(code, _node(code, frame.f_globals), outside, arguments)


def of_function(function: FunctionType) -> Function:
    code = function.__code__
    cells = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            continue
    outside = ChainMap(cells, function.__globals__, vars(builtins))
    return Function(code, _node(code, function.__globals__), outside, {})


def _location(code: CodeType) -> Location:
    return Location(code.co_filename, code.co_firstlineno)


def _node(code: CodeType, namespace: dict[str, Any]) -> ast.FunctionDef | ast.Lambda:
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, namespace))
    if not text:
        raise ProgramError(f"the source of {code.co_name} is not available; write it in a file", _location(code))
    try:
        found = [node for node in _functions(text) if _first_line(node) == code.co_firstlineno]
    except SyntaxError as error:
        raise ProgramError(f"the source of {code.co_name} has changed since it was loaded", _location(code)) from error
    found = [node for node in found if getattr(node, "name", "<lambda>") == code.co_name]
    found = [node for node in found if tuple(_parameters(node)) == code.co_varnames[: len(_parameters(node))]]
    if len(found) != 1:
        why = "several on one line" if found else "the file has changed, or the code was generated"
        raise ProgramError(f"cannot find the source of {code.co_name}: {why}", _location(code))
    return found[0]


@functools.lru_cache(maxsize=64)
def _functions(text: str) -> list[ast.FunctionDef | ast.Lambda]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.Lambda)]


def _first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    """As code objects count it: decorators belong to the function."""
    decorators = getattr(node, "decorator_list", [])
    return decorators[0].lineno if decorators else node.lineno


def _parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    arguments = node.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def assigned_names(nodes: list[ast.stmt]) -> set[str]:
    """The local names that these statements may assign. Inner functions have names of their own."""
    names: set[str] = set()
    todo: list[ast.AST] = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        if isinstance(
            node, ast.Lambda | ast.FunctionDef | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        ):
            continue
        todo.extend(ast.iter_child_nodes(node))
    return names
