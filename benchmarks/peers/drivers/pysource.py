"""pysource-minimize as its readme shows it: ``minimize(source, checker)``. Arguments: candidate, socket."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from pysource_minimize import minimize

candidate, address = Path(sys.argv[1]), sys.argv[2]


def interesting(source: str) -> bool:
    """Whether the test says so."""
    candidate.write_text(source, encoding="utf-8")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        connection.send(str(candidate.absolute()).encode())
        return connection.recv(1) == b"1"


candidate.write_text(minimize(candidate.read_text(encoding="utf-8"), interesting), encoding="utf-8")
