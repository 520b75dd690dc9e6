"""Rewriting with scopes: changes that nest, fresh names, and a function's body written out at a call.

Decision: names are followed as bindings, never as text. What is put into another scope has its own names
renamed when they are taken there, so a rewrite changes what is meant only where a strategy wants it to.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shrinkrepro.core.edits import Change, Edit, Path, source_of
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro_strategies.arguments import Bound

FunctionNode = ast.FunctionDef | ast.Lambda
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCK_FIELDS = ("body", "orelse", "finalbody")


def is_simple(node: ast.expr) -> bool:
    """Whether ``node`` may be written several times: a name, a literal, or an access to a part of one."""
    if isinstance(node, ast.Name | ast.Constant):
        return True
    if isinstance(node, ast.Attribute):
        return is_simple(node.value)
    if isinstance(node, ast.Subscript):
        return is_simple(node.value) and isinstance(node.slice, ast.Constant)
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def names_of(*nodes: ast.AST) -> set[str]:
    """Every name that occurs in ``nodes``."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def own_nodes(*nodes: ast.AST) -> Iterator[ast.AST]:
    """What stands in ``nodes`` without entering the definitions inside them."""
    for node in nodes:
        yield node
        if not isinstance(node, DEFINITIONS):
            yield from own_nodes(*ast.iter_child_nodes(node))


def body_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.stmt]:
    """The statements of a definition without its docstring."""
    first = node.body[0]
    docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return node.body[1:] if docstring else node.body


def fresh(name: str, taken: set[str]) -> str:
    """``name``, or ``name`` with a number that is free; it is then taken."""
    new, number = name, 1
    while new in taken:
        new, number = f"{name}{number}", number + 1
    taken.add(new)
    return new


def scope_of(program: Program, path: Path) -> Path:
    """The path of the function, class or module that a statement at ``path`` stands in."""
    for up, node in program.ancestors(path):
        if isinstance(node, DEFINITIONS):
            return up
    return ()


def taken_in(program: Program, scope: Path, without: Path | None = None) -> set[str]:
    """The names that mean something in ``scope``; what only ``without`` (a path) uses does not count."""
    scopes = program.scopes
    taken = scopes.names_in(scope)
    if not scope:
        return taken | {name.id for path, name in program.walk(ast.Name) if scopes.binding(path) is None}
    for binding, uses in scopes.uses.items():
        if binding.scope[: len(scope)] != scope or binding.scope == scope:
            inside = [u for u in uses if u[: len(scope)] == scope]
            if any(without is None or u[: len(without)] != without for u in inside):
                taken.add(binding.name)
    return taken


class Rewrite:
    """Changes of one program that may nest: replacements, deletions, statements put before others."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._nodes: dict[Path, ast.AST | None] = {}
        self._blocks: dict[Path, list[ast.stmt]] = {}
        self._before: dict[Path, list[ast.stmt]] = {}
        self._names: dict[Path, str] = {}
        self.imports: list[str] = []

    def replace(self, path: Path, node: ast.AST) -> None:
        """Put ``node`` in the place of the one at ``path``."""
        self._nodes[path] = node

    def replaced(self, path: Path) -> bool:
        """Whether something else was put at ``path``."""
        return path in self._nodes

    def delete(self, path: Path) -> None:
        """Delete the node at ``path``."""
        self._nodes[path] = None

    def statements(self, path: Path, block: list[ast.stmt]) -> None:
        """Put ``block`` in the place of the statement at ``path``."""
        self._blocks[path] = block

    def before(self, path: Path, block: list[ast.stmt]) -> None:
        """Put ``block`` before the statement at ``path``, which may change itself."""
        self._before.setdefault(path, []).extend(block)

    def merge(self, other: Rewrite) -> None:
        """Make the changes of ``other`` too."""
        self._nodes.update(other._nodes)
        self._blocks.update(other._blocks)
        self._names.update(other._names)
        for path, block in other._before.items():
            self.before(path, block)

    def rename(self, path: Path, name: str) -> None:
        """Give the definition (or except handler) at ``path`` another name."""
        self._names[path] = name

    def copy(self, path: Path) -> ast.AST:
        """The node at ``path`` with the changes below it (and at it)."""
        node = self._nodes.get(path, self)
        if node is None:
            raise KeyError(path)
        return node if isinstance(node, ast.AST) else self._copy(self.program.node(path), path)

    def written(self, path: Path) -> list[ast.stmt]:
        """What stands for the statement at ``path`` after the changes."""
        return self._statement(self.program.node(path), path)

    def edit(self) -> Edit:
        """All the changes as one edit."""
        changes: list[Change] = []
        paths = sorted({*self._nodes, *self._blocks, *self._before}, key=len)
        covered: set[Path] = set()
        for path in paths:
            if any(path[:n] in covered for n in range(len(path) + 1)):
                continue
            covered.add(path)
            if path in self._blocks or path in self._before:
                changes.append(Change(path, source_of(self._statement(self.program.node(path), path))))
            else:
                node = self._nodes[path]
                changes.append(Change(path, None if node is None else source_of(node)))
        return Edit(tuple(sorted(changes, key=lambda c: [str(p).zfill(6) for p in c.path])), tuple(self.imports))

    def _statement(self, node: ast.AST, path: Path) -> list[ast.stmt]:
        if path in self._blocks:
            own = self._blocks[path]
        elif path in self._nodes:
            replaced = self._nodes[path]
            own = [replaced] if isinstance(replaced, ast.stmt) else []
        else:
            copied = self._copy(node, path)
            own = [copied] if isinstance(copied, ast.stmt) else []
        return [*self._before.get(path, []), *own]

    def _copy(self, node: ast.AST, path: Path) -> ast.AST:
        new = copy.copy(node)
        if isinstance(node, ast.arguments):
            return self._arguments(node, path)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                at = (*path, name)
                changed = self._nodes.get(at, self)
                setattr(new, name, self._copy(value, at) if isinstance(changed, Rewrite) else changed)
            elif isinstance(value, list):
                setattr(new, name, self._list(value, (*path, name)))
        if path in self._names:
            new.name = self._names[path]  # type: ignore[attr-defined]
        if isinstance(getattr(new, "body", None), list) and not new.body:  # type: ignore[attr-defined]
            new.body = [ast.Pass()]  # type: ignore[attr-defined]
        return new

    def _list(self, values: list[object], path: Path) -> list[object]:
        result: list[object] = []
        for i, value in enumerate(values):
            at = (*path, i)
            if not isinstance(value, ast.AST):
                result.append(value)
            elif isinstance(value, ast.stmt):
                result.extend(self._statement(value, at))
            else:
                changed = self._nodes.get(at, self)
                if isinstance(changed, Rewrite):
                    result.append(self._copy(value, at))
                elif changed is not None:
                    result.append(changed)
        return result

    def _arguments(self, node: ast.arguments, path: Path) -> ast.arguments:
        new = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                below = Rewrite(self.program)
                below._nodes = {p: n for p, n in self._nodes.items() if n is not None}
                setattr(new, name, below._list(value, (*path, name)))
            elif isinstance(value, ast.arg):
                setattr(new, name, self._nodes.get((*path, name), value))
        positional = [*node.posonlyargs, *node.args]
        first = len(positional) - len(node.defaults)
        gone = {i for i in range(len(positional)) if self._nodes.get(_parameter(node, path, i), self) is None}
        new.posonlyargs = [a for i, a in enumerate(new.posonlyargs) if i not in gone]
        shift = len(node.posonlyargs)
        new.args = [a for i, a in enumerate(new.args) if i + shift not in gone]
        new.defaults = [d for i, d in enumerate(new.defaults) if i + first not in gone]
        kept = [i for i in range(len(node.kwonlyargs)) if self._nodes.get((*path, "kwonlyargs", i), self) is not None]
        new.kwonlyargs = [new.kwonlyargs[i] for i in kept]
        new.kw_defaults = [new.kw_defaults[i] for i in kept]
        return new


def _parameter(node: ast.arguments, path: Path, index: int) -> Path:
    first = len(node.posonlyargs)
    return (*path, "posonlyargs", index) if index < first else (*path, "args", index - first)


@dataclass
class Body:
    """A function's body written out: statements, then the value of the call (None: it is ``None``)."""

    statements: list[ast.stmt]
    result: ast.expr | None


def write_out(
    program: Program,
    path: Path,
    bound: Bound,
    taken: set[str],
    tail: bool = False,
    yields: bool = False,
    also: Mapping[Path, ast.AST | None] | None = None,
) -> Body | None:
    """The body of the function at ``path`` for one call, with its names kept apart from ``taken``.

    With ``tail`` the call is the value of a return statement, and the body's returns stay. With ``yields`` the
    function is a generator, whose yields the caller takes care of. ``also`` are further replacements (None: delete).
    """
    node = program.node(path)
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return None
    statements = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else body_of(node)
    if not yields and any(isinstance(n, ast.Yield | ast.YieldFrom | ast.Await) for n in own_nodes(*statements)):
        return None
    scopes = program.scopes
    rewrite = Rewrite(program)
    for at, new_node in (also or {}).items():
        if new_node is None:
            rewrite.delete(at)
        else:
            rewrite.replace(at, new_node)
    argument_names = names_of(*bound.values.values(), *(v for _, v in bound.unpacked))
    assigned: list[ast.stmt] = []
    renamed: dict[Binding, str] = {}
    substituted: set[str] = set()
    for name, value in bound.values.items():
        binding = Binding(path, name)
        uses = scopes.uses.get(binding, [])
        rebound = len(scopes.definitions.get(binding, [])) > 1
        if not rebound and (is_simple(value) or len(uses) <= 1 or isinstance(node, ast.Lambda)):
            for use in uses:
                rewrite.replace(use, value)
            substituted.add(name)
    for binding in {*scopes.definitions}:
        own = binding.scope == path
        inner = binding.scope[: len(path)] == path and not own
        if (own and binding.name not in substituted and binding.name in taken) or (
            inner and binding.name in argument_names
        ):
            renamed[binding] = fresh(binding.name, taken | argument_names)
    taken.update(renamed.values())
    for binding, new in renamed.items():
        for at in [*scopes.definitions[binding], *scopes.uses.get(binding, [])]:
            _rename(rewrite, at, new)
    for name, value in bound.values.items():
        if name not in substituted:
            target = renamed.get(Binding(path, name), name)
            if not (isinstance(value, ast.Name) and value.id == target):
                assigned.append(ast.Assign([ast.Name(target, ast.Store())], value))
    for names, value in bound.unpacked:
        targets: list[ast.expr] = [ast.Name(renamed.get(Binding(path, n), n), ast.Store()) for n in names]
        assigned.append(ast.Assign([ast.Tuple(targets, ast.Store())], value))
    if isinstance(node, ast.Lambda):
        written = rewrite.copy((*path, "body"))
        return Body(assigned, written) if isinstance(written, ast.expr) else None
    skipped = len(node.body) - len(statements)
    block: list[ast.stmt] = []
    for i, statement in enumerate(statements, skipped):
        if not isinstance(statement, ast.Global | ast.Nonlocal):
            block.extend(rewrite.written((*path, "body", i)))
    if tail:
        return Body([*assigned, *block], None)
    return _leave(assigned, block, taken)


def _leave(assigned: list[ast.stmt], block: list[ast.stmt], taken: set[str]) -> Body:
    returns = [n for n in own_nodes(*block) if isinstance(n, ast.Return)]
    last = block[-1] if block else None
    if not returns:
        return Body([*assigned, *block], None)
    if isinstance(last, ast.Return) and returns == [last]:
        return Body([*assigned, *block[:-1]], last.value)
    name = fresh("result", taken)
    return Body([*assigned, *_single_exit(block, name, False)], ast.Name(name, ast.Load()))


def _single_exit(block: list[ast.stmt], name: str, loop: bool) -> list[ast.stmt]:
    """``block`` with each return made an assignment; what follows a branch that returns becomes its else."""
    result: list[ast.stmt] = []
    for i, statement in enumerate(block):
        if isinstance(statement, ast.Return):
            value = statement.value or ast.Constant(None)
            result.append(ast.Assign([ast.Name(name, ast.Store())], value))
            if loop:
                result.append(ast.Break())
            return result
        inside = any(isinstance(n, ast.Return) for n in own_nodes(statement)) and not isinstance(statement, DEFINITIONS)
        if not inside:
            result.append(statement)
            continue
        new = copy.copy(statement)
        if isinstance(new, ast.If):
            rest = block[i + 1 :]
            ends = isinstance(new.body[-1], ast.Return)
            new.body = _single_exit(new.body, name, loop)
            new.orelse = _single_exit([*new.orelse, *rest] if ends else new.orelse, name, loop)
            result.append(new)
            if ends:
                return result
            continue
        within = loop or isinstance(new, ast.For | ast.While)
        for field in _BLOCK_FIELDS:
            if getattr(new, field, None):
                setattr(new, field, _single_exit(getattr(new, field), name, within))
        result.append(new)
    return result


def _rename(rewrite: Rewrite, at: Path, new: str) -> None:
    node = rewrite.program.node(at)
    changed = copy.copy(node)
    if isinstance(changed, ast.Name):
        changed.id = new
    elif isinstance(changed, ast.arg):
        changed.arg = new
    elif isinstance(changed, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
        rewrite.rename(at, new)
        return
    elif isinstance(changed, ast.alias):
        changed.asname = new
    else:
        return
    rewrite.replace(at, changed)
