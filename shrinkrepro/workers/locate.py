"""Where the target would import modules from: which of them are the user's own.

Decision: the target itself is asked (in a process of its own that imports nothing but the standard library), because
only it knows its path files, editable installs and working folder.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkrepro.core.local_modules import imported_names, is_local
from shrinkrepro.workers.target import Target

SECONDS = 60.0
_ROUNDS = 50  # a chain of imports this deep has never been seen
_ASK = """
import importlib.machinery, importlib.util, json, os, site, sys, sysconfig
path0, names = json.loads(sys.stdin.read())
sys.path[0] = path0
found = {}
for name in names:
    try:
        # parents are imported by find_spec, so only top-level names are asked; the rest is looked up in folders
        spec = importlib.util.find_spec(name)
    except Exception:
        continue
    if spec is not None and spec.origin:
        found[name] = spec.origin
torch = found.pop("torch", None)
keys = ("stdlib", "platstdlib", "purelib", "platlib")
prefixes = {sysconfig.get_paths()[key] for key in keys} | set(site.getsitepackages()) | {site.getusersitepackages()}
if torch:
    prefixes.add(os.path.dirname(torch))
print(json.dumps([found, sorted(os.path.realpath(p) for p in prefixes)]))
"""


@dataclass(frozen=True)
class LocalModules:
    """Sources of the user's own modules by dotted name; ``packages`` are the names that are packages."""

    sources: dict[str, str]
    packages: frozenset[str]


def locate(target: Target, text: str, package: str = "") -> LocalModules:
    """The user's own modules that ``text`` imports, and those that they import."""
    sources: dict[str, str] = {}
    packages: set[str] = set()
    roots: dict[str, tuple[Path, bool]] = {}  # top-level name -> its file and whether it is a package
    asked: set[str] = set()
    prefixes: list[str] = []
    todo = [(text, package)]
    for _ in range(_ROUNDS):
        names = sorted({name for source, inside in todo for name in _imports(source, inside)} - set(sources))
        tops = sorted({name.split(".")[0] for name in names} - asked)
        asked.update(tops)
        if tops:
            found, prefixes = _ask(target, [*tops, "torch"])
            for name, origin in found.items():
                file = Path(origin).resolve()
                if is_local(str(file), str(target.first_path.resolve()), prefixes):
                    roots[name] = (file, file.name == "__init__.py")
        todo = []
        for name in names:
            located = _file(name, roots)
            if located is None:
                continue
            file, is_package = located
            try:
                sources[name] = file.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError):
                continue
            if is_package:
                packages.add(name)
            todo.append((sources[name], name if is_package else name.rpartition(".")[0]))
        if not todo:
            break
    return LocalModules(sources, frozenset(packages))


def _imports(source: str, package: str) -> set[str]:
    try:
        return imported_names(source, package)
    except (SyntaxError, ValueError):
        return set()


def _file(name: str, roots: dict[str, tuple[Path, bool]]) -> tuple[Path, bool] | None:
    top, *rest = name.split(".")
    if top not in roots:
        return None
    file, is_package = roots[top]
    if not rest:
        return file, is_package
    if not is_package:
        return None
    base = file.parent.joinpath(*rest)
    if (base / "__init__.py").is_file():
        return base / "__init__.py", True
    return (base.with_suffix(".py"), False) if base.with_suffix(".py").is_file() else None


def _ask(target: Target, names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    try:
        done = subprocess.run(
            [target.python, "-c", _ASK],
            input=json.dumps([str(target.first_path), list(names)]),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=target.cwd,
            env=target.environment(),
            check=True,
        )
        found, prefixes = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, OSError, ValueError, IndexError):
        return {}, []
    return dict(found), list(prefixes)
