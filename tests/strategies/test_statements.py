"""Statements: what each strategy proposes for small programs."""

from __future__ import annotations

import pytest
from shrinkrepro_strategies import dependents, statements

from tests.helpers import candidates, normal
from tests.strategies.observed import ran

NEVER_CALLED = """
import math
def used(x):
    if x:
        return 1
    return math.pi
def unused(x):
    return used(x)
def passed():
    return 2
class Thing:
    def go(self):
        return used(1)
    def stay(self):
        return 3
thing = Thing()
print(thing.go(), len([passed]))
raise ValueError
print(unused(1))
"""


def test_all_that_never_ran_goes_at_once_with_what_only_it_used() -> None:
    first = candidates(statements.drop_unexecuted, NEVER_CALLED, ran(NEVER_CALLED))[0]
    assert first == normal("""
def used(x):
    if x:
        return 1
def passed():
    pass
class Thing:
    def go(self):
        return used(1)
thing = Thing()
print(thing.go(), len([passed]))
raise ValueError
""")


def test_without_facts_nothing_is_called_unexecuted() -> None:
    assert candidates(statements.drop_unexecuted, NEVER_CALLED) == []


def test_statements_after_the_failure_go() -> None:
    source = "import os\nx = 1 / 0\nprint(os)\nprint(x)"
    assert candidates(statements.drop_after_failure, source, ran(source)) == [
        normal("x = 1 / 0"),
        normal("import os\nx = 1 / 0"),
    ]


def test_unused_things_go_together_and_alone() -> None:
    source = "import os\nfrom a import b, c\ny = 1\ndef f():\n    return os\nb(2)"
    assert candidates(statements.drop_unused, source)[0] == normal("from a import b\nb(2)")
    assert normal("import os\nfrom a import b, c\ndef f():\n    return os\nb(2)") in candidates(
        statements.drop_unused_part, source
    )


def test_an_unused_value_that_calls_something_goes_only_when_it_was_seen_to_succeed() -> None:
    source = "x = g(1)\nh(2)"
    assert candidates(statements.drop_unused, source) == []
    wire = ran(source, {"g(1)": {"k": "const", "r": "1"}})
    assert candidates(statements.drop_unused, source, wire)[0] == "h(2)"


def test_reports_go_with_what_only_they_used() -> None:
    source = "import logging\nlog = logging.getLogger()\nx = f()\nprint(x)\nlog.info('%s', x)\nf()"
    wire = ran(source, {"logging.getLogger()": {"k": "object", "cls": "Logger"}})
    assert candidates(statements.drop_reports, source, wire)[0] == normal("x = f()\nf()")


def test_docstrings_go_in_one_edit() -> None:
    source = '"""Doc."""\ndef f():\n    """Doc."""\n    return 1\ndef g():\n    """Doc."""'
    assert candidates(statements.drop_docstrings, source) == [
        normal("def f():\n    return 1\ndef g():\n    pass"),
    ]


def test_statements_outermost_first_and_the_last_first() -> None:
    source = "a()\nif b:\n    c()\nd()"
    assert candidates(statements.drop_statement, source) == [
        normal("a()\nif b:\n    c()"),
        normal("a()\nd()"),
        normal("if b:\n    c()\nd()"),
        normal("a()\nif b:\n    pass\nd()"),
    ]


def test_annotations_go_but_fields_of_data_classes_stay_fields() -> None:
    source = """
@dataclass
class C:
    x: Dict[str, int] = 1
def f(a: int, *b: str) -> None:
    c: int
    d: int = a
"""
    assert candidates(statements.drop_annotations, source)[0] == normal("""
@dataclass
class C:
    x: int = 1
def f(a, *b):
    d = a
""")


def test_annotations_that_a_decorator_may_read_are_left_by_the_second_edit() -> None:
    source = "@op('a::b')\ndef f(x: T) -> T:\n    return x\ndef g(x: T):\n    return x"
    first, second = candidates(statements.drop_annotations, source)
    assert "T" not in first
    assert second == normal("@op('a::b')\ndef f(x: T) -> T:\n    return x\ndef g(x):\n    return x")


def test_decorators_and_bases() -> None:
    source = "@a\n@b(1)\nclass C(D, metaclass=M):\n    x = 1"
    assert candidates(statements.drop_decorators, source) == [
        normal("@b(1)\nclass C(D, metaclass=M):\n    x = 1"),
        normal("@a\nclass C(D, metaclass=M):\n    x = 1"),
    ]
    assert candidates(statements.drop_bases, source) == [
        normal("@a\n@b(1)\nclass C(metaclass=M):\n    x = 1"),
        normal("@a\n@b(1)\nclass C(D):\n    x = 1"),
    ]


def test_a_value_is_returned_without_its_name() -> None:
    assert candidates(statements.merge_return, "def f():\n    x = g()\n    return x") == [
        normal("def f():\n    return g()")
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(y)", ["f(y)"]),
        ("assert a, b", ["assert a", "a"]),
        ("x += f()", ["x = f()", "f()"]),
        ("raise E(x) from y", ["raise E(x)", "E(x)"]),
        ("def g():\n    return f()", ["def g():\n    f()", "def g():\n    return"]),
    ],
)
def test_the_value_of_a_statement(before: str, after: list[str]) -> None:
    assert candidates(statements.unwrap_statement, before) == [normal(text) for text in after]


def test_a_name_goes_with_what_depends_on_it() -> None:
    source = (
        "import optim\nmodel = M()\nopt = optim.SGD(model)\nsched = Step(opt)\nopt.step()\nsched.step()\nloss(model)"
    )
    assert normal("import optim\nmodel = M()\nloss(model)") in candidates(dependents.drop_name, source)
    assert normal("model = M()\nloss(model)") in candidates(dependents.drop_name, source)


def test_a_name_goes_out_of_calls_and_lists() -> None:
    source = "a = f()\nb = [1, a]\ng(b, k=a)\nh(b, a)"
    assert candidates(dependents.drop_name, source)[0] == normal("b = [1]\ng(b)\nh(b)")


def test_an_attribute_goes_with_the_statements_that_read_it() -> None:
    source = """
class C:
    def __init__(self, n):
        self.n = n
        self.m = 2
    def show(self):
        print(self.n)
c = C(1)
c.show()
print(c.m)
"""
    found = candidates(dependents.drop_attribute, source)
    assert source.replace("        self.n = n\n", "").replace("print(self.n)", "pass").strip() in [
        text.replace("\n\n", "\n").strip() for text in found
    ]
    assert any("show" not in text for text in found)


def test_a_function_of_autograd_keeps_its_staticmethod() -> None:
    source = "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(x):\n        return x"
    assert candidates(statements.drop_decorators, source) == []
    other = source.replace("torch.autograd.Function", "Base")
    assert candidates(statements.drop_decorators, other) == [normal(other.replace("    @staticmethod\n", ""))]


def test_a_decorator_without_arguments_needs_no_call() -> None:
    found = candidates(statements.drop_decorators, "@a()\ndef f():\n    pass")
    assert found == [normal("def f():\n    pass"), normal("@a\ndef f():\n    pass")]
