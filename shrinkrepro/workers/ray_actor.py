"""What runs on a node of a Ray cluster: a worker there, and what its target is.

Decision: an actor is a shell around the local executor with one slot. So the worker is a process of its own with its
own fork servers, as everywhere; one that dies goes on beside its actor, and one whose actor is gone ends by itself.
Texts go in and out as JSON: nothing of ours is pickled but the name of this class.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

from shrinkrepro.workers.executor import Work
from shrinkrepro.workers.local import LocalExecutor

SECONDS = 60.0  # for an interpreter to start, on a busy machine

# Without importing torch, which takes seconds: the file that its build writes its names into.
_ASK = """\
import importlib.util, json, os, platform
spec = importlib.util.find_spec("torch")
names = {}
if spec is not None and spec.origin:
    with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as file:
        exec(file.read(), names)
print(json.dumps([platform.python_version(), names.get("__version__", ""), names.get("git_version") or ""]))
"""


def describe(python: str | None) -> dict[str, str]:
    """What the target interpreter is on this machine (None: the one that runs us).

    ``fault`` says in words why it is none, else it is empty; ``python``, ``torch`` and ``build`` are its versions and
    the commit that its torch was built from.
    """
    path = python or sys.executable
    try:
        done = subprocess.run(
            [path, "-c", _ASK], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
        version, torch, build = json.loads(done.stdout)
    except OSError:
        return {"fault": f"there is no interpreter {path}", "python": "", "torch": "", "build": ""}
    except (subprocess.SubprocessError, ValueError):
        return {"fault": f"{path} does not run", "python": "", "torch": "", "build": ""}
    return {"fault": "" if torch else f"{path} has no torch", "python": version, "torch": torch, "build": build}


class ScriptActor:
    """One worker on a node. ``worker``: ``package.module:name``, as ``workers.executor.load_worker`` takes it."""

    def __init__(self, worker: str) -> None:
        self._executor = LocalExecutor(worker, 1)

    def describe(self, python: str | None) -> dict[str, str]:
        """The node, its host's name, this process, our version there, and ``describe``'s answer for ``python``."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        where = {"node": node, "host": socket.gethostname(), "pid": str(os.getpid()), "ours": version("shrinkrepro")}
        return {**where, **describe(python)}

    def run(self, work: str) -> Iterator[str]:
        """Do one work; events as they come, the last of them its end. All in JSON."""
        self._executor.submit(Work.from_wire(json.loads(work)))
        for event in self._executor.events():
            yield json.dumps(event.to_wire())
