"""What is known of each script of a batch, on the disk at every moment.

Decision: one file a script, written whole after each of its events; so a run that was killed has lost nothing that was
told, a thousand scripts cost no more than one each, and a script whose text or options changed is simply another.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

from shrinkrepro.errors import UsageError
from shrinkrepro.report.files import claim_folder, write_whole

WAITING, CHECKED, REDUCED, REFUSED = "waiting", "checked", "reduced", "refused"

_MARK = "batch.json"
_FORMAT = 1
_NOT_A_NAME = re.compile(r"[^\w.-]+")


@dataclass
class Record:
    """One script. ``status``: waiting, checked, reduced, or refused (``why`` says for what)."""

    name: str
    digest: str  # of the script and the options; another one is another script
    tokens: int = 0
    status: str = WAITING
    why: str = ""  # why it is refused, or why it was not reduced
    hint: str = ""
    error: str = ""  # the class of the error that refused it
    checked: dict[str, Any] | None = None  # ``tasks.batch_check.Checked.wire``
    key: str = ""  # what scripts of its group have in common, from ``checked``
    accepted: str = ""  # the smallest program so far of a reduction that has not ended
    accepted_tokens: int = 0
    reduction: dict[str, Any] | None = None  # ``tasks.batch_worker.reduced_wire``, ``text`` and ``check``
    case: dict[str, Any] | None = None  # of the reduced text: ``text``, ``title``, ``failure``
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of a worker, by kind of work


class Store:
    """The folder of a batch. A context manager: one run at a time has it."""

    def __init__(self, folder: Path) -> None:
        """Claim ``folder``, which is made if it is not there.

        Raises:
            UsageError: it cannot be written to, is not a batch's, or another run has it.
        """
        self.folder = claim_folder(folder, option="-o")
        mark = folder / _MARK
        if not mark.exists() and any(folder.iterdir()):
            raise UsageError(f"-o {folder} has other files in it", "name a new folder, or that of an earlier batch")
        if not mark.exists():
            write_whole(mark, json.dumps({"shrinkrepro": "batch", "format": _FORMAT}) + "\n")
        elif _format_of(mark) != _FORMAT:
            raise UsageError(f"-o {folder} is of another version of shrinkrepro", "name a new folder")
        self._lock: TextIO = open(mark)  # noqa: SIM115 - held until the end
        if not _locked(self._lock):
            self._lock.close()
            raise UsageError(f"another batch is writing to {folder}", "wait for its end, or name another folder")
        try:
            (folder / "scripts").mkdir(exist_ok=True)
            (folder / "groups").mkdir(exist_ok=True)
        except OSError as error:
            self._lock.close()
            raise UsageError(f"-o {folder} cannot be written to: {error.strerror}", "name another folder") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def load(self, name: str, digest: str) -> Record:
        """What is known of a script; a new record where nothing is, or what is known is of another text."""
        try:
            data = json.loads(self._file(name).read_text(encoding="utf-8"))
            known = {one.name for one in fields(Record)}
            record = Record(**{key: value for key, value in data.items() if key in known})
        except (OSError, ValueError, TypeError):
            return Record(name, digest)
        return record if (record.name, record.digest) == (name, digest) else Record(name, digest)

    def save(self, record: Record) -> None:
        """Put ``record`` in the place of what was known.

        Raises:
            UsageError: it cannot be written.
        """
        self.write(self._file(record.name), json.dumps(asdict(record), indent=1) + "\n")

    def write(self, path: Path, text: str) -> None:
        """Write a file of the folder whole.

        Raises:
            UsageError: it cannot be written.
        """
        try:
            write_whole(path, text)
        except UsageError as error:
            hint = "what was done until now is kept; make room, and the same command goes on"
            raise UsageError(error.message, hint) from None

    def clean(self, folder: str, keep: set[str]) -> None:
        """Remove Python files of ``folder`` that are none of ``keep``."""
        for path in (self.folder / folder).glob("*.py"):
            if path.name not in keep:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _file(self, name: str) -> Path:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return self.folder / "scripts" / f"{_NOT_A_NAME.sub('_', name)[-60:]}-{digest}.json"


def _format_of(mark: Path) -> int:
    try:
        return int(json.loads(mark.read_text(encoding="utf-8"))["format"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _locked(file: TextIO) -> bool:
    """Whether this process has the file alone from now on; True where a system has no such locks."""
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a network folder without locks
        return True
    return True
