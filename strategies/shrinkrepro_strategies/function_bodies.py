"""Bodies of an autograd.Function's methods: the smallest that keep the method's form, alone and all together.

Decision: what one method computes another must be the derivative of, where a check holds rules to their forward; so
there is a set of bodies that are right together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.autograd import applies, functions_of, outputs, parameters, with_body
from shrinkrepro_strategies.blocks import with_values
from shrinkrepro_strategies.slices import Slicer


@strategy("plain-function-body", tier=Tier.MEDIUM)
def plain_function_body(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the smallest body for a method of an autograd.Function.

    forward: ``return x``, ``x.clone()``, ``x.view_as(x)``; setup_context: ``pass``, save the input or the output;
    backward and jvp: ``return g``. Also all of them at once.
    """
    slicer = Slicer(program)
    for function in functions_of(program):
        everything: list[Change] = []
        for name, (path, node) in function.methods.items():
            bodies = list(_bodies(program, name, node))
            if bodies:
                everything.extend(with_body(path, node, bodies[0]))
            for body in bodies:
                if body != _body_text(program, node):
                    yield Edit(slicer.with_dead(*with_body(path, node, body)))
        if len(function.methods) > 1:
            yield Edit(tuple(everything))


@strategy("forward-for-own-apply", tier=Tier.MEDIUM)
def forward_for_own_apply(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put what ``forward`` computes for ``apply`` in the other methods of the same autograd.Function.

    Example: ``def forward(x): return x.sin()`` and in ``vmap`` ``return F.apply(x), 0`` -> ``return x.sin(), 0``.
    """
    for function in functions_of(program):
        _, forward = function.methods.get("forward", (None, None))
        last = forward.body[-1] if forward is not None and len(forward.body) == 1 else None
        if forward is None or not isinstance(last, ast.Return) or last.value is None:
            continue
        names = parameters(forward)
        skip = 0 if "setup_context" in function.methods else 1
        if set(names[:skip]) & {n.id for n in ast.walk(last.value) if isinstance(n, ast.Name)}:
            continue
        for path, call in applies(program, function):
            given = dict(zip(names[skip:], call.args))
            plain = not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args)
            if path[: len(function.path)] != function.path or not plain or len(call.args) != len(names) - skip:
                continue
            text = ast.unparse(ast.fix_missing_locations(with_values(last.value, given)))
            _, parent = program.parent(path)
            nested = isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Attribute | ast.Subscript | ast.Compare)
            yield Edit((Change(path, f"({text})" if nested else text),))


def _body_text(program: Program, node: ast.FunctionDef) -> str:
    return "\n".join(map(program.text, node.body))


def _bodies(program: Program, name: str, node: ast.FunctionDef) -> Iterator[str]:
    names = parameters(node)
    if name == "setup_context" and len(names) == 3:
        context, inputs, output = names
        yield "pass"
        yield f"{context}.save_for_backward({output})"
        yield f"{context}.save_for_backward(*{inputs})"
        yield f"{context}.save_for_forward(*{inputs})"
        yield f"{context}.mark_dirty(*{inputs})"
        return
    old_style = name == "forward" and names[:1] in (["ctx"], ["self"], ["context"])
    values = names if name == "forward" and not old_style else names[1:]
    if name == "vmap" or not values:
        return
    count = outputs(node)
    first = values[0]
    if name == "forward":
        if count > 1:
            yield "return " + ", ".join([first] * count)
        yield f"return {first}"
        yield f"return {first}.clone()"
        yield f"return {first}.view_as({first})"
    elif name in ("backward", "jvp"):
        if count > 1:
            yield "return " + ", ".join([first] + ["None"] * (count - 1))
        yield f"return {first}"
        yield f"return 2 * {first}"
        if name == "jvp":
            yield f"return {first}.clone()"


@strategy("plain-rules", tier=Tier.MEDIUM)
def plain_rules(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make an autograd.Function a copy, a square or a sine with right rules: every method it has, at once.

    A check that holds a Function's rules to its forward lets no method be changed alone.
    """
    slicer = Slicer(program)
    for function in functions_of(program):
        if "forward" not in function.methods or not {"backward", "jvp"} & set(function.methods):
            continue
        if outputs(function.methods["forward"][1]) > 1:
            continue
        for forward, factor in (("{}.clone()", ""), ("{}**2", "2 * {}"), ("{}.sin()", "{}.cos()")):
            changes: list[Change] = []
            for name, (path, node) in function.methods.items():
                body = _rule(name, node, forward, factor, function.methods)
                if body is not None and body != _body_text(program, node):
                    changes.extend(with_body(path, node, body))
            if changes:
                yield Edit(slicer.with_dead(*changes))


def _rule(
    name: str, node: ast.FunctionDef, forward: str, factor: str, methods: dict[str, tuple[Path, ast.FunctionDef]]
) -> str | None:
    """The body of one method of a Function of one tensor, and of values that its rules ignore."""
    names = parameters(node)
    saves = [f"save_for_{way}" for way, rule in (("backward", "backward"), ("forward", "jvp")) if rule in methods]
    old_style = "setup_context" not in methods
    if name == "forward" and len(names) > old_style:
        context, first = names[0], names[old_style]
        saved = [f"{context}.{save}({first})" for save in saves] if old_style and factor else []
        return "\n".join([*saved, f"return {forward.format(first)}"])
    if name == "setup_context" and len(names) == 3:
        return "\n".join(f"{names[0]}.{save}({names[1]}[0])" for save in saves) if factor else "pass"
    if name in ("backward", "jvp") and len(names) > 1:
        scale = factor.format(f"{names[0]}.saved_tensors[0]")
        value = f"{scale} * {names[1]}" if scale else names[1]
        return "return " + ", ".join([value] + ["None"] * (outputs(node) - 1))
    return None


STRATEGIES = (plain_function_body, plain_rules, forward_for_own_apply)
