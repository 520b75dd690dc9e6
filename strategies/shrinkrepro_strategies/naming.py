"""Names: the short ones that readers of a bug report expect.

Decision: a name changes at its definitions and at all its uses in one edit, resolved by scope. Two bindings may
share a name where neither is read in the other's scope, as a lambda's ``x`` beside the ``x`` that it is called
with; builtins and imports are never hidden.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.order import CONVENTIONAL
from shrinkrepro.core.program import Program
from shrinkrepro.core.scopes import BUILTINS, Binding
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import import_style
from shrinkrepro_strategies.keywords import keyword_sites

# Names that stay as they are, beside the conventional ones and single letters: what torch calls such things.
KEPT = (
    CONVENTIONAL
    | frozenset(("args", "kwargs", "inputs", "output", "outputs"))
    | frozenset(("actual", "expected", "xs", "ys", "op", "norm"))
    | frozenset(("grad_output", "grad_input", "tangent", "tangents", "e", "main", "_"))
)
_PARAMETERS = frozenset(
    ("self", "cls", "ctx", "info", "in_dims")
)  # that stay as they are, and mean nothing as variables
# By kind of thing, the names to choose from, the first that is free.
POOLS: dict[str, tuple[str, ...]] = {
    "function": ("f", "g", "h", "fn"),
    "module": ("model", "net"),
    "list": ("out", "xs", "ys"),
    "dict": ("params", "p", "d"),
    "size": ("n", "m", "k", "d"),
    "index": ("i", "j", "k", "n"),
    "error": ("e",),
    "value": ("x", "y", "z", "w", "v", "u", "t", "s", "r", "q", "p", "a", "b", "c", "d"),
}
# Words that say nothing of what a class is for.
_HOLLOW = frozenset(
    {"Function", "Func", "Fn", "Module", "Layer", "Block", "Op", "Net", "Network", "Model", "My", "Custom", "Base"}
    | {"Impl", "Class", "Autograd"}
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_DYNAMIC = frozenset({"locals", "globals", "vars", "eval", "exec"})


class Naming:
    """The renamable bindings of one program, with the names that they have and could have."""

    def __init__(self, program: Program, facts: Facts) -> None:
        self.program = program
        self.facts = facts
        scopes = program.scopes
        self.sites: dict[Binding, list[Path]] = {
            binding: [*paths, *scopes.uses.get(binding, ())] for binding, paths in scopes.definitions.items()
        }
        self.declared: dict[Binding, list[Path]] = {}
        for path, node in program.walk(ast.Global, ast.Nonlocal):
            for i, name in enumerate(node.names):
                found = scopes.lookup(path, name)
                if found is not None:
                    self.declared.setdefault(found, []).append((*path, "names", i))
        self.names = {binding: binding.name for binding in self.sites}
        self.reserved = BUILTINS | set(_unbound(program)) | set(keyword.kwlist)
        for binding, paths in scopes.definitions.items():
            if any(isinstance(program.node(p), ast.alias) for p in paths):
                self.reserved |= {binding.name}
        dynamic = any(node.id in _DYNAMIC for _, node in program.walk(ast.Name))
        self.renamable = [] if dynamic else [b for b in self.sites if self._may_change(b)]

    def _may_change(self, binding: Binding) -> bool:
        nodes = [self.program.node(path) for path in self.program.scopes.definitions[binding]]
        if any(isinstance(node, ast.alias) for node in nodes) or binding.name.startswith("__"):
            return False
        if isinstance(self.program.node(binding.scope), ast.ClassDef):
            return False  # an attribute
        if any(isinstance(node, ast.ClassDef) for node in nodes):
            return len(nodes) == 1
        if binding.name in _PARAMETERS:
            return not any(isinstance(node, ast.arg) for node in nodes)
        return binding.name not in KEPT and not (len(binding.name) == 1 and binding.name not in "lOI")

    def fits(self, binding: Binding, name: str) -> bool:
        """Whether ``binding`` may be called ``name`` beside the others as they are called now."""
        if name in self.reserved:
            return False
        for other, taken in self.names.items():
            if taken != name or other == binding:
                continue
            if other.scope == binding.scope:
                return False
            if _within(other.scope, binding.scope) and _any_within(self.sites[binding], other.scope):
                return False
            if _within(binding.scope, other.scope) and _any_within(self.sites[other], binding.scope):
                return False
        return True

    def choose(self, binding: Binding) -> str | None:
        """The best free name for ``binding``; None when it keeps its own."""
        for name in self._candidates(binding):
            if name == binding.name:
                return None
            if self.fits(binding, name):
                return name
        return None

    def _candidates(self, binding: Binding) -> Sequence[str]:
        paths = self.program.scopes.definitions[binding]
        node = self.program.node(paths[0])
        if isinstance(node, ast.ClassDef):
            return [name for name in _class_names(node.name) if len(name) < len(node.name)]
        return POOLS[self._kind(binding, paths, node)]

    def _kind(self, binding: Binding, paths: Sequence[Path], node: ast.AST) -> str:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return "function"
        if isinstance(node, ast.ExceptHandler):
            return "error"
        uses = self.program.scopes.uses.get(binding, [])
        for path in [*uses, *paths]:
            fact = self.facts.of(path)
            if fact is not None:
                if fact.kind in ("function", "module", "dict"):
                    return fact.kind
                if fact.kind == "const" and str(fact.value["r"]).isdigit():
                    return "size"
                break
        parent = self.program.parent(paths[0])[1]
        value = getattr(parent, "value", None) if isinstance(parent, ast.Assign) else None
        if isinstance(parent, ast.For | ast.comprehension) and ast.unparse(parent.iter).startswith("range("):
            return "index"
        if isinstance(value, ast.Lambda):
            return "function"
        if isinstance(value, ast.List | ast.ListComp):
            return "list"
        if isinstance(value, ast.Constant) and type(value.value) is int:
            return "size"
        if any(path[-1] == "func" for path in uses):
            made = isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2][:1].isupper()
            return "module" if made else "function"
        return "value"

    def edit(self, binding: Binding, name: str) -> Edit | None:
        """The edit that renames ``binding``; None when a use could be meant that is not certain."""
        keywords: list[Path] = []
        for path in self.program.scopes.definitions[binding]:
            if isinstance(self.program.node(path), ast.arg):
                found = keyword_sites(self.program, path)
                if found is None:
                    return None
                keywords += found
        changes = [Change(_identifier(self.program, path), name) for path in self.sites[binding]]
        changes += [Change(path, name) for path in self.declared.get(binding, ())]
        changes += [Change((*path, "arg"), name) for path in keywords]
        return Edit(tuple(sorted(set(changes), key=lambda c: repr(c.path))))


def _identifier(program: Program, path: Path) -> Path:
    """The path of the identifier of the name or definition at ``path``."""
    node = program.node(path)
    if isinstance(node, ast.arg):
        return (*path, "arg")
    if isinstance(node, ast.MatchMapping):
        return (*path, "rest")
    return path if isinstance(node, ast.Name) else (*path, "name")


def _within(path: Path, scope: Path) -> bool:
    return path[: len(scope)] == scope


def _any_within(paths: Sequence[Path], scope: Path) -> bool:
    return any(_within(path, scope) for path in paths)


def _unbound(program: Program) -> Iterator[str]:
    for path in program.scopes.unbound:
        node = program.node(path)
        if isinstance(node, ast.Name):
            yield node.id


def _class_names(name: str) -> list[str]:
    """Shorter names for a class called ``name``, best first: the word that says most, as one capitalised word."""
    words = [word[:1].upper() + word[1:] for word in _WORDS.findall(name)]
    if len(words) < 2:
        return []
    telling = [word for word in words if word not in _HOLLOW and len(word) > 1]
    return [*reversed(telling), *(word for word in ("Net", "Op") if word in words)]


@strategy("rename", tier=Tier.POLISH, independent=True)
def rename(program: Program, facts: Facts) -> Iterator[Edit]:
    """Give variables, parameters, functions and classes the short names that readers expect.

    One edit that renames all at once, then one for each name. Names of the table stay; a class stays one
    capitalised word. Keyword arguments of calls change with their parameters.
    Example: ``def registration_error(pose): ...`` -> ``def f(x): ...``.
    """
    naming = Naming(program, facts)
    together: dict[Path, Change] = {}
    alone: list[Edit] = []
    for binding in naming.renamable:
        name = naming.choose(binding)
        edit = naming.edit(binding, name) if name is not None else None
        if edit is not None:
            alone.append(edit)
    for binding in naming.renamable:
        name = naming.choose(binding)
        edit = naming.edit(binding, name) if name is not None else None
        if edit is None or name is None or any(change.path in together for change in edit.changes):
            continue
        naming.names[binding] = name
        together.update((change.path, change) for change in edit.changes)
    if len(alone) > 1:
        yield Edit(tuple(together.values()))
    yield from alone


STRATEGIES = (rename, *import_style.STRATEGIES)
