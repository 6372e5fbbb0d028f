"""Events as columns of numbers: what the core's monitors read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    order: NDArray[np.uint8] | None = None

    def arrays(
        self,
    ) -> tuple[
        NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32],
        NDArray[np.uint8],
    ]:  # fmt: skip
        order = self.kind[:0] if self.order is None else self.order
        return self.thread, self.kind, self.writes, self.address, self.location, order
