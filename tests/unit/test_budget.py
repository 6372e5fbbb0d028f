"""What a question may cost, and who helps: time that runs out, copies of a process, and those that die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from teetotal.budget import Budget
from teetotal.scale.checkpoint import Checkpoint
from teetotal.scale.scale import Scale


def test_what_has_passed_is_gone() -> None:
    budget = Budget(60)
    assert 0 < budget.left <= 60
    assert not budget.over
    budget.started -= 50
    assert budget.left <= 10
    budget.started -= 50
    assert (budget.left, budget.limit, budget.over) == (0.0, 0.0, True)
    assert Budget().limit is None


def test_copies_tell_nobody_and_ask_nobody() -> None:
    budget = Budget(watcher=lambda *_: None, scale=Scale(3))
    found, interrupted = budget.by_copies(
        lambda item: (item, os.getpid(), budget.scale.workers, budget.watcher is None), [1, 2]
    )
    assert not interrupted
    assert [(answer[0], answer[2:]) for answer in found if answer is not None] == [(1, (1, True)), (2, (1, True))]
    assert all(answer is not None and answer[1] != os.getpid() for answer in found)
    assert budget.scale.workers == 3


def test_what_a_copy_that_died_would_have_said_is_found_out_here() -> None:
    here = os.getpid()

    def work(item: int) -> tuple[int, bool]:
        if item == 2 and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return item, os.getpid() == here

    assert Budget(scale=Scale(2)).by_copies(work, [1, 2, 3]) == ([(1, False), (2, True), (3, False)], False)


def test_whoever_keeps_what_is_known_works_in_parts(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path / "kept.db"), "a test", "", resume=False)
    assert Scale().alone
    assert not Scale(2).alone
    assert not Scale(checkpoint=checkpoint).alone
    checkpoint.close()
