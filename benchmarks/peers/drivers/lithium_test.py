"""Lithium's interestingness module: it is loaded in Lithium's own process, as its documentation shows."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence


def interesting(args: Sequence[str], prefix: str) -> bool:
    """Whether the test says so of the file that ends ``args``; the socket lies beside it."""
    path = os.path.abspath(args[-1])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.path.join(os.path.dirname(path), "test.sock"))
        connection.send(path.encode())
        return connection.recv(1) == b"1"
