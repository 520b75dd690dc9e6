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


def object_variables(
    graph: ImportGraph, module: LocalModule, names: FoldedNames, objects: Mapping[str, str]
) -> dict[str, str]:
    """The attributes of the object of ``module`` and the variables of the folded file that they are."""
    variables: dict[str, str] = {}
    for attribute in graph.attributes(module.name):
        meaning = graph.attribute(module.name, attribute)
        if isinstance(meaning, Symbol):
            variables[attribute] = names.of(meaning)
        elif isinstance(meaning, ModuleValue) and meaning.module in objects:
            variables[attribute] = names.of(symbol_of(meaning.module))
    return variables


def module_object(module: str, variables: Mapping[str, str], names: FoldedNames, kind: str) -> list[ast.stmt]:
    """The statements that make the object of ``module``: ``kind`` is "read" or "live"."""
    final = names.of(symbol_of(module))
    if kind == "read":
        types = names.of(TYPES)
        fields = ", ".join(f"{attribute}={variable}" for attribute, variable in variables.items())
        text = f"import types as {types}\n" if types != "types" else "import types\n"
        return ast.parse(f"{text}{final} = {types}.SimpleNamespace({fields})").body
    text = f"{final} = {names.of(CLASS)}({module!r})\n{final}.__dict__['__variables__'] = {dict(variables)!r}"
    return ast.parse(text).body


def object_kind(graph: ImportGraph, module: str, wanted: str) -> str:
    """``wanted``, but "live" where a snapshot of the variables at the module's end would not do."""
    top = graph.modules[module].top
    certain: set[str] = set()
    for statement in graph.modules[module].tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        certain.update(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            certain.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            certain.update(name for name, bound in top.bound.items() if any(b.statement is statement for b in bound))
    steady = all(name in certain and (module, name) not in graph.rebound for name in top.bound)
    plain = all(isinstance(graph.attribute(module, name), Symbol) for name in graph.attributes(module))
    return wanted if steady and plain else "live"
