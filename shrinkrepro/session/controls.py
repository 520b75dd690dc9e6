"""The controls of one run: which they are, and whether a program passes them.

Decision: they are settled on the original. Those that the user named must all be passed by it, or the run ends there;
with none named, the strictest one that it passes is taken. What was too slow for it is asked again when half is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from shrinkrepro.core.devices import on_device
from shrinkrepro.core.verdict import Outcome, Verdict
from shrinkrepro.errors import UsageError
from shrinkrepro.oracles import controls
from shrinkrepro.oracles.controls import Control
from shrinkrepro.oracles.signature import Signature, signature_of
from shrinkrepro.protocol import CONTROL_CPU, LOST, OK, SIGNAL, TIMEOUT, Execution, Job
from shrinkrepro.workers.pool import Pool

Run = Callable[[Sequence[Job]], list[Execution]]

FIRST_SECONDS = 5.0  # what a control may take until one was measured
TOGETHER = 2  # controls that are tried at a time: most originals pass one of the first
BESIDE_SECONDS = 0.5  # what a second control may cost, or three times the first
PATIENCE = 6.0  # times that, for the controls that a user named: loops and differences are slow


class Controls:
    """What a program has to pass. ``pools`` has the workers of each other interpreter, by its path."""

    def __init__(
        self, named: tuple[tuple[str, tuple[Control, ...]], ...] | None = None, pools: Mapping[str, Pool] | None = None
    ) -> None:
        self.chosen: tuple[Control, ...] | None = None  # None: not known yet what the original passes
        self.seconds = FIRST_SECONDS  # of the slowest one
        self._named = named
        self._failed: Execution | None = None  # how the original failed the weakest one
        self._slow: Control | None = None  # too slow for the last program that was asked, whose length this is:
        self._length = 0
        self._pools = dict(pools or {})

    @property
    def given(self) -> bool:
        """Whether the user said which (or that there are none)."""
        return self._named is not None

    @property
    def elsewhere(self) -> tuple[tuple[Control, Pool], ...]:
        """The controls that are runs by another interpreter, each with its workers."""
        return tuple((c, self._pools[c.python]) for c in self.chosen or () if c.python is not None)

    def settle(self, source: str, kind: str, run: Run, limit: float) -> None:
        """Find out which controls ``source``, a failure of ``kind``, passes; leave it open when they took too long.

        Raises:
            UsageError: it fails one that the user named.
        """
        if self._named is not None:
            self.chosen = tuple(self._passed(name, meant, source, run, limit) for name, meant in self._named)
            return
        candidates = [Control(mode) for mode in controls.modes_for(kind)]
        known = True
        for at in range(0, len(candidates), TOGETHER):
            asked = candidates[at : at + TOGETHER]
            for control, execution in zip(asked, run([_job(control, source, limit) for control in asked])):
                if execution.status == OK:
                    self.seconds = execution.seconds
                    self.chosen = (control, *self._beside(control, source, run, limit))
                    return
                known = known and execution.status not in (TIMEOUT, LOST)
                self._failed = execution
        if known:
            self.chosen = ()

    def reconsider(self, source: str, run: Run, limit: float) -> str:
        """Take what was too slow for a program twice as long as ``source``, if that passes it in time.

        What it means is told in a line; nothing is told where no control was added.
        """
        if self._slow is None or self.chosen is None or 2 * len(source) > self._length:
            return ""
        added = self._in_time(self._slow, source, run, limit)
        self.chosen += added
        return "".join(f"control: what is left {controls.passes(control)}" for control in added)

    def fails_all(self, wanted: Signature) -> str:
        """What it means that the original, which fails by ``wanted``, passes none, in words."""
        seen = signature_of(self._failed) if self._failed is not None else None
        if seen is None or (seen.kind, seen.type, seen.sentence) == (wanted.kind, wanted.type, wanted.sentence):
            return controls.fails_all(wanted.kind)
        return controls.fails_all(wanted.kind, seen.describe())

    def _beside(self, control: Control, source: str, run: Run, limit: float) -> tuple[Control, ...]:
        """What else ``source`` passes that costs little and tells a wrong reference."""
        mode = controls.beside(control.mode)
        if mode is None:
            return ()
        return self._in_time(Control(mode), source, run, limit)

    def _in_time(self, other: Control, source: str, run: Run, limit: float) -> tuple[Control, ...]:
        """``other``, if ``source`` passes it and it costs little; if it is slow, a shorter program may be asked."""
        [execution] = run([_job(other, source, limit)])
        most = max(BESIDE_SECONDS, 3 * self.seconds)
        slow = execution.status in (TIMEOUT, LOST) or (execution.status == OK and execution.seconds > most)
        self._slow, self._length = (other, len(source)) if slow else (None, 0)
        if slow or execution.status != OK:
            return ()
        self.seconds = max(self.seconds, execution.seconds)
        return (other,)

    def _passed(self, name: str, meant: Sequence[Control], source: str, run: Run, limit: float) -> Control:
        execution = Execution(status=LOST)
        for control in meant:
            job = _job(control, source, PATIENCE * limit)
            if control.python is None:
                [execution] = run([job])
            else:
                pool = self._pools[control.python]
                [execution] = pool.run([job])
                if execution.status == OK and pool.learn():
                    [execution] = pool.run([job])
            if execution.status == OK:
                self.seconds = max(self.seconds, execution.seconds)
                return control
        if execution.status == TIMEOUT:
            raise UsageError(f"the control {name} does not end within {PATIENCE * limit:.0f} s", "give it a --timeout")
        raise UsageError(
            f"the original fails the control {name} too, {controls.fails_too(name)}: {_what(execution)}",
            "look there first; or leave --control out, and one that it passes is chosen",
        )

    def jobs(self, source: str, limit: float) -> list[Job]:
        """The runs of ``source`` that the target's own interpreter has to pass."""
        return [_job(control, source, limit) for control in self.chosen or () if control.python is None]

    def runs_elsewhere(self, source: str, limit: float) -> Iterator[Execution]:
        """The runs of ``source`` by other interpreters."""
        for control, pool in self.elsewhere:
            yield from pool.run([_job(control, source, limit)])


def held(execution: Execution, verdict: Verdict) -> Verdict:
    """``verdict`` if the run of a control ended well, else why the program does not count."""
    if execution.status == OK:
        return verdict
    if execution.status in (TIMEOUT, LOST):
        return Verdict(Outcome.UNRESOLVED, reason="the control did not end", control=True)
    return Verdict(Outcome.SLIPPED, "", f"fails its control too: {_what(execution)}", control=True)


def _job(control: Control, source: str, limit: float) -> Job:
    text = on_device(source, "cpu") if control.mode == CONTROL_CPU else source
    return Job(text, control.mode, limit, alone=True)


def _what(execution: Execution) -> str:
    if execution.status == LOST:
        return execution.detail
    if execution.chain:
        last = execution.chain[-1]
        first_line = last.message.strip().partition("\n")[0]
        return f"{last.type}: {first_line}" if first_line else last.type
    return "signal" if execution.status == SIGNAL else "exit"
