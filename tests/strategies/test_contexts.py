"""Contexts: with blocks that become one, and what follows them."""

from __future__ import annotations

from shrinkrepro_strategies import contexts

from tests.helpers import candidates, normal


def test_neighbours_with_the_same_contexts_become_one() -> None:
    source = "with a(1), b:\n    f()\nwith a(1), b:\n    g()\nwith a(2):\n    h()"
    assert candidates(contexts.merge_with, source) == [normal("with a(1), b:\n    f()\n    g()\nwith a(2):\n    h()")]


def test_what_follows_goes_in_with_the_variables_it_reads() -> None:
    source = "with c:\n    w = h()\n    x = f(w)\n    y = g(w)\ncheck(x, y)"
    assert candidates(contexts.extend_with, source) == [normal("with c:\n    w = h()\n    check(f(w), g(w))")]
    assert candidates(contexts.extend_with, "with c:\n    x = f()\ncheck(x, x)") == []
    assert candidates(contexts.extend_with, "with c:\n    x = f()\ncheck(x)\nprint(x)") == []
