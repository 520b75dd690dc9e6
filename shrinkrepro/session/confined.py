"""Whether it is confinement that makes the original fail, or keeps it from failing.

Decision: the original is never run outside to find out. What was refused is in what it raised; that the user could do
it is asked of the file system and the environment here.
"""

from __future__ import annotations

import os

from shrinkrepro.errors import FailsEarlyError
from shrinkrepro.oracles.refused import out_of_memory, refused
from shrinkrepro.protocol import Execution
from shrinkrepro.session.request import Progress
from shrinkrepro.workers.target import Target, withheld_variables

# Of the hint for a script that passes.
OUTSIDE = "; if it fails only with the network, secrets or real writes: --allow-network, --allow-write, --no-sandbox"


def check_refused(fresh: Execution, target: Target, progress: Progress, anyway: bool) -> None:
    """See that it is not confinement that makes the original fail.

    Raises:
        FailsEarlyError: it is, and ``anyway`` does not say that it may be.
    """
    if not target.sandbox:
        return
    found = refused(
        fresh,
        network=target.network,
        withheld=withheld_variables(),
        can_write=lambda path: os.access(path if path.exists() else path.parent, os.W_OK),
    )
    if found is not None and not anyway:
        raise FailsEarlyError(found.message, found.hint)
    if out_of_memory(fresh):
        progress.note("it ends because it gets no more memory; --memory SIZE gives it more")
