"""From ``channels/*.toml`` to programs: store buffering in which one access goes through a channel.

T0 stores X and loads Y, T1 stores Y and loads X. Either T0's store of X or T1's load of X goes through the channel; the
other thread is plain and has no fence, so that the program is not robust under TSO whatever the channel does. With a
fence in both threads it is robust.

Keys of a channel, each a piece of C: ``store`` (X changes), ``load`` (sets ``r`` from X), ``x`` (declares X), ``write`` and
``read`` (the plain statement and expression beside them), ``head`` (declarations), ``setup`` (in ``main``, before all).
Besides: ``include``; ``language``; ``flags``; ``compilers``; ``needs`` (a processor's feature); ``names`` (words by which a
note may name it, beside its lines and its title); ``object`` (the text of a file that is compiled natively, and ``link``:
what is made of it and how it is passed on). ``defaults`` of a file stand for what its channels leave out.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from teetotal.programs.c.build import Source

DATA = Path(__file__).parent / "channels"
COMPILERS = ("gcc", "clang")
Side = Literal["store", "load"]

TEMPLATE = """#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
{include}
int Y;
{x};
{head}
long seen;
static void *t0(void *unused) {{
{store}
{fence}
  int r0 = Y;
  return 0;
}}
static void *t1(void *unused) {{
  long r = 0;
  Y = 1;
{fence}
{load}
#ifdef SELFTEST
  seen = r;
#endif
  return 0;
}}
int main(void) {{
{setup}
#ifdef SELFTEST
  t1(0);
  long before = seen;
  t0(0);
  t1(0);
  return before == seen;
#else
  pthread_t a, b;
  pthread_create(&a, 0, t0, 0);
  pthread_create(&b, 0, t1, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
#endif
}}
"""


class Channel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: str
    name: str
    store: str = ""
    load: str = ""
    x: str = "int X"
    write: str = "X = 1;"
    read: str = "X"
    head: str = ""
    setup: str = ""
    include: str = ""
    language: Literal["c", "c++"] = "c"
    flags: tuple[str, ...] = ()
    compilers: tuple[str, ...] = COMPILERS
    needs: str = ""
    names: tuple[str, ...] = ()
    object: str = ""
    link: Literal["", "object", "archive", "shared", "library", "file"] = ""

    @property
    def sides(self) -> list[Side]:
        return [side for side, code in (("store", self.store), ("load", self.load)) if code]  # type: ignore[misc]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    channel: Channel
    side: Side
    compiler: str
    fenced: bool

    @property
    def title(self) -> str:
        fenced = "-fenced" if self.fenced else ""
        return f"{self.channel.kind}/{self.channel.name}-{self.side}{fenced}-{self.compiler}"

    @property
    def text(self) -> str:
        channel = self.channel
        plain = f"  r = (long)({channel.read});"
        return TEMPLATE.format(
            include="\n".join(f"#include <{header}>" for header in channel.include.split()),
            x=channel.x,
            head=channel.head,
            setup=channel.setup,
            fence="  __sync_synchronize();" if self.fenced else "",
            store=channel.store if self.side == "store" else channel.write,
            load=channel.load if self.side == "load" else plain,
        )

    def lines(self) -> set[int]:
        """Of the text, those that are the channel's own."""
        channel = self.channel
        own = channel.store if self.side == "store" else channel.load
        pieces = {
            line
            for piece in (own, channel.head, channel.x, channel.setup)
            for line in piece.splitlines()
            if line.strip("{} \t")
        }
        return {
            number
            for number, line in enumerate(self.text.splitlines(), 1)
            if line.rstrip(";") in pieces or line in pieces
        }

    def source(self, folder: Path) -> Source:
        """The program, written into a folder, with what it is linked with."""
        file = folder / ("program.c" if self.channel.language == "c" else "program.cc")
        file.write_text(self.text)
        flags = [flag.format(folder=folder) for flag in self.channel.flags]
        return Source((str(file),), (*flags, *self._linked(folder)), self.compiler)

    def _linked(self, folder: Path) -> list[str]:
        channel = self.channel
        if not channel.link:
            return []
        other, made = folder / "other.c", folder / "other.o"
        other.write_text(channel.object)
        if channel.link == "file":
            return []
        subprocess.run([self.compiler, "-O1", "-fPIC", "-c", str(other), "-o", str(made)], check=True)
        if channel.link == "object":
            return [str(made)]
        if channel.link == "archive":
            archive = folder / "libother.a"
            subprocess.run(["ar", "rcs", str(archive), str(made)], check=True)
            return [str(archive)]
        library = folder / "libother.so"
        subprocess.run([self.compiler, "-shared", str(made), "-o", str(library)], check=True)
        if channel.link == "shared":
            return [str(library), f"-Wl,-rpath,{folder}"]
        return [f"-L{folder}", "-lother", f"-Wl,-rpath,{folder}"]

    def native(self, folder: Path) -> str:
        """What is wrong with the program itself, run by one thread without any instrumentation; empty if nothing is."""
        source = self.source(folder)
        suite = {"gcc": "g++", "clang": "clang++"} if self.channel.language == "c++" else {}
        command = [
            suite.get(self.compiler, self.compiler),
            "-w",
            "-O0",
            "-fno-builtin",
            "-DSELFTEST",
            *source.files,
            "-o",
        ]
        binary = folder / "selftest"
        made = subprocess.run(
            [*command, str(binary), *source.flags, "-pthread"], capture_output=True, text=True, check=False
        )
        if made.returncode:
            return made.stderr
        ran = subprocess.run([str(binary)], capture_output=True, text=True, check=False, timeout=20, cwd=folder,
                             stdin=subprocess.DEVNULL)  # fmt: skip
        return "" if ran.returncode == 0 else f"status {ran.returncode}: {ran.stdout}{ran.stderr}"


@cache
def features() -> frozenset[str]:
    text = Path("/proc/cpuinfo").read_text()
    return frozenset(word for line in text.splitlines() if line.startswith("flags") for word in line.split())


@cache
def channels() -> list[Channel]:
    found = []
    for file in sorted(DATA.glob("*.toml")):
        tables = tomllib.loads(file.read_text())
        defaults = tables.pop("defaults", {})
        found += [msgspec.convert({**defaults, **table, "kind": file.stem, "name": name}, Channel)
                  for name, table in tables.items()]  # fmt: skip
    return found


def programs() -> Iterator[Program]:
    for channel in channels():
        for side in channel.sides:
            for compiler in channel.compilers:
                for fenced in (False, True):
                    yield Program(channel=channel, side=side, compiler=compiler, fenced=fenced)


def can_run(program: Program) -> bool:
    channel = program.channel
    return shutil.which(program.compiler) is not None and (not channel.needs or channel.needs in features())
