"""Failures that confinement makes: the script does what it may not, and could outside.

Decision: what was refused is read from the exception that says so, or from the last lines that a script printed before
it left, and is told with the option that allows it; a PermissionError of our own making is never reduced. Whether the
user could do it is for the caller to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

from shrinkrepro.oracles.early import NETWORK, Early, environment_variable
from shrinkrepro.protocol import EXIT, LOST, Execution, Raised

_DENIED = re.compile(r"Permission denied|Read-only file system|Operation not permitted|\berrno (?:1|13|30)\b")
_UNNAMED = re.compile(
    r"Read-only file system|open file failed with strerror: (Permission denied|Operation not permitted)"
)
_PATH = re.compile(r"['\"](/[^'\"]+)['\"]|file path: (/\S+)")
_UNREACHABLE = re.compile(
    r"Network is unreachable|Connection refused|[Nn]ame or service not known|[Nn]ame resolution|getaddrinfo failed"
)
_MEMORY = re.compile(r"can't allocate memory|Cannot allocate memory|bad_alloc|not enough memory|of memory$")
PRINTED = 3  # lines, of each stream, among which an exit's reason is looked for
_COUNT = re.compile(r"started more than \d+ processes")


def refused(
    execution: Execution,
    *,
    network: bool,
    withheld: Collection[str],
    can_write: Callable[[Path], bool],
) -> Early | None:
    """What confinement refused that made the run fail, and how to allow it; None when it is not to blame.

    ``network``: whether it is allowed. ``withheld``: variables that programs do not get. ``can_write``: whether the
    user may write to a path or make it.
    """
    if execution.status == LOST:
        if _COUNT.search(execution.detail):
            return Early(f"the script is stopped: {execution.detail}", "--no-sandbox lets it, as you would run it")
        return Early(f"the script is stopped: {execution.detail}", _MORE) if _MEMORY.search(execution.detail) else None
    for error in [*reversed(execution.chain), *(_printed(execution) if execution.status == EXIT else ())]:
        found = _of(error, network, withheld, can_write)
        if found is not None:
            return found
    return None


def out_of_memory(execution: Execution) -> bool:
    """Whether the run ended because it got no more memory, which may or may not be the bug."""
    return any(_MEMORY.search(error.message) or error.type == "MemoryError" for error in execution.chain)


def _printed(execution: Execution) -> list[Raised]:
    """The last lines of a script that told what it caught and left by an exit code."""
    texts = (execution.stderr, execution.stdout)
    return [Raised("", line) for text in texts for line in reversed(text.strip().splitlines()[-PRINTED:])]


_LINE = "\n"
_MORE = "give it more with --memory SIZE"


def _of(error: Raised, network: bool, withheld: Collection[str], can_write: Callable[[Path], bool]) -> Early | None:
    found = _PATH.search(error.message)
    if _DENIED.search(error.message) and found:
        path = found[1] or found[2]
        if can_write(Path(path)):
            place = path if Path(path).exists() else str(Path(path).parent)
            return Early(
                f"the script writes to {path}, which confinement refuses",
                f"if it really may, say --allow-write {place}",
            )
    if not found and _UNNAMED.search(error.message):
        said = error.message.strip().partition(_LINE)[0]
        return Early(f"the script writes what confinement refuses: {said}", "if it really may, say --allow-write PATH")
    name = error.type.rsplit(".", 1)[-1]
    if not network and (name in NETWORK or _UNREACHABLE.search(error.message)):
        return Early(
            f"the script needs the network, which confinement refuses: {error.message.strip().partition(_LINE)[0]}",
            "if it really may use it, say --allow-network",
        )
    variable = environment_variable(error)
    if variable in withheld:
        return Early(
            f"the script reads the variable {variable}, which is withheld: it may hold a secret",
            "put a value without one into the script, or say --no-sandbox",
        )
    return None
