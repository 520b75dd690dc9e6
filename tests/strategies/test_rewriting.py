"""A function's body at a call: what is renamed, what is bound, and how returns leave it."""

from __future__ import annotations

import ast

from shrinkrepro_strategies.arguments import bind
from shrinkrepro_strategies.callees import callee_of, class_of, is_super
from shrinkrepro_strategies.rewriting import Rewrite, fresh, is_simple, taken_in
from shrinkrepro_strategies.sites import sites_of

from shrinkrepro.core.apply import apply
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program


def call_of(text: str) -> ast.Call:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def parameters_of(text: str) -> ast.arguments:
    node = ast.parse(f"lambda {text}: 0", mode="eval").body
    assert isinstance(node, ast.Lambda)
    return node.args


def bound(call: str, parameters: str) -> dict[str, str] | None:
    found = bind(call_of(call), parameters_of(parameters))
    return None if found is None else {name: ast.unparse(value) for name, value in found.values.items()}


def test_arguments_meet_parameters() -> None:
    assert bound("f(1, c=3)", "a, b=2, *, c") == {"a": "1", "c": "3", "b": "2"}
    assert bound("f(1, 2, 3)", "a, *rest") == {"a": "1", "rest": "(2, 3)"}
    assert bound("f(x=1)", "**options") == {"options": "{'x': 1}"}
    assert bound("f(*(1, 2))", "a, b") == {"a": "1", "b": "2"}


def test_calls_that_do_not_fit_are_refused() -> None:
    assert bound("f()", "a") is None
    assert bound("f(1, 2)", "a") is None
    assert bound("f(b=1)", "a") is None


def test_a_starred_argument_is_unpacked_into_what_is_left() -> None:
    found = bind(call_of("f(1, *pair)"), parameters_of("a, b, c"))
    assert found is not None
    assert [(names, ast.unparse(value)) for names, value in found.unpacked] == [(("b", "c"), "pair")]


def test_changes_nest() -> None:
    program = Program.parse("if a:\n    b = f(c)\nd = 1")
    rewrite = Rewrite(program)
    rewrite.before(("body", 0), ast.parse("e = 2").body)
    rewrite.replace(("body", 0, "body", 0, "value", "args", 0), ast.Constant(3))
    rewrite.delete(("body", 1))
    assert apply(program, [rewrite.edit()]) == "e = 2\nif a:\n    b = f(3)"


def test_a_deleted_parameter_takes_its_default_along() -> None:
    program = Program.parse("x = 1\ndef f(a, b=2, *, c=3): pass")
    rewrite = Rewrite(program)
    rewrite.before(("body", 1), [])
    rewrite.delete(("body", 1, "args", "args", 1))
    rewrite.delete(("body", 1, "args", "kwonlyargs", 0))
    assert apply(program, [rewrite.edit()]).splitlines()[-2] == "def f(a):"


def test_fresh_names_stay_apart() -> None:
    taken = {"x", "x1"}
    assert [fresh("x", taken), fresh("x", taken), fresh("y", taken)] == ["x2", "x3", "y"]


def test_names_of_an_inner_function_do_not_count_outside() -> None:
    program = Program.parse("g = 1\ndef f(a):\n    def h(inner): return inner + g\n    return h")
    taken = taken_in(program, ("body", 1))
    assert {"a", "h", "g"} <= taken
    assert "inner" not in taken


def test_simple_values() -> None:
    simple = ["x", "1", "a.b.c", "a[0]", "-1"]
    assert [is_simple(ast.parse(text, mode="eval").body) for text in simple] == [True] * 5
    assert not is_simple(ast.parse("f()", mode="eval").body)
    assert is_super(call_of("super()"))


def test_self_and_variables_have_classes_without_facts() -> None:
    program = Program.parse(
        "class C:\n    def f(self):\n        return self.g()\n    def g(self):\n        return 1\nc = C()\nc.f()"
    )
    found = callee_of(program, Facts.none(), ("body", 2, "value"))
    assert found is not None
    assert found.path == ("body", 0, "body", 0)
    assert class_of(program, Facts.none(), ("body", 2, "value", "func", "value")) == ("body", 0)


def test_sites_go_through_transforms() -> None:
    program = Program.parse(
        "from torch.func import vmap, grad\ndef f(x, y): return x\nvmap(grad(f), in_dims=(0, None))(1, 2)"
    )
    sites = sites_of(program, Facts.none())[("body", 1)]
    assert sites.complete
    assert [s.call for s in sites.found] == [("body", 2, "value")]


def test_a_function_that_is_passed_on_has_incomplete_sites() -> None:
    program = Program.parse("def f(x): return x\nf(1)\nregister(f)")
    assert not sites_of(program, Facts.none())[("body", 0)].complete
