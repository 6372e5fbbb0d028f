"""C programs that are built again as they were are not compiled again: many tests ask one program several things.

What a program is made of is known by the compiler, its flags, the environment, the working directory, and every file
that lies below its sources' folders or where its flags point to. Where that is too much to look at, it is built.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp

from teetotal.programs.c import build as building

_KEPT = 40
"""Whoever asks again asks soon."""
_LOOKED_AT = 300
"""Files, at most."""
_SHORT = 20_000
"""Bytes of a file that is read."""
_compile = building.build
_products: OrderedDict[tuple[object, ...] | None, Path] = OrderedDict()
_folder = mkdtemp(prefix="built-once-")
_owner = os.getpid()


def install() -> None:
    building.build = _build
    atexit.register(_sweep)


def _sweep() -> None:
    """Not by a copy of this process that comes to its end."""
    if os.getpid() == _owner:
        shutil.rmtree(_folder, ignore_errors=True)


def _build(source: building.Source, directory: Path) -> Path:
    made_of = _made_of(source)
    if made_of in _products:
        _products.move_to_end(made_of)
        _link(_products[made_of], directory)
        return directory / "program.so"
    if made_of is None or os.getpid() != _owner:  # a copy: the others do not know what it lets go
        return _compile(source, directory)
    before = set(os.listdir(directory))
    result = _compile(source, directory)
    kept = _products[made_of] = Path(mkdtemp(dir=_folder))
    _link(directory, kept, before)
    if len(_products) > _KEPT:
        shutil.rmtree(_products.popitem(last=False)[1])
    return result


def _made_of(source: building.Source) -> tuple[object, ...] | None:
    beside = {os.path.dirname(os.path.abspath(file)) for file in source.files}
    pointed = {flag.removeprefix(how) for flag in source.flags for how in ("-I", "-L", "@", "-Wl,-rpath,", "")}
    files = list(islice(_files(beside | {os.path.abspath(one) for one in pointed if os.path.exists(one)}), _LOOKED_AT))
    if len(files) == _LOOKED_AT:
        return None
    environment = frozenset((name, value) for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST")
    return source.files, source.flags, source.compiler, frozenset(files), environment, os.getcwd()


def _files(places: set[str]) -> Iterator[tuple[str, object]]:
    """Texts by what they say: who asks again often writes them again."""
    for place in places:
        below = os.walk(place) if os.path.isdir(place) else [(os.path.dirname(place), [], [os.path.basename(place)])]
        for folder, _, names in below:
            for path in (Path(folder, name) for name in names):
                with suppress(OSError):
                    state = path.stat()
                    text = state.st_size < _SHORT and stat.S_ISREG(state.st_mode)
                    yield str(path), path.read_bytes() if text else (state.st_size, state.st_mtime_ns, state.st_ino)


def _link(source: Path, target: Path, but: Collection[str] = ()) -> None:
    for name in set(os.listdir(source)).difference(but):
        os.link(source / name, target / name)
