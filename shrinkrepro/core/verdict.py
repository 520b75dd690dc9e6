"""Verdicts: what an oracle says of one candidate.

Decision: six outcomes, not two. Only ``INTERESTING`` is ever adopted; an infrastructure failure or a
time-out is ``UNRESOLVED`` and can neither be adopted nor be taken for a pass.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Outcome(enum.Enum):
    INTERESTING = "interesting"  # the same failure, and every control passes
    SLIPPED = "slipped"  # fails, for another reason
    PASSED = "passed"  # does not fail
    INVALID = "invalid"  # is no program: does not compile, or was refused before it ran
    UNRESOLVED = "unresolved"  # timed out, or the infrastructure failed
    FLAKY = "flaky"  # fails sometimes


@dataclass(frozen=True)
class Verdict:
    """``label`` is the signature in words (for a slip: of the other failure), empty when there is none."""

    outcome: Outcome
    label: str = ""
    reason: str = ""  # one line: what differed, or which control failed
    control: bool = False  # whether it is a control that failed

    @property
    def interesting(self) -> bool:
        return self.outcome is Outcome.INTERESTING
