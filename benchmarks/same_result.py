"""``python -m benchmarks.same_result``: does the way of running change the result? It must not.

The five quick cases are reduced in batches, one candidate per fork, and with two workers; the final
texts must be equal.
"""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

import shrinkrepro
from benchmarks import index
from benchmarks.recording import reduce_one_per_fork

# A fresh run takes 2 to 3 s on an idle machine, and between them they have vmap, grad, jvp, a module of one's own, an
# autograd.Function and a failure deep in the library.
QUICK = (
    "ad02_barrier_returned_as_is",
    "ad26_graph_filter_sparse_csr",
    "vmap00_per_sample_normaliser",
    "vmap04_pose_graph",
    "vmap08_inplace_spline",
)


def difference(a: str, b: str) -> str:
    """The first lines in which two texts differ."""
    return "\n".join(list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=0))[:12])


def main(
    only: Annotated[str, typer.Option(help="Names of cases or their beginnings, with commas between.")] = ",".join(
        QUICK
    ),
) -> None:
    """Reduce each case three ways and compare the texts. Exits 1 where two differ."""
    unequal = 0
    for case in index.select(index.load(), only=[n for n in only.split(",") if n]):
        batch = shrinkrepro.reduce(case.script, jobs=1, budget=300.0)
        others = {
            "one per fork": reduce_one_per_fork(case.script),
            "two workers": shrinkrepro.reduce(case.script, jobs=2, budget=300.0),
        }
        for label, other in others.items():
            same = other.source == batch.source
            unequal += not same
            print(
                f"{case.name:36} batches {batch.tokens_after:4} tokens {batch.seconds:6.1f} s   "
                f"{label:12} {other.tokens_after:4} tokens {other.seconds:6.1f} s   {'same' if same else 'DIFFERENT'}",
                flush=True,
            )
            if not same:
                print(difference(batch.source, other.source))
    raise typer.Exit(1 if unequal else 0)


if __name__ == "__main__":
    typer.run(main)
