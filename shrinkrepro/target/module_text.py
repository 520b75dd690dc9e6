"""Constructor text for modules of torch.nn: ``torch.nn.GRU(16, 16, batch_first=True)``.

Decision: built from the constructor's own signature and the module's attributes, so it follows whatever torch
the target has; a module with an argument that cannot be read back has no text.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, List, Optional, Tuple

_MISSING: Any = object()
_FACTORY = ("device", "dtype")
_CHAINS = ("Sequential", "ModuleList")
_RECURRENT: Tuple[Tuple[str, Any], ...] = (
    ("input_size", _MISSING),
    ("hidden_size", _MISSING),
    ("num_layers", 1),
    ("bias", True),
    ("batch_first", False),
    ("dropout", 0.0),
    ("bidirectional", False),
)


def constructor_text(module: Any, source_text: Callable[[Any], Optional[str]], depth: int = 3) -> Optional[str]:
    """Source that makes a module like ``module``, if it is one of torch.nn's; else None."""
    cls = type(module)
    if not cls.__module__.startswith("torch.nn.modules.") or depth == 0:
        return None
    name = cls.__name__
    if name in _CHAINS:
        parts = [constructor_text(child, source_text, depth - 1) for child in module.children()]
        if None in parts:
            return None
        inner = ", ".join(str(part) for part in parts)
        return "torch.nn.%s(%s)" % (name, inner if name == "Sequential" else "[%s]" % inner)
    if any(True for _ in module.children()) and name != "MultiheadAttention":
        return None
    arguments = _arguments(module)
    if arguments is None:
        return None
    texts: List[str] = []
    by_name = False
    for parameter, default in arguments:
        value = _attribute(module, parameter, default)
        if default is not _MISSING and (value is _MISSING or value == default):
            by_name = True
            continue
        text = _text(value, source_text)
        if text is None:
            return None
        texts.append("%s=%s" % (parameter, text) if by_name or default is not _MISSING else text)
    return "torch.nn.%s(%s)" % (name, ", ".join(texts))


def _arguments(module: Any) -> Optional[List[Tuple[str, Any]]]:
    """(name, default) of the constructor's arguments."""
    if hasattr(module, "all_weights") and hasattr(module, "num_layers"):
        return list(_RECURRENT)
    try:
        parameters = list(inspect.signature(type(module).__init__).parameters.values())[1:]
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return [
        (p.name, _MISSING if p.default is p.empty else p.default)
        for p in parameters
        if p.name not in _FACTORY and p.name[0] != "_"
    ]


def _attribute(module: Any, name: str, default: Any) -> Any:
    value: Any = getattr(module, name, _MISSING)
    if name == "bias" and isinstance(default, bool) and not isinstance(value, bool) and value is not _MISSING:
        return value is not None
    uniform = isinstance(value, (tuple, list)) and bool(value) and all(v == value[0] for v in value)
    return value[0] if uniform and not isinstance(default, (tuple, list)) else value


def _text(value: Any, source_text: Callable[[Any], Optional[str]]) -> Optional[str]:
    if value is _MISSING:
        return None
    if type(value) in (tuple, list):
        parts = [source_text(item) for item in value]
        if None in parts:
            return None
        return "(%s%s)" % (", ".join(str(p) for p in parts), "," if len(parts) == 1 else "")
    return source_text(value)
