"""What a function can reach: its tensors, the containers that it may change, and the names its code uses.

Decision: a bounded walk through closures, globals that the code names, attributes and containers; the library's own
objects end it. What lies further is neither put back after a second run nor known.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Dict, Iterator, List, Set

import torch

from shrinkrepro.target import raised

OBJECTS = 4000  # looked at in one walk


class Reach:
    """What ``roots`` can reach."""

    def __init__(self, roots: Any) -> None:
        self.tensors: List[Any] = []
        self.containers: List[Any] = []  # lists and dicts, those of objects among them
        self.names: Set[str] = set()  # that the program's own code uses
        self.functions: List[type] = []  # autograd.Functions of the program's own
        seen: Set[int] = set()
        waiting: List[Any] = [roots]
        while waiting and len(seen) < OBJECTS:
            value = waiting.pop()
            if id(value) in seen or value is None or isinstance(value, (str, bytes, int, float, complex)):
                continue
            seen.add(id(value))
            try:
                waiting.extend(self._inside(value))
            except Exception:  # an object of the program's that cannot be looked at
                continue

    def _inside(self, value: Any) -> Iterator[Any]:
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
        elif isinstance(value, functools.partial):
            yield from (value.func, value.args, value.keywords)
        elif isinstance(value, types.MethodType):
            yield from (value.__func__, value.__self__)
        elif isinstance(value, types.FunctionType):
            yield from self._of_function(value)
        elif isinstance(value, type):
            yield from self._of_class(value)
        elif isinstance(value, types.ModuleType):
            return
        elif type(value) in (tuple, set, frozenset):
            yield from value
        elif isinstance(value, list):
            self.containers.append(value)
            yield from value
        elif isinstance(value, dict):
            self.containers.append(value)
            yield from value.values()
        elif isinstance(getattr(value, "__dict__", None), dict):
            yield type(value)
            if isinstance(value, torch.nn.Module) or is_own(type(value)):
                self.containers.append(value.__dict__)
                yield from value.__dict__.values()

    def _of_function(self, function: types.FunctionType) -> Iterator[Any]:
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not bound yet
                continue
        yield from (function.__defaults__, function.__kwdefaults__)
        if not _is_own_file(function.__code__.co_filename):
            return
        for name in names_of(function.__code__):
            self.names.add(name)
            if name in function.__globals__:
                yield function.__globals__[name]

    def _of_class(self, cls: type) -> Iterator[Any]:
        if not is_own(cls):
            return
        if issubclass(cls, torch.autograd.Function):
            self.functions.append(cls)
        for base in cls.__mro__:
            if is_own(base):
                for member in vars(base).values():
                    member = getattr(member, "__func__", getattr(member, "fget", member))
                    if isinstance(member, types.FunctionType):
                        yield member


def names_of(code: types.CodeType) -> Iterator[str]:
    """The global and attribute names that ``code`` uses, and the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)


def is_own(cls: type) -> bool:
    """Whether ``cls`` is a class of the program's or its local modules', not of a library's."""
    if cls.__module__ == "__main__":
        return True
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return bool(file) and cls.__module__ != "__preload__" and _is_own_file(str(file))


@functools.lru_cache(maxsize=None)
def _is_own_file(file: str) -> bool:
    return not raised.place(file)[1]


class State:
    """The values that ``reach`` holds now, to be put back: tensors, containers, random numbers."""

    def __init__(self, reach: Reach, elements: int = 20_000_000) -> None:
        self._reach = reach
        self._containers: List[Any] = [c.copy() for c in reach.containers]
        self._tensors: Dict[int, Any] = {}
        with torch.no_grad():
            for number, tensor in enumerate(reach.tensors):
                elements -= tensor.numel() if tensor.layout is torch.strided else elements + 1
                if elements >= 0:
                    self._tensors[number] = tensor.detach().clone()
        self._random = _random_state()

    def restore(self) -> None:
        """Put the values back."""
        for container, saved in zip(self._reach.containers, self._containers):
            if not _same(container, saved):
                if isinstance(container, list):
                    container[:] = saved
                else:
                    container.clear()
                    container.update(saved)
        for number, saved in self._tensors.items():
            tensor = self._reach.tensors[number]
            if not torch.equal(tensor.detach(), saved):  # kernels change buffers without a new version
                with torch.no_grad():
                    tensor.data.copy_(saved)  # past the version counter, which graphs look at
        self.restore_random()

    def restore_random(self) -> None:
        """Put the random generators back."""
        _set_random_state(self._random)

    def drew(self) -> bool:
        """Whether torch's generator has moved since."""
        return not torch.equal(torch.default_generator.get_state(), self._random[0])


def _random_state() -> Any:
    import random

    numpy_random = sys.modules.get("numpy.random")
    return (
        torch.default_generator.get_state(),
        random.getstate(),
        numpy_random.get_state() if numpy_random is not None else None,
        torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None,
    )


def _set_random_state(state: Any) -> None:
    import random

    torch.default_generator.set_state(state[0])
    random.setstate(state[1])
    if state[2] is not None:
        sys.modules["numpy.random"].set_state(state[2])
    if state[3] is not None:
        torch.cuda.set_rng_state_all(state[3])


def _same(container: Any, saved: Any) -> bool:
    if len(container) != len(saved):
        return False
    if isinstance(container, list):
        return all(a is b for a, b in zip(container, saved))
    return all(key in container and container[key] is value for key, value in saved.items())
