"""A system of packages in a folder of its own, kept between runs, and commands run in it.

Made by ``debootstrap`` from the mirror that this machine's apt uses. Each command has mounts and processes of its own
(``unshare``): whatever happens to it, nothing of it is left. The network is this machine's, with its certificates and
what the environment says of pip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from portability.systems import BASIC, System

_OPEN = ("LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
_PASSED_ON = ("PIP_", "SSL_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "http_proxy", "https_proxy", "no_proxy")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_INSIDE = """
set -e
mount --rbind "$0" "$0"
for folder in proc dev sys; do mount --rbind /$folder "$0/$folder"; done
mount -t proc proc "$0/proc"
if [ -n "$OLD_SYSTEM" ]; then mkdir -p "$0/old"; mount --rbind "$OLD_SYSTEM" "$0/old"; fi
cd "$0"
mkdir -p .outside
pivot_root . .outside
umount -l /.outside
exec "$@"
"""
USER = "tester"
"""An ordinary user of each system."""


class CannotBeMade(Exception):
    """A system that this machine cannot make, and why."""


def needs() -> str | None:
    """What this machine lacks to make systems, if anything."""
    if os.geteuid() != 0:
        return "systems are made by root: debootstrap, chroot and mounts need it"
    missing = [tool for tool in ("debootstrap", "unshare", "chroot", "apt-get") if shutil.which(tool) is None]
    return f"systems are made with {', '.join(missing)}, which is not installed" if missing else None


def mirror() -> str:
    """Where this machine's own apt gets Debian's packages from."""
    listed = ["apt-get", "indextargets", "--format", "$(SITE) $(REPO_URI)", "Created-By: Packages", "Component: main"]
    lines = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\n")
    uris = [line.partition(" ")[2].strip("/") for line in lines if line.endswith(("/debian", "/debian/"))]
    if not uris:
        raise CannotBeMade("this machine's apt knows no mirror of Debian")
    return uris[0]


class Chroot:
    def __init__(self, system: System, folder: Path) -> None:
        self.system = system
        self.root = folder / system.name

    def make(self, packages: Iterable[str] = BASIC) -> None:
        """With these packages, as far as they are not there yet: everything that is installed is kept."""
        known = self.root / "etc" / "teetotal-packages"
        installed = set(known.read_text().split()) if known.exists() else set()
        missing = sorted(set(packages) - installed)
        if not missing:
            return
        if not known.exists():
            shutil.rmtree(self.root, ignore_errors=True)
            self.root.parent.mkdir(parents=True, exist_ok=True)
            command = ["debootstrap", "--variant=minbase", self.system.suite, str(self.root), mirror()]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CannotBeMade(f"debootstrap: {done.stdout.strip().splitlines()[-1:]}")
            known.touch()
        # Archives of releases that get no updates any more are signed for a time that is over.
        (self.root / "etc" / "apt" / "apt.conf.d" / "90kept").write_text('Acquire::Check-Valid-Until "false";\n')
        self._reach_the_network()
        install = f"apt-get update -qq; apt-get install -y -qq --no-install-recommends {' '.join(missing)}"
        done = self.run(["sh", "-ec", install])
        if done.returncode:
            raise CannotBeMade(f"apt-get install: {done.stderr.strip().splitlines()[-1:]}")
        self._reach_the_network()  # the package of certificates has put its own in the place of this machine's
        self.run(["sh", "-c", f"id {USER} >/dev/null 2>&1 || useradd --create-home {USER}"])
        known.write_text("\n".join(sorted(installed | set(missing))))

    def _reach_the_network(self) -> None:
        for file in (Path("/etc/resolv.conf"), _CERTIFICATES):
            target = self.root / file.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.exists():
                target.unlink(missing_ok=True)
                shutil.copyfile(file, target)

    def run(
        self,
        command: list[str],
        *,
        folder: str = "/",
        user: str | None = None,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
        old: Chroot | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """In the system, as root or as that user. What it prints goes to ``log``, if there is one. The files of an older
        system, if one is given, are in /old."""
        names = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
        names.pop("PIP_FIND_LINKS", None)  # a folder of this machine
        given = [*_OPEN, *(f"{name}={value}" for name, value in {**names, **(environment or {})}.items())]
        home = f"/home/{user}" if user else "/root"
        inner = ["env", "-i", f"HOME={home}", f"USER={user or 'root'}", *given, "sh", "-c", 'cd "$0" && exec "$@"']
        inner += [folder, *command]
        if user:
            inner = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *inner]
        outer = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _INSIDE, str(self.root), *inner]
        environ = {**os.environ, "OLD_SYSTEM": "" if old is None else str(old.root)}
        if log is None:
            return subprocess.run(outer, capture_output=True, text=True, errors="replace", check=False, env=environ)
        with log.open("w") as stream:
            return subprocess.run(outer, stdout=stream, stderr=subprocess.STDOUT, text=True, check=False, env=environ)

    def has(self, program: str) -> bool:
        return self.run(["sh", "-c", f"command -v {program}"]).returncode == 0
