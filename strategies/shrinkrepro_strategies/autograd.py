"""autograd.Function and its relatives as units: methods, context, inputs and outputs that belong together.

Decision: what one method saves another reads, so a change of the one is a change of the other in the same edit;
bodies are replaced whole by the smallest ones that keep the method's form.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls, wrappers
from shrinkrepro_strategies.slices import Slicer

_METHODS = ("forward", "setup_context", "backward", "jvp", "vmap", "vjp")
_CONTEXTS = ("torch.autocast", "torch.amp.autocast", "torch.cpu.amp.autocast", "torch.cuda.amp.autocast")


@dataclass(frozen=True)
class _Function:
    """A user's subclass of autograd.Function."""

    path: Path
    node: ast.ClassDef
    methods: dict[str, tuple[Path, ast.FunctionDef]]


def functions_of(program: Program) -> Iterator[_Function]:
    """The program's own subclasses of autograd.Function."""
    for path, node in program.walk(ast.ClassDef):
        names = [calls.library_name(program, (*path, "bases", i)) or "" for i in range(len(node.bases))]
        if any(name.startswith("torch.autograd.") and name.endswith("Function") for name in names):
            methods = {
                s.name: ((*path, "body", i), s) for i, s in enumerate(node.body) if isinstance(s, ast.FunctionDef)
            }
            yield _Function(path, node, methods)


@strategy("drop-function-method", tier=Tier.COARSE)
def drop_function_method(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop methods of an autograd.Function, with what setup_context saved for them.

    One method; all but one; generate_vmap_rule for a vmap method.
    """
    slicer = Slicer(program)
    for function in functions_of(program):
        optional = [name for name in ("backward", "jvp", "vmap", "vjp") if name in function.methods]
        for name in optional:
            others = [function.methods[n][0] for n in optional if n != name]
            if len(others) > 1:
                yield Edit(slicer.with_dead(*map(Change, others)))
        if len(optional) > 1:
            yield Edit(slicer.with_dead(*(Change(function.methods[n][0]) for n in optional)))
        for name in optional:
            path, _ = function.methods[name]
            yield Edit(slicer.with_dead(Change(path)))
            if name == "vmap":
                yield Edit((Change(path, "generate_vmap_rule = True"),))


def parameters(node: ast.FunctionDef) -> list[str]:
    """The names of the positional parameters."""
    return [a.arg for a in (*node.args.posonlyargs, *node.args.args)]


def with_body(path: Path, node: ast.FunctionDef, text: str) -> tuple[Change, ...]:
    """``text`` for the body of the method at ``path``."""
    rest = tuple(Change((*path, "body", i)) for i in range(1, len(node.body)))
    return (Change((*path, "body", 0), text), *rest)


def outputs(node: ast.FunctionDef) -> int:
    """How many values the method's last return gives."""
    for statement in reversed(node.body):
        if isinstance(statement, ast.Return):
            return len(statement.value.elts) if isinstance(statement.value, ast.Tuple) else 1
    return 1


@strategy("drop-function-input", tier=Tier.MEDIUM)
def drop_function_input(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop an input of an autograd.Function from forward, apply, jvp and the gradients that backward returns.

    Uses of the dropped parameter in forward become the argument of the only apply where that can be read there,
    and else the first parameter.
    """
    for function in functions_of(program):
        if "forward" not in function.methods:
            continue
        path, forward = function.methods["forward"]
        names = parameters(forward)
        skip = 0 if "setup_context" in function.methods else 1
        called = [p for p, _ in applies(program, function)]
        for index in range(skip, len(names)):
            if len(names) - skip < 2:
                break
            number = index - skip
            changes: list[Change] = []
            for apply in called:
                call = program.node(apply)
                assert isinstance(call, ast.Call)
                if number < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args):
                    changes.append(Change((*apply, "args", number)))
            changes.extend(_gradient_dropped(function, number, len(names) - skip))
            changes.extend(_unpacking_dropped(function, number, len(names) - skip))
            changes.extend(_batched_dropped(program, function, number, len(names) - skip))
            changes.append(Change((*path, "args", "args", index)))
            stays = next(n for k, n in enumerate(names) if k >= skip and k != index)
            for text in dict.fromkeys([*_given(program, function, called, number), stays]):
                yield Edit(
                    (*changes, *(Change(use, text) for use in program.scopes.uses_of((*path, "args", "args", index))))
                )


def _given(program: Program, function: _Function, called: list[Path], number: int) -> Iterator[str]:
    """Text of the input ``number`` of the only ``apply`` outside of the class, if it means the same inside of it."""
    outside = [path for path in called if path[: len(function.path)] != function.path]
    call = program.node(outside[0]) if len(outside) == 1 else None
    if not isinstance(call, ast.Call) or number >= len(call.args):
        return
    given = call.args[number]
    names = [node.id for node in ast.walk(given) if isinstance(node, ast.Name)]
    if all(program.scopes.lookup(outside[0], name) == program.scopes.lookup((), name) for name in names):
        yield program.text(given)


def applies(program: Program, function: _Function) -> Iterator[tuple[Path, ast.Call]]:
    """The calls of the Function's ``apply``."""
    for use in program.scopes.uses_of(function.path):
        up, parent = program.parent(use)
        if isinstance(parent, ast.Attribute) and parent.attr == "apply":
            top, call = program.parent(up)
            if isinstance(call, ast.Call) and up[-1] == "func":
                yield top, call


def _gradient_dropped(function: _Function, number: int, count: int) -> Iterator[Change]:
    """backward returns one gradient less, jvp takes one tangent less."""
    if "backward" in function.methods:
        path, node = function.methods["backward"]
        for i, statement in enumerate(node.body):
            value = statement.value if isinstance(statement, ast.Return) else None
            if isinstance(value, ast.Tuple) and len(value.elts) == count:
                at: Path = (*path, "body", i, "value")
                if count == 2:
                    yield Change(at, ast.unparse(value.elts[1 - number]))
                else:
                    yield Change((*at, "elts", number))
    if "jvp" in function.methods:
        path, node = function.methods["jvp"]
        if len(node.args.args) == count + 1:
            yield Change((*path, "args", "args", number + 1))


def _unpacking_dropped(function: _Function, number: int, count: int) -> Iterator[Change]:
    """``x, n = inputs`` of setup_context has one target less."""
    if "setup_context" not in function.methods:
        return
    path, node = function.methods["setup_context"]
    names = parameters(node)
    for i, statement in enumerate(node.body):
        if not isinstance(statement, ast.Assign) or len(names) != 3:
            continue
        target = statement.targets[0]
        if (
            isinstance(statement.value, ast.Name)
            and statement.value.id == names[1]
            and isinstance(target, ast.Tuple)
            and len(target.elts) == count
        ):
            yield Change((*path, "body", i, "targets", 0, "elts", number))


def _batched_dropped(program: Program, function: _Function, number: int, count: int) -> Iterator[Change]:
    """The vmap method takes one input and one of in_dims less; where it read it, it reads another."""
    if "vmap" not in function.methods:
        return
    path, node = function.methods["vmap"]
    names = parameters(node)
    if len(names) != count + 2:
        return
    yield Change((*path, "args", "args", number + 2))
    stays = names[2 if number else 3]
    yield from (Change(use, stays) for use in program.scopes.uses_of((*path, "args", "args", number + 2)))
    yield from _targets_less(path, node.body, names[1], number, count)


@strategy("drop-function-output", tier=Tier.MEDIUM)
def drop_function_output(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop an output of an autograd.Function from forward, setup_context, backward, jvp and what unpacks apply."""
    for function in functions_of(program):
        if "forward" not in function.methods:
            continue
        path, forward = function.methods["forward"]
        count = outputs(forward)
        for number in range(count if count > 1 else 0):
            changes = list(_returned_less(path, forward, number, count))
            if "backward" in function.methods:
                at, node = function.methods["backward"]
                if len(node.args.args) == count + 1:
                    changes.append(Change((*at, "args", "args", number + 1)))
                    stays = node.args.args[1 if number else 2].arg
                    changes.extend(
                        Change(use, stays) for use in program.scopes.uses_of((*at, "args", "args", number + 1))
                    )
            if "jvp" in function.methods:
                changes.extend(_returned_less(*function.methods["jvp"], number, count))
            if "setup_context" in function.methods:
                at, node = function.methods["setup_context"]
                changes.extend(_targets_less(at, node.body, node.args.args[-1].arg, number, count))
                for use in program.scopes.uses_of((*at, "args", "args", len(node.args.args) - 1)):
                    changes.extend(_looked_up(program, use, number, count))
            changes.extend(_unmarked(program, function, number, count))
            for apply, _ in applies(program, function):
                changes.extend(_looked_up(program, apply, number, count))
                where, statement = program.statement_of(apply)
                if not isinstance(statement, ast.Assign) or apply != (*where, "value"):
                    continue
                target = statement.targets[0]
                if isinstance(target, ast.Tuple) and len(target.elts) == count:
                    changes.append(_less((*where, "targets", 0), target, number))
                elif isinstance(target, ast.Name):
                    for use in program.scopes.uses_of((*where, "targets", 0)):
                        changes.extend(_looked_up(program, use, number, count))
            yield Edit(tuple(changes))


def _looked_up(program: Program, path: Path, number: int, count: int) -> Iterator[Change]:
    """What is looked up by number in the outputs at ``path``: the one that is left of two needs none."""
    up, parent = program.parent(path)
    if path[-1] != "value" or not isinstance(parent, ast.Subscript) or not isinstance(parent.slice, ast.Constant):
        return
    index = parent.slice.value
    if isinstance(index, int) and 0 <= index < count and index != number:
        if count == 2:
            yield Change(up, program.text(parent.value))
        elif index > number:
            yield Change((*up, "slice"), str(index - 1))


def _unmarked(program: Program, function: _Function, number: int, count: int) -> Iterator[Change]:
    """The output is no longer marked as one without a gradient."""
    for method in ("forward", "setup_context"):
        at, node = function.methods.get(method, (None, None))
        if at is None or node is None:
            continue
        marked = _output_names(node, number, count)
        for i, statement in enumerate(node.body):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr in ("mark_non_differentiable", "mark_dirty"):
                where: Path = (*at, "body", i)
                gone = [k for k, a in enumerate(call.args) if ast.unparse(a) in marked]
                whole = len(gone) == len(call.args)
                yield from [Change(where)] if whole else [Change((*where, "value", "args", k)) for k in gone]


def _output_names(node: ast.FunctionDef, number: int, count: int) -> set[str]:
    """How the method spells output ``number``: in what it returns, or in what it is given last."""
    last = node.args.args[-1].arg
    names = {f"{last}[{number}]", f"{last}[{number - count}]"} if node.name == "setup_context" else set()
    for statement in node.body:
        values: list[ast.expr | None] = []
        if isinstance(statement, ast.Return) and node.name == "forward":
            values = [statement.value]
        elif isinstance(statement, ast.Assign) and ast.unparse(statement.value) == last:
            values = list(statement.targets)
        for value in values:
            if isinstance(value, ast.Tuple) and len(value.elts) == count:
                names.add(ast.unparse(value.elts[number]))
    return names


def _returned_less(path: Path, node: ast.FunctionDef, number: int, count: int) -> Iterator[Change]:
    for i, statement in enumerate(node.body):
        value = statement.value if isinstance(statement, ast.Return) else None
        if isinstance(value, ast.Tuple) and len(value.elts) == count:
            yield _less((*path, "body", i, "value"), value, number)


def _targets_less(path: Path, body: list[ast.stmt], name: str, number: int, count: int) -> Iterator[Change]:
    for i, statement in enumerate(body):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name) and statement.value.id == name:
            target = statement.targets[0]
            if isinstance(target, ast.Tuple) and len(target.elts) == count:
                yield _less((*path, "body", i, "targets", 0), target, number)


def _less(path: Path, value: ast.Tuple, number: int) -> Change:
    if len(value.elts) == 2:
        return Change(path, ast.unparse(value.elts[1 - number]))
    return Change((*path, "elts", number))


@strategy("drop-context-field", tier=Tier.MEDIUM)
def drop_context_field(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop what a Function saves on ctx: a field with its loads' statements, a saved tensor with its unpacking."""
    for function in functions_of(program):
        stores: dict[str, list[Path]] = {}
        loads: dict[str, list[Path]] = {}
        for _path, node in function.methods.values():
            for below in ast.walk(node):
                if not isinstance(below, ast.Attribute) or not isinstance(below.value, ast.Name):
                    continue
                if below.value.id not in parameters(node)[:1]:
                    continue
                where = stores if isinstance(below.ctx, ast.Store) else loads
                where.setdefault(below.attr, []).append(program.statement_of(program.paths[id(below)])[0])
        for name, places in {**{"save_for_backward": [], "save_for_forward": []}, **stores}.items():
            users = loads.get(name, [])
            if name.startswith("save_for"):
                users = [*users, *loads.get("saved_tensors", [])] if users else []
            paths = list(dict.fromkeys([*places, *users]))
            if paths:
                yield Edit(tuple(Change(p) for p in paths))


@strategy("plain-custom-op", tier=Tier.MEDIUM)
def plain_custom_op(program: Program, facts: Facts) -> Iterator[Edit]:
    """Reduce a torch.library.custom_op: registrations go, the body becomes ``return x.clone()``, one input stays.

    The annotations that torch derives the schema from come back where they were lost.
    """
    torch, imports = calls.torch_spelling(program)
    slicer = Slicer(program)
    for path, node in program.walk(ast.FunctionDef):
        for i, decorator in enumerate(node.decorator_list):
            target: Path = (*path, "decorator_list", i)
            if isinstance(decorator, ast.Call):
                target = (*target, "func")
            if calls.library_name(program, target) not in ("torch.library.custom_op", "torch.library.triton_op"):
                continue
            users = [program.statement_of(use)[0] for use in program.scopes.uses_of(path)]
            registrations = [p for p in dict.fromkeys(users) if _registers(program, p, node.name)]
            for registration in registrations:
                yield Edit(slicer.with_dead(Change(registration)))
            if len(registrations) > 1:
                yield Edit(slicer.with_dead(*map(Change, registrations)))
            names = parameters(node)
            if not names:
                continue
            head = ast.unparse(decorator)
            signature = f"{node.name}({names[0]}: {torch}.Tensor) -> {torch}.Tensor"
            plain = f"@{head}\ndef {signature}:\n    return {names[0]}.clone()"
            changes = [Change(path, plain)]
            for use in program.scopes.uses_of(path):
                up, call = program.parent(use)
                if isinstance(call, ast.Call) and use[-1] == "func":
                    changes.extend(Change((*up, "args", k)) for k in range(1, len(call.args)))
                    changes.extend(Change((*up, "keywords", k)) for k in range(len(call.keywords)))
            yield Edit(slicer.with_dead(*changes), imports)
            yield Edit((changes[0],), imports)
            yield Edit(with_body(path, node, f"return {names[0]}.clone()"))


def _registers(program: Program, path: Path, name: str) -> bool:
    """Whether the statement at ``path`` only registers something for the op called ``name``."""
    statement = program.node(path)
    if isinstance(statement, ast.FunctionDef):
        return any(
            isinstance(n, ast.Attribute) and n.attr.startswith("register") and ast.unparse(n.value) == name
            for d in statement.decorator_list
            for n in ast.walk(d)
        )
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        return isinstance(func, ast.Attribute) and func.attr.startswith("register")
    return False


STRATEGIES = (
    *wrappers.STRATEGIES,
    drop_function_method,
    drop_function_input,
    drop_function_output,
    drop_context_field,
    plain_custom_op,
)
