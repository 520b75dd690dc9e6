"""A fresh run: ``python file.py args`` and nothing else, as a reader of the result would run it.

Decision: no harness takes part, so what a fresh run shows is true of the text alone; the chain of
exceptions is read from what it printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from shrinkrepro.core.tracebacks import parse_crash, parse_tracebacks
from shrinkrepro.errors import TargetError
from shrinkrepro.protocol import EXCEPTION, EXIT, LOST, OK, OVER_LIMIT, SIGNAL, TIMEOUT, Execution
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers import target as targets
from shrinkrepro.workers.server import KEEPER_SECONDS, LAUNCH, setting_of
from shrinkrepro.workers.target import Target

TAIL_BYTES = 65_536

# For a preloaded file, a device or a package, which a plain command line has no words for.
_WRAPPER = """\
import sys
import types
sys.path[0] = {path0!r}
{device}{preload}
main = types.ModuleType("__main__")
main.__file__ = sys.argv[0] = {program!r}
main.__package__ = {package!r}
vars(main).update(__builtins__=__builtins__, __annotations__={{}})
sys.modules["__main__"] = main
exec(compile(open(main.__file__, encoding="utf-8").read(), main.__file__, "exec", dont_inherit=True), vars(main))
"""

# A module that lives on: what a library registers is gone with the object that it gave for it.
_PRELOAD = """\
preload = sys.modules["__preload__"] = types.ModuleType("__preload__")
preload.__file__ = {path!r}
exec(compile(open(preload.__file__, "rb").read(), preload.__file__, "exec", dont_inherit=True), vars(preload))
"""


def run_fresh(target: Target, source: str, timeout: float) -> Execution:
    """Run ``source`` in a new interpreter; ``timeout`` in seconds. The folder it ran in is removed.

    Raises:
        TargetError: there is no such interpreter.
    """
    target.check()
    scratch = scratches.make_scratch()
    try:
        return _run(target, source, timeout, scratch)
    finally:
        scratches.remove(scratch)


def _run(target: Target, source: str, timeout: float, scratch: Path) -> Execution:
    folder = scratch / "program"
    folder.mkdir()
    (folder / target.script_path.name).write_text(source, encoding="utf-8", newline="\n")
    program = scratch / "own" / "program" / target.script_path.name  # where the target puts it
    if "__file__" in source or "argv[0]" in source:
        _mirror(target.script_path.parent, folder)
    env = target.environment() | {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    env["TORCHINDUCTOR_CACHE_DIR"] = str(_compile_cache())
    script = program
    if target.preload is not None or target.device is not None or target.package:
        script = scratch / "launch.py"
        script.write_text(_wrapper(target, program), encoding="utf-8")
    else:
        known = [str(target.first_path), env.get("PYTHONPATH", "")]
        env["PYTHONPATH"] = os.pathsep.join(path for path in known if path)
    with open(scratch / "out", "w+b") as out, open(scratch / "err", "w+b") as err:
        start = time.monotonic()
        command = _confined([str(script), *target.args], target, scratch, folder)
        code = _wait(command, target, env, (out.fileno(), err.fileno()), timeout)
        seconds = time.monotonic() - start
        stdout, stderr = _tail(scratch / "out"), _tail(scratch / "err")
    return _verdict(code, stdout, stderr, program, seconds)


def _compile_cache() -> Path:
    """Where fresh runs keep what compilers made, as a user's own runs do; apart from the servers' own."""
    folder = targets.header_cache().parent / "fresh"
    folder.mkdir(exist_ok=True)
    return folder


def _confined(command: list[str], target: Target, scratch: Path, program: Path) -> list[str]:
    """``python`` with ``command``, by way of a first step that confines itself and then becomes it."""
    order = {
        "setting": setting_of(target, scratch / "own", [targets.header_cache(), _compile_cache()]),
        "program": str(program),
        "command": command,
    }
    path = scratch / "order"
    path.write_text(json.dumps(order))
    return [target.python, str(LAUNCH), "plain", str(path)]


def _wait(
    command: list[str], target: Target, env: dict[str, str], streams: tuple[int, int], timeout: float
) -> int | None:
    """Run ``command`` to its end; its return code, or None when it was killed for its time."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            cwd=target.cwd,
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise TargetError(f"cannot run {target.python}: {error.strerror}", "name a Python with --python") from error
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        _end(process)
        return None
    except BaseException:  # Ctrl-C
        _end(process)
        raise
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the keeper to end everything inside and then itself; see that it does."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KEEPER_SECONDS)


def _verdict(code: int | None, stdout: str, stderr: str, program: Path, seconds: float) -> Execution:
    common = {"stdout": stdout, "stderr": stderr, "seconds": seconds}
    if code is None:
        return Execution(status=TIMEOUT, code=int(signal.SIGKILL), **common)  # type: ignore[arg-type]
    if code == OVER_LIMIT:
        return Execution(status=LOST, detail=(stderr.strip().splitlines() or ["it took too much"])[-1], **common)  # type: ignore[arg-type]
    if code < 0:
        return Execution(status=SIGNAL, code=-code, crash_frames=parse_crash(stderr), **common)  # type: ignore[arg-type]
    if code == 0:
        return Execution(status=OK, **common)  # type: ignore[arg-type]
    chain = parse_tracebacks(stderr, str(program)) or parse_tracebacks(stdout, str(program))
    return Execution(status=EXCEPTION if chain else EXIT, code=code, chain=chain, **common)  # type: ignore[arg-type]


def _wrapper(target: Target, program: Path) -> str:
    device = f"import torch\ntorch.set_default_device({target.device!r})\n" if target.device is not None else ""
    preload = ""
    if target.preload is not None:
        preload = _PRELOAD.format(path=str(target.preload))
    return _WRAPPER.format(
        path0=str(target.first_path),
        device=device,
        preload=preload,
        program=str(program),
        package=target.package or None,
    )


def _mirror(script_folder: Path, folder: Path) -> None:
    """Put links to what stands beside the script beside the program, which asks where it stands."""
    for entry in script_folder.iterdir():
        place = folder / entry.name
        if not os.path.lexists(place):
            place.symlink_to(entry)


def _tail(path: Path) -> str:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        return file.read().decode("utf-8", "replace")
