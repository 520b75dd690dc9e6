"""The scripts of a batch: found in folders and lists, with the modules beside them that they import.

Decision: only a wrong command is an error here (no such path, a list that cannot be read, nothing found); what is wrong
with one script is told in its row.
"""

from __future__ import annotations

import ast
import hashlib
import json
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shrinkrepro.core.local_modules import imported_names
from shrinkrepro.core.program import count_tokens
from shrinkrepro.errors import UsageError
from shrinkrepro.tasks.inputs import read_source

_NO_SCRIPTS = frozenset({"conftest.py", "__init__.py", "setup.py"})
_LIST_KEYS = frozenset({"path", "source", "name", "args"})


@dataclass(frozen=True)
class BatchScript:
    """One script. ``sources`` has its text and those of modules beside it; ``fault``: why there is no text."""

    name: str  # of its own in the batch
    file: str  # its name, a key of ``sources``
    folder: str  # where it lies; empty: nowhere, the list has its text
    sources: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    fault: str = ""
    hint: str = ""

    @property
    def text(self) -> str:
        """Its text; empty where there is none."""
        return self.sources.get(self.file, "")

    @property
    def tokens(self) -> int:
        """Its size; 0 where it cannot be told."""
        try:
            return sum(map(count_tokens, self.sources.values()))
        except (SyntaxError, ValueError, tokenize.TokenError):
            return 0

    def digest(self, options: Mapping[str, Any]) -> str:
        """Of all that its result depends on."""
        everything = [self.file, self.folder, dict(self.sources), list(self.args), dict(options)]
        text = json.dumps(everything, sort_keys=True).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).hexdigest()


def find_scripts(paths: Sequence[Path], lists: Sequence[Path], never: Path) -> list[BatchScript]:
    """The scripts in ``paths`` (files and folders) and ``lists`` (JSON lines), those below ``never`` left out.

    Raises:
        UsageError: a path is not there, a list cannot be read, or there is no script in any.
    """
    if not paths and not lists:
        raise UsageError("no script is named", "name scripts, folders of scripts, or a list with --from LIST.jsonl")
    found = [_script(file, base) for file, base in _files(paths, never.resolve())]
    for path in lists:
        found += _listed(path)
    if not found:
        named = ", ".join(map(str, [*paths, *lists]))
        raise UsageError(
            f"there is no Python script in {named}",
            "name scripts, folders of scripts, or a list with --from LIST.jsonl",
        )
    return _named_once(found)


def _files(paths: Sequence[Path], never: Path) -> Iterator[tuple[Path, Path]]:
    """Each file once, with the folder that its name is taken from."""
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", "name scripts, or folders of scripts")
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            real = file.resolve()
            inside = file.relative_to(path).parts if path.is_dir() else ()
            hidden = any(part.startswith((".", "__pycache__")) for part in inside)
            unwanted = path.is_dir() and (file.name in _NO_SCRIPTS or never in real.parents or not file.is_file())
            if hidden or unwanted or real in seen:
                continue
            seen.add(real)
            yield file, path if path.is_dir() else path.parent


def _script(file: Path, base: Path, name: str = "", args: tuple[str, ...] = ()) -> BatchScript:
    name = name or str(file.relative_to(base))
    try:
        text = read_source(file)
    except UsageError as error:
        return BatchScript(name, file.name, str(file.absolute().parent), fault=error.message, hint=error.hint)
    folder = file.absolute().parent
    return BatchScript(name, file.name, str(folder), {file.name: text, **beside(text, folder)}, args)


def beside(text: str, folder: Path) -> dict[str, str]:
    """The modules in ``folder`` that ``text`` imports, and those that they import: texts by relative path."""
    found: dict[str, str] = {}
    todo = [text]
    while todo:
        for name in sorted(_imports(todo.pop())):
            base = folder.joinpath(*name.split("."))
            for place in (base.with_suffix(".py"), base / "__init__.py"):
                relative = place.relative_to(folder).as_posix()
                if relative in found or not place.is_file():
                    continue
                try:
                    found[relative] = place.read_text(encoding="utf-8-sig")
                except (OSError, ValueError):
                    continue
                todo.append(found[relative])
    return found


def _imports(text: str) -> set[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
            return imported_names(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()


def _listed(path: Path) -> list[BatchScript]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UsageError(f"--from {path} cannot be read: {error.strerror}", "name a file of JSON lines") from None
    except UnicodeDecodeError:
        raise UsageError(f"--from {path} is not UTF-8", "save it as UTF-8 first") from None
    return [_row(line, path, n) for n, line in enumerate(lines, 1) if line.strip()]


def _row(line: str, path: Path, number: int) -> BatchScript:
    """A line of a list: ``{"path": FILE}`` or ``{"name": NAME, "source": TEXT}``, both with ``"args": [...]``."""

    def wrong(what: str) -> UsageError:
        return UsageError(
            f"--from {path}, line {number}: {what}", 'write {"path": "x.py"} or {"name": "x", "source": "import ..."}'
        )

    try:
        row = json.loads(line)
    except ValueError:
        raise wrong(f"{line[:40]!r} is no JSON") from None
    if not isinstance(row, dict) or not ("path" in row) ^ ("source" in row):
        raise wrong("it is no object with either a path or a source")
    unknown = sorted(set(row) - _LIST_KEYS)
    if unknown:
        raise wrong(f"{unknown[0]!r} is not known")
    args = row.get("args", [])
    if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
        raise wrong("args is no list of strings")
    if not all(isinstance(row.get(key, ""), str) for key in ("path", "source", "name")):
        raise wrong("path, source and name are strings")
    name = row.get("name", "")
    if "path" in row:
        file = Path(row["path"]) if Path(row["path"]).is_absolute() else path.parent / row["path"]
        return _script(file, file.parent, name or row["path"], tuple(args))
    name = name or f"{path.name}:{number}"
    return BatchScript(name, "script.py", "", {"script.py": row["source"]}, tuple(args))


def _named_once(scripts: Sequence[BatchScript]) -> list[BatchScript]:
    """The scripts with names that differ: what has the name of another gets a number."""
    taken: set[str] = set()
    named: list[BatchScript] = []
    for script in scripts:
        name, number = script.name, 1
        while name in taken:
            number += 1
            name = f"{script.name} ({number})"
        taken.add(name)
        named.append(script if name == script.name else BatchScript(**{**vars(script), "name": name}))
    return named
