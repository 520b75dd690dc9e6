"""Objects: an attribute becomes what was assigned to it, an object a part of it, an expression a plain name.

Decision: which expressions are the same object is read from the facts. A part of an object stands for the whole
only where the failure came out of that part.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.arguments import bind
from shrinkrepro_strategies.callees import class_called, classes, in_progress
from shrinkrepro_strategies.descriptions import sources
from shrinkrepro_strategies.rewriting import Rewrite, is_simple
from shrinkrepro_strategies.slices import Slicer


@strategy("name-for-expression", tier=Tier.MEDIUM)
def name_for_expression(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the name of a variable that holds the same object in the place of an expression.

    Example: ``self.planner.ensemble.model(x)`` -> ``model(x)``.
    """
    held = _held(program, facts)
    slicer = Slicer(program)
    alike: dict[tuple[str, Binding], list[Change]] = {}
    for path, node in program.walk(ast.expr):
        if not isinstance(node, ast.Attribute | ast.Subscript | ast.Call) or not isinstance(_context(node), ast.Load):
            continue
        fact = facts.of(path)
        if fact is None or fact.identity is None or fact.kind in ("function", "type", "const"):
            continue
        for binding in held.get(fact.identity, []):
            if program.scopes.lookup(path, binding.name) != binding or _assigns(program, path, binding):
                continue
            alike.setdefault((program.text(node), binding), []).append(Change(path, binding.name))
            break
    for changes in alike.values():
        yield Edit(slicer.with_dead(*changes))
        if len(changes) > 1:
            for change in changes:
                yield Edit((change,))


def _context(node: ast.expr) -> ast.expr_context:
    return getattr(node, "ctx", ast.Load())


def _held(program: Program, facts: Facts) -> dict[int, list[Binding]]:
    """The variables by the identity of what they hold; one that holds several things in turn counts for none."""
    found: dict[Binding, set[int | None]] = {}
    for binding, uses in program.scopes.uses.items():
        for use in uses:
            fact = facts.of(use)
            if fact is not None:
                found.setdefault(binding, set()).add(fact.identity if fact.same else None)
    by_identity: dict[int, list[Binding]] = {}
    for binding, identities in found.items():
        identity = identities.pop() if len(identities) == 1 else None
        if identity is not None:
            by_identity.setdefault(identity, []).append(binding)
    return by_identity


def _assigns(program: Program, path: Path, binding: Binding) -> bool:
    """Whether the statement at ``path`` is what gives the variable its value."""
    at, _ = program.statement_of(path)
    return any(d[: len(at)] == at for d in program.scopes.definitions.get(binding, []))


@strategy("name-for-function", tier=Tier.MEDIUM)
def name_for_function(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the name of the program's own function for what looks it up; also as it is without its decorators.

    Example: ``registry['f']``, which holds what ``@register('f')`` was put before -> ``f``.
    """
    slicer = Slicer(program)
    at_line = classes(program).at_line
    for path, node in program.walk(ast.expr):
        if not isinstance(node, ast.Attribute | ast.Subscript | ast.Call) or not isinstance(_context(node), ast.Load):
            continue
        fact = facts.of(path)
        if fact is None or fact.kind != "function" or not fact.same:
            continue
        definition = at_line.get(int(fact.value.get("line") or 0))
        function = program.node(definition) if definition is not None else None
        if definition is None or not isinstance(function, ast.FunctionDef):
            continue
        binding = program.scopes.binding(definition)
        if binding is None or program.scopes.lookup(path, function.name) != binding:
            continue
        yield Edit(slicer.with_dead(Change(path, function.name)))
        if function.decorator_list:
            bare = [Change((*definition, "decorator_list", i)) for i in range(len(function.decorator_list))]
            yield Edit(slicer.with_dead(Change(path, function.name), *bare))


@strategy("inline-attribute", tier=Tier.MEDIUM)
def inline_attribute(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put what is assigned to an attribute where it is read, and drop the assignment.

    Only for an attribute that is assigned once; one that is read several times must hold something plain. What the
    assigned expression takes from the variables around it is written as the literal or object that was seen.
    """
    torch, imports = calls.torch_spelling(program)
    stores: dict[str, list[Path]] = {}
    loads: dict[str, list[Path]] = {}
    for path, node in program.walk(ast.Attribute):
        (stores if isinstance(node.ctx, ast.Store) else loads).setdefault(node.attr, []).append(path)
    for name, places in stores.items():
        reads = loads.get(name, [])
        if len(places) != 1 or not reads:
            continue
        up, statement = program.parent(places[0])
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        if any(read[: len(up)] == up for read in reads):
            continue
        written = [written_for(program, facts, (*up, "value"), read, torch, places[0]) for read in reads]
        values = [value for value in written if value is not None]
        if len(values) < len(reads) or (len(reads) > 1 and not is_simple(values[0])):
            continue
        rewrite = Rewrite(program)
        for read, value in zip(reads, values):
            rewrite.replace(read, value)
        rewrite.delete(up)
        edit = rewrite.edit()
        yield Edit(edit.changes, imports if torch in ast.unparse(ast.fix_missing_locations(values[0])) else ())


@strategy("inline-class-constant", tier=Tier.MEDIUM, independent=True)
def inline_class_constant(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put a literal that a class body gives to a name where the attribute is read, and drop the name."""
    stored = {node.attr for _, node in program.walk(ast.Attribute) if not isinstance(node.ctx, ast.Load)}
    passed = {word.arg for _, word in program.walk(ast.keyword)}
    given = {class_called(program, facts, p) for p, call in program.walk(ast.Call) if call.args}
    for path, node in classes(program).nodes.items():
        for i, statement in enumerate(node.body):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
            value = getattr(statement, "value", None)
            if not isinstance(target, ast.Name) or not isinstance(value, ast.Constant | ast.Tuple | ast.UnaryOp):
                continue
            if target.id in stored | passed or path in given or any(isinstance(n, ast.Name) for n in ast.walk(value)):
                continue
            reads = [p for p, a in program.walk(ast.Attribute) if a.attr == target.id]
            if reads and not program.scopes.uses_of((*path, "body", i, "targets", 0)):
                rewrite = Rewrite(program)
                for read in reads:
                    rewrite.replace(read, value)
                rewrite.delete((*path, "body", i))
                yield rewrite.edit()


def written_for(
    program: Program, facts: Facts, path: Path, there: Path, torch: str, stored: Path | None = None
) -> ast.expr | None:
    """The expression at ``path`` as it can stand at ``there``; None when something in it means nothing there.

    ``stored`` is the attribute that gets it, where ``there`` reads that: the object itself is then written as it is
    where it is read.
    """
    rewrite = Rewrite(program)
    read = program.node(there)
    own = program.scopes.binding((*stored, "value")) if stored is not None else None
    if own is not None and isinstance(read, ast.Attribute) and is_simple(read.value):
        for at, node in _below(program, path):
            if isinstance(node, ast.Name) and program.scopes.binding(at) == own:
                rewrite.replace(at, read.value)
    if not _carry(program, facts, path, there, torch, rewrite):
        return None
    written = rewrite.copy(path)
    return written if isinstance(written, ast.expr) else None


def _carry(program: Program, facts: Facts, path: Path, there: Path, torch: str, rewrite: Rewrite) -> bool:
    """Make the names below ``path`` mean the same at ``there``, by literals where they do not."""
    node = program.node(path)
    names = [
        (p, n)
        for p, n in _below(program, path)
        if isinstance(n, ast.Name)
        and not _same(program, p, n.id, there)
        and not _own(program, p, path)
        and not rewrite.replaced(p)
    ]
    if not names:
        return True
    fact = facts.of(path)
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp) and fact is not None and fact.same:
        text = sources(fact.value, torch, 1)
        if text:
            rewrite.replace(path, parse_expression(text[0]))
            return True
    if isinstance(node, ast.Name):
        return False
    children: list[Path] = []
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            children.append((*path, field))
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.expr):
                    children.append((*path, field, i))
                elif isinstance(item, ast.keyword):
                    children.append((*path, field, i, "value"))
                elif isinstance(item, ast.AST):
                    return False
        elif isinstance(value, ast.arguments):
            return False
    return all(_carry(program, facts, child, there, torch, rewrite) for child in children)


def _below(program: Program, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    stack = [(path, program.node(path))]
    while stack:
        at, node = stack.pop()
        yield at, node
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                stack.append(((*at, field), value))
            elif isinstance(value, list):
                stack.extend(((*at, field, i), v) for i, v in enumerate(value) if isinstance(v, ast.AST))


def _same(program: Program, path: Path, name: str, there: Path) -> bool:
    return program.scopes.binding(path) == program.scopes.lookup(there, name)


def _own(program: Program, path: Path, root: Path) -> bool:
    """Whether the name at ``path`` is bound inside the expression at ``root``."""
    binding = program.scopes.binding(path)
    return binding is not None and len(binding.scope) > 0 and binding.scope[: len(root)] == root


@strategy("part-for-object", tier=Tier.MEDIUM)
def part_for_object(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make a part that an object's constructor makes instead of the object.

    Example: ``Net(8)`` -> ``torch.nn.GRU(8, 8)`` where ``__init__`` has ``self.rnn = torch.nn.GRU(n, n)``. Where facts
    tell it, only parts that were running when it failed. ``net.rnn`` becomes ``net`` where ``net`` is that object.
    """
    slicer = Slicer(program)
    torch, imports = calls.torch_spelling(program)
    running = _running_attributes(program, facts)
    known = classes(program)
    for path, call in program.walk(ast.Call):
        owner = class_called(program, facts, path)
        method = known.methods(owner).get("__init__") if owner is not None else None
        function = program.node(method) if method is not None else None
        if method is None or not isinstance(function, ast.FunctionDef) or not function.args.args:
            continue
        bound = bind(call, function.args, ast.Constant(None))
        for i, statement in enumerate(function.body):
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
                continue
            name = statement.targets[0].attr
            if not isinstance(statement.value, ast.Call | ast.Name) or (facts.known and name not in running):
                continue
            at = (*method, "body", i, "value")
            fact = facts.of(at)
            if fact is not None and fact.kind != "module":
                continue
            texts = sources(fact.value, torch, 1) if fact is not None else []
            if not texts and bound is not None:
                rewrite = Rewrite(program)
                for parameter, value in bound.values.items():
                    for use in program.scopes.uses.get(Binding(method, parameter), []):
                        rewrite.replace(use, value)
                texts = [ast.unparse(ast.fix_missing_locations(rewrite.copy(at)))]
            accesses = _accesses(program, path, name)
            for text in texts:
                needed = imports if f"{torch}." in text else ()
                yield Edit(slicer.with_dead(Change(path, text)), needed)
                if accesses:
                    yield Edit(slicer.with_dead(Change(path, text), *accesses), needed)


def _accesses(program: Program, path: Path, name: str) -> list[Change]:
    """The changes that take ``.name`` away from the variable that the object at ``path`` is assigned to."""
    _, statement = program.parent(path)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return []
    ups = [program.parent(use)[0] for use in program.scopes.uses_of((*path[:-1], "targets", 0))]
    nodes = [(up, program.node(up)) for up in ups]
    return [Change(up, target.id) for up, node in nodes if isinstance(node, ast.Attribute) and node.attr == name]


def _running_attributes(program: Program, facts: Facts) -> set[str]:
    """Names of attributes of ``self`` that were being called when the failure was raised."""
    found = set()
    for path, call in program.walk(ast.Call):
        func = call.func
        if in_progress(facts, path) or facts.count(program.statement_of(path)[1]) > 0:
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
                found.add(func.attr)
            for argument in call.args:
                if isinstance(argument, ast.Attribute):
                    found.add(argument.attr)
    return found


@strategy("argument-for-object", tier=Tier.MEDIUM)
def argument_for_object(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put what an object wraps in its place: ``Flat(model)`` -> ``model``, dropping its attribute accesses.

    ``flat.model(x)`` becomes ``flat(x)`` in the same edit, where ``__init__`` has ``self.model = model``.
    """
    slicer = Slicer(program)
    known = classes(program)
    for path, call in program.walk(ast.Call):
        owner = class_called(program, facts, path)
        method = known.methods(owner).get("__init__") if owner is not None else None
        function = program.node(method) if method is not None else None
        up, statement = program.parent(path)
        if owner is None or method is None or not isinstance(function, ast.FunctionDef):
            continue
        bound = bind(call, function.args, ast.Constant(None))
        if bound is None or not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        uses = program.scopes.uses_of((*up, "targets", 0))
        for inner in function.body:
            target = inner.targets[0] if isinstance(inner, ast.Assign) else None
            if not isinstance(inner, ast.Assign) or not isinstance(target, ast.Attribute):
                continue
            value = bound.values.get(inner.value.id) if isinstance(inner.value, ast.Name) else None
            if value is None or not uses:
                continue
            accesses = [program.parent(use)[0] for use in uses]
            nodes = [program.node(a) for a in accesses]
            if all(isinstance(n, ast.Attribute) and n.attr == target.attr for n in nodes):
                changes = [Change(a, statement.targets[0].id) for a in accesses]
                yield Edit(slicer.with_dead(Change(path, program.text(value)), *changes))


STRATEGIES = (
    name_for_expression,
    name_for_function,
    inline_attribute,
    inline_class_constant,
    part_for_object,
    argument_for_object,
)
