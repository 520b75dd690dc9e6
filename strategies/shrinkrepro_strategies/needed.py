"""What the failure needs: a backward slice from the last statement that ran in each block.

Decision: a block is taken to have run for the sake of the last statement in it that ran (the one that failed, or the
result), and of what stores into attributes, elements and names that kept statements read. One query judges the
whole cut, so the slice may be wrong; a second edit keeps the calls that may change an object in place.
Source: Weiser 1981, Agrawal and Horgan 1990 (slices along dependences that one run exercised).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shrinkrepro.core.edits import Edit, Path, delete
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.blocks import DEFINITIONS, FUNCTIONS, is_docstring, is_report, reached, statement_lists
from shrinkrepro_strategies.liveness import outermost

# Methods that a library or the language calls: they are needed with their class.
_HOOKS = frozenset({"forward", "backward", "setup_context", "jvp", "vmap"})
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)


class _Needed:
    """The statements to keep, grown from roots to a fixed point.

    ``care``: 0 takes no call to change an object in place, 1 the method calls that are statements, 2 every call, of
    its receiver and its arguments.
    """

    def __init__(self, program: Program, facts: Facts, *, care: int) -> None:
        self.program = program
        self.facts = facts
        self.care = care
        self.kept: set[Path] = set()
        self.bindings: set[Binding] = set()
        self.attributes: set[str] = set()
        self.stores: dict[str, list[Path]] = {}
        self.elements: dict[Binding, list[Path]] = {}
        self.methods: dict[str, list[Path]] = {}
        self.stored: dict[Path, list[Binding]] = {}
        self._collect()
        self.keep_last(program.tree.body, ("body",))

    def _collect(self) -> None:
        """Where attributes, elements and methods are stored, and what may change an object in place."""
        for binding, paths in self.program.scopes.definitions.items():
            for path in paths:
                if isinstance(self.program.node(path), ast.Name):
                    self.stored.setdefault(self.program.statement_of(path)[0], []).append(binding)
        for path, node in self.program.walk(ast.expr):
            if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                statement = self.program.statement_of(path)[0]
                if isinstance(node, ast.Attribute):
                    self.stores.setdefault(node.attr, []).append(statement)
                else:
                    self._changes(node.value, (*path, "value"), statement)
        for path, call in self.program.walk(ast.Call):
            statement, holder = self.program.statement_of(path)
            if self.care == 0 or isinstance(holder, DEFINITIONS) or is_report(call):
                continue
            if isinstance(call.func, ast.Attribute) and (self.care > 1 or isinstance(holder, ast.Expr)):
                self._changes(call.func.value, (*path, "func", "value"), statement)
            if self.care > 1:
                for i, argument in enumerate(call.args):
                    self._changes(argument, (*path, "args", i), statement)
        for path, definition in self.program.walk(*DEFINITIONS):
            if isinstance(self.program.parent(path)[1], ast.ClassDef):
                self.methods.setdefault(definition.name, []).append(path)

    def _changes(self, holder: ast.expr, path: Path, statement: Path) -> None:
        while isinstance(holder, ast.Attribute | ast.Subscript):
            if isinstance(holder, ast.Attribute):
                self.stores.setdefault(holder.attr, []).append(statement)
            path, holder = (*path, "value"), holder.value
        binding = self.program.scopes.binding(path) if isinstance(holder, ast.Name) else None
        if binding is not None:
            self.elements.setdefault(binding, []).append(statement)

    def keep_last(self, body: Sequence[ast.stmt], at: Path) -> None:
        """Keep the last statement of a block that ran, and what jumps out of it."""
        ran = [i for i, s in enumerate(body) if not isinstance(s, DEFINITIONS) and reached(s, self.facts)]
        for i, following in zip(ran, [*ran[1:], None]):
            # where fewer turns of a loop came to the next statement, one of them failed in this one, or left
            left = following is None and not self._only_stores((*at, i), body[i])
            left = left or (following is not None and self._turns(body[i]) > self._turns(body[following]))
            if left or isinstance(body[i], _JUMPS) or _calls_super(body[i]):
                self.keep((*at, i))
        for i in ran:
            if not isinstance(body[i], (*DEFINITIONS, ast.Return)):
                for path, node in self._inner_jumps((*at, i), body[i]):
                    if reached(node, self.facts):
                        self.keep(path)

    def _only_stores(self, path: Path, node: ast.stmt) -> bool:
        """Whether ``node`` was seen to store its value: it did not fail, and it is needed if what it stores is."""
        seen = isinstance(node, ast.Assign) and (
            isinstance(node.value, ast.Constant) or self.facts.of((*path, "value")) is not None
        )
        return seen and len(path) > 2

    def _turns(self, node: ast.stmt) -> int:
        return self.facts.count(ast.Pass(lineno=node.lineno, end_lineno=node.lineno, col_offset=0, end_col_offset=0))

    def _inner_jumps(self, path: Path, node: ast.stmt) -> Iterator[tuple[Path, ast.stmt]]:
        for field, body in statement_lists(node):
            for i, inner in enumerate(body):
                at = (*path, field, i)
                if isinstance(inner, _JUMPS) or (isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Yield)):
                    yield at, inner
                elif not isinstance(inner, DEFINITIONS):
                    yield from self._inner_jumps(at, inner)

    def keep(self, path: Path) -> None:
        """Keep the statement at ``path``, what holds it, and what it reads."""
        if path in self.kept:
            return
        self.kept.add(path)
        node = self.program.node(path)
        assert isinstance(node, ast.stmt)
        for up, holder in self.program.ancestors(path):
            if isinstance(holder, ast.stmt):
                self.keep(up)
                break
        self._keep_inside(path, node)
        inner = [f for f, _ in statement_lists(node)]
        for field, value in ast.iter_fields(node):
            if field in inner:
                continue
            for i, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.AST):
                    self._read((*path, field, i) if isinstance(value, list) else (*path, field), child)

    def _keep_inside(self, path: Path, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            for i, inner in enumerate(node.body):
                if isinstance(inner, FUNCTIONS):
                    wanted = inner.name in _HOOKS or inner.name in self.attributes or inner.name.startswith("__")
                    if wanted and (self.facts.ran(inner) or inner.name in _HOOKS):
                        self.keep((*path, "body", i))
                elif not is_docstring(inner):
                    self.keep((*path, "body", i))
            return
        for field, body in statement_lists(node):
            self.keep_last(body, (*path, field))
        for i, handler in enumerate(getattr(node, "handlers", ())):
            self.keep_last(handler.body, (*path, "handlers", i, "body"))
        for i, case in enumerate(getattr(node, "cases", ())):
            self.keep_last(case.body, (*path, "cases", i, "body"))

    def _read(self, path: Path, node: ast.AST) -> None:
        stack: list[tuple[Path, ast.AST]] = [(path, node)]
        while stack:
            at, current = stack.pop()
            if isinstance(current, ast.Name):
                binding = self.program.scopes.binding(at)
                if binding is not None:
                    self._need(binding)
            elif isinstance(current, ast.Attribute) and current.attr not in self.attributes:
                self.attributes.add(current.attr)
                for statement in (*self.stores.get(current.attr, ()), *self.methods.get(current.attr, ())):
                    self._keep_if_ran(statement)
            if isinstance(current, ast.ExceptHandler | ast.match_case):
                continue
            for field, value in ast.iter_fields(current):
                for i, child in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.AST):
                        stack.append(((*at, field, i) if isinstance(value, list) else (*at, field), child))

    def _need(self, binding: Binding) -> None:
        if binding in self.bindings:
            return
        self.bindings.add(binding)
        for path in self.program.scopes.definitions.get(binding, ()):
            if isinstance(self.program.node(path), ast.arg):
                continue
            self._keep_if_ran(self.program.statement_of(path)[0])
        for path in self.elements.get(binding, ()):
            self._keep_if_ran(path)
            if self.care > 1:
                for target in self.stored.get(path, ()):
                    self._need(target)

    def _keep_if_ran(self, path: Path) -> None:
        node = self.program.node(path)
        assert isinstance(node, ast.stmt)
        if isinstance(node, DEFINITIONS) or reached(node, self.facts):
            self.keep(path)


def _calls_super(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and isinstance(node.value.func.value, ast.Call)
        and isinstance(node.value.func.value.func, ast.Name)
        and node.value.func.value.func.id == "super"
    )


@strategy("keep-needed", tier=Tier.COARSE)
def keep_needed(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete everything that the failure does not seem to depend on, in one edit.

    First as if no call changed an object in place, then with the method calls and at last all calls kept that may.
    """
    if not facts.known:
        return
    for care in (0, 1, 2):
        kept = _Needed(program, facts, care=care).kept
        gone = outermost(
            path
            for path, node in program.walk(ast.stmt)
            if path not in kept and not isinstance(node, ast.Pass) and not is_docstring(node)
        )
        if gone:
            yield delete(*gone)
