"""The installed strategies, found by the entry point group ``shrinkrepro.strategies``.

Decision: the built-in strategies come in by the same door as a third party's; one entry point names one tuple.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points

from shrinkrepro.core.strategy import Strategy
from shrinkrepro.errors import UsageError

GROUP = "shrinkrepro.strategies"


def load_strategies() -> tuple[Strategy, ...]:
    """Every installed strategy, the built-in ones first, otherwise in reading order.

    ``SHRINKREPRO_NO_PLUGINS=1`` keeps third parties' out, ``SHRINKREPRO_WITHOUT=NAME,NAME`` single strategies.

    Raises:
        UsageError: a plug-in cannot be loaded, is no tuple of strategies, or uses a name that is taken; none has the
            name of one to leave out.
    """
    points = sorted(entry_points(group=GROUP), key=lambda p: (p.name != "builtin", p.name))
    if os.environ.get("SHRINKREPRO_NO_PLUGINS"):
        points = [p for p in points if p.name == "builtin"]
    found: dict[str, Strategy] = {}
    for point in points:
        try:
            loaded = point.load()
        except Exception as error:  # any failure of foreign code at import, named and passed on
            raise UsageError(
                f"the strategy plug-in {point.name!r} ({point.value}) cannot be loaded: {error!r}",
                "uninstall it, or set SHRINKREPRO_NO_PLUGINS=1",
            ) from error
        for strategy in loaded if isinstance(loaded, tuple) else (loaded,):
            if not isinstance(strategy, Strategy):
                raise UsageError(
                    f"the strategy plug-in {point.name!r} ({point.value}) offers {strategy!r}, which is no strategy",
                    "its entry point must name a tuple of shrinkrepro.api.Strategy",
                )
            if strategy.name in found:
                raise UsageError(
                    f"two strategies are called {strategy.name!r} (the second from {point.value})",
                    "rename it, or set SHRINKREPRO_NO_PLUGINS=1",
                )
            found[strategy.name] = strategy
    for name in filter(None, os.environ.get("SHRINKREPRO_WITHOUT", "").replace(" ", "").split(",")):
        if found.pop(name, None) is None:
            raise UsageError(
                f"SHRINKREPRO_WITHOUT names {name!r}, which is no strategy", "shrinkrepro strategies lists them"
            )
    return tuple(found.values())
