"""Failed checks: the conditions that a program found not to hold, and how it said so.

Decision: a new check ends the program in the way of the one that failed, for how it ends is a part of the failure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import Description, Facts
from shrinkrepro.core.program import Program
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.frames import running
from shrinkrepro_strategies.provenance import Provenance


def compared(program: Program, facts: Facts) -> Provenance | None:
    """What must stay code because a check compares it; None when it is no check that failed."""
    if next(failed_checks(program, facts), None) is None:
        return None
    live = Provenance(program)
    live.keep_reference()
    return live


def failed_checks(program: Program, facts: Facts) -> Iterator[tuple[Path, str]]:
    """Paths of the conditions that failed, with the statement that each is checked by."""
    for path in reversed(running(program, facts)):
        if compares(program, path):
            yield path, "{}"
    for path, node in program.walk(ast.Assert, ast.If):
        at: Path = (*path, "test")
        fact = facts.of(at)
        if fact is None or facts.count(node) == 0:
            continue
        if isinstance(node, ast.Assert):
            if fact.value.get("r") == "False" or fact.value.get("fill") == 0:
                yield at, "assert {}"
        elif facts.count(node.body[-1]):
            ended = _ending(program, facts, (*path, "body", len(node.body) - 1))
            if ended is not None:
                yield at, ended


def _ending(program: Program, facts: Facts, path: Path) -> str | None:
    """The form of a check that ends a program as the statement at ``path`` does; None for one that ends none."""
    node = program.node(path)
    at: Path = (*path, "exc")
    error = node.exc if isinstance(node, ast.Raise) else None
    if isinstance(node, ast.Expr) and calls.callee(program, (*path, "value")) == "sys.exit":
        at, error = (*path, "value"), node.value
    elif not isinstance(node, ast.Raise):
        return None
    if isinstance(error, ast.Name) and program.scopes.binding(at) is None:
        said: list[str] = []
        name = error.id
    elif isinstance(error, ast.Call) and not error.keywords:
        texts = [_said(program, facts, (*at, "args", k), argument) for k, argument in enumerate(error.args)]
        said = [text for text in texts if text is not None]
        if len(said) < len(texts):
            return "assert not ({})"
        builtin = isinstance(error.func, ast.Name) and program.scopes.binding((*at, "func")) is None
        name = program.text(error.func) if builtin else "SystemExit" if isinstance(node, ast.Expr) else ""
    else:
        return "assert not ({})"
    if name in ("", "AssertionError"):
        return "assert not ({})"
    text = f"raise {name}({', '.join(said)})"
    return "if {}:\n    " + text.replace("{", "{{").replace("}", "}}")


def _said(program: Program, facts: Facts, path: Path, node: ast.expr) -> str | None:
    """A literal for what an exception was given; numbers in a text need not be those that were seen."""
    if isinstance(node, ast.Constant):
        return ast.unparse(node)
    if not isinstance(node, ast.JoinedStr):
        fact = facts.of(path)
        return str(fact.value["r"]) if fact is not None and fact.kind == "const" else None
    parts: list[str] = []
    for k, part in enumerate(node.values):
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        else:
            value = _elsewhere(program, facts, (*path, "values", k, "value"))
            text = str(value["r"]) if value is not None and value["k"] == "const" else "1.0"
            parts.append(str(ast.literal_eval(text)) if text[:1] in "'\"" else text)
    return repr("".join(parts))


def _elsewhere(program: Program, facts: Facts, path: Path) -> Description | None:
    """The last value that was seen of what stands at ``path``, in a text that is not observed, and elsewhere too."""
    text = program.text(program.node(path))
    same = [fact for at, fact in facts.items().items() if program.text(program.node(at)) == text]
    return max(same, key=lambda fact: fact.order).at(-1) if same else None


def compares(program: Program, path: Path) -> bool:
    """Whether the call at ``path`` compares: of what it compares only literals would be left."""
    node = program.node(path)
    return isinstance(node, ast.Compare) or "assert" in program.text(getattr(node, "func", node))
