"""Statements: cutting what is not needed, the largest first.

Decision: what one observed run shows to be unnecessary goes in one edit together with everything that only it
used; the finer edits of the same kind follow for the case that the large one is refused.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path, delete, join, replace, source_of
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies.blocks import (
    DEFINITIONS,
    FUNCTIONS,
    is_docstring,
    is_report,
    leaves_nothing,
    reached,
    statement_lists,
)
from shrinkrepro_strategies.dependents import drop_attribute, drop_name
from shrinkrepro_strategies.liveness import Liveness, covered, outermost
from shrinkrepro_strategies.needed import keep_needed

_DATA_CLASSES = ("dataclass", "NamedTuple", "TypedDict", "Protocol", "BaseModel", "define", "frozen", "attrs")


def _never_ran(program: Program, facts: Facts, path: Path, node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass):
        return False
    if isinstance(node, FUNCTIONS):
        return not facts.ran(node) and not leaves_nothing(node.body)
    if is_docstring(node):
        return False
    return not reached(node, facts)


def _unexecuted(program: Program, facts: Facts) -> list[tuple[Path, ast.stmt]]:
    """The outermost statements that never ran; a definition counts by its body."""
    found: list[tuple[Path, ast.stmt]] = []
    gone: set[Path] = set()
    for path, node in program.walk(ast.stmt):
        if not covered(path, gone) and _never_ran(program, facts, path, node):
            gone.add(path)
            found.append((path, node))
    return found


def _wanted(program: Program, path: Path, node: ast.stmt, gone: set[Path]) -> bool:
    """Whether code that stays refers to the definition ``node`` by its name or as an attribute."""
    if not isinstance(node, DEFINITIONS):
        return False
    if any(not covered(use, gone | {path}) for use in program.scopes.uses_of(path)):
        return True
    if isinstance(program.parent(path)[1], ast.ClassDef):
        return any(a.attr == node.name and not covered(p, gone | {path}) for p, a in program.walk(ast.Attribute))
    return False


def _stub(path: Path, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Edit:
    first = Change((*path, "body", 0), "pass")
    return Edit((first, *(Change((*path, "body", i)) for i in range(1, len(node.body)))))


def _stubs(program: Program, found: list[tuple[Path, ast.stmt]]) -> dict[Path, Edit]:
    """Edits that empty the functions that never ran and that something that stays names."""
    gone = {path for path, _ in found}
    return {
        path: _stub(path, node)
        for path, node in found
        if isinstance(node, FUNCTIONS) and _wanted(program, path, node, gone)
    }


@strategy("drop-unexecuted", tier=Tier.COARSE)
def drop_unexecuted(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete every statement that never ran, in one edit, with all that only it used.

    Functions that were never called become ``pass`` where something that stays still names them. Then the same
    without what may have an effect, without the clean-up, and without definitions.
    """
    found = _unexecuted(program, facts) if facts.known else []
    if not found:
        return
    gone = {path for path, _ in found}
    stubs = _stubs(program, found)
    for careful in (False, True):
        closed = Liveness(program, facts, careful=careful).close(gone - set(stubs))
        yield join(delete(*outermost(closed)), *(edit for path, edit in stubs.items() if not covered(path, closed)))
    yield delete(*outermost(gone))
    plain = outermost(p for p, n in found if not isinstance(n, DEFINITIONS))
    if plain and len(plain) < len(gone):
        yield delete(*plain)


@strategy("drop-unexecuted-part", tier=Tier.COARSE, independent=True)
def drop_unexecuted_part(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete statements that never ran one by one; a function that is still named becomes ``pass``."""
    found = _unexecuted(program, facts) if facts.known else []
    stubs = _stubs(program, found)
    for path, _ in found:
        yield stubs.get(path) or delete(path)


@strategy("drop-after-failure", tier=Tier.COARSE)
def drop_after_failure(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete the top-level statements after the last one that ran, with all that only they used."""
    if not facts.known:
        return
    body = program.tree.body
    last = max((i for i, s in enumerate(body) if not isinstance(s, DEFINITIONS) and reached(s, facts)), default=-1)
    rest = [("body", i) for i in range(last + 1, len(body)) if not isinstance(body[i], DEFINITIONS)]
    if rest and last >= 0:
        paths: set[Path] = set(rest)
        yield delete(*outermost(Liveness(program, facts, careful=True).close(paths)))
        yield delete(*rest)


@strategy("drop-unused", tier=Tier.COARSE)
def drop_unused(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete unused imports, definitions, assignments and attributes, in one edit."""
    for careful in (False, True):
        closed = Liveness(program, facts, careful=careful).close(())
        if closed:
            yield delete(*outermost(closed))


@strategy("drop-unused-part", tier=Tier.COARSE, independent=True)
def drop_unused_part(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete unused imports, definitions, assignments and attributes one by one."""
    for path in outermost(Liveness(program, facts, careful=False).close(())):
        yield delete(path)


@strategy("drop-definition", tier=Tier.COARSE, independent=True)
def drop_definition(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete functions, classes and methods, outermost first."""
    for path, _ in program.walk(*DEFINITIONS):
        yield delete(path)


@strategy("drop-statement", tier=Tier.COARSE, independent=True)
def drop_statement(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete statements, outermost first and later ones before earlier ones.

    Source: Zeller and Hildebrandt 2002 (ddmin), Sun et al. 2018 (Perses), with statements as units.
    """
    found = [(path, node) for path, node in program.walk(ast.stmt) if not isinstance(node, ast.Pass)]
    for path, _ in sorted(found, key=lambda item: (_depth(item[0]), _reversed(item[0]))):
        yield delete(path)


def _depth(path: Path) -> int:
    return sum(isinstance(step, int) for step in path)


def _reversed(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple((-step, "") if isinstance(step, int) else (0, step) for step in path)


@strategy("drop-reports", tier=Tier.COARSE)
def drop_reports(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete all prints, log and warning calls in one edit, with all that only they used."""
    found = {path for path, node in program.walk(ast.Expr) if is_report(node.value)}
    if found:
        yield delete(*outermost(Liveness(program, facts, careful=False).close(found)))
        yield delete(*sorted(found, key=str))


@strategy("drop-docstrings", tier=Tier.COARSE)
def drop_docstrings(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete every docstring and other bare constant, in one edit."""
    found = [path for path, node in program.walk(ast.Expr) if is_docstring(node)]
    if found:
        yield delete(*found)


@strategy("drop-annotations", tier=Tier.COARSE)
def drop_annotations(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete all annotations in one edit: ``x: T = v`` becomes ``x = v``.

    Fields of data classes stay fields, of the type ``int``. A second edit leaves alone what a decorator may read.
    """
    found = list(_annotations(program))
    for edits in ([edit for edit, _ in found], [edit for edit, plain in found if plain]):
        if edits:
            yield join(*edits)


@strategy("drop-annotation", tier=Tier.COARSE, independent=True)
def drop_annotation(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete the annotations of one function or variable."""
    for edit, _ in _annotations(program):
        yield edit


@strategy("drop-one-annotation", tier=Tier.MEDIUM)
def drop_one_annotation(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete one annotation of a function whose others must stay."""
    for edit, plain in _annotations(program):
        if not plain and len(edit.changes) > 1:
            yield from (delete(change.path) for change in edit.changes)


def _annotations(program: Program) -> Iterator[tuple[Edit, bool]]:
    """An edit for each annotated function or variable, and whether nothing is likely to read its annotations."""
    for path, node in program.walk(ast.FunctionDef, ast.AsyncFunctionDef, ast.AnnAssign):
        if isinstance(node, ast.AnnAssign):
            holder = program.parent(path)[1]
            if not (isinstance(holder, ast.ClassDef) and _is_data_class(holder)):
                yield _bare(path, node), True
            elif _shortens(node.annotation):
                yield replace((*path, "annotation"), "int"), True
            continue
        found = [(*path, "args", *p) for p in _annotated(node.args)]
        if node.returns is not None:
            found.append((*path, "returns"))
        if found:
            yield delete(*found), all(not isinstance(d, ast.Call) for d in node.decorator_list)


def _annotated(arguments: ast.arguments) -> Iterator[Path]:
    for field in ("posonlyargs", "args", "kwonlyargs"):
        for i, arg in enumerate(getattr(arguments, field)):
            if arg.annotation is not None:
                yield (field, i, "annotation")
    for field in ("vararg", "kwarg"):
        arg = getattr(arguments, field)
        if arg is not None and arg.annotation is not None:
            yield (field, "annotation")


def _bare(path: Path, node: ast.AnnAssign) -> Edit:
    if node.value is None:
        return delete(path)
    return replace(path, f"{source_of(node.target)} = {source_of(node.value)}")


def _is_data_class(node: ast.ClassDef) -> bool:
    hints = [ast.unparse(n) for n in (*node.decorator_list, *node.bases)]
    return any(word in hint for hint in hints for word in _DATA_CLASSES)


def _shortens(annotation: ast.expr) -> bool:
    return not (isinstance(annotation, ast.Name) and annotation.id in ("int", "float", "str", "bool", "object"))


@strategy("drop-decorators", tier=Tier.MEDIUM)
def drop_decorators(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete decorators, one at a time; ``@compile()`` also becomes ``@compile``.

    An ``autograd.Function`` keeps its ``staticmethod``: without it the class works, but is not how one is written.
    """
    for path, node in program.walk(*DEFINITIONS):
        for i, decorator in enumerate(node.decorator_list):
            if ast.unparse(decorator) == "staticmethod" and _of_function(program, path):
                continue
            yield delete((*path, "decorator_list", i))
            if isinstance(decorator, ast.Call) and not decorator.args and not decorator.keywords:
                yield replace((*path, "decorator_list", i), decorator.func)


def _of_function(program: Program, path: Path) -> bool:
    _, owner = program.parent(path)
    return isinstance(owner, ast.ClassDef) and any(ast.unparse(b).endswith("Function") for b in owner.bases)


@strategy("drop-bases", tier=Tier.MEDIUM)
def drop_bases(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete base classes and class keywords, one at a time."""
    for path, node in program.walk(ast.ClassDef):
        for field in ("bases", "keywords"):
            for i in range(len(getattr(node, field))):
                yield delete((*path, field, i))


@strategy("merge-return", tier=Tier.MEDIUM)
def merge_return(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put ``return e`` for ``x = e; return x``."""
    for path, node in program.walk(ast.AST):
        for field, body in statement_lists(node):
            for i, (first, second) in enumerate(itertools.pairwise(body)):
                if (
                    isinstance(first, ast.Assign)
                    and isinstance(second, ast.Return)
                    and second.value is not None
                    and len(first.targets) == 1
                    and ast.unparse(first.targets[0]) == ast.unparse(second.value).strip("()")
                ):
                    at = (*path, field, i)
                    yield join(delete((*path, field, i + 1)), replace(at, f"return {source_of(first.value)}"))


@strategy("unwrap-statement", tier=Tier.MEDIUM)
def unwrap_statement(program: Program, facts: Facts) -> Iterator[Edit]:
    """Keep a statement's value and drop the rest.

    ``x = f(y)`` -> ``f(y)``, ``return f(y)`` -> ``f(y)`` or ``return``, ``assert a, m`` -> ``assert a`` or ``a``,
    ``raise E`` -> ``E``, ``x += e`` -> ``x = e``.
    """
    for path, node in program.walk(ast.stmt):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) and node.value is not None:
            if not isinstance(node.value, ast.Name | ast.Constant):
                yield replace(path, source_of(node.value))
            if isinstance(node, ast.Return):
                yield delete((*path, "value"))
        elif isinstance(node, ast.AugAssign):
            yield replace(path, f"{source_of(node.target)} = {source_of(node.value)}")
            yield replace(path, source_of(node.value))
        elif isinstance(node, ast.Assert):
            if node.msg is not None:
                yield delete((*path, "msg"))
            yield replace(path, source_of(node.test))
        elif isinstance(node, ast.Raise) and node.exc is not None:
            if node.cause is not None:
                yield delete((*path, "cause"))
            yield replace(path, source_of(node.exc))


STRATEGIES = (
    drop_unexecuted,
    keep_needed,
    drop_after_failure,
    drop_unused,
    drop_reports,
    drop_docstrings,
    drop_annotations,
    drop_unexecuted_part,
    drop_unused_part,
    drop_definition,
    drop_statement,
    drop_name,
    drop_attribute,
    drop_annotation,
    drop_one_annotation,
    drop_decorators,
    drop_bases,
    merge_return,
    unwrap_statement,
)
