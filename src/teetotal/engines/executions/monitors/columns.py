"""Events as columns of numbers: what the core's monitors read."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from teetotal.answers.events import ORDERS, Event, Location

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Columns(NamedTuple):
    """An SC execution in the order in which it happened, one row an event.

    ``kind`` holds ``Kind`` numbers. ``writes`` tells an atomic operation that wrote from a failed compare-and-swap, and
    is ignored for all else. ``address`` and ``location`` number the addresses and the places in the program from 0,
    without gaps; fences have any address. ``threads`` is one more than the largest thread that will ever appear, None
    where that is not known. ``order``: C11's, by number; None where nobody asks for it.
    """

    thread: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    writes: NDArray[np.uint8]
    address: NDArray[np.uint32]
    location: NDArray[np.uint32]
    threads: int | None = None
    addresses: tuple[str, ...] = ()
    locations: tuple[Location | None, ...] = ()
    order: NDArray[np.uint8] | None = None

    def arrays(
        self,
    ) -> tuple[
        NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32],
        NDArray[np.uint8],
    ]:  # fmt: skip
        order = self.kind[:0] if self.order is None else self.order
        return self.thread, self.kind, self.writes, self.address, self.location, order

    def rows(self, chosen: slice) -> Columns:
        return self._replace(
            thread=self.thread[chosen],
            kind=self.kind[chosen],
            writes=self.writes[chosen],
            address=self.address[chosen],
            location=self.location[chosen],
            order=None if self.order is None else self.order[chosen],
        )


def columns(events: Sequence[Event]) -> Columns:
    """Addresses and locations are numbered as they appear. Events without a location get one each, by thread and index:
    that is where they stand in a straight-line thread."""
    import numpy as np

    addresses: dict[str, int] = {}
    places: dict[Hashable, int] = {}
    locations: list[Location | None] = []
    address, location = [], []
    for event in events:
        address.append(0 if event.address is None else addresses.setdefault(event.address, len(addresses)))
        place = event.id if event.location is None else event.location
        if place not in places:
            places[place] = len(places)
            locations.append(event.location)
        location.append(places[place])
    return Columns(
        np.array([event.thread for event in events], np.uint32),
        np.array([event.kind for event in events], np.uint8),
        np.array([event.writes for event in events], np.uint8),
        np.array(address, np.uint32),
        np.array(location, np.uint32),
        1 + max((event.thread for event in events), default=0),
        tuple(addresses),
        tuple(locations),
        np.array([ORDERS.index(event.order) for event in events], np.uint8),
    )
