"""What ``--match`` may say: one of three words, or a regex between slashes.

Decision: a regex looks at all that a run said (exceptions, both streams, warnings), so it can name a failure that
has no signature of its own, as a warning.
"""

from __future__ import annotations

import re

from shrinkrepro.errors import UsageError
from shrinkrepro.protocol import Execution

MATCHES = ("signature", "message", "type")


def pattern_of(match: str) -> re.Pattern[str] | None:
    """The regex in ``/.../``; None for one of the words.

    Raises:
        UsageError: neither a word nor a regex.
    """
    if match in MATCHES:
        return None
    if len(match) > 2 and match.startswith("/") and match.endswith("/"):
        return compiled(match[1:-1])
    raise UsageError(f"unknown --match {match!r}", f"one of {', '.join(MATCHES)}, or a regex between slashes")


def compiled(regex: str) -> re.Pattern[str]:
    """The compiled regex.

    Raises:
        UsageError: it is wrong.
    """
    try:
        return re.compile(regex)
    except re.error as error:
        raise UsageError(f"{regex!r} is no regular expression: {error}") from error


def output_of(execution: Execution) -> str:
    """All that a run said: what it printed, its warnings, its exceptions."""
    raised = [f"{r.type}: {r.message}" for r in reversed(execution.chain)]
    return "\n".join([execution.stdout, execution.stderr, *execution.warnings, *raised])
