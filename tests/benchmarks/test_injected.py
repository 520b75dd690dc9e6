"""The planted bugs: their hosts by their text, and two of them by what their runs give."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from benchmarks.injected import __main__ as runner
from benchmarks.injected.hosts import draw
from benchmarks.injected.index import FOLDER, INJECTIONS, Injection, healthy, select
from shrinkrepro.protocol import CONTROL_DIFFERENCES, CONTROL_REFERENCE, EXCEPTION, EXIT, OK, RUN, Job
from shrinkrepro.workers.pool import Pool
from shrinkrepro.workers.target import Target


def test_there_are_enough_of_them_and_each_plant_is_used() -> None:
    plants = {path.stem for path in (FOLDER / "plants").glob("*.py")} - {"planting"}
    assert {injection.plant for injection in INJECTIONS} == plants
    assert len(plants) >= 40
    assert len({injection.name for injection in INJECTIONS}) == len(INJECTIONS)
    assert len(healthy()) >= 20


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.name)
def test_a_host_is_an_ordinary_script_that_names_no_plant(injection: Injection) -> None:
    host = injection.host
    assert 30 <= host.count("\n") <= 100
    assert injection.plant not in host
    imported = {node.module for node in ast.walk(ast.parse(host)) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"__future__", "torch", "torch.func", "functools"}
    assert injection.lines


def test_hosts_follow_from_their_seeds() -> None:
    needs = [injection.need for injection in INJECTIONS if not isinstance(injection.need, str)]
    assert all(draw(need, "a") == draw(need, "a") for need in needs)
    assert draw(needs[0], "a") != draw(needs[0], "b")


def test_injections_are_chosen_by_their_beginnings() -> None:
    assert {injection.plant for injection in select(["jvp_sqrt"])} == {"jvp_sqrt"}
    with pytest.raises(ValueError, match="'nothing'"):
        select(["jvp_sqrt", "nothing"])


@pytest.mark.parametrize(
    ("name", "control"), [("hessian_rsqrt", CONTROL_REFERENCE), ("backward_erf_factor", CONTROL_DIFFERENCES)]
)
def test_a_plant_shows_in_its_host_and_not_under_the_control(name: str, control: str, tmp_path: Path) -> None:
    [injection] = select([name])
    script = tmp_path / "script.py"
    script.write_text(injection.host)
    target = Target(python=sys.executable, script_path=script, cwd=tmp_path, preload=injection.preload)
    text = injection.host.replace("assert_close(", "assert_close (")  # another program of the same batch
    jobs = [Job(injection.host, RUN, 60), Job(text, RUN, 60), Job(injection.host, control, 60)]
    with Pool(target, jobs=1) as pool:
        runs = pool.run(jobs)
    assert [run.status in (EXCEPTION, EXIT) for run in runs] == [True, True, False]
    assert runs[2].status == OK


def test_the_table_has_slips_first_and_then_what_gave_no_result() -> None:
    rows = [
        runner.Row("good", 400, 40, ended="minimal"),
        runner.Row("silent", 400, error="the host passes with the plant"),
        runner.Row("bad", 400, 30, slipped=True),
    ]
    lines = runner.summary(rows).splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [["SLIP", "bad"], ["ERROR", "silent"], ["the", "host"]]
    assert "3 plants: 1 slips, 1 errors" in lines
