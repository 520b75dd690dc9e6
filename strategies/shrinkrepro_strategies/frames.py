"""Frames: the calls that were under way when the program failed, and a program made of one of them.

Decision: an expression without a fact whose operands all have one is where a frame of the failure stands; that is
exact, and costs no query. A frame's operands are written down from facts, so what led to them is not needed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from shrinkrepro.core.edits import Path
from shrinkrepro.core.facts import ExprFact, Facts
from shrinkrepro.core.program import Program, parse_expression
from shrinkrepro.core.scopes import Binding
from shrinkrepro_strategies.calls import calls_of
from shrinkrepro_strategies.descriptions import plain, sources
from shrinkrepro_strategies.provenance import Provenance

_DEPTH = 12  # definitions that are followed to write one operand down


def running(program: Program, facts: Facts) -> list[Path]:
    """Paths of the expressions that were being evaluated at the failure, outermost frame first; empty without facts."""
    if not facts.known:
        return []
    found: list[tuple[int, Path]] = []
    for path, node in program.walk(ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.UnaryOp):
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        _, statement = program.statement_of(path)
        if not facts.ran(statement):
            continue
        started = _started(program, facts, path, statement)
        if _finished(facts, path, started):
            continue
        below = operands(path, node)
        if all(_finished(facts, at, started) or _is_silent(child) for at, child in below):
            orders = [fact.order for fact in (facts.of(at) for at, _ in below) if fact is not None]
            if orders:
                found.append((max(orders), path))
    return [path for _, path in sorted(found, key=lambda item: item[0])]


def callers(program: Program, facts: Facts, path: Path) -> list[Path]:
    """Paths of the calls that were under way when the expression at ``path`` was evaluated first, innermost first."""
    found: list[Path] = []
    for _ in range(_DEPTH):
        fact = facts.of(path)
        function = program.enclosing(path, ast.FunctionDef)
        if function is None or fact is None:
            break
        node = function[1]
        lines = {node.lineno, *(decorator.lineno for decorator in node.decorator_list)}
        later = [
            (other.order, at)
            for at, other in facts.items().items()
            if other.callee in lines and other.order > fact.order
        ]
        if not later:
            break
        path = min(later)[1]
        found.append(path)
    return [*found, *running(program, facts)]


def stuck_tests(program: Program, facts: Facts) -> list[Path]:
    """Paths of the conditions whose value was known but whose truth was not: no branch was taken."""
    found: list[tuple[int, Path]] = []
    for path, node in program.walk(ast.If, ast.While, ast.IfExp, ast.Assert):
        at: Path = (*path, "test")
        fact = facts.of(at)
        if fact is None or fact.kind != "tensor":
            continue
        if isinstance(node, ast.IfExp):
            taken = any(facts.of((*path, name)) is not None for name in ("body", "orelse"))
        else:
            inner = [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
            taken = any(facts.count(statement) for statement in inner) or isinstance(node, ast.Assert)
        if not taken:
            found.append((fact.order, at))
    return [path for _, path in sorted(found)]


def stuck_stores(program: Program, facts: Facts) -> list[Path]:
    """Paths of the assignments to an item whose value was known but after which nothing ran."""
    found: list[tuple[int, Path]] = []
    for path, node in program.walk(ast.Assign):
        fact = facts.of((*path, "value"))
        if fact is None or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Subscript):
            continue
        place, block = path[-1], getattr(program.parent(path)[1], str(path[-2]), [])
        following = block[place + 1 : place + 2] if isinstance(place, int) else []
        if following and facts.count(_header(following[0])) < facts.count(node):
            found.append((fact.order, path))
    return [path for _, path in sorted(found)]


def _header(statement: ast.stmt) -> ast.stmt:
    """A statement that stands for the first line of ``statement`` alone."""
    return ast.Pass(lineno=statement.lineno, end_lineno=statement.lineno, col_offset=0)


def _is_silent(node: ast.expr) -> bool:
    """Whether an operand is not observed, or hardly fails by itself."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Slice | ast.Name | ast.Lambda)


_CONDITIONAL = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp)


def _started(program: Program, facts: Facts, path: Path, statement: ast.stmt) -> int:
    """How often the expression at ``path`` was begun, as far as lines tell."""
    if hasattr(statement, "body"):
        return 1
    for _, above in program.ancestors(path):
        if above is statement:
            break
        if isinstance(above, _CONDITIONAL):
            return 1
    return facts.count(statement)


def _finished(facts: Facts, path: Path, started: int) -> bool:
    fact = facts.of(path)
    return fact is not None and fact.count >= started


def operands(path: Path, node: ast.AST) -> list[tuple[Path, ast.expr]]:
    """The expressions that ``node`` works on, with their paths."""
    found: list[tuple[Path, ast.expr]] = []
    for name, value in ast.iter_fields(node):
        children = [((*path, name), value)] if isinstance(value, ast.AST) else []
        if isinstance(value, list):
            children = [((*path, name, i), item) for i, item in enumerate(value)]
        for at, child in children:
            if isinstance(child, ast.keyword | ast.Starred):
                found.append(((*at, "value"), child.value))
            elif isinstance(child, ast.expr):
                found.append((at, child))
    return found


class Hoist:
    """Writes expressions of inner scopes down at module level.

    ``lines`` must stand before them; ``kept`` are the statements of the module that they need, with their new text
    where it is simpler. ``given``: what a transformed function is called with becomes literal even where another
    transform made it, and so do shapes.
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
    ) -> None:
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
        return self.live.transformed((*path, "func"))

    def _literal(self, path: Path, fact: ExprFact) -> str | None:
        if fact.kind not in ("tensor", "seq", "dict", "const", "module"):
            return None
        free = self._inside or (self._given and _is_form(self.program.node(path)))
        if self.live is not None and not free and self.live.transformed(path):
            return None
        texts = sources(plain(fact.value) if self._plain else fact.value, self.torch, 4)
        return texts[min(self.spelling, len(texts) - 1)] if texts else None

    def _name(self, path: Path, depth: int) -> bool:
        """Make the name at ``path`` mean the same at module level; whether that is possible."""
        binding = self.program.scopes.binding(path)
        if binding is None:
            return True
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
        """Keep what fills a container of the module: functions that use it, and what they decorate."""
        statement = self.program.node(path)
        filled = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict | ast.List | ast.Set)
        if isinstance(statement, ast.FunctionDef):
            uses = [u for u in self.program.scopes.uses.get(binding, []) if "decorator_list" in u]
        else:
            uses = self.program.scopes.uses.get(binding, []) if filled else []
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
