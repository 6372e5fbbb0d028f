"""A virtual machine that sees this machine's files: for what only another kernel, or another processor, can show.

It needs qemu-system-x86, busybox-static, kmod and the kernel of Debian, which is fetched into build/portability/kernel. It
begins with a file system in memory, puts the root of this machine in its place, read-only, by 9p, and runs commands that
lie in a folder which both see. Everything is emulated, so that processors can be older than this one: ten times slower.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

KERNEL = Path(__file__).parents[1] / "build" / "portability" / "kernel"
MODULES = ("9p.ko", "9pnet_virtio.ko", "virtio_pci.ko", "overlay.ko")
PROGRAMS = ("qemu-system-x86_64", "busybox", "depmod", "dpkg-deb", "apt-get", "cpio")
PATIENCE = 1200

INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /sys /dev /root
$b mount -t proc proc /proc
for module in $($b cat /modules/order); do $b insmod /modules/$module; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /root
for kind in proc sysfs devtmpfs; do
  case $kind in proc) at=proc ;; sysfs) at=sys ;; devtmpfs) at=dev ;; esac
  $b mount -t $kind $kind /root/$at
done
$b mount -t cgroup2 groups /root/sys/fs/cgroup
$b mount -t tmpfs tmp /root/tmp
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 job /root/mnt
$b chroot /root /bin/sh /mnt/job.sh
$b poweroff -f
"""
JOB = """export PATH=/usr/local/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
ip link set lo up 2>/dev/null
{setup}
[ {shared} = 1 ] || {{ cp -r /mnt/here /tmp/here; ln -s /tmp/here /tmp/job; }}
cd {folder} && exec {python} /mnt/run.py
"""
RUN = """import json, subprocess
results = []
for words in json.load(open("/mnt/commands.json")):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace")
    results.append([done.returncode, done.stdout, done.stderr])
    json.dump(results, open("/mnt/results.json", "w"))
"""


def why_not() -> str:
    """Why there can be none here; empty where there can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"without {', '.join(missing)} there is no virtual machine" if missing else ""


@cache
def _kernel() -> tuple[Path, Path]:
    """The kernel, and what it begins with."""
    KERNEL.mkdir(parents=True, exist_ok=True)
    if not list(KERNEL.glob("boot/vmlinuz-*")):
        depends = subprocess.run(
            ["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=True
        )
        name = next(line.split()[-1] for line in depends.stdout.splitlines() if "Depends: linux-image" in line)
        subprocess.run(["apt-get", "download", name], cwd=KERNEL, check=True, capture_output=True)
        subprocess.run(["dpkg-deb", "-x", str(next(KERNEL.glob("*.deb"))), str(KERNEL)], check=True)
    image = next(KERNEL.glob("boot/vmlinuz-*"))
    release = image.name.removeprefix("vmlinuz-")
    subprocess.run(["depmod", "-b", str(KERNEL), release], check=True)
    folder = KERNEL / "lib" / "modules" / release
    beginning = KERNEL / "beginning"
    shutil.rmtree(beginning, ignore_errors=True)
    (beginning / "bin").mkdir(parents=True)
    (beginning / "modules").mkdir()
    busybox = shutil.which("busybox")
    assert busybox is not None
    shutil.copy(busybox, beginning / "bin" / "busybox")
    order: list[str] = []
    for line in (folder / "modules.dep").read_text().splitlines():
        module, _, needed = line.partition(":")
        if module.rpartition("/")[2] in MODULES:
            order += [path for path in [*reversed(needed.split()), module] if path not in order]
    for path in order:
        shutil.copy(folder / path, beginning / "modules")
    (beginning / "modules" / "order").write_text("\n".join(Path(path).name for path in order))
    (beginning / "init").write_text(INIT)
    (beginning / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(beginning)) for path in sorted(beginning.rglob("*")))
    archive = subprocess.run(
        ["cpio", "-o", "-H", "newc"], cwd=beginning, input=names.encode(), capture_output=True, check=True
    )
    (KERNEL / "beginning.gz").write_bytes(gzip.compress(archive.stdout, 1))
    return image, KERNEL / "beginning.gz"


def run(
    commands: Sequence[Sequence[str]],
    here: Path,
    *,
    python: str,
    cpu: str = "max",
    memory: int = 2048,
    processors: int = 2,
    setup: str = "",
    shared: bool = False,
    options: str = "",
) -> list[tuple[int, str, str]]:
    """Status, standard output and standard error of each command, run in a copy of the folder; with ``shared`` in the
    folder itself, which there is on 9p. ``setup`` is done before, by a shell; ``options`` are the kernel's."""
    image, beginning = _kernel()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="machine-") as name:
        job = Path(name)
        shutil.copytree(here, job / "here")
        (job / "commands.json").write_text(json.dumps([list(words) for words in commands]))
        (job / "run.py").write_text(RUN)
        folder = "/mnt/here" if shared else "/tmp/here"
        script = JOB.format(setup=setup, shared=int(shared), folder=folder, python=python)
        (job / "job.sh").write_text(script)
        devices: list[str] = []
        for tag, path, mode in (("host", "/", ",readonly=on"), ("job", name, "")):
            files = f"local,id={tag},path={path},security_model=none,multidevs=remap{mode}"
            devices += ["-fsdev", files, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        machine = ["-machine", "pc,accel=tcg", "-cpu", cpu, "-m", str(memory), "-smp", str(processors)]
        begin = ["-kernel", str(image), "-initrd", str(beginning), "-append", f"console=ttyS0 panic=1 {options}"]
        command = ["qemu-system-x86_64", "-nographic", "-no-reboot", *machine, *begin, *devices]
        said = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE
        )
        found = job / "results.json"
        results = json.loads(found.read_text()) if found.exists() else []
        if len(results) != len(commands):
            raise SystemExit(f"the virtual machine has ended too early:\n{said.stdout[-2000:]}{said.stderr}")
        return [(status, out, err) for status, out, err in results]
