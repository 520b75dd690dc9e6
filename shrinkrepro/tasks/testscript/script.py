"""Makes a plain script of one test: its module without pytest's marks, its fixtures' and parameters' values, the call.

Decision: values are written as a person would, by their text or their name; what has neither is taken from the
decorator that makes it, and what has no source at all is refused by name.
"""

from __future__ import annotations

import ast
import inspect
import math
import os
import sys
from typing import Any

from .trees import (
    bound,
    decorators,
    in_decorator,
    is_text,
    make_imports_absolute,
    rename,
    without_main,
    without_marks,
    without_unused_pytest,
)

_NAMESPACES = ("torch", "torch.nn", "torch.nn.functional", "torch.func", "torch.linalg", "torch.special", "torch.fft",
               "torch.autograd", "torch.optim", "math", "operator", "numpy", "builtins")  # fmt: skip
_BUILTIN_FIXTURES = {
    "tmp_path": "__import__('pathlib').Path(__import__('tempfile').mkdtemp())",
    "tmpdir": "__import__('pathlib').Path(__import__('tempfile').mkdtemp())",
    "monkeypatch": "__import__('pytest').MonkeyPatch()",
}
_SETUPS = ("setup_module", "setup_function")


class Unwritable(Exception):
    """The test cannot be written as a script; the message says what of it cannot."""


def script_of(item: Any) -> dict[str, Any]:
    """``source`` of the script for one test, and the ``folder`` that its imports start from.

    Raises:
        Unwritable: something of the test cannot be written down.
    """
    return _Script(item).build()


class _Script:
    """The parts of one script as they are put together."""

    def __init__(self, item: Any) -> None:
        self.item = item
        self.function: Any = getattr(item, "function", None)
        self.module: Any = getattr(item, "module", None)
        if self.function is None or self.module is None:
            raise Unwritable("it is no Python test function")
        if inspect.iscoroutinefunction(self.function):
            raise Unwritable("it is a coroutine")
        self.test_case = item.cls is not None and hasattr(item.cls, "debug")
        self.modules: dict[str, ast.Module] = {}  # file -> what the script takes of it
        self.renamed: dict[tuple[str, str], str] = {}  # (file, name) -> the name it got beside the others
        self.imports: set[str] = set()
        self.driver: list[str] = []
        self.names: dict[str, str] = {}  # fixture or parameter -> the expression that stands for it

    def build(self) -> dict[str, Any]:
        """Put the script together."""
        test = self._module(self.module)
        if self.test_case:
            self.driver.append(f"{self.item.cls.__name__}({self.item.originalname or self.item.name!r}).debug()")
        else:
            self._call()
        others = [tree for tree in self.modules.values() if tree is not test]
        docless = [statement for tree in [*others, test] for statement in tree.body if not is_text(statement)]
        futures = [s for s in docless if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        imports = [f"import {name}" for name in sorted(self.imports)]
        rest = [s for s in docless if s not in futures]
        tree = ast.Module([*futures[:1], *ast.parse("\n".join(imports)).body, *rest], [])
        tree.body += ast.parse("\n".join(self.driver)).body
        source = ast.unparse(ast.fix_missing_locations(without_unused_pytest(tree))) + "\n"
        return {"source": source, "folder": self._folder()}

    def _call(self) -> None:
        instance = ""
        for name in _SETUPS:
            setup = self.module.__dict__.get(name)
            if callable(setup):
                self.driver.append(f"{name}({'None' if _parameters(setup) else ''})")
        if self.item.cls is not None:
            instance = "instance"
            self.driver.append(f"instance = {self.item.cls.__qualname__}()")
            for name in ("setup_class", "setup_method"):
                setup = getattr(self.item.cls, name, None)
                if callable(setup):
                    needs = len(_parameters(setup)) > (0 if inspect.ismethod(setup) else 1)
                    self.driver.append(f"instance.{name}({'None' if needs else ''})")
        values = {name: value for name in self._closure() if (value := self._needed(name, instance)) is not None}
        wanted = [name for name in _parameters(self.function) if name != "self" or not instance]
        arguments = ", ".join(f"{name}={values[name]}" for name in wanted if name in values)
        called = f"{instance}.{self.function.__name__}" if instance else self.function.__name__
        self.driver.append(f"{called}({arguments})")

    def _needed(self, name: str, instance: str) -> str | None:
        """The expression for a fixture; None for one that nobody asked for by name and that cannot be written."""
        lines, names = len(self.driver), dict(self.names)
        try:
            return self._value(name, instance)
        except Unwritable:
            used = [str(one) for mark in self.item.iter_markers("usefixtures") for one in mark.args]
            if name in (*_parameters(self.function), *used):
                raise
            del self.driver[lines:]
            self.names = names
            return None

    def _closure(self) -> list[str]:
        """What the test asks for, or is given unasked, in the order in which pytest makes it."""
        asked = self.item._fixtureinfo.initialnames
        names = [name for name in self.item._fixtureinfo.names_closure if name in asked]
        return [name for name in names if name != "request" and (self._is_parameter(name) or self._definition(name))]

    def _definition(self, name: str, above: int = 0) -> Any:
        """The user's own definition of a fixture; what plug-ins bring in by themselves is nobody's need."""
        definitions = self.item._fixtureinfo.name2fixturedefs.get(name)
        if not definitions or above >= len(definitions):
            return None
        definition = definitions[-1 - above]
        if name in _BUILTIN_FIXTURES or _own(definition.func):
            return definition if not definition.func.__module__.startswith("_pytest.python") else None
        if name in _parameters(self.function):
            raise Unwritable(f"the fixture {name!r} comes from {definition.func.__module__}")
        return None

    def _is_parameter(self, name: str) -> bool:
        params = getattr(getattr(self.item, "callspec", None), "params", {})
        if name not in params:
            return False
        return not any(_own(d.func) for d in self.item._fixtureinfo.name2fixturedefs.get(name, ()))

    def _value(self, name: str, instance: str, above: int = 0) -> str:
        """The expression for a fixture or parameter; ``above``: how many overriding definitions stand before it."""
        key = f"{name}_base{above}" if above else name
        if key in self.names:
            return self.names[key]
        if self._is_parameter(name):
            self.names[key] = self._parameter(name)
            return self.names[key]
        definition = self._definition(name, above)
        if definition is None:
            raise Unwritable(f"the fixture {name!r} is not known")
        if name in _BUILTIN_FIXTURES:
            self.driver.append(f"{key}_value = {_BUILTIN_FIXTURES[name]}")
        else:
            self._fixture(name, key, definition.func, instance, above)
        self.names[key] = f"{key}_value"
        return self.names[key]

    def _fixture(self, name: str, key: str, function: Any, instance: str, above: int) -> None:
        function = inspect.unwrap(getattr(function, "__func__", function))
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise Unwritable(f"the fixture {name!r} is a coroutine")
        arguments = []
        parameters = _parameters(function)
        method = parameters[:1] == ["self"]
        for argument in parameters[1:] if method else parameters:
            if argument == "request":
                arguments.append(f"request={self._request(name)}")
            else:
                arguments.append(f"{argument}={self._value(argument, instance, above + 1 if argument == name else 0)}")
        called = f"{instance}.{function.__name__}"
        if not method:
            module = sys.modules[function.__module__]
            self._module(module)
            called = self.renamed.get((inspect.getsourcefile(module) or "", function.__name__), function.__name__)
        call = f"{called}({', '.join(arguments)})"
        if inspect.isgeneratorfunction(function):
            self.driver += [f"{key}_steps = {call}", f"{key}_value = next({key}_steps)"]
        else:
            self.driver.append(f"{key}_value = {call}")

    def _request(self, name: str) -> str:
        self.imports.add("types")
        params = getattr(getattr(self.item, "callspec", None), "params", {})
        return f"types.SimpleNamespace(param={self._parameter(name)})" if name in params else "types.SimpleNamespace()"

    def _parameter(self, name: str) -> str:
        value = self.item.callspec.params[name]
        written = self._literal(value)
        written = written if written is not None else self._by_name(value)
        written = written if written is not None else self._from_source(name, value)
        if written is None:
            raise Unwritable(f"the value of the parameter {name!r} cannot be written down: {value!r:.80}")
        return written

    def _literal(self, value: Any) -> str | None:
        """A value that its own text says, containers of such values too."""
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes, complex):
            return repr(value)
        if kind is float:
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        if kind in (tuple, list):
            inner = [self._literal(one) or self._by_name(one) for one in value]
            if None in inner:
                return None
            text = ", ".join(one for one in inner if one is not None)
            return f"[{text}]" if kind is list else f"({text}{',' if len(inner) == 1 else ''})"
        if kind is dict:
            pairs = [(self._literal(k), self._literal(v) or self._by_name(v)) for k, v in value.items()]
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}" if all(k and v for k, v in pairs) else None
        if f"{kind.__module__}.{kind.__name__}" in ("torch.dtype", "torch.layout", "torch.memory_format"):
            self.imports.add("torch")
            return repr(value)
        if f"{kind.__module__}.{kind.__name__}" == "torch.device":
            self.imports.add("torch")
            return f"torch.{'device'}({str(value)!r})"
        return None

    def _by_name(self, value: Any) -> str | None:
        """A function or class, by the name that the test's module or a library has for it."""
        if not callable(value):
            return None
        for name, other in self.module.__dict__.items():
            if other is value and not name.startswith("@"):
                return str(name)
        short = getattr(value, "__name__", None)
        for place in _NAMESPACES:
            module = sys.modules.get(place)
            if short and module is not None and getattr(module, short, None) is value:
                if place != "builtins":
                    self.imports.add(place)
                return short if place == "builtins" else f"{place}.{short}"
        return None

    def _from_source(self, name: str, value: Any) -> str | None:
        """The value by its place in the decorator that gives it."""
        fixtures = [d for d in self.item._fixtureinfo.name2fixturedefs.get(name, ()) if _own(d.func)]
        lists = [(d.func, d.params) for d in fixtures if d.params]
        for mark in self.item.iter_markers("parametrize"):
            given = [*mark.args, mark.kwargs.get("argnames"), mark.kwargs.get("argvalues")]
            names, values = [one for one in given if one is not None][:2]
            listed = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
            if name in listed and isinstance(values, (list, tuple)):
                position = listed.index(name)
                parts = [getattr(one, "values", one if len(listed) > 1 else (one,))[position] for one in values]
                lists += [(owner, parts) for owner in (self.function, self.item.cls) if owner is not None]
        for owner, parts in lists:
            index = next((k for k, one in enumerate(parts) if _unmarked(one) is value), None)
            for call in decorators(owner):
                found = in_decorator(call, name, index) if index is not None else None
                if found is not None:
                    return found
        return None

    def _module(self, module: Any) -> ast.Module:
        """What the script takes of a file; names that clash with those of an earlier file get a number."""
        file = inspect.getsourcefile(module) or ""
        if file not in self.modules:
            with open(file, encoding="utf-8-sig") as stream:
                tree = without_main(without_marks(ast.parse(stream.read())))
            make_imports_absolute(tree, module.__package__ or "")
            taken = set().union(*(bound(other.body) for other in self.modules.values())) if self.modules else set()
            for name in sorted(bound(tree.body) & taken):
                self.renamed[file, name] = f"{name}_{len(self.modules)}"
                rename(tree, name, self.renamed[file, name])
            self.modules[file] = tree
        return self.modules[file]

    def _folder(self) -> str:
        """The folder from which the module's own imports are found: where its top package or itself lies."""
        folder = os.path.dirname(os.path.abspath(str(inspect.getsourcefile(self.module))))
        while os.path.isfile(os.path.join(folder, "__init__.py")):
            folder = os.path.dirname(folder)
        for node in ast.walk(self._module(self.module)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in names:
                file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
                if file and _is_own_file(file):
                    where = os.path.dirname(os.path.abspath(str(file)))
                    return os.path.dirname(where) if os.path.basename(str(file)) == "__init__.py" else where
        return folder


def _unmarked(parameter: Any) -> Any:
    return parameter.values[0] if type(parameter).__name__ == "ParameterSet" else parameter


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _own(function: Any) -> bool:
    """Whether a function stands in the user's own code."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return False
    return bool(file) and _is_own_file(str(file))


def _is_own_file(file: str) -> bool:
    parts = os.path.abspath(file).split(os.sep)
    library = os.path.dirname(os.path.abspath(os.__file__))
    return not {"site-packages", "dist-packages"} & set(parts) and not os.path.abspath(file).startswith(
        library + os.sep
    )
