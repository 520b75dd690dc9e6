"""The cases in files and folders: found, named once, picked by an expression and a share.

Decision: a file that cannot be used is told with the others' results and stops nothing; only a path that is not
there, or a choice that leaves nothing, is a wrong command.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkrepro.corpus.case import Case, CaseError, read
from shrinkrepro.corpus.selection import Selection
from shrinkrepro.errors import UsageError

_NO_CASES = frozenset({"conftest.py", "__init__.py"})


@dataclass(frozen=True)
class Problem:
    """A file that is no usable case, and why, in one line."""

    path: Path
    message: str
    hint: str

    @property
    def name(self) -> str:
        """What a case in this file would be called."""
        return self.path.stem


@dataclass(frozen=True)
class Found:
    """What lies under some paths, in the order of names."""

    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]

    def selected(self, keyword: str, shard: str) -> Found:
        """The part that ``-k`` and ``--shard`` pick.

        Raises:
            UsageError: one of them cannot be read, or the keyword leaves nothing.
        """
        selection, (number, of) = Selection(keyword), parse_shard(shard)
        cases = [case for case in self.cases if selection.holds(f"{case.name} {case.title}")]
        problems = [problem for problem in self.problems if selection.holds(problem.name)]
        if not cases and not problems:
            raise UsageError(
                f"-k {keyword!r} leaves none of {len(self.cases)} cases",
                "it looks at names and titles: -k 'vmap and not jvp'",
            )
        names = sorted({case.name for case in cases} | {problem.name for problem in problems})
        mine = {name for index, name in enumerate(names) if index % of == number - 1}
        return Found(
            tuple(case for case in cases if case.name in mine),
            tuple(problem for problem in problems if problem.name in mine),
        )


def parse_shard(text: str) -> tuple[int, int]:
    """``2/4`` as numbers; ``1/1`` for an empty text.

    Raises:
        UsageError: it is none such.
    """
    number, _, of = (text or "1/1").partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise UsageError(f"--shard {text!r} is no share", "write it as i/n with i from 1 to n: --shard 2/4")
    return int(number), int(of)


def find(paths: Sequence[Path]) -> Found:
    """The cases under ``paths``: files, and every Python file in folders.

    Raises:
        UsageError: a path is not there, or there is no case in any.
    """
    cases: list[Case] = []
    problems: list[Problem] = []
    for path in _files(paths):
        try:
            cases.append(read(path))
        except CaseError as error:
            problems.append(Problem(path, error.message, error.hint))
    if not cases and not problems:
        raise UsageError(
            f"there is no case in {', '.join(map(str, paths))}",
            "make one with shrinkrepro add FILE or reduce --case DIR",
        )
    cases.sort(key=lambda case: (case.name, str(case.path)))
    return _named_once(cases, problems)


def _files(paths: Sequence[Path]) -> Iterable[Path]:
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", "name a case, or a folder of cases")
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in found:
            inside = file.relative_to(path).parts if path.is_dir() else ()
            skipped = any(part.startswith(".") for part in inside) or (path.is_dir() and file.name in _NO_CASES)
            if not skipped and file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _named_once(cases: Sequence[Case], problems: Sequence[Problem]) -> Found:
    kept: dict[str, Case] = {}
    told = list(problems)
    for case in cases:
        if case.name in kept:
            told.append(
                Problem(case.path, f"{case.path} has the name of {kept[case.name].path}", "rename one of the two files")
            )
        elif case.edited:
            kept[case.name] = case
            told.append(
                Problem(
                    case.path,
                    f"{case.path} was edited since its table was written",
                    f"take it as it is now: shrinkrepro add --force {case.path}",
                )
            )
        else:
            kept[case.name] = case
    usable = tuple(case for case in kept.values() if not case.edited)
    return Found(usable, tuple(sorted(told, key=lambda problem: (problem.name, str(problem.path)))))
