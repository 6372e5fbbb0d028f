"""What a machine lacks, in one line each: why something could not be done that has nothing to do with the input, and what
to change."""

from __future__ import annotations

import errno
import resource

_PLACE = "no room for temporary files"
_MANY = "raise the limit on processes (ulimit -u, or pids.max of the container)"
_ADVICE = {
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise the system's limit on open files (fs.file-max)",
    errno.EAGAIN: _MANY,
    errno.ENOSPC: "set TMPDIR to a folder with more room",
    errno.EDQUOT: "set TMPDIR to a folder with more room",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "set TMPDIR to a folder that can be written to",
}
_NEEDED = 1 << 16
_FILTER = "the system starts no process: its filter refuses the system call clone3, as that of docker before 20.10.10"
_OF_COMPILERS = (
    ("tsan-distinguish-volatile", "the compiler is too old: it takes gcc 12 or clang 14, or newer; see --cc"),
    ("posix_spawn: Operation not permitted", _FILTER),
    ("posix_spawnp: Operation not permitted", _FILTER),
    ("No space left on device", f"{_PLACE}: {_ADVICE[errno.ENOSPC]}"),
    ("Disk quota exceeded", f"{_PLACE}: {_ADVICE[errno.EDQUOT]}"),
    (": Resource temporarily unavailable", f"the system starts no more processes: {_MANY}"),
    ("File size limit exceeded", _ADVICE[errno.EFBIG]),
)
"""What compilers say of a machine, and what it means for who started them."""


def advice(error: OSError) -> str:
    """What has failed, and what to change where that is known."""
    said = error.strerror or str(error)
    if said.startswith("No usable temporary directory"):
        if 0 <= resource.getrlimit(resource.RLIMIT_FSIZE)[0] < _NEEDED:  # -1: no limit
            return f"{_PLACE}: {_ADVICE[errno.EFBIG]}"
        return f"{_PLACE}: nothing can be written to /tmp; set TMPDIR to a folder that can be written to"
    change = _ADVICE.get(error.errno or 0)
    return said if change is None else f"{said}: {change}"


def compilers_advice(said: str) -> str | None:
    """The same, where a compiler has failed for want of something else than a right program."""
    return next((change for sign, change in _OF_COMPILERS if sign in said), None)


def old_processor(flags: str) -> str | None:
    """Why an instruction was not known to a processor that has these flags, as /proc/cpuinfo lists them: our own code asks
    before it uses what not every x86-64 has."""
    if "sse4_2" in flags.split():
        return None
    return (
        "numpy as it comes from PyPI needs a processor with SSE4.2, which this one has not: build it here"
        " (pip install --force-reinstall --no-binary numpy numpy)"
    )


def unloadable(said: str, folder: str) -> str | None:
    """Why a program that was built in that folder cannot be loaded from there."""
    if "failed to map segment" in said or "cannot enable executable" in said:
        return f"it was built in {folder}, from where nothing may be run (noexec): set TMPDIR to a folder without that"
    return None
