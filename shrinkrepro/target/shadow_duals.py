"""Dual numbers of a program's own, each tangent held against reverse mode twice.

Decision: an input becomes a dual number of a copy that requires a gradient, so the one forward run leaves both a
tangent and a graph; what is unpacked has neither the graph nor the requirement, unless the program asked for it.
"""

from __future__ import annotations

import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from shrinkrepro.target import apart

TOLERANCES = {torch.float64: 1e-6, torch.float32: 1e-3}  # of the largest value; there is no second run to see noise in
COARSE = 5e-2

_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


class ShadowDuals:
    """``torch.autograd.forward_ad`` with a check in ``unpack_dual``."""

    def __init__(self, outside: Callable[[], bool], note: Callable[[Dict[str, Any]], None]) -> None:
        home = torch.autograd.forward_ad
        self._make, self._unpack = home.make_dual, home.unpack_dual
        self._enable = home._set_fwd_grad_enabled
        self._outside, self._note = outside, note
        self._noted: List[Tuple[Any, Any, Any]] = []
        self._asked = False  # the program's own tensors require a gradient

    def install(self) -> None:
        """Put the checks where programs find dual numbers; torch's own modules go on with the real ones."""
        home = torch.autograd.forward_ad
        stand_in = types.ModuleType(home.__name__, home.__doc__)
        vars(stand_in).update(vars(home))
        vars(stand_in).update(make_dual=self.make_dual, unpack_dual=self.unpack_dual)
        sys.modules[home.__name__] = torch.autograd.forward_ad = stand_in

    def make_dual(self, tensor: Any, tangent: Any, *, level: Any = None) -> Any:
        """A dual number, whose primal has a graph."""
        if _is_torch(1) or not self._outside() or not torch.is_grad_enabled() or tensor.is_complex():
            return self._make(tensor, tangent, level=level)
        self._forget()
        self._asked |= tensor.requires_grad
        source = tensor if tensor.requires_grad else tensor.detach().requires_grad_()
        primal = source.clone()
        dual = self._make(primal, tangent, level=level)
        self._noted.append((primal, tangent, dual))
        return dual

    def unpack_dual(self, tensor: Any, *, level: Any = None) -> Any:
        """The primal and the tangent, which has been looked at."""
        result = self._unpack(tensor, level=level)
        if _is_torch(1) or not self._outside() or not self._noted:
            return result
        try:
            found = self._difference(tensor, result.tangent)
        except Exception:  # there may be no way back through it
            found = None
        if found is not None:
            self._note(found)
        if self._asked:
            return result
        return type(result)(*(part.detach() if part is not None else None for part in result))

    def _forget(self) -> None:
        """Drop the dual numbers of a level that has ended: they have no tangents any more."""
        try:
            over = bool(self._noted) and self._unpack(self._noted[0][2]).tangent is None
        except RuntimeError:  # no level is open
            over = True
        if over:
            self._noted.clear()
            self._asked = False

    def _difference(self, tensor: Any, tangent: Any) -> Optional[Dict[str, Any]]:
        if not tensor.requires_grad:
            return None
        state = torch.default_generator.get_state()
        with self._enable(False), torch.enable_grad():
            cotangent = torch.zeros_like(tensor).requires_grad_()
            primals = [primal for primal, _, _ in self._noted]
            pulled = torch.autograd.grad(
                tensor, primals, cotangent, retain_graph=True, create_graph=True, allow_unused=True
            )
            pairs = [(p, t) for p, (_, t, _) in zip(pulled, self._noted) if p is not None and p.requires_grad]
            expected = torch.zeros_like(tensor)
            if pairs:
                [expected] = torch.autograd.grad(
                    [p for p, _ in pairs], [cotangent], [t for _, t in pairs], allow_unused=True
                )
        torch.default_generator.set_state(state)
        if expected is None:
            expected = torch.zeros_like(tensor)
        actual = apart.leaves([torch.zeros_like(tensor) if tangent is None else tangent])
        reference = apart.leaves([expected])
        found = apart.gap(actual, reference)
        if found is None or found.kind == "dtype":
            return None
        limit = TOLERANCES.get(reference[0].dtype, COARSE)
        if found.kind not in ("nan", "inf", "shape") and apart.relative_error(actual, reference) < limit:
            return None
        return {**apart.told(found), "by": "reference"}


def _is_torch(depth: int) -> bool:
    """Whether the caller ``depth`` above is torch's, or its compiler: printing a tensor unpacks it."""
    if _compiling():
        return True
    return str(sys._getframe(depth + 1).f_globals.get("__name__", "")).partition(".")[0] == "torch"
