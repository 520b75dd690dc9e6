"""The pool of ``--isolation spawn``: the same harness, in a new interpreter for each job.

Decision: only how a child comes to be differs from the fork servers; limits, verdicts and clean-up are the
same code, so the two can be compared.
"""

from __future__ import annotations

from shrinkrepro.workers.pool import Pool


class SpawnPool(Pool):
    """A ``Pool`` whose children are new interpreters: slower, for targets whose servers cannot be forked."""

    spawn = True
