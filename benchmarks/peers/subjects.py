"""What is reduced: scripts of ``benchmarks/cases`` and hosts of ``benchmarks/injected``, and what is true of a result.

Decision: they are drawn once, by a seed and within kinds, so nobody picks the scripts that suit a tool; crashes and
compiled programs are rare among the cases and get places of their own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import checks, index
from benchmarks.index import Case
from benchmarks.injected.__main__ import healthy, planted
from benchmarks.injected.index import INJECTIONS, Injection
from benchmarks.removal.verify import without_bug
from shrinkrepro.session.request import Request

SEED = 8
PLACES = {"exception": 5, "mismatch": 3, "crash": 2, "compile": 2}  # of each kind
DRAWN_HOSTS, CASE_HOSTS = 1, 1  # of injected bugs: in a drawn host, and in one made from a case
CHECK_SECONDS = 120.0  # of one fresh run of a result

SAME = "same"  # the bug, and nothing without it
BROKEN = "broken"  # the bug, but without it the program fails too, otherwise: a name that nothing binds, say
SLIPPED = "slipped"  # another failure, or one that the bug has no part in


@dataclass(frozen=True)
class Subject:
    """A script to be reduced. Exactly one of ``case`` and ``injection`` is there."""

    name: str
    kind: str  # exception, mismatch, crash, compile, injected
    case: Case | None = None
    injection: Injection | None = None

    def script(self, folder: Path) -> Path:
        """The script's file; that of an injected bug is written to ``folder``."""
        if self.case is not None:
            return self.case.script
        assert self.injection is not None
        path = folder / f"{self.name}.py"
        path.write_text(self.injection.host, encoding="utf-8")
        return path

    def request(self, folder: Path, python: str, budget: float) -> Request:
        """What ``reduce`` is asked for, with one worker; ``budget`` in seconds."""
        return Request(
            script=self.script(folder),
            python=python,
            cwd=folder,
            jobs=1,
            budget=budget,
            differs=_differs(self.case.args) if self.case is not None else None,
            preload=self.injection.preload if self.injection is not None else None,
            fresh=True,
        )

    def truth(self, result: Path, python: str) -> tuple[str, str]:
        """What the program in the file ``result`` is in truth, and why: SAME, BROKEN or SLIPPED."""
        if self.case is not None:
            return _truth_of_case(self.case, result, python)
        assert self.injection is not None
        there, gone = planted(result, self.injection.preload), healthy(result)
        if there.clean:
            return SLIPPED, "it passes with the bug"
        if gone.clean:
            return SAME, ""
        same = _raised(there.last_line) == _raised(gone.last_line)
        return SLIPPED if same else BROKEN, f"without the bug: {gone.last_line[:200]}"


def _truth_of_case(case: Case, result: Path, python: str) -> tuple[str, str]:
    found = checks.check(case, result, python, CHECK_SECONDS)
    why = "; ".join(found.why)
    if not (found.signature and found.keeps):
        return SLIPPED, why
    if found.removed is not False:
        return SAME, ""
    gone = without_bug(python, case.removed, result, CHECK_SECONDS)
    same = checks.failed_as(case.kind, gone) and re.search(case.signature, gone.output) is not None
    return SLIPPED if same else BROKEN, why


def _raised(line: str) -> str:
    """The exception that a traceback's last line names."""
    return line.partition(":")[0]


def _differs(args: Sequence[str]) -> tuple[str, str] | None:
    if not args:
        return None
    option, got, want = args  # all that the cases need
    if option != "--differs":
        raise ValueError(f"a case has the argument {option}, which no peer could be given")
    return got, want


def kind_of(case: Case) -> str:
    """The kind by which cases are drawn; compiled programs are a kind of their own."""
    if re.search(r"torch\.compile|\.compile\(", "".join(path.read_text(encoding="utf-8") for path in case.sources)):
        return "compile"
    return case.kind.partition("-")[0]


def everything() -> tuple[Subject, ...]:
    """All that may be drawn."""
    cases = tuple(Subject(case.name, kind_of(case), case) for case in index.load())
    return cases + tuple(Subject(i.name.replace("+", "_in_"), "injected", injection=i) for i in INJECTIONS)


def drawn(seed: int = SEED) -> tuple[Subject, ...]:
    """The subjects of the published table, in an order in which the kinds take turns."""
    source, found = everything(), []
    for kind, places in PLACES.items():
        pool = [subject for subject in source if subject.kind == kind]
        found.append(random.Random(f"{seed} {kind}").sample(pool, places))
    for places, own in ((DRAWN_HOSTS, False), (CASE_HOSTS, True)):
        pool = [s for s in source if s.injection is not None and isinstance(s.injection.need, str) is own]
        found.append(random.Random(f"{seed} injected {own}").sample(pool, places))
    turns = max(map(len, found))
    return tuple(group[turn] for turn in range(turns) for group in found if turn < len(group))


def select(only: Sequence[str]) -> tuple[Subject, ...]:
    """The drawn subjects, or of all there are those whose names begin with one of ``only``.

    Raises:
        ValueError: a beginning fits none.
    """
    if not only:
        return drawn()
    for text in only:
        if not any(subject.name.startswith(text) for subject in everything()):
            raise ValueError(f"no case and no injected bug is called {text!r}")
    return tuple(s for s in everything() if any(s.name.startswith(text) for text in only))
