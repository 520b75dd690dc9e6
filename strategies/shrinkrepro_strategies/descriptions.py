"""Descriptions: what was seen of a value -> source that makes such a value.

Decision: several spellings, plainest first, because which property of a value matters (its shape, its sign, its
exact numbers) is for a query to find out.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from shrinkrepro.core.facts import Description

_MOST_NUMBERS = 8
_PYTHON_DTYPES = {"int64": "int", "bool": "bool", "float64": "float", "complex128": "complex"}
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})
_SPELLED = ("float64", "float16", "bfloat16")
_SPARSE = {
    "sparse_csr": ".to_sparse_csr()",
    "sparse_csc": ".to_sparse_csc()",
    "sparse_coo": ".to_sparse()",
    "sparse_bsr": ".to_sparse_bsr(1)",
}


def sources(value: Description, torch: str = "torch", most: int = 3) -> list[str]:
    """Spellings of a value like ``value``, at most ``most``, plainest first; empty when it cannot be written down."""
    kind = value.get("k")
    if kind == "const":
        text = str(value["r"])
        return [text] if _parses(text) else []
    if kind == "tensor":
        return tensor_sources(value, torch)[:most]
    if kind == "seq":
        return _sequence(value, torch, most)
    if kind == "dict":
        return _mapping(value, torch, most)
    if kind == "module":
        text = str(value.get("r") or "")
        return [text] if text and _parses(text) else []
    return []


def plain(value: Description) -> Description:
    """``value`` in single precision: for programs that set another default, in which it goes without saying."""
    kind = value.get("k")
    if kind == "tensor":
        return {**value, "dtype": {"float64": "float32", "complex128": "complex64"}.get(value["dtype"], value["dtype"])}
    if kind == "seq":
        return {**value, "items": [plain(item) for item in value.get("items", ())]}
    if kind == "dict":
        return {**value, "items": [[key, plain(item)] for key, item in value.get("items", ())]}
    return value


def first_tensor(value: Description) -> Description | None:
    """``value`` if it is a tensor, else the first one in it."""
    kind = value.get("k")
    if kind == "tensor":
        return value
    items = value.get("items", ())
    for item in items if kind == "seq" else [pair[1] for pair in items] if kind == "dict" else ():
        found = first_tensor(item)
        if found is not None:
            return found
    return None


def _parses(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def _sequence(value: Description, torch: str, most: int) -> list[str]:
    items = value.get("items")
    if items is None or value.get("t") not in ("tuple", "list", "set", "Size", "torch.Size"):
        return []
    if value.get("len", len(items)) != len(items):
        return []
    parts = [sources(item, torch, most) for item in items]
    if any(not part for part in parts):
        return []
    rounds = max((len(part) for part in parts), default=1)
    found = []
    for k in range(rounds):
        inner = [part[min(k, len(part) - 1)] for part in parts]
        found.append(_bracket(inner, str(value["t"])))
    return list(dict.fromkeys(found))[:most]


def _bracket(inner: Sequence[str], kind: str) -> str:
    if kind == "list":
        return f"[{', '.join(inner)}]"
    if kind == "set":
        return f"{{{', '.join(inner)}}}" if inner else "set()"
    return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"


def _mapping(value: Description, torch: str, most: int) -> list[str]:
    items = value.get("items")
    if items is None or value.get("len", len(items)) != len(items):
        return []
    found = []
    pairs = [(sources(key, torch, 1), sources(item, torch, most)) for key, item in items]
    if any(not key or not item for key, item in pairs):
        return []
    for k in range(max((len(item) for _, item in pairs), default=1)):
        found.append("{" + ", ".join(f"{key[0]}: {item[min(k, len(item) - 1)]}" for key, item in pairs) + "}")
    return list(dict.fromkeys(found))[:most]


def tensor_sources(value: Description, torch: str = "torch") -> list[str]:
    """Spellings of a tensor like ``value``: ones, zeros, the seen numbers, random ones."""
    shape = [int(n) for n in value["shape"]]
    dtype = str(value.get("dtype", "float32"))
    if any(n < 0 for n in shape):
        return []
    options = _options(value, torch, dtype)
    tail = _SPARSE.get(str(value.get("layout", "strided")))
    if tail is None and value.get("layout", "strided") != "strided":
        return []
    floating = dtype not in _INTEGERS and dtype != "bool"
    found: list[str] = []
    if not shape:
        found.extend(_scalars(value, torch, dtype, options))
    else:
        size = ", ".join(map(str, shape))
        names = ["ones", "zeros"] if value.get("fill") != 0 else ["zeros", "ones"]
        if math.prod(shape) == 0:
            names = ["zeros"]
        found.extend(f"{torch}.{name}({size}{options})" for name in names)
        exact = exact_tensor(value, torch)
        if exact is not None:
            found.insert(1 if floating else 0, exact)
        if floating and math.prod(shape) > 1:
            found.append(f"{torch}.randn({size}{options})")
    return [text + (tail or "") for text in dict.fromkeys(found)]


def exact_tensor(value: Description, torch: str = "torch") -> str | None:
    """The tensor with the numbers that were seen; None when they are unknown, many, or all the same."""
    numbers = value.get("values")
    shape = [int(n) for n in value["shape"]]
    if numbers is None or not shape or len(numbers) != math.prod(shape) or len(numbers) > _MOST_NUMBERS:
        return None
    if value.get("fill") in (0, 1):
        return None
    dtype = str(value.get("dtype", "float32"))
    implied = _implied(dtype)
    texts = [_number(n, dtype) for n in numbers]
    if any(text is None for text in texts) or not texts:
        return None
    options = _options(value, torch, dtype, implied)
    return f"{torch}.tensor({_nested([str(t) for t in texts], shape)}{options})"


def exact_source(value: Description, torch: str = "torch") -> str | None:
    """A literal with all digits of what was seen; None when it is no number or no tensor of few, real ones."""
    if value.get("k") == "const":
        text = str(value["r"])
        return text if _parses(text) and text.lstrip("-")[:1].isdigit() else None
    numbers, dtype = value.get("values"), str(value.get("dtype"))
    if value.get("k") != "tensor" or (not _implied(dtype) and dtype not in _SPELLED):
        return None
    shape = [int(n) for n in value["shape"]]
    options = "" if _implied(dtype) else f", dtype={torch}.{dtype}"
    if (
        value.get("fill") in (0, 1)
        and not isinstance(value["fill"], bool)
        and shape
        and dtype in ("float32", *_SPELLED)
    ):
        return f"{torch}.{'ones' if value['fill'] else 'zeros'}({', '.join(map(str, shape))}{options})"
    if not numbers or any(isinstance(n, str) for n in numbers):
        return None
    texts = [repr(number) for number in numbers]
    return f"{torch}.tensor({_nested(texts, shape) if shape else texts[0]}{options})"


def _implied(dtype: str) -> bool:
    return dtype in ("float32", "int64", "bool", "complex64")


def _scalars(value: Description, torch: str, dtype: str, options: str) -> list[str]:
    numbers = value.get("values") or []
    plain = {"bool": ["True", "False"]}.get(dtype, ["1", "0"] if dtype in _INTEGERS else ["1.0", "0.0"])
    seen = _number(numbers[0], dtype) if len(numbers) == 1 else None
    if seen is not None and seen not in plain:
        plain = [seen, *plain] if dtype in _INTEGERS else [plain[0], seen, *plain[1:]]
    elif seen is not None:
        plain.remove(seen)
        plain.insert(0, seen)
    typed = _options(value, torch, dtype, dtype in ("float32", "int64", "bool"))
    return [f"{torch}.tensor({text}{typed})" for text in plain]


def _options(value: Description, torch: str, dtype: str, implied: bool = False) -> str:
    text = ""
    if dtype != "float32" and not implied:
        text += f", dtype={_PYTHON_DTYPES.get(dtype, f'{torch}.{dtype}')}"
    device = str(value.get("device", "cpu"))
    if device != "cpu":
        text += f", device={device.removesuffix(':0')!r}"
    if value.get("grad") and not value.get("levels"):
        text += ", requires_grad=True"
    return text


def _number(number: Any, dtype: str) -> str | None:
    if isinstance(number, str):
        return number if _parses(number) and number.replace(".", "").replace("-", "").isalnum() else None
    if isinstance(number, bool) or dtype == "bool":
        return str(bool(number))
    if isinstance(number, float) and not math.isfinite(number):
        return None
    if dtype in _INTEGERS:
        return str(int(number))
    if isinstance(number, int | float):
        short = float(f"{number:.3g}")
        return repr(short)
    return None


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    if len(shape) == 1:
        return f"[{', '.join(texts)}]"
    step = len(texts) // shape[0] if shape[0] else 0
    return f"[{', '.join(_nested(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))}]"
