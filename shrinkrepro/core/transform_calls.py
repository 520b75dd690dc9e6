"""Reads from a line of a script which function it puts under which transforms, and with what.

Decision: only calls that can be written as options are read: a named function, known transforms, and inputs that the
script's own level can see; for any other there is no command to propose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shrinkrepro.core.transform_spec import NAMES


@dataclass(frozen=True)
class TransformCall:
    """The texts of a call such as ``vmap(grad(f))(x, t)``; an option that is not given is empty."""

    function: str
    transform: str
    inputs: str
    in_dims: str = ""
    argnums: str = ""
    tangents: str = ""

    def options(self) -> tuple[str, ...]:
        """The call as options of the command line."""
        words = ["--function", self.function, "--transform", self.transform, "--inputs", self.inputs]
        more = {"--in-dims": self.in_dims, "--argnums": self.argnums, "--tangents": self.tangents}
        return (*words, *(word for option, text in more.items() if text for word in (option, text)))


def call_at(source: str, line: int) -> TransformCall | None:
    """The call under transforms at ``line`` of the script's own level, if there is one and no second."""
    tree = ast.parse(source)
    found = [call for node in _calls_at(tree.body, line) for call in (_read(node),) if call is not None]
    return found[0] if len(found) == 1 else None


def _calls_at(body: Sequence[ast.stmt], line: int) -> Iterator[ast.Call]:
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or line):
            yield node
        if not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            waiting.extend(ast.iter_child_nodes(node))


def _read(node: ast.Call) -> TransformCall | None:
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if _name(node.func) == "jvp" and len(node.args) == 3 and not node.keywords:
        function, *given = node.args
        if isinstance(function, ast.Name | ast.Attribute) and all(isinstance(g, ast.Tuple) for g in given):
            inputs, tangents = (", ".join(map(ast.unparse, g.elts)) for g in given if isinstance(g, ast.Tuple))
            return TransformCall(ast.unparse(function), "jvp", inputs, tangents=tangents)
        return None
    names: list[str] = []
    options: dict[str, str] = {}
    inner = node.func
    while isinstance(inner, ast.Call):
        name = _name(inner.func)
        if name is None or name in ("jvp", "vjp") or not inner.args:
            return None
        names.append(name)
        keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in inner.keywords}
        positional = [ast.unparse(argument) for argument in inner.args[1:]]
        if positional:
            keywords["in_dims" if name == "vmap" else "argnums"] = positional[0]
        if len(positional) > 1 or not set(keywords) <= {"in_dims", "argnums"} or set(keywords) & set(options):
            return None
        options.update({str(key): value for key, value in keywords.items()})
        inner = inner.args[0]
    if not names or node.keywords or not node.args or not isinstance(inner, ast.Name | ast.Attribute):
        return None
    return TransformCall(
        ast.unparse(inner),
        "(".join(names) + ")" * (len(names) - 1),
        ", ".join(map(ast.unparse, node.args)),
        options.get("in_dims", ""),
        options.get("argnums", ""),
    )


def _name(node: ast.expr) -> str | None:
    """The transform that ``node`` names, by the word itself or as an attribute of torch's."""
    if isinstance(node, ast.Name):
        return node.id if node.id in NAMES else None
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        root = ast.unparse(node.value)
        return node.attr if root in ("torch", "torch.func", "functorch", "func") else None
    return None
