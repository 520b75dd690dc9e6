"""Facts: what is known by path, and how the facts of two runs complete each other."""

from __future__ import annotations

import ast

from shrinkrepro.core.facts import Facts, completed, position_key, unseen_bodies
from shrinkrepro.core.program import Program

SOURCE = "def f(x):\n    return x + 1\n\ndef g(x):\n    return x\ny = f(2)\nz = 3"


def fact(value: str) -> dict[str, object]:
    return {"n": 1, "same": True, "v": {"k": "const", "r": value}, "t": 1}


def test_facts_are_found_by_path() -> None:
    program = Program.parse(SOURCE)
    call = next(node for _, node in program.walk(ast.Call))
    facts = Facts(program.tree, {"lines": {"1": 1, "2": 4, "6": 1}, "exprs": {position_key(call): fact("3")}})
    seen = facts.of(program.paths[id(call)])
    assert seen is not None
    assert (seen.kind, seen.count, seen.value["r"]) == ("const", 1, "3")
    body = program.tree.body
    assert [facts.ran(s) for s in body] == [True, False, True, False]
    assert facts.count(body[0]) == 4
    assert Facts.none().ran(body[0]) is None


def test_what_a_compiler_hid_is_taken_from_the_control_run() -> None:
    program = Program.parse(SOURCE)
    lines = program.source.split("\n")
    traced = next(i for i, line in enumerate(lines, 1) if "x + 1" in line)
    call, inner = (next(n for _, n in program.walk(kind)) for kind in (ast.Call, ast.BinOp))
    wire = {"lines": {str(traced): 1}, "exprs": {position_key(call): fact("3")}}
    bodies = unseen_bodies(program.tree, wire)
    assert bodies == [(traced, traced + 1)]
    control = {"exprs": {position_key(inner): fact("3"), position_key(call): fact("4")}}
    whole = completed(wire, control, bodies)
    assert whole["exprs"] == {position_key(call): fact("3"), position_key(inner): fact("3")}
    assert unseen_bodies(program.tree, whole) == []
