"""Where scripts and cases are worked on: on this machine, or wherever Ray has workers."""

from __future__ import annotations

from dataclasses import dataclass

from shrinkrepro.errors import UsageError
from shrinkrepro.workers.executor import Executor
from shrinkrepro.workers.local import LocalExecutor
from shrinkrepro.workers.pool import default_jobs

LOCAL, RAY = "local", "ray"


@dataclass(frozen=True)
class Placement:
    """Where the scripts are worked on. What only Ray knows of (``address`` on) is for Ray's workers, each."""

    executor: str = LOCAL
    jobs: int | None = None  # scripts at a time; None: the cores of this machine, or of the cluster
    address: str | None = None  # of a cluster that runs; None: one is started here
    cpus: float = 1.0
    gpus: float = 0.0
    memory: int | None = None  # bytes

    def check(self) -> None:
        """Make sure that there are such workers.

        Raises:
            UsageError: an option is not known, or none for this executor.
        """
        if self.executor not in (LOCAL, RAY):
            raise UsageError(f"--executor {self.executor!r} is not known", f"it is {LOCAL} or {RAY}")
        if self.executor == LOCAL and self != Placement(LOCAL, self.jobs):
            raise UsageError("--address and what a worker gets are for a cluster", "add --executor ray")
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs {self.jobs} is not a number of scripts", "it must be 1 or more")
        for option, value in (("--cpus-per-worker", self.cpus), ("--gpus-per-worker", self.gpus)):
            if not 0 <= value < float("inf") or (value > 1 and value != int(value)):
                raise UsageError(f"{option} {value:g} is not what a worker can take", "a share of one, or whole ones")

    def workers(self, kind: str, python: str | None) -> Executor:
        """Workers, each a ``kind`` (a module's path and a class in it) for the interpreter ``python``.

        Raises:
            UsageError: Ray is not installed, or nothing of it answers.
        """
        if self.executor == LOCAL:
            return LocalExecutor(kind, self.jobs or default_jobs())
        from shrinkrepro.workers.ray import RayExecutor  # the one module that needs it

        return RayExecutor(
            kind,
            address=self.address,
            workers=self.jobs,
            cpus=self.cpus,
            gpus=self.gpus,
            memory=self.memory,
            python=python,
        )
