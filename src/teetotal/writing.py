"""Files that appear whole or not at all: a full disk, or Ctrl-C, leaves neither half a file nor an old one cut short."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from teetotal.answers.errors import OutputError


def write(path: str | Path, content: bytes, *, overwrite: bool = True) -> None:
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe: nothing can take its place
            with open(target, "wb") as file:
                file.write(content)
            return
        _write_beside(target.resolve(), content, overwrite)  # a link stays a link
    except OSError as problem:
        raise OutputError(f"cannot write {path}: {problem.strerror}") from problem


def _write_beside(target: Path, content: bytes, overwrite: bool) -> None:
    fresh = beside(target, content)
    try:
        if overwrite:
            os.replace(fresh, target)
        else:
            os.link(fresh, target)  # unlike a rename, it fails where somebody else was faster
    finally:
        fresh.unlink(missing_ok=True)


def beside(target: Path, content: bytes) -> Path:
    """A new file in the target's directory, with the target's mode, safely on the disk: to take its place."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
