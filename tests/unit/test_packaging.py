"""The address of the project in what is published: every link of the front page leads somewhere; nothing else changes."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def address() -> ModuleType:
    spec = importlib.util.spec_from_file_location("address", ROOT / "packaging" / "address.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_of_the_front_page_are_absolute(address: ModuleType) -> None:
    before = (ROOT / "README.md").read_text()
    after = address.absolute(before, "https://example.org/t")
    targets = re.findall(r"\]\(([^)\s]+)\)", after)
    assert len(targets) == len(re.findall(r"\]\(([^)\s]+)\)", before)) > 10
    for target in targets:
        assert target.startswith(("https://", "http://", "#"))
        file = target.removeprefix("https://example.org/t/").partition("#")[0]
        assert target.startswith("#") or not target.startswith("https://example.org") or (ROOT / file).exists()
    assert after.replace("https://example.org/t/", "") == before
    assert address.absolute("[a](#b) [c](https://d)", "x") == "[a](#b) [c](https://d)"


def test_metadata_says_where_things_are(address: ModuleType) -> None:
    before = (ROOT / "pyproject.toml").read_text()
    after = tomllib.loads(address.with_urls(before, "https://example.org/t"))
    urls = after["project"].pop("urls")
    assert urls["Documentation"] == "https://example.org/t/docs/index.md"
    assert urls["Source"] == "https://example.org/t"
    assert after == tomllib.loads(before)
