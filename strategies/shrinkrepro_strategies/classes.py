"""Classes: an object becomes variables and functions, a base class goes into the class below it.

Decision: an object is taken apart where it is made. Its attributes become variables there, its methods functions
beside them, and a callable object becomes the function that it was called for, under its own name, so that no
other use has to change.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

from shrinkrepro.core.edits import Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, last_name
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.arguments import Bound, bare, bind
from shrinkrepro_strategies.callees import classes, decorators, is_super
from shrinkrepro_strategies.rewriting import Rewrite, body_of, fresh, own_nodes, scope_of, taken_in, write_out

# Bases without which a class does the same for one object that is taken apart.
_PLAIN_BASES = frozenset({"object", "Module", "ABC", "Protocol", "Generic", "NamedTuple"})


@dataclass
class _Apart:
    """One class, as its only object needs it: functions by name, variables, and what the names become."""

    program: Program
    path: Path
    methods: dict[str, Path] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    fields: list[tuple[str, ast.expr | None]] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    changes: dict[Path, ast.AST | None] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)

    def read(self) -> bool:
        """Find out what the class consists of; False when it is more than can be taken apart."""
        known = classes(self.program)
        chain = [self.path]
        for path in chain:
            node = known.nodes[path]
            own = known.bases(path)
            if len(own) != len([b for b in node.bases if _last(b) not in _PLAIN_BASES]) or node.keywords:
                return False
            chain.extend(own)
            record = "dataclass" in decorators(node) or any(_last(b) == "NamedTuple" for b in node.bases)
            for statement in body_of(node):
                if isinstance(statement, ast.FunctionDef):
                    self.methods.setdefault(statement.name, (*self.program.paths[id(statement)],))
                elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    if record:
                        self.fields.append((statement.target.id, statement.value))
                    elif statement.value is not None:
                        self.constants.setdefault(statement.target.id, statement.value)
                elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    self.constants.setdefault(statement.targets[0].id, statement.value)
                elif not isinstance(statement, ast.Pass | ast.Expr):
                    return False
        self.stored.update(self.constants, (name for name, _ in self.fields))
        for method in self.methods.values():
            self._stores(method)
        return True

    def _stores(self, method: Path) -> None:
        for path, node in self.program.walk(ast.Attribute, ast.Call):
            if path[: len(method)] != method:
                continue
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and self.is_own(method, node.value):
                self.stored.add(node.attr)
            elif isinstance(node, ast.Call) and (name := _registered(node)) is not None:
                self.stored.add(name)

    def is_own(self, method: Path, node: ast.expr) -> bool:
        """Whether ``node`` is the first parameter of ``method``."""
        function = self.program.node(method)
        assert isinstance(function, ast.FunctionDef)
        if "staticmethod" in decorators(function) or not function.args.args:
            return False
        return isinstance(node, ast.Name) and node.id == function.args.args[0].arg

    def callable(self) -> str | None:
        """The method that a call of the object runs."""
        return next((name for name in ("__call__", "forward") if name in self.methods), None)

    def use(self, name: str) -> bool:
        """Note that the method ``name`` is needed, and what it needs; False when it cannot be had."""
        if name in self.used:
            return True
        method = self.methods[name]
        function = self.program.node(method)
        assert isinstance(function, ast.FunctionDef)
        if decorators(function) - {"staticmethod", "property", "abstractmethod", "no_grad", "override"}:
            return False
        self.used.append(name)
        return self.change(method)

    def change(self, method: Path) -> bool:
        """Note what becomes of each ``self`` in ``method``; False when one is used as a whole."""
        for path, node in self.program.walk(ast.Name, ast.Expr):
            if path[: len(method)] != method:
                continue
            if isinstance(node, ast.Expr):
                if self._is_initialisation(node.value):
                    self.changes[path] = None
                elif isinstance(node.value, ast.Call) and (name := _registered(node.value)) is not None:
                    value = node.value.args[1]
                    self.changes[path] = ast.Assign([ast.Name(self.names.get(name, name), ast.Store())], value)
                continue
            up, parent = self.program.parent(path)
            if not self.is_own(method, node) or any(path[:n] in self.changes for n in range(len(path))):
                continue
            if isinstance(parent, ast.arg | ast.arguments):
                continue
            if not isinstance(parent, ast.Attribute) or not self.attribute(up, parent):
                return False
        return not any(is_super(n) for n in self._left(method))

    def _left(self, method: Path) -> Iterator[ast.AST]:
        for path, node in self.program.walk(ast.Call):
            if path[: len(method)] == method and not any(path[:n] in self.changes for n in range(len(path))):
                yield node

    def _is_initialisation(self, node: ast.expr) -> bool:
        """``super().__init__()`` of a base that is not the program's."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "__init__":
            return False
        above = classes(self.program).bases(self.path)
        return is_super(node.func.value) and not any(classes(self.program).method(b, "__init__") for b in above)

    def attribute(self, path: Path, node: ast.Attribute) -> bool:
        """Note what the attribute access at ``path`` becomes; False when it is nothing that the class defines."""
        name = node.attr
        if name in self.stored:
            self.changes[path] = ast.Name(self.names.get(name, name), node.ctx)
            return True
        if name not in self.methods or not isinstance(node.ctx, ast.Load):
            return False
        new: ast.expr = ast.Name(self.names.get(name, name), ast.Load())
        function = self.program.node(self.methods[name])
        assert isinstance(function, ast.FunctionDef)
        self.changes[path] = ast.Call(new, [], []) if "property" in decorators(function) else new
        return self.use(name)


@strategy("take-object-apart", tier=Tier.MEDIUM)
def take_object_apart(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make the attributes of a class's only object variables and its methods functions, and drop the class.

    An object that is called becomes a function of its name. Records (dataclass, NamedTuple) are taken apart too.
    """
    for path, _ in program.walk(ast.ClassDef):
        uses = program.scopes.uses_of(path)
        outside = [use for use in uses if use[: len(path)] != path and not _in_annotation(program, use)]
        if len(outside) != 1:
            continue
        call_path, call = program.parent(outside[0])
        if not isinstance(call, ast.Call) or outside[0] != (*call_path, "func"):
            continue
        edit = _taken_apart(program, path, call_path, call)
        if edit is not None:
            yield edit


def _taken_apart(program: Program, path: Path, call_path: Path, call: ast.Call) -> Edit | None:
    apart = _Apart(program, path)
    if not apart.read():
        return None
    at, statement = program.statement_of(call_path)
    if program.enclosing(call_path, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp):
        return None
    scope = scope_of(program, at)
    named = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and call_path == (*at, "value")
    taken = taken_in(program, scope, path) | _bound_below(program, path)
    target: Path | None = None
    if named:
        assert isinstance(statement, ast.Assign)
        if not isinstance(statement.targets[0], ast.Name):
            return None
        target = (*at, "targets", 0)
        binding = program.scopes.binding(target)
        if binding is None or len(program.scopes.definitions[binding]) != 1:
            return None
        name = statement.targets[0].id
        accesses = program.scopes.uses.get(binding, [])
    else:
        name = fresh(_last(call.func).lower(), taken)
        up, parent = program.parent(call_path)
        accesses = []
        if not isinstance(parent, ast.Attribute) and apart.callable() is None:
            return None
    for member in sorted({*apart.stored, *apart.methods}):
        apart.names[member] = fresh(member, taken) if member != apart.callable() else name
    rewrite = Rewrite(program)
    for use in accesses:
        up, parent = program.parent(use)
        if isinstance(parent, ast.Attribute) and apart.attribute(up, parent):
            continue
        if apart.callable() is None or isinstance(parent, ast.Attribute) or not apart.use(apart.callable() or ""):
            return None
    if not named:
        up, parent = program.parent(call_path)
        if isinstance(parent, ast.Attribute):
            if not apart.attribute(up, parent):
                return None
        else:
            apart.changes[call_path] = ast.Name(name, ast.Load())
            if not apart.use(apart.callable() or ""):
                return None
    made = _made(apart, call, name, taken)
    if made is None:
        return None
    block = [*made, *_functions(apart, scope)]
    outer = {p: n for p, n in apart.changes.items() if p[: len(path)] != path}
    for place, new in outer.items():
        if new is not None:
            rewrite.replace(place, new)
    rewrite.delete(path)
    if named:
        rewrite.statements(at, block or [ast.Pass()])
    else:
        rewrite.before(at, block)
    return rewrite.edit()


def _made(apart: _Apart, call: ast.Call, name: str, taken: set[str]) -> list[ast.stmt] | None:
    """The statements that make the object's variables."""
    block: list[ast.stmt] = []
    for constant, value in apart.constants.items():
        block.append(_assign(apart.names[constant], value))
    if apart.fields and "__init__" not in apart.methods:
        bound = bind(call, _record_arguments(apart.fields))
        if bound is None or bound.unpacked:
            return None
        block.extend(_assign(apart.names[f], _default(bound.values[f])) for f, _ in apart.fields)
        if "__post_init__" in apart.methods:
            return None
        return block
    if "__init__" not in apart.methods:
        return block if not call.args and not call.keywords else None
    method = apart.methods["__init__"]
    function = apart.program.node(method)
    assert isinstance(function, ast.FunctionDef)
    if not apart.change(method):
        return None
    bound = bind(call, function.args, ast.Name(name, ast.Load()))
    if bound is None:
        return None
    taken |= set(apart.names.values())
    own = Bound(bound.values, bound.unpacked)
    body = write_out(apart.program, method, own, taken, also=apart.changes)
    if body is None or body.result is not None:
        return None
    return [*block, *body.statements]


def _functions(apart: _Apart, scope: Path) -> list[ast.stmt]:
    """The methods that are needed, as functions."""
    block: list[ast.stmt] = []
    rewrite = Rewrite(apart.program)
    for place, new in apart.changes.items():
        if new is None:
            rewrite.delete(place)
        else:
            rewrite.replace(place, new)
    for name in apart.used:
        method = apart.methods[name]
        written = rewrite.copy(method)
        assert isinstance(written, ast.FunctionDef)
        written = copy.copy(written)
        static = "staticmethod" in decorators(written)
        written.decorator_list = [d for d in written.decorator_list if _last(d) not in ("staticmethod", "property")]
        written.name, written.returns = apart.names[name], None
        if not static:
            written.args = bare(written.args)
            written.args.args = written.args.args[1:]
        changed = sorted(
            {
                n.id
                for n in own_nodes(*written.body)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id in apart.names.values()
            }
        )
        if changed:
            declaration = ast.Nonlocal(changed) if scope else ast.Global(changed)
            written.body = [declaration, *written.body]
        block.append(written)
    return block


def _record_arguments(fields: list[tuple[str, ast.expr | None]]) -> ast.arguments:
    defaults = [value for _, value in fields if value is not None]
    return ast.arguments([], [ast.arg(name) for name, _ in fields], None, [], [], None, defaults)


def _default(value: ast.expr) -> ast.expr:
    """What a record's field gets from its default: the factory's call, or the value."""
    if isinstance(value, ast.Call) and _last(value.func) == "field":
        for keyword in value.keywords:
            if keyword.arg == "default_factory":
                return ast.Call(keyword.value, [], [])
            if keyword.arg == "default":
                return keyword.value
    return value


def _registered(node: ast.Call) -> str | None:
    """The name that ``self.register_buffer("name", value)`` gives."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("register_buffer", "register_parameter"):
        first = node.args[0] if len(node.args) > 1 else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first.value
    return None


def _bound_below(program: Program, path: Path) -> set[str]:
    return {b.name for b in program.scopes.definitions if b.scope[: len(path)] == path and len(b.scope) > len(path)}


def _in_annotation(program: Program, path: Path) -> bool:
    return "annotation" in path or "returns" in path


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    if isinstance(node, ast.Call):
        return _last(node.func)
    return last_name(node)


@strategy("merge-base-class", tier=Tier.MEDIUM)
def merge_base_class(program: Program, facts: Facts) -> Iterator[Edit]:
    """Move what a base class has into its only subclass, and drop the base class."""
    known = classes(program)
    for path, node in known.nodes.items():
        for base in known.bases(path):
            if len([u for u in program.scopes.uses_of(base) if not _in_annotation(program, u)]) != 1:
                continue
            above = known.nodes[base]
            own = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
            inherited = [s for s in body_of(above) if not (isinstance(s, ast.FunctionDef) and s.name in own)]
            written = copy.copy(node)
            position = next(i for i, b in enumerate(node.bases) if isinstance(b, ast.Name) and b.id == above.name)
            written.bases = [*node.bases[:position], *above.bases, *node.bases[position + 1 :]]
            written.body = [*(s for s in inherited if not isinstance(s, ast.Pass)), *node.body]
            written.decorator_list = [*node.decorator_list, *above.decorator_list][:1]
            rewrite = Rewrite(program)
            rewrite.statements(path, [written])
            rewrite.delete(base)
            yield rewrite.edit()


@strategy("drop-namespace", tier=Tier.MEDIUM)
def drop_namespace(program: Program, facts: Facts) -> Iterator[Edit]:
    """Move what a class without objects holds out of it: ``C.f(x)`` becomes ``f(x)``."""
    for path, node in program.walk(ast.ClassDef):
        uses = program.scopes.uses_of(path)
        if not uses or node.bases or node.decorator_list:
            continue
        accesses = [program.parent(use)[0] for use in uses]
        if not all(isinstance(program.node(a), ast.Attribute) for a in accesses):
            continue
        body = body_of(node)
        functions = [s for s in body if isinstance(s, ast.FunctionDef)]
        if not all("staticmethod" in decorators(f) for f in functions):
            continue
        rewrite = Rewrite(program)
        lifted = [copy.copy(s) for s in body]
        for statement in lifted:
            if isinstance(statement, ast.FunctionDef):
                statement.decorator_list = [d for d in statement.decorator_list if _last(d) != "staticmethod"]
        rewrite.statements(path, lifted)
        if any(a[: len(path)] == path for a in accesses):
            continue
        for access in accesses:
            attribute = program.node(access)
            assert isinstance(attribute, ast.Attribute)
            rewrite.replace(access, ast.Name(attribute.attr, attribute.ctx))
        yield rewrite.edit()


STRATEGIES = (take_object_apart, merge_base_class, drop_namespace)
