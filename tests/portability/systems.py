"""The systems on which teetotal is tried: a release of Debian each, with its compilers and its Python.

What a distribution compiles with (``hardened``) is laid over a release as wrappers of its compilers
(packaging/as_ubuntu.sh), since Ubuntu's have such flags built in.
"""

from __future__ import annotations

from typing import NamedTuple


class System(NamedTuple):
    """``wheel_only``: too old to build there, but a wheel may well run. ``gcc`` and ``clang``: which versions programs are
    checked with and, where ``builds``, the project is built with; those that the release has not are left out."""

    name: str
    suite: str
    title: str
    python: str
    gcc: tuple[int, ...]
    clang: tuple[int, ...]
    hardened: bool = False
    wheel_only: bool = False

    @property
    def compilers(self) -> tuple[str, ...]:
        return (*(f"gcc-{version}" for version in self.gcc), *(f"clang-{version}" for version in self.clang))

    @property
    def packages(self) -> tuple[str, ...]:
        """Of all its compilers."""
        return (*self.compilers, *(f"g++-{version}" for version in self.gcc))


BASIC = ("ca-certificates", "ccache", "g++", "git", "make", "procps", "python3", "python3-dev", "python3-venv")
"""What a user needs to install from a checkout; git and ccache are ours."""
FOR_PYTHON = ("libffi-dev", "libssl-dev", "xz-utils", "zlib1g-dev")
"""What it takes to compile Python itself, where the release has none that is new enough."""
COMPARED = ("binutils", "clang", "file", "patch", "spin")
"""What the tests compare with besides, and any machine of a developer has."""

SYSTEMS = (
    System("debian-11", "bullseye", "Debian 11", "python3.11", (10,), (16,), wheel_only=True),
    System("debian-12", "bookworm", "Debian 12", "python3.11", (12,), (14, 15, 16, 19)),
    System("debian-13", "trixie", "Debian 13", "python3.13", (12, 13, 14), (17, 18, 19, 22)),
    System("debian-sid", "sid", "Debian sid", "python3.14", (13, 14, 15, 16), (19, 21, 22, 23)),
    System("hardened", "trixie", "Debian 13, gcc 13 with Ubuntu's flags", "python3.13", (13,), (18,), hardened=True),
)
