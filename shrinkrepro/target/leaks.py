"""What a program can leave behind in its process, put back where that is exact and reported where it is not.

Decision: a state with a plain setter (default dtype, grad mode, working folder, log handlers) is restored and
the batch goes on; anything else (a dual level, a mode on a stack, a thread, a patched class, compiled code)
ends the batch, so that no later program can be judged in a process that differs from a new one.
"""

from __future__ import annotations

import atexit
import gc
import logging
import operator
import os
import signal
import sys
import threading
import types
import warnings
from typing import Any, Callable, Iterator, List, Mapping, NamedTuple, Tuple

MEMORY_BYTES = 1 << 30  # a child that has grown by more than this is not used on

_PATCHABLE = (
    "builtins", "math", "torch", "torch.func", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.autograd",
    "torch.autograd.functional", "torch.autograd.forward_ad", "torch.linalg", "torch.special", "torch.fft",
    "torch._functorch.apis", "torch._functorch.eager_transforms", "torch._functorch.vmap", "torch.testing",
    "torch.utils._pytree", "torch.utils.checkpoint", "torch.nn.utils",
)  # fmt: skip

_FLAGS = (
    "is_inference_mode_enabled", "is_autocast_enabled", "is_autocast_cpu_enabled", "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled", "is_autocast_cache_enabled",
)  # fmt: skip


class Baseline:
    """The state of a process that has run no program, taken once in the server."""

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch
        self.dtype = torch.get_default_dtype()
        self.environment = dict(os.environ)
        self.path = list(sys.path)
        self.modules = set(sys.modules)
        self.warning_filters = list(warnings.filters)
        self.handlers = list(logging.root.handlers)
        self.log_level = logging.root.level
        self.print_options = dict(vars(torch._tensor_str.PRINT_OPTS))
        self.exit_calls = _exit_calls()
        self.signals = [signal.getsignal(s) for s in _signals()]
        self.recursion_limit = sys.getrecursionlimit()
        self.spaces = list(_spaces(torch))
        self.compiled = self._compiled()
        self.resident = resident_bytes()
        self.flags = self._flags()

    def restore(self) -> None:
        """Put back what has a plain setter."""
        torch = self.torch
        while torch._C._len_torch_function_stack() == 1 and _default_device_mode(torch):
            torch.set_default_device(None)
        torch.set_default_dtype(self.dtype)
        torch.set_grad_enabled(True)
        vars(torch._tensor_str.PRINT_OPTS).update(self.print_options)
        torch.use_deterministic_algorithms(False)
        torch.autograd.set_detect_anomaly(False)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        sys.path[:] = self.path
        sys.setrecursionlimit(self.recursion_limit)
        logging.root.handlers[:] = self.handlers
        if logging.root.level != self.log_level or logging.root.manager.disable:  # both empty every logger's cache
            logging.root.setLevel(self.log_level)
            logging.disable(logging.NOTSET)
        warnings.filters[:] = self.warning_filters  # type: ignore[index]
        sys.excepthook = sys.__excepthook__
        sys.displayhook = sys.__displayhook__
        for name in [] if sys.modules.keys() <= self.modules else set(sys.modules) - self.modules:
            if not _is_library(sys.modules[name]):  # a local module keeps the last program's objects
                del sys.modules[name]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gc.enable()

    def is_library(self, name: str) -> bool:
        """Whether the loaded module ``name`` is a library's, not the user's own."""
        module = sys.modules.get(name)
        return getattr(module, "__file__", None) is not None and _is_library(module)  # type: ignore[arg-type]

    def leak(self) -> str:
        """What keeps this process from being used on, in a few words; empty when nothing does."""
        torch = self.torch
        checks = (
            ("a dual level", torch.autograd.forward_ad._current_level != -1),
            ("a transform level", torch._C._functorch.maybe_current_level() is not None)
            if hasattr(torch._C._functorch, "maybe_current_level")
            else ("a transform level", torch._C._functorch.peek_interpreter_stack() is not None),
            ("a function mode", torch._C._len_torch_function_stack() != 0),
            ("a dispatch mode", torch._C._len_torch_dispatch_stack() != 0),
            ("a mode flag", self._flags() != self.flags),
            ("compiled code", self._compiled() != self.compiled),
            ("an exit handler", _exit_calls() != self.exit_calls),
            ("a signal handler", [signal.getsignal(s) for s in _signals()] != self.signals),
            ("a trace function", sys.gettrace() is not None or sys.getprofile() is not None),
            ("a thread", thread_count() > 1),
            ("a process", _has_children()),
            ("a patched module", any(map(_differs, self.spaces))),
            ("a global module hook", _module_hooks(torch)),
        )
        for name, found in checks:
            if found:
                return name
        if resident_bytes() - self.resident > MEMORY_BYTES:
            return "memory"
        return ""

    def _flags(self) -> Tuple[object, ...]:
        torch = self.torch
        found: List[object] = [torch.get_num_threads(), torch._C._get_tracing_state() is None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some are deprecated
            for name in _FLAGS:  # not every torch has each of them
                ask = getattr(torch, name, None)
                found.append(None if ask is None else ask())
        return tuple(found)

    def _compiled(self) -> Tuple[int, ...]:
        utils = sys.modules.get("torch._dynamo.utils")
        if utils is None:
            return ()
        return (len(getattr(utils, "counters", ())), len(getattr(utils, "compilation_time_metrics", ())))


def _default_device_mode(torch: Any) -> bool:
    return type(torch._C._get_function_stack_at(0)).__name__ == "DeviceContext"


class _Space(NamedTuple):
    """A namespace that a script may patch. ``values`` of it, as ``get`` takes them out all at once; there are
    thousands, which are looked at after each program."""

    names: Mapping[str, Any]
    get: Callable[[Mapping[str, Any]], Tuple[Any, ...]]
    values: Tuple[Any, ...]


def _spaces(torch: Any) -> Iterator[_Space]:
    """The namespaces that a script may patch, with what is in them."""
    found: List[Any] = [sys.modules[name] for name in _PATCHABLE if name in sys.modules]
    found += [torch.Tensor, torch.nn.Module, torch.nn.Parameter, torch.autograd.Function]
    found += [cls for cls in vars(torch.nn).values() if isinstance(cls, type) and cls is not torch.nn.Module]
    for space in found:
        names = [name for name in vars(space) if name[:2] != "__"]
        if names:
            get = operator.itemgetter(*names, names[0])  # of one name alone it would give no tuple
            yield _Space(vars(space), get, get(vars(space)))


def _differs(space: _Space) -> bool:
    try:
        return not all(map(operator.is_, space.get(space.names), space.values))
    except KeyError:  # a name is gone
        return True


def _module_hooks(torch: Any) -> bool:
    space = vars(torch.nn.modules.module)
    return any(value for name, value in space.items() if name.startswith("_global_") and isinstance(value, dict))


def _is_library(module: types.ModuleType) -> bool:
    from shrinkrepro.target.raised import place

    file = getattr(module, "__file__", None)
    return file is None or place(file)[1]


def _signals() -> List[int]:
    return [int(s) for s in (signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGUSR1)]


def _exit_calls() -> int:
    count = getattr(atexit, "_ncallbacks", None)
    return int(count()) if count is not None else 0


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def thread_count() -> int:
    """Threads of this process, those that C libraries made too."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def resident_bytes() -> int:
    """Resident memory of this process; 0 where that cannot be told cheaply."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
