"""Which versions a requirement such as ``>=2.1,<2.5`` lets in.

Decision: only the release part of a version counts, so that a nightly or local build of 2.14 is a 2.14: what a case
needs is there long before the release is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from itertools import zip_longest

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_PART = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*(\d+(?:\.\d+)*)(\.\*)?\s*")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;@)]*)")


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version: ``(2, 14, 0)`` of ``2.14.0.dev20270101+cpu``."""
    found = re.match(r"\d+(?:\.\d+)*", version.strip())
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def allows(specifier: str, version: str) -> bool:
    """Whether ``version`` satisfies every part of ``specifier``; an empty one lets all in.

    Raises:
        ValueError: it is no specifier.
    """
    parts = [part for part in specifier.split(",") if part.strip()]
    return all(_satisfies(part, release(version)) for part in parts)


def _satisfies(part: str, version: Sequence[int]) -> bool:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{part.strip()!r} is no version specifier, such as >=2.1")
    sign, wanted, star = found[1], release(found[2]), found[3]
    if star:
        same = tuple(version[: len(wanted)]) == wanted
        return same if sign == "==" else not same
    if sign == "~=":
        return _compare(version, wanted) >= 0 and tuple(version[: len(wanted) - 1]) == wanted[:-1]
    return _COMPARISONS[sign](_compare(version, wanted), 0)


def _compare(one: Sequence[int], other: Sequence[int]) -> int:
    for a, b in zip_longest(one, other, fillvalue=0):
        if a != b:
            return 1 if a > b else -1
    return 0


def requirement(text: str) -> tuple[str, str]:
    """Name and specifier of ``torch>=2.4``; a specifier that cannot be read is left empty."""
    found = _REQUIREMENT.match(text)
    if found is None:
        return "", ""
    name, specifier = found[1].lower().replace("_", "-"), found[2].strip()
    return name, specifier if all(_PART.fullmatch(p) for p in specifier.split(",") if p.strip()) else ""
