"""The neighbourhood of a failing program: every program beside it that is worth one query.

Decision: a pure function of the text. What a neighbour is called says what was exchanged in the text and nothing of
what comes of it; that is for a run to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from shrinkrepro.tasks.neighbour_operators import operator_neighbours
from shrinkrepro.tasks.neighbour_tensors import (
    device_neighbours,
    dtype_neighbours,
    gradient_neighbours,
    layout_neighbours,
    literal_neighbours,
    size_neighbours,
    value_neighbours,
)
from shrinkrepro.tasks.neighbour_text import Neighbour, Text
from shrinkrepro.tasks.neighbour_transforms import compile_neighbours, transform_neighbours

GROUPS = (
    "transforms",
    "reference",
    "operator",
    "dtype",
    "device",
    "size",
    "values",
    "layout",
    "requires_grad",
    "compile",
)


def neighbours(
    source: str, *, checked: bool, device: str = "cpu", devices: Sequence[str] = ("cpu",), compiler: bool = False
) -> list[Neighbour]:
    """The neighbours of ``source``, each text once, those that compile last.

    ``checked``: its failure is one of its own check, whose numbers hold for its own values alone; ``devices``: those of
    the target.

    Raises:
        SyntaxError: ``source`` does not parse.
    """
    text = Text(source)
    made: dict[str, Neighbour] = {}
    for neighbour in _all(text, checked, device, devices, compiler):
        if neighbour.source != source and _parses(neighbour.source):
            made.setdefault(neighbour.source, neighbour)
    return sorted(
        _told_apart(source, made.values()), key=lambda neighbour: (neighbour.slow, GROUPS.index(neighbour.group))
    )


def _told_apart(source: str, found: Iterable[Neighbour]) -> Iterator[Neighbour]:
    """``found``, those of one title with the line in which each differs from ``source``, and a number in one line."""
    alike = Counter((one.group, one.title) for one in found)
    seen: Counter[tuple[str, str]] = Counter()
    for one in found:
        title = one.title
        if alike[one.group, title] > 1:
            title = f"{title}, in line {_changed_line(source, one.source)}"
            seen[one.group, title] += 1
            title += f" ({seen[one.group, title]})" if seen[one.group, title] > 1 else ""
        yield replace(one, title=title)


def _changed_line(source: str, other: str) -> int:
    """The number of the first line of ``source`` that ``other`` has not."""
    lines, its = source.split("\n"), other.split("\n")
    return next((i for i, (a, b) in enumerate(zip(lines, its), 1) if a != b), min(len(lines), len(its)))


def _all(text: Text, checked: bool, device: str, devices: Sequence[str], compiler: bool) -> Iterator[Neighbour]:
    yield from transform_neighbours(text, checked)
    if not checked:
        yield from operator_neighbours(text)
        yield from size_neighbours(text)
        yield from value_neighbours(text)
        yield from literal_neighbours(text)
    yield from dtype_neighbours(text)
    yield from device_neighbours(text, devices, device)
    yield from layout_neighbours(text)
    yield from gradient_neighbours(text)
    yield from compile_neighbours(text, compiler)


def _parses(source: str) -> bool:
    try:
        compile(source, "neighbour", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
