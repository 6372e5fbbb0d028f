"""Files that appear whole or not at all: a full disk, or Ctrl-C, leaves neither half a file nor an old one cut short."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from teetotal.errors import TeetotalError


def write(path: str | Path, content: bytes, *, overwrite: bool = True) -> None:
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe: nothing can take its place
            with open(target, "wb") as file:
                file.write(content)
            return
        _write_beside(target.resolve(), content, overwrite)  # a link stays a link
    except OSError as problem:
        raise TeetotalError(f"cannot write {path}: {problem.strerror}") from problem


def _write_beside(target: Path, content: bytes, overwrite: bool) -> None:
    handle, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        if overwrite:
            os.replace(name, target)
        else:
            os.link(name, target)  # unlike a rename, it fails where somebody else was faster
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
