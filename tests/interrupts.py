"""For tests that press Ctrl-C on a process of their own."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """To be run in the child: who runs the tests in the background may have told them, and so it, to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
