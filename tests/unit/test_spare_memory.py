"""How much memory may still be used: read from copies of /proc and of control groups as machines and containers have
them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from teetotal import _core

GIGABYTE = 1_000_000_000
MACHINE = 100 * GIGABYTE
UNLIMITED = 9_223_372_036_854_771_712  # as version 1 writes it
SECOND = "30 24 0:26 {group} {where} ro,nosuid - cgroup2 cgroup rw,nsdelegate"
FIRST = "31 24 0:27 {group} {where} rw,relatime shared:9 - cgroup cgroup rw,{controllers}"


class Machine:
    """A tree of files as the kernel shows them, below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.mounts = ["22 1 254:0 / / rw - ext4 /dev/vda rw"]
        self.write("proc/meminfo", f"MemTotal: 200000000 kB\nMemFree: 1 kB\nMemAvailable: {MACHINE // 1024} kB\n")
        self.groups()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def groups(self, *lines: str) -> None:
        self.write("proc/self/cgroup", "".join(f"{line}\n" for line in lines))

    def mount(self, line: str) -> None:
        self.mounts.append(line)
        self.write("proc/self/mountinfo", "".join(f"{line}\n" for line in self.mounts))

    def mount_second(self, where: str = "/sys/fs/cgroup", group: str = "/") -> None:
        self.mount(SECOND.format(group=group, where=where))

    def mount_first(self, where: str = "/sys/fs/cgroup/memory", group: str = "/", controllers: str = "memory") -> None:
        self.mount(FIRST.format(group=group, where=where, controllers=controllers))

    def second(self, folder: str, most: int | str, used: int, high: int | str = "max", **statistics: int) -> None:
        self.write(f"{folder}/memory.max", f"{most}\n")
        self.write(f"{folder}/memory.high", f"{high}\n")
        self.write(f"{folder}/memory.current", f"{used}\n")
        self.write(f"{folder}/memory.stat", "".join(f"{name} {value}\n" for name, value in statistics.items()))

    def first(self, folder: str, most: int, used: int, **statistics: int) -> None:
        self.write(f"{folder}/memory.limit_in_bytes", f"{most}\n")
        self.write(f"{folder}/memory.usage_in_bytes", f"{used}\n")
        self.write(f"{folder}/memory.stat", "".join(f"{name} {value}\n" for name, value in statistics.items()))

    @property
    def spare(self) -> int | None:
        return _core.spare_memory(str(self.root))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_without_groups_has_what_is_available(machine: Machine) -> None:
    assert machine.spare == MACHINE // 1024 * 1024


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert _core.spare_memory(str(tmp_path)) is None


def test_files_kept_in_memory_can_be_had(machine: Machine) -> None:
    """A container that has read many files: all of its limit is in use, nearly all of it by files that were read twice
    and are called active."""
    machine.groups("0::/")
    machine.mount_second()
    machine.second(
        "sys/fs/cgroup", 128_000, 128_000, anon=2000, active_file=110_000, inactive_file=10_000, slab_reclaimable=5000
    )
    assert machine.spare == 125_000


def test_shared_memory_and_what_is_yet_to_be_written_cannot_be_had(machine: Machine) -> None:
    machine.groups("0::/")
    machine.mount_second()
    statistics = {"file": 900, "shmem": 300, "unevictable": 100, "active_file": 300, "inactive_file": 200}
    machine.second("sys/fs/cgroup", 1000, 1000, file_dirty=40, file_writeback=10, **statistics)
    assert machine.spare == 450


def test_a_group_without_a_limit_has_what_the_machine_has(machine: Machine) -> None:
    machine.groups("0::/user.slice")
    machine.mount_second()
    machine.second("sys/fs/cgroup/user.slice", "max", 10**12)
    assert machine.spare == MACHINE // 1024 * 1024


def test_a_group_that_is_slowed_down_beyond_a_limit_has_that_limit(machine: Machine) -> None:
    machine.groups("0::/user.slice")
    machine.mount_second()
    machine.second("sys/fs/cgroup/user.slice", 2000, 100, high=1000)
    assert machine.spare == 900


def test_the_least_of_nested_groups_counts(machine: Machine) -> None:
    machine.groups("0::/machine.slice/pod/inner")
    machine.mount_second()
    machine.second("sys/fs/cgroup/machine.slice", "max", 7000)
    machine.second("sys/fs/cgroup/machine.slice/pod", 5000, 4000, inactive_file=500)
    machine.second("sys/fs/cgroup/machine.slice/pod/inner", 4000, 1000)
    assert machine.spare == 1500


def test_a_group_that_is_full_has_nothing(machine: Machine) -> None:
    machine.groups("0::/")
    machine.mount_second()
    machine.second("sys/fs/cgroup", 1000, 1100, anon=1100)
    assert machine.spare == 0


@pytest.mark.parametrize(
    ("group", "mounted"),
    [
        ("/../..", "/"),  # a process that came from outside into the container's name space
        ("/../neighbour", "/"),
        ("/", "/../.."),  # a mount from outside
        ("/docker/1f/inner", "/docker/1f/inner"),  # without a name space of its own
        ("/kubepods/pod", "/docker/1f"),  # a mount that somebody has made by hand
    ],
)
def test_a_container_is_limited_by_the_nearest_group_that_it_can_see(
    group: str, mounted: str, machine: Machine
) -> None:
    machine.groups(f"0::{group}")
    machine.mount_second(group=mounted)
    machine.second("sys/fs/cgroup", 3000, 2000, active_file=1000)
    assert machine.spare == 2000


def test_a_group_below_what_is_mounted_is_found(machine: Machine) -> None:
    machine.groups("0::/docker/1f/inner")
    machine.mount_second(group="/docker/1f")
    machine.second("sys/fs/cgroup", 9000, 0)
    machine.second("sys/fs/cgroup/inner", 3000, 2000)
    assert machine.spare == 1000


def test_version_1_counts_all_groups_below(machine: Machine) -> None:
    """Names that begin with total_ are of the whole group; others of its own processes, perhaps none."""
    machine.groups("5:cpu,cpuacct:/", "4:memory:/docker/1f")
    machine.mount_first("/sys/fs/cgroup/cpu", controllers="cpu,cpuacct")
    machine.mount_first(group="/docker/1f")
    statistics = {"active_file": 0, "total_active_file": 700, "total_inactive_file": 200, "total_shmem": 50}
    machine.first("sys/fs/cgroup/memory", 1000, 1000, total_dirty=80, total_writeback=20, **statistics)
    assert machine.spare == 800


def test_version_1_without_a_limit(machine: Machine) -> None:
    machine.groups("4:memory:/")
    machine.mount_first()
    machine.first("sys/fs/cgroup/memory", UNLIMITED, 10**9)
    assert machine.spare == MACHINE // 1024 * 1024


def test_both_versions_at_once(machine: Machine) -> None:
    """As systemd sets them up: memory is limited by version 1, and version 2 has processes only."""
    machine.groups("4:cpu,memory:/user", "1:name=systemd:/user", "0::/user")
    machine.mount_first("/sys/fs/cgroup/systemd", controllers="name=systemd")
    machine.mount_first("/sys/fs/cgroup/cpu,memory", controllers="cpu,memory")
    machine.mount_second("/sys/fs/cgroup/unified")
    machine.write("sys/fs/cgroup/unified/user/cgroup.procs", "1\n")
    machine.first("sys/fs/cgroup/cpu,memory/user", 6000, 5000)
    assert machine.spare == 1000


def test_a_mount_with_a_space_in_its_name(machine: Machine) -> None:
    machine.groups("0::/")
    machine.mount_second(r"/mnt/all\040groups")
    machine.second("mnt/all groups", 3000, 1000)
    assert machine.spare == 2000


def test_where_proc_hides_mounts_groups_are_where_they_usually_are(machine: Machine) -> None:
    machine.groups("4:memory:/a", "0::/b")
    machine.first("sys/fs/cgroup/memory/a", 4000, 1000)
    machine.second("sys/fs/cgroup/b", 3000, 1000)
    assert machine.spare == 2000


def test_where_there_is_no_proc_a_container_still_has_its_group(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (tmp_path / "proc/self/cgroup").unlink()
    (tmp_path / "proc/meminfo").unlink()
    machine.second("sys/fs/cgroup", 3000, 1000)
    assert machine.spare == 2000


def test_this_machine_has_memory_to_spare() -> None:
    """Less than there is, and more than a tenth of what the kernel calls available, unless somebody limits us."""
    spare = _core.spare_memory()
    there = re.search(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text())
    assert there is not None
    assert spare is not None
    assert 0 < spare <= 1024 * int(there[1])
