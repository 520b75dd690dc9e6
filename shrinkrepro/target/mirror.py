"""A folder that looks like the user's, where there are no overlays: links, and copies of what may be written to.

Decision: a link can be read through and removed, but what is written through it would reach the user's own file and is
refused; so what the programs name, or has an ending that they name, is copied, as far as that costs little.
"""

from __future__ import annotations

import os
import shutil
from typing import List, Sequence

MOST_ENTRIES = 2000  # of a folder; one with more is shown as it is
COPIED_BYTES = 64 << 20  # in all
COPIED_FILES = 200


def mirror(folder: str, place: str, sources: Sequence[str]) -> str:
    """Make ``place`` look like ``folder`` for the programs ``sources``; ``folder`` itself when too much is in it."""
    with os.scandir(folder) as entries:
        found = list(entries)
    if len(found) > MOST_ENTRIES:
        return folder
    _Mirror("\0".join(sources)).fill(found, place)
    return place


class _Mirror:
    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes = 0
        self.files = 0
        self.entries = 0

    def fill(self, found: "List[os.DirEntry[str]]", place: str) -> None:
        os.mkdir(place)
        self.entries += len(found)
        for entry in found:
            seen = os.path.join(place, entry.name)
            if entry.is_dir() and entry.name in self.text and self.entries < MOST_ENTRIES:
                with os.scandir(entry.path) as below:
                    self.fill(list(below), seen)
            elif self._is_written(entry):
                shutil.copy2(entry.path, seen)
            else:
                os.symlink(entry.path, seen)

    def _is_written(self, entry: "os.DirEntry[str]") -> bool:
        """Whether a program names the file, and there is room to copy it."""
        ending = os.path.splitext(entry.name)[1]
        if entry.name not in self.text and (len(ending) < 2 or ending == ".py" or ending not in self.text):
            return False
        if not entry.is_file() or not os.access(entry.path, os.R_OK) or self.files >= COPIED_FILES:
            return False
        size = entry.stat().st_size
        if self.bytes + size > COPIED_BYTES:
            return False
        self.files, self.bytes = self.files + 1, self.bytes + size
        return True
