"""The task behind ``shrinkrepro report`` and ``reduce --report``: everything that a bug report says is run for it.

Decision: the program is taken out of the finished text as a reader would paste it, and run once more in a fresh
interpreter; a report whose program does not fail the same is not given out.
"""

from __future__ import annotations

import getpass
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from shrinkrepro.errors import NotFailingError, UsageError
from shrinkrepro.oracles import controls
from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import signature_of
from shrinkrepro.protocol import OK
from shrinkrepro.report.bug import Bug, Elsewhere, NeighbourRow, Step, mapped
from shrinkrepro.report.html import check_libraries, html
from shrinkrepro.report.issue import github, markdown
from shrinkrepro.report.mask import Mask
from shrinkrepro.session import Progress
from shrinkrepro.tasks.add import default_title
from shrinkrepro.tasks.bug_words import Words, telling
from shrinkrepro.tasks.explain import PASSES, ExplainResult, Row, explained
from shrinkrepro.tasks.inputs import found_python
from shrinkrepro.tasks.subject import Subject, subject
from shrinkrepro.workers.fresh import run_fresh

FORMATS = ("github", "markdown", "json", "html")
FULL, SHORT = "full", "short"
_ENVIRONMENT_SECONDS = 120.0  # torch's collect_env asks many tools of the system
_ENVIRONMENT = """\
from torch.utils.collect_env import get_pretty_env_info

print(get_pretty_env_info())
"""
_SAME_MEANING = ("compile", "reference", "dtype", "device", "transforms")  # directions in which the same is expected
_VERSIONS = "import platform, torch\nprint(torch.__version__, platform.python_version())\n"
_SHORT_LINES = re.compile(
    r"^(?:PyTorch version|Is debug build|CUDA used|ROCM used|OS|Python version|Is CUDA available|CUDA runtime|"
    r"GPU models|Is XPU available|Versions of relevant|\[(?:pip3?|conda)\] (?:torch|numpy|triton|functorch))"
)
_LIBRARY = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\][^\s\"'<>:]*?[/\\](?=(?:site|dist)-packages[/\\])")
_STDLIB = re.compile(r"(?<![\w.])/[^\s\"'<>:]*?/(?=lib/python3\.\d+/)")


@dataclass(frozen=True)
class ReportRequest:
    """What the user asked for. ``compare`` are other interpreters; ``record`` is what ``reduce --json`` wrote."""

    path: Path
    python: str | None = None
    timeout: float | None = None
    preload: Path | None = None
    jobs: int | None = None
    title: str = ""
    origin: str = ""
    words: str = ""
    compare: tuple[str, ...] = ()
    environment: str = FULL
    neighbours: bool = True
    mask: bool = True
    record: Path | None = None
    steps: tuple[Step, ...] = ()
    reduction: Mapping[str, Any] | None = None


def report(request: ReportRequest, form: str, progress: Progress) -> tuple[Bug, str]:
    """The report of the case or program in ``request.path``, and its text in ``form``.

    Raises:
        ShrinkReproError: it cannot be read, does not fail the same, or the report's own program does not.
    """
    check_form(form)
    if request.environment not in (FULL, SHORT):
        raise UsageError(f"--environment {request.environment!r} is not known", f"it is {FULL} or {SHORT}")
    pythons = [found_python(python, "--compare ") for python in request.compare]
    request = _with_record(request)
    with subject(
        request.path,
        python=request.python,
        timeout=request.timeout,
        preload=request.preload,
        jobs=request.jobs,
        progress=progress,
    ) as of:
        around = explained(of, progress, request.jobs) if request.neighbours else None
        bug = _bug(of, around, request, pythons, progress)
        mask = _mask_of_here() if request.mask else None
        if mask is not None:
            bug = mapped(bug, mask)
            bug = replace(bug, masked=tuple(sorted(mask.found)))
        progress.phase("running the program as it stands in the report")
        bug = _confirmed(of, bug)
    return bug, rendered(bug, form)


def check_form(form: str) -> None:
    """Make sure that a report can be written in ``form``.

    Raises:
        UsageError: there is no such format, or its libraries are not installed.
    """
    if form not in FORMATS:
        raise UsageError(f"--format {form!r} is not known", f"it is one of {', '.join(FORMATS)}")
    if form == "html":
        check_libraries()


def rendered(bug: Bug, form: str) -> str:
    """``bug`` in one of ``FORMATS``."""
    if form == "json":
        return json.dumps(asdict(bug), indent=2, ensure_ascii=False, default=str) + "\n"
    if form == "html":
        return html(bug)
    return github(bug) if form == "github" else markdown(bug)


def pasted(text: str) -> str | None:
    """The first Python code block of a Markdown text, as a reader would paste it."""
    from markdown_it import MarkdownIt

    for token in MarkdownIt().parse(text):
        if token.type == "fence" and token.info.strip() == "python":
            return token.content
    return None


def _confirmed(of: Subject, bug: Bug) -> Bug:
    text = pasted(github(bug))
    if text is None or text != bug.program:
        raise UsageError(
            f"the program of {of.path} cannot be written into Markdown as it is", "look for odd line ends in it"
        )
    for _ in range(3):  # a failure that memory decides may pass once
        if of.fails_the_same(run_fresh(of.target, text, of.limit), text):
            return replace(bug, confirmed=True)
    hint = "with --no-mask it stays as it is" if bug.masked else "run it a few times by itself: is it flaky?"
    raise NotFailingError(f"the program of {of.path} does not fail the same as it stands in the report", hint)


def _bug(
    of: Subject, around: ExplainResult | None, request: ReportRequest, pythons: Sequence[str], progress: Progress
) -> Bug:
    case, signature = of.case, of.oracle.signature
    message = of.fresh.chain[-1].message if of.fresh.chain else ""
    words = Words(of.text, signature, _difference(of), message)
    elsewhere = tuple(_elsewhere(of, python, progress) for python in pythons)
    environment = _environment(of, request.environment, progress)
    torch, python = (around.torch, around.python) if around is not None else _versions(of)
    rows = around.rows if around is not None else ()
    nearest = around.nearest if around is not None else None
    own_title = case.title if case is not None and case.title != default_title(case.failure) else ""
    before = (f"every run had {request.preload.name} run before it",) if request.preload is not None else ()
    older = [f"torch {one.torch}" for one in elsewhere if one.outcome == "ends normally"]
    return Bug(
        title=request.title or own_title or words.title(),
        summary=words.summary(nearest.title if nearest is not None else ""),
        kind=signature.kind,
        program=of.text if of.text.endswith("\n") else of.text + "\n",
        expected=words.expected([*older, *_expected_as(rows, nearest)]),
        actual=_plain_paths(telling(of.fresh), of),
        output=_plain_paths(of.fresh.stdout + of.fresh.stderr, of),
        failure=signature.describe(),
        torch=torch,
        python=python,
        values=around.values if around is not None else None,
        rows=tuple(NeighbourRow(r.group, r.title, r.outcome, r.detail, r.source) for r in rows),
        not_asked=around.not_asked if around is not None else (),
        nearest=nearest.title if nearest is not None else "",
        diff=around.diff if around is not None else "",
        elsewhere=elsewhere,
        control=_control(case.control) if case is not None else "",
        environment=environment,
        reduction=request.reduction or (case.reduction if case is not None else {}),
        steps=request.steps,
        findings=(*before, *(around.findings if around is not None else ())),
        origin=request.origin or (case.origin if case is not None else ""),
        words=request.words,
        query=words.query(),
        labels=words.labels(bool(older)),
        umbrellas=words.umbrellas(),
        version=version("shrinkrepro"),
    )


def _expected_as(rows: Sequence[Row], nearest: Row | None) -> list[str]:
    """Titles of the neighbours that pass and of which the same is expected, the nearest one of all first."""
    passing = [row for row in rows if row.outcome == PASSES and row.group in _SAME_MEANING]
    passing.sort(key=lambda row: (row != nearest, _SAME_MEANING.index(row.group)))
    return [row.title for row in passing]


def _difference(of: Subject) -> Difference | None:
    return of.oracle.difference if isinstance(of.oracle, Oracle) else None


def _control(name: str) -> str:
    for mode in (name, f"control-{name}"):
        try:
            return controls.passes(controls.Control(mode))
        except KeyError:
            continue
    return ""


def _elsewhere(of: Subject, python: str, progress: Progress) -> Elsewhere:
    progress.phase(f"running it with {python}")
    target = replace(of.target, python=python)
    asked = run_fresh(target, _VERSIONS, of.limit)
    if asked.status != OK:
        raise UsageError(f"--compare {python} cannot import torch", "give the python of an environment that has one")
    torch, its_python = asked.stdout.split()[-2:]
    run = run_fresh(target, of.text, of.limit)
    if run.status == OK:
        outcome = "ends normally"
    elif of.fails_the_same(run, of.text):
        outcome = "fails the same"
    else:
        found = signature_of(run)
        outcome = f"fails otherwise: {found.describe()}" if found is not None else "could not be judged"
    return Elsewhere(torch, its_python, outcome)


def _versions(of: Subject) -> tuple[str, str]:
    asked = run_fresh(replace(of.target, preload=None), _VERSIONS, of.limit)
    words = asked.stdout.split()[-2:]
    return (words[0], words[1]) if len(words) == 2 else ("", "")


def _environment(of: Subject, how: str, progress: Progress) -> str:
    progress.phase("asking torch for its environment")
    run = run_fresh(replace(of.target, preload=None), _ENVIRONMENT, _ENVIRONMENT_SECONDS)
    text = run.stdout.strip()
    if run.status != OK or not text:
        torch, python = _versions(of)
        return f"PyTorch version: {torch}\nPython version: {python}\n(torch's collect_env could not be run)"
    if how == SHORT:
        return "\n".join(line for line in text.splitlines() if _SHORT_LINES.match(line))
    return text


def _plain_paths(text: str, of: Subject) -> str:
    """``text`` with the folders cut off in which libraries and the program happened to lie."""
    name = re.escape(of.target.script_path.name)
    text = re.sub(rf"[^\s\"']*[/\\]shrinkrepro-[^\s\"']*?[/\\]{name}", of.target.script_path.name, text)
    text = _STDLIB.sub(".../", _LIBRARY.sub(".../", text))
    return re.sub(r"\.\.\./(?:lib/python3\.\d+/)?site-packages/", ".../", text)


def _mask_of_here() -> Mask:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    host = platform.node()
    hosts = dict.fromkeys((host, host.partition(".")[0]))
    return Mask(homes=(str(Path.home()),), users=(user,) if user else (), hosts=tuple(filter(None, hosts)))


def _with_record(request: ReportRequest) -> ReportRequest:
    """``request`` with the steps and sizes of the run that ``--record`` names.

    Raises:
        UsageError: it is no record of a reduction.
    """
    if request.record is None:
        return request
    try:
        table = json.loads(request.record.read_text(encoding="utf-8"))
        steps, reduction = of_record(table)
    except OSError as error:
        raise UsageError(f"--record {request.record} cannot be read: {error.strerror}", _RECORD) from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise UsageError(f"--record {request.record} is no record of a reduction", _RECORD) from None
    return replace(request, steps=steps, reduction=reduction)


_RECORD = "give the file that shrinkrepro reduce --json wrote"


def of_record(table: Mapping[str, Any]) -> tuple[tuple[Step, ...], dict[str, Any]]:
    """The steps and the sizes of a reduction's JSON.

    Raises:
        KeyError, TypeError, ValueError, IndexError: it is none.
    """
    from shrinkrepro.core.program import count_tokens

    marks = [(int(queries), float(seconds)) for queries, seconds in table.get("marks", ())]
    steps = []
    for i, (strategy, source) in enumerate(table["steps"]):
        queries, seconds = marks[i] if i < len(marks) else (-1, -1.0)
        steps.append(Step(str(strategy), str(source), count_tokens(source), queries, seconds))
    reduction = {
        "tokens-before": int(table["tokens_before"]),
        "tokens-after": int(table["tokens_after"]),
        "queries": int(table["counts"]["run"]),
        "seconds": float(table["seconds"]),
        "ended": str(table["ended"]),
    }
    return tuple(steps), reduction
