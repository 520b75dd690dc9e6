"""The limit: what a candidate costs with nothing around it. Run by the target's interpreter, on stdlib and torch.

Decision: a fork that compiles and runs the text, and a loop that does so over and over in one process, are the least
that anyone can do who has torch loaded: no limits, no confinement, no seeds, no files, and no word of a failure.
Reads ``{"modules", "sources", "mode"}`` from the file that it is given, prints seconds by phase as JSON.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
import types

PATIENCE = 20  # seconds for one text


def _used(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def run(source: str, phases: dict[str, float]) -> None:
    """Compile and run one text as ``__main__``, adding processor seconds to ``phases``."""
    signal.alarm(PATIENCE)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    start = time.process_time()
    try:
        code = compile(source, "candidate.py", "exec", dont_inherit=True)
        phases["compile"] += time.process_time() - start
        start = time.process_time()
        exec(code, vars(module))
    except BaseException:
        pass
    phases["run"] += time.process_time() - start


def child(sources: list[str], result: int) -> None:
    """Run the texts, and write what the phases took."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    phases = {"compile": 0.0, "run": 0.0}
    for source in sources:
        run(source, phases)
    os.write(result, json.dumps(phases).encode())
    os._exit(0)


def forked(sources: list[str]) -> dict[str, float]:
    """The phases of a child that runs ``sources``, one after the other; none if it died of them."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(sources, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        told = file.read()
    os.waitpid(pid, 0)
    return json.loads(told) if told else {}


def main(path: str) -> None:
    """Do what the file says."""
    with open(path, encoding="utf-8") as file:
        order = json.load(file)
    importlib.import_module("torch").set_num_threads(1)
    for name in order["modules"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    sources = order["sources"]
    groups = [[source] for source in sources] if order["mode"] == "fork" else [sources]
    sums = {"compile": 0.0, "run": 0.0}
    before, wall = _used(resource.RUSAGE_SELF) + _used(resource.RUSAGE_CHILDREN), time.perf_counter()
    for group in groups:
        for name, seconds in forked(group).items():
            sums[name] += seconds
    sums["wall"] = time.perf_counter() - wall
    sums["all"] = _used(resource.RUSAGE_SELF) + _used(resource.RUSAGE_CHILDREN) - before
    print(json.dumps(sums))


if __name__ == "__main__":
    main(sys.argv[1])
