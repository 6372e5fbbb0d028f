"""Deterministic by default: fixed seeds, no clocks.

``TEETOTAL_PROFILE=fuzz`` draws new examples in every run and keeps what fails (``make fuzz``); ``mutants`` is the default
without making counterexamples small (``make mutants`` only wants to know that there is one). ``TEETOTAL_PERCENT`` scales
the number of examples of every random test (``make sanitize`` runs fewer, since each takes longer).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

import built_once
from amounts import PERCENT, some
from costs import Costs

_COMMON: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}
settings.register_profile("test", derandomize=True, database=None, **_COMMON)
settings.register_profile("fuzz", derandomize=False, print_blob=True, **_COMMON)
settings.register_profile(
    "mutants", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate], **_COMMON
)
os.environ.pop("TEETOTAL_COLUMNS", None)  # text is compared as pipes get it
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the command is started a thousand times
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it,
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and what nohup starts this one
settings.load_profile(os.environ.get("TEETOTAL_PROFILE", "test"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="tell where the processor's seconds go, by kind and by test")


def pytest_configure(config: pytest.Config) -> None:
    built_once.install()
    if config.getoption("--costs"):
        costs = Costs()
        costs.watch()
        config.pluginmanager.register(costs, "costs")


def pytest_collection_finish() -> None:
    """What is loaded and collected stays: looking through it for garbage again and again took a tenth of the whole run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # what nobody looks for at the end, the bindings take for lost


def pytest_itemcollected(item: pytest.Item) -> None:
    test = getattr(item, "obj", None)
    chosen = getattr(test, "_hypothesis_internal_use_settings", None)
    if PERCENT != 100 and chosen is not None:
        scaled = settings(chosen, max_examples=some(chosen.max_examples, least=5))
        test._hypothesis_internal_use_settings = scaled  # type: ignore[union-attr]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process, in a folder of its own: status, standard output, standard error."""
    from teetotal.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["teetotal", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, captured.out, captured.err

    return call


_SHAPES: set[Any] = set()


@pytest.fixture(autouse=True, scope="session")
def _all_json_is_as_the_schema_says() -> Iterator[None]:
    """Of all that tests make an answer's JSON of, in this process: each new shape is compared with the schema."""
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        yield
        return
    import answers_as_json
    from teetotal.report import html  # noqa: F401  # loaded before: what it puts into the page is no answer any more
    from teetotal.report import json as report

    encoded = report.encoded

    def checked(plain: dict[str, Any]) -> str:
        line = encoded(plain)
        found = answers_as_json.shape(plain)
        if found not in _SHAPES:
            _SHAPES.add(found)
            answers_as_json.check(line)
        return line

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "encoded", checked)
        yield
