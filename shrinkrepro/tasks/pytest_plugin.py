"""The pytest plugin: cases as tests, and failing tests as repros. Off unless asked for.

``pytest --shrinkrepro corpus/`` collects cases; ``pytest --shrink-failures`` reduces tests that fail in torch.

Decision: nothing but the options is loaded until one is given, so that an installed shrinkrepro costs other people's
test runs nothing. Each process of xdist has a warm server of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shrinkrepro.corpus.case import Case
    from shrinkrepro.tasks.replayer import Replayed, Replayer


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("shrinkrepro", "reduced repros of PyTorch failures")
    group.addoption("--shrinkrepro", action="store_true", help="collect cases: files with a [tool.shrinkrepro] table")
    group.addoption("--shrinkrepro-python", metavar="PATH", help="the interpreter that cases run on")
    group.addoption("--shrinkrepro-device", metavar="D", help="the device that cases run on")
    group.addoption("--shrink-failures", action="store_true", help="reduce each failure in torch to a script")
    group.addoption("--shrink-dir", metavar="DIR", default="shrinkrepro-failures", help="where those scripts go")
    group.addoption("--shrink-budget", metavar="TIME", default="60s", help="time for each of them")


def pytest_configure(config: pytest.Config) -> None:
    """Register what was asked for."""
    if config.getoption("--shrinkrepro"):
        config.pluginmanager.register(_Cases(config), "shrinkrepro-cases")
    if config.getoption("--shrink-failures"):
        config.pluginmanager.register(_Failures(config), "shrinkrepro-failures")


class _Cases:
    """Collects cases; one server for all that this process runs."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._replayer: Replayer | None = None
        self._known: dict[Path, bool] = {}

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """A case is a file of ours."""
        return _CaseFile.from_parent(parent, path=file_path, cases=self) if self._is_case(file_path) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Pytest's own collector would import, that is run, a case that is named on the command line."""
        return _Nothing.from_parent(parent, path=module_path) if self._is_case(module_path) else None

    def _is_case(self, path: Path) -> bool:
        if path not in self._known:
            self._known[path] = path.suffix == ".py" and b"[tool.shrinkrepro]" in path.read_bytes()
        return self._known[path]

    def replay(self, case: Case, items: Iterable[pytest.Item]) -> Replayed:
        """Run one case; the server learns the imports of all of them at its start."""
        from shrinkrepro.tasks.replayer import Replayer

        if self._replayer is None:
            cases = [item.case for item in items if isinstance(item, _CaseItem)]
            self._replayer = Replayer(cases, python=self._config.getoption("--shrinkrepro-python"), jobs=1)
        [row] = self._replayer.replay([case], self._config.getoption("--shrinkrepro-device"))
        return row

    def pytest_unconfigure(self) -> None:
        """Stop the server."""
        if self._replayer is not None:
            self._replayer.close()


class _Nothing(pytest.File):
    """What stands in for a module that must not be imported."""

    def collect(self) -> Iterable[pytest.Item]:
        return ()


class _CaseFile(pytest.File):
    """One case's file: one test."""

    def __init__(self, *, cases: _Cases, **rest: Any) -> None:
        super().__init__(**rest)
        self._cases = cases

    def collect(self) -> Iterable[pytest.Item]:
        from shrinkrepro.corpus.case import CaseError, read

        try:
            case = read(self.path)
        except CaseError as error:
            raise self.CollectError(f"{error.message}\nhint: {error.hint}") from None
        if case.edited:
            raise self.CollectError(
                f"{self.path} was edited since its table was written\nhint: shrinkrepro add --force {self.path}"
            )
        yield _CaseItem.from_parent(self, name=case.expected, case=case, cases=self._cases)


class NotAsExpected(Exception):
    """A case whose status is not what its table says; the text tells all."""


class _CaseItem(pytest.Item):
    """Passes when the case does what is expected of it."""

    def __init__(self, *, case: Case, cases: _Cases, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self._cases = cases

    def runtest(self) -> None:
        from shrinkrepro.report.replayed import story

        row = self._cases.replay(self.case, self.session.items)
        if row.as_expected and row.status == "unsupported":
            pytest.skip(row.detail)
        if not row.as_expected:
            raise NotAsExpected("\n".join(f"{label:<10} {value}".rstrip() for label, value in story(row)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotAsExpected):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.case.name}: {self.case.title or self.case.failure}"


class _Failures:
    """Reduces failures in torch, each distinct one once."""

    def __init__(self, config: pytest.Config) -> None:
        self._folder = config.rootpath / config.getoption("--shrink-dir")
        self._budget = config.getoption("--shrink-budget")
        self._seen: dict[tuple[str, ...], str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the repro to the report of a test that failed in torch."""
        report = yield
        if call.when == "call" and report.failed and call.excinfo is not None:
            frames = [str(entry.path) for entry in call.excinfo.traceback]
            torch = [f"{Path(f).name}" for f in frames if "/torch/" in f.replace("\\", "/")]
            if torch:
                first = str(call.excinfo.value).strip().partition("\n")[0]
                key = (call.excinfo.typename, first, torch[-1])
                if key not in self._seen:
                    self._seen[key] = item.nodeid
                    report.sections.append(("shrinkrepro", self._reduced(item, call.excinfo.typename)))
                else:
                    report.sections.append(("shrinkrepro", f"the same failure as {self._seen[key]}"))
        return report

    def _reduced(self, item: pytest.Item, typename: str) -> str:
        from shrinkrepro.errors import ShrinkReproError
        from shrinkrepro.report.files import write_whole
        from shrinkrepro.session import Request
        from shrinkrepro.tasks.inputs import parse_duration
        from shrinkrepro.tasks.pytest_id import file_name
        from shrinkrepro.tasks.reduction import reduce
        from shrinkrepro.tasks.testscript.script import Unwritable, script_of

        try:
            made = script_of(item)
            budget = parse_duration(self._budget, "--shrink-budget")
            request = Request(script=None, text=made["source"], cwd=Path(made["folder"]), budget=budget)
            reduction = reduce(request, _Silent())
        except Unwritable as reason:
            return f"not reduced: {reason}"
        except ShrinkReproError as error:
            return f"not reduced: {error.message}"
        if typename not in reduction.signature.partition(",")[0]:
            return f"not reduced: as a script it fails otherwise: {reduction.signature}"
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / f"{file_name(item.nodeid)}.py"
        write_whole(file, reduction.source)
        return f"{file}: {reduction.signature}\n\n{reduction.source}"


class _Silent:
    """A progress that says nothing: pytest owns the screen."""

    def phase(self, text: str) -> None: ...

    def step(self, strategy: str, source: str, tokens: int) -> None: ...

    def query(self, counts: Any, strategy: str) -> None: ...

    def note(self, text: str) -> None: ...
