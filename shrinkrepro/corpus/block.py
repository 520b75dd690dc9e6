"""The block of inline metadata at the top of a script (PEP 723): found, taken out and put in, as text.

Decision: only the lines of the block are ever rewritten; every other byte of a file stays as it is, line ends and a
byte order mark too. So a tool that fills in a table can run over files that people and formatters edit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# The expression of the specification itself; line ends are made plain before it is used.
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_HEAD = re.compile(r"(?:#!.*\n)?(?:[ \t]*#.*?coding[:=].*\n)?")  # what must stay in the first two lines
_BOM = "\ufeff"


class BlockError(ValueError):
    """The text holds no block that can be used; the message says why."""


@dataclass(frozen=True)
class Block:
    """The ``script`` block of a text with plain line ends: its TOML, and where it lies in the text."""

    toml: str
    start: int
    end: int


def plain(text: str) -> str:
    """``text`` without a byte order mark, its lines ended by ``\\n``."""
    return text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n")


def find(text: str) -> Block | None:
    """The ``script`` block of ``text`` (with plain line ends), if it has one.

    Raises:
        BlockError: it has more than one, or one that does not end.
    """
    found = [match for match in _BLOCK.finditer(text) if match["type"] == "script"]
    if len(found) > 1:
        raise BlockError("it has more than one `# /// script` block")
    if found:
        lines = found[0]["content"].removesuffix("\n").split("\n")
        toml = "\n".join(line[2:] if line.startswith("# ") else line[1:] for line in lines) + "\n"
        return Block(toml, found[0].start(), found[0].end())
    if re.search(r"(?m)^# /// script[ \t]*$", text):
        raise BlockError("its `# /// script` block is broken: every line needs `# ` before it, and `# ///` ends it")
    return None


def program(text: str) -> str:
    """The text without its block, with plain line ends."""
    text = plain(text)
    block = find(text)
    if block is None:
        return text
    return text[: block.start] + text[block.end :].lstrip("\n")


def with_block(text: str, toml: str) -> str:
    """``text`` with ``toml`` as its block: in the place of the one it has, or before its first statement.

    Raises:
        BlockError: its block cannot be found for certain.
    """
    lines = "\n".join(f"# {line}".rstrip() for line in toml.strip("\n").split("\n"))
    written = f"# /// script\n{lines}\n# ///"
    text, mark, ends = plain(text), _BOM if text.startswith(_BOM) else "", "\r\n" if "\r\n" in text else "\n"
    block = find(text)
    if block is not None:
        text = text[: block.start] + written + text[block.end :]
    else:
        head = _HEAD.match(text)
        at = head.end() if head is not None else 0
        text = f"{text[:at]}{written}\n\n{text[at:].lstrip(chr(10))}"
    return mark + text.replace("\n", ends)
