"""What the end of a run says, and the exit code that goes with it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from shrinkrepro.cli.reduce import exit_code
from shrinkrepro.report.progress import Lines
from shrinkrepro.report.summary import print_summary, rows
from shrinkrepro.session import AlsoFound, Counts, Reduction

REDUCTION = Reduction(
    source="import torch\n\ntorch.ones(2) @ torch.ones(3)\n",
    original="...",
    signature="RuntimeError: inconsistent tensor size",
    failure="Traceback (most recent call last):\nRuntimeError: inconsistent tensor size",
    confirmed=3,
    confirmations=3,
    tokens_before=500,
    tokens_after=18,
    counts=Counts(run=40, cached=5, filtered=7),
    seconds=12.34,
    ended="minimal",
)


def printed(reduction: Reduction) -> str:
    stream = io.StringIO()
    print_summary(Console(file=stream, width=40, highlight=False, markup=False), reduction, Path("out_reduced.py"))
    return stream.getvalue()


def test_the_program_is_printed_as_it_was_written_however_narrow_the_terminal() -> None:
    long = REDUCTION.source + f"x = [{', '.join(map(str, range(60)))}]  # [bold]not markup[/bold]\n"
    assert long in printed(replace(REDUCTION, source=long))


def test_the_summary_says_what_was_reduced_how_far_and_where_it_lies() -> None:
    text = printed(REDUCTION)
    for word in ("500 -> 18 tokens", "3 of 3", "minimal", "40 queries in 12.3 s", "out_reduced.py"):
        assert word in text
    assert "RuntimeError: inconsistent tensor size" in text


def test_faults_and_findings_are_told() -> None:
    found = dict(rows(replace(REDUCTION, findings=("it needs no transform",), faults=("rename: KeyError: 1",)), None))
    assert found["finding"] == "it needs no transform"
    assert "rename: KeyError: 1" in found["fault"]


def test_what_else_was_found_is_ranked_and_the_rest_is_counted() -> None:
    others = (
        AlsoFound("NameError: name 'x' is not defined", "x"),
        AlsoFound("RuntimeError: vmap: long", "x = 1\ny = 2"),
        AlsoFound("NotImplementedError: forward AD", "x = 1"),
    )
    lines = [value for label, value in rows(replace(REDUCTION, also_found=others), None) if label == "also found"]
    assert lines == [
        "NotImplementedError: forward AD (3 tokens)",
        "RuntimeError: vmap: long (6 tokens)",
        "1 more other failures, as cutting makes them (--json)",
    ]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, 0),
        ({"ended": "budget"}, 0),
        ({"confirmed": 2}, 1),
        ({"confirmed": 0}, 1),
        ({"faults": ("rename: KeyError: 1",)}, 70),
        ({"ended": "interrupted"}, 130),
        ({"ended": "interrupted", "confirmed": 0}, 130),
    ],
)
def test_exit_codes(change: dict[str, object], code: int) -> None:
    assert exit_code(replace(REDUCTION, **change)) == code  # type: ignore[arg-type]


def test_plain_progress_tells_phases_notes_and_the_last_step() -> None:
    stream = io.StringIO()
    with Lines(stream) as progress:
        progress.phase("reducing")
        for tokens in range(50, 10, -1):
            progress.query(Counts(run=60 - tokens), "drop-statement")
            progress.step("drop-statement", "", tokens)
        progress.note("look there first")
    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("reducing")
    assert lines[-1].endswith("note: look there first")
    assert " 11 tokens, drop-statement, 49 queries" in lines[-2]
    assert len(lines) < 10  # a line a second, not one for each step
