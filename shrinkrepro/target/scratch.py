"""Removes scratch folders, whatever programs did to what is in them.

Decision: the host removes what it made; only when it is gone is that left to the target, which must then not take away
what a server of the same run still needs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import Any, Iterable

OWNER = "owner"  # the file in a scratch folder that a living host holds locked


def remove(folder: str) -> None:
    """Remove a folder, also when a program took away the right to."""

    def open_up(function: Any, path: str, info: Any) -> None:
        try:
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o700)
            function(path)
        except OSError:
            return

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=open_up)
    else:
        shutil.rmtree(folder, onerror=open_up)


def abandon(folders: Iterable[str]) -> None:
    """Remove ``folders`` of a host that is gone, and those above them that nothing else is in."""
    folders = list(folders)
    for folder in folders:
        if os.path.isdir(folder):
            remove(folder)
    for above in {os.path.dirname(folder) for folder in folders}:
        with contextlib.suppress(OSError):
            if os.listdir(above) == [OWNER]:
                os.remove(os.path.join(above, OWNER))
            os.rmdir(above)
