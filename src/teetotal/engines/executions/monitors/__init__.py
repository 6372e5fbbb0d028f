"""Monitors: from one SC execution to the TSO or PSO executions beside it that are not SC.

A monitor reads the events of an SC execution in the order in which they happened. It reports an event ``e`` when, on
the relaxed machine, ``e`` could take effect before a store ``e′`` although the SC execution shows ``e′ →* prev → e``:
that other execution has the happens-before cycle ``e′ →* prev → e → e′``.

>>> import teetotal
>>> from teetotal.answers.events import Event, Kind
>>> buffering = [Event(0, 0, Kind.ST, "x", 1), Event(0, 1, Kind.LD, "y", 0),
...              Event(1, 0, Kind.ST, "y", 1), Event(1, 1, Kind.LD, "x", 1)]
>>> [(found.delayed, found.previous, found.deciding) for found in teetotal.monitor(buffering).violations]
[(0, 2, 3), (0, 2, 3)]

The algorithms are C++ (``core/monitors``); ``witness`` turns a report into a schedule that the machine of ``models``
accepts. docs/explanation/monitors.md has the theory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from teetotal.answers.errors import TeetotalError
from teetotal.answers.events import Semantics
from teetotal.answers.strategies import Strategy
from teetotal.engines.executions.monitors.columns import Columns

if TYPE_CHECKING:
    from teetotal._core import Monitor as _Monitor

__all__ = [
    "MONITORS",
    "Columns",
    "Distinct",
    "MonitorInfo",
    "Report",
    "Stream",
    "monitor_info",
]


class MonitorInfo(msgspec.Struct, frozen=True):
    """``complete_over``: what must be monitored to miss no program that is not robust: every ``interleavings``, one
    execution of each class of equivalent ones (``classes``), or not even everything is enough (``nothing``): the report's
    monitorPSO forgets a thread's older stores at its next write to their address, which misses some behind an sfence."""

    name: str
    model: Literal["tso", "pso", "c11"]
    paper: str
    complete_over: Literal["interleavings", "classes", "nothing"]

    @property
    def knows_waiting(self) -> bool:
        """Whether it is told what older values lead to: see core/monitors/exact.hpp."""
        return self.paper == "ours"

    @property
    def over_classes(self) -> bool:
        return self.complete_over == "classes"

    def misses_nothing(self, strategy: Strategy) -> bool:
        """Where the strategy leaves nothing out."""
        return self.over_classes or (self.complete_over == "interleavings" and not strategy.is_reduced)


_BURNIM = "Burnim, Sen, Stergiou (TACAS 2011)"
_REPORT = "Burnim, Sen, Stergiou (UCB/EECS-2010-31)"
_SOBER = "Burckhardt, Musuvathi (MSR-TR-2008-12), Figs 2, 3"

MONITORS: dict[str, MonitorInfo] = {
    info.name: info
    for info in (
        MonitorInfo("exact-tso", "tso", "ours", "classes"),
        MonitorInfo("exact-pso", "pso", "ours", "classes"),
        MonitorInfo("burnim-tso", "tso", f"{_BURNIM}, Fig. 4", "interleavings"),
        MonitorInfo("burnim-pso", "pso", f"{_BURNIM}, Fig. 5", "interleavings"),
        MonitorInfo("burnim-tso-report", "tso", f"{_REPORT}, Fig. 4", "interleavings"),
        MonitorInfo("burnim-pso-report", "pso", f"{_REPORT}, Fig. 5", "nothing"),
        MonitorInfo("sober-corrected", "tso", f"{_SOBER}, corrected", "classes"),
        MonitorInfo("sober", "tso", f"{_SOBER}, as printed", "nothing"),
    )
}
"""Over executions of a search, and over recorded traces."""
EXACT_C11 = MonitorInfo("exact-c11", "c11", "ours", "classes")
"""Of traces over those alone that say which order an access has."""


class Report(msgspec.Struct, frozen=True):
    """Numbers of events in the monitored order, from 0, and the numbers of their places in the program.

    ``delayed`` is the store e′ that stays behind, ``deciding`` the event e that overtakes it, ``previous`` the event of
    e's thread just before e. ``race``, of exact-c11: ``delayed`` and ``deciding`` are a data race.
    """

    monitor: str
    model: Literal["tso", "pso", "c11"]
    delayed: int
    previous: int
    deciding: int
    delayed_location: int
    previous_location: int
    deciding_location: int
    race: bool = False

    @property
    def pair(self) -> tuple[int, int]:
        """What makes two violations the same in the TACAS paper: the places of e′ and e."""
        return self.delayed_location, self.deciding_location

    @property
    def triple(self) -> tuple[int, int, int]:
        """What makes them the same in the technical report: the places of e′, prev and e."""
        return self.delayed_location, self.previous_location, self.deciding_location


class Distinct(msgspec.Struct, frozen=True):
    """A violation that occurred ``count`` times at the same places, and its first report."""

    first: Report
    count: int


class Stream:
    """A monitor that is fed piece by piece.

    ``threads``: how many there will be, where that is known: then fewer writes need to be remembered, and a thread
    beyond them is an error. ``undo``: keep what is needed to take events back.
    """

    def __init__(
        self,
        name: str,
        semantics: Semantics = Semantics(),
        *,
        threads: int | None = None,
        undo: bool = False,
    ) -> None:
        from teetotal import _core

        self.info = monitor_info(name)
        self._monitor: _Monitor = _core.Monitor(
            name,
            rmw_flushes_all=semantics.rmw == "all",
            unlock_is_fence=semantics.mutex == "fence",
            threads=threads or 0,
            undo=undo,
        )

    def observe(self, events: Columns) -> list[Report]:
        """Every report that these events give."""
        return [self._report(*found) for found in self._monitor.observe(*events.arrays())]

    def summarise(self, events: Columns) -> int:
        """How many reports these events give; they are kept by place only, in ``distinct``."""
        return self._monitor.summarise(*events.arrays())

    def distinct(self, since: int = 0) -> list[Distinct]:
        """What ``summarise`` has seen so far, grouped by triple, in order of first occurrence; ``since``: without so many
        at the beginning."""
        return [Distinct(self._report(*first), count) for count, first in self._monitor.distinct(since)]

    def undo(self, count: int = 1) -> None:
        """Takes the latest events back."""
        self._monitor.undo(count)

    @property
    def events(self) -> int:
        return self._monitor.events

    @property
    def bytes(self) -> int:
        """The memory in use by the monitor's state."""
        return self._monitor.bytes

    def _report(self, *found: Any) -> Report:
        return Report(self.info.name, self.info.model, *found)


def monitor_info(name: str) -> MonitorInfo:
    if name == EXACT_C11.name:
        return EXACT_C11
    if name not in MONITORS:
        raise TeetotalError(f"no monitor is called {name}; there are {', '.join(MONITORS)}, {EXACT_C11.name}")
    return MONITORS[name]
