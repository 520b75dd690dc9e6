"""What a function can reach: its tensors, the containers that it may change, and the names its code uses.

Decision: a bounded walk through closures, globals that the code names, attributes and containers; the library's own
objects end it. What lies further is neither put back after a second run nor known.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple

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
        self.generators: List[Any] = []
        self.globals: List[Tuple[Dict[str, Any], str]] = []  # that the program's own code names
        self.cells: List[Any] = []
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
        elif isinstance(value, torch.Generator):
            self.generators.append(value)
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
                self.cells.append(cell)
            except ValueError:  # not bound yet
                continue
        yield from (function.__defaults__, function.__kwdefaults__)
        if not _is_own_file(function.__code__.co_filename):
            return
        for name in names_of(function.__code__):
            self.names.add(name)
            if name in function.__globals__:
                self.globals.append((function.__globals__, name))
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
    """The values that ``reach`` holds now, to be put back: tensors, containers, names, random numbers."""

    def __init__(self, reach: Reach, elements: int = 20_000_000) -> None:
        self._reach = reach
        self._containers: List[Any] = [c.copy() for c in reach.containers]
        self._globals = [space.get(name, _ABSENT) for space, name in reach.globals]
        self._cells = [cell.cell_contents for cell in reach.cells]
        self._tensors: Dict[int, Any] = {}
        with torch.no_grad():
            for number, tensor in enumerate(reach.tensors):
                elements -= tensor.numel() if tensor.layout is torch.strided else elements + 1
                if elements >= 0:
                    self._tensors[number] = tensor.detach().clone()
        self._random = _random_state(reach.generators)

    def restore(self) -> None:
        """Put the values back."""
        for container, saved in zip(self._reach.containers, self._containers):
            if not _same(container, saved):
                if isinstance(container, list):
                    container[:] = saved
                else:
                    container.clear()
                    container.update(saved)
        for (space, name), value in zip(self._reach.globals, self._globals):
            if value is not _ABSENT and space.get(name, _ABSENT) is not value:
                space[name] = value
        for cell, value in zip(self._reach.cells, self._cells):
            if cell.cell_contents is not value:
                cell.cell_contents = value
        for number, saved in self._tensors.items():
            tensor = self._reach.tensors[number]
            if not torch.equal(tensor.detach(), saved):  # kernels change buffers without a new version
                with torch.no_grad():
                    tensor.data.copy_(saved)  # past the version counter, which graphs look at
        _set_random_state(self._random, self._reach.generators)

    def drew(self) -> bool:
        """Whether random numbers were drawn since."""
        return not _same_random(_random_state(self._reach.generators), self._random)

    def counted(self) -> bool:
        """Whether the program has changed a number since that its function can reach, such as a counter."""
        pairs = [(saved, space.get(name)) for saved, (space, name) in zip(self._globals, self._reach.globals)]
        pairs += [(saved, cell.cell_contents) for saved, cell in zip(self._cells, self._reach.cells)]
        for container, saved in zip(self._reach.containers, self._containers):
            if isinstance(container, list):
                if len(container) != len(saved):
                    return True
                pairs += zip(saved, container)
            else:
                pairs += [(value, container.get(key)) for key, value in saved.items()]
        return any(isinstance(before, (int, float)) and before is not now and before != now for before, now in pairs)


_ABSENT = object()


def _random_state(generators: Sequence[Any]) -> Any:
    import random

    numpy_random = sys.modules.get("numpy.random")
    return (
        [torch.default_generator.get_state(), *(generator.get_state() for generator in generators)],
        random.getstate(),
        numpy_random.get_state() if numpy_random is not None else None,
        torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
    )


def _set_random_state(state: Any, generators: Sequence[Any]) -> None:
    import random

    for generator, saved in zip([torch.default_generator, *generators], state[0]):
        generator.set_state(saved)
    random.setstate(state[1])
    if state[2] is not None:
        sys.modules["numpy.random"].set_state(state[2])
    if state[3]:
        torch.cuda.set_rng_state_all(state[3])


def _same_random(one: Any, other: Any) -> bool:
    tensors = zip([*one[0], *one[3]], [*other[0], *other[3]])
    same = all(torch.equal(a, b) for a, b in tensors) and one[1] == other[1]
    if one[2] is None or other[2] is None:  # numpy was imported in between
        return same
    return same and one[2][1].tobytes() == other[2][1].tobytes() and one[2][2:] == other[2][2:]


def _same(container: Any, saved: Any) -> bool:
    if len(container) != len(saved):
        return False
    if isinstance(container, list):
        return all(a is b for a, b in zip(container, saved))
    return all(key in container and container[key] is value for key, value in saved.items())
