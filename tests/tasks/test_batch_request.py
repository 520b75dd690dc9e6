"""What a batch is asked for, looked at before anything is started."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shrinkrepro.errors import UsageError
from shrinkrepro.tasks.batch_request import BatchRequest, BatchResult, Group, Placement, ScriptRow


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"placement": Placement("slurm")}, "--executor 'slurm'"),
        ({"placement": Placement(address="node:6379")}, "--address"),
        ({"placement": Placement(gpus=0.5)}, "--address"),
        ({"placement": Placement(jobs=0)}, "--jobs 0"),
        ({"per_signature": 0}, "--per-signature 0"),
        ({"budget": 0.0}, "--budget 0"),
        ({"total_budget": -3.0}, "--total-budget -3"),
        ({"preload": Path("gone.py")}, "gone.py"),
        ({"match": "/(/"}, "--match"),
        ({"python": "/no/such/python"}, "/no/such/python"),
    ],
)
def test_what_cannot_work_is_told_at_once(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        BatchRequest(Path("out"), **asked).options()
    assert words in caught.value.message
    assert caught.value.hint


def test_options_travel_as_json_with_the_text_of_the_preloaded_file(tmp_path: Path) -> None:
    (tmp_path / "plant.py").write_text("import torch\n")
    options = BatchRequest(Path("out"), preload=tmp_path / "plant.py", seed=3).options()
    assert json.loads(json.dumps(options)) == options
    assert (options["preload_text"], options["seed"]) == ("import torch\n", 3)


def test_a_batch_is_well_when_each_failing_script_has_a_case() -> None:
    def result(**of_group: Any) -> BatchResult:
        group = Group(1, "t", "s", "", ("a",), ("a",), "x = 1\n", 3, **of_group)
        rows = (ScriptRow("a", "reduced", 1), ScriptRow("b", "passes"), ScriptRow("c", "refused", why="broken"))
        return BatchResult((group,), rows, "done", 1.0)

    assert result(file="groups/001_a.py", is_case=True).ok
    assert not result().ok
    assert not replace(result(file="x.py", is_case=True), rows=(ScriptRow("d", "waiting"),)).ok
