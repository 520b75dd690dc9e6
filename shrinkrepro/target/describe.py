"""Descriptions of values for ``core.facts``: short, bounded, and without running the user's code.

Decision: a description reads a value and never computes with it in the program's own context: tensors are
taken out of functorch's wrappers first, with the transform stack and all modes put aside.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from shrinkrepro.target.module_text import constructor_text

ITEMS = 8  # of a container or of a tensor's values
TEXT_CHARS = 200  # a longer str, bytes or int is only an object
FILL_ELEMENTS = 65_536  # larger tensors are not searched for a single fill value
DEPTH = 3
DEEPEST = 8  # wrappers around a compiler's backend

Description = Dict[str, Any]


class Describer:
    """Describes values of one program; ``path`` is its file, ``class_lines`` where its classes stand."""

    def __init__(self, path: str, class_lines: Dict[str, int]) -> None:
        import torch

        self.torch: Any = torch
        self.path = path
        self.class_lines = class_lines
        self.constants = (torch.dtype, torch.layout, torch.memory_format)
        self.transforms = _inner_code(torch)

    def __call__(self, value: Any, depth: int = DEPTH) -> Description:
        """The description of ``value``."""
        text = self.source_text(value)
        if text is not None:
            return {"k": "const", "r": text}
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        kind = type(value)
        if isinstance(value, (tuple, list, set, frozenset)):
            items = [self(item, depth - 1) for item in list(value)[:ITEMS]] if depth else []
            return {"k": "seq", "t": kind.__name__, "items": items, "len": len(value)}
        if kind is dict or kind.__name__ in ("OrderedDict", "defaultdict"):
            pairs = list(value.items())[:ITEMS] if depth else []
            described = [[self(k, 1), self(v, depth - 1)] for k, v in pairs]
            return {"k": "dict", "items": described, "len": len(value)}
        if isinstance(value, torch.nn.Module):
            return {
                "k": "module",
                "cls": _class_name(kind),
                "r": constructor_text(value, self.source_text),
                "line": self.class_line(kind),
            }
        if isinstance(value, type):
            return {"k": "type", "name": _class_name(value), "line": self.class_line(value)}
        if isinstance(value, _FUNCTIONS):
            return self.function(value, depth)
        return {"k": "object", "cls": _class_name(kind), "line": self.class_line(kind)}

    def source_text(self, value: Any) -> Optional[str]:
        """Source for a value that is a constant; else None."""
        kind = type(value)
        if value is None or kind is bool or value is Ellipsis:
            return "..." if value is Ellipsis else repr(value)
        if kind in (int, str, bytes):
            text = repr(value) if kind is int or len(value) <= TEXT_CHARS else ""
            return text if 0 < len(text) <= TEXT_CHARS else None
        if kind is float:
            return repr(value) if value - value == 0 else 'float("%r")' % value
        if kind is complex:
            return repr(value) if value - value == 0 else None
        if isinstance(value, self.constants):
            return str(value)
        if kind is self.torch.device:
            return 'torch.device("%s")' % value
        if kind is self.torch.Size:
            return "torch.Size(%r)" % list(value) if all(type(n) is int for n in value) else None
        if kind is slice:
            parts = [self.source_text(part) for part in (value.start, value.stop, value.step)]
            return None if None in parts else "slice(%s)" % ", ".join(str(p) for p in parts)
        return None

    def tensor(self, value: Any) -> Description:
        """The description of a tensor, as the program sees it."""
        torch = self.torch
        with torch._C.DisableTorchFunction():
            fact: Description = {
                "k": "tensor",
                "shape": [int(n) if type(n) is int else -1 for n in value.shape],
                "dtype": str(value.dtype).partition(".")[2],
                "device": str(value.device),
                "grad": _try(lambda: bool(value.requires_grad), False),
                "layout": _try(lambda: str(value.layout).partition(".")[2], "strided"),
                "cls": type(value).__name__,
            }
            fact["contiguous"] = _try(lambda: bool(value.is_contiguous()), True) if _is_strided(fact) else False
        fact["levels"], fact["values"], fact["fill"] = 0, None, None
        with contextlib.suppress(Exception):
            self._values(value, fact)
        return fact

    def _values(self, value: Any, fact: Description) -> None:
        torch = self.torch
        if (
            not _is_strided(fact)
            or fact["device"] == "meta"
            or type(value).__name__ in ("FakeTensor", "FunctionalTensor")
        ):
            return
        with torch._C.DisableTorchFunction(), torch.no_grad(), _no_modes(torch), _no_levels():
            inner = value
            functorch = torch._C._functorch
            while _is_wrapped(functorch, inner):
                fact["levels"] += 1
                dim = functorch.maybe_get_bdim(inner) if functorch.is_batchedtensor(inner) else -1
                inner = functorch.get_unwrapped(inner)
                if dim >= 0 and inner.shape[dim]:
                    inner = inner.select(dim, 0)
            count = inner.numel()
            if type(inner) not in (torch.Tensor, torch.nn.Parameter) or count == 0 or count > FILL_ELEMENTS:
                return
            flat = inner.detach().reshape(-1)
            first = flat[0]
            if bool((flat == first).all()):
                fact["fill"] = _number(first.item())
            if count <= ITEMS:
                fact["values"] = [_number(v) for v in flat.tolist()]
            else:
                fact["head"] = [_number(v) for v in flat[:ITEMS].tolist()]

    def function(self, value: Any, depth: int = DEPTH) -> Description:
        """The description of something that is called."""
        return {**self._called(value, depth), **self._made(value, depth)}

    def _made(self, value: Any, depth: int) -> Description:
        """Of what a transform made: its name and options, and what it was made of."""
        code = getattr(value, "__code__", None)
        if not isinstance(code, types.CodeType) or not code.co_freevars:
            return {}
        name = self.transforms.get(code)
        compiled = name is None and code.co_filename.endswith(_COMPILER)
        if name is None and not compiled:
            return {}
        held = dict(_held(value, DEEPEST + DEEPEST))
        if compiled:
            return self._compiled(held.get("fn"), held.get("self"), depth)
        words = []
        for option, usual in _OPTIONS.items():
            text = self._plain_text(held[option]) if option in held else usual
            if text is None or "func" not in held:
                return {}
            if text != usual:
                words.append("%s=%s" % (option, text))
        return {"made": [name, ", ".join(words)], "of": self(held["func"], depth)}

    def _compiled(self, function: Any, context: Any, depth: int) -> Description:
        """Of what torch.compile made of ``function``, where its backend has a name."""
        backend = getattr(context, "callback", None)
        for _ in range(DEEPEST):
            backend = getattr(backend, "_torchdynamo_orig_backend", backend)
        name = getattr(backend, "compiler_name", None)
        if function is None or not isinstance(name, str) or not name.isidentifier():
            return {}
        words = ['backend="%s"' % name] if name != "inductor" else []
        words += ["fullgraph=True"] if getattr(context, "fullgraph", False) else []
        return {"made": ["compile", ", ".join(words)], "of": self(function, depth)}

    def _plain_text(self, value: Any) -> Optional[str]:
        """Source for an option of a transform: a constant, or a tuple or list of such."""
        if type(value) not in (tuple, list):
            return self.source_text(value)
        inner = [self._plain_text(item) for item in value]
        if None in inner:
            return None
        text = ", ".join(str(item) for item in inner)
        return "[%s]" % text if type(value) is list else "(%s%s)" % (text, "," if len(value) == 1 else "")

    def _called(self, value: Any, depth: int) -> Description:
        line = None
        inner = getattr(value, "__wrapped__", value)
        code = getattr(getattr(inner, "__func__", inner), "__code__", None)
        if code is not None and code.co_filename == self.path:
            line = code.co_firstlineno
        owner = getattr(value, "__self__", None)
        name = str(getattr(value, "__name__", type(value).__name__))
        if line is None and isinstance(owner, type):
            line = self.class_line(owner)
        torch = self.torch
        if isinstance(owner, torch.Tensor):
            name = "torch.Tensor." + name
        elif type(owner).__name__ == "type" and getattr(owner, "__name__", "") == "_VariableFunctionsClass":
            name = "torch." + name
        elif line is None:
            module = getattr(value, "__module__", None)
            if isinstance(owner, types.ModuleType):
                module = owner.__name__
            if module is None and getattr(torch, name, None) is value:
                module = "torch"
            name = "%s.%s" % (module, name) if module not in (None, "builtins", "__main__") else name
        found: Description = {"k": "function", "name": name, "line": line}
        if line is not None and isinstance(value, types.MethodType):
            found["owner"] = self.class_line(owner if isinstance(owner, type) else type(owner))
        elif line is not None and inner is value and depth > 0:
            free = {name: self(held, depth - 1) for name, held in _held(value, ITEMS)}
            found.update({"free": free} if free else {})
        return found

    def class_line(self, cls: type) -> Optional[int]:
        """The line of the program's class statement that made ``cls``."""
        if cls.__module__ != "__main__":
            return None
        return self.class_lines.get(cls.__qualname__)


_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


# What makes a function of a function, and the options of these that may be left out, with their usual values.
_MAKERS = ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd")
_OPTIONS = {"in_dims": "0", "out_dims": "0", "argnums": "0", "has_aux": "False", "chunk_size": "None"}
_OPTIONS["randomness"] = "'error'"
_COMPILER = ("torch/_dynamo/eval_frame.py", "torch\\_dynamo\\eval_frame.py")


def _inner_code(torch: Any) -> Dict[Any, str]:
    """The transform that makes functions of each code object."""
    found: Dict[Any, str] = {}
    for name in _MAKERS:
        code = getattr(getattr(torch.func, name, None), "__code__", None)
        inner: List[Any] = [c for c in getattr(code, "co_consts", ()) if isinstance(c, types.CodeType)]
        found.update((c, name) for c in inner if "func" in c.co_freevars)
    return found


def _held(function: Any, most: int) -> Iterator[Tuple[str, Any]]:
    """The names that ``function`` reads from the functions around it, with their values; those that are set."""
    for name, cell in list(zip(function.__code__.co_freevars, function.__closure__ or ()))[:most]:
        with contextlib.suppress(ValueError):  # not set yet
            yield name, cell.cell_contents


def _class_name(cls: type) -> str:
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", "__main__") else "%s.%s" % (module, cls.__qualname__)


def _number(value: Any) -> Any:
    """A number as JSON can hold it; complex and non-finite ones as their text."""
    if isinstance(value, complex) or (isinstance(value, float) and value - value != 0):
        return repr(value)
    return value


def _is_strided(fact: Description) -> bool:
    return bool(fact["layout"] == "strided")


def _is_wrapped(functorch: Any, value: Any) -> bool:
    check = getattr(functorch, "is_functorch_wrapped_tensor", None)
    if check is not None:
        return bool(check(value))
    return bool(functorch.is_batchedtensor(value) or functorch.is_gradtrackingtensor(value))


@contextlib.contextmanager
def _no_levels() -> Iterator[None]:
    """Put functorch's interpreter stack aside, where this torch can."""
    from torch._functorch import pyfunctorch

    clear = getattr(pyfunctorch, "temporarily_clear_interpreter_stack", None)
    if clear is None or pyfunctorch.retrieve_current_functorch_interpreter is None:
        yield
        return
    import torch

    if torch._C._functorch.peek_interpreter_stack() is None:
        yield
        return
    with clear():
        yield


@contextlib.contextmanager
def _no_modes(torch: Any) -> Iterator[None]:
    """Switch dispatch modes off, where there are any."""
    if not torch._C._len_torch_dispatch_stack():
        yield
        return
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        yield


def _try(read: Callable[[], Any], default: Any) -> Any:
    try:
        return read()
    except Exception:
        return default
