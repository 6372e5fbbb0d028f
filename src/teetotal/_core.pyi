import numpy as np
from numpy.typing import NDArray

_Words = NDArray[np.uint32]
_Bytes = NDArray[np.uint8]
_Found = tuple[int, int, int, int, int, int]

class Monitor:
    def __init__(
        self,
        name: str,
        *,
        rmw_flushes_all: bool = True,
        unlock_is_fence: bool = True,
        threads: int = 0,
        undo: bool = False,
        variant: bool = False,
    ) -> None: ...
    def step(self, thread: int, kind: int, writes: bool, address: int, location: int) -> _Found | None: ...
    def observe(
        self, thread: _Words, kind: _Bytes, writes: _Bytes, address: _Words, location: _Words
    ) -> list[_Found]: ...
    def summarise(self, thread: _Words, kind: _Bytes, writes: _Bytes, address: _Words, location: _Words) -> int: ...
    def distinct(self) -> list[tuple[int, _Found]]: ...
    def undo(self, count: int = 1) -> None: ...
    @property
    def events(self) -> int: ...
    @property
    def bytes(self) -> int: ...
