"""``python -m benchmarks.peers.document``: docs/benchmarks.md and its plots, from the rows alone.

Decision: no figure in that page is typed by hand, and the page says which rows there are and which are missing.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from benchmarks import breakdown
from benchmarks.breakdown import Breakdown
from benchmarks.breakdown import table as table_of
from benchmarks.peers import comparing, plot, traced
from benchmarks.peers.comparing import Spread, best_races, cost, losses, ours, same_bug, spread
from benchmarks.peers.judging import FRESH, SERVED
from benchmarks.peers.rows import FOLDER, OURS, Row, load
from benchmarks.peers.subjects import drawn
from benchmarks.peers.tools import PEERS

DOCS = Path(__file__).parents[2] / "docs"
TITLES = {peer.name: peer.title for peer in PEERS}
MODES = {
    FRESH: "As their users run them: each query starts an interpreter",
    SERVED: "With our warm server behind their test",
}

INTRODUCTION = """\
# Side by side

Made by `make bench-peers` from the rows in [benchmarks/peers/rows](../benchmarks/peers/rows); no figure is typed by
hand. `make peers` sets the peers up, each in an environment of its own.

The scripts were drawn by a seed, within kinds, from `benchmarks/cases` (failures from public reports) and
`benchmarks/injected` (bugs planted in torch). Every reducer gets the same text, the same core, one worker, and the same
test of what is interesting: does it fail with the original's signature? A peer asks through a client of 10 ms.
That test starts a fresh interpreter for each query, as its users' tests do, or has the candidate run in our warm
server, which tells what the search is worth from what the speed is. The start of that server, some seconds, is not
charged to a peer, while our start and the confirmation of our result are part of our time. What does not compile is
refused without a run. The test has no control, as no user writes one; we use our own. What a peer ends with is the
smallest text for which the test said yes.

What a result is in truth is found by fresh runs with the bug there and with it taken out: **slipped** is another
failure, or one without the bug; **broken** (~) has the bug, but fails otherwise without it, by a name that nothing
binds, say. *cut* is a run that its budget ended.

Seconds are **processor seconds** of all processes of a run, budgets too: the machine was shared, and on a core of its
own they are the wall time of reducers that run one thing at a time. A *fresh run* is the script alone in an
interpreter, timed before and after each row. Means are geometric, over the results that did not slip, with their
geometric standard deviation.
"""


def cell(row: Row | None) -> str:
    """One result in a table."""
    if row is None:
        return ""
    if row.after is None:
        return f"none ({row.ended})"
    mark = {"same": "", "broken": " ~"}.get(row.truth, f" **{row.truth}**")
    cut = ", cut" if row.ended == "budget" else "" if row.ended == "finished" else f", {row.ended}"
    return f"{row.after}{mark} ({row.seconds:.0f} s{cut})"


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table, the first column to the left and the others to the right."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join(
        "| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in (head, rule, *body)
    )


def by_subject(rows: Sequence[Row], mode: str) -> str:
    """Tokens at the end on every script: ours, and each peer's in ``mode``."""
    mine = ours(rows)
    peers = [name for name in TITLES if any(row.peer == name and row.mode == mode for row in rows)]
    body = []
    for subject in dict.fromkeys(row.subject for row in rows if row.mode == mode):
        theirs = {row.peer: row for row in rows if row.subject == subject and row.mode == mode}
        one = next(iter(theirs.values()))
        hand = "" if one.by_hand is None else str(one.by_hand)
        start = [f"{subject} ({one.kind})", str(one.before), hand, cell(mine.get(subject))]
        body.append([*start, *(cell(theirs.get(name)) for name in peers)])
    return table(["script", "before", "by hand", "shrinkrepro", *(TITLES[name] for name in peers)], body)


def means(rows: Sequence[Row], mode: str) -> str:
    """One line a reducer."""
    mine = ours(rows)
    subjects = {row.subject for row in rows if row.mode == mode}

    def line(name: str, title: str, chosen: Sequence[Row]) -> list[str]:
        good = [row for row in chosen if same_bug(row)]

        def of(value: Callable[[Row], float | None]) -> Spread:
            return spread(found for row in good if (found := value(row)))

        return [
            title,
            f"{len(good)} of {len(chosen)}",
            str(of(lambda row: row.after)),
            str(of(lambda row: row.after / row.by_hand if row.after and row.by_hand else None)),
            str(of(lambda row: _ratio(row, mine.get(row.subject)))),
            str(of(lambda row: row.queries)),
            str(of(cost)),
            str(of(lambda row: row.seconds)),
            str(sum(row.ended == "finished" for row in chosen)),
            str(sum(row.truth == "slipped" for row in chosen)),
            str(sum(row.truth == "broken" for row in chosen)),
        ]

    body = [line(OURS, "shrinkrepro", [row for row in rows if row.peer == OURS and row.subject in subjects])]
    for name, title in TITLES.items():
        chosen = [row for row in rows if row.peer == name and row.mode == mode]
        if chosen:
            body.append(line(name, title, chosen))
    head = ["", "same bug", "tokens", "/ by hand", "/ ours", "queries", "fresh runs", "seconds"]
    return table([*head, "finished", "slipped", "broken"], body)


def _ratio(row: Row, own: Row | None) -> float | None:
    return row.after / own.after if row.after and own is not None and own.after else None


def at_equal_size(rows: Sequence[Row], mode: str) -> str:
    """When we were as small as the best peer at its end."""
    body, times = [], []
    for found in best_races(rows, mode):
        times.append(found.times)
        mine = "never" if found.ours is None else f"{found.ours:.1f}"
        peer = TITLES[found.peer.peer]
        body.append([found.peer.subject, peer, str(found.size), f"{found.theirs:.1f}", mine, f"{found.times:.1f}"])
    head = ["script", "best peer", "its tokens", "its seconds", "ours", "times sooner"]
    return table(head, body) + f"\n\nMedian of {len(times)} scripts: {statistics.median(times):.1f} times sooner."


def missing(rows: Sequence[Row]) -> str:
    """Which runs of the drawn scripts are not there."""
    lines = []
    names = [subject.name for subject in drawn()]
    for mode in ("reduce", SERVED, FRESH):
        for name in [OURS] if mode == "reduce" else list(TITLES):
            there = {row.subject for row in rows if row.peer == name and row.mode == mode}
            if not there.issuperset(names):
                lines.append(f"- {TITLES.get(name, name)}, {mode}: {len(there & set(names))} of {len(names)} scripts")
    return "\n".join(lines)


def conditions(rows: Sequence[Row]) -> str:
    """When and where."""
    days = sorted({row.date[:10] for row in rows})
    machines = sorted({f"{row.machine['cpu']}, {row.machine['cores']} cores, {row.machine['system']}" for row in rows})
    loads = [float(row.machine["load"]) for row in rows]
    versions = sorted({f"{TITLES.get(row.peer, row.peer)} {row.version}" for row in rows})
    budgets = sorted({f"{row.mode} {row.budget:.0f} s{' of wall time' * (row.peer == OURS)}" for row in rows})
    return "\n".join(
        [
            f"- {len(rows)} rows, {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else ""),
            f"- {'; '.join(machines)}; torch {', '.join(sorted({row.torch for row in rows}))}",
            f"- load of the machine at the start of a row: {min(loads):.0f} to {max(loads):.0f}; it was shared",
            f"- budgets: {', '.join(budgets)}",
            f"- {', '.join(versions)}",
        ]
    )


def where_time_goes(found: Sequence[Breakdown]) -> str:
    """The latest breakdown, and how the ratios to the limit went."""
    last = found[-1]
    heads = {"one per fork": last.alone, "in batches": last.batch}
    largest = []
    for head, phases in heads.items():
        above = {
            "child": phases["child"] - phases["limit"],
            **{name: phases[name] for name in ("server", "host", "confinement")},
        }
        order = sorted(above, key=lambda name: -above[name])[:3]
        largest.append(f"{head}: " + ", ".join(f"{name} {above[name]:.2f} ms" for name in order))
    history = [[one.date[:10], one.revision, f"{one.ratio(True):.2f}", f"{one.ratio(False):.2f}"] for one in found]
    host = [[phase, f"{value:.2f}"] for phase, value in last.host.items()]
    parts = [
        f"`make bench-breakdown` on {last.script}: its candidates run bare (a fork that compiles and runs each, or a "
        "loop in one process), and in our server. Confinement is not in the ratio.\n",
        table_of(last),
        f"\nMost above the limit: {'; '.join(largest)}.\n",
        table(["measured", "revision", "times the limit, one per fork", "in batches"], history),
    ]
    if host:
        parts += ["\nThis side over a whole reduction, by a sampling profiler, start and report included:\n"]
        parts += [table(["phase", "processor ms a query"], host)]
    return "\n".join(parts)


def minifier(found: Mapping[str, str]) -> str:
    """What torch's own minifier could be given."""
    same = sum(answer == traced.SAME for answer in found.values())
    lines = [f"- {name}: {answer}" for name, answer in found.items()]
    return (
        "torch's FX minifier reduces a graph, not a program. Of the scripts that fail by an exception or under the "
        f"compiler it could be given {same} of {len(found)} (`python -m benchmarks.peers.traced`):\n\n"
        + "\n".join(lines)
    )


def page(
    rows: Sequence[Row], breakdowns: Sequence[Breakdown] = (), graphs: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## Conditions\n", conditions(rows), ""]
    lacking = missing(rows)
    if lacking:
        parts += ["Not all runs were made yet:\n", lacking, ""]
    for mode, title in MODES.items():
        if not any(row.mode == mode for row in rows):
            continue
        parts += [f"## {title}\n", "Tokens at the end:\n", by_subject(rows, mode), "", means(rows, mode), ""]
        if best_races(rows, mode):
            parts += ["At the size that the best peer ended with:\n", at_equal_size(rows, mode), ""]
    if len(comparing.ours(rows)):
        parts += ["## Our runs\n", our_runs(rows), ""]
    parts += ["![Tokens over time](benchmarks-time.svg)\n", "![Tokens over queries](benchmarks-queries.svg)\n"]
    lost = losses(rows)
    parts += ["## Where we lose\n", "\n".join(f"- {text}" for text in lost) or "In none of these rows."]
    if graphs:
        parts += ["", "## torch's FX minifier\n", minifier(graphs)]
    if breakdowns:
        parts += ["", "## Where our time goes\n", where_time_goes(breakdowns)]
    return "\n".join(parts) + "\n"


def our_runs(rows: Sequence[Row]) -> str:
    """Each of our rows."""
    body = []
    for row in ours(rows).values():
        hand = "" if row.by_hand is None else str(row.by_hand)
        fresh = f"{statistics.fmean(row.fresh):.1f}"
        numbers = [str(row.before), hand, cell(row), str(row.queries), fresh, f"{cost(row):.1f}", f"{row.wall:.0f}"]
        body.append([f"{row.subject} ({row.kind})", *numbers])
    head = ["script", "before", "by hand", "after", "queries", "a fresh run, s", "in fresh runs", "wall s"]
    return table(head, body)


def main(
    source: Annotated[Path, typer.Option("--from", help="The folder of the rows.")] = FOLDER,
    to: Annotated[Path, typer.Option(help="The folder of the page and its plots.")] = DOCS,
) -> None:
    """Write the page and its plots. Exits 2 where there are no rows."""
    try:
        rows = load(source)
    except ValueError as error:
        typer.echo(f"peers: {error}", err=True)
        raise typer.Exit(2) from error
    if not rows:
        typer.echo(f"peers: there are no rows in {source}\nhint: make bench-peers makes them", err=True)
        raise typer.Exit(2)
    (to / "benchmarks.md").write_text(page(rows, breakdown.load(), traced.load()), encoding="utf-8")
    for over in ("time", "queries"):
        (to / f"benchmarks-{over}.svg").write_text(plot.svg(rows, over), encoding="utf-8")
    print(f"{to / 'benchmarks.md'}: {len(rows)} rows")


if __name__ == "__main__":
    typer.run(main)
