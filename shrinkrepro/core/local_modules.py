"""Which modules are the user's own, and which modules a source text imports.

Decision: a module is local by where its file lies, not by how it was found: a ``.py`` file outside the target's
libraries. So siblings of the script, a package of the project and an editable install of it are treated alike.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import PurePath

_LIBRARY_FOLDERS = frozenset({"site-packages", "dist-packages"})


def is_local(module_file: str, script_dir: str, prefixes: Sequence[str]) -> bool:
    """Whether the module whose source file is ``module_file`` is reduced together with the script.

    ``prefixes`` are folders of the target that hold no user code: its standard library, its library folders, and
    the folder of torch itself, which may be an editable install too. All paths are absolute and resolved.
    """
    path = PurePath(module_file)
    if path.suffix != ".py":
        return False
    beside = PurePath(script_dir) in path.parents
    within = path.relative_to(script_dir) if beside else path
    if not _LIBRARY_FOLDERS.isdisjoint(within.parts):
        return False
    libraries = [PurePath(prefix) for prefix in prefixes]
    if beside:  # a script may itself lie in a library; then only what is deeper than the script counts
        libraries = [library for library in libraries if PurePath(script_dir) in library.parents]
    return not any(library in path.parents for library in libraries)


def imported_names(source: str, package: str = "") -> set[str]:
    """Absolute dotted names of all modules that ``source`` may import, at any depth, with the packages they are in.

    ``package`` is the package that the source belongs to (its own name for an ``__init__``); a relative import
    that it cannot resolve is left out. ``from a import b`` gives ``a`` and ``a.b``, as ``b`` may be a module.

    Raises:
        SyntaxError: ``source`` does not parse.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".") if package else []
                if node.level > len(parts):
                    continue
                base = ".".join(parts[: len(parts) - node.level + 1] + ([base] if base else []))
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names if alias.name != "*")
    for name in list(names):
        parts = name.split(".")
        names.update(".".join(parts[:end]) for end in range(1, len(parts)))
    return names
