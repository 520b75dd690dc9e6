"""Confinement of a child: what a program writes vanishes with it, and what it does stays inside.

Decision: two layers, each used where the kernel has it. A mount namespace of the child's own shows the working folder,
the script's folder, HOME and the temporary folder under overlays, so that writes work and vanish with the child;
Landlock on top refuses every other write and signals to processes outside. No capability stays. None of it needs root.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import List, Sequence, Tuple

from shrinkrepro.target import kernel, landlock, seccomp

OVERLAY_BYTES = 1 << 30  # of memory that all files a child writes in overlays may take
OVERLAY_FILES = 200_000  # that a child may write there: a file takes memory of the kernel's even when it is empty

_OWN_FILES = "overlay"  # the folder, in the child's own, where the overlays' memory file system is mounted
_CACHES = "torchinductor_"  # made by an import; programs that compile, and so fill it, run in a child of their own
_SHM = "/dev/shm"


def confine(
    folder: str,
    shown: Sequence[str],
    writable: Sequence[str],
    scratch: str,
    bound: Sequence[Tuple[str, str]] = (),
    network: bool = False,
    bare: bool = False,
) -> List[str]:
    """Confine this process: it may write in ``folder`` and ``writable``, and seemingly in the folders ``shown``.

    ``scratch``: the folder that ``folder`` is in, a file system of its own perhaps. ``bound``: (a folder of
    ``writable``, where it is to be seen); only where that lies under an overlay. ``network``: whether TCP is left as it
    is, because there is a network namespace around or because the user wants it. ``bare``: whether there is no mount
    namespace around, in which everything else is read-only.

    Returns those of ``shown`` that are overlays now; the others can be read and not written.
    """
    if sys.platform != "linux":
        return []
    overlays = _overlay_all(folder, shown, [scratch, *writable])
    for source, seen in bound:
        if any(seen.startswith(path + "/") for path in overlays):
            with contextlib.suppress(OSError):
                os.makedirs(seen, exist_ok=True)
                kernel.mount(source, seen, None, kernel.MS_BIND)
    if folder != scratch and any(scratch.startswith(path + "/") for path in overlays):
        _keep_to(folder, scratch)
    landlock.restrict([folder, *writable, *overlays], private_shm=_SHM in overlays, network=network)
    with contextlib.suppress(OSError, AttributeError):
        kernel.drop_capabilities()
    if seccomp.known():
        with contextlib.suppress(OSError):
            seccomp.restrict(network, bare)
    return [path for path in overlays if path != _SHM]


def written(folder: str) -> List[str]:
    """Names of what programs wrote at the top of the overlays that belong to ``folder``."""
    base = os.path.join(folder, _OWN_FILES)
    found: List[str] = []
    for entry in os.listdir(base) if os.path.isdir(base) else []:
        upper = os.path.join(base, entry, "upper")
        if os.path.isdir(upper):
            found += [name for name in os.listdir(upper) if not name.startswith(_CACHES)]
    return found


def memory_folder(place: str, bytes_: int = OVERLAY_BYTES, mode: str = "700") -> None:
    """Mount an empty file system that lives in memory, and is bounded in bytes and files, over the folder ``place``."""
    options = "size=%d,nr_inodes=%d,mode=%s" % (bytes_, OVERLAY_FILES, mode)
    kernel.mount("tmpfs", place, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)


def _overlay_all(folder: str, shown: Sequence[str], kept: Sequence[str]) -> List[str]:
    """Overlays over the folders ``shown`` and an own /dev/shm, in namespaces of this process's own."""
    try:
        _own_namespaces()
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        mounts = [path for path in kernel.mount_points() if not _is_kept(path, kept)]
        base = os.path.join(folder, _OWN_FILES)
        os.mkdir(base)
        memory_folder(base)
    except OSError:
        return []
    if any(path.startswith(_SHM + "/") for path in shown):  # an empty one would hide what is to be seen there
        shown = [*shown, _SHM]
    done: List[str] = []
    for number, path in enumerate(_outermost(shown)):
        try:
            if _overlay(os.path.join(base, str(number)), path, kept, mounts):
                done.append(path)
        except OSError:
            continue
    if _SHM not in shown:
        with contextlib.suppress(OSError):
            memory_folder(_SHM, mode="1777")
            done.append(_SHM)
    return done


def _keep_to(folder: str, scratch: str) -> None:
    """Let nothing in ``scratch`` be written but ``folder``: other programs' files are in it, and Landlock allows what
    is below an overlay, also where something else is mounted there."""
    with contextlib.suppress(OSError):
        kernel.mount(folder, folder, None, kernel.MS_BIND | kernel.MS_REC)
        kernel.set_read_only(scratch, True)
        kernel.set_read_only(folder, False)


def _own_namespaces() -> None:
    """Mount and IPC namespaces for this process; with a user namespace around them unless we are allowed without."""
    own = kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
    try:
        kernel.unshare(own)  # a user namespace would hide other users' files from root
    except OSError:
        kernel.unshare(kernel.CLONE_NEWUSER | own)


def _overlay(place: str, path: str, kept: Sequence[str], mounts: Sequence[str]) -> bool:
    """Mount an overlay over ``path`` that keeps what is written in ``place``; the paths ``kept`` stay real."""
    below = path.rstrip("/") + "/"
    if path == "/" or any(mount.startswith(below) for mount in mounts):
        return False  # an overlay shows one file system, not what is mounted below
    if any(sign in path for sign in ":,\\"):
        return False  # separators in the mount's options
    if _is_kept(path, kept):
        return False
    upper, work = os.path.join(place, "upper"), os.path.join(place, "work")
    for name in (place, upper, work):
        os.mkdir(name)
    hidden = [(os.open(name, os.O_PATH | os.O_CLOEXEC), name) for name in kept if name.startswith(below)]
    options = "lowerdir=%s,upperdir=%s,workdir=%s,userxattr" % (path, upper, work)
    kernel.mount("overlay", path, "overlay", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for descriptor, name in hidden:
        kernel.mount("/proc/self/fd/%d" % descriptor, name, None, kernel.MS_BIND | kernel.MS_REC)
        os.close(descriptor)
    return True


def _is_kept(path: str, kept: Sequence[str]) -> bool:
    return any(path == name or path.startswith(name.rstrip("/") + "/") for name in kept)


def _outermost(paths: Sequence[str]) -> List[str]:
    """The paths without those that lie below another."""
    real = sorted({os.path.realpath(path) for path in paths})
    return [p for p in real if not any(p != q and p.startswith(q.rstrip("/") + "/") for q in real)]
