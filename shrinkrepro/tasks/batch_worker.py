"""What works on the scripts of a batch, in whatever process or machine an executor puts it.

Decision: it does with a script what the commands of its own do (check, reduce, add), by the same code, one script at a
time; what differs is where the script comes from (a message) and where the result goes (another).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shrinkrepro.errors import ShrinkReproError
from shrinkrepro.session import Confinement, Counts, Reduction, Request, run
from shrinkrepro.session.journal import journal_path
from shrinkrepro.tasks.add import AddRequest, make_case
from shrinkrepro.tasks.batch_check import Checked, check
from shrinkrepro.tasks.inputs import checked
from shrinkrepro.tasks.replay_share import REPLAY, replay_share
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers.executor import ACCEPTED, DONE, LOST, NOTE, STARTED, Event, Work, failed
from shrinkrepro.workers.shelf import Shelf

CHECK, REDUCE, CASE = "check", "reduce", "case"  # kinds of work
WORKER = f"{__name__}:ScriptWorker"  # for ``workers.executor.load_worker``

_NOT_SENT = ("source", "original", "steps", "marks", "also_found")  # of a reduction: large, or told already
_NAME = "script.py"  # of every program: servers for one folder then serve all its scripts


class ScriptWorker:
    """A ``workers.executor.Worker``."""

    def __init__(self) -> None:
        self._scratch: Path | None = None
        self._kinds: Mapping[str, Callable[[Work, Callable[[Event], None]], Mapping[str, Any]]] = {
            CHECK: self._check,
            REDUCE: self._reduce,
            CASE: self._case,
            REPLAY: lambda work, tell: replay_share(work, self._preload(work.options)),
        }
        self._shelf = Shelf()

    def run(self, work: Work, tell: Callable[[Event], None]) -> None:
        """Do ``work``."""
        tell(Event(work.name, STARTED))
        try:
            end = Event(work.name, DONE, self._kinds[work.kind](work, tell))
        except ShrinkReproError as error:
            message = error.message.replace(_NAME, work.script).replace("the source", work.script, 1)
            end = failed(work.name, type(error)(message, error.hint))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__} inside shrinkrepro ({Path(last.filename).name}:{last.lineno}): {error}"
            end = Event(work.name, LOST, {"message": said, "hint": "this is a fault of ours: please report it"})
        tell(end)

    def close(self) -> None:
        """Stop servers and remove files."""
        self._shelf.close()
        if self._scratch is not None:
            scratches.remove(self._scratch)
            self._scratch = None

    def _check(self, work: Work, tell: Callable[[Event], None]) -> Mapping[str, Any]:
        request = self._request(work, work.sources[work.script])
        return check(request, self._shelf, _Telling(work, tell)).wire()

    def _reduce(self, work: Work, tell: Callable[[Event], None]) -> Mapping[str, Any]:
        text = work.sources[work.script]
        output = self._folder() / f"{hashlib.sha256(work.name.encode()).hexdigest()[:16]}.py"
        request = checked(dataclasses.replace(self._request(work, text), output=output))
        if work.start and not _has_journal(request):
            request = dataclasses.replace(request, text=work.start)
        reduction = run(request, _Telling(work, tell), self._shelf)
        again = dataclasses.replace(self._request(work, reduction.source), output=None)
        return {**reduced_wire(reduction), "text": reduction.source, "check": self._checked_again(again, work, tell)}

    def _checked_again(self, request: Request, work: Work, tell: Callable[[Event], None]) -> Mapping[str, Any] | None:
        """What the result fails by, as the scripts are asked it; None where it cannot be said."""
        try:
            found: Checked = check(request, self._shelf, _Telling(work, tell))
        except ShrinkReproError:
            return None
        return found.wire()

    def _case(self, work: Work, tell: Callable[[Event], None]) -> Mapping[str, Any]:
        """The file of a case of the script, which is a result; its options are the case's own."""
        request = self._request(work, work.sources[work.script])
        asked = AddRequest(
            file=(request.cwd or self._folder()) / _NAME,
            title=str(work.options.get("title", "")),
            python=request.python,
            timeout=request.timeout,
            match=request.match,
            preload=request.preload,
            jobs=1,
            reduction=work.options.get("reduction", {}),
            confirmed=bool(work.options.get("confirmed", False)),
        )
        added = make_case(asked, work.sources[work.script], None, _Telling(work, tell), self._shelf)
        return {"text": added.text, "title": added.case.title, "failure": added.case.failure}

    def _request(self, work: Work, text: str) -> Request:
        options = work.options
        return Request(
            script=None,
            text=text,
            args=tuple(options.get("args", ())),
            python=options.get("python"),
            device=options.get("device"),
            cwd=self._place(work),
            budget=options.get("budget"),
            jobs=int(options.get("jobs", 1)),
            timeout=options.get("timeout"),
            match=options.get("match", "signature"),
            controls=tuple(options.get("controls", ())),
            seed=int(options.get("seed", 0)),
            isolation=options.get("isolation"),
            preload=self._preload(options),
            confinement=Confinement(
                sandbox=bool(options.get("sandbox", True)),
                network=bool(options.get("network", False)),
                memory=options.get("memory"),
            ),
        )

    def _place(self, work: Work) -> Path:
        """The folder to run in: the script's own where it is on this machine as it was sent, else one like it."""
        own = Path(work.folder)
        if work.folder and all(_text(own / name) == text for name, text in work.sources.items()):
            return (own / work.script).parent
        others = {name: text for name, text in work.sources.items() if name != work.script}
        digest = hashlib.sha256(json.dumps(others, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
        folder = self._folder() / f"sources-{digest[:32]}"
        for name, text in others.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", errors="surrogatepass")
        place = (folder / work.script).parent
        place.mkdir(parents=True, exist_ok=True)
        return place

    def _preload(self, options: Mapping[str, Any]) -> Path | None:
        """The preloaded file, from the message where this machine has it not, or another."""
        if options.get("preload") is None:
            return None
        path, text = Path(options["preload"]), options["preload_text"]
        if _text(path) == text:
            return path
        path = self._folder() / "preload.py"
        path.write_text(text, encoding="utf-8")
        return path

    def _folder(self) -> Path:
        if self._scratch is None:
            self._scratch = scratches.make_scratch()
        return self._scratch


class _Telling:
    """The progress of a session, as events."""

    def __init__(self, work: Work, tell: Callable[[Event], None]) -> None:
        self._work, self._tell = work, tell

    def phase(self, text: str) -> None:
        """Nothing: a batch shows scripts, not phases."""

    def step(self, strategy: str, source: str, tokens: int) -> None:
        """A smaller program."""
        data = {"text": source, "tokens": tokens, "strategy": strategy}
        self._tell(Event(self._work.name, ACCEPTED, data))

    def query(self, counts: Counts, strategy: str) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """A line for the script's row."""
        self._tell(Event(self._work.name, NOTE, {"text": text}))


def reduced_wire(reduction: Reduction) -> dict[str, Any]:
    """A reduction as JSON types, without what is large or was told on the way."""
    fields = {name: value for name, value in dataclasses.asdict(reduction).items() if name not in _NOT_SENT}
    wire: dict[str, Any] = json.loads(json.dumps(fields, default=str))
    return wire


def _has_journal(request: Request) -> bool:
    """Whether an earlier run of this very script left a journal here: it goes on to the letter."""
    path = (request.cwd or Path()).absolute() / _NAME
    return journal_path(request, path, request.text or "", {}).exists()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return None
