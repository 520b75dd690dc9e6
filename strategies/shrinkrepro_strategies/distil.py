"""Distillation: a whole program made of what was under way at the failure.

Decision: the first queries try the ends that an expert would jump to. One that fails costs little; one that holds
makes hundreds of small steps unnecessary, and every later query fast.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Description, ExprFact, Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.descriptions import sources
from shrinkrepro_strategies.frames import Hoist, running, stuck_tests

_INNERMOST = 5  # frames from which a program is made anew
_BATCH = 2


@strategy("frame-for-program", tier=Tier.COARSE)
def frame_for_program(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put one call that was under way at the failure for the whole program, with literals for its operands.

    Two edits for each frame that no transform has entered yet: with the plainest literals and with others. What the
    call needs from the module, and local functions, are kept.
    """
    torch, imports = calls.torch_spelling(program)
    for path in running(program, facts):
        if _entered(program, facts, path) or _checks(program, path):
            continue
        for spelling in (0, 2):
            hoist = Hoist(program, facts, torch, spelling)
            text = hoist.expression(path)
            if text is not None:
                yield from _program(program, hoist, text, imports)


@strategy("distil-failure", tier=Tier.COARSE)
def distil_failure(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the innermost call under way, under the transforms that were active, for the whole program.

    Its transformed operands become the one input, all others literals.
    Example: a training script -> ``vmap(grad(lambda x: model(x).sum()))(torch.ones(2, 3))``.
    """
    torch, imports = calls.torch_spelling(program)
    frames = running(program, facts)
    levels = _levels(program, facts, frames)
    if not levels:
        return
    tests = stuck_tests(program, facts)
    inner = [path for path in frames if program.enclosing(path, ast.FunctionDef, ast.Lambda) is not None]
    inner.sort(
        key=lambda path: (_is_own(program, facts, path), not _entered(program, facts, path), -frames.index(path))
    )
    inner = [path for path in inner if not _transforms(program, path)]
    for path in [*reversed(tests), *inner][:_INNERMOST]:
        hoist = Hoist(program, facts, torch)
        entered = _entered(program, facts, path)
        seen: list[Description] = []

        def leaf(at: Path, fact: ExprFact, entered: bool = entered, seen: list[Description] = seen) -> str | None:
            if fact.kind != "tensor":
                return None
            if fact.value.get("levels") or (not entered and isinstance(program.node(at), ast.Name)):
                seen.append(fact.value)
                return "x"
            return None

        text = hoist.expression(path, leaf)
        if text is not None and path in tests:
            text = f"bool({text})"
        if text is None or not seen:
            continue
        given = _input(seen[0], levels, torch)
        if given is None:
            continue
        for chain in _chains(levels):
            innermost = chain[-1].name in ("grad", "grad_and_value")
            if innermost and seen[0]["shape"]:
                yield from _program(program, hoist, _nested(chain, f"lambda x: ({text}).sum()", given), imports)
            yield from _program(program, hoist, _nested(chain, _function(text), given), imports)


def _input(seen: Description, levels: list[_Level], torch: str) -> str | None:
    """Source of a tensor like the one that was ``seen`` inside all ``levels``, before them."""
    shape = [_BATCH for level in levels if level.name == "vmap"] + [int(n) for n in seen["shape"]]
    dtype = str(seen.get("dtype"))
    if (
        "float" not in dtype
        and "complex" not in dtype
        and any(level.name not in ("vmap", "compile") for level in levels)
    ):
        dtype = "float32"  # what is differentiated is no integer
    described = {**seen, "shape": shape, "dtype": dtype, "levels": 0, "grad": False, "fill": None, "values": None}
    texts = sources(described, torch, 1) if min(shape, default=0) >= 0 else []
    return texts[0] if texts else None


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
    return found


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


def _checks(program: Program, path: Path) -> bool:
    """Whether the call at ``path`` compares: of what it compares only literals would be left."""
    node = program.node(path)
    return isinstance(node, ast.Compare) or "assert" in program.text(getattr(node, "func", node))


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
    node = ast.parse(text, mode="eval").body
    alone = isinstance(node, ast.Call) and not node.keywords and [ast.unparse(a) for a in node.args] == ["x"]
    if isinstance(node, ast.Call) and alone and "x" not in [getattr(n, "id", "") for n in ast.walk(node.func)]:
        return ast.unparse(node.func)
    return f"lambda x: {text}"


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


def _program(program: Program, hoist: Hoist, text: str, imports: tuple[str, ...]) -> Iterator[Edit]:
    """The edit that leaves the imports, what is kept, and ``text`` where the statement above ``path`` stood."""
    anchors = [p for p in _unfinished(program, hoist) if p not in hoist.kept]
    if not anchors:
        return
    anchor = anchors[0]
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


STRATEGIES = (distil_failure, frame_for_program)
