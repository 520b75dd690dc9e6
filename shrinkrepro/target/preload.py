"""The file that is run before a program: once in a process, as a module that lives on.

Decision: once, because what wraps a function must not wrap it again for the next program of a batch; and as a module
that is kept, because what a library registers goes away with the object that it gave for it.
"""

from __future__ import annotations

import sys
import types

NAME = "__preload__"


def run(path: str) -> bool:
    """Run the file at ``path`` unless this process has; whether it was run now. What it raises is raised."""
    if NAME in sys.modules:
        return False
    module = types.ModuleType(NAME)
    module.__file__ = path
    sys.modules[NAME] = module
    try:
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec", dont_inherit=True), vars(module))
    except BaseException:
        del sys.modules[NAME]
        raise
    return True
