"""Progress on a real terminal, of every verb that may take long."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from captures import COMMANDS, SHOWN, captured, prepare

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux has the terminal")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("captures")
    prepare(made)
    return made


@pytest.mark.parametrize("verb", COMMANDS)
def test_progress_is_shown(verb: str, folder: Path) -> None:
    screen = captured(verb, folder)
    line = SHOWN.search(screen)
    assert line is not None
    assert len(line[0]) <= 80
    assert screen.count("\n") - screen.rstrip("\n").count("\n") > 15, f"more than a line or two: {screen}"
