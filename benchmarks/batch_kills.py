"""``make batch-kills``: a batch on a Ray cluster of virtual nodes, of which a worker, a node and the driver are killed.

Decision: the cluster lives in this process and the batch in one of its own, as a user types it, so that any of them can
be killed with SIGKILL; what is left at the end must be the texts of a batch on the local executor, each script once.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import index
from benchmarks.bench import seconds
from benchmarks.scale import sample

PATIENCE = 1800.0  # seconds for any one thing to happen, on a busy machine
_QUERIES = re.compile(r"^# queries = .*\n", re.MULTILINE)  # of a case: how often a batch was cut is a matter of time


def start(scripts: Path, out: Path, folder: Path, budget: float, *more: str) -> subprocess.Popen[bytes]:
    """Start the batch; its words go to a log beside ``out``, its journals into ``folder``."""
    command = [sys.executable, "-m", "shrinkrepro", "batch", str(scripts), "-o", str(out), "--budget", f"{budget:g}s"]
    with open(folder / f"{out.name}.log", "ab") as log:
        return subprocess.Popen(
            [*command, *more],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "XDG_CACHE_HOME": str(folder / f"{out.name}.cache")},
            start_new_session=True,
        )


def records(out: Path) -> list[dict[str, Any]]:
    """What the batch has on the disk of each script."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((out / "scripts").glob("*.json"))]


def texts(out: Path) -> dict[str, str]:
    """The text of each case, without what time has a part in."""
    return {path.name: _QUERIES.sub("", path.read_text(encoding="utf-8")) for path in (out / "groups").glob("*.py")}


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    """Wait until something is on the disk.

    Raises:
        RuntimeError: the batch ended, or all patience did.
    """
    end = time.monotonic() + PATIENCE
    while not happened():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the batch ended, or nothing came, before {what}")
        time.sleep(0.2)


def actors(raylet: int) -> list[int]:
    """The processes of our actors on the node of ``raylet``, a process id."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            name = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if name.startswith(b"ray::ScriptActor") and parent == raylet:
            found.append(int(entry.name))
    return found


def raylet_of(node: Any) -> int:
    """The process that is a node of Ray's."""
    [process] = node.all_processes["raylet"]
    return int(process.process.pid)


def killed_batch(scripts: Path, folder: Path, nodes: int, budget: float) -> Path:
    """A batch on ``nodes`` virtual nodes with three kills; the folder that it wrote."""
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 << 20}
    cluster: Any = Cluster(initialize_head=True, head_node_args=small)
    others = [cluster.add_node(**small) for _ in range(nodes - 1)]
    out = folder / f"ray{nodes}"
    options = ("--executor", "ray", "--address", str(cluster.address))

    def accepted() -> int:
        return sum(bool(record["accepted"] or record["reduction"]) for record in records(out))

    try:
        process = start(scripts, out, folder, budget, *options)
        wait_for(lambda: accepted() >= 1, process, "a program was accepted")
        victims = [pid for node in (cluster.head_node, *others) for pid in actors(raylet_of(node))]
        os.kill(victims[0], signal.SIGKILL)
        print(f"{nodes} nodes: a worker killed, 1 of {len(victims)}", flush=True)
        known = accepted()
        wait_for(lambda: accepted() > min(known, 1), process, "another program was accepted")
        cluster.remove_node(others[-1], allow_graceful=False)
        print(f"{nodes} nodes: a node removed", flush=True)
        wait_for(lambda: any(record["reduction"] for record in records(out)), process, "a script was reduced")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        print(f"{nodes} nodes: the driver killed with {accepted()} scripts begun", flush=True)
        before = {r["name"]: r["reduction"] for r in records(out) if r["reduction"]}
        process = start(scripts, out, folder, budget, *options)
        process.wait(PATIENCE)
        after = {r["name"]: r["reduction"] for r in records(out)}
        again = [name for name, reduction in before.items() if after[name] != reduction]
        if again:
            raise RuntimeError(f"reduced again: {', '.join(again)}")
        return out
    finally:
        cluster.shutdown()


def wrong_in(out: Path, want: Path, scripts: Path) -> list[str]:
    """What is lost, twice, or another text, in a line each."""
    told = json.loads((out / "index.json").read_text(encoding="utf-8"))
    names = Counter(Path(row["name"]).name for row in told["rows"])
    grouped = Counter(name for group in told["groups"] for name in group["scripts"])
    found = [f"lost: {path.name}" for path in sorted(scripts.glob("*.py")) if not names[path.name]]
    found += [f"{count} times: {name}" for name, count in (names + grouped).items() if count > 2 or names[name] > 1]
    mine, theirs = texts(out), texts(want)
    found += [
        f"another text: {name}" for name in sorted(mine.keys() | theirs.keys()) if mine.get(name) != theirs.get(name)
    ]
    return found


def main(
    scripts: Annotated[int, typer.Option(help="Scripts of cases, drawn by seed.")] = 4,
    seed: Annotated[int, typer.Option(help="What they are drawn from.")] = 0,
    only: Annotated[str, typer.Option(help="Names of cases in their place, with commas between.")] = "",
    nodes: Annotated[str, typer.Option(help="Virtual nodes of each run.")] = "2,3",
    budget: Annotated[str, typer.Option(help="Budget of one reduction.")] = "10m",
    keep: Annotated[Path | None, typer.Option(help="Leave everything in this folder.")] = None,
) -> None:
    """Exits 1 if a kill lost a script, did one twice, or changed a text."""
    limit = seconds(budget)
    with tempfile.TemporaryDirectory(prefix="batch-kills-") as scratch:
        folder = (keep or Path(scratch)).resolve()
        (folder / "scripts").mkdir(parents=True, exist_ok=True)
        named = [name.strip() for name in only.split(",") if name.strip()]
        chosen = [case.script for case in index.select(index.load(), (), named)] if named else sample(scripts, seed)
        for path in chosen:
            (folder / "scripts" / path.name).write_bytes(path.read_bytes())
        want = folder / "local"
        start(folder / "scripts", want, folder, limit, "--jobs", "1").wait()
        wrong = []
        for count in map(int, nodes.split(",")):
            out = killed_batch(folder / "scripts", folder, count, limit)
            found = wrong_in(out, want, folder / "scripts")
            print(f"{count} nodes: " + ("; ".join(found) or f"{len(texts(out))} cases, as on one machine"), flush=True)
            wrong += found
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
