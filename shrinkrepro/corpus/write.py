"""Writes the block of a case: all of it for a new case, a few entries of it when expectations change.

Decision: an existing block is edited in place by a parser that keeps comments and order; nothing but the block's own
lines changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import Item, Table

from shrinkrepro.corpus import block
from shrinkrepro.corpus.case import FORMAT, REQUIRES_PYTHON, TORCH, Case, Expectation
from shrinkrepro.corpus.digest import digest
from shrinkrepro.corpus.versions import requirement


def render(case: Case) -> str:
    """The text of the file of ``case``: its ``text`` under a block that says what the case's fields say."""
    found = block.find(block.plain(case.text))
    document = tomlkit.parse(found.toml) if found is not None else tomlkit.document()
    _requirements(document, case)
    tool = document.get("tool")
    if not isinstance(tool, Table):
        tool = tomlkit.table(is_super_table=True)
        document["tool"] = tool
    tool["shrinkrepro"] = _table(case)
    return block.with_block(case.text, _tidy(tomlkit.dumps(document)))


def with_expectations(text: str, expected: str, on: Sequence[Expectation]) -> str:
    """The text of a case with other expectations; every other entry of its block stays as it is."""
    found = block.find(block.plain(text))
    assert found is not None, "only a case that was read is written again"
    document = tomlkit.parse(found.toml)
    table: Any = document["tool"]["shrinkrepro"]
    table["expected"] = expected
    if on:
        table["on"] = _expectations(on)
    elif "on" in table:
        del table["on"]
    return block.with_block(text, _tidy(tomlkit.dumps(document)))


def _requirements(document: TOMLDocument, case: Case) -> None:
    if "requires-python" not in document:
        document.add("requires-python", tomlkit.item(case.requires_python or REQUIRES_PYTHON))
    listed = document.get("dependencies")
    if listed is None:
        document.add("dependencies", tomlkit.item(list(case.dependencies)))
    elif not any(requirement(str(one))[0] == "torch" for one in listed):
        listed.append(TORCH)


def _table(case: Case) -> Table:
    table = tomlkit.table()
    table.add("format", FORMAT)
    table.add("title", case.title)
    table.add("failure", case.failure)
    table.add("expected", case.expected)
    table.add("match", case.match)
    table.add("control", case.control)
    table.add("device", case.device)
    if case.timeout is not None:
        table.add("timeout", case.timeout)
    table.add("origin", case.origin)
    table.add("program", digest(block.program(case.text)))
    table.add("signature", _plain_table(case.signature))
    if case.faces:
        table.add("faces", _tables([_plain_table(face) for face in case.faces]))
    if case.difference:
        table.add("difference", _plain_table(case.difference))
    if case.on:
        table.add("on", _expectations(case.on))
    table.add("first-seen", _plain_table(case.first_seen))
    if case.reduction:
        table.add("reduction", _plain_table(case.reduction))
    return table


def _expectations(on: Sequence[Expectation]) -> Item:
    entries = []
    for one in on:
        fields = {"torch": one.torch, "device": one.device, "status": one.status, "failure": one.failure}
        entries.append(_plain_table({name: value for name, value in fields.items() if value}))
    return _tables(entries)


def _tables(entries: Sequence[Table]) -> Item:
    array = tomlkit.aot()
    for entry in entries:
        array.append(entry)
    return array


def _plain_table(values: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for name, value in values.items():
        if isinstance(value, Mapping):
            inline = tomlkit.inline_table()
            inline.update(dict(value))
            table.add(name, inline)
        else:
            table.add(name, list(value) if isinstance(value, tuple) else value)
    return table


def _tidy(toml: str) -> str:
    """One empty line before each table, none elsewhere."""
    lines: list[str] = []
    for line in toml.split("\n"):
        if line.startswith("[") and lines:
            while lines and not lines[-1].strip():
                lines.pop()
            lines.append("")
        if line.strip() or (lines and lines[-1].strip()):
            lines.append(line.rstrip())
    return "\n".join(lines).strip("\n") + "\n"
