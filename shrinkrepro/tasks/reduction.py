"""The task behind ``shrinkrepro reduce``: check what was asked for, then run one session."""

from __future__ import annotations

from shrinkrepro import session
from shrinkrepro.session import Progress, Reduction, Request
from shrinkrepro.tasks.inputs import checked


def reduce(request: Request, progress: Progress) -> Reduction:
    """Reduce what ``request`` names, telling ``progress`` on the way.

    Raises:
        ShrinkReproError: the request cannot work, or there is no failure to reduce.
    """
    request = checked(request)
    return session.run(request, progress)
