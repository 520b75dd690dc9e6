"""Objects taken apart and classes merged, before and after."""

from __future__ import annotations

from shrinkrepro_strategies.classes import drop_namespace, merge_base_class, take_object_apart

from tests.helpers import candidates, normal


def run(source: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(source, names)
    return names


def test_attributes_become_variables_and_methods_functions() -> None:
    source = (
        "class C:\n    def __init__(self, n):\n        self.n = n\n        self.total = 0\n"
        "    def add(self, x):\n        self.total += x * self.n\n        return self.total\n"
        "c = C(2)\nc.add(3)\nout = c.add(4) + c.total"
    )
    (text,) = candidates(take_object_apart, source)
    assert "class" not in text
    assert run(text)["out"] == run(source)["out"] == 28


def test_a_callable_object_becomes_the_function() -> None:
    source = (
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lin = torch.nn.Linear(2, 3)\n    def forward(self, x):\n        return self.lin(x)\n"
        "net = Net()\nvmap(net)(x)"
    )
    expected = "import torch\nlin = torch.nn.Linear(2, 3)\ndef net(x):\n    return lin(x)\nvmap(net)(x)"
    assert candidates(take_object_apart, source) == [normal(expected)]


def test_an_object_that_is_made_where_it_is_called() -> None:
    source = (
        "class C:\n    def __init__(self, n):\n        self.n = n\n"
        "    def __call__(self, x):\n        return self.n + x\nout = C(1)(2)"
    )
    (text,) = candidates(take_object_apart, source)
    assert "class" not in text
    assert run(text)["out"] == 3


def test_a_record_becomes_its_fields() -> None:
    source = (
        "@dataclass\nclass P:\n    a: int = 1\n    b: list = field(default_factory=list)\np = P(5)\nprint(p.a, p.b)"
    )
    assert candidates(take_object_apart, source) == [normal("a = 5\nb = list()\nprint(a, b)")]


def test_inherited_methods_come_along() -> None:
    source = (
        "class A:\n    def f(self):\n        return self.g()\n"
        "class B(A):\n    def g(self):\n        return 7\nb = B()\nout = b.f()"
    )
    (text,) = candidates(take_object_apart, source)
    assert run(text)["out"] == 7


def test_an_object_that_is_used_as_a_whole_stays() -> None:
    assert (
        candidates(take_object_apart, "class C:\n    def __init__(self):\n        self.n = 1\nc = C()\nprint(c)") == []
    )
    source = "class C:\n    def f(self):\n        return g(self)\nc = C()\nc.f()"
    assert candidates(take_object_apart, source) == []


def test_a_method_may_not_reach_for_what_the_class_does_not_define() -> None:
    source = "class N(Module):\n    def forward(self, x):\n        return self.training\nn = N()\nn(1)"
    assert candidates(take_object_apart, source) == []


def test_variables_stay_apart_from_those_around_them() -> None:
    source = "class C:\n    def __init__(self, x):\n        self.x = x\nx = 1\nc = C(2)\nout = (x, c.x)"
    (text,) = candidates(take_object_apart, source)
    assert run(text)["out"] == (1, 2)


def test_a_base_class_goes_into_its_only_subclass() -> None:
    source = "class A(M):\n    def f(self):\n        return 1\nclass B(A):\n    def g(self):\n        return 2\nB()"
    expected = "class B(M):\n    def f(self):\n        return 1\n    def g(self):\n        return 2\nB()"
    assert candidates(merge_base_class, source) == [normal(expected)]


def test_a_base_class_with_two_subclasses_stays() -> None:
    assert candidates(merge_base_class, "class A:\n    x = 1\nclass B(A):\n    y = 1\nclass C(A):\n    z = 1") == []


def test_a_namespace_dissolves() -> None:
    source = "class C:\n    n = 2\n    @staticmethod\n    def f(x):\n        return x\nprint(C.f(C.n))"
    assert candidates(drop_namespace, source) == [normal("n = 2\ndef f(x):\n    return x\nprint(f(n))")]
