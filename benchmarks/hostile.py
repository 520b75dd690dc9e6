"""``make hostile``: what hostile programs try, how each ends, what stopped it, and whether a canary was reached.

Each is run in a warm server and then an innocent program in the same request; exits 1 where one ended otherwise than it
may, the innocent one was disturbed, or a canary died.
"""

from __future__ import annotations

import shutil
import sys
import time

import typer

from benchmarks.hostile_programs import INNOCENT, SECONDS, Canaries, planted
from shrinkrepro.protocol import EXCEPTION, TIMEOUT, Execution, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target

MEMORY = 1 << 30  # bytes that each program gets


def stopped_by(execution: Execution) -> str:
    """What ended a program, in a few words."""
    if execution.detail:
        return execution.detail
    if execution.chain:
        return f"{execution.chain[-1].type}: {execution.chain[-1].message}".splitlines()[0][:70]
    return "its time was up" if execution.status == TIMEOUT else f"{execution.status} {execution.code or ''}".strip()


def judged(pool: Pool, canaries: Canaries) -> int:
    """Run all programs and print the table; the number of those that did harm."""
    harmful = 0
    for program in canaries.programs():
        start = time.perf_counter()
        hostile, innocent = pool.run([Job(program.source, timeout=SECONDS), Job(INNOCENT, timeout=60.0)])
        seconds = time.perf_counter() - start
        wrong = [] if hostile.status in program.endings else [f"ended by {hostile.status}"]
        if innocent.status != EXCEPTION or innocent.chain[0].type != "KeyError":
            wrong.append(f"the next program: {stopped_by(innocent)}")
        wrong += [f"reached {canary}" for canary in canaries.dead()]
        harmful += bool(wrong)
        said = f"HARM: {'; '.join(wrong)}" if wrong else "none"
        print(f"{program.name:38} {seconds:5.1f} s  {stopped_by(hostile):70}  harm: {said}", flush=True)
    return harmful


def main() -> None:
    """Print the table and the sum."""
    with planted() as canaries:
        (canaries.folder / "script.py").touch()
        target = Target(
            python=sys.executable,
            script_path=canaries.folder / "script.py",
            cwd=canaries.folder,
            env={"HOME": str(canaries.home)},
            memory=MEMORY,
        )
        with Pool(target) as pool:
            if "PID" not in pool.info.confinement:
                raise SystemExit(f"hostile programs are run in namespaces only; here: {pool.info.confinement}")
            print(f"confinement: {pool.info.confinement}")
            harmful = judged(pool, canaries)
        print(f"{len(canaries.programs())} programs, {harmful} did harm")
    for folder in (canaries.outside.parent, canaries.home.parent):
        shutil.rmtree(folder)
    raise typer.Exit(1 if harmful else 0)


if __name__ == "__main__":
    typer.run(main)
