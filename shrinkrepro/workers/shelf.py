"""Warm servers kept from one program to the next, for callers that go through many.

Decision: a server only imports and never computes, so what ran in its children leaves nothing behind; servers with the
same surroundings serve the next script as well as new ones would, without the seconds that those take to start.
"""

from __future__ import annotations

from dataclasses import replace

from shrinkrepro.workers.memory import Memory
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target


class Shelf:
    """Keeps the pool that was closed last; not for use by two threads at once."""

    def __init__(self) -> None:
        self._kept: _KeptPool | None = None

    def take(self, target: Target, jobs: int, memory: Memory | None = None) -> Pool:
        """A pool for ``target``: the kept one where only the preloaded modules differ, else a new one.

        It goes back when it is closed.
        """
        kept, self._kept = self._kept, None
        if kept is not None:
            if kept.jobs == jobs and replace(kept.target, modules=target.modules) == target:
                kept.serve(target, memory)
                return kept
            kept.end()
        return _KeptPool(self, target, jobs, memory)

    def put(self, pool: _KeptPool) -> None:
        """Keep ``pool``, and end the one that was kept before."""
        if self._kept is not None and self._kept is not pool:
            self._kept.end()
        self._kept = pool

    def close(self) -> None:
        """End what is kept."""
        if self._kept is not None:
            self._kept.end()
            self._kept = None


class _KeptPool(Pool):
    def __init__(self, shelf: Shelf, target: Target, jobs: int, memory: Memory | None) -> None:
        super().__init__(target, jobs, memory=memory)
        self._shelf = shelf

    def serve(self, target: Target, memory: Memory | None) -> None:
        """Go on with ``target``, which differs in its modules alone."""
        self.memory, self.recalled = memory, 0
        self.teach([name for name in target.modules if name not in self.target.modules])

    def close(self) -> None:
        """Go back to the shelf."""
        self.memory = None
        self._shelf.put(self)

    def end(self) -> None:
        """Stop the servers and remove their files."""
        super().close()
