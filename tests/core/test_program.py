"""Programs: normal form, paths, sizes, and the order."""

from __future__ import annotations

import ast

import pytest

from shrinkrepro.core import order
from shrinkrepro.core.program import Program, count_tokens

SOURCE = """
import torch
def f(x, *, scale=2):
    '''doc'''
    if x:  # why
        return torch.sin(x) * scale
    elif scale:
        return x
    return [y for y in x if y]
print(f"{f(1)} and {2}")
"""


def test_source_is_what_its_tree_prints() -> None:
    program = Program.parse(SOURCE)
    assert ast.unparse(program.tree) == program.source
    assert Program.parse(program.source) == program


def test_a_statement_as_written_is_what_it_prints_as() -> None:
    """But for a docstring's quotes, which its place decides."""
    program = Program.parse(SOURCE + "\n@torch.no_grad()\ndef g(x):\n    @torch.enable_grad()\n    def h(): pass\n")
    statements = [node for _, node in program.walk(ast.stmt)]
    docs = {node for node in statements if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    assert [program.written(n) for n in statements if n not in docs] == [
        program.text(n) for n in statements if n not in docs
    ]


def test_every_walked_node_is_found_by_its_path() -> None:
    program = Program.parse(SOURCE)
    for path, node in program.walk():
        assert program.node(path) is node
        if path:
            up, parent = program.parent(path)
            assert any(child is node for child in ast.iter_child_nodes(parent))
            assert path[: len(up)] == up


def test_an_fstring_is_one_token_on_every_version() -> None:
    assert count_tokens('print(f"{a} and {b!r:>{width}}")') == 4
    assert count_tokens("x = 1  # a comment\n\n\ny = 2\n") == 6


def test_the_size_of_a_node_is_its_tokens() -> None:
    program = Program.parse("x = torch.ones(2, 3)\n@a.b\ndef f(y):\n    return y\n")
    assert program.size(("body", 0)) == 10
    assert program.size(("body", 0, "value")) == 8
    assert program.size(("body", 1)) == count_tokens("@a.b\ndef f(y):\n    return y")
    assert program.size(()) == program.tokens


def test_sizes_count_characters_not_bytes() -> None:
    program = Program.parse("x = 'é', y\n")
    assert program.size(("body", 0, "value", "elts", 1)) == 1


@pytest.mark.parametrize(
    ("simpler", "other"),
    [
        ("x = torch.zeros(2)", "x = torch.randn(2)"),
        ("x = torch.ones(2)", "x = torch.ones(64)"),
        ("grad(f)(x)", "hessian(f)(x)"),
        ("x = 1", "embedding = 1"),
        ("f(x)", "f(x, y)"),
        ("torch.compile(f, backend='eager')", "torch.compile(f)"),
        ("@torch.compile(backend='aot_eager')\ndef f(): pass", "@torch.compile\ndef f(): pass"),
        ("re.compile(f)", "re.compile(f, g)"),
    ],
)
def test_the_order_prefers_the_plainer(simpler: str, other: str) -> None:
    assert order.key(Program.parse(simpler)) < order.key(Program.parse(other))


@pytest.mark.parametrize("text", ["def f(:", "x = '\0'", "(" * 300 + ")" * 300])
def test_text_that_is_no_program_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        Program.parse(text)
