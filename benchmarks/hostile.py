"""``make hostile``: what hostile programs try, what stopped each, and what it reaches where nothing does.

Each is run in a warm server and then an innocent program in the same request. Before that each is run with nothing that
confines it, in a root of its own, so that none is stopped by luck. Exits 1 where one ended otherwise than it may, the
innocent one was disturbed, a canary died, or one cannot die in that root either.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from benchmarks.hostile_programs import INNOCENT, MEMORY, SECONDS, Canaries, planted
from benchmarks.unconfined import Reached, control
from shrinkrepro.protocol import EXCEPTION, OK, TIMEOUT, Execution, Job
from shrinkrepro.workers import scratch as scratches
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

# What must be seen to die where nothing is confined: all that ``Canaries`` and ``unconfined`` look at.
MORTAL = (
    "HOME",
    "the script's folder",
    "outside",
    "a process",
    "the server",
    "the server's memory",
    "another candidate's scratch",
    "the next candidate's scratch",
    "TCP",
    "UDP",
    "the name server",
    "a socket",
    "an abstract socket",
    "the next program",
    "what tells its verdict",
    "a process left behind",
    "processes",
    "memory",
    "disk",
    "output",
    "time",
)

# Why some reach nothing where nothing confines them.
UNREACHED = {
    "asks for real-time priority": "only root outside every user namespace may",
    "a device made": "only root outside every user namespace may",
    "modules thrown away": "it harms itself alone",
    "its own source overwritten": "it harms itself alone",
}


def stopped_by(execution: Execution) -> str:
    """What ended a program, in a few words; that it went on harms nobody where what it wrote went with it."""
    if execution.detail:
        return execution.detail
    if execution.chain:
        return f"{execution.chain[-1].type}: {execution.chain[-1].message}".splitlines()[0][:70]
    if execution.status == OK:
        return "nothing; what it did was gone with it"
    return "its time was up" if execution.status == TIMEOUT else f"{execution.status} {execution.code or ''}".strip()


def died(reached: Reached | None) -> str:
    """What a program reached unconfined, in a few words."""
    if reached is None:
        return "not run"
    nothing = f"nothing ({UNREACHED.get(reached.name, reached.ended)})"
    return reached.left_out or ", ".join(reached.deaths) or nothing


def immortal(reached: Mapping[str, Reached]) -> list[str]:
    """The canaries that no program reached."""
    dead = {death.partition(" (")[0] for each in reached.values() for death in each.deaths}
    left_out = any(each.left_out for each in reached.values())
    return [name for name in MORTAL if name not in dead and not (left_out and name == "processes")]


def judged(pool: Pool, canaries: Canaries, names: Sequence[str], reached: Mapping[str, Reached]) -> int:
    """Run the programs ``names`` (all when empty) and print the table; the number of those that did harm."""
    harmful = 0
    print(f"{'program':42} {'confined, stopped by':70}  {'harm':8}  unconfined, what died", flush=True)
    for program in canaries.programs():
        if names and program.name not in names:
            continue
        hostile, innocent = pool.run([Job(program.source, timeout=SECONDS), Job(INNOCENT, timeout=60.0)])
        wrong = [] if hostile.status in program.endings else [f"ended by {hostile.status}"]
        if innocent.status != EXCEPTION or innocent.chain[0].type != "KeyError":
            wrong.append(f"the next program: {stopped_by(innocent)}")
        wrong += [f"reached {canary}" for canary in canaries.dead()]
        harmful += bool(wrong)
        said = f"HARM: {'; '.join(wrong)}" if wrong else "none"
        print(f"{program.name:42} {stopped_by(hostile):70}  {said:8}  {died(reached.get(program.name))}", flush=True)
    return harmful


def main(names: Annotated[list[str] | None, typer.Argument(help="Programs; all when none is named.")] = None) -> None:
    """Print the table and the sum."""
    chosen = names or []
    try:
        reached = control(chosen)
    except RuntimeError as refusal:
        print(refusal, file=sys.stderr)
        raise typer.Exit(2) from None
    scratch = scratches.make_scratch()
    with planted(scratch) as canaries:
        (canaries.folder / "script.py").touch()
        target = Target(
            python=sys.executable,
            script_path=canaries.folder / "script.py",
            cwd=canaries.folder,
            env={"HOME": str(canaries.home)},
            memory=MEMORY,
        )
        with Pool(target, scratch=scratch) as pool:
            if "PID" not in pool.info.confinement:
                raise SystemExit(f"hostile programs are run in namespaces only; here: {pool.info.confinement}")
            print(f"confinement: {pool.info.confinement}")
            harmful = judged(pool, canaries, chosen, reached)
    for folder in (canaries.outside.parent, canaries.home.parent):
        shutil.rmtree(folder)
    scratches.remove(scratch)
    print(f"{len(reached)} programs, {harmful} did harm; {sum(bool(r.deaths) for r in reached.values())} do unconfined")
    never = immortal(reached) if not chosen else []
    for name in never:
        print(f"no program reached {name} unconfined: that it lived says nothing")
    raise typer.Exit(1 if harmful or never else 0)


if __name__ == "__main__":
    typer.run(main)
