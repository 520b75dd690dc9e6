"""Shapes: sizes that must agree shrink together.

Decision: integer literals of one value are taken for one size, because a size that is written in several places is
written with the same number; facts tell which numbers are dimensions of tensors. Small distinct numbers come first:
size 1 broadcasts and 0 is empty, both are special.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls

_SMALL = (2, 3, 5, 7, 11, 13, 4, 6, 8, 9, 10)
_TOGETHER = ("torch.stack", "torch.cat", "torch.hstack", "torch.vstack", "torch.concat")
_FILLED = ("ones", "zeros", "randn", "rand", "eye", "arange", "empty")
_LARGEST = 1 << 24  # a larger number is no size


def _sizes(program: Program, facts: Facts) -> dict[int, list[Path]]:
    """The paths of the integer literals above one, by value; only dimensions of tensors, if facts tell."""
    seen: set[int] = set()
    for fact in facts.items().values():
        if fact.kind == "tensor":
            seen.update(fact.shape)
    found: dict[int, list[Path]] = {}
    for path, node in program.walk(ast.Constant):
        if type(node.value) is int and 1 < node.value < _LARGEST:
            found.setdefault(node.value, []).append(path)
    if not seen:
        return found
    related = {v for v in found if v in seen or any(s and (s % v == 0 or v % s == 0) for s in seen if s > 1)}
    return {value: paths for value, paths in found.items() if value in related}


def _set(paths: list[Path], value: int) -> tuple[Change, ...]:
    return tuple(Change(path, str(value)) for path in paths)


@strategy("shrink-sizes-together", tier=Tier.MEDIUM)
def shrink_sizes_together(program: Program, facts: Facts) -> Iterator[Edit]:
    """Shrink all sizes at once: to 2, to small distinct numbers.

    Not to 1 yet: what is left of a program fits together more often while no size is special.
    """
    sizes = _sizes(program, facts)
    if not sizes:
        return
    ordered = sorted(sizes)
    distinct = {v: min(v, _SMALL[i]) if i < len(_SMALL) else v for i, v in enumerate(ordered)}
    for assignment in ({v: min(2, v) for v in ordered}, distinct):
        changes = tuple(c for v in ordered if assignment[v] != v for c in _set(sizes[v], assignment[v]))
        if changes:
            yield Edit(changes)


@strategy("shrink-size", tier=Tier.FINE, independent=True)
def shrink_size(program: Program, facts: Facts) -> Iterator[Edit]:
    """Shrink one size wherever it is written: to 2, to 3, to a half, to three quarters.

    Where one value is written in several places, in all of them.
    """
    for value, paths in sorted(_sizes(program, facts).items(), reverse=True):
        for smaller in dict.fromkeys((2, 3, value // 2, value * 3 // 4)):
            if 1 < smaller < value:
                yield Edit(_set(paths, smaller))


@strategy("size-one", tier=Tier.POLISH)
def size_one(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make sizes 1, all at once and one by one, when nothing else can be done any more."""
    sizes = _sizes(program, facts)
    if len(sizes) > 1:
        yield Edit(tuple(change for paths in sizes.values() for change in _set(paths, 1)))
    for paths in sizes.values():
        yield Edit(_set(paths, 1))
        if len(paths) > 1:
            for path in paths:
                yield Edit(_set([path], 1))


@strategy("equal-sizes", tier=Tier.FINE)
def equal_sizes(program: Program, facts: Facts) -> Iterator[Edit]:
    """Make two sizes one: the larger takes the value of the smaller, everywhere."""
    sizes = _sizes(program, facts)
    ordered = sorted(sizes)
    for small, large in itertools.pairwise(ordered):
        yield Edit(_set(sizes[large], small))


@strategy("neighbouring-sizes", tier=Tier.FINE)
def neighbouring_sizes(program: Program, facts: Facts) -> Iterator[Edit]:
    """Shrink a pair of neighbouring sizes together where each alone would not fit: both to 1, both to 2."""
    sizes = sorted(_sizes(program, facts).items())
    for (small, first), (large, second) in itertools.pairwise(sizes):
        for value in (1, 2):
            if value < small or value < large:
                yield Edit((*_set(first, value), *_set(second, value)))


@strategy("one-of-stack", tier=Tier.MEDIUM)
def one_of_stack(program: Program, facts: Facts) -> Iterator[Edit]:
    """Keep one of the tensors that are put together, and shrink what has a size of as many elsewhere.

    ``torch.stack([a, b, c])`` with ``torch.ones(2, 3)`` -> ``torch.stack([a])`` with ``torch.ones(2, 1)``, and ``a``
    with ``torch.ones(2)``.
    """
    for path, node in program.walk(ast.Call):
        name = calls.callee(program, path)
        if name not in _TOGETHER or not node.args or not isinstance(node.args[0], ast.List | ast.Tuple):
            continue
        count = len(node.args[0].elts)
        if count < 2 or any(isinstance(element, ast.Starred) for element in node.args[0].elts):
            continue
        fewer = [Change((*path, "args", 0, "elts", i)) for i in range(1, count)]
        only = Change(path, program.text(node.args[0].elts[0]))
        sizes = [(at, call) for at, call in _dimensions(program, count) if at[: len(path)] != path]
        yield Edit((*fewer, *(Change(at, "1") for at, _ in sizes)))
        yield Edit((only, *(Change(at, None if len(call.args) > 1 else "1") for at, call in sizes)))


def _dimensions(program: Program, size: int) -> Iterator[tuple[Path, ast.Call]]:
    """Where ``size`` is written as a dimension of a tensor of one value or of random numbers."""
    for path, node in program.walk(ast.Call):
        if (calls.callee(program, path) or "").removeprefix("torch.") in _FILLED:
            for i, argument in enumerate(node.args):
                if isinstance(argument, ast.Constant) and argument.value == size and type(argument.value) is int:
                    yield (*path, "args", i), node


STRATEGIES = (one_of_stack, shrink_sizes_together, shrink_size, equal_sizes, neighbouring_sizes, size_one)
