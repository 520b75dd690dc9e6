"""The check of one script of a batch: what it fails by, from forks of a warm server.

Decision: a check only has to group. What will be reduced is run in full by its reduction, fresh interpreters
and all; so a fresh run is made here only for a script that passes in a server or cannot be run there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from shrinkrepro.core.bundle import BundleError, bundle
from shrinkrepro.core.devices import on_device
from shrinkrepro.core.program import count_tokens
from shrinkrepro.errors import FailsEarlyError, UsageError
from shrinkrepro.oracles.early import before_torch
from shrinkrepro.oracles.signature import Signature, signature_of
from shrinkrepro.protocol import LOST, OK, RUN, TIMEOUT, Execution, Job
from shrinkrepro.session import Progress, Request
from shrinkrepro.session.original import Script, libraries, make_target, read_script, run_original
from shrinkrepro.tasks.batch_blame import Blame, blame, is_comparison
from shrinkrepro.tasks.case_signature import table_of
from shrinkrepro.tasks.inputs import checked
from shrinkrepro.workers.locate import LocalModules, locate
from shrinkrepro.workers.shelf import Shelf
from shrinkrepro.workers.spawn import SpawnPool

SECONDS = 120.0  # of the first run, where no --timeout is given
LEAST_SECONDS = 20.0  # of the runs after it; else five times what the first took
# What is kept of a signature where --match asks for less.
_KEPT = {"message": ("kind", "type", "sentence"), "type": ("kind", "type")}


@dataclass(frozen=True)
class Checked:
    """What a script fails by. ``table`` is the signature as a case's table has it."""

    signature: str  # in words
    table: dict[str, Any]
    comparison: bool  # whether it is a check of values that fails
    blame: Blame
    tokens: int  # of the script with its local modules
    seconds: float  # that the check took

    def wire(self) -> dict[str, Any]:
        """As JSON types."""
        return {**vars(self), "blame": self.blame.wire()}

    @classmethod
    def of(cls, wire: dict[str, Any]) -> Checked:
        """The inverse of ``wire``."""
        return cls(**{**wire, "blame": Blame.of(wire["blame"])})


def check(request: Request, shelf: Shelf, progress: Progress) -> Checked:
    """What the script that ``request`` names fails by; ``shelf`` keeps warm servers.

    Raises:
        ShrinkReproError: it cannot run, does not fail, or fails before torch.
    """
    started = time.monotonic()
    request = checked(request)
    script = read_script(request)
    target = make_target(request, script)
    target.check()
    local = locate(target, script.text, script.package)
    target = replace(target, modules=libraries(script, local))
    text, tokens = _one_text(script, local)
    if request.device is not None:
        text = on_device(text, request.device)
    limit = request.timeout or SECONDS
    with SpawnPool(target) if request.isolation == "spawn" else shelf.take(target, 1) as pool:
        [first] = pool.run([Job(text, RUN, limit, alone=True)])
        pool.learn()
        signature, first, text = _known(request, script, first, text, progress)
        limit = min(limit, max(LEAST_SECONDS, 5 * first.seconds))
        comparison = request.match not in _KEPT and is_comparison(signature, first, text)
        guilt = blame(pool, text, limit) if comparison else Blame()
    kept = _KEPT.get(request.match)
    table = {name: value for name, value in table_of(signature).items() if kept is None or name in kept}
    return Checked(signature.describe(), table, comparison, guilt, tokens, round(time.monotonic() - started, 3))


def _one_text(script: Script, local: LocalModules) -> tuple[str, int]:
    """The script with its local modules folded in, where that can be done, and the tokens of all."""
    tokens = count_tokens(script.text) + sum(map(count_tokens, local.sources.values()))
    if not local.sources:
        return script.text, tokens
    try:
        return bundle(script.text, local.sources, local.packages, script.package), tokens
    except (BundleError, SyntaxError):
        return script.text, tokens  # it imports them from where they stand


def _known(
    request: Request, script: Script, first: Execution, text: str, progress: Progress
) -> tuple[Signature, Execution, str]:
    """The signature of the failure, a run that shows it, and of which text.

    Where a server cannot say, by what ``reduce`` does.
    """
    if first.status == TIMEOUT and request.timeout is None:
        raise UsageError(
            f"{script.path.name} does not end within {SECONDS:.0f} s",
            "say when a hang is clear, or how long a slow script may take: --timeout 20",
        )
    signature = signature_of(first, request.match)
    if first.status in (OK, TIMEOUT, LOST) or signature is None:
        original = run_original(request, progress)
        return original.oracle.signature, original.fresh, original.script.text if original.pinned else text
    early = before_torch(first)
    if early is not None:
        raise FailsEarlyError(early.message, early.hint)
    return signature, first, text
