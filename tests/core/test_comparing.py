"""A comparison is put where the names of its expressions are bound."""

from __future__ import annotations

import pytest

from shrinkrepro.core.comparing import ExpressionError, expression, nearest, torch_name, with_lines


def _ran(source: str, got: str = "got", want: str = "want") -> list[object]:
    """What the script with a line that notes both values notes when it is run."""
    made = with_lines(source, [f"NOTED.append(({got}, {want}))"], (got, want))
    assert "NOTED.append" in made.text.splitlines()[made.line - 1]
    noted: list[object] = []
    try:
        exec(compile(made.text, "script", "exec"), {"__name__": "__main__", "NOTED": noted})
    except SystemExit:
        noted.append("exit")
    return noted


@pytest.mark.parametrize(
    "source",
    [
        "got = 1\nwant = 2\n",
        "got = 1\nwant = 2",
        "if __name__ == '__main__':\n    got = 1\n    want = 2\n",
        "def main():\n    got = 1\n    want = 2\n    return got\n\nmain()\n",
        "def main():\n    got = 1\n    want = 2\nif True:\n    main()\n",
        "def main(): got = 1; want = 2; return got\nmain()\n",
        "class A:\n    def run(self):\n        got = 1\n        want = 2\n        return (got,\n want)\nA().run()\n",
        "want = 2\ndef main():\n    got = 1\n    if want:\n        return got\nimport sys\ngot = 1\nsys.exit(main())\n",
        "want = 2\nif __name__ == '__main__':\n    got = 1\n    raise SystemExit(print(got))\n",
        "got, want = 1, 2\nexit(0)\n",
    ],
)
def test_the_values_are_seen_as_late_as_can_be(source: str) -> None:
    assert _ran(source) == [(1, 2)]


def test_names_of_an_expression_s_own_are_not_asked_for() -> None:
    assert _ran("got = want = [1, 2]\n", "[g + 1 for g in got]", "(lambda y: y[0])(want)") == [([2, 3], 1)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [("gott", "got"), ("wan", "want"), ("zzzz", "its names are")],
)
def test_a_name_that_is_not_there_is_told_with_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        _ran("got = 1\nwant = 2\n", text)
    assert hint in caught.value.hint
    assert text in str(caught.value)


def test_names_of_two_functions_are_never_seen_together() -> None:
    with pytest.raises(ExpressionError, match="no function"):
        _ran("def f():\n    got = 1\ndef g():\n    want = 1\n")


@pytest.mark.parametrize("text", ["x +", "x = 1", "*x", "await x", "import torch", ""])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="not an expression"):
        expression(text)


def test_a_tuple_is_one_argument() -> None:
    assert expression("a, b") == "(a, b)"
    assert expression(" a['x'] ") == "a['x']"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import torch\n", "torch"),
        ("import torch.nn as nn\n", None),
        ("import torch.nn\n", "torch"),
        ("try:\n    import torch as th\nexcept ImportError:\n    pass\n", "th"),
        ("def f():\n    import torch\n", None),
        ("from torch import nn\n", None),
    ],
)
def test_the_name_of_torch(source: str, name: str | None) -> None:
    assert torch_name(source) == name


def test_the_nearest_names_come_from_functions_too() -> None:
    assert nearest("expectd", "def f():\n    expected = 1\n") == ("expected",)
