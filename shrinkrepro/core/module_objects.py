"""Objects that stand for folded modules where a program uses a module as a value.

Decision: a module that is only looked at becomes a ``types.SimpleNamespace`` of its variables; one that may be
changed or kept becomes a module object whose attributes *are* the variables of the folded file.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from shrinkrepro.core.folded_names import FoldedNames
from shrinkrepro.core.import_graph import ImportGraph, LocalModule, ModuleValue, Symbol

_CLASS = """
import types
class FoldedModule(types.ModuleType):
    def __getattr__(self, name):
        variables = self.__dict__["__variables__"]
        if variables.get(name) not in globals():
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return globals()[variables[name]]
    def __setattr__(self, name, value):
        globals()[self.__dict__["__variables__"].setdefault(name, f"{self.__name__}.{name}")] = value
    def __delattr__(self, name):
        del globals()[self.__dict__["__variables__"][name]]
    def __dir__(self):
        return sorted(self.__dict__["__variables__"])
"""
TYPES = Symbol("", "types=types")
CLASS = Symbol("", "FoldedModule=class of folded modules")


def symbol_of(module: str) -> Symbol:
    """The variable that holds the object of ``module``."""
    return Symbol("", f"{module.rpartition('.')[2]}=module {module}")


def module_class(names: FoldedNames) -> list[ast.stmt]:
    """The class of live module objects, with the import that it needs."""
    types, cls = names.of(TYPES), names.of(CLASS)
    text = _CLASS.replace("types.ModuleType", f"{types}.ModuleType").replace("FoldedModule", cls)
    return ast.parse(
        text.replace("import types", "import types" if types == "types" else f"import types as {types}")
    ).body


def module_object(
    graph: ImportGraph, module: LocalModule, names: FoldedNames, kind: str, objects: Mapping[str, str]
) -> list[ast.stmt]:
    """The statements that make the object of ``module``: ``kind`` is "read" or "live"."""
    variables: dict[str, str] = {}
    attributes = [*module.top.bound]
    attributes += [n.rpartition(".")[2] for n in graph.modules if n.rpartition(".")[0] == module.name]
    for attribute in attributes:
        meaning = graph.attribute(module.name, attribute)
        if isinstance(meaning, Symbol):
            variables[attribute] = names.of(meaning)
        elif isinstance(meaning, ModuleValue) and meaning.module in objects:
            variables[attribute] = names.of(symbol_of(meaning.module))
    final = names.of(symbol_of(module.name))
    if kind == "read":
        types = names.of(TYPES)
        fields = ", ".join(f"{attribute}={variable}" for attribute, variable in variables.items())
        text = f"import types as {types}\n" if types != "types" else "import types\n"
        return ast.parse(f"{text}{final} = {types}.SimpleNamespace({fields})").body
    text = f"{final} = {names.of(CLASS)}({module.name!r})\n{final}.__dict__['__variables__'] = {variables!r}"
    return ast.parse(text).body
