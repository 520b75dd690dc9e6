"""What is the same for every program of one run: the surroundings of the user's script.

Decision: it crosses from the host as one JSON object at the start of a server and never changes after it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Optional, Tuple


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where and how a program is run. Folders are absolute paths, ``memory`` is in bytes."""

    script_name: str  # base name under which a program is written and run
    script_folder: str  # the original's folder
    cwd: str
    sys_path0: str
    scratch: str  # the server's own folder, removed by the host
    temporary: str  # where temporary files go by default
    args: Tuple[str, ...] = ()
    package: str = ""  # for ``python -m``: what relative imports start from
    seed: int = 0
    device: Optional[str] = None
    preload: Optional[str] = None  # a file that is run before every program
    memory: Optional[int] = None  # that a program may add; None: its share of what is free
    jobs: int = 1  # programs that run at a time, each with its share
    sandbox: bool = True  # whether programs are confined at all
    network: bool = False  # whether they may reach the network
    allow_write: Tuple[str, ...] = ()  # the user's own files and folders that they may really write to
    namespaces: Tuple[str, ...] = ()  # around the server or the run, by name; known when it has entered them
    shared: Tuple[str, ...] = ()  # folders outside the scratch that programs may write to: compilers' caches


def from_wire(data: Dict[str, Any]) -> Setting:
    """The setting that the host sent."""
    data = dict(data)
    for name in ("args", "allow_write", "namespaces", "shared"):
        data[name] = tuple(data.get(name, ()))
    return Setting(**data)
