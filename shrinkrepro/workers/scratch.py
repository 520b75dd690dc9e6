"""Scratch folders: made, removed, and swept when a run could not remove its own.

Decision: a folder belongs to the run that holds the lock on a file in it; the kernel gives that up for whoever dies,
however it dies, so what nobody holds can be removed and nothing else is.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PREFIX = "shrinkrepro-"
OWNER = "owner"  # as ``shrinkrepro.target.scratch`` knows it
_NEW = "owner.new"  # its name until it is locked

_held: dict[Path, int] = {}  # the locked descriptor of each folder that this process owns


def make_scratch() -> Path:
    """A new private folder for programs and their output; the caller removes it."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()  # overlays go by real paths
    descriptor = os.open(folder / _NEW, os.O_RDWR | os.O_CREAT, 0o600)
    _lock(descriptor)
    os.rename(folder / _NEW, folder / OWNER)
    _held[folder] = descriptor
    return folder


def remove(folder: Path) -> None:
    """Remove a scratch folder, whatever programs did to the modes of what is in it."""
    descriptor = _held.pop(folder, None)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwx", str(folder)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
    if descriptor is not None:
        os.close(descriptor)


@functools.cache
def sweep() -> None:
    """Remove what dead runs of this user left, once in a process."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid == os.getuid() and _lock(descriptor):
                    remove(folder)
            finally:
                os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock an open file for this process; False when another has it. Where files cannot be locked none is swept."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
