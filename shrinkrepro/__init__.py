"""shrinkrepro: reduce a failing PyTorch transform script to the smallest program with the same failure.

Decision: names are fetched from ``shrinkrepro.api`` when they are first asked for, because the target
interpreter and ``shrinkrepro --help`` import this package too and need none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shrinkrepro.api import (
        AlsoFound,
        Change,
        CheckResult,
        Confinement,
        Counts,
        Edit,
        Facts,
        FailsEarlyError,
        NotFailingError,
        Program,
        Progress,
        Reduction,
        Request,
        SanitizeResult,
        ShrinkReproError,
        Strategy,
        TargetError,
        Tier,
        TooFlakyError,
        TransformsResult,
        Under,
        UsageError,
        check,
        delete,
        join,
        load_strategies,
        reduce,
        replace,
        sanitize,
        strategy,
        try_transforms,
    )

__all__ = [
    "AlsoFound",
    "Change",
    "CheckResult",
    "Confinement",
    "Counts",
    "Edit",
    "Facts",
    "FailsEarlyError",
    "NotFailingError",
    "Program",
    "Progress",
    "Reduction",
    "Request",
    "SanitizeResult",
    "ShrinkReproError",
    "Strategy",
    "TargetError",
    "Tier",
    "TooFlakyError",
    "TransformsResult",
    "Under",
    "UsageError",
    "check",
    "delete",
    "join",
    "load_strategies",
    "reduce",
    "replace",
    "sanitize",
    "strategy",
    "try_transforms",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shrinkrepro import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
