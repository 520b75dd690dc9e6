"""The check that failed: what it rests on, and whether the program raised by itself.

Decision: the line that failed is read from the execution, what stands there from the program's text.
"""

from __future__ import annotations

from shrinkrepro.core.comparison import raises, traits
from shrinkrepro.oracles.signature import program_line
from shrinkrepro.protocol import Execution


def rests_on(execution: Execution, source: str, unknown: frozenset[str]) -> frozenset[str]:
    """What the check that failed rests on; ``unknown`` where the run does not tell which it was."""
    line = program_line(execution)
    return unknown if line is None else traits(source, line)


def raises_itself(execution: Execution, source: str) -> bool:
    """Whether the failure is a ``raise`` of the program's own."""
    line = program_line(execution)
    return line is not None and raises(source, line)
