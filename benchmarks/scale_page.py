"""docs/scale.md: a pure function of the measurements; the simulation is run as it is made."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.scale_model import Costs, Harvest, Outcome, replay, simulate, worth

WORKERS = (1, 2, 10, 100, 1000)
HARVESTS = (Harvest(1_000, 100), Harvest(10_000, 1_000))
_NO_CACHE = (
    "there is none: executions are remembered where they are made, in each worker's journal, by digest; what goes "
    "through the driver is one verdict a script, and the programs that were accepted."
)
BUSY = 0.5  # of their time that workers must work for another of them to pay

Row = Mapping[str, Any]


def page(data: Row, harvests: Sequence[Harvest] = HARVESTS) -> str:
    """The page. ``data``: the rows that ``benchmarks.scale`` measured; ``harvests`` are simulated."""
    costs = costs_of(data)
    parts = [_head(data), _script(data), _network(data), _rate(data), _checked(data, costs)]
    parts += [_simulated(costs, harvests), _cache(data, costs, harvests[-1])]
    return "\n\n".join(parts) + "\n"


def costs_of(data: Row) -> Costs:
    """What the simulation takes from the measurements: durations of runs with one worker."""
    works = _works(data, 1)
    checks, reductions = _of(works, "check"), _of(works, "reduce")
    return Costs(
        check=tuple(_seconds(checks)),
        reduce=tuple(_seconds(reductions)),
        start=statistics.mean(run["start"] for run in data["runs"]),
        event=data["talk"]["event"],
        check_events=_mean(work["events"] for work in checks),
        reduce_events=_mean(work["events"] for work in reductions),
        queries=data["shared"]["queries"],
    )


def _head(data: Row) -> str:
    machine = data["machine"]
    loads = ", ".join(f"{run['load']:.1f}" for run in data["runs"])
    names = sorted({work["name"] for run in data["runs"] for work in run["works"]})
    lines = ["# Many workers: what they cost and where they stop paying"]
    lines += _prose("`make scale` measures and writes this page; nothing on it was typed.")
    lines += _prose(
        f"**Measured** on {data['date']}: one machine with {machine['cores']} cores, {machine['system']}, Python",
        f"{machine['python']}, Ray on that machine alone, {len(names)} scripts drawn from `benchmarks/cases` (budget",
        f"{data['budget']:.0f} s each): {', '.join(f'`{name}`' for name in names)}. The machine's load (five minutes'",
        f"mean) at the end of each run was {loads}; what exceeds the run's own workers was others' work, and makes",
        "every time longer. **Simulated**: what is headed so, from those measurements.",
    )
    return "\n".join(lines)


def _script(data: Row) -> str:
    works = _works(data, 1)
    lines = ["## A script, by phase (measured)", "", "| phase | seconds, median | least | most |", "|---|---|---|---|"]
    lines.append(_times("the first worker of a cluster that starts here", [run["start"] for run in data["runs"]]))
    lines.append(_times("check: enough to group it", _seconds(_of(works, "check"))))
    lines.append(_times("reduce, all of it", _seconds(_of(works, "reduce"))))
    names = dict.fromkeys(name for phases in data["shared"]["phases"] for name in phases)
    for name in names:
        lines.append(_times(f"— {name}", [p[name] for p in data["shared"]["phases"] if name in p]))
    lines += ["", "The phases are those of three generated scripts of 100 lines, on their own."]
    return "\n".join(lines)


def _network(data: Row) -> str:
    works = [work for run in data["runs"] for work in run["works"]]
    lines = [
        "## What crosses the network (measured)",
        "",
        "| | to the worker, kB | to the driver, kB | events |",
        "|---|---|---|---|",
    ]
    for kind in ("check", "reduce"):
        mine = _of(works, kind)
        sent, heard = _mean(work["sent"] for work in mine) / 1e3, _mean(work["heard"] for work in mine) / 1e3
        lines.append(f"| {kind} | {sent:.1f} | {heard:.1f} | {_mean(work['events'] for work in mine):.0f} |")
    event = data["talk"]["event"]
    lines += _prose(
        "Means of a script, in bytes of JSON, without Ray's frames. Sources go out; programs that were accepted and a",
        f"result come back; no query does. An event costs the driver {event * 1e3:.2f} ms of its processor, so one",
        f"driver hears {1 / event:,.0f} a second.",
    )
    return "\n".join(lines)


def _rate(data: Row) -> str:
    lines = [
        "## One worker and two (measured)",
        "",
        "| workers | scripts a minute | driver's processor | load |",
        "|---|---|---|---|",
    ]
    for run in data["runs"]:
        share = run["driver"] / run["seconds"]
        lines.append(f"| {run['workers']} | {run['rate']:.2f} | {share:.1%} | {run['load']:.1f} |")
    differing = ", ".join(data["differing"])
    same = "Every result that is minimal is the same text in all runs."
    lines += _prose(
        "In this order, each script checked and reduced.",
        f"Two workers: **{data['gain']:.2f} times** one."
        if data["gain"]
        else "Two workers have not been measured here.",
        f"Results that differ between runs: {differing}." if differing else same if len(data["runs"]) > 1 else "",
    )
    return "\n".join(lines)


def _checked(data: Row, costs: Costs) -> str:
    lines = [
        "## The simulation against these runs",
        "",
        "| workers | real, s | simulated, s | apart |",
        "|---|---|---|---|",
    ]
    own = _works(data, 1)
    names = list(dict.fromkeys(work["name"] for work in own))
    durations = [
        [_mean(_seconds(work for work in _of(own, kind) if work["name"] == name)) for name in names]
        for kind in ("check", "reduce")
    ]
    for run in data["runs"]:
        made = replay(costs, durations[0], durations[1], run["workers"]).seconds - costs.start
        lines.append(f"| {run['workers']} | {run['seconds']:.0f} | {made:.0f} | {made / run['seconds'] - 1:+.0%} |")
    lines += _prose(
        "Simulated with each script's mean duration in the runs with one worker. Two workers that share the cores of",
        "one machine take longer for a script than one that has them alone; the simulation knows nothing of that.",
    )
    return "\n".join(lines)


def _simulated(costs: Costs, harvests: Sequence[Harvest]) -> str:
    lines = ["## Ten, a hundred, a thousand workers (simulated)"]
    for harvest in harvests:
        lines += _prose(
            f"{harvest.scripts:,} scripts with {harvest.bugs:,} bugs: all are checked, then one of each bug is reduced."
        )
        lines += [
            "",
            "| workers | minutes | faster | workers busy | driver busy | waiting for stragglers |",
            "|---|---|---|---|---|---|",
        ]
        outcomes = [simulate(costs, harvest, workers) for workers in WORKERS]
        lines += [_outcome(outcome, outcomes[0]) for outcome in outcomes]
        most = worth(costs, harvest, BUSY)
        last = simulate(costs, harvest, most * 2)
        lines += _prose(
            f"Up to {most:,} workers are busy for half of their time or more. With {most * 2:,} they are for",
            f"{last.efficiency:.0%}, and {_blame(last)}.",
        )
    return "\n".join(lines)


def _cache(data: Row, costs: Costs, harvest: Harvest) -> str:
    talk, shared = data["talk"], data["shared"]
    reducing = _mean(phases.get("reducing", 0.0) for phases in shared["phases"])
    share = reducing / _mean(sum(phases.values()) for phases in shared["phases"])
    query = reducing / shared["queries"]
    saved = query * shared["other"]
    lines = ["## A cache of verdicts that all workers share"]
    lines += _prose(
        f"Measured: a question to an actor takes {talk['lookup'] * 1e3:.2f} ms, {talk['lookup_cpu'] * 1e3:.2f} ms of",
        "them its own, with no network between. Of the queries of a script,",
        f"{shared['same']:.1%} had been asked by another script with the same bug, and {shared['other']:.1%} by one",
        "with another; a batch reduces one script of a bug.",
        f"A reduction made {shared['queries']:,.0f} queries, in {query * 1e3:.1f} ms each.",
    )
    lines += _prose(f"Simulated, {harvest.scripts:,} scripts with {harvest.bugs:,} bugs:")
    lines += [
        "",
        "| workers | minutes without | minutes with a cache at the head | the cache busy |",
        "|---|---|---|---|",
    ]
    asked = replace(costs, lookup=talk["lookup_cpu"])
    for workers in WORKERS[2:]:
        without, cached = simulate(costs, harvest, workers), simulate(asked, harvest, workers)
        cells = (f"{workers:,}", f"{without.seconds / 60:.1f}", f"{cached.seconds / 60:.1f}", f"{cached.cache:.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    lines += _prose(
        "The simulated cache only costs. With one script reduced of each bug it would save",
        f"{saved * 1e3:.2f} ms a question and take {talk['lookup'] * 1e3:.2f}, so",
        "it would pay: there is none yet." if saved > talk["lookup"] else _NO_CACHE,
        f"With `--all` it would save up to {shared['same'] * share:.0%} of a script's time, as {share:.0%} of it are",
        "queries: the rest are starts and confirmations in fresh interpreters, which nothing may answer for.",
    )
    return "\n".join(lines)


def _prose(*parts: str) -> list[str]:
    return ["", textwrap.fill(" ".join(parts), 120, break_long_words=False, break_on_hyphens=False)]


def _outcome(outcome: Outcome, one: Outcome) -> str:
    cells = (f"{outcome.workers:,}", f"{outcome.seconds / 60:.1f}", f"{one.seconds / outcome.seconds:.1f} x",
             f"{outcome.efficiency:.0%}", f"{outcome.driver:.0%}", f"{outcome.stragglers:.0%}")  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _blame(outcome: Outcome) -> str:
    if outcome.driver > max(BUSY, outcome.stragglers):
        return f"the driver is the limit: it is busy for {outcome.driver:.0%} of the time"
    return f"stragglers are the limit: for {outcome.stragglers:.0%} of the time some worker has nothing left to do"


def _times(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {statistics.median(values):.1f} | {min(values):.1f} | {max(values):.1f} |"


def _works(data: Row, workers: int) -> list[Row]:
    return [work for run in data["runs"] if run["workers"] == workers for work in run["works"]]


def _of(works: Iterable[Row], kind: str) -> list[Row]:
    return [work for work in works if work["kind"] == kind]


def _seconds(works: Iterable[Row]) -> list[float]:
    return [work["ended"] - work["begun"] for work in works]


def _mean(values: Iterable[float]) -> float:
    return statistics.mean(list(values))
