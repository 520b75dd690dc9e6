"""A bug report as Markdown: the two fields of PyTorch's own form, or plain Markdown for anywhere else.

Decision: a text that GitHub takes whole. What is long folds away, and what is still too long is cut at the least
important end and says so; the program is never cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from shrinkrepro.errors import UsageError

if TYPE_CHECKING:
    from shrinkrepro.report.bug import Bug, NeighbourRow

LIMIT = 65_536  # characters of a body that GitHub takes
ADDRESS_LIMIT = 8_000  # bytes of an address; beyond, servers and browsers refuse
REPOSITORY = "pytorch/pytorch"
PLACE = (
    "> **[ to be written by you ]** What were you doing when this came up, and why does it matter? "
    "PyTorch asks for words by a person. Replace these lines."
)
_OUTCOMES = ("passes", "fails the same", "fails otherwise")
_Render = Callable[["Bug", int], str]
_MANY = {"passes": "pass", "fails the same": "fail the same", "fails otherwise": "fail otherwise"}
_DETAIL = 70  # characters of another failure in the table
_LENGTHS = (60_000, 12_000, 4_000, 1_200)  # characters of each long part, tried in turn


def github(bug: Bug) -> str:
    """The body of an issue, its fields headed as GitHub's form does, with notes to the person at its top."""
    return _fitting(bug, _github)


def markdown(bug: Bug) -> str:
    """The report as plain Markdown, its title first."""
    return _fitting(bug, _plain)


def search_address(bug: Bug, repository: str = REPOSITORY) -> str:
    """Where issues that may be the same are found."""
    return f"https://github.com/{repository}/issues?q={quote_plus(bug.query)}"


def new_issue_address(bug: Bug, repository: str = REPOSITORY) -> str:
    """The address of a new issue with title and body filled in; the body is shortened where it is too long for one."""
    start = f"https://github.com/{repository}/issues/new?title={quote(bug.title)}&body="
    for one in (bug, replace(bug, environment=""), replace(bug, environment="", rows=(), output="", not_asked=())):
        for length in (6_000, 1_500, 400):
            address = start + quote(_github(one, length))
            if len(address) <= ADDRESS_LIMIT:
                return address
    return start + quote(f"{PLACE}\n\n(The report is too long for an address: paste it here.)\n")


def _fitting(bug: Bug, render: _Render) -> str:
    text = ""
    for length in _LENGTHS:
        text = render(bug, length)
        if len(text) <= LIMIT:
            return text
    raise UsageError(f"the report has {len(text):,} characters and GitHub takes {LIMIT:,}", "reduce the program first")


def _github(bug: Bug, length: int) -> str:
    parts = [_notes(bug), "### 🐛 Describe the bug", *_bug(bug, length, fold=True)]
    parts += ["### Versions", _fenced(_cut(bug.environment, length), "text") if bug.environment else _versions(bug)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _plain(bug: Bug, length: int) -> str:
    parts = [f"# {bug.title}", *_bug(bug, length, fold=False), "## Versions"]
    parts += [_fenced(_cut(bug.environment, length), "text") if bug.environment else _versions(bug)]
    parts += [f"To look for the same: {search_address(bug)}"] if bug.query else []
    return "\n\n".join(filter(None, parts)) + "\n"


def _notes(bug: Bug) -> str:
    """What the person needs before filing; a comment, which GitHub does not show."""
    lines = [f"Title: {bug.title}", f"Is it known already? {search_address(bug)}"]
    lines += [f"It may belong to {one}" for one in bug.umbrellas]
    if bug.labels:
        lines.append(f"Labels that may fit: {', '.join(bug.labels)}")
    if bug.masked:
        lines.append(f"Masked: {', '.join(bug.masked)}")
    lines.append("Write the lines that are marked for you. Nothing was sent. You may delete this comment.")
    return "<!--\n" + "\n".join(line.replace("--", "- -") for line in lines) + "\n-->"


def _bug(bug: Bug, length: int, fold: bool) -> list[str]:
    parts = [bug.summary, bug.words or PLACE, _fenced(bug.program, "python")]
    parts += [f"**Expected:** {bug.expected}"]
    if bug.values is not None:
        got, want = (_cut(value, length // 4) for value in bug.values)
        parts += ["**Compared:** the program's value", _fenced(got, "text"), "with", _fenced(want, "text")]
    parts += ["**Actual:**", _fenced(_cut(bug.actual, length), "text")]
    if bug.output.strip() and bug.output.strip() != bug.actual.strip():
        parts.append(_folded("The full output of a fresh run", _fenced(_cut(bug.output, length), "text"), fold))
    if bug.elsewhere:
        lines = [f"- torch {bug.torch}, Python {bug.python}: fails as above"]
        lines += [f"- torch {one.torch}, Python {one.python}: {one.outcome}" for one in bug.elsewhere]
        parts += ["**The same program with other versions:**", "\n".join(lines)]
    if bug.rows or bug.not_asked:
        parts += _neighbourhood(bug, length, fold)
    parts += ["\n".join(f"- {finding}" for finding in bug.findings)] if bug.findings else []
    return [*parts, *_how(bug)]


def _neighbourhood(bug: Bug, length: int, fold: bool) -> list[str]:
    parts = []
    if bug.nearest:
        parts += [f"**The nearest program that passes** ({bug.nearest}):", _fenced(bug.diff, "diff")]
    table = _cut("\n".join(_table(bug.rows)), length) if bug.rows else ""
    left = [f"Not run, for lack of time: {'; '.join(bug.not_asked)}."] if bug.not_asked else []
    open_ = [f"{row.title} ({row.detail})" if row.detail else row.title for row in bug.rows if row.outcome not in _MANY]
    left += [f"Run without an answer: {'; '.join(open_)}."] if open_ else []
    counts = ", ".join(
        f"{n} {what if n == 1 else _MANY[what]}" for what in _OUTCOMES for n in [_count(bug.rows, what)] if n
    )
    title = f"What else was run: {len(bug.rows)} programs beside it ({counts})"
    return [*parts, _folded(title, "\n\n".join(filter(None, [table, *left])), fold)]


def _table(rows: Sequence[NeighbourRow]) -> list[str]:
    lines = [f"| exchanged | {' | '.join(_OUTCOMES)} |", "|---" * 4 + "|"]
    for group, found in groupby(rows, key=lambda row: row.group):
        by: dict[str, list[str]] = {what: [] for what in _OUTCOMES}
        alike: dict[tuple[str, str], list[str]] = {}  # the titles of one outcome and reason
        for row in found:
            reason = _one_line(row.detail) if row.outcome == _OUTCOMES[-1] else ""
            alike.setdefault((row.outcome, reason), []).append(row.title)
        for (outcome, reason), titles in alike.items():
            each = "each " if len(titles) > 1 else ""
            by.setdefault(outcome, []).append(
                f"{', '.join(titles)} ({each}`{reason}`)" if reason else "; ".join(titles)
            )
        lines.append(f"| {group} | " + " | ".join(_cell("; ".join(by[what])) for what in _OUTCOMES) + " |")
    return lines


def _one_line(text: str) -> str:
    """The first words of ``text``, as code in a cell."""
    line = " ".join(text.replace("`", "'").split())
    return line if len(line) <= _DETAIL else line[: _DETAIL - 1].rstrip() + "…"


def _count(rows: Sequence[NeighbourRow], outcome: str) -> int:
    return sum(row.outcome == outcome for row in rows)


def _how(bug: Bug) -> list[str]:
    """That a tool took part, in which way, and where the program comes from."""
    sizes = bug.reduction
    lines = [f"This report was written by a tool, shrinkrepro {bug.version}, from runs, but for the words of a person."]
    if "tokens-before" in sizes and "tokens-after" in sizes:
        made = f"The tool reduced the program too, from {sizes['tokens-before']} to {sizes['tokens-after']} tokens"
        made += f" in {sizes['queries']} queries" if sizes.get("queries") else ""
        made += f" and {float(sizes['seconds']):.0f} s" if sizes.get("seconds") else ""
        lines.append(f"{made}.")
    if bug.confirmed:
        lines.append("The program was taken out of this report as it stands here, run once more, and failed the same.")
    if bug.control:
        lines.append(f"As the case records, the program {bug.control}.")
    if bug.origin:
        lines.append(f"Origin: {bug.origin}")
    return ["<sub>" + " ".join(lines) + "</sub>"]


def _versions(bug: Bug) -> str:
    return f"torch {bug.torch}, Python {bug.python}"


def _folded(title: str, text: str, fold: bool) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>" if fold else f"**{title}**\n\n{text}"


def _fenced(text: str, language: str) -> str:
    """``text`` in a fence that no line of it can end. A text that ends without a line break gets one."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip() if language != 'python' else text.removesuffix(chr(10))}\n{fence}"


def _cut(text: str, length: int) -> str:
    """At most about ``length`` characters of ``text``: its beginning and its end, by whole lines."""
    if len(text) <= length:
        return text
    head = text[: length // 3].rpartition("\n")[0]
    tail = text[-(2 * length // 3) :].partition("\n")[2]
    return f"{head}\n... ({len(text) - len(head) - len(tail):,} characters were cut here)\n{tail}"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") or "–"
