"""Provenance: which expressions get their value out of a transform, a compiled function or a Function of the user's.

Decision: where a check compares two numbers, a literal for one that a transform made would leave a comparison of
constants; so such values keep the code that makes them, and only what feeds that code becomes literal. By names
alone, too much rather than too little.
"""

from __future__ import annotations

import ast

from shrinkrepro.core.edits import Path
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro_strategies import calls

_SPECIAL = (
    "torch.compile",
    "torch.autograd.grad",
    "torch.autocast",
    "torch.autograd.forward_ad",
    "torch.utils.checkpoint",
)

_FILLING = ("append", "extend", "insert", "add", "update", "setdefault")


class Provenance:
    """Answers for one program; every answer is computed once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names: dict[Binding, bool] = {}
        self._attributes: dict[str, bool] = {}
        self._stores: dict[str, list[Path]] = {}
        for path, node in program.walk(ast.Attribute, ast.FunctionDef):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self._stores.setdefault(node.attr, []).append(program.statement_of(path)[0])
            elif isinstance(node, ast.FunctionDef) and isinstance(program.parent(path)[1], ast.ClassDef):
                self._stores.setdefault(node.name, []).append(path)

    def transformed(self, path: Path) -> bool:
        """Whether what the node at ``path`` gives (or sets) comes out of a transform."""
        program = self._program
        for node in ast.walk(program.node(path)):
            if isinstance(node, ast.Name):
                binding = program.scopes.binding(program.paths[id(node)])
                if binding is not None and self._name(binding):
                    return True
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                if node.attr in ("backward", "grad", "apply") or self._attribute(node.attr):
                    return True
                if self._is_special(calls.library_name(program, program.paths[id(node)])):
                    return True
        return False

    def keep_reference(self) -> None:
        """Count every variable but those that a transform's inputs come from: what is compared with stays code.

        So do the parameters of functions that no transform enters: ``(f(x + eps) - f(x - eps)) / (2 * eps)`` is what
        a gradient is compared with.
        """
        program = self._program
        inputs: set[Binding] = set()
        for path, node in program.walk(ast.Call):
            if self.transformed((*path, "func")):
                for argument in (*node.args, *(word.value for word in node.keywords)):
                    inputs |= self._bindings(argument)
        fresh = inputs
        while fresh:
            fresh = set().union(*map(self._sources, fresh)) - inputs
            inputs |= fresh
        for binding, places in program.scopes.definitions.items():
            if binding not in inputs and all(isinstance(program.node(p), ast.Name) for p in places):
                self._names[binding] = True
        entered = self._entered(inputs)
        for path, function in program.walk(ast.FunctionDef):
            if isinstance(program.parent(path)[1], ast.ClassDef) or program.scopes.binding(path) in entered:
                continue
            for k in range(len(function.args.args)):
                parameter = program.scopes.binding((*path, "args", "args", k))
                if parameter is not None and parameter not in inputs:
                    self._names[parameter] = True

    def _entered(self, inputs: set[Binding]) -> set[Binding]:
        """The ``inputs`` and all that the bodies of the functions among them read, and so on."""
        program = self._program
        entered, fresh = set(inputs), set(inputs)
        while fresh:
            found: set[Binding] = set()
            for binding in fresh:
                for definition in program.scopes.definitions.get(binding, []):
                    node = program.node(definition)
                    if isinstance(node, ast.Name):
                        node = getattr(program.statement_of(definition)[1], "value", None) or node
                    found |= self._bindings(node)
            fresh = found - entered
            entered |= fresh
        return entered

    def _bindings(self, node: ast.AST) -> set[Binding]:
        """What the names in ``node`` are bound to."""
        found = (self._program.scopes.binding(self._program.paths.get(id(below), ())) for below in ast.walk(node))
        return {binding for binding in found if binding is not None}

    def _sources(self, binding: Binding) -> set[Binding]:
        """What the values that a variable is given are made of, the variables of comprehensions among them."""
        program = self._program
        found: set[Binding] = set()
        for definition in program.scopes.definitions.get(binding, []):
            if isinstance(program.node(definition), ast.Name):
                _, statement = program.statement_of(definition)
                value = getattr(statement, "value", getattr(statement, "iter", None))
                if isinstance(value, ast.expr) and not self.transformed(program.paths[id(value)]):
                    found |= self._bindings(value)
        return found

    def _is_special(self, full: str | None) -> bool:
        if full is None:
            return False
        special = calls.transform_name(full) or calls.functional_name(full)
        return special is not None or full.startswith(_SPECIAL)

    def _name(self, binding: Binding) -> bool:
        if binding in self._names:
            return self._names[binding]
        self._names[binding] = False  # a cycle alone brings no transform in
        program = self._program
        for definition in program.scopes.definitions.get(binding, []):
            node = program.node(definition)
            if isinstance(node, ast.alias):
                found = self._is_special(calls.imported_as(program, definition))
            elif isinstance(node, ast.arg):
                found = False
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found = self.transformed(definition)
            else:
                _, statement = program.statement_of(definition)
                value = getattr(statement, "value", getattr(statement, "iter", None))
                found = isinstance(value, ast.expr) and self.transformed(program.paths[id(value)])
            if found:
                self._names[binding] = True
                return True
        if any(self._filled(use) for use in program.scopes.uses.get(binding, ())):
            self._names[binding] = True
        return self._names[binding]

    def _filled(self, use: Path) -> bool:
        """Whether the statement at ``use`` puts something that a transform made into the container there."""
        at, statement = self._program.statement_of(use)
        if isinstance(statement, ast.Expr) and use == (*at, "value", "func", "value"):
            call = statement.value
            method = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
            return method in _FILLING and any(
                self.transformed((*at, "value", "args", k)) for k in range(len(getattr(call, "args", ())))
            )
        filled = isinstance(statement, ast.Assign) and use == (*at, "targets", 0, "value")
        return filled and self.transformed((*at, "value"))

    def _attribute(self, name: str) -> bool:
        if name in self._attributes:
            return self._attributes[name]
        self._attributes[name] = False
        found = any(self.transformed(path) for path in self._stores.get(name, ()))
        self._attributes[name] = found
        return found
