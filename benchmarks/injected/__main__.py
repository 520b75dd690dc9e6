"""``python -m benchmarks.injected``: reduce each host with its bug planted, and take the bug out again.

Decision: a result is judged by fresh runs of our own, not by the product's: it must fail with the plant and pass
without. One that fails without it is a slip, whatever else it is.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import fresh, tokens
from benchmarks.bench import seconds
from benchmarks.injected import index
from benchmarks.injected.index import Injection, select
from benchmarks.rows import geometric_mean
from shrinkrepro import api
from shrinkrepro.errors import ShrinkReproError

TIMEOUT = 120.0  # seconds of one fresh run

# What a compiler kept of a run without the plant, a run with it would take over.
_UNCACHED = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
_LAUNCH = """\
import runpy, sys, types
plant, program = sys.argv[1:]
module = sys.modules["__preload__"] = types.ModuleType("__preload__")
module.__file__ = plant
exec(compile(open(plant).read(), plant, "exec"), vars(module))
runpy.run_path(program, run_name="__main__")
"""


@dataclass(frozen=True)
class Row:
    """What became of one injection. ``slipped`` counts most: the result fails without the plant."""

    name: str
    before: int
    after: int = 0
    run: int = 0
    seconds: float = 0.0
    control: str = ""
    ended: str = ""
    slipped: bool = False
    error: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The row as text."""
        state = "SLIP" if self.slipped else "ERROR" if self.error else "ok"
        text = (
            f"{state:5} {self.name[:44]:44} {self.before:6} {self.after:5} {self.run:6} {self.seconds:6.1f}  "
            f"{self.ended:9} {self.control}"
        )
        return text.rstrip() + (f"\n      {self.error}" if self.error else "")


HEADER = f"{'':5} {'plant':44} {'before':>6} {'after':>5} {'run':>6} {'s':>6}  {'ended':9} control"


class Notes(api.Silent):
    """Keeps what a reduction tells."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        """Keep a line."""
        self.texts.append(text)

    @property
    def control(self) -> str:
        """The control that the original passed, in the product's words."""
        told = [text.partition("passes when ")[2] for text in self.texts if text.startswith("control:")]
        return told[0] if told else "none"


def planted(program: Path, plant: Path) -> fresh.Run:
    """A fresh run of ``program`` in a torch with the bug."""
    return fresh.command([sys.executable, "-c", _LAUNCH, str(plant), str(program)], TIMEOUT, _UNCACHED)


def healthy(program: Path) -> fresh.Run:
    """A fresh run of ``program`` in torch as it is."""
    return fresh.script(sys.executable, program, TIMEOUT, _UNCACHED)


def measure(injection: Injection, folder: Path, budget: float, jobs: int | None) -> Row:
    """Reduce one host and judge the result."""
    host, result = folder / f"{injection.name}.host.py", folder / f"{injection.name}.py"
    host.write_text(injection.host, encoding="utf-8")
    row = Row(injection.name, tokens.count(injection.host))
    if not healthy(host).clean:
        return dataclasses.replace(row, error=f"the host fails without the plant: {healthy(host).last_line}")
    if planted(host, injection.preload).clean:
        return dataclasses.replace(row, error="the host passes with the plant")
    notes, start = Notes(), time.monotonic()
    try:
        found = api.reduce(host, preload=injection.preload, budget=budget, jobs=jobs, fresh=True, progress=notes)
    except ShrinkReproError as error:
        return dataclasses.replace(row, error=str(error), seconds=time.monotonic() - start)
    result.write_text(found.source, encoding="utf-8")
    without, with_plant = healthy(result), planted(result, injection.preload)
    return dataclasses.replace(
        row,
        after=tokens.count(found.source),
        run=found.counts.run,
        seconds=found.seconds,
        control=notes.control,
        ended=found.ended,
        slipped=not without.clean,
        error="the result passes with the plant" if with_plant.clean else "",
        source=found.source,
        notes=tuple(notes.texts),
    )


def sanitized(name: str, host: str, folder: Path, preload: Path | None, lines: Sequence[int]) -> bool:
    """Whether the sanitizer names one of ``lines`` of a host and no other, or nothing where there are none."""
    path = folder / f"{name}.host.py"
    path.write_text(host, encoding="utf-8")
    found = api.sanitize(path, preload=preload)
    told = sorted({finding.line for finding in found.findings})
    right = bool(told) == bool(lines) and set(told) <= set(lines)
    by = ", ".join(sorted({f"{finding.transform} by {finding.by}" for finding in found.findings}))
    print(f"{'ok' if right else 'WRONG':5} {name:44} said {told}, true {list(lines)}  {by}".rstrip(), flush=True)
    return right


def sanitize(chosen: Sequence[Injection], folder: Path, healthy_too: bool) -> bool:
    """Sanitize every host with its plant, and every healthy program; whether all came out right."""
    named = [sanitized(i.name, i.host, folder, i.preload, i.lines) for i in chosen]
    healthy_programs = index.healthy() if healthy_too else {}
    silent = [sanitized(name, text, folder, None, ()) for name, text in healthy_programs.items()]
    print(f"\n{sum(named)} of {len(named)} plants by their line; silent on {sum(silent)} of {len(silent)} healthy ones")
    return all(named + silent)


def summary(rows: Sequence[Row]) -> str:
    """The table again, slips first, and what it comes to."""
    order = sorted(rows, key=lambda row: (not row.slipped, not row.error, -row.after))
    done = [row for row in rows if row.after]
    slips, errors = sum(row.slipped for row in rows), sum(bool(row.error) for row in rows)
    lines = [HEADER, *(row.line for row in order), "", f"{len(rows)} plants: {slips} slips, {errors} errors"]
    if done:
        lines.append(
            f"tokens {geometric_mean([r.before for r in done]):.0f} -> {geometric_mean([r.after for r in done]):.1f} "
            f"(geometric means), largest {max(r.after for r in done)}; {sum(r.seconds for r in done):.0f} s in all"
        )
    return "\n".join(lines)


def main(
    only: Annotated[str, typer.Option(help="Names of plants or their beginnings, with commas between.")] = "",
    budget: Annotated[str, typer.Option(help="Budget of one reduction.")] = "90s",
    jobs: Annotated[int, typer.Option(help="Workers of a reduction; 0: as many as it wants.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write everything there, sources too.")] = None,
    keep: Annotated[Path, typer.Option(help="Leave hosts and results in this folder.")] = Path("build/injected"),
    sanitizer: Annotated[
        bool, typer.Option("--sanitize", help="Reduce nothing: see whether check --sanitize names the right lines.")
    ] = False,
) -> None:
    """Reduce each host with its bug planted; exits 1 if a result fails without the plant, or there is none."""
    try:
        chosen, limit = select([text.strip() for text in only.split(",") if text.strip()]), seconds(budget)
    except ValueError as error:
        typer.echo(f"injected: {error}", err=True)
        raise typer.Exit(2) from error
    keep.mkdir(parents=True, exist_ok=True)
    if sanitizer:
        raise typer.Exit(0 if sanitize(chosen, keep.resolve(), not only) else 1)
    done: list[Row] = []
    print(HEADER, flush=True)
    try:
        for injection in chosen:
            done.append(measure(injection, keep.resolve(), limit, jobs or None))
            print(done[-1].line, flush=True)
            if json_file is not None:
                json_file.write_text(json.dumps([dataclasses.asdict(row) for row in done], indent=1) + "\n")
    except KeyboardInterrupt:
        print(f"stopped after {len(done)} of {len(chosen)}")
    print("\n" + summary(done), flush=True)
    raise typer.Exit(1 if any(row.slipped or row.error for row in done) else 0)


if __name__ == "__main__":
    typer.run(main)
