"""Text to the clipboard by way of the terminal itself (OSC 52), which works over ssh and needs no program."""

from __future__ import annotations

import base64
from typing import TextIO

from shrinkrepro.errors import UsageError

LIMIT = 74_994  # bytes that xterm takes, the strictest of the terminals in use; an issue's body fits


def check_terminal(stream: TextIO) -> None:
    """Make sure that ``stream`` is a terminal.

    Raises:
        UsageError: it is none.
    """
    if not stream.isatty():
        raise UsageError("--copy needs a terminal, and there is none here", "write it to a file with -o FILE")


def copy(text: str, terminal: TextIO) -> None:
    """Put ``text`` into the clipboard of ``terminal``.

    Raises:
        UsageError: it is no terminal, or the text is too long for one.
    """
    check_terminal(terminal)
    coded = base64.b64encode(text.encode("utf-8"))
    if len(coded) > LIMIT:
        raise UsageError(
            f"the report has {len(coded):,} coded bytes and terminals take {LIMIT:,}", "write it to a file with -o FILE"
        )
    terminal.write(f"\x1b]52;c;{coded.decode()}\x07")
    terminal.flush()
