"""Modules that are called with other parameters: ``functional_call`` of a class of the program's own.

Decision: such a module is a function of its parameters and inputs already, so it is written as one; the parameters that
``forward`` reads from ``self`` are what the call gives under their names.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping

from shrinkrepro.core.edits import Change, Edit, Path, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.blocks import with_values
from shrinkrepro_strategies.callees import class_of, classes
from shrinkrepro_strategies.slices import Slicer

_NAMES = ("f", "g", "h", "fn", "forward")


@strategy("inline-functional-call", tier=Tier.MEDIUM)
def inline_functional_call(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put what ``forward`` computes, or a function, for a module that is called with other parameters.

    Example: ``functional_call(Net(), {"w": w}, (x,))`` with ``return self.w * x`` -> ``w * x``; where ``forward`` has
    more statements, the class becomes a function of the parameters and the inputs.
    """
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call):
        full = calls.callee(program, path) or ""
        if full.rpartition(".")[2] != "functional_call" or len(node.args) != 3 or node.keywords:
            continue
        owner = class_of(program, facts, (*path, "args", 0))
        method = classes(program).method(owner, "forward") if owner is not None else None
        forward = program.node(method) if method is not None else None
        inputs = list(node.args[2].elts) if isinstance(node.args[2], ast.Tuple) else [node.args[2]]
        if owner is None or not isinstance(forward, ast.FunctionDef) or not _fits(forward, inputs):
            continue
        own, *names = [parameter.arg for parameter in forward.args.args]
        module = {own: node.args[0]} if isinstance(node.args[0], ast.Name) else {}
        last = forward.body[-1]
        given = dict(_entries(facts, path, node.args[1], node.args[1]))
        if len(forward.body) == 1 and isinstance(last, ast.Return | ast.Expr) and last.value is not None and given:
            value = _Parameters(own, given).visit(copy.deepcopy(last.value))
            value = with_values(value, {**module, **dict(zip(names, inputs))})
            if not _reads(value, own):
                yield Edit(slicer.with_dead(Change(path, source_of(value))))
        if len(owner) != 2:
            continue
        taken = program.scopes.all_names()
        name = next((n for n in _NAMES if n not in taken), None)
        params = next((n for n in ("params", "p", "weights") if n not in taken or n in _bound(node)), None)
        if name is None or params is None:
            continue
        looked_up = dict(_entries(facts, path, node.args[1], ast.Name(params, ast.Load())))
        body = [_Parameters(own, looked_up).visit(copy.deepcopy(statement)) for statement in forward.body]
        called = f"{name}({', '.join(map(program.text, [node.args[1], *inputs]))})"
        dead = slicer.with_dead(Change(path, called))
        if looked_up and not any(_reads(statement, own) for statement in body) and Change(owner) in dead:
            head = ", ".join([params, *names])
            text = f"def {name}({head}):\n" + "\n".join(f"    {line}" for line in source_of(body).split("\n"))
            yield Edit((Change(owner, text), *(change for change in dead if change.path != owner)))


def _fits(forward: ast.FunctionDef, inputs: list[ast.expr]) -> bool:
    """Whether ``forward`` takes just itself and the ``inputs``."""
    a = forward.args
    other = [*a.posonlyargs, *a.kwonlyargs, a.vararg, a.kwarg, *a.defaults]
    starred = any(isinstance(value, ast.Starred) for value in inputs)
    return not any(other) and len(a.args) == len(inputs) + 1 and not starred and not forward.decorator_list


def _entries(facts: Facts, path: Path, node: ast.expr, spelled: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that the call at ``path`` gives in the dict ``node``, by name, as looked up in ``spelled``."""
    if isinstance(spelled, ast.Dict):
        for key, value in zip(spelled.keys, spelled.values):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
        return
    keys = [key.value for key in node.keys if isinstance(key, ast.Constant)] if isinstance(node, ast.Dict) else []
    fact = facts.of((*path, "args", 1))
    if fact is not None and fact.kind == "dict":
        texts = [str(pair[0].get("r", "0")) for pair in fact.value.get("items", ())]
        keys = [ast.literal_eval(text) for text in texts]
    for name in keys:
        if isinstance(name, str):
            yield name, ast.Subscript(spelled, ast.Constant(name), ast.Load())


class _Parameters(ast.NodeTransformer):
    """Reads what ``given`` has for the attributes of ``own``, dotted ones too."""

    def __init__(self, own: str, given: Mapping[str, ast.expr]) -> None:
        self._own, self._given = own, given

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Put the parameter for the attribute that holds it."""
        found = self._given.get(ast.unparse(node).removeprefix(f"{self._own}."))
        if found is not None and isinstance(node.ctx, ast.Load) and ast.unparse(node).startswith(f"{self._own}."):
            return parse_expression(source_of(found))
        return self.generic_visit(node)


def _bound(call: ast.Call) -> set[str]:
    """The name that the parameters of ``call`` have there, which a function may give its own."""
    return {call.args[1].id} if isinstance(call.args[1], ast.Name) else set()


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(below, ast.Name) and below.id == name for below in ast.walk(node))


STRATEGIES = (inline_functional_call,)
