"""Distillation: a whole program made of what was under way at the failure.

Decision: the first queries try the ends that an expert would jump to. One that fails costs little; one that holds
makes hundreds of small steps unnecessary, and every later query fast.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Description, ExprFact, Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.descriptions import sources
from shrinkrepro_strategies.failed import compares, failed_checks
from shrinkrepro_strategies.frames import running, stuck_stores, stuck_tests
from shrinkrepro_strategies.hoisting import Hoist
from shrinkrepro_strategies.made import spelled, transforms_of
from shrinkrepro_strategies.provenance import Provenance

_INNERMOST = 5  # frames from which a program is made anew
_BATCH = 2
_NUMBER: Description = {"k": "tensor", "shape": [], "dtype": "float32"}  # an input that nothing reads


@strategy("frame-for-program", tier=Tier.COARSE)
def frame_for_program(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put one call that was under way at the failure for the whole program, with literals for its operands.

    Two edits for each frame that no transform has entered yet: with the plainest literals and with others. What the
    call needs from the module, and local functions, are kept.
    """
    torch, imports = calls.torch_spelling(program)
    if next(failed_checks(program, facts), None) is not None:
        return  # a check fails for what came before it
    for path in running(program, facts):
        if _entered(program, facts, path) or compares(program, path):
            continue
        for spelling in (0, 2):
            hoist = Hoist(program, facts, torch, spelling, turn=-1)
            text = hoist.expression(path)
            if text is not None:
                yield from program_of(program, hoist, text, imports)


@strategy("distil-failure", tier=Tier.COARSE)
def distil_failure(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the innermost call under way, under the transforms that were active, for the whole program.

    Its transformed operands become the one input, all others literals; a tensor that it changes stays outside.
    Example: a training script -> ``vmap(grad(lambda x: model(x).sum()))(torch.ones(2, 3))``.
    """
    torch, imports = calls.torch_spelling(program)
    frames = running(program, facts)
    levels = _levels(program, facts, frames)
    if not levels or next(failed_checks(program, facts), None) is not None:
        return
    tests = stuck_tests(program, facts)
    inner = [path for path in frames if program.enclosing(path, ast.FunctionDef, ast.Lambda) is not None]
    inner.sort(
        key=lambda path: (_is_own(program, facts, path), not _entered(program, facts, path), -frames.index(path))
    )
    inner = [path for path in inner if not _transforms(program, path)]
    stores = [path for path in stuck_stores(program, facts) if program.enclosing(path, ast.FunctionDef) is not None]
    for path in [*reversed(tests), *reversed(stores), *inner][:_INNERMOST]:
        hoist = Hoist(program, facts, torch, turn=-1)
        leaves = _Leaves(program, _entered(program, facts, path))
        if path in stores:
            target = hoist.expression((*path, "targets", 0), leaves if leaves.entered else None, 1)
            value = hoist.expression((*path, "value"), leaves if leaves.entered else leaves.first, 1)
            text = f"{target}.copy_({value})" if target and value else None
        else:
            text = hoist.expression(path, leaves)
        if text is not None and not leaves.tensors and path not in tests:
            hoist, text = _of_captured(program, facts, path, torch) or (hoist, text)
            leaves.tensors.append(_NUMBER)
        if text is not None and path in tests:
            text = f"bool({text})"
        given = _input(leaves.tensors[0], levels, torch) if leaves.tensors else None
        if text is None or given is None:
            continue
        function = _function(text)
        if function in leaves.modules:
            function = leaves.modules[function]
        else:
            hoist.lines.extend(f"{name} = {constructor}" for name, constructor in leaves.modules.items())
        for chain in _chains(levels):
            if chain[-1].name in ("grad", "grad_and_value") and leaves.tensors[0]["shape"]:
                yield from program_of(program, hoist, _nested(chain, f"lambda x: ({text}).sum()", given), imports)
            yield from program_of(program, hoist, _nested(chain, function, given), imports)


def _of_captured(program: Program, facts: Facts, path: Path, torch: str) -> tuple[Hoist, str] | None:
    """A call in place at ``path``, of a tensor that is made before the transforms; None where it is none."""
    node = program.node(path)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.func.attr.endswith("_"):
        return None
    fact = facts.of((*path, "func", "value"))
    texts = sources(fact.at(-1), torch, 1) if fact is not None and fact.kind == "tensor" else []
    hoist = Hoist(program, facts, torch, turn=-1)
    given = [hoist.expression((*path, "args", k), None, 1) for k in range(len(node.args))]
    if not texts or None in given:
        return None
    name = next(n for n in ("t", *map("t{}".format, range(99))) if n not in program.scopes.all_names())
    hoist.lines.append(f"{name} = {texts[0]}")
    return hoist, f"{name}.{node.func.attr}({', '.join(map(str, given))})"


class _Leaves:
    """Names for what an operation works on: ``x`` for what was transformed, one for each module."""

    def __init__(self, program: Program, entered: bool) -> None:
        self._program, self.entered = program, entered
        self._taken = program.scopes.all_names()
        self.tensors: list[Description] = []
        self.modules: dict[str, str] = {}

    def first(self, at: Path, fact: ExprFact) -> str | None:
        """Any tensor is what was transformed: where a value was first seen before the transforms."""
        if fact.kind != "tensor":
            return None
        self.tensors.append(fact.at(-1))
        return "x"

    def __call__(self, at: Path, fact: ExprFact) -> str | None:
        if fact.kind == "module" and fact.value.get("r"):
            name = next(n for n in ("net", "layer", "module", *map("net{}".format, range(99))) if n not in self._taken)
            self._taken.add(name)
            self.modules[name] = str(fact.value["r"])
            return name
        if fact.kind == "module" and "args" in at[-2:]:
            return f"{calls.torch_spelling(self._program)[0]}.sin"  # a module of the user's that is only handed on
        if fact.kind == "seq" and fact.value.get("t") in ("tuple", "list"):
            items = fact.value.get("items", ())
            wrapped = [i for i in items if i.get("k") == "tensor" and i.get("levels")]
            if wrapped and len(wrapped) == fact.value.get("len", len(items)):
                self.tensors.extend(wrapped)
                inner = ", ".join(["x"] * len(wrapped))
                return f"({inner},)" if fact.value["t"] == "tuple" else f"[{inner}]"
        if fact.kind != "tensor":
            return None
        if fact.at(-1).get("levels") or (not self.entered and isinstance(self._program.node(at), ast.Name)):
            self.tensors.append(fact.at(-1))
            return "x"
        return None


def _input(seen: Description, levels: list[_Level], torch: str) -> str | None:
    """Source of a tensor like the one that was ``seen`` inside all ``levels``, before them."""
    shape = [_BATCH for level in levels if level.name == "vmap"] + [int(n) for n in seen["shape"]]
    dtype = str(seen.get("dtype"))
    differentiated = any(level.name not in ("vmap", "compile") for level in levels)
    if dtype == "float64" or (differentiated and "float" not in dtype and "complex" not in dtype):
        dtype = "float32"  # what is differentiated is no integer, and precision is no matter of what raises
    described = {**seen, "shape": shape, "dtype": dtype, "levels": 0, "grad": False, "fill": None, "values": None}
    texts = sources(described, torch, 1) if min(shape, default=0) >= 0 else []
    return texts[0] if texts else None


@strategy("check-for-program", tier=Tier.COARSE)
def check_for_program(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the check that failed for the whole program, with literals for all that no transform made.

    The check is an ``assert``, an ``assert_close`` or an ``if`` that raises. Three edits, with the plainest literals
    and with others; then the same with literals for what transforms made and another one is called with.
    """
    torch, imports = calls.torch_spelling(program)
    for path, form in failed_checks(program, facts):
        live = Provenance(program)
        if not live.transformed(path):
            continue
        live.keep_reference()
        seen: set[tuple[str, ...]] = set()
        for given, spelling in itertools.product((False, True), (0, 2, 1)):
            hoist = Hoist(program, facts, torch, spelling, live, given=given, turn=-1)
            text = hoist.expression(path)
            if text is not None and (lines := (*hoist.lines, text)) not in seen:
                seen.add(lines)
                yield from program_of(program, hoist, form.format(text), imports, path)


@dataclass(frozen=True)
class _Level:
    """A transform that was active: its short name, and how the program spells it."""

    name: str
    text: str
    keywords: str = ""


def _levels(program: Program, facts: Facts, frames: list[Path]) -> list[_Level]:
    """The transforms under way, outermost first."""
    found: list[_Level] = []
    for path in frames:
        node = program.node(path)
        if not isinstance(node, ast.Call):
            continue
        at = path
        name = calls.transform_name(calls.callee(program, path)) or calls.functional_name(calls.callee(program, path))
        if name is None:
            at = _maker(program, (*path, "func"))
            node = program.node(at)
            found += _seen(program, facts, at)
        while isinstance(node, ast.Call):
            full = calls.callee(program, at)
            name = calls.transform_name(full) or ("compile" if full == "torch.compile" else None)
            product = calls.functional_name(full)
            if name is None and product is None:
                break
            words = ""
            if name == "compile" or product is not None:
                words = "".join(f", {program.text(w)}" for w in node.keywords)
            found.append(_Level(name or f"functional.{product}", program.text(node.func), words))
            if name not in calls.MAKERS and name != "compile":
                break
            if not node.args:
                break
            at = _maker(program, (*at, "args", 0))
            node = program.node(at)
            found += _seen(program, facts, at)
    return found


def _seen(program: Program, facts: Facts, path: Path) -> list[_Level]:
    """The transforms that made what was seen at ``path``, where their calls stand elsewhere."""
    fact = facts.of(path)
    if fact is None or isinstance(program.node(path), ast.Call):
        return []
    torch, _ = calls.torch_spelling(program)
    return [
        _Level(name, spelled(name, torch), f", {words}" if words and name == "compile" else "")
        for name, words in transforms_of(fact.at(-1))
    ]


def _maker(program: Program, path: Path) -> Path:
    """Path of the call that made the function at ``path``: itself, or what a variable was set to once."""
    node = program.node(path)
    if not isinstance(node, ast.Name):
        return path
    binding = program.scopes.binding(path)
    places = program.scopes.definitions.get(binding, []) if binding is not None else []
    if len(places) == 1:
        at, statement = program.statement_of(places[0])
        if isinstance(statement, ast.Assign) and places[0] == (*at, "targets", 0):
            return (*at, "value")
    return path


def _transforms(program: Program, path: Path) -> bool:
    """Whether the expression at ``path`` applies a transform itself."""
    return any(
        calls.transform_name(calls.callee(program, program.paths[id(node)])) is not None
        for node in ast.walk(program.node(path))
        if isinstance(node, ast.Call)
    )


def _is_own(program: Program, facts: Facts, path: Path) -> bool:
    """Whether the call at ``path`` calls a function of the program, whose body would come along."""
    fact = facts.of((*path, "func"))
    return fact is not None and fact.value.get("line") is not None


def _entered(program: Program, facts: Facts, path: Path) -> bool:
    """Whether an operand below ``path`` was wrapped by a transform."""
    return any(
        fact.kind == "tensor" and fact.value.get("levels")
        for node in ast.walk(program.node(path))
        if id(node) in program.paths
        for fact in [facts.of(program.paths[id(node)])]
        if fact is not None
    )


def _chains(levels: list[_Level]) -> Iterator[list[_Level]]:
    """All levels, then each alone, innermost first."""
    yield levels
    if len(levels) > 1:
        for level in dict.fromkeys(reversed(levels)):
            yield [level]


def _function(text: str) -> str:
    """The function of ``x`` that ``text`` computes; arguments that are None go where they are the last."""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Call):
        while len(node.args) > 1 and ast.unparse(node.args[-1]) == "None":
            node.args.pop()
        names = [getattr(n, "id", "") for n in ast.walk(node.func)]
        if not node.keywords and [ast.unparse(a) for a in node.args] == ["x"] and "x" not in names:
            return ast.unparse(node.func)
    return f"lambda x: {ast.unparse(node)}"


def _nested(chain: list[_Level], function: str, given: str) -> str:
    """The statements that apply the transforms of ``chain`` to ``function`` at ``given``."""
    for level in reversed(chain[1:]):
        if level.name in calls.MAKERS or level.name == "compile":
            function = f"{level.text}({function}{level.keywords})"
        else:
            function = f"lambda x: {_product(level, function)}"
    outer = chain[0]
    if outer.name in calls.MAKERS or outer.name == "compile":
        return f"{outer.text}({function}{outer.keywords})({given})"
    return f"x = {given}\n{_product(outer, function)}"


def _product(level: _Level, function: str) -> str:
    if level.name in ("jvp", "linearize"):
        return f"{level.text}({function}, (x,), (x,))" if level.name == "jvp" else f"{level.text}({function}, x)"
    return f"{level.text}({function}, x{level.keywords})"


def program_of(
    program: Program, hoist: Hoist, text: str, imports: tuple[str, ...], place: Path | None = None
) -> Iterator[Edit]:
    """The edit that leaves the imports, what is kept, and ``text`` where the unfinished statement stood."""
    places = _unfinished(program, hoist) or ([place[:2]] if place is not None else [])
    if place is not None:
        places += [path[:2] for path, _ in failed_checks(program, hoist.facts)]
    anchors = [p for p in places if p not in hoist.kept]
    if not anchors:
        return
    needed = max(hoist.kept, default=anchors[0])
    anchor = next((p for p in anchors if p > needed), anchors[0])
    changes = [Change(anchor, "\n".join([*hoist.lines, text]))]
    for i, statement in enumerate(program.tree.body):
        at: Path = ("body", i)
        kept = hoist.kept.get(at)
        if kept is not None and kept != program.text(statement):
            changes.append(Change(at, kept))
        elif at != anchor and at not in hoist.kept and not isinstance(statement, ast.Import | ast.ImportFrom):
            changes.append(Change(at))
    edit = Edit(tuple(changes), imports)
    if not (len(program.tree.body) == 1 and program.text(program.node(anchor)) == changes[0].text):
        yield edit


def _unfinished(program: Program, hoist: Hoist) -> list[Path]:
    """Module statements under way at the failure: the one that was not finished."""
    return [
        path[:2]
        for path in running(program, hoist.facts)
        if not isinstance(program.node(path[:2]), ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


STRATEGIES = (distil_failure, check_for_program, frame_for_program)
