"""The sanitizer: every outermost call of a transform is also run by its reference, and what differs is noted.

Decision: the program sees the real result alone; the reference runs on copies, with all transforms replaced inside it,
and what it changed is put back. A difference is told only when the reference's own noise, other random numbers and a
program that is not deterministic are ruled out: a healthy program must give no finding.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import time
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map

from shrinkrepro.target import apart, plain, raised, reverse, slopes
from shrinkrepro.target.apart import Gap
from shrinkrepro.target.forward import Duals, Forward, twice
from shrinkrepro.target.reach import Reach, State
from shrinkrepro.target.without_backward import apply_forward

OUTSIDE, REAL, REFERENCE = "outside", "real", "reference"  # where the program is
CALLS = 24  # of one line that are all shadowed; then each whose number is a power of two
SLOPE_CALLS = 2  # of one line that are also held against finite differences
SECONDS = 8.0  # one shadow may take
ALL_SECONDS = 120.0  # all of them
ELEMENTS = 2_000_000  # of the inputs, above which a call is left alone

# A function that uses one of these may mean another derivative than its values' slope.
_SURROGATES = {
    *("detach", "detach_", "data", "no_grad", "inference_mode", "set_grad_enabled", "item", "tolist", "numpy", "float"),
    *("int", "register_hook", "gumbel_softmax", "spectral_norm", "fake_quantize_per_tensor_affine"),
}


class _OutOfTime(Exception):
    """A reference takes too long."""


class Sanitizer:
    """Shadows transforms in this process, and keeps what differed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._where = OUTSIDE
        self._found: Dict[Tuple[str, int, str], Dict[str, Any]] = {}
        self._calls: Dict[Tuple[str, int, str], int] = {}
        self._spent, self._deadline = 0.0, 0.0
        self._derived = False  # a derivative was taken in the reference
        self._table = _references(reverse.vjp, twice(reverse.vjp))

    def findings(self) -> List[Dict[str, Any]]:
        """What differed, in the order of the lines."""
        return sorted(self._found.values(), key=lambda found: (found["file"], found["line"], found["transform"]))

    def install(self) -> None:
        """Put the shadowing stand-ins where programs find the transforms."""
        plain.turns_allowed = sys.maxsize
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

    # ------------------------------------------------------------------ the stand-ins

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
            given = _copied(primals)
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
                return self._table[name](self._timed(func), *_copied(given), **options)[1](*cotangents, **kwargs)

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

    # ------------------------------------------------------------------ one shadow

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
        if self._spent > ALL_SECONDS or size > ELEMENTS or (call > CALLS and call & (call - 1)):
            return self._real(real, args, kwargs)
        started = time.monotonic()
        try:
            one = _Call(self, real, reference, args, kwargs, func, values)
        except Exception:  # inputs that cannot be copied
            return self._real(real, args, kwargs)
        self._spent += time.monotonic() - started
        result = self._real(real, args, kwargs)
        started = time.monotonic()
        self._deadline = started + SECONDS
        try:
            with _quiet():
                found = one.compare(result, label, call, other_random)
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
            with _plain_autograd():
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

    def _line(self, label: str) -> Tuple[str, int, str]:
        """The innermost line of the program's own, or of its local modules, that is running."""
        frame: Any = sys._getframe(2)
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


class _Call:
    """One outermost call: its inputs as they were, and what its function could reach."""

    def __init__(
        self,
        owner: Sanitizer,
        real: Callable[..., Any],
        reference: Callable[..., Any],
        args: Any,
        kwargs: Any,
        func: Any,
        values: Callable[[Any], Any],
    ) -> None:
        self._owner, self._real_call, self._reference, self._values = owner, real, reference, values
        self._given = _copied((args, kwargs))
        self._reach = Reach([func])
        self._before = State(self._reach)
        self._after: Optional[State] = None

    def compare(self, result: Any, label: str, call: int, other_random: bool) -> Optional[Dict[str, Any]]:
        """What is wrong with ``result``; None if nothing is known to be."""
        actual = apart.leaves(self._values(result))
        self._after = State(self._reach)
        drew = self._before.drew()
        expected = self._expected(self._given)
        other_random |= drew and not self._before_equals_now()
        found = apart.gap(actual, expected, attributes_only=other_random)
        if found is not None:
            confirmed = other_random or self._confirmed(found, actual, expected)
            return {**apart.told(found), "by": "reference"} if confirmed else None
        if "compile" in label or call > SLOPE_CALLS or drew:
            return None
        return self._by_slopes(actual, expected)

    def settle(self) -> None:
        """Leave everything as the real call left it."""
        if self._after is not None:
            self._after.restore()

    def _before_equals_now(self) -> bool:
        """Whether the reference drew as many random numbers as the real call."""
        return self._after is None or not self._after.drew()

    def _expected(self, given: Any, table: Any = None) -> List[Any]:
        self._before.restore()
        args, kwargs = _copied(given)
        with _no_inference():
            return apart.leaves(self._values(self._owner.refer(self._reference, args, kwargs, table)))

    def _again(self, given: Any) -> List[Any]:
        self._before.restore()
        args, kwargs = _copied(given)
        return apart.leaves(self._values(self._owner.rerun(self._real_call, args, kwargs)))

    def _confirmed(self, found: Gap, actual: Sequence[Any], expected: Sequence[Any]) -> bool:
        if apart.gap(self._again(self._given), actual) is not None:
            return False  # it is not deterministic
        if apart.gap(self._expected(self._given), expected) is not None:
            return False
        nudged = [self._nudged(seed) for seed in (0, 1)]
        others = [self._expected(given) for given in nudged]
        with contextlib.suppress(Exception):  # what cannot run in float64 is judged without
            others.append(self._in_double(None))
        if not apart.beyond_noise(found, actual, expected, others):
            return False
        if found.kind in ("nan", "inf"):  # rounding can make one, too
            return any(_odd(self._again(given), found.leaf) for given in nudged)
        return True

    def _nudged(self, seed: int) -> Any:
        """The inputs moved by a few roundings: all alike (seed 0), or each by its own."""
        generator = torch.Generator().manual_seed(seed)

        def move(value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                return value
            signs = torch.randint(0, 2, value.shape, generator=generator).to(value.device) * 2 - 1 if seed else 1
            moved = value.detach() * (1 + 4 * torch.finfo(value.dtype).eps * signs)
            return moved.to(value.dtype).requires_grad_(value.requires_grad)

        return tree_map(move, self._given)

    def _in_double(self, table: Any) -> List[Any]:
        given = tree_map(_double, self._given)
        with self._doubled():
            return self._expected(given, table)

    @contextlib.contextmanager
    def _doubled(self) -> Iterator[None]:
        """What the function reaches, in float64."""
        self._before.restore()
        low = [t for t in self._reach.tensors if t.is_floating_point() and t.dtype != torch.float64]
        kept = [(t, t.data) for t in low if t.layout is torch.strided]
        default = torch.get_default_dtype()
        try:
            for tensor, data in kept:
                tensor.data = data.double()
            torch.set_default_dtype(torch.float64)
            yield
        finally:
            torch.set_default_dtype(default)
            for tensor, data in kept:
                tensor.data = data

    def _by_slopes(self, actual: Sequence[Any], expected: Sequence[Any]) -> Optional[Dict[str, Any]]:
        """What finite differences say of plain autograd itself, and float64 of a lower precision."""
        if self._reach.functions or self._reach.names & _SURROGATES:
            return None
        checked = slopes.Slopes()
        exact = self._in_double(_references(checked.vjp, checked.pushed))
        if checked.wrong:
            return {**apart.told(apart.of_numbers(*checked.wrong[0])), "by": "slope"}
        if not checked.checked or apart.relative_error(actual, exact) < 0.05:
            return None
        others = [self._expected(self._nudged(seed)) for seed in (0, 1)]
        if max(apart.relative_error(expected, other) for other in others) > 1e-3:
            return None
        found = apart.gap([v.double() if isinstance(v, torch.Tensor) else v for v in actual], exact)
        return {**apart.told(found), "by": "float64"} if found is not None else None


def _references(vjp: Callable[..., Any], pushed: Any) -> Dict[str, Callable[..., Any]]:
    """The references by the names of the transforms, over one way to pull back and one to push forward."""
    back, forward = reverse.Reverse(vjp), Forward(pushed)

    def number(inputs: Any) -> Any:
        return tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0

    def listed(inputs: Any) -> Tuple[Any, ...]:
        return inputs if isinstance(inputs, tuple) else (inputs,)

    def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
        return back.jacrev(back.jacrev(func, argnums), argnums)

    def pulled(func: Callable[..., Any], inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        output, pullback = vjp(func, *listed(inputs))
        gradients = pullback(torch.ones_like(output) if v is None else v)
        return output, gradients if isinstance(inputs, tuple) else gradients[0]

    def pushed_once(func: Callable[..., Any], inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        tangents = tree_map(torch.ones_like, inputs) if v is None else v
        return forward.jvp(func, listed(inputs), listed(tangents))

    def curved(func: Callable[..., Any], inputs: Any, v: Any = None, *args: Any, **options: Any) -> Any:
        tangents = tree_map(torch.ones_like, inputs) if v is None else v
        slope = back.grad(func, number(inputs))
        return func(*listed(inputs)), pulled(slope, inputs, tangents)[1]

    return {
        "vmap": plain.vmap,
        "grad": back.grad,
        "grad_and_value": back.grad_and_value,
        "jacrev": back.jacrev,
        "jacfwd": forward.jacfwd,
        "hessian": hessian,
        "vjp": vjp,
        "linearize": forward.linearize,
        "jvp": forward.jvp,
        "autograd.functional.jacobian": lambda f, i, *a, **k: back.jacrev(f, number(i))(*listed(i)),
        "autograd.functional.hessian": lambda f, i, *a, **k: hessian(f, number(i))(*listed(i)),
        "autograd.functional.vjp": pulled,
        "autograd.functional.jvp": pushed_once,
        "autograd.functional.hvp": curved,
        "autograd.functional.vhp": curved,
    }


@contextlib.contextmanager
def _plain_autograd() -> Iterator[None]:
    """Inside a reference: loops keep graphs, and dual numbers are found by reverse mode."""
    forward_ad = torch.autograd.forward_ad
    duals = Duals(forward_ad)
    homes: Any = [
        (torch.autograd, "grad", plain.keep_graph(torch.autograd.grad, 3)),
        (torch.autograd, "backward", plain.keep_graph(torch.autograd.backward, 2)),
        *((forward_ad, name, getattr(duals, name)) for name in ("make_dual", "unpack_dual", "exit_dual_level")),
    ]
    originals = [(home, name, getattr(home, name)) for home, name, _ in homes]
    try:
        for home, name, stand_in in homes:
            setattr(home, name, stand_in)
        yield
    finally:
        for home, name, original in originals:
            setattr(home, name, original)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What the function prints or warns of a second time is not heard."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _no_inference() -> Iterator[None]:
    if not torch.is_inference_mode_enabled():
        yield
        return
    with torch.inference_mode(False):
        yield


def _copied(tree: Any) -> Any:
    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        with torch.no_grad():
            twin = value.detach().clone()
        return twin.requires_grad_() if value.requires_grad else twin

    with _no_inference():
        return tree_map(copy, tree)


def _double(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value.to(torch.complex128) if isinstance(value, torch.Tensor) and value.is_complex() else value
    return value.detach().double().requires_grad_(value.requires_grad)


def _odd(leaves: Sequence[Any], number: int) -> bool:
    leaf = leaves[number] if number < len(leaves) else None
    if not isinstance(leaf, torch.Tensor):
        return False
    return not bool(leaf.isfinite().all())


def _label(name: str, func: Any) -> str:
    inner = getattr(func, "_shrinkrepro_label", None)
    return "%s(%s)" % (name, inner) if inner is not None else name


def _compiling() -> bool:
    return bool(torch.compiler.is_compiling())


_sanitizers: List[Sanitizer] = []


def install() -> None:
    """Shadow the transforms of the program that ``sys.argv`` names, from now on."""
    _sanitizers.append(Sanitizer(sys.argv[0]))
    _sanitizers[-1].install()


def findings() -> Tuple[Dict[str, Any], ...]:
    """What differed: ``file`` (empty for the program's own), ``line``, ``transform``, ``kind``, ``times``, a few
    ``actual`` and ``expected`` values, the relative ``error``, and ``by`` what: reference, slope or float64."""
    return tuple(_sanitizers[-1].findings()) if _sanitizers else ()
