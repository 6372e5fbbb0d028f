"""All programs of a ``.py`` file: the module is run, and what it binds to names at its top level is taken.

It is run in a process of its own (``scale/isolation``), from which its programs come back as data, or here, with ``trust``.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import linecache
import os
import sys
import tokenize
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from teetotal.answers.arguments import checked
from teetotal.answers.errors import ParseError, ProgramError, TeetotalError
from teetotal.answers.events import Location
from teetotal.programs import text_files
from teetotal.programs.program import Program
from teetotal.programs.python.build import default_name
from teetotal.scale import isolation, supervision

_serial = itertools.count()


class _Loaded(msgspec.Struct):
    """What comes back: programs, or an error of that name."""

    programs: list[Program] = []
    error: str = ""
    message: str = ""
    location: Location | None = None


_ERRORS: dict[str, type[TeetotalError]] = {kind.__name__: kind for kind in (TeetotalError, ParseError, ProgramError)}
_NO_MEMORY = "MemoryError"
_ANY = ("utf-8", "surrogatepass")
"""Names of files need not be text, and a program may say anything."""
_TEXT, _NO_TEXT = b"t", b"n"
"""What comes back begins with: whether all strings in it are text, as nearly always."""


@checked
def load(path: str | Path, *, trust: bool = False) -> list[Program]:
    """The file's programs in the order of their definition. One without a name is called as its variable is."""
    path = Path(path)
    return load_text(path, _source(path), trust=trust)


def load_text(path: str | Path, text: str, *, trust: bool = False) -> list[Program]:
    """The same, as if the file held this text."""
    path = Path(path)
    return _in_this_process(path, text) if trust else _in_another_process(path, text)


def _in_this_process(path: Path, text: str) -> list[Program]:
    name = str(path)
    linecache.cache[name] = (len(text), None, io.StringIO(text, newline=None).readlines(), name)
    try:
        return _programs(path, _execute(path, text))
    finally:
        del linecache.cache[name]


def _in_another_process(path: Path, text: str) -> list[Program]:
    next(_serial)  # there it is counted in vain
    try:
        with supervision.watching(blame=f"{path}: ends Python by itself:"):
            told = isolation.apart(lambda: _answer(path, text))
        loaded = _decoded(told)
    except isolation.Ended as end:
        _, why = supervision.death(end.code)
        raise ParseError(f"ends Python by itself: {why}", Location(str(path), 1)) from None
    except (msgspec.DecodeError, UnicodeError):
        raise ParseError("ends Python by itself, before its programs are known", Location(str(path), 1)) from None
    if loaded.error == _NO_MEMORY:
        raise MemoryError
    if loaded.error:
        raise _ERRORS.get(loaded.error, TeetotalError)(loaded.message, loaded.location)
    return loaded.programs


def _answer(path: Path, text: str) -> bytes:
    try:
        return _encoded(_Loaded(_in_this_process(path, text)))
    except MemoryError:
        return _encoded(_Loaded(error=_NO_MEMORY))
    except TeetotalError as error:
        return _encoded(_Loaded(error=type(error).__name__, message=error.message, location=error.location))
    except RecursionError:
        return _encoded(_Loaded(error="ParseError", message="nested too deeply", location=Location(str(path), 1)))


def _encoded(loaded: _Loaded) -> bytes:
    try:
        return _TEXT + msgspec.msgpack.encode(loaded)
    except UnicodeEncodeError:
        plain = _each_string(msgspec.to_builtins(loaded), lambda text: text.encode(*_ANY).decode("latin-1"))
        return _NO_TEXT + msgspec.msgpack.encode(plain)


def _decoded(told: bytes) -> _Loaded:
    if not told.startswith(_NO_TEXT):
        return msgspec.msgpack.decode(told[len(_TEXT) :], type=_Loaded)
    plain = _each_string(
        msgspec.msgpack.decode(told[len(_NO_TEXT) :]), lambda text: text.encode("latin-1").decode(*_ANY)
    )
    return msgspec.convert(plain, _Loaded)


def _each_string(plain: Any, change: Callable[[str], str]) -> Any:
    if isinstance(plain, str):
        return change(plain)
    if isinstance(plain, dict):
        return {_each_string(key, change): _each_string(value, change) for key, value in plain.items()}
    return [_each_string(element, change) for element in plain] if isinstance(plain, list | tuple) else plain


def _programs(path: Path, module: ModuleType) -> list[Program]:
    programs: dict[int, Program] = {}
    for variable, bound in vars(module).items():
        for title, candidate in _candidates(variable, bound):
            if id(candidate) not in programs:
                programs[id(candidate)] = _named(candidate, title)
    if not programs:
        raise ParseError("no program in this file: bind one to a name, `test = program(…)`", Location(str(path), 1))
    return list(programs.values())


def _candidates(variable: str, bound: object) -> Iterator[tuple[str, Program]]:
    """A program, or a list or tuple of programs."""
    if isinstance(bound, Program):
        yield variable, bound
    elif isinstance(bound, list | tuple):
        for number, element in enumerate(bound):
            if isinstance(element, Program):
                yield f"{variable}[{number}]", element


def _named(program: Program, title: str) -> Program:
    unnamed = program.name == default_name([thread.name for thread in program.threads])
    return msgspec.structs.replace(program, name=title) if unnamed else program


def _source(path: Path) -> str:
    content = io.BytesIO(text_files.read_bytes(path))
    try:
        encoding, _ = tokenize.detect_encoding(content.readline)
        return io.TextIOWrapper(io.BytesIO(content.getvalue()), encoding).read()
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        data = content.getvalue()
        why = "it has null bytes" if b"\0" in data and data.isascii() else "its bytes are not text"
        raise ParseError(f"not a Python file: {why}", Location(str(path), 1)) from error


def _execute(path: Path, text: str) -> ModuleType:
    """Run the module under a name of its own, which is forgotten afterwards with all that it imported from its folder.

    The path is process-wide, so this is not for several threads at once.
    """
    name = f"teetotal_program_{next(_serial)}_{path.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    try:
        code = compile(text, str(path), "exec", dont_inherit=True)
        with _alone(module, path), supervision.watching(blame=f"{path}: ends Python by itself:"):
            exec(code, vars(module))
    except TeetotalError as error:
        error.location = error.location or _where(error, path)
        raise
    except MemoryError:
        raise
    except KeyboardInterrupt as error:
        if supervision.was_interrupted():
            raise
        raise ParseError("raises KeyboardInterrupt by itself", _where(error, path)) from error
    except SyntaxError as error:
        own = error.filename is not None and Path(error.filename).exists()
        location = Location(str(error.filename), error.lineno or 1) if own else _where(error, path)
        raise ParseError(f"not valid Python: {error.msg}", location) from error
    except SystemExit as error:
        raise ParseError(f"ends Python by itself, with status {error.code}", _where(error, path)) from error
    except BaseException as error:
        told = "".join(traceback.format_exception_only(error)).strip()
        raise ParseError(told, _where(error, path)) from error
    return module


@contextlib.contextmanager
def _alone(module: ModuleType, path: Path) -> Iterator[None]:
    folder = str(path.resolve().parent)
    modules, search, arguments = set(sys.modules), list(sys.path), sys.argv
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    sys.argv = [str(path)]
    importlib.invalidate_caches()
    try:
        with contextlib.redirect_stdout(sys.stderr), _descriptor_elsewhere():
            yield
    finally:
        sys.path[:], sys.argv = search, arguments
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if name == module.__name__ or (file and str(Path(file).resolve()).startswith(folder + "/")):
                del sys.modules[name]


@contextlib.contextmanager
def _descriptor_elsewhere() -> Iterator[None]:
    """Standard output belongs to the verdicts: what a file writes there by its number, or what it starts, goes where its
    errors go."""
    try:
        kept = os.dup(1)
    except OSError:  # closed
        yield
        return
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _where(error: BaseException, path: Path) -> Location:
    """The last line of the user's own file on the way to the error."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
    return Location(str(path), lines[-1] if lines else 1)
