"""How a program that checks itself ends, and the form that a new check takes."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies.failed import failed_checks

from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from tests.strategies.observed import ran

TEST = {"x > 1": {"k": "const", "r": "True"}}


@pytest.mark.parametrize(
    ("ending", "form"),
    [
        ("raise AssertionError('no')", "assert not ({})"),
        ("raise RuntimeError", "if {}:\n    raise RuntimeError()"),
        ("raise ValueError('no', 2)", "if {}:\n    raise ValueError('no', 2)"),
        (
            "raise SystemExit(f'{name} is off by {x:.2f}: {{}}')",
            "if {}:\n    raise SystemExit('a is off by 1.0: {{}}')",
        ),
        ("sys.exit('bad')", "if {}:\n    raise SystemExit('bad')"),
        ("raise Own('no')", "assert not ({})"),
        ("raise ValueError(name.upper())", "assert not ({})"),
    ],
)
def test_a_new_check_ends_the_program_in_the_same_way(ending: str, form: str) -> None:
    source = Program.parse(f"import sys\nclass Own(Exception): pass\nname, x = 'a', 2\nif x > 1:\n    {ending}").source
    program = Program.parse(source)
    wire = ran(source, {**TEST, "name": {"k": "const", "r": "'a'"}})
    assert [found for _, found in failed_checks(program, Facts(program.tree, wire))] == [form]


@pytest.mark.parametrize("ending", ["print('odd')", "x @ x", "x.y", "x = 3", "exit", "[exit()]"])
def test_what_ends_nothing_is_no_check(ending: str) -> None:
    source = Program.parse(f"x = 2\nif x > 1:\n    {ending}").source
    program = Program.parse(source)
    assert list(failed_checks(program, Facts(program.tree, ran(source, TEST)))) == []
