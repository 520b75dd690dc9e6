"""Runs one program in this process as ``__main__`` and says how it ended.

Decision: the program is a real file (inspect, linecache and Dynamo read it), run in a fresh ``__main__``
module; what belongs to the process and not to the namespace is set anew before each program.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import random
import sys
import threading
import time
import types
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from shrinkrepro.protocol import (
    CONTROL_COMPILE,
    CONTROL_CPU,
    CONTROL_DIFFERENCES,
    CONTROL_DIFFERENCES64,
    CONTROL_DIFFERENCES_STRICT,
    CONTROL_FLOAT64,
    CONTROL_FORWARD,
    CONTROL_REFERENCE,
    CONTROL_STRICT,
    CONTROL_TRUTH,
    CONTROL_VMAP,
    EXCEPTION,
    EXIT,
    NEUTRAL,
    OBSERVE,
    OBSERVE_COMPILE,
    OBSERVE_DIFFERENCES,
    OBSERVE_FORWARD,
    OBSERVE_PRIMAL,
    OBSERVE_REFERENCE,
    OBSERVE_VMAP,
    OK,
    PRIMAL,
    PRIMAL_STRICT,
    SANITIZE,
    Execution,
    Job,
    Raised,
)
from shrinkrepro.target import compared, preload, raised
from shrinkrepro.target.setting import Setting

WARNINGS_KEPT = 50

_CONTROLS = (
    CONTROL_STRICT,
    CONTROL_REFERENCE,
    CONTROL_FORWARD,
    CONTROL_VMAP,
    CONTROL_COMPILE,
    CONTROL_DIFFERENCES,
    CONTROL_DIFFERENCES_STRICT,
)
_OBSERVED = {
    OBSERVE_REFERENCE: CONTROL_REFERENCE,
    OBSERVE_FORWARD: CONTROL_FORWARD,
    OBSERVE_VMAP: CONTROL_VMAP,
    OBSERVE_COMPILE: CONTROL_COMPILE,
    OBSERVE_DIFFERENCES: CONTROL_DIFFERENCES,
    CONTROL_DIFFERENCES64: CONTROL_DIFFERENCES,
    CONTROL_TRUTH: CONTROL_TRUTH,
}
_REFERENCES = {**{mode: mode for mode in _CONTROLS}, **_OBSERVED}


def run_program(
    job: Job, setting: Setting, folder: str, preloaded: Callable[[bool], None] = lambda drew: None
) -> Execution:
    """Run ``job`` from a file in ``folder``; standard output and error must already lead to files. ``preloaded`` is
    called, with whether it drew random numbers, when the preloaded file has been run."""
    path = write_program(job.source, setting, folder)
    if job.seed is not None:
        setting = dataclasses.replace(setting, seed=job.seed)
    _prepare(setting, path)
    namespace = _main_namespace(setting, path)
    observer: Any = None
    if job.mode in (OBSERVE, OBSERVE_PRIMAL, *_OBSERVED):
        from shrinkrepro.target import observe

        observer = observe.observer_of(job.source, path)
        if observer is not None:
            observer.journal = observe.open_journal(os.path.dirname(folder))
    if job.mode == SANITIZE:
        from shrinkrepro.target import collect

        observer = collect.Collector(job.source, path, namespace)
    log: List[str] = []
    generator = _generator_state()
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _warning_recorder(log)
        ending = _execute(job, path, namespace, setting, observer, lambda: preloaded(_generator_state() != generator))
    seconds = time.monotonic() - start
    _flush()
    return Execution(
        status=ending.status,
        chain=ending.chain,
        code=ending.code,
        difference=ending.difference,
        watched=True,
        findings=_findings(job.mode),
        warnings=tuple(log),
        seconds=seconds,
        facts=observer.wire() if observer is not None else None,
        drew=_generator_state() != generator,
    )


def write_program(source: str, setting: Setting, folder: str) -> str:
    """Write ``source`` under the script's name in ``folder``; beside it, if the program asks where it stands,
    links to what stands beside the script."""
    os.makedirs(folder)
    path = os.path.join(folder, setting.script_name)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(source)
    if "__file__" in source or "argv[0]" in source:
        for entry in os.listdir(setting.script_folder):
            target = os.path.join(folder, entry)
            if not os.path.lexists(target):
                os.symlink(os.path.join(setting.script_folder, entry), target)
    return path


def _prepare(setting: Setting, path: str) -> None:
    """Set what belongs to the process: streams, arguments, folder, seeds."""
    sys.stdout = _stream(1)
    sys.stderr = _stream(2)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8")
    sys.argv = [path, *setting.args]
    os.chdir(setting.cwd)
    torch = sys.modules.get("torch")
    if torch is not None:
        if setting.device:
            torch.manual_seed(setting.seed)
        else:  # the accelerators' part of manual_seed costs as much as a small program
            torch.default_generator.manual_seed(setting.seed)
    random.seed(setting.seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(setting.seed % 2**32)


def _generator_state() -> Any:
    """The state of torch's generator, in a form that compares."""
    torch = sys.modules.get("torch")
    try:
        return None if torch is None else torch.default_generator.get_state().tolist()
    except Exception:  # the program may have left a mode behind in which a tensor has no values
        return "unknown"


def _stream(descriptor: int) -> io.TextIOWrapper:
    """A text stream that loses nothing at a crash."""
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)


def _main_namespace(setting: Setting, path: str) -> Dict[str, Any]:
    module = types.ModuleType("__main__")
    module.__file__ = path
    vars(module).update(__builtins__=sys.modules["builtins"], __annotations__={})
    if setting.package:
        module.__package__ = setting.package
    sys.modules["__main__"] = module
    return module.__dict__


def _warning_recorder(log: List[str]) -> Any:
    def show(
        message: Any, category: type, filename: str, lineno: int, file: Any = None, line: Optional[str] = None
    ) -> None:
        text = "%s: %s" % (category.__name__, message)
        if text not in log and len(log) < WARNINGS_KEPT:
            log.append(text)
            if sys.stderr is not None:
                sys.stderr.write("%s:%s: %s\n" % (filename, lineno, text))

    return show


class _Ending(NamedTuple):
    """How a program ended."""

    status: str
    chain: Tuple[Raised, ...] = ()
    code: int = 0
    difference: Optional[Dict[str, Any]] = None


def _execute(
    job: Job, path: str, namespace: Dict[str, Any], setting: Setting, observer: Any, preloaded: Callable[[], None]
) -> _Ending:
    try:
        if setting.device:
            sys.modules["torch"].set_default_device(setting.device)
        if setting.preload and preload.run(setting.preload):
            preloaded()
        _install(job.mode, path)  # after the preload: what that exchanges is the library as it is
        if observer is not None:
            code = observer.compile()
            with observer.active():
                exec(code, namespace)
        else:
            exec(compile(job.source, path, "exec", dont_inherit=True), namespace)
        for thread in threading.enumerate():  # a plain run waits for them before it ends
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    except SystemExit as stop:
        return _stopped(stop)
    except BaseException as error:
        return _failed(error, job.source, path)
    return _Ending(OK)


def _install(mode: str, path: str) -> None:
    """Put the stand-ins of ``mode`` in the place of what it replaces; ``path`` is the program's file."""
    if mode in (PRIMAL, PRIMAL_STRICT, OBSERVE_PRIMAL):
        from shrinkrepro.target import primal

        primal.install(observed=mode == OBSERVE_PRIMAL, strict=mode == PRIMAL_STRICT)
    if mode in _REFERENCES:
        from shrinkrepro.target import reference

        reference.install(_REFERENCES[mode], observed=mode == OBSERVE_REFERENCE)
    if mode in (CONTROL_FLOAT64, CONTROL_DIFFERENCES64, CONTROL_TRUTH):
        from shrinkrepro.target import float64

        float64.install()
    if mode == SANITIZE:
        from shrinkrepro.target import sanitize

        sanitize.install()
    if mode == CONTROL_CPU:
        from shrinkrepro.target import cpu

        cpu.install()
    if mode.startswith(NEUTRAL):
        from shrinkrepro.target import neutral

        neutral.install(mode[len(NEUTRAL) :], path)


def _findings(mode: str) -> Tuple[Dict[str, Any], ...]:
    if mode.startswith(NEUTRAL):
        from shrinkrepro.target import neutral

        return neutral.findings()
    if mode != SANITIZE:
        return ()
    from shrinkrepro.target import sanitize

    return sanitize.findings()


def _stopped(stop: SystemExit) -> _Ending:
    if stop.code is None or stop.code == 0:
        return _Ending(OK)
    code = stop.code if isinstance(stop.code, int) else 1
    behind = raised.source_of(stop)
    if not isinstance(stop.code, int):
        sys.stderr.write("%s\n" % (stop.code,))
    if behind is not None and not isinstance(behind, SystemExit):
        return _Ending(EXCEPTION, raised.chain_of(behind), code)
    return _Ending(EXIT, code=code)


def _failed(error: BaseException, source: str, path: str) -> _Ending:
    chain = raised.chain_of(error)
    with contextlib.suppress(Exception):  # the program may have closed or replaced the stream
        sys.stderr.write(raised.as_text(chain))
    return _Ending(EXCEPTION, chain, 1, compared.difference_of(error, source, path))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
