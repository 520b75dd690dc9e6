"""The float64 control: the program as it is, with float64 in the place of every lower precision.

Decision: torch's own names for the lower dtypes are bound to float64 before the program runs, so that whatever it
spells, imports or looks up is moved; what comes in with a dtype of its own (numpy arrays, loaded files) is converted
where it becomes a tensor.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict

import torch
from torch.utils._pytree import tree_map

_REAL = ("float32", "float", "float16", "half", "bfloat16")
_COMPLEX = ("complex64", "cfloat", "complex32", "chalf")
_REAL_METHODS = ("float", "half", "bfloat16")
_COMPLEX_METHODS = ("cfloat", "chalf")
_LEGACY = ("FloatTensor", "HalfTensor", "BFloat16Tensor")
_FROM_OUTSIDE = ("tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "load")


def install() -> None:
    """Raise every lower precision to float64 in this process, for good."""
    higher: Dict[Any, Any] = {getattr(torch, name): torch.float64 for name in _REAL}
    higher.update({getattr(torch, name): torch.complex128 for name in _COMPLEX if hasattr(torch, name)})
    for name in (*_REAL, *_COMPLEX):
        if hasattr(torch, name):
            setattr(torch, name, higher[getattr(torch, name)])
    set_default_dtype = torch.set_default_dtype
    set_default_dtype(torch.float64)
    torch.set_default_tensor_type = lambda kind: None
    for name in _REAL_METHODS:
        setattr(torch.Tensor, name, _method(torch.Tensor.double))
        setattr(torch.nn.Module, name, _method(torch.nn.Module.double))
    for name in _COMPLEX_METHODS:
        setattr(torch.Tensor, name, _method(torch.Tensor.cdouble))
    for name in _LEGACY:
        setattr(torch, name, torch.DoubleTensor)
    for name in _FROM_OUTSIDE:
        setattr(torch, name, _converted(getattr(torch, name), higher))
    torch.Tensor.type = _type(torch.Tensor.type)
    torch.autocast.__init__ = _switched_off(torch.autocast.__init__)
    _numpy()


def _numpy() -> None:
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.float32 = numpy.float16 = numpy.half = numpy.single = numpy.float64
        numpy.complex64 = numpy.csingle = numpy.complex128


def _method(double: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return double(self, *args, **kwargs)

    return run


def _converted(original: Callable[..., Any], higher: Dict[Any, Any]) -> Callable[..., Any]:
    def raised(value: Any) -> Any:
        dtype = higher.get(value.dtype) if isinstance(value, torch.Tensor) else None
        if dtype is None or dtype is value.dtype:
            return value
        return value.detach().to(dtype).requires_grad_(value.requires_grad)

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        return tree_map(raised, original(*args, **kwargs))

    return run


def _type(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(dtype, str) and dtype.rpartition(".")[2] in _LEGACY:
            dtype = torch.float64
        return original(self, dtype, *args, **kwargs)

    return run


def _switched_off(original: Callable[..., None]) -> Callable[..., None]:
    """``autocast.__init__`` for a context that casts nothing."""

    @functools.wraps(original)
    def run(
        self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None, **more: Any
    ) -> None:
        original(self, device_type, None, False, cache_enabled, **more)

    return run
