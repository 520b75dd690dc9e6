"""A root of its own for programs that nothing else confines: a tmpfs that was pivoted to, with no way back.

Decision: what may only happen there takes a ``Root``, and there is none but after the look around that its constructor
takes: other namespaces of every kind, the first process of its own, no file system but those that were made for it. The
interpreter and its libraries are seen through overlays, so that what is written to them is written to memory.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shrinkrepro.target import kernel, namespaces

MARK = "/of-a-free-root"  # a file that is there and nowhere else
MOST_BYTES = 5 << 28  # of memory that its files may take, and those in its /dev/shm
MOST_FILES = 250_000
MOST_TASKS = 270  # processes and threads in it: a few more than a confined program may have

_NEWUTS = 0x04000000
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_DETACH = 2
_NAMESPACES = ("user", "mnt", "net", "ipc", "pid", "uts")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_FILES = ("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_OF_THE_MACHINE = ("sys", "irq", "bus", "fs", "acpi", "sysrq-trigger")  # in /proc: no namespace hides these
_SETTING = "/proc/sys/kernel/core_pattern"  # one that a file of ours takes the place of
_KINDS = {"tmpfs", "overlay", "proc", "devtmpfs"}  # of file systems that are there; the last one for single devices


class Refused(Exception):
    """There is no such root, and so nothing is run."""


@dataclass(frozen=True)
class Outside:
    """What a process sees before it goes: it must be all different then."""

    root: tuple[int, int]  # device and inode
    namespaces: dict[str, str]
    place: Path  # a folder on the real file system

    @classmethod
    def of(cls, place: Path) -> Outside:
        """As this process sees it now."""
        return cls(_identity("/"), _own_namespaces(), place)


class Root:
    """Proof that this process, the first of its PID namespace, lives in a free root.

    Raises:
        Refused: it does not.
    """

    def __init__(self, outside: Outside) -> None:
        self._root, self._namespaces = _identity("/"), _own_namespaces()
        same = [name for name in _NAMESPACES if self._namespaces[name] == outside.namespaces[name]]
        if same:
            raise Refused(f"the {same[0]} namespace is the machine's own")
        if self._root == outside.root or outside.place.exists():
            raise Refused("the machine's own files are still there")
        if os.getpid() != 1:
            raise Refused("there are other processes")
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            kind = line.partition(" - ")[2].split()[0]
            where = line.split()[4]
            if kind not in _KINDS or (where == "/" and kind != "tmpfs") or (kind == "devtmpfs" and where == "/dev"):
                raise Refused(f"a file system that is not its own is at {where}")
        if os.access("/proc/sys/kernel/hostname", os.W_OK) or os.access("/proc/sysrq-trigger", os.W_OK):
            raise Refused("the machine's settings can be written")
        if not os.path.exists(MARK) or not os.path.exists(sys.executable):
            raise Refused("it is not furnished")
        for name in os.listdir("/proc/self/fd"):
            if os.path.isdir(f"/proc/self/fd/{name}") and _identity(f"/proc/self/fd/{name}")[0] != self._root[0]:
                leads = os.readlink(f"/proc/self/fd/{name}")
                if not leads.startswith("/proc/"):
                    raise Refused(f"a descriptor leads to {leads}")

    def check(self) -> None:
        """Make sure that this process, which an owner of the root has forked, has not left it.

        Raises:
            Refused: it has.
        """
        if _identity("/") != self._root or not os.path.exists(MARK) or _own_namespaces() != self._namespaces:
            raise Refused("this is not the root that was looked at")


def live(main: Callable[[Root], None]) -> int:
    """Run ``main`` as the first process in a new root; its exit code, or 2 and a line where there can be none."""
    if sys.platform != "linux" or os.uname().machine not in _PIVOT_ROOT:
        return _refused("no pivot_root is known here")
    place = Path(tempfile.mkdtemp(prefix="shrinkrepro-root-"))
    try:
        outside = Outside.of(place)
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            leave = os._exit
            code = 1
            try:
                kernel.die_with_parent(parent)
                os.closerange(3, 1 << 16)
                _pivot(place)
                main(Root(outside))
                code = 0
            except (Refused, OSError) as refusal:
                code = _refused(str(refusal))
            except Exception:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                leave(code)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except OSError as error:
        return _refused(str(error))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def bounds_processes() -> bool:
    """Whether the kernel bounds how many processes there are in this PID namespace."""
    with open("/proc/sys/kernel/pid_max") as file:
        return int(file.read()) == namespaces.RESERVED + MOST_TASKS


def _refused(reason: str) -> int:
    print(f"unconfined programs are run in a root of their own only, and there is none: {reason}", file=sys.stderr)
    return 2


def _pivot(place: Path) -> None:
    """Make ``place`` the root of this process's new namespaces, and let go of the old one."""
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | _NEWUTS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    _memory(place, "755")
    _furnish(place)
    os.chdir(place)
    kernel.check(kernel.libc().syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
    kernel.check(kernel.libc().umount2(b".", _DETACH))
    os.chdir("/")
    namespaces.raise_loopback()
    namespaces.bound_tasks(MOST_TASKS)
    for name in _OF_THE_MACHINE:
        path = f"/proc/{name}"
        if os.path.exists(path):
            kernel.mount(path, path, None, kernel.MS_BIND)
            kernel.set_read_only(path, True)
    kernel.mount(MARK, _SETTING, None, kernel.MS_BIND)


def _furnish(place: Path) -> None:
    import shrinkrepro

    uppers = place / ".written"
    uppers.mkdir(mode=0o700)
    wanted = [*_SYSTEM, sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable))]
    wanted.append(os.path.dirname(os.path.abspath(shrinkrepro.__file__)))
    for path in dict.fromkeys(wanted):
        seen = place / path.lstrip("/")
        if os.path.islink(path) and not os.path.lexists(seen):
            seen.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(os.readlink(path), seen)
        elif os.path.isdir(path) and not _covered(path, wanted):
            _overlay(os.path.realpath(path), seen, uppers / str(len(os.listdir(uppers))))
    for name in ("dev/shm", "tmp", "var/tmp", "proc", "etc", "root"):
        (place / name).mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        if os.path.exists(name):
            shutil.copy(name, place / name.lstrip("/"))
    (place / "etc/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    for name in _DEVICES:
        (place / "dev" / name).touch()
        kernel.mount(f"/dev/{name}", str(place / "dev" / name), None, kernel.MS_BIND)
    _memory(place / "dev/shm", "1777")
    kernel.mount("proc", str(place / "proc"), "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    (place / MARK.lstrip("/")).touch()


def _memory(place: Path, mode: str) -> None:
    options = f"size={MOST_BYTES},nr_inodes={MOST_FILES},mode={mode}"
    kernel.mount("tmpfs", str(place), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)


def _overlay(path: str, seen: Path, written: Path) -> None:
    """Show ``path`` at ``seen``; what is written there goes to ``written``."""
    if any(sign in path for sign in ":,\\"):
        raise Refused(f"{path} has a sign in it that separates options")
    upper, work = written / "upper", written / "work"
    for folder in (seen, upper, work):
        folder.mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={path},upperdir={upper},workdir={work},userxattr"
    kernel.mount("overlay", str(seen), "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)


def _covered(path: str, others: list[str]) -> bool:
    """Whether ``path`` lies below another one, in the same file system."""
    above = [p for p in others if p != path and path.startswith(p.rstrip("/") + "/") and not os.path.islink(p)]
    return any(os.stat(p).st_dev == os.stat(path).st_dev for p in above if os.path.isdir(p))


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _own_namespaces() -> dict[str, str]:
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES}
