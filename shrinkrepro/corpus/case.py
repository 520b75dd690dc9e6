"""A case: one Python file that shows one failure, with what is known of the failure in the block above the program.

Decision: the block is PEP 723's, so the file runs with ``python case.py`` and with ``uv run case.py``; what is ours
stands in its ``[tool.shrinkrepro]`` table. What other tools keep in the block is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shrinkrepro.corpus import block
from shrinkrepro.corpus.digest import digest
from shrinkrepro.corpus.versions import allows, requirement
from shrinkrepro.errors import UsageError

FORMAT = 1
REQUIRES_PYTHON = ">=3.10"
TORCH = "torch>=2.0"

FAILS = "fails"  # with the same signature
FIXED = "fixed"  # ends normally
CHANGED = "changed"  # fails for another reason
FLAKY = "flaky"  # its runs disagree
UNSUPPORTED = "unsupported"  # needs something that this target has not
ERROR = "error"  # could not be judged
STATUSES = (FAILS, FIXED, CHANGED, FLAKY, UNSUPPORTED, ERROR)


class CaseError(UsageError):
    """A file that is no usable case; one line."""


@dataclass(frozen=True)
class Expectation:
    """What is expected where ``torch`` (a version specifier) and ``device`` hold; empty ones hold everywhere."""

    status: str = FAILS
    torch: str = ""
    device: str = ""
    failure: str = ""  # of a changed case: its other failure, in words; empty: any

    def holds(self, torch: str, device: str) -> bool:
        """Whether this is about such a torch and device."""
        return (not self.device or self.device == device.partition(":")[0]) and allows(self.torch, torch)


@dataclass(frozen=True)
class Case:
    """One case. ``signature`` and ``faces`` are the tables of ``oracles.signature.Signature``, as TOML has them."""

    name: str
    path: Path
    text: str  # of the whole file, plain line ends
    signature: Mapping[str, Any]
    failure: str  # the signature in words
    title: str = ""
    expected: str = FAILS
    on: tuple[Expectation, ...] = ()  # where something else is expected; the first that holds counts
    match: str = "signature"
    control: str = "none"
    device: str = "cpu"
    origin: str = ""  # a URL, or a note
    timeout: float | None = None  # seconds after which a run counts as hung
    faces: tuple[Mapping[str, Any], ...] = ()  # other signatures of the same bug, where memory decides
    difference: Mapping[str, Any] = field(default_factory=dict)  # of a failed check: how the values differ
    first_seen: Mapping[str, str] = field(default_factory=dict)  # torch, python, platform
    reduction: Mapping[str, Any] = field(default_factory=dict)  # original, tokens-before, tokens-after, queries
    requires_python: str = REQUIRES_PYTHON
    dependencies: tuple[str, ...] = (TORCH,)
    program: str = ""  # the digest in the table

    @property
    def edited(self) -> bool:
        """Whether the program is no longer the one that the table was written for."""
        return self.program != digest(block.program(self.text))

    def expectation(self, torch: str, device: str) -> Expectation:
        """What is expected with this torch version and device."""
        held = (one for one in self.on if one.holds(torch, device))
        return next(held, Expectation(self.expected))

    def lacks(self, python: str, torch: str) -> str:
        """Which requirement of the case these versions do not meet; empty when they meet all."""
        if not allows(self.requires_python, python):
            return f"it needs Python {self.requires_python}, this is {python}"
        for text in self.dependencies:
            name, specifier = requirement(text)
            if name == "torch" and not allows(specifier, torch):
                return f"it needs torch {specifier}, this is {torch}"
        return ""


def read(path: Path) -> Case:
    """The case in the file ``path``.

    Raises:
        CaseError: it cannot be read, is no case, or its table is wrong.
    """
    try:
        text = block.plain(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise CaseError(f"{path} cannot be read: {error.strerror}", "look at its permissions") from None
    except UnicodeDecodeError:
        raise CaseError(f"{path} is not UTF-8", "save it as UTF-8 first") from None
    try:
        found = block.find(text)
    except block.BlockError as error:
        raise CaseError(f"{path}: {error}", _AGAIN) from None
    metadata = toml_of(found.toml, path) if found is not None else {}
    table = metadata.get("tool", {}).get("shrinkrepro") if isinstance(metadata.get("tool", {}), dict) else None
    if not isinstance(table, dict):
        raise CaseError(f"{path} is no case: it has no [tool.shrinkrepro] table", f"make one of it: {_ADD} {path}")
    return _Reader(path, text, metadata, table).case()


_ADD = "shrinkrepro add"
_AGAIN = f"mend it, or delete the block and make it anew with {_ADD}"


def toml_of(text: str, path: Path) -> dict[str, Any]:
    """The block's TOML as plain dictionaries, lists and values.

    Raises:
        CaseError: it is broken.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return dict(tomlkit.parse(text).unwrap())
    except (TOMLKitError, ValueError) as error:
        raise CaseError(f"{path}: its block is broken TOML: {' '.join(str(error).split())}", _AGAIN) from None


@dataclass(frozen=True)
class _Reader:
    """Takes a table apart; every wrong entry is one clear line."""

    path: Path
    text: str
    metadata: dict[str, Any]
    table: dict[str, Any]

    def case(self) -> Case:
        version = self.table.get("format")
        if version != FORMAT or isinstance(version, bool):
            known = f"this shrinkrepro reads format {FORMAT}"
            if not isinstance(version, int):
                raise self._wrong("format", f"is {version!r}", known)
            raise self._wrong("format", f"is {version}, and {known}", "upgrade shrinkrepro, or write the case anew")
        kind = self._get(self._table("signature"), "signature.kind", str, None)
        if not kind:
            raise self._wrong("signature", "has no kind", _AGAIN)
        timeout = self._get(self.table, "timeout", (int, float), 0)
        return Case(
            name=self.path.stem,
            path=self.path,
            text=self.text,
            signature=self._table("signature"),
            failure=self._get(self.table, "failure", str, ""),
            title=self._get(self.table, "title", str, ""),
            expected=self._status(self._get(self.table, "expected", str, FAILS), "expected"),
            on=tuple(self._expectations()),
            match=self._get(self.table, "match", str, "signature"),
            control=self._get(self.table, "control", str, "none"),
            device=self._get(self.table, "device", str, "cpu"),
            origin=self._get(self.table, "origin", str, ""),
            timeout=float(timeout) or None,
            faces=tuple(self._tables("faces")),
            difference=self._table("difference"),
            first_seen={name: str(value) for name, value in self._table("first-seen").items()},
            reduction=self._table("reduction"),
            requires_python=self._specifier(self._get(self.metadata, "requires-python", str, ""), "requires-python"),
            dependencies=tuple(map(str, self._get(self.metadata, "dependencies", list, []))),
            program=self._get(self.table, "program", str, ""),
        )

    def _expectations(self) -> Iterator[Expectation]:
        for entry in self._tables("on"):
            yield Expectation(
                self._status(self._get(entry, "on.status", str, ""), "on.status"),
                self._specifier(self._get(entry, "on.torch", str, ""), "on.torch"),
                self._get(entry, "on.device", str, ""),
                self._get(entry, "on.failure", str, ""),
            )

    def _status(self, value: str, name: str) -> str:
        if value not in STATUSES:
            raise self._wrong(name, f"is {value!r}", f"it is one of {', '.join(STATUSES)}")
        return value

    def _specifier(self, value: str, name: str) -> str:
        try:
            allows(value, "0")
        except ValueError as error:
            raise self._wrong(name, str(error), _AGAIN) from None
        return value

    def _table(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._get(self.table, name, dict, {})
        return found

    def _tables(self, name: str) -> list[dict[str, Any]]:
        found: list[Any] = self._get(self.table, name, list, [])
        if not all(isinstance(one, dict) for one in found):
            raise self._wrong(name, "must be tables", _AGAIN)
        return found

    def _get(self, table: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any) -> Any:
        value = table.get(name.rpartition(".")[2], default)
        if value is not default and (not isinstance(value, kind) or isinstance(value, bool)):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            raise self._wrong(name, f"must be a {kinds[-1].__name__}, not {value!r}", _AGAIN)
        return value

    def _wrong(self, name: str, what: str, hint: str) -> CaseError:
        return CaseError(f"{self.path}: {name} {what}", hint)
