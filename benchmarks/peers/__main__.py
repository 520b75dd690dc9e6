"""``python -m benchmarks.peers``: run shrinkrepro and the peers on the same scripts; ``--setup`` installs the peers.

Times are processor seconds (``clock``).

Decision: runs are made one after another on one core, ours too, with one worker each, and resumed by the rows that are
there already; so a table of hours can be made in pieces and beside other work.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.bench import seconds
from benchmarks.peers import rows
from benchmarks.peers.environments import make
from benchmarks.peers.judging import FRESH, SERVED, Judging
from benchmarks.peers.running import line, measured
from benchmarks.peers.subjects import Subject, select
from benchmarks.peers.tools import Peer, named
from shrinkrepro.errors import ShrinkReproError

REDUCE = "reduce"
Plan = list[tuple[Subject, Peer | None, str, float]]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def planned(
    subjects: tuple[Subject, ...], peers: tuple[Peer, ...], modes: list[str], budgets: dict[str, float]
) -> Plan:
    """The runs in their order: ours on every script, then each mode, script by script."""
    plan: Plan = []
    if REDUCE in modes:
        plan += [(subject, None, REDUCE, budgets[REDUCE]) for subject in subjects]
    for mode in (SERVED, FRESH):
        if mode in modes:
            plan += [(subject, peer, mode, budgets[mode]) for subject in subjects for peer in peers]
    return plan


def _runs(plan: Plan, homes: Path, python: str, core: int | None, scratch: Path) -> Iterator[rows.Row]:
    judging: Judging | None = None
    at: Subject | None = None
    try:
        for number, (subject, peer, mode, budget) in enumerate(plan):
            if subject is not at:
                if judging is not None:
                    judging.__exit__(None, None, None)
                judging, at = None, subject
                folder = scratch / f"judging{number}"
                folder.mkdir()
                try:
                    judging = Judging(subject, folder, python, budget)
                except ShrinkReproError as error:
                    print(f"{subject.name}: skipped: {error}", flush=True)
            if judging is None:
                continue
            home = homes / (peer.name if peer is not None else "")
            yield measured(subject, peer, home, mode, budget, judging, scratch / f"run{number}", python, core)
            shutil.rmtree(scratch / f"run{number}", ignore_errors=True)
    finally:
        if judging is not None:
            judging.__exit__(None, None, None)


def main(
    setup: Annotated[bool, typer.Option("--setup", help="Install the peers, and run nothing.")] = False,
    only: Annotated[str, typer.Option(help="Names of scripts or their beginnings, with commas between.")] = "",
    peers: Annotated[str, typer.Option(help="Names of peers, with commas between; empty: all that are there.")] = "",
    modes: Annotated[str, typer.Option(help="Of reduce, served, fresh.")] = f"{REDUCE},{SERVED},{FRESH}",
    budget: Annotated[str, typer.Option(help="Of shrinkrepro's own runs, in wall time.")] = "15m",
    budget_served: Annotated[
        str, typer.Option(help="Of a peer with the warm server behind its test, in processor seconds.")
    ] = "2m",
    budget_fresh: Annotated[str, typer.Option(help="Of a peer whose test starts an interpreter, likewise.")] = "5m",
    first: Annotated[int, typer.Option(help="Only so many of the scripts; 0: all.")] = 0,
    core: Annotated[int, typer.Option(help="The core that everything is bound to; -1: any.")] = -1,
    again: Annotated[bool, typer.Option("--again", help="Make rows anew that are there.")] = False,
    homes: Annotated[Path, typer.Option(help="Where the peers' environments are.")] = Path("build/peers"),
    to: Annotated[Path, typer.Option(help="The folder of the rows.")] = rows.FOLDER,
    python: Annotated[str, typer.Option(help="The interpreter that has the torch under test.")] = sys.executable,
) -> None:
    """Run what no row has yet. Exits 2 where a name or a time is wrong."""
    try:
        chosen, wanted = named(_listed(peers)), select(_listed(only))
        budgets = {REDUCE: seconds(budget), SERVED: seconds(budget_served), FRESH: seconds(budget_fresh)}
        unknown = set(_listed(modes)) - set(budgets)
        if unknown:
            raise ValueError(f"no mode is called {', '.join(sorted(unknown))}; modes: {', '.join(budgets)}")
        known = {row.key for row in rows.load(to)} if not again else set()
    except ValueError as error:
        typer.echo(f"peers: {error}", err=True)
        raise typer.Exit(2) from error
    if setup:
        for peer in chosen:
            print(make(peer, homes.absolute()), flush=True)
        return
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    there = tuple(peer for peer in chosen if peer.installed(homes.absolute() / peer.name))
    for peer in chosen:
        if peer not in there:
            print(f"{peer.name}: skipped: it is not installed; `make peers` says why")
    plan = planned(wanted[: first or None], there, _listed(modes), budgets)
    left = [run for run in plan if (run[0].name, run[1].name if run[1] else rows.OURS, *run[2:]) not in known]
    print(f"{len(plan)} runs, {len(plan) - len(left)} of them made before", flush=True)
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        try:
            for row in _runs(left, homes.absolute(), python, core if core >= 0 else None, Path(scratch)):
                rows.append(row, to)
                print(line(row), flush=True)
        except KeyboardInterrupt:
            print("stopped; the same command goes on from here")


if __name__ == "__main__":
    typer.run(main)
