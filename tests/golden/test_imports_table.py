"""The table of imports (runtime/hooks/imports.txt) says of each function what the runtime does, and a page shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import imports_page
from teetotal.engines.runtime import driver as runtime


def names(effect: str) -> set[str]:
    """Those of the table, without what `NAME*` stands for."""
    lines = (line.partition("#")[0].split() for line in table().read_text().splitlines())
    return {name for words in lines if words and words[0].startswith(effect) for name in words[1:]}


def table() -> Path:
    return runtime.executable().with_name("teetotal-imports.txt")


def exported(file: Path) -> set[str]:
    listed = subprocess.run(["nm", "-D", "--defined-only", file], capture_output=True, text=True, check=True).stdout
    return {line.split()[2].partition("@")[0] for line in listed.splitlines()}


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="c++filt is not installed")
def test_the_page_shows_the_table() -> None:
    assert imports_page.PAGE.read_text() == imports_page.page()


def test_the_table_and_the_runtime_agree() -> None:
    here = exported(runtime.executable())
    instrumented = exported(runtime.executable().with_name("teetotal-instrumented.so"))
    ours = {name for name in here if not name.startswith(("_Z", "teetotal_", "__tsan_", "__VERIFIER_"))}
    made_by_linker = {"__bss_start", "_edata", "_end", "_start", "_IO_stdin_used", "__data_start", "data_start", "main"}
    made_by_linker |= {"environ", "__environ"}  # copies
    known = names("")
    many = tuple(name[:-1] for name in known if name.endswith("*"))
    assert {name for name in ours - made_by_linker - known if not name.startswith(many)} == set()
    assert {name for name in names("modelled") if not name.endswith("*")} <= here
    done = {name.removeprefix("teetotal_") for name in here} | instrumented
    lines = (line.partition("#")[0].split() for line in table().read_text().splitlines())
    for words in lines:
        if not words or not words[0].startswith("replaced"):
            continue
        by = words[0].partition(":")[2]
        assert {by} <= done if by else {name for name in words[1:] if not name.endswith("*")} <= done, words


_VARIANT = re.compile(r"__(?P<fortified>\w+)_chk|__isoc\d\d_(?P<standard>\w+)|(?P<file>\w+)64|__(?P<flags>\w+)_2")


def test_no_variant_of_a_known_function_is_missing() -> None:
    """Of those that this machine's C library has, whichever that is."""
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line}
    if not loaded:
        pytest.skip("the C library is no libc.so, as glibc's is")
    known = names("")
    variants = {name: one for name in exported(Path(loaded.pop())) if (one := _VARIANT.fullmatch(name)) is not None}
    assert {
        n for n, one in variants.items() if any(plain in known for plain in one.groups()) and n not in known
    } == set()
