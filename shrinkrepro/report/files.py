"""The files that a run writes: the reduced program and the JSON record.

Decision: a file appears whole or not at all (a temporary file beside it, flushed to the disk, then
renamed), and where it will go is looked at before the run, not after it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from shrinkrepro.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def default_output(script: Path | None, module: str | None) -> Path:
    """``SCRIPT_reduced.py`` beside the script; for a module, in the current folder."""
    if script is not None:
        return script.parent / f"{script.stem}_reduced.py"
    return Path(f"{(module or 'program').rpartition('.')[2]}_reduced.py")


def claim_output(output: Path, *, force: bool, never: Path | None = None, option: str = "-o") -> Path:
    """``output``, once it is certain that a file may be written there; ``never`` is the input.

    Raises:
        UsageError: it exists and ``force`` is not given, it is the input or a folder, or its folder is missing.
    """
    if never is not None and never.exists() and output.exists() and output.samefile(never):
        raise UsageError(f"{option} {output} is the input itself, which is never written to", "name another file")
    if output.is_dir():
        raise UsageError(f"{option} {output} is a folder", "name a file in it")
    if output.exists() and not force:
        raise UsageError(f"{output} exists already", "write over it with --force, or name another file with -o")
    folder = output.parent
    if not folder.is_dir():
        raise UsageError(f"the folder of {option} {output} does not exist", f"make it first: mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"the folder of {option} {output} cannot be written to", "name a file elsewhere with -o")
    return output


def claim_folder(folder: Path, *, option: str) -> Path:
    """``folder``, made if it is not there, once it is certain that files may be written into it.

    Raises:
        UsageError: it is a file, or cannot be made or written to.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{option} {folder} is a file", "name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {folder} cannot be made: {error.strerror}", "name a folder elsewhere") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option} {folder} cannot be written to", "name a folder elsewhere")
    return folder


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, so that at any moment the old file, or the new one, is there whole.

    Raises:
        UsageError: it cannot be written.
    """
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's files are private, which a result need not be
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise UsageError(f"{path} cannot be written: {error.strerror}", "name another file with -o") from error


def as_json(result: DataclassInstance) -> str:
    """All fields of a result (a dataclass) as JSON, indented, its keys in the order of the fields."""
    return json.dumps(dataclasses.asdict(result), indent=2, ensure_ascii=False, default=str) + "\n"
