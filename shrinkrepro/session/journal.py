"""The journal of a run: what was executed so far, so that a run that was killed goes on where it was.

Decision: it holds executions, not the state of the search. The search is a function of what was executed; so the same
command walks the same way, is answered from the journal up to the query at which it was killed, and ends with the same
text. Nothing else has to be saved, and no journal can make a run adopt what was not executed.

It is an SQLite file with a write-ahead log, of which each execution is a transaction of its own: what was committed
outlives a ``kill -9``; a disk is only waited for every thousand pages, so a power cut may cost the last seconds. The
run that writes it has it alone. A journal that cannot be had or kept is told in one line and done without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from shrinkrepro.session.request import Request
from shrinkrepro.workers.memory import Ticket

KEPT = 30  # journals of unfinished runs, the youngest; each has some megabytes
_LEVEL = 1  # of zlib: three quarters are gone in 30 microseconds
_NOT_ITS_CONCERN = ("budget", "jobs", "output", "fresh")  # parts of a request that change no execution
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    question BLOB, turn INTEGER, answer BLOB, PRIMARY KEY (question, turn)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (number INTEGER PRIMARY KEY, strategy TEXT, source TEXT);
"""


class Journal:
    """One open journal: a ``workers.memory.Memory``. ``say`` is told what goes wrong, once, in one line."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self.path = path
        self.recalled = 0  # answers that it gave
        self._say = say
        self._lock = threading.Lock()
        self._turns: Counter[bytes] = Counter()
        self._steps = 0
        self._database = self._opened()
        self.found = (self._count("answers"), self._count("steps"))  # of an earlier run

    def recall(self, question: str) -> tuple[Ticket, Any]:
        """The ticket and the answer, or None; see ``workers.memory``."""
        digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            ticket = (digest, self._turns[digest])
            self._turns[digest] += 1
            if not self.found[0]:
                return ticket, None
            row = self._execute("SELECT answer FROM answers WHERE question = ? AND turn = ?", ticket)
        answer = _unpacked(row[0]) if row is not None else None
        self.recalled += answer is not None
        return ticket, answer

    def keep(self, ticket: Ticket, answer: Any) -> None:
        """Remember an answer; see ``workers.memory``."""
        packed = zlib.compress(json.dumps(answer, default=vars).encode(), _LEVEL)
        with self._lock:
            self._execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (*ticket, packed))

    def remember(self, question: str, make: Callable[[], Any]) -> Any:
        """The answer to ``question`` (JSON types), which ``make`` gives when it is not known."""
        ticket, answer = self.recall(question)
        if answer is None:
            answer = make()
            self.keep(ticket, answer)
        return answer

    def step(self, strategy: str, source: str) -> None:
        """Note an accepted step; the same ones come again when a run goes on."""
        with self._lock:
            self._steps += 1
            self._execute("INSERT OR REPLACE INTO steps VALUES (?, ?, ?)", (self._steps, strategy, source))

    def clear(self) -> None:
        """Forget all, as what was executed is not what would be now."""
        with self._lock:
            self._execute("DELETE FROM answers", ())
            self._execute("DELETE FROM steps", ())
            self._turns.clear()
            self.found = (0, 0)

    def close(self) -> None:
        """Leave it for the next run, if there is anything in it."""
        if self._database is None:
            return
        if not self._count("answers"):
            self.remove()
            return
        self._let_go()

    def _let_go(self) -> None:
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
        self._database = None

    def remove(self) -> None:
        """End it: the run is finished. One that is another run's stays."""
        if self._database is not None:
            self._let_go()
            with contextlib.suppress(OSError):
                _unlink(self.path)

    def _opened(self) -> sqlite3.Connection | None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sweep(self.path.parent)
            try:
                return _connected(self.path)
            except sqlite3.OperationalError:  # locked, full, read-only
                raise
            except sqlite3.DatabaseError:
                self._say("the journal of an earlier run is damaged, so this one starts anew")
                _unlink(self.path)
                return _connected(self.path)
        except (OSError, sqlite3.Error) as error:
            if "locked" in str(error):
                self._say("the same reduction is running already: this one keeps no journal")
            else:
                self._say(f"no journal can be kept at {self.path} ({_reason(error)}): if killed, this run starts anew")
            return None

    def _count(self, table: str) -> int:
        row = self._execute(f"SELECT count(*) FROM {table}", ())
        return int(row[0]) if row is not None else 0

    def _execute(self, statement: str, values: tuple[Any, ...]) -> Any:
        """The first row of the result, or None; after an error the journal is done without."""
        if self._database is None:
            return None
        try:
            return self._database.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._let_go()
            self._say(f"the journal cannot go on ({_reason(error)}): if killed, this run goes on from what it has")
            return None


def journal_path(request: Request, script: Path, text: str, local: Mapping[str, str]) -> Path:
    """Where the journal of ``request`` lies: the same for the same command, script, local modules and version of us."""
    asked: dict[str, Any] = {
        field.name: getattr(request, field.name) for field in fields(request) if field.name not in _NOT_ITS_CONCERN
    }
    cwd = (request.cwd or Path.cwd()).absolute()
    preload = request.preload.read_bytes().hex() if request.preload is not None else ""
    everything = [_version(), asked, str(cwd), str(script), text, dict(local), preload]
    name = hashlib.sha256(json.dumps(everything, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))
    return user_cache_path("shrinkrepro", appauthor=False) / "journals" / f"{name.hexdigest()}.db"


@cache
def _version() -> str:
    """Of our own code, by its texts: between releases it changes without a number."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).resolve().parent.parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")  # also: no shared memory, which network folders lack
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN EXCLUSIVE")
        database.execute("COMMIT")
        [found] = database.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        database.executescript(_TABLES)
    except BaseException:
        database.close()
        raise
    return database


def _unpacked(blob: bytes) -> Any:
    try:
        return json.loads(zlib.decompress(blob))
    except (zlib.error, ValueError, TypeError):
        return None  # as if it was never there: the query is made again


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _unlink(path: Path) -> None:
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        name.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove the oldest journals, but none that a run has open."""

    def written(path: Path) -> float:
        log = path.with_name(path.name + "-wal")
        return max((p.stat().st_mtime for p in (path, log) if os.path.exists(p)), default=0.0)

    for path in sorted(folder.glob("*.db"), key=written)[:-KEPT]:
        try:
            _connected(path).close()
        except sqlite3.OperationalError:
            continue  # a run has it
        except sqlite3.DatabaseError:
            pass  # damaged
        with contextlib.suppress(OSError):
            _unlink(path)
