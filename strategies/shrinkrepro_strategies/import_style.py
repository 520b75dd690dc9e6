"""One style of import for each module of torch: the one with the fewest tokens.

Decision: a module's uses change together, as two styles side by side cost more than either; where two styles
cost the same, transforms are imported by name and everything else is written as a path from ``torch``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from shrinkrepro.core.edits import Change, Edit, Path, replace
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy

# Modules that ``import torch`` alone loads and binds (a test asks a fresh interpreter).
LOADED = frozenset(
    {
        "torch.amp",
        "torch.autograd",
        "torch.autograd.forward_ad",
        "torch.autograd.functional",
        "torch.autograd.graph",
        "torch.compiler",
        "torch.cuda",
        "torch.distributions",
        "torch.fft",
        "torch.func",
        "torch.library",
        "torch.linalg",
        "torch.nested",
        "torch.nn",
        "torch.nn.functional",
        "torch.nn.init",
        "torch.nn.utils",
        "torch.optim",
        "torch.sparse",
        "torch.special",
        "torch.testing",
        "torch.utils",
        "torch.utils.checkpoint",
        "torch.utils.data",
    }
)
_TRANSFORMS = "torch.func"


@dataclass
class _Use:
    path: Path
    name: str  # of the thing in the module
    text: str  # how it is written now
    alias: Path  # the import that it goes through


@dataclass
class _Module:
    name: str
    uses: list[_Use] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return self.name.count(".") + 1

    def cost(self, style: str) -> int:
        """Tokens of imports and prefixes in a style: "from" m.n import f, "path" m.n.f, "parent" from m import n."""
        if style == "path":
            return 2 * self.depth * len(self.uses)
        if style == "parent":
            return 2 * self.depth + 2 * len(self.uses)
        return 2 * self.depth + 2 * len({use.name for use in self.uses})

    def write(self, use: _Use, style: str) -> str:
        prefix = {"from": "", "path": f"{self.name}.", "parent": f"{self.name.rpartition('.')[2]}."}[style]
        return prefix + use.name

    def statement(self, style: str) -> str:
        if style == "path":
            return "import torch"
        if style == "parent":
            parent, _, last = self.name.rpartition(".")
            return f"from {parent} import {last}"
        return f"from {self.name} import {', '.join(sorted({use.name for use in self.uses}))}"

    def binds(self, style: str) -> set[str]:
        if style == "from":
            return {use.name for use in self.uses}
        return {"torch"} if style == "path" else {self.name.rpartition(".")[2]}


@strategy("import-style", tier=Tier.POLISH)
def import_style(program: Program, facts: Facts) -> Iterator[Edit]:
    """Write what a module of torch provides in its cheapest style: imported by name, as a path, or from its package.

    First every module at once, then each by itself.
    Example: ``torch.func.jvp(torch.func.vmap(f))`` -> ``from torch.func import jvp, vmap``.
    """
    modules, others = _modules(program)
    every: dict[str, str] = {}
    bare = any(isinstance(alias := program.node(at), ast.alias) and alias.name == "torch" for at in others)
    for module in modules:
        ties = ("from", "path", "parent") if module.name == _TRANSFORMS else ("path", "from", "parent")
        costs = {s: module.cost(s) + (2 if s == "path" and not bare else 0) for s in ties if _free(program, module, s)}
        if costs:
            every[module.name] = min(costs, key=lambda style: costs[style])  # the first of equals
    if len(every) > 1:
        edit = _edit(program, [(m, every[m.name]) for m in modules if m.name in every], others)
        if edit is not None:
            yield edit
    for module in modules:
        if module.name in every:
            edit = _edit(program, [(module, every[module.name])], others)
            if edit is not None:
                yield edit


def _modules(program: Program) -> tuple[list[_Module], dict[Path, int]]:
    """The modules whose uses are all plain, and for each import how many uses go through it."""
    found: dict[str, _Module] = {}
    spoiled: set[str] = set()
    through: dict[Path, int] = {}
    for at, alias in program.walk(ast.alias):
        statement = program.parent(at)[1]
        binding = program.scopes.binding(at)
        if binding is None or alias.name == "*" or len(program.scopes.definitions[binding]) > 1:
            continue
        target = _target(alias, statement)
        uses = program.scopes.uses.get(binding, [])
        through[at] = len(uses)
        for use in uses:
            path, names = _chain(program, use)
            full = [*target.split("."), *names]
            module = next((m for k in range(len(full), 1, -1) if (m := ".".join(full[:k])) in LOADED), None)
            if module is None:
                continue
            rest = full[module.count(".") + 1 :]
            if not rest or not isinstance(getattr(program.node(path), "ctx", None), ast.Load):
                spoiled.add(module)
                continue
            beyond = len(rest) - 1  # attributes of the thing in the module stay as they are
            if beyond > len(names):
                continue  # it comes from a module further in
            path = (*path, *["value"] * beyond)
            entry = found.setdefault(module, _Module(module))
            entry.uses.append(_Use(path, rest[0], ast.unparse(program.node(path)), at))
    return [m for m in found.values() if m.name not in spoiled], through


def _target(alias: ast.alias, statement: ast.AST) -> str:
    if isinstance(statement, ast.ImportFrom):
        return f"{'.' * statement.level}{statement.module or ''}.{alias.name}"
    return alias.name if alias.asname else alias.name.partition(".")[0]


def _chain(program: Program, path: Path) -> tuple[Path, list[str]]:
    """The longest attribute chain that starts with the name at ``path``, and its attributes."""
    names: list[str] = []
    up, node = program.parent(path)
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        path = up
        up, node = program.parent(path)
    return path, names


def _free(program: Program, module: _Module, style: str) -> bool:
    """Whether what the style binds is bound by nothing else."""
    bound = module.binds(style)
    for binding, paths in program.scopes.definitions.items():
        if binding.name in bound:
            for path in paths:
                node = program.node(path)
                target = _target(node, program.parent(path)[1]) if isinstance(node, ast.alias) else ""
                wanted = {"from": f"{module.name}.{binding.name}", "path": "torch", "parent": module.name}[style]
                if target != wanted or binding.scope != ():
                    return False
    return True


def _edit(program: Program, styled: list[tuple[_Module, str]], through: dict[Path, int]) -> Edit | None:
    """The edit that brings the modules into their styles; None when they have them."""
    changes: list[Change] = []
    imports: dict[str, None] = {}
    left = dict(through)
    for module, style in styled:
        imports[module.statement(style)] = None
        for use in module.uses:
            if module.write(use, style) != use.text:
                changes.append(Change(use.path, module.write(use, style)))
            left[use.alias] -= 1
    if not changes:
        return None
    for at in dict.fromkeys(use.alias for module, _ in styled for use in module.uses):
        if left[at] == 0 and ast.unparse(program.parent(at)[1]) not in imports:
            changes.append(Change(at))
    return Edit(tuple(changes), tuple(imports))


@strategy("import-package", tier=Tier.POLISH, independent=True)
def import_package(program: Program, facts: Facts) -> Iterator[Edit]:
    """Import the package alone where it loads its module anyway: ``import torch.nn`` -> ``import torch``."""
    for at, alias in program.walk(ast.alias):
        if isinstance(program.parent(at)[1], ast.Import) and alias.asname is None and alias.name in LOADED:
            yield replace(at, "torch")


STRATEGIES = (import_style, import_package)
