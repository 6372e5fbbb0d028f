"""The workers of a Ray cluster: the same verbs as ``local.Processes``, each item a task of its own.

Nodes may come and go. A task whose worker or node is lost is answered with ``WorkerDied``, as it is where a local process
ends; and where the whole cluster is lost, processes of this machine take its place, and begin with what was running there.
Answers do not depend on any of that.

Ray ends whoever has asked it a minute after its head is gone. So it is told to be patient, and it is we who look whether
somebody answers at the head's address.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import os
import socket
import time
from collections.abc import Callable
from typing import Any, Generic

from teetotal.scale.crew import Answer, Item, Tally, Work, WorkerDied, timed
from teetotal.scale.local import Processes, available_workers
from teetotal.scale.processes import any_size
from teetotal.scale.supervision import INCONCLUSIVE

LOCAL = "local"
_STORE = 100 << 20
"""Bytes for what is sent to and fro on a cluster of this machine: texts."""
_PATIENCE = 5.0
"""Seconds for an address to answer."""
_SHORT = 0.1
"""Seconds that are waited for an answer, at least, before it is looked again who is there."""
_NEVER = {"RAY_gcs_rpc_server_reconnect_timeout_s": "1000000000"}
"""When Ray gives up its head, and ends this process: not as long as we can tell."""


class Unavailable(Exception):
    """There is no such cluster: why."""


def look_for(address: str) -> None:
    """``Unavailable`` where it can be told without Ray, which takes its time, that there is none."""
    if importlib.util.find_spec("ray") is None:
        raise Unavailable("Ray is not installed (pip install 'ray>=2.9')")
    if address in (LOCAL, "auto"):
        return
    _knock(address)


def _knock(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> Unavailable:
    said = str(error).splitlines() or [type(error).__name__]
    return Unavailable(f"the cluster {address} cannot be reached ({said[0]})")


class Cluster(Generic[Item, Answer]):
    look = 5.0
    """Seconds between two looks at who is there: nodes may be added."""

    def __init__(self, work: Work[Item, Answer], address: str, warn: Callable[[str], None]) -> None:
        look_for(address)
        import ray

        self.ray: Any = ray
        self.work, self.warn = work, warn
        self.instead: Processes[Item, Answer] | None = None
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        for name, value in {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", **_NEVER}.items():
            os.environ.setdefault(name, value)
        try:
            with any_size():
                if not ray.is_initialized():
                    if address == LOCAL:
                        cores = available_workers()
                        ray.init(
                            address=LOCAL, num_cpus=cores, include_dashboard=False, object_store_memory=_STORE, **quiet
                        )
                    else:
                        ray.init(address=address, **quiet)
            self.size = self._processors()
            self.head = str(ray.get_runtime_context().gcs_address)
        except Exception as error:  # Ray has many, and what is no address is one of them
            raise _unreachable(address, error) from error
        self.task = self.ray.remote(timed).options(max_retries=0, num_cpus=1)
        self.tallies = [Tally() for _ in range(self.size)]
        self.running: dict[Any, tuple[int, Item, float, Tally]] = {}
        self.left: list[tuple[int, Item]] = []  # of a cluster that was lost
        self.looked = time.monotonic()

    def _processors(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    @property
    def free(self) -> int:
        return self.size - len(self.running) if self.instead is None else max(0, self.instead.free - len(self.left))

    def submit(self, number: int, item: Item) -> None:
        if self.instead is not None:
            return self.instead.submit(number, item)
        busy = [tally for _, _, _, tally in self.running.values()]
        tally = next((tally for tally in self.tallies if all(tally is not other for other in busy)), self.tallies[0])
        self.running[self.task.remote(self.work, item)] = (number, item, time.monotonic(), tally)
        return None

    def receive(self, seconds: float | None = None) -> tuple[int, Answer | WorkerDied] | None:
        until = math.inf if seconds is None else time.monotonic() + seconds
        while self.running or self.instead is not None:
            if self.instead is None and time.monotonic() - self.looked >= self.look:
                self._look_around()
            left = max(0.0, until - time.monotonic())
            if self.instead is not None:
                while self.instead.free and self.left:
                    self.instead.submit(*self.left.pop(0))
                return self.instead.receive(None if left == math.inf else left)
            wait = min(left, max(self.look, _SHORT))
            done, _ = self.ray.wait(list(self.running), num_returns=1, timeout=wait)
            if done:
                return self._taken(done[0])
            if left <= wait:
                break
        return None

    def _taken(self, reference: Any) -> tuple[int, Answer | WorkerDied]:
        number, _, began, tally = self.running.pop(reference)
        tally.busy += time.monotonic() - began
        try:
            answer: Answer
            answer, cpu = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            tally.died += 1
            self._look_around()
            return number, WorkerDied(str(error).splitlines()[0], INCONCLUSIVE)
        tally.done(answer, cpu)
        return number, answer

    def _look_around(self) -> None:
        """Now and then, and after a loss: who is there."""
        try:
            _knock(self.head)
            left = self._processors() if any(node["Alive"] for node in self.ray.nodes()) else 0
        except Exception:
            left = 0
        self.looked = time.monotonic()
        if left == 0:
            self.warn("the cluster is lost: processes of this machine take its place")
            self.instead = Processes(self.work, available_workers())
            self.left = [(number, item) for number, item, _, _ in self.running.values()]
            self.running = {}
        elif left < self.size:
            self.warn(f"the cluster has {left} processors left, of {self.size}")
        self.tallies += [Tally() for _ in range(left - len(self.tallies))]
        self.size = left or self.size

    def hurry(self, number: int) -> bool:
        return self.instead is not None and self.instead.hurry(number)  # Ray has no word for it

    def cancel(self, number: int) -> None:
        if self.instead is not None:
            self.instead.cancel(number)
        self.left = [(other, item) for other, item in self.left if other != number]
        for reference in [known for known, (other, *_) in self.running.items() if other == number]:
            self.ray.cancel(reference, force=True)
            del self.running[reference]

    def close(self) -> None:
        for number in [number for number, *_ in self.running.values()]:
            self.cancel(number)
        if self.instead is not None:
            self.instead.close()
