"""Hoists: an expression of an inner scope, with all that it needs, written down at module level.

Decision: operands are written as literals from facts, functions that transforms made as their transforms, and only what
neither can say is kept as code of the module; so what led to the expression is not needed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import Description, ExprFact, Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.scopes import Binding
from shrinkrepro_strategies.calls import callee, calls_of, transform_name
from shrinkrepro_strategies.descriptions import plain, sources
from shrinkrepro_strategies.frames import running
from shrinkrepro_strategies.made import made, transforms_of
from shrinkrepro_strategies.provenance import Provenance

_DEPTH = 12  # definitions that are followed to write one operand down


class Hoist:
    """Writes expressions of inner scopes down at module level.

    ``lines`` must stand before them; ``kept`` are the statements of the module that they need, with their new text
    where it is simpler. ``given``: what a transformed function is called with becomes literal even where another
    transform made it, and so do shapes. ``turn``: the evaluation whose values are taken, -1 for the last.
    """

    def __init__(
        self,
        program: Program,
        facts: Facts,
        torch: str,
        spelling: int = 0,
        live: Provenance | None = None,
        under_way: list[Path] | None = None,
        given: bool = False,
        turn: int = 0,
    ) -> None:
        self._turn = turn
        self._plain = any(full == "torch.set_default_dtype" for _, _, full in calls_of(program, "torch.set_default"))
        self.program, self.facts, self.torch, self.spelling, self.live = program, facts, torch, spelling, live
        self.lines: list[str] = []
        self.kept: dict[Path, str | None] = {}
        self._done: dict[Binding, str | None] = {}
        self._calls = running(program, facts) if under_way is None else under_way  # calls that parameters come from
        self._roots: tuple[Path, ...] = ()
        self._given, self._inside = given, False  # whether inputs of transforms may be literals whatever made them

    def expression(
        self, path: Path, leaf: Callable[[Path, ExprFact], str | None] | None = None, depth: int = 0
    ) -> str | None:
        """Text of the expression at ``path`` with literals for its operands; None when one cannot be written down."""
        before, self._roots = self._roots, (*self._roots, path)
        whole = leaf is None or path in self._calls
        node = self._rewritten(path, leaf, depth, top=whole and (depth == 0 or self.live is not None))
        self._roots = before
        return None if node is None else ast.unparse(ast.fix_missing_locations(node))

    def _rewritten(
        self, path: Path, leaf: Callable[[Path, ExprFact], str | None] | None, depth: int, top: bool = False
    ) -> ast.AST | None:
        node = self.program.node(path)
        fact = self.facts.of(path)
        display = leaf is not None and isinstance(node, ast.Tuple | ast.List | ast.Dict)  # its elements are asked
        plain_node = isinstance(node, ast.Constant) or display
        if isinstance(node, ast.expr) and not top and fact is not None and not plain_node:
            text = leaf(path, fact) if leaf is not None else None
            text = text or self._literal(path, fact)
            if text is not None:
                return parse_expression(text)
        if fact is not None and fact.kind == "function" and isinstance(node, ast.expr) and not top:
            spelled = isinstance(node, ast.Call) and transform_name(callee(self.program, path)) is not None
            found = self._made(fact, depth) if not spelled else None
            if found is not None:
                return found
        if isinstance(node, ast.Name):
            return node if self._name(path, depth) else None
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return node if self._needs(path, depth) else None  # what runs inside has values of its own
        new = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop):
                continue
            before, self._inside = self._inside, self._inside or self._enters(path, node, name)
            if isinstance(value, ast.AST):
                below = self._rewritten((*path, name), leaf, depth)
                if below is None:
                    return None
                setattr(new, name, below)
            elif isinstance(value, list):
                items = []
                for i, item in enumerate(value):
                    below = self._rewritten((*path, name, i), leaf, depth) if isinstance(item, ast.AST) else item
                    if below is None and item is not None:
                        return None
                    items.append(below)
                setattr(new, name, items)
            self._inside = before
        return new

    def _enters(self, path: Path, node: ast.AST, field: str) -> bool:
        """Whether the ``field`` of the call at ``path`` holds what a transformed function is called with."""
        if not self._given or self.live is None or not isinstance(node, ast.Call) or field == "func":
            return False
        seen = self.facts.of((*path, "func"))
        made_here = seen is not None and bool(transforms_of(self._value(seen)))
        return made_here or self.live.transformed((*path, "func"))

    def _value(self, fact: ExprFact) -> Description:
        return fact.at(self._turn)

    def _made(self, fact: ExprFact, depth: int) -> ast.expr | None:
        """The transforms that made the function seen, written anew; None where it is none that transforms made."""
        found = made(self.program, self.facts, self._value(fact))
        if found is None:
            return None
        for node in ast.walk(parse_expression(found.function)):
            if isinstance(node, ast.Name):
                binding = self.program.scopes.lookup((), node.id)
                if binding is not None and not self._bound(binding, depth + 1):
                    return None
        return parse_expression(found.text(self.torch))

    def _literal(self, path: Path, fact: ExprFact) -> str | None:
        if fact.kind not in ("tensor", "seq", "dict", "const", "module"):
            return None
        free = self._inside or (self._given and _is_form(self.program.node(path)))
        if self.live is not None and not free and self.live.transformed(path):
            return None
        value = self._value(fact)
        texts = sources(plain(value) if self._plain else value, self.torch, 4)
        return texts[min(self.spelling, len(texts) - 1)] if texts else None

    def _name(self, path: Path, depth: int) -> bool:
        """Make the name at ``path`` mean the same at module level; whether that is possible."""
        binding = self.program.scopes.binding(path)
        return binding is None or self._bound(binding, depth)

    def _bound(self, binding: Binding, depth: int) -> bool:
        if binding in self._done:
            return self._done[binding] is not None
        if any(binding.scope[: len(root)] == root for root in self._roots):
            return True  # a parameter of what is written down as a whole
        self._done[binding] = binding.name
        if depth > _DEPTH:
            return False
        definitions = self.program.scopes.definitions.get(binding, [])
        if binding.scope == () and all(self.program.statement_of(d)[0] == d[:2] for d in definitions):
            return self._module_name(binding, depth)
        text = self._seen(binding)
        if text is not None:
            self.lines.append(f"{binding.name} = {text}")
            return True
        if len(definitions) == 1 and self._definition(definitions[0], binding, depth):
            return True
        self._done[binding] = None
        return False

    def _module_name(self, binding: Binding, depth: int) -> bool:
        for definition in self.program.scopes.definitions.get(binding, []):
            statement = definition[:2]
            if isinstance(self.program.node(statement), ast.Import | ast.ImportFrom) or statement in self.kept:
                continue
            self.kept[statement] = None
            if not self._users(statement, binding, depth):
                return False
            if self._simplified(statement, definition, binding, depth):
                continue
            if not self._needs(statement, depth):
                return False
        return True

    def _users(self, path: Path, binding: Binding, depth: int) -> bool:
        """Keep what fills a container of the module: functions that put something in, and what they decorate."""
        statement = self.program.node(path)
        filled = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict | ast.List | ast.Set)
        if isinstance(statement, ast.FunctionDef):
            uses = [u for u in self.program.scopes.uses.get(binding, []) if "decorator_list" in u]
        else:
            uses = [u for u in self.program.scopes.uses.get(binding, []) if filled and self._fills(u)]
        for use in uses:
            other = use[:2]
            node = self.program.node(other)
            if other in self.kept or not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            self.kept[other] = None
            inner = self.program.scopes.binding(other)
            if not self._needs(other, depth + 1) or (inner is not None and not self._users(other, inner, depth + 1)):
                return False
        return True

    def _fills(self, use: Path) -> bool:
        """Whether the container at ``use`` gets an item there, or is handed on to what may give it one."""
        up, node = self.program.parent(use)
        while isinstance(node, ast.Subscript) and use == (*up, "value"):
            if isinstance(node.ctx, ast.Store):
                return True
            use, (up, node) = up, self.program.parent(up)
        if isinstance(node, ast.Attribute):
            above, call = self.program.parent(up)
            _, statement = self.program.parent(above)
            return isinstance(call, ast.Call) and (isinstance(statement, ast.Expr) or node.attr == "setdefault")
        return isinstance(node, ast.Call | ast.Return | ast.keyword)

    def _simplified(self, path: Path, definition: Path, binding: Binding, depth: int) -> bool:
        """Whether the assignment at ``path`` of the module can be written with literals."""
        statement = self.program.node(path)
        if not isinstance(statement, ast.Assign) or definition != (*path, "targets", 0):
            return False
        text = self._seen(binding)
        if text is None:
            text = self.expression((*path, "value"), None, depth + 1)
        if text is not None:
            self.kept[path] = f"{binding.name} = {text}"
        return text is not None

    def _seen(self, binding: Binding) -> str | None:
        """A literal for what ``binding`` was seen to be at its uses, the last one first: it may be set anew."""
        uses = self.program.scopes.uses.get(binding, [])
        seen = [(fact.order, use, fact) for use in uses for fact in [self.facts.of(use)] if fact is not None]
        for _, use, fact in sorted(seen, key=lambda item: -item[0]):
            text = self._literal(use, fact)
            if text is not None:
                return text
        return None

    def _needs(self, root: Path, depth: int) -> bool:
        """Make all names that the statement at ``root`` reads from outside mean the same."""
        before, self._roots = self._roots, (*self._roots, root)
        try:
            return all(
                self._name(self.program.paths[id(node)], depth + 1)
                for node in ast.walk(self.program.node(root))
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            )
        finally:
            self._roots = before

    def _definition(self, path: Path, binding: Binding, depth: int) -> bool:
        node = self.program.node(path)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not self._needs(path, depth):
                return False
            self.lines.append(self.program.text(node))
            return True
        if isinstance(node, ast.arg):
            argument = self._argument(path, binding)
            text = self.expression(argument, None, depth + 1) if argument is not None else None
            if text is None:
                return False
            if text != binding.name:
                self.lines.append(f"{binding.name} = {text}")
            return True
        at, statement = self.program.statement_of(path)
        if isinstance(statement, ast.Assign) and path[: len(at) + 2] == (*at, "targets", 0):
            text = self.expression((*at, "value"), None, depth + 1)
            if text is None:
                return False
            for other in self.program.scopes.names_in(binding.scope):
                if other in _stored(statement.targets[0]):
                    self._done[Binding(binding.scope, other)] = other
            self.lines.append(f"{self.program.text(statement.targets[0])} = {text}")
            return True
        return False

    def _argument(self, path: Path, binding: Binding) -> Path | None:
        """Path of what the running call passes for the parameter at ``path``."""
        function = self.program.node(binding.scope)
        if not isinstance(function, ast.FunctionDef) or path[-2] != "args":
            return None
        index = path[-1]
        assert isinstance(index, int)
        for at in self._calls:
            call = self.program.node(at)
            if not isinstance(call, ast.Call) or any(isinstance(a, ast.Starred) for a in call.args):
                continue
            fact = self.facts.of((*at, "func"))
            line = fact.value.get("line") if fact is not None and fact.kind == "function" else None
            if line != function.lineno and line not in [d.lineno for d in function.decorator_list]:
                continue
            place = index
            if isinstance(self.program.parent(binding.scope)[1], ast.ClassDef) and isinstance(call.func, ast.Attribute):
                if index == 0:
                    return (*at, "func", "value")
                place = index - 1
            if place < len(call.args):
                return (*at, "args", place)
            for k, word in enumerate(call.keywords):
                if word.arg == binding.name:
                    return (*at, "keywords", k, "value")
        return None


_FORM = frozenset({"shape", "size", "numel", "dim", "ndim", "dtype", "device"})


def _is_form(node: ast.AST) -> bool:
    """Whether the expression gives a tensor's shape, a size or a dtype, which no transform gets wrong by its values."""
    while isinstance(node, ast.Subscript | ast.Call):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id == "len"
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return isinstance(node, ast.Attribute) and node.attr in _FORM


def _stored(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
