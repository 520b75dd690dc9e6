"""The fingerprint of a torch: what makes one build of it another one than the next.

Decision: by the sizes and times of its files, as a rebuilt or edited torch keeps its version.
"""

from __future__ import annotations

import glob
import hashlib
import os
import sys
from typing import List, Sequence


def fingerprint(modules: Sequence[str]) -> str:
    """A digest over the files of the loaded ``modules`` and torch's own libraries, and the interpreter's version."""
    paths: List[str] = []
    for name in modules:
        path = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(path, str):
            paths.append(path)
    root = os.path.dirname(getattr(sys.modules.get("torch"), "__file__", None) or "")
    paths += glob.glob(os.path.join(glob.escape(root), "lib", "*"))
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(set(paths)):
        try:
            found = os.stat(path)
        except OSError:
            continue
        digest.update(("%s %d %d\n" % (path, found.st_size, found.st_mtime_ns)).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
