"""Callees: which function of the program a call reaches, and with what as its first argument.

Decision: what the observed run says comes first (it also knows what a variable held); without it only what the
text makes plain is told: a name with one definition, ``self`` in a class, a variable made by a class.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro_strategies.rewriting import FunctionNode

_FUNCTIONS = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Callee:
    """A function of the program. ``implicit`` is what its first parameter gets when that is not written."""

    path: Path
    node: FunctionNode
    implicit: ast.expr | None = None


class Classes:
    """The classes of a program: methods by name, bases, instances."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: dict[Path, ast.ClassDef] = dict(program.walk(ast.ClassDef))
        self.at_line: dict[int, Path] = {}
        definitions: list[tuple[Path, ast.FunctionDef | ast.ClassDef]] = [*program.walk(ast.FunctionDef)]
        for path, node in [*definitions, *self.nodes.items()]:
            for line in (node.lineno, *(d.lineno for d in node.decorator_list)):
                self.at_line.setdefault(line, path)
        lambdas: dict[int, list[Path]] = {}
        for path, function in program.walk(ast.Lambda):
            lambdas.setdefault(function.lineno, []).append(path)
        self.lambda_at = {line: paths[0] for line, paths in lambdas.items() if len(paths) == 1}

    def bases(self, path: Path) -> list[Path]:
        """The program's own classes among the bases of the class at ``path``."""
        found = []
        for i, base in enumerate(self.nodes[path].bases):
            if isinstance(base, ast.Name):
                binding = self.program.scopes.binding((*path, "bases", i))
                for definition in self.program.scopes.definitions.get(binding, []) if binding else []:
                    if definition in self.nodes and definition != path:
                        found.append(definition)
        return found

    def method(self, path: Path, name: str) -> Path | None:
        """The function that ``name`` is in the class at ``path`` or the first base that has it."""
        for i, statement in enumerate(self.nodes[path].body):
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return (*path, "body", i)
        for base in self.bases(path):
            found = self.method(base, name)
            if found is not None:
                return found
        return None

    def methods(self, path: Path) -> dict[str, Path]:
        """The class's own functions by name."""
        return {
            s.name: (*path, "body", i) for i, s in enumerate(self.nodes[path].body) if isinstance(s, ast.FunctionDef)
        }


_latest: list[Classes] = []


def classes(program: Program) -> Classes:
    """The classes of ``program``; those of the last program are remembered.

    By identity, because the nodes and paths of an equal program are other objects.
    """
    if not _latest or _latest[0].program is not program:
        _latest[:] = [Classes(program)]
    return _latest[0]


def decorators(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """The last names of a definition's decorators."""
    found = set()
    for decorator in node.decorator_list:
        plain = decorator.func if isinstance(decorator, ast.Call) else decorator
        found.add(plain.attr if isinstance(plain, ast.Attribute) else plain.id if isinstance(plain, ast.Name) else "?")
    return found


def definition_of(program: Program, path: Path) -> Path | None:
    """The one definition of the name at ``path``: a def, a class, an import's alias or the name that is assigned."""
    binding = program.scopes.binding(path)
    if binding is None:
        return None
    definitions = program.scopes.definitions.get(binding, [])
    return definitions[0] if len(definitions) == 1 else None


def assigned_value(program: Program, path: Path) -> Path | None:
    """The path of the value that the definition at ``path`` (a name in a plain assignment) gets."""
    node = program.node(path)
    if not isinstance(node, ast.Name):
        return None
    up, statement = program.parent(path)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return (*up, "value")
    if isinstance(statement, ast.AnnAssign) and statement.value is not None and path[-1] == "target":
        return (*up, "value")
    return None


def own_class(program: Program, path: Path) -> Path | None:
    """The class in whose method the name at ``path`` is the first parameter."""
    definition = definition_of(program, path)
    if definition is None or definition[-3:] != ("args", "args", 0):
        return None
    method = definition[:-3]
    if len(method) < 2 or method[-2] != "body":
        return None
    up, node = program.parent(method)
    function = program.node(method)
    if isinstance(node, ast.ClassDef) and isinstance(function, ast.FunctionDef):
        return None if "staticmethod" in decorators(function) else up
    return None


def class_of(program: Program, facts: Facts, path: Path) -> Path | None:
    """The program's own class of which the expression at ``path`` is an instance."""
    known = classes(program)
    fact = facts.of(path)
    if fact is not None:
        line = fact.value.get("line") if fact.kind in ("module", "object") else None
        found = known.at_line.get(line) if line is not None else None
        if found in known.nodes:
            return found
        if fact.kind not in ("object", "seq"):
            return None
    node = program.node(path)
    if isinstance(node, ast.Call):
        return class_called(program, facts, path)
    if isinstance(node, ast.Name):
        own = own_class(program, path)
        if own is not None:
            return own
        definition = definition_of(program, path)
        value = assigned_value(program, definition) if definition is not None else None
        if value is not None and isinstance(program.node(value), ast.Call):
            return class_called(program, facts, value)
    return None


def class_called(program: Program, facts: Facts, path: Path) -> Path | None:
    """The program's own class that the Call at ``path`` makes an instance of."""
    node = program.node(path)
    if not isinstance(node, ast.Call):
        return None
    known = classes(program)
    fact = facts.of((*path, "func"))
    if fact is not None and fact.kind == "type" and fact.value.get("line") is not None:
        found = known.at_line.get(int(fact.value["line"]))
        return found if found in known.nodes else None
    if isinstance(node.func, ast.Name):
        definition = definition_of(program, (*path, "func"))
        return definition if definition in known.nodes else None
    return None


def callee_of(program: Program, facts: Facts, path: Path) -> Callee | None:
    """The program's own function that the Call at ``path`` reaches."""
    node = program.node(path)
    if not isinstance(node, ast.Call):
        return None
    found = function_at(program, facts, (*path, "func"))
    return None if found is None or path[: len(found.path)] == found.path else found


def function_at(program: Program, facts: Facts, path: Path) -> Callee | None:
    """The program's own function that the expression at ``path`` is: a function, a method, a callable object."""
    node = program.node(path)
    assert isinstance(node, ast.expr)
    known = classes(program)
    fact = facts.of(path)
    if isinstance(node, ast.Lambda):
        return Callee(path, node)
    if (
        fact is not None
        and fact.kind == "function"
        and fact.value.get("line") is not None
        and _plain(program, facts, path)
    ):
        line = int(fact.value["line"])
        at = known.lambda_at.get(line) if fact.value.get("name") == "<lambda>" else known.at_line.get(line)
        if at is not None and isinstance(program.node(at), _FUNCTIONS):
            return _bound(program, facts, at, path)
    if isinstance(node, ast.Name):
        definition = definition_of(program, path)
        target = program.node(definition) if definition is not None else None
        if definition is not None and isinstance(target, ast.FunctionDef):
            return _bound(program, facts, definition, path)
        value = assigned_value(program, definition) if definition is not None else None
        assigned = program.node(value) if value is not None else None
        if value is not None and isinstance(assigned, ast.Lambda):
            return Callee(value, assigned)
    if isinstance(node, ast.Attribute):
        owner = class_of(program, facts, (*path, "value"))
        if is_super(node.value):
            within = program.enclosing(path, ast.ClassDef)
            above = known.bases(within[0]) if within is not None else []
            owner = above[0] if above else None
        method = known.method(owner, node.attr) if owner is not None else None
        if method is not None:
            return _bound(program, facts, method, path)
    owner = class_of(program, facts, path)
    if owner is not None:
        method = known.method(owner, "__call__") or known.method(owner, "forward")
        function = program.node(method) if method is not None else None
        if method is not None and isinstance(function, ast.FunctionDef):
            return Callee(method, function, node)
    return None


def _plain(program: Program, facts: Facts, path: Path) -> bool:
    """Whether the function seen at ``path`` is the program's own and not what a transform made of it."""
    node = program.node(path)
    if isinstance(node, ast.Call):
        return callee_of(program, facts, path) is not None
    if isinstance(node, ast.Name):
        definition = definition_of(program, path)
        value = assigned_value(program, definition) if definition is not None else None
        return value is None or value == path or _plain(program, facts, value)
    return True


def _bound(program: Program, facts: Facts, at: Path, path: Path) -> Callee | None:
    """The function at ``at`` as the expression at ``path`` means it: with its object when it is a method."""
    function = program.node(at)
    assert isinstance(function, _FUNCTIONS)
    if isinstance(function, ast.Lambda):
        return Callee(at, function)
    _, owner = program.parent(at)
    if not isinstance(owner, ast.ClassDef) or "staticmethod" in decorators(function):
        return Callee(at, function)
    node = program.node(path)
    if not isinstance(node, ast.Attribute):
        return None
    if "classmethod" in decorators(function):
        return Callee(at, function, ast.Name(owner.name, ast.Load()))
    if is_super(node.value):
        method = program.enclosing(path, ast.FunctionDef)
        first = method[1].args.args[:1] if method is not None else []
        return Callee(at, function, ast.Name(first[0].arg, ast.Load())) if first else None
    fact = facts.of((*path, "value"))
    by_class = isinstance(node.value, ast.Name) and definition_of(program, (*path, "value")) in classes(program).nodes
    if by_class or (fact is not None and fact.kind == "type"):
        return Callee(at, function)
    return Callee(at, function, node.value)


def is_super(node: ast.AST) -> bool:
    """Whether ``node`` is a call of ``super``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def in_progress(facts: Facts, path: Path) -> bool:
    """Whether the Call at ``path`` had begun and not ended when the failure was raised."""
    called, done = facts.of((*path, "func")), facts.of(path)
    return called is not None and (done is None or called.count > done.count)
