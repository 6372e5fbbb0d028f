"""What core/bindings/ exports, file by file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def __getattr__(name: str) -> Any: ...  # what is not described below yet

# -- graph.cpp --------------------------------------------------------------------------------------------------------

class MalformedError(ValueError):
    """``args`` are the event's number and what is wrong with it."""

    args: tuple[int, str]

def order_of_sc(
    kind: NDArray[np.uint8], address: NDArray[np.int32], wrote: NDArray[np.bool_], addresses: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def positions_in_thread(thread: NDArray[np.int32], threads: int) -> NDArray[np.int64]: ...

class Graph:
    def __init__(
        self,
        thread: NDArray[np.int32],
        kind: NDArray[np.uint8],
        address: NDArray[np.int32],
        wrote: NDArray[np.bool_],
        src: NDArray[np.int64],
        co: NDArray[np.int64],
        threads: int,
        addresses: int,
    ) -> None: ...
    def edges(self, with_po: bool) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]: ...
    def is_acyclic(self) -> bool: ...
    def components(self) -> NDArray[np.int32]: ...
    def shortest_cycle(self) -> list[tuple[int, int, int]]: ...
