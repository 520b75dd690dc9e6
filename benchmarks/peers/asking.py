"""The socket on which a peer's test is answered, and the record of what was asked.

Decision: a query's time is taken when its answer goes out; only what looked interesting is measured in tokens, after
the answer, so that keeping the record costs the peer little.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import Protocol

from benchmarks import tokens
from benchmarks.peers.clock import processor_seconds
from benchmarks.peers.judging import INTERESTING, NO_PROGRAM

SOCKET, CLIENT = "test.sock", "interesting"
_PATIENCE = 0.05  # seconds between two looks at whether the peer is still there


class Judge(Protocol):
    """What ``judging.Judging`` is."""

    def ask(self, text: str, mode: str, until: float) -> str:
        """INTERESTING, or another word."""


@dataclass
class Record:
    """What was asked so far. ``curve`` has (seconds, wall seconds, queries, tokens) of each smaller interesting text;
    ``started`` is the ``time.monotonic`` and the ``processor_seconds`` at the start."""

    started: tuple[float, float]
    queries: int = 0
    run: int = 0  # of them, those that compiled and so were run
    tokens: int | None = None
    best: str = ""
    curve: list[tuple[float, float, int, int]] = field(default_factory=list)

    def note(self, text: str, verdict: str, now: float, used: Callable[[], float] = processor_seconds) -> None:
        """Take one answered query; ``now`` as by ``time.monotonic``."""
        self.queries += 1
        self.run += verdict != NO_PROGRAM
        if verdict != INTERESTING:
            return
        try:
            size = tokens.count(text)
        except (SyntaxError, TokenError):  # compiled, but not tokenized alike: form feeds, null bytes
            return
        if self.tokens is None or size < self.tokens:
            self.tokens, self.best = size, text
            seconds, wall = used() - self.started[1], now - self.started[0]
            self.curve.append((round(seconds, 2), round(wall, 2), self.queries, size))


class Asking:
    """Answers on a socket in ``folder`` until it is closed; ``start`` makes the program that peers run."""

    def __init__(self, judging: Judge, mode: str, folder: Path, until: float) -> None:
        self._judging, self._mode, self._until = judging, mode, until
        self.path = folder / SOCKET
        self.client = folder / CLIENT
        code = (Path(__file__).with_name("client.py")).read_text(encoding="utf-8").replace("@SOCKET@", str(self.path))
        self.client.write_text(f"#!{os.path.realpath(sys.executable)} -IS\n{code}", encoding="utf-8")
        self.client.chmod(0o755)
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(self.path))
        self._server.listen(8)
        self._server.settimeout(_PATIENCE)
        self.record = Record((time.monotonic(), processor_seconds()))

    def answer(self) -> None:
        """Answer one query, or return after a moment when none comes."""
        try:
            connection, _ = self._server.accept()
        except TimeoutError:
            return
        with connection:
            connection.settimeout(5.0)
            try:
                path = Path(connection.recv(4096).decode())
                text = path.read_bytes().decode("utf-8")
            except (OSError, UnicodeDecodeError):  # gone again, or cut in the middle of a character: no program
                text, verdict = "", NO_PROGRAM
            else:
                verdict = self._judging.ask(text, self._mode, self._until)
            now = time.monotonic()
            try:
                connection.send(b"1" if verdict == INTERESTING else b"0")
            except OSError:
                return  # the peer gave up waiting, and knows of no answer
        self.record.note(text, verdict, now)

    def close(self) -> None:
        """End it."""
        self._server.close()
        self.path.unlink(missing_ok=True)
