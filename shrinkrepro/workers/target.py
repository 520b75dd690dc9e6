"""The target: which interpreter runs the programs, and in which surroundings.

Decision: it is a frozen value made once per run; everything that a program can see of its surroundings
comes from it, so that a fork server, a spawned child and a fresh run differ in nothing else.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shrinkrepro.errors import TargetError
from shrinkrepro.workers.scratch import make_scratch, remove

# Names of variables that hold secrets or lead to them, the usual clouds' among them, and addresses with a password in.
_SECRET = re.compile(
    r"TOKEN|KEY|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|PRIVATE|CONNECTION_STRING|DSN|SESSION_BUS"
    r"|(^|_)(PAT|PASS|PWD)$|^(AWS|AZURE|GOOGLE|GCP|KUBE|DOCKER|VAULT|NETRC|PGPASS)",
    re.IGNORECASE,
)
_NO_SECRET = {"PWD", "OLDPWD", "TOKENIZERS_PARALLELISM"}
_ADDRESS_WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


@dataclass(frozen=True)
class Target:
    """Where and how programs are run. Paths are absolute; ``modules`` are imported by servers in advance."""

    python: str
    script_path: Path  # the original; programs run under its name
    cwd: Path
    args: tuple[str, ...] = ()
    sys_path0: Path | None = None  # None: the script's folder
    package: str = ""  # of a script run as ``-m``: what its relative imports start from
    seed: int = 0
    device: str | None = None
    preload: Path | None = None
    modules: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)  # added to this process's own
    memory: int | None = None  # bytes a program may allocate; None: its share of what is free
    allow_write: tuple[Path, ...] = ()  # what programs may really write to
    network: bool = False  # whether programs may reach the network
    sandbox: bool = True  # whether programs are confined; without, they run as the user does

    @property
    def first_path(self) -> Path:
        """What stands first on the programs' ``sys.path``."""
        return self.sys_path0 if self.sys_path0 is not None else self.script_path.parent

    def environment(self) -> dict[str, str]:
        """The programs' environment: this process's own without secrets, with a fixed hash seed."""
        withheld = withheld_variables() if self.sandbox else ()
        env = {name: value for name, value in os.environ.items() if name not in withheld}
        env.update(self.env)
        env["PYTHONHASHSEED"] = str(self.seed % 2**32)
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        env["PYTHONFAULTHANDLER"] = "1"
        return env

    def check(self) -> None:
        """Make sure that there are such an interpreter and folder.

        Raises:
            TargetError: there is no such program, or no such folder any more.
        """
        if not self.cwd.is_dir():
            raise TargetError(f"the folder {self.cwd} is gone", "programs are run in it: name another with --cwd DIR")
        if shutil.which(self.python) is None:
            raise TargetError(
                f"no Python interpreter at {self.python}", "give the one that has torch with --python PATH"
            )


def withheld_variables() -> frozenset[str]:
    """Variables of this process that programs do not get: by their names or values they hold secrets."""
    return frozenset(
        name
        for name, value in os.environ.items()
        if name not in _NO_SECRET and (_SECRET.search(name) or _ADDRESS_WITH_PASSWORD.search(value))
    )


@functools.cache
def header_cache() -> Path:
    """A folder for the compiler headers that inductor precompiles, for all runs of this process."""
    scratch = make_scratch()
    atexit.register(remove, scratch)
    folder = scratch / "headers"
    folder.mkdir()
    return folder


def no_torch(python: str, detail: str) -> TargetError:
    """The error for a target without a usable torch."""
    return TargetError(
        f"{python} cannot import torch ({detail})",
        f"install it there ({python} -m pip install torch), or name another interpreter with --python PATH",
    )
