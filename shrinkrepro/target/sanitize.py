"""The sanitizer: every outermost call of a transform is also run by its reference, and what differs is noted.

Decision: the program sees the real result alone; the reference runs on copies, with all transforms replaced inside it,
and what it changed is put back.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import sys
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from torch.utils._pytree import tree_flatten

from shrinkrepro.target import plain, raised, reverse
from shrinkrepro.target.forward import twice
from shrinkrepro.target.references import plain_autograd, references
from shrinkrepro.target.shadow import Call, copied
from shrinkrepro.target.shadow_duals import ShadowDuals
from shrinkrepro.target.without_backward import apply_forward

OUTSIDE, REAL, REFERENCE = "outside", "real", "reference"  # where the program is
CALLS = 24  # of one line that are all shadowed; then each whose number is a power of two
SECONDS = 8.0  # one shadow may take
ALL_SECONDS = 120.0  # all of them
ELEMENTS = 2_000_000  # of the inputs, above which a call is left alone


class _OutOfTime(Exception):
    """A reference takes too long."""


class Sanitizer:
    """Shadows transforms in this process, and keeps what differed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._where = OUTSIDE
        self._found: Dict[Tuple[str, int, str], Dict[str, Any]] = {}
        self._calls: Dict[Tuple[str, int, str], int] = {}
        self._late: Dict[Tuple[str, int, str], int] = {}
        self._spent, self._deadline = 0.0, 0.0
        self._derived = False  # a derivative was taken in the reference
        self._table = references(reverse.vjp, twice(reverse.vjp))

    def findings(self) -> List[Dict[str, Any]]:
        """What differed, in the order of the lines."""
        return sorted(self._found.values(), key=lambda found: (found["file"], found["line"], found["transform"]))

    def install(self) -> None:
        """Put the shadowing stand-ins where programs find the transforms."""
        plain.turns_allowed = sys.maxsize
        with warnings.catch_warnings(), contextlib.suppress(ImportError):
            warnings.simplefilter("ignore")
            importlib.import_module("functorch")  # the old names; a program may import them later
        for home in ("torch", "torch.func", "functorch"):
            module = sys.modules.get(home)
            for name in ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian"):
                if callable(getattr(module, name, None)):
                    setattr(module, name, self._transform(name, getattr(module, name)))
            for name in ("vjp", "linearize"):
                if callable(getattr(module, name, None)):
                    setattr(module, name, self._pulling(name, getattr(module, name)))
            if callable(getattr(module, "jvp", None)):
                setattr(module, "jvp", self._direct("jvp", getattr(module, "jvp")))  # noqa: B009, B010
        for name in ("jacobian", "hessian", "vjp", "jvp", "hvp", "vhp"):
            home = torch.autograd.functional
            setattr(home, name, self._direct("autograd.functional." + name, getattr(home, name)))
        torch.compile = self._compile(torch.compile)
        ShadowDuals(
            lambda: self._where == OUTSIDE, lambda found: self._note(self._line("forward_ad", 3), found)
        ).install()

    def _transform(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def stand_in(func: Callable[..., Any], *args: Any, **options: Any) -> Any:
            made = original(func, *args, **options)
            if _compiling():
                return made
            label = _label(name, func)

            def reference() -> Any:
                return self._table[name](self._timed(func), *args, **options)

            apart_random = options.get("randomness", "error") == "different"
            return self._shadowed(label, made, reference, func, apart_random)

        return functools.wraps(original)(stand_in)

    def _shadowed(
        self, label: str, made: Callable[..., Any], reference: Callable[[], Any], func: Any, other_random: bool = False
    ) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            if _compiling() or self._where == REAL:
                return made(*args, **kwargs)
            if self._where == REFERENCE:
                return reference()(*args, **kwargs)
            return self._shadow(label, made, lambda *a, **k: reference()(*a, **k), args, kwargs, func, other_random)

        with contextlib.suppress(AttributeError, TypeError):
            functools.update_wrapper(run, made, updated=())
        run._shrinkrepro_label = label  # type: ignore[attr-defined]
        return run

    def _direct(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """For a transform that is called with its function's inputs."""

        def stand_in(func: Callable[..., Any], *args: Any, **options: Any) -> Any:
            if _compiling() or self._where == REAL:
                return original(func, *args, **options)
            reference = self._table[name]
            if self._where == REFERENCE:
                return reference(self._timed(func), *args, **options)
            return self._shadow(
                _label(name.rpartition(".")[2], func),
                lambda *a, **k: original(func, *a, **k),
                lambda *a, **k: reference(self._timed(func), *a, **k),
                args,
                options,
                func,
            )

        return functools.wraps(original)(stand_in)

    def _pulling(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """For vjp and linearize: a function comes out, and each of its calls is shadowed."""

        def stand_in(func: Callable[..., Any], *primals: Any, **options: Any) -> Any:
            if _compiling() or self._where == REAL:
                return original(func, *primals, **options)
            if self._where == REFERENCE:
                return self._table[name](self._timed(func), *primals, **options)
            given = copied(primals)
            label = _label(name, func)

            def values(made: Any) -> Any:
                return [part for k, part in enumerate(made) if k != 1]

            result = self._shadow(
                label,
                lambda *p: original(func, *p, **options),
                lambda *p: self._table[name](self._timed(func), *p, **options),
                primals,
                {},
                func,
                values=values,
            )

            def reference(*cotangents: Any, **kwargs: Any) -> Any:
                return self._table[name](self._timed(func), *copied(given), **options)[1](*cotangents, **kwargs)

            pull = self._shadowed(label, result[1], lambda: reference, func)
            return (result[0], pull, *result[2:])

        return functools.wraps(original)(stand_in)

    def _compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def stand_in(model: Any = None, *args: Any, **options: Any) -> Any:
            made = original(model, *args, **options)
            if model is None:
                return lambda function: self._compiled(function, made(function))
            return self._compiled(model, made)

        return functools.wraps(original)(stand_in)

    def _compiled(self, eager: Any, made: Any) -> Any:
        if isinstance(made, torch.nn.Module):
            inner = made.forward
            made.forward = self._shadowed("compile", inner, lambda: eager, eager)
            return made
        return self._shadowed("compile", made, lambda: eager, eager)

    def _shadow(
        self,
        label: str,
        real: Callable[..., Any],
        reference: Callable[..., Any],
        args: Any,
        kwargs: Any,
        func: Any,
        other_random: bool = False,
        values: Callable[[Any], Any] = lambda result: result,
    ) -> Any:
        where = self._line(label)
        call = self._calls[where] = self._calls.get(where, 0) + 1
        size = sum(leaf.numel() for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor))
        left_alone = size > ELEMENTS or self._late.get(where, 0) > 1 or (call > CALLS and call & (call - 1))
        if left_alone or self._spent > ALL_SECONDS:
            return self._real(real, args, kwargs)
        started = time.monotonic()
        try:
            one = Call(self, real, reference, args, kwargs, func, values)
        except Exception:  # inputs that cannot be copied
            return self._real(real, args, kwargs)
        self._spent += time.monotonic() - started
        result = self._real(real, args, kwargs)
        started = time.monotonic()
        self._deadline = started + SECONDS
        try:
            with _quiet():
                found = one.compare(result, label, call, other_random)
        except _OutOfTime:
            found = None
            self._late[where] = self._late.get(where, 0) + 1
        except Exception:  # the reference cannot run it, or nothing can be compared
            found = None
        finally:
            one.settle()
            self._where = OUTSIDE
            self._spent += time.monotonic() - started
        if found is not None:
            self._note(where, found)
        return result

    def _real(self, real: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._where = REAL
        try:
            return real(*args, **kwargs)
        finally:
            self._where = OUTSIDE

    def rerun(self, real: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The real call once more."""
        self._tick()
        return self._real(real, args, kwargs)

    def refer(self, reference: Callable[..., Any], args: Any, kwargs: Any, table: Any = None) -> Any:
        """The call by the reference, or by the transforms of ``table``."""
        previous, function = self._table, torch.autograd.Function
        apply = function.__dict__["apply"]
        self._table = table or previous
        self._where = REFERENCE
        try:
            with plain_autograd():
                function.apply = apply_forward(apply)
                return reference(*args, **kwargs)
        finally:
            function.apply = apply
            self._table, self._where = previous, OUTSIDE

    def _timed(self, func: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            self._tick()
            return func(*args, **kwargs)

        return run

    def _tick(self) -> None:
        if time.monotonic() > self._deadline:
            raise _OutOfTime

    def _line(self, label: str, depth: int = 2) -> Tuple[str, int, str]:
        """The innermost line of the program's own, or of its local modules, that is running."""
        frame: Any = sys._getframe(depth)
        while frame is not None:
            file = frame.f_code.co_filename
            if file == self._path:
                return "", frame.f_lineno, label
            name, library = raised.place(file)
            if not library and not file.startswith("<"):
                return name, frame.f_lineno, label
            frame = frame.f_back
        return "", 0, label

    def _note(self, where: Tuple[str, int, str], found: Dict[str, Any]) -> None:
        known = self._found.get(where)
        if known is not None:
            known["times"] += 1
            return
        file, line, label = where
        self._found[where] = {"file": file, "line": line, "transform": label, "times": 1, **found}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What the function prints or warns of a second time is not heard."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _label(name: str, func: Any) -> str:
    inner = getattr(func, "_shrinkrepro_label", None)
    return "%s(%s)" % (name, inner) if inner is not None else name


def _never() -> bool:
    return False


# Folded to True where Dynamo traces, which then sees torch's own functions alone; torch 2.0 has no such question.
_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", _never)

_sanitizers: List[Sanitizer] = []


def install() -> None:
    """Shadow the transforms of the program that ``sys.argv`` names, from now on."""
    _sanitizers.append(Sanitizer(sys.argv[0]))
    _sanitizers[-1].install()


def findings() -> Tuple[Dict[str, Any], ...]:
    """What differed: ``file`` (empty for the program's own), ``line``, ``transform``, ``kind``, ``times``, a few
    ``actual`` and ``expected`` values, the relative ``error``, and ``by`` what: reference, slope or float64."""
    return tuple(_sanitizers[-1].findings()) if _sanitizers else ()
