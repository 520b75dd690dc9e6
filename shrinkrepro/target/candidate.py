"""Runs one program in this process as ``__main__`` and says how it ended.

Decision: the program is a real file (inspect, linecache and Dynamo read it), run in a fresh ``__main__``
module; what belongs to the process and not to the namespace is set anew before each program.
"""

from __future__ import annotations

import dataclasses
import io
import os
import random
import sys
import threading
import time
import types
import warnings
from typing import Any, Dict, List, Optional, Tuple

from shrinkrepro.protocol import (
    CONTROL_COMPILE,
    CONTROL_DIFFERENCES,
    CONTROL_FORWARD,
    CONTROL_REFERENCE,
    CONTROL_VMAP,
    EXCEPTION,
    EXIT,
    OBSERVE,
    OBSERVE_PRIMAL,
    OBSERVE_REFERENCE,
    OK,
    PRIMAL,
    PRIMAL_STRICT,
    Execution,
    Job,
    Raised,
)
from shrinkrepro.target import raised
from shrinkrepro.target.setting import Setting

WARNINGS_KEPT = 50

_CONTROLS = (CONTROL_REFERENCE, CONTROL_FORWARD, CONTROL_VMAP, CONTROL_COMPILE, CONTROL_DIFFERENCES)
_REFERENCES = {**{mode: mode for mode in _CONTROLS}, OBSERVE_REFERENCE: CONTROL_REFERENCE}


def run_program(job: Job, setting: Setting, folder: str) -> Execution:
    """Run ``job`` from a file in ``folder``; standard output and error must already lead to files."""
    path = write_program(job.source, setting, folder)
    if job.seed is not None:
        setting = dataclasses.replace(setting, seed=job.seed)
    _prepare(setting, path)
    if job.mode in (PRIMAL, PRIMAL_STRICT, OBSERVE_PRIMAL):
        from shrinkrepro.target import primal

        primal.install(observed=job.mode == OBSERVE_PRIMAL, strict=job.mode == PRIMAL_STRICT)
    if job.mode in _REFERENCES:
        from shrinkrepro.target import reference

        reference.install(_REFERENCES[job.mode], observed=job.mode == OBSERVE_REFERENCE)
    namespace = _main_namespace(setting, path)
    observer: Any = None
    if job.mode in (OBSERVE, OBSERVE_PRIMAL, OBSERVE_REFERENCE):
        from shrinkrepro.target import observe

        observer = observe.observer_of(job.source, path)
        if observer is not None:
            observer.journal = observe.open_journal(os.path.dirname(folder))
    log: List[str] = []
    generator = _generator_state()
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _warning_recorder(log)
        status, chain, code = _execute(job.source, path, namespace, setting, observer)
    seconds = time.monotonic() - start
    _flush()
    return Execution(
        status=status,
        chain=chain,
        code=code,
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


def _execute(
    source: str, path: str, namespace: Dict[str, Any], setting: Setting, observer: Any
) -> Tuple[str, Tuple[Raised, ...], int]:
    try:
        if setting.device:
            sys.modules["torch"].set_default_device(setting.device)
        if setting.preload:
            with open(setting.preload, "rb") as file:
                exec(compile(file.read(), setting.preload, "exec", dont_inherit=True), {"__name__": "__preload__"})
        if observer is not None:
            code = observer.compile()
            with observer.active():
                exec(code, namespace)
        else:
            exec(compile(source, path, "exec", dont_inherit=True), namespace)
        for thread in threading.enumerate():  # a plain run waits for them before it ends
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    except SystemExit as stop:
        return _stopped(stop)
    except BaseException as error:
        return _failed(error)
    return OK, (), 0


def _stopped(stop: SystemExit) -> Tuple[str, Tuple[Raised, ...], int]:
    if stop.code is None or stop.code == 0:
        return OK, (), 0
    code = stop.code if isinstance(stop.code, int) else 1
    behind = raised.source_of(stop)
    if not isinstance(stop.code, int):
        sys.stderr.write("%s\n" % (stop.code,))
    if behind is not None and not isinstance(behind, SystemExit):
        return EXCEPTION, raised.chain_of(behind), code
    return EXIT, (), code


def _failed(error: BaseException) -> Tuple[str, Tuple[Raised, ...], int]:
    chain = raised.chain_of(error)
    try:
        sys.stderr.write(raised.as_text(chain))
    except Exception:  # the program may have closed or replaced the stream
        return EXCEPTION, chain, 1
    return EXCEPTION, chain, 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
