"""One bug with several faces: memory that is used after it was freed fails as the allocator happens to leave it.

Decision: what the original itself was seen to do, in a fresh interpreter or in a server, is the same bug by
definition, when one of the failures is a crash; a candidate that shows any of them has kept it. So has one that
crashes, or finds its memory in disorder (an INTERNAL ASSERT), at the place and under the levels of one of them: how
many faces there are is the allocator's affair, and no number of runs shows them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shrinkrepro.core.verdict import Verdict
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import CRASH, Signature, signature_of
from shrinkrepro.protocol import Execution

_DISORDER = "INTERNAL ASSERT FAILED"


@dataclass(frozen=True)
class Faces:
    """Judges as the first of ``oracles`` that finds a run interesting. The first one's signature is the bug's name."""

    oracles: tuple[Oracle, ...]
    crashes: bool = False  # whether nothing but a crash counts

    @property
    def signature(self) -> Signature:
        return self.oracles[0].signature

    def judge(self, execution: Execution, source: str = "") -> Verdict:
        """The verdict on one run of the candidate ``source``."""
        verdicts = [oracle.judge(execution, source) for oracle in self.oracles]
        another = self._another(execution)
        if another is not None:
            verdicts.append(another.judge(execution, source))
        return next((verdict for verdict in verdicts if verdict.interesting), verdicts[0])

    @property
    def in_fresh(self) -> Faces:
        """What counts in an interpreter of its own: where the original crashed there, a crash."""
        if self.signature.kind != CRASH:
            return self
        return Faces(tuple(oracle for oracle in self.oracles if oracle.signature.kind == CRASH), crashes=True)

    def _another(self, execution: Execution) -> Oracle | None:
        """The oracle of a face that was not seen before; None when the run shows none."""
        found = signature_of(execution)
        if found is None or found.where is None:
            return None
        if found.kind != CRASH and (self.crashes or _DISORDER not in found.sentence):
            return None
        if not any((one.signature.where, one.signature.levels) == (found.where, found.levels) for one in self.oracles):
            return None
        return Oracle.of(execution, self.oracles[0].match, self.oracles[0].exclude)


def faces(first: Oracle, runs: Sequence[Execution]) -> Faces | None:
    """``first`` together with what other ``runs`` of the original showed; None when no crash is among it."""
    found = {first.signature: first}
    for run in runs:
        other = Oracle.of(run, first.match, first.exclude)
        if other is None:
            return None
        found.setdefault(other.signature, other)
    if not any(signature.kind == CRASH for signature in found):
        return None
    return Faces(tuple(found.values()))
