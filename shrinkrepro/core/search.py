"""The search over one pass: which of n proposals can be made together.

Decision: proposals are tested in windows against one accepted set, and all hits of a window are folded together
and confirmed at once, so that the dearer confirmation is paid once a window; what is accepted depends on verdicts
alone, never on which worker answered first, so that two workers give the result that one gives. Large groups come
first where proposals are independent (complements only, Zeller & Hildebrandt 2002, without the subset half), single
ones last; of hits that do not fit together, the largest prefix that does is found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

Group = tuple[int, ...]
# Takes sets of proposals (indices, in order of acceptance) and says of each whether it looks interesting.
Probe = Callable[[Sequence[Group]], Sequence[bool]]
# Says of one set whether it is interesting.
Confirm = Callable[[Group], bool]

FIRST_WINDOW = 4  # proposals; small, because early candidates run long and succeed often
LAST_WINDOW = 48  # proposals; two workers' worth of a batch
CHUNK_RATIO = 3  # a group is this many times smaller than the last one


def search(
    n: int, probe: Probe, confirm: Confirm, *, chunked: bool = False, singles: Sequence[int] | None = None
) -> Iterator[tuple[Group, Group]]:
    """Accepts proposals 0..n-1 greedily and yields (accepted so far, what was added) after every success.

    ``chunked`` tries groups of neighbours before single proposals; ``singles`` is the order of the single ones.
    """
    accepted: Group = ()
    todo = list(range(n))
    if chunked:
        size = n
        while size >= 2 and todo:
            groups = [tuple(todo[i : i + size]) for i in range(0, len(todo), size)]
            for grown, added in _windows(groups, accepted, probe, confirm):
                accepted, taken = grown, set(added)
                todo = [i for i in todo if i not in taken]
                yield accepted, added
            size = size // CHUNK_RATIO if size > CHUNK_RATIO else 1
    left = set(todo)
    order = [i for i in (singles if singles is not None else range(n)) if i in left]
    yield from _windows([(i,) for i in order], accepted, probe, confirm)


def _windows(groups: Sequence[Group], accepted: Group, probe: Probe, confirm: Confirm) -> Iterator[tuple[Group, Group]]:
    queue = list(groups)
    window = FIRST_WINDOW
    while queue:
        head, queue = queue[:window], queue[window:]
        verdicts = probe([accepted + group for group in head])
        hits = [group for group, hit in zip(head, verdicts) if hit]
        if not hits:
            window = min(window * 2, LAST_WINDOW)
            continue
        window = FIRST_WINDOW if len(hits) * 2 < len(head) else window
        kept = _fold(hits, accepted, confirm)
        queue = hits[max(kept, 1) :] + queue  # what did not fit with the others may still fit now
        if kept:
            added = tuple(i for group in hits[:kept] for i in group)
            accepted = accepted + added
            yield accepted, added


def _fold(hits: Sequence[Group], accepted: Group, confirm: Confirm) -> int:
    """How many of the first hits can be accepted together."""

    def together(k: int) -> bool:
        return confirm(accepted + tuple(i for group in hits[:k] for i in group))

    if together(len(hits)):
        return len(hits)
    low, high = 0, len(hits)  # the first low can, the first high cannot
    while high - low > 1:
        middle = (low + high) // 2
        if together(middle):
            low = middle
        else:
            high = middle
    return low
