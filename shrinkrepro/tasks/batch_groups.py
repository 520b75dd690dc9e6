"""Groups of scripts with the same bug: before reduction by what their failures tell, after it by what is left.

Decision: to be split wrongly costs a reduction, to be merged wrongly costs a bug. So two scripts share a group only by
evidence: an equal signature, an equal blame for their comparisons, or equal reduced programs; where nothing is known a
script stands alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from shrinkrepro.core.canonical import canonical
from shrinkrepro.tasks.batch_blame import Blame
from shrinkrepro.tasks.batch_check import Checked


def key_of(found: Checked, text: str) -> str:
    """What scripts of one group have in common; ``text`` is the script's."""
    if not found.comparison:
        return json.dumps(["fails", found.table], sort_keys=True)
    if not found.blame.known:
        return json.dumps(["alone", canonical(text)])
    return json.dumps(["compares", *_blamed(found.blame)])


def _blamed(blame: Blame) -> list[list[str]]:
    return [list(blame.operators), list(blame.transforms), list(blame.calls)]


def merged(keys: Mapping[str, Checked], names: Iterable[str]) -> dict[str, str]:
    """For each key the one that stands for it, before anything is reduced.

    Blame of several operators is that of one of them, where others show the same transform to be wrong with exactly
    that operator, and with only one of several.
    """
    single = {
        (found.blame.operators[0], found.blame.transforms): key
        for key, found in keys.items()
        if found.comparison and len(found.blame.operators) == 1
    }
    stands: dict[str, str] = {}
    for key in names:
        found = keys[key]
        candidates = {
            single[(operator, found.blame.transforms)]
            for operator in found.blame.operators
            if found.comparison and (operator, found.blame.transforms) in single
        }
        stands[key] = candidates.pop() if len(candidates) == 1 else key
    return stands


def same_after(reduced: Mapping[str, Sequence[tuple[str, Checked | None]]]) -> dict[str, str]:
    """For each group (a key) the one that stands for it, once some of its scripts are reduced.

    ``reduced`` has for each group the reduced texts, with what these fail by. Groups are one when a text of each has
    the same canonical form, or when a text of each compares, and the same operators and transforms are to blame.
    """
    stands: dict[str, str] = {key: key for key in reduced}

    def root(key: str) -> str:
        while stands[key] != key:
            key = stands[key]
        return key

    seen: dict[str, str] = {}
    for key, texts in reduced.items():
        for text, found in texts:
            for mark in _marks(text, found):
                other = seen.setdefault(mark, key)
                first, second = root(other), root(key)
                if first != second:
                    stands[second] = first
    return {key: root(key) for key in reduced}


def _marks(text: str, found: Checked | None) -> list[str]:
    marks = [canonical(text)]
    if found is not None and found.comparison and found.blame.operators:
        marks.append(json.dumps(_blamed(found.blame)))
    return marks
