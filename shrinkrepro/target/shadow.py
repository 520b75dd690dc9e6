"""One call of a transform and its shadow: the inputs as they were, further runs, and what they say.

Decision: a difference is told only when the reference's own noise, other random numbers and a program that is not
deterministic are ruled out; where the reference agrees, it is itself held against finite differences.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Protocol, Sequence

import torch
from torch.utils._pytree import tree_flatten, tree_map

from shrinkrepro.target import apart, slopes
from shrinkrepro.target.apart import Gap
from shrinkrepro.target.reach import Reach, State
from shrinkrepro.target.references import references

SLOPE_CALLS = 2  # of one line that are also held against finite differences
IMPRECISE = 0.05  # of the largest value: a lower precision that is this far from float64 is wrong,
STABLE = 1e-3  # if inputs moved by a rounding move its results by less than this

# A function that uses one of these may mean another derivative than its values' slope.
_SURROGATES = {
    *("detach", "detach_", "data", "no_grad", "inference_mode", "set_grad_enabled", "item", "tolist", "numpy", "float"),
    *("int", "register_hook", "gumbel_softmax", "spectral_norm", "fake_quantize_per_tensor_affine"),
}


class Runs(Protocol):
    """Who runs the program's functions."""

    def rerun(self, real: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The real call once more."""

    def refer(self, reference: Callable[..., Any], args: Any, kwargs: Any, table: Any = None) -> Any:
        """The call by the reference, or by the transforms of ``table``."""


class Call:
    """One outermost call: its inputs as they were, and what its function could reach."""

    def __init__(
        self,
        owner: Runs,
        real: Callable[..., Any],
        reference: Callable[..., Any],
        args: Any,
        kwargs: Any,
        func: Any,
        values: Callable[[Any], Any],
    ) -> None:
        self._owner, self._real_call, self._reference, self._values = owner, real, reference, values
        self._given = copied((args, kwargs))
        objects = [leaf for leaf in tree_flatten((args, kwargs))[0] if not isinstance(leaf, torch.Tensor)]
        self._reach = Reach([func, *objects])
        self._before = State(self._reach)
        self._after: Optional[State] = None
        self._differentiates = False

    def compare(self, result: Any, label: str, call: int, other_random: bool) -> Optional[Dict[str, Any]]:
        """What is wrong with ``result``; None if nothing is known to be."""
        actual = apart.leaves(self._values(result))
        self._after = State(self._reach)
        drew = self._before.drew()
        other_random |= "vmap" in label and self._before.counted()  # a loop goes on counting
        expected = self._expected(self._given)
        other_random |= drew and not self._before_equals_now()
        found = apart.gap(actual, expected, attributes_only=other_random)
        if found is not None:
            confirmed = other_random or self._confirmed(found, actual, expected)
            return {**apart.told(found), "by": "reference"} if confirmed else None
        if call > SLOPE_CALLS or drew:
            return None
        found_by = self._by_gradients()
        if found_by is None and "compile" not in label:
            found_by = self._by_slopes(actual, expected)
        return found_by

    def settle(self) -> None:
        """Leave everything as the real call left it."""
        if self._after is not None:
            self._after.restore()

    def _before_equals_now(self) -> bool:
        """Whether the reference drew as many random numbers as the real call."""
        return self._after is None or not self._after.drew()

    def _expected(self, given: Any, table: Any = None) -> List[Any]:
        self._before.restore()
        args, kwargs = copied(given)
        with _no_inference():
            return self._leaves(self._owner.refer(self._reference, args, kwargs, table), (args, kwargs))

    def _again(self, given: Any) -> List[Any]:
        self._before.restore()
        args, kwargs = copied(given)
        return self._leaves(self._owner.rerun(self._real_call, args, kwargs), (args, kwargs))

    def _leaves(self, result: Any, given: Any) -> List[Any]:
        """What is compared: the values, or their gradient."""
        values = self._values(result)
        return apart.leaves(self._gradient(values, given) if self._differentiates else values)

    def _gradient(self, values: Any, given: Any) -> List[Any]:
        """The gradient of a weighted sum of ``values``, for the inputs and what else requires one."""
        outputs = [v for v in tree_flatten(values)[0] if isinstance(v, torch.Tensor) and v.requires_grad]
        inputs = [v for v in tree_flatten(given)[0] if isinstance(v, torch.Tensor)] + self._reach.tensors
        inputs = [v for v in inputs if v.requires_grad and v.is_leaf]
        weights = [torch.linspace(0.5, 1.5, v.numel(), dtype=torch.float64).reshape(v.shape).to(v) for v in outputs]
        if not outputs or not inputs:
            return []
        found = torch.autograd.grad(outputs, inputs, weights, allow_unused=True)
        return [torch.zeros_like(v) if g is None else g for g, v in zip(found, inputs)]

    def _by_gradients(self) -> Optional[Dict[str, Any]]:
        """Whether what goes on to be differentiated has another gradient than the reference has."""
        if not torch.is_grad_enabled() or torch.is_inference_mode_enabled():
            return None
        self._differentiates = True
        try:
            actual = self._again(self._given)
            expected = self._expected(self._given) if actual else []
            found = apart.gap(actual, expected)
            if found is None or not self._confirmed(found, actual, expected):
                return None
            return {**apart.told(found), "by": "gradient"}
        except Exception:  # there may be no way back through it
            return None
        finally:
            self._differentiates = False

    def _confirmed(self, found: Gap, actual: Sequence[Any], expected: Sequence[Any]) -> bool:
        if apart.gap(self._again(self._given), actual) is not None:
            return False  # it is not deterministic
        if apart.gap(self._expected(self._given), expected) is not None:
            return False
        if found.kind in ("value", "sign", "zero") and self._agree_on_symmetric(actual, expected):
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

    def _agree_on_symmetric(self, actual: Sequence[Any], expected: Sequence[Any]) -> bool:
        sizes = {leaf.shape[-1] for leaf in tree_flatten(self._given)[0] if apart.is_symmetric(leaf)}
        return any(apart.gap(apart.symmetrised(actual, n), apart.symmetrised(expected, n)) is None for n in sizes)

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
        exact = self._in_double(references(checked.vjp, checked.pushed))
        if checked.wrong:
            return {**apart.told(apart.of_numbers(*checked.wrong[0])), "by": "slope"}
        if not checked.checked or apart.relative_error(actual, exact) < IMPRECISE:
            return None
        others = [self._expected(self._nudged(seed)) for seed in (0, 1)]
        if max(apart.relative_error(expected, other) for other in others) > STABLE:
            return None
        found = apart.gap([v.double() if isinstance(v, torch.Tensor) else v for v in actual], exact)
        return {**apart.told(found), "by": "float64"} if found is not None else None


@contextlib.contextmanager
def _no_inference() -> Iterator[None]:
    if not torch.is_inference_mode_enabled():
        yield
        return
    with torch.inference_mode(False):
        yield


def copied(tree: Any) -> Any:
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
