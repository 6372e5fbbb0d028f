"""Machines that are not this one, imitated: what a command finds there when it is started through here.

    python tests/machines.py seccomp=docker namespaces=none -- COMMAND…

Each change is made to this process, which then becomes the command. Some need root, or a kernel that lets users make name
spaces: ``why_not``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)

# ---- system calls that are refused, by a filter of the kernel's

_NUMBERS = {
    "clone": 56, "ptrace": 101, "syslog": 103, "personality": 135, "ustat": 136, "sysfs": 139, "vhangup": 153,
    "pivot_root": 155, "_sysctl": 156, "prctl": 157, "arch_prctl": 158, "adjtimex": 159, "acct": 163,
    "settimeofday": 164, "mount": 165,
    "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "iopl": 172, "ioperm": 173, "create_module": 174,
    "init_module": 175, "delete_module": 176, "get_kernel_syms": 177, "query_module": 178, "quotactl": 179,
    "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238,
    "get_mempolicy": 239, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256,
    "unshare": 272, "move_pages": 279, "vmsplice": 278, "perf_event_open": 298, "fanotify_init": 300,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "seccomp": 317, "memfd_create": 319, "kexec_file_load": 320,
    "bpf": 321, "userfaultfd": 323, "membarrier": 324, "pkey_mprotect": 329, "rseq": 334, "io_uring_setup": 425,
    "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_open": 434, "clone3": 435, "close_range": 436,
    "openat2": 437, "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443, "landlock_create_ruleset": 444,
    "memfd_secret": 447, "set_mempolicy_home_node": 450,
}  # fmt: skip

# What the default profile of docker, podman and containerd refuses a container that is given no capabilities, as its
# documentation lists it. (The profile itself is a list of what is allowed.)
_DOCKER = (
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module",
    "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms",
    "get_mempolicy", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl",
    "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mbind", "migrate_pages", "mount",
    "mount_setattr", "move_mount", "move_pages", "nfsservctl", "open_by_handle_at", "open_tree",
    "perf_event_open", "pidfd_getfd", "pivot_root", "query_module", "quotactl", "quotactl_fd", "reboot",
    "request_key", "set_mempolicy", "set_mempolicy_home_node", "setns", "settimeofday", "swapoff", "swapon",
    "syslog", "sysfs", "_sysctl", "umount2", "unshare", "userfaultfd", "ustat", "vhangup", "vmsplice",
)  # fmt: skip
_NEW_NAMESPACES = 0x7E020000
_ALLOWED_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)

_SETS: dict[str, dict[str, int]] = {
    "docker": dict.fromkeys(_DOCKER, errno.EPERM) | {"clone3": errno.ENOSYS},
    # Before 4.8 a tracer could change what a filter had looked at, so old profiles refuse these too.
    "old-docker": dict.fromkeys([*_DOCKER, "ptrace", "process_vm_readv", "process_vm_writev"], errno.EPERM)
    | dict.fromkeys(("clone3", "membarrier", "rseq", "close_range", "openat2", "pidfd_open"), errno.EPERM),
    # What gVisor's documentation lists as missing, and an overlay that users cannot mount.
    "gvisor": dict.fromkeys(
        ("userfaultfd", "process_vm_writev", "pkey_mprotect", "io_uring_enter", "io_uring_register",
         "perf_event_open", "bpf", "kcmp", "mount_setattr", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
         "landlock_create_ruleset", "memfd_secret", "clone3", "rseq", "openat2", "pidfd_open", "name_to_handle_at"),
        errno.ENOSYS,
    ),
    # Ubuntu since 24.04: whoever is no root may make a user namespace, and has no capabilities in it.
    "apparmor": dict.fromkeys(("mount", "mount_setattr", "umount2"), errno.EACCES),
    "personality": {"personality": errno.EPERM},
    "no-filters": {"seccomp": errno.ENOSYS},
    "old-kernel": dict.fromkeys(
        ("close_range", "clone3", "mount_setattr", "openat2", "pidfd_open", "rseq", "memfd_secret", "io_uring_setup"),
        errno.ENOSYS,
    ),
    "no-memfd": {"memfd_create": errno.ENOSYS},
}  # fmt: skip

_LOAD, _JEQ, _JSET, _JUMP, _RETURN = 0x20, 0x15, 0x45, 0x05, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X86_64 = 0xC000003E
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_PR_SET_DUMPABLE = 4


def _instruction(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, k)


def _refused(number: int, error: int) -> bytes:
    return _instruction(_JEQ, number, 0, 1) + _instruction(_RETURN, _ERRNO | error)


def _install(program: bytes) -> None:
    """``program`` comes after a look at the processor's kind, and begins with the number of the call."""
    whole = _instruction(_LOAD, 4) + _instruction(_JEQ, _X86_64, 1, 0) + _instruction(_RETURN, _ALLOW)
    whole += _instruction(_LOAD, 0) + program + _instruction(_RETURN, _ALLOW)
    code = ctypes.create_string_buffer(whole, len(whole))
    filters = struct.pack("HxxxxxxP", len(whole) // 8, ctypes.addressof(code))
    _ask("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _ask("prctl", _PR_SET_SECCOMP, _FILTER, ctypes.create_string_buffer(filters, len(filters)), 0, 0)


def _ask(function: str, *arguments: object) -> int:
    answer: int = getattr(_LIBC, function)(*arguments)
    if answer == -1:
        raise OSError(ctypes.get_errno(), f"{function}: {os.strerror(ctypes.get_errno())}")
    return answer


def seccomp(name: str) -> None:
    """Refuse the system calls of that set, as containers do."""
    calls = _SETS[name]
    program = b"".join(_refused(_NUMBERS[call], error) for call, error in calls.items())
    if name.endswith("docker"):
        refuse = _instruction(_RETURN, _ERRNO | errno.EPERM)
        flags = _instruction(_LOAD, 16) + _instruction(_JSET, _NEW_NAMESPACES, 0, 1) + refuse
        clone = flags + _instruction(_RETURN, _ALLOW)
        program += _instruction(_JEQ, _NUMBERS["clone"], 0, len(clone) // 8) + clone
        allowed = b"".join(
            _instruction(_JEQ, value, 0, 1) + _instruction(_RETURN, _ALLOW) for value in _ALLOWED_PERSONALITIES
        )
        personality = _instruction(_LOAD, 16) + allowed + refuse
        program += _instruction(_JEQ, _NUMBERS["personality"], 0, len(personality) // 8) + personality
    if name == "no-filters":  # also by its older name
        again = _instruction(_LOAD, 16) + _refused(_PR_SET_SECCOMP, errno.EINVAL) + _instruction(_RETURN, _ALLOW)
        program += _instruction(_JEQ, _NUMBERS["prctl"], 0, len(again) // 8) + again
    _install(program)


# ---- name spaces and mounts

_NEW_MOUNTS, _NEW_USERS, _NEW_PROCESSES = 0x20000, 0x10000000, 0x20000000
_READ_ONLY, _NO_EXECUTION, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 8, 32, 4096, 16384, 1 << 18


def _mount(what: str, where: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    encoded = [None if text is None else text.encode() for text in (what, where, kind)]
    _ask("mount", *encoded, ctypes.c_ulong(flags), options.encode())


_own_mounts = False


def _with_own_mounts() -> None:
    global _own_mounts
    if not _own_mounts:
        if os.geteuid() == 0:
            _ask("unshare", _NEW_MOUNTS)
        else:
            user, group = os.geteuid(), os.getegid()
            _ask("unshare", _NEW_USERS | _NEW_MOUNTS)
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"0 {user} 1")
            _write("/proc/self/gid_map", f"0 {group} 1")
        _mount("none", "/", None, _RECURSIVE | _PRIVATE)
        _own_mounts = True


def namespaces(value: str) -> None:
    """``none``: this process may make no more user namespaces, as where an administrator has forbidden them."""
    assert value == "none"
    begun, done = os.pipe(), os.pipe()
    parent = os.getpid()
    if os.fork() == 0:  # who maps all users has to be outside
        os.close(begun[1])
        if not os.read(begun[0], 1):  # no name space could be made
            os._exit(1)
        for name in ("uid_map", "gid_map"):
            _write(f"/proc/{parent}/{name}", "0 0 4294967295")
        os.write(done[1], b".")
        os._exit(0)
    _ask("unshare", _NEW_USERS)
    os.write(begun[1], b".")
    os.read(done[0], 1)
    os.wait()
    for end in (*begun, *done):
        os.close(end)
    _write("/proc/sys/user/max_user_namespaces", "0")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def mount(value: str) -> None:
    """``KIND:FOLDER[:OPTIONS]``: a file system of that kind there; ``new:FOLDER``: one in memory, in a folder that is made
    if it is not there; ``ro:FOLDER``: the folder can only be read."""
    kind, folder, *options = value.split(":")
    _with_own_mounts()
    if kind == "ro":
        _mount(folder, folder, None, _BIND | _RECURSIVE)
        _mount(folder, folder, None, _BIND | _REMOUNT | _READ_ONLY)
    elif kind == "new":
        os.makedirs(folder, exist_ok=True)
        _mount("tmpfs", folder, "tmpfs")
    elif kind == "bind":
        _mount(folder, options[0], None, _BIND | _RECURSIVE)
    else:
        given = [] if not options else options[0].split("+")
        flags = _NO_EXECUTION if "noexec" in given else 0
        _mount(kind, folder, kind, flags, ",".join(option for option in given if option != "noexec"))


_MASKED = ("/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug")
_MASKED_FOLDERS = ("/proc/acpi", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap")
_ONLY_READ = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/sys")


def proc(value: str) -> None:
    """``none``: it is not there. ``hidepid``: processes of others are not shown. ``docker``: masked as there."""
    _with_own_mounts()
    if value == "none":
        _mount("tmpfs", "/proc", "tmpfs")
    elif value == "docker":
        for path in _MASKED:
            if os.path.exists(path):
                _mount("/dev/null", path, None, _BIND)
        for path in _MASKED_FOLDERS:
            if os.path.exists(path):
                _mount("tmpfs", path, "tmpfs", _READ_ONLY)
        for path in _ONLY_READ:
            if os.path.exists(path):
                _mount(path, path, None, _BIND | _RECURSIVE)
                _mount(path, path, None, _BIND | _REMOUNT | _READ_ONLY)
    else:
        _mount("proc", "/proc", "proc", 0, {"hidepid": "hidepid=2", "pids": "subset=pid"}[value])


def absent(value: str) -> None:
    """A file that is not there, among others that are."""
    _with_own_mounts()
    parent, name = os.path.split(value)
    kept = {other: os.open(f"{parent}/{other}", os.O_PATH) for other in os.listdir(parent) if other != name}
    _mount("tmpfs", parent, "tmpfs", 0, "mode=755")
    for other, file in kept.items():
        made = Path(parent, other)
        made.mkdir() if os.path.isdir(f"/proc/self/fd/{file}") else made.touch()
        _mount(f"/proc/self/fd/{file}", str(made), None, _BIND | _RECURSIVE)
        os.close(file)


def shm(value: str) -> None:
    """``none``: there is no /dev/shm, and of devices only what every container has; else its size."""
    _with_own_mounts()
    if value != "none":
        return _mount("tmpfs", "/dev/shm", "tmpfs", 0, f"size={value}")
    kept = {name: os.stat(f"/dev/{name}") for name in ("null", "zero", "full", "random", "urandom", "tty")}
    _mount("tmpfs", "/dev", "tmpfs", 0, "mode=755")
    for name, device in kept.items():
        os.mknod(f"/dev/{name}", device.st_mode, device.st_rdev)
        os.chmod(f"/dev/{name}", 0o666)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/dev/{name}")
    os.symlink("/proc/self/fd", "/dev/fd")
    return None


# ---- who it is, and how much it may have

_DOCKERS_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)


def capabilities(value: str) -> None:
    """``docker``: those that root has in its containers; ``none``."""
    for capability in range(41):
        if value == "none" or capability not in _DOCKERS_CAPABILITIES:
            _ask("prctl", 24, capability, 0, 0, 0)


def user(value: str) -> None:
    """Of that number, without a home, as ``docker run --user`` starts it."""
    _let_in(sys.base_prefix)
    os.environ["HOME"] = "/"
    os.setgroups([])
    os.setgid(int(value))
    os.setuid(int(value))
    _ask("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)


def _let_in(folder: str) -> None:
    """Where the interpreter is at home with one user, the others get to it, and to nothing else there."""
    closed = next((path for path in Path(folder).parents[::-1] if not path.stat().st_mode & 1), None)
    if closed is None:
        return
    _with_own_mounts()
    kept = os.open(folder, os.O_PATH)
    _mount("tmpfs", str(closed), "tmpfs", 0, "mode=755")
    os.makedirs(folder)
    _mount(f"/proc/self/fd/{kept}", folder, None, _BIND)
    os.close(kept)


_UNITS = {"as": 1 << 20, "data": 1 << 20, "stack": 1 << 10, "fsize": 1 << 10, "memlock": 1 << 10}


def limit(value: str) -> None:
    """``NAME:NUMBER``, as ``ulimit`` has them: megabytes for ``as`` and ``data``, else kilobytes or a count."""
    name, _, most = value.partition(":")
    number = resource.RLIM_INFINITY if most == "unlimited" else int(most) * _UNITS.get(name, 1)
    resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (number, number))


def group(value: str) -> None:
    """Megabytes that a new control group allows, of whichever version this machine has: it goes with the command."""
    megabytes = int(value)
    first, second = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
    base, name = (
        (second, "memory.max") if os.path.exists(f"{second}/cgroup.controllers") else (first, "memory.limit_in_bytes")
    )
    folder = f"{base}/teetotal-{os.getpid()}"
    os.makedirs(folder)
    _write(f"{folder}/{name}", str(megabytes << 20))
    child = os.fork()
    if child == 0:
        _write(f"{folder}/cgroup.procs", str(os.getpid()))
        return
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):  # somebody is left in it
        os.rmdir(folder)
    os._exit(status if status >= 0 else 128 - status)


def processor(value: str) -> None:
    os.sched_setaffinity(0, {int(value)})


def randomise(value: str) -> None:
    assert value == "off"
    _ask("personality", 0x0040000)


def variable(value: str) -> None:
    """``NAME:VALUE`` of the environment; without a value it is not there."""
    name, colon, text = value.partition(":")
    os.environ.pop(name, None)
    if colon:
        os.environ[name] = text


# ---- a processor that lacks something

_TRACE_DETACH, _TRACE_SEIZE, _TRACE_REGISTERS, _TRACE_EXECS = 17, 0x4206, 12, 1 << 4
_SET_TRACER = 0x59616D61
_HWCAP2, _STACK_POINTER = 26, 19


def hwcap2(value: str) -> None:
    """What the kernel tells the command, and nobody that it starts, of its processor: without bit 1, that programs may not
    set the FS register by themselves, as gVisor and kernels before 5.9 have it. A child changes that once the command is
    in memory."""
    parent, (ready, go) = os.getpid(), os.pipe()
    if (child := os.fork()) != 0:
        _LIBC.prctl(_SET_TRACER, child, 0, 0, 0)
        os.read(ready, 1)
        return
    _LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    while _LIBC.ptrace(_TRACE_SEIZE, parent, None, _TRACE_EXECS) == -1:
        time.sleep(0.001)  # it has not named us yet
    os.write(go, b".")
    os.waitpid(parent, 0)
    registers = (ctypes.c_ulong * 27)()
    _LIBC.ptrace(_TRACE_REGISTERS, parent, None, registers)
    with open(f"/proc/{parent}/mem", "r+b", buffering=0) as memory:
        at = registers[_STACK_POINTER]

        def word(address: int) -> int:
            memory.seek(address)
            return int.from_bytes(memory.read(8), "little")

        at += 8 * (word(at) + 2)  # the arguments
        while word(at) != 0:  # the environment
            at += 8
        at += 8
        while word(at) != _HWCAP2:
            at += 16
        memory.seek(at + 8)
        memory.write(int(value).to_bytes(8, "little"))
    _LIBC.ptrace(_TRACE_DETACH, parent, None, None)
    os._exit(0)


def folder(value: str) -> None:
    os.chdir(value)


_STEPS: dict[str, Callable[[str], None]] = {
    step.__name__: step
    for step in (seccomp, namespaces, mount, proc, shm, capabilities, user, limit, group, processor, randomise, variable,
                 folder, hwcap2, absent)
}  # fmt: skip


def imitate(steps: Iterable[str]) -> None:
    """Make this process one of that machine, for good."""
    for step in steps:
        name, _, value = step.partition("=")
        _STEPS[name](value)


def command(steps: Sequence[str], *words: str) -> list[str]:
    return [sys.executable, "-P", __file__, *steps, "--", *words]


def why_not(steps: Sequence[str]) -> str:
    """Why such a machine cannot be imitated here; empty where it can."""
    done = subprocess.run(command(steps, "/bin/true"), capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def main(words: list[str]) -> None:
    end = words.index("--")
    imitate(words[:end])
    os.execvp(words[end + 1], words[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
