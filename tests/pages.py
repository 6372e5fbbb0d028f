"""The HTML report in a browser, for tests and for the pictures in the docs.

``python tests/pages.py`` takes the pictures again (``make screenshots``). Without Chromium, or without what drives it,
tests of the page are skipped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from small_programs import ld, program, st
from teetotal.answers.check import CheckAnswer, ModelAnswer
from teetotal.answers.events import Commit, Issue, Location, ModelName, Semantics, Step
from teetotal.answers.schedules import with_choices
from teetotal.answers.verdict import Verdict
from teetotal.answers.violation import Violation
from teetotal.engines import story
from teetotal.models import Run
from teetotal.programs.program import Program

ROOT = Path(__file__).resolve().parents[1]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def digest() -> str:
    """Of everything that the page is built from, as ``web/seal.mjs`` computes it."""
    web = ROOT / "web"
    top = ("index.html", "package-lock.json", "package.json", "seal.mjs", "tsconfig.json", "vite.config.ts")
    names = sorted([*top, *(f"src/{path.name}" for path in (web / "src").iterdir())])
    whole = hashlib.sha256()
    for name in names:
        whole.update(f"{name}\0".encode() + (web / name).read_bytes() + b"\0")
    return whole.hexdigest()


class Visit:
    """One page in a browser: what it said on its console, and what it asked of the network."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        self.opened: list[str] = []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, path: Path) -> None:
        self.opened.append(path.resolve().as_uri())
        self.page.goto(self.opened[-1])
        self.page.wait_for_selector("html[data-ready]")
        self.page.wait_for_function(
            "!document.querySelector('.player') || document.querySelector('.status').textContent"
        )

    def states(self) -> list[tuple[str, list[list[str]], dict[str, str]]]:
        """What is shown at every place of the slider: the step, the buffers, and memory."""
        shown: list[tuple[str, list[list[str]], dict[str, str]]] = self.page.evaluate(
            """() => {
              const slider = document.querySelector('.controls input[type=range]');
              const shown = [];
              for (let at = 0; at <= Number(slider.max); at++) {
                slider.value = String(at);
                slider.dispatchEvent(new Event('input'));
                const buffers = [...document.querySelectorAll('.buffer')].map(
                  (buffer) => [...buffer.querySelectorAll('.entry')].map((entry) => entry.textContent));
                const memory = Object.fromEntries([...document.querySelectorAll('.memory .value')].map(
                  (value) => [value.dataset.address, value.textContent]));
                shown.push([document.querySelector('.status').textContent, buffers, memory]);
              }
              return shown;
            }"""
        )
        return shown


@contextmanager
def visiting(**settings: Any) -> Iterator[Visit]:
    driver = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("there is no Chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with driver.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=BROWSER, args=arguments)
        try:
            yield Visit(browser.new_page(viewport={"width": 1500, "height": 1000}, **settings))
        finally:
            browser.close()


def machine(subject: Program, violation: Violation) -> list[tuple[list[list[str]], dict[str, str]]]:
    """What the specification's machine holds before the first step of a violation and after each: buffers and memory."""
    token = next(word for word in violation.replay.split() if ":" in word)
    model, schedule, semantics = with_choices(token, list(subject.memory))
    run = Run(subject, model, semantics)
    touched = {event.address for event in violation.events} | set(violation.initial)

    def state() -> tuple[list[list[str]], dict[str, str]]:
        held = [[_entry(write) for write in run.memory.buffered(thread)] for thread in range(subject.thread_count)]
        return held, {name: str(write.value) for name, write in run.memory.m.items() if name in touched}

    states = [state()]
    for step in schedule:
        assert isinstance(step, Issue | Commit)
        run.take(step)
        states.append(state())
    return states


def _entry(write: Any) -> str:
    return "sfence" if write is None else f"{write.address}={write.value}"


def long_answer(count: int, model: ModelName = "tso") -> CheckAnswer:
    """An execution of about so many events, store buffering at its end."""
    half = count // 2 - 2
    code = [[st(f"{name}{number % 7}", number) for number in range(half)] for name in "ab"]
    subject = program([*code[0], st("x", 1), ld("r", "y")], [*code[1], st("y", 1), ld("r", "x")])
    subject = _located(subject)
    steps: list[Step] = [step for _ in range(half) for p in (0, 1) for step in (Issue(p), Commit(p))]
    steps += [Issue(0), Issue(0), Issue(1), Issue(1), Commit(0), Commit(1)]
    found = story.violation(subject, model, steps, Semantics(), kind="robustness")
    result = ModelAnswer(verdict=Verdict.VIOLATION, robust=False, safe=None, violations=[found])
    return CheckAnswer(
        input="long.py",
        command="check",
        verdict=Verdict.VIOLATION,
        complete=True,
        seconds=0.0,
        models={model: result},
        violations=[found],
    )


def _located(subject: Program) -> Program:
    from msgspec.structs import replace

    threads = [
        replace(
            thread, code=tuple(replace(one, location=Location("long.py", at)) for at, one in enumerate(thread.code, 1))
        )
        for thread in subject.threads
    ]
    return replace(subject, threads=tuple(threads))


def take_pictures(folder: Path) -> None:
    """Those that the docs show: of ``examples/``, in light and dark."""
    import subprocess
    import tempfile

    pictures = {
        "page-check": ["check", "examples/dekker.c", "--model", "tso"],
        "page-fence": ["fence", "examples/dekker.c", "--model", "tso"],
        "page-history": ["history", "examples/histories/causal.txt"],
    }
    with tempfile.TemporaryDirectory() as scratch:
        for name, command in pictures.items():
            page = Path(scratch) / f"{name}.html"
            whole = [sys.executable, "-m", "teetotal", *command, "--html", str(page)]
            subprocess.run(whole, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
            with visiting(color_scheme="dark" if name == "page-fence" else "light") as visit:
                visit.open(page)
                visit.page.wait_for_timeout(300)  # what is drawn is drawn in the next frame
                visit.page.screenshot(path=folder / f"{name}.png")
                assert not visit.said, visit.said


if __name__ == "__main__":
    take_pictures(ROOT / "docs" / "pictures")
