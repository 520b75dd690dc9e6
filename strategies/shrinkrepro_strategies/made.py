"""Made functions: the text of a function that was seen, as transforms made it of the program's own or the library's.

Decision: a script keeps what ``vmap(grad(f))`` gives in attributes, lists and tables, and calls it far away; the run
shows what such a thing is, so it can be written anew where it is called, with no need of what led there.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Description, ExprFact, Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.blocks import with_values
from shrinkrepro_strategies.callees import classes
from shrinkrepro_strategies.descriptions import sources
from shrinkrepro_strategies.slices import Slicer


@dataclass(frozen=True)
class Made:
    """A function that was seen: the ``transforms`` that made it, outermost first, with their options, and of what."""

    transforms: tuple[tuple[str, str], ...]
    function: str  # source, in terms of the module's own names

    def text(self, torch: str) -> str:
        """Source of the whole."""
        text = self.function
        steps = list(self.transforms)
        for k in reversed(range(len(steps) - 1)):
            if steps[k : k + 2] == [("jacfwd", ""), ("jacrev", "")]:
                steps[k : k + 2] = [("hessian", "")]
        for name, words in reversed(steps):
            text = f"{spelled(name, torch)}({text}{', ' if words else ''}{words})"
        return text


def spelled(name: str, torch: str) -> str:
    """The full name of the transform ``name``, or of ``compile``."""
    return f"{torch}.compile" if name == "compile" else f"{torch}.func.{name}"


def made(program: Program, facts: Facts, seen: Description) -> Made | None:
    """What ``seen`` is, if transforms made it and what they were given can be written at module level."""
    transforms = transforms_of(seen)
    for _ in transforms:
        seen = seen["of"]
    function = _function(program, facts, seen) if transforms else None
    return Made(transforms, function) if function is not None else None


def transforms_of(seen: Description) -> tuple[tuple[str, str], ...]:
    """The transforms that made the function ``seen``, outermost first, with the options of each."""
    found: list[tuple[str, str]] = []
    while seen.get("k") == "function" and seen.get("made"):
        found.append((str(seen["made"][0]), str(seen["made"][1])))
        seen = seen["of"]
    return tuple(found)


def _function(program: Program, facts: Facts, seen: Description) -> str | None:
    if seen.get("k") in ("module", "object"):
        return _instance(program, facts, seen) or (seen.get("r") if seen["k"] == "module" else None)
    if seen.get("k") != "function":
        return None
    name, line = str(seen.get("name")), seen.get("line")
    if line is None:
        return name if name.startswith("torch.") and not name.startswith("torch.Tensor.") else None
    known = classes(program)
    at = known.lambda_at.get(line) if name == "<lambda>" else known.at_line.get(line)
    if at is None:
        return None
    node = program.node(at)
    if isinstance(node, ast.Lambda) and _is_closed(program, at):
        return program.text(node)
    if seen.get("free"):
        return _applied(program, facts, at, seen["free"])
    if isinstance(node, ast.ClassDef):
        return f"{node.name}.{name}" if len(at) == 2 else None
    if isinstance(node, ast.FunctionDef) and len(at) == 2:
        return node.name
    holder = program.node(at[:-2]) if len(at) == 4 else None
    if isinstance(node, ast.FunctionDef) and isinstance(holder, ast.ClassDef):
        if seen.get("owner") is None:
            return f"{holder.name}.{node.name}"
        owner = _instance(program, facts, {"k": "object", "line": seen["owner"]})
        return f"{owner}.{node.name}" if owner is not None else None
    return None


def _applied(program: Program, facts: Facts, path: Path, free: Mapping[str, Description]) -> str | None:
    """A lambda for the function of one expression at ``path``, with what it reads from around it written in."""
    node = program.node(path)
    if isinstance(node, ast.Lambda):
        body: ast.expr | None = node.body
    else:
        last = node.body[-1] if isinstance(node, ast.FunctionDef) and len(node.body) == 1 else None
        body = last.value if isinstance(last, ast.Return) else None
    if body is None or not isinstance(node, ast.FunctionDef | ast.Lambda) or node.args.defaults:
        return None
    values: dict[str, ast.expr] = {}
    for name, value in free.items():
        text = _value(program, facts, value)
        if text is None:
            return None
        values[name] = parse_expression(text)
    return f"lambda {ast.unparse(node.args)}: {ast.unparse(with_values(body, values))}"


def _value(program: Program, facts: Facts, seen: Description) -> str | None:
    if seen.get("k") == "function" and seen.get("made"):
        found = made(program, facts, seen)
        return found.text(calls.torch_spelling(program)[0]) if found is not None else None
    if seen.get("k") in ("function", "object", "module"):
        return _function(program, facts, seen)
    return next(iter(sources(seen, calls.torch_spelling(program)[0])), None)


def _instance(program: Program, facts: Facts, seen: Description) -> str | None:
    """A variable of the module that holds an instance of the class of ``seen``, the last one that was read."""
    line = seen.get("line")
    if line is None:
        return None
    names: list[tuple[int, str]] = []
    for path, fact in facts.items().items():
        if fact.kind in ("module", "object") and fact.value.get("line") == line:
            node = program.node(path)
            if isinstance(node, ast.Name):
                binding = program.scopes.binding(path)
                if binding is not None and binding.scope == ():
                    names.append((fact.order, node.id))
    return max(names)[1] if names else None


def _is_closed(program: Program, path: Path) -> bool:
    """Whether the lambda at ``path`` reads nothing but its own, the module's and Python's names."""
    for node in ast.walk(program.node(path)):
        if isinstance(node, ast.Name):
            binding = program.scopes.binding(program.paths[id(node)])
            if binding is None:
                if not hasattr(builtins, node.id):
                    return False
            elif binding.scope != () and binding.scope[: len(path)] != path:
                return False
    return True


@strategy("transforms-for-variable", tier=Tier.MEDIUM)
def transforms_for_variable(program: Program, facts: Facts) -> Iterator[Edit]:
    """Write the transforms where what they made is called, and drop what kept it.

    Example: ``self.score = vmap(grad(f))`` and ``model.score(x)`` -> ``vmap(grad(f))(x)``.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    for path, fact in facts.items().items():
        node = program.node(path)
        if fact.kind != "function" or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        for seen in _distinct(fact):
            found = made(program, facts, seen)
            if found is not None and not _shadowed(program, path, found.function):
                changes = slicer.with_dead(Change(path, found.text(torch)))
                if slicer.gain(changes) > 0:
                    yield Edit(changes, imports)


def _distinct(fact: ExprFact) -> list[Description]:
    found: list[Description] = []
    for seen in (fact.value, *fact.later):
        if seen not in found:
            found.append(seen)
    return found


def _shadowed(program: Program, path: Path, text: str) -> bool:
    """Whether a name in ``text`` means another thing at ``path`` than in the module."""
    tree = parse_expression(text)
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - own
    return any(program.scopes.lookup(path, name) != program.scopes.lookup((), name) for name in names)


STRATEGIES = (transforms_for_variable,)
