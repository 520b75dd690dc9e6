"""Attributes, parts and names for objects, before and after."""

from __future__ import annotations

from shrinkrepro_strategies.objects import (
    argument_for_object,
    inline_attribute,
    inline_class_constant,
    name_for_expression,
    name_for_function,
    part_for_object,
)

from tests.helpers import candidates, normal


def test_an_attribute_that_is_read_once() -> None:
    source = "class C:\n    def __init__(self):\n        self.w = g(1)\n    def f(self, x):\n        return self.w * x"
    expected = "class C:\n    def __init__(self):\n        pass\n    def f(self, x):\n        return g(1) * x"
    assert candidates(inline_attribute, source) == [normal(expected)]


def test_the_object_itself_is_written_as_it_is_where_the_attribute_is_read() -> None:
    source = "class C:\n    def __init__(self):\n        self.f = g(self.h)\n    def h(self): pass\nc = C()\nc.f(1)"
    expected = "class C:\n    def __init__(self):\n        pass\n    def h(self): pass\nc = C()\ng(c.h)(1)"
    assert candidates(inline_attribute, source) == [normal(expected)]
    assert candidates(inline_attribute, source.replace("c.f(1)", "C().f(1)").replace("c = C()\n", "")) == []


def test_what_comes_from_the_constructor_is_needed_as_a_literal() -> None:
    source = normal(
        "class C:\n    def __init__(self, n):\n        self.w = g(n)\n    def f(self, x):\n        return self.w * x"
    )
    assert candidates(inline_attribute, source) == []
    fact = {"n": 1, "same": True, "v": {"k": "const", "r": "8"}, "t": 0}
    (text,) = candidates(inline_attribute, source, {"lines": {}, "exprs": {"4:19:4:20:Name": fact}})
    assert "return g(8) * x" in text


def test_an_attribute_that_is_assigned_twice_stays() -> None:
    source = "class C:\n    def f(self):\n        self.w = 1\n        self.w = 2\n        return self.w"
    assert candidates(inline_attribute, source) == []


def test_a_name_for_the_same_object() -> None:
    source = normal("m = C()\nc = D()\nc.m = m\nprint(c.m, m)")
    module = {"n": 1, "same": True, "v": {"k": "object", "cls": "C", "line": None}, "t": 0, "o": 5}
    wire = {"lines": {}, "exprs": {"4:6:4:9:Attribute": module, "4:11:4:12:Name": module}}
    assert normal("m = C()\nprint(m, m)") in candidates(name_for_expression, source, wire)


def test_a_name_for_a_function_that_a_registry_holds() -> None:
    source = normal("@register('f')\ndef g(x):\n    return x\nprint(table['f'](1))")
    held = {"n": 1, "same": True, "v": {"k": "function", "name": "g", "line": 1}, "t": 0, "o": 5}
    text = source.splitlines()
    row = next(i for i, line in enumerate(text, 1) if "table" in line)
    wire = {"lines": {}, "exprs": {f"{row}:6:{row}:16:Subscript": held}}
    assert candidates(name_for_function, source, wire) == [
        normal("@register('f')\ndef g(x):\n    return x\nprint(g(1))"),
        normal("def g(x):\n    return x\nprint(g(1))"),
    ]


def test_a_part_for_the_object() -> None:
    source = "class N:\n    def __init__(self, n):\n        self.inner = g(n)\nnet = N(3)\nnet(x)"
    assert normal("net = g(3)\nnet(x)") in candidates(part_for_object, source)


def test_what_an_object_wraps() -> None:
    source = "class W:\n    def __init__(self, m):\n        self.m = m\nw = W(net)\nw.m(1)"
    assert candidates(argument_for_object, source) == [normal("w = net\nw(1)")]


def test_a_literal_of_a_class_body() -> None:
    source = "class C:\n    n = 3\n    m: int = 4\nc = C()\nprint(c.n, c.n, c.m)"
    found = candidates(inline_class_constant, source)
    assert normal("class C:\n    m: int = 4\nc = C()\nprint(3, 3, c.m)") in found
    assert normal("class C:\n    n = 3\nc = C()\nprint(c.n, c.n, 4)") in found


def test_a_class_that_gets_arguments_keeps_its_literals() -> None:
    assert candidates(inline_class_constant, "class C:\n    n: int = 3\nc = C(5)\nprint(c.n)") == []
    assert candidates(inline_class_constant, "class C:\n    n: int = 3\nc = C(n=5)\nprint(c.n)") == []
