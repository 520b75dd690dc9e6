"""The CPU control: no accelerator is there, and what would move to one stays.

Decision: the host has written the CPU in the place of the devices that the program names; what is left for here is
what it asks, and the methods that name a device themselves.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

_BACKENDS = ("cuda", "xpu", "mps")
_QUESTIONS = {"is_available": False, "is_initialized": False, "device_count": 0}
_ORDERS = ("synchronize", "empty_cache", "init", "set_device", "manual_seed", "manual_seed_all",
           "reset_peak_memory_stats")  # fmt: skip


def install() -> None:
    """Hide the accelerators from this process, for good."""
    for backend in (getattr(torch, name, None) for name in _BACKENDS):
        for question, answer in _QUESTIONS.items():
            if hasattr(backend, question):
                setattr(backend, question, _always(answer))
        for order in _ORDERS:
            if hasattr(backend, order):
                setattr(backend, order, _always(None))
    for name in _BACKENDS:
        for kind in (torch.Tensor, torch.nn.Module):
            if hasattr(kind, name):
                setattr(kind, name, lambda self, *args, **kwargs: self.cpu())
    if hasattr(torch, "accelerator"):
        torch.accelerator.is_available = _always(False)
        torch.accelerator.current_accelerator = _always(None)
    torch.Tensor.pin_memory = lambda self, *args, **kwargs: self


def _always(answer: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: answer
