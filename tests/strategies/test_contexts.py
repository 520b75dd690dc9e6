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


CONTEXT = """
import contextlib
@contextlib.contextmanager
def caching(model):
    cache = Cache(model)
    try:
        yield cache
    finally:
        cache.close()
with caching(net) as c:
    use(c)
    print(c)
"""


def test_a_generator_that_is_a_context_becomes_a_function() -> None:
    expected = (
        "import contextlib\ndef caching(model):\n    cache = Cache(model)\n    return cache\n"
        "c = caching(net)\nuse(c)\nprint(c)\n"
    )
    assert candidates(contexts.function_for_context, CONTEXT) == [normal(expected)]


def test_a_context_that_is_used_otherwise_or_holds_another_open_stays() -> None:
    assert candidates(contexts.function_for_context, CONTEXT + "stack.enter_context(caching(net))\n") == []
    held = CONTEXT.replace("try:", "with lock:").replace("    finally:\n        cache.close()\n", "")
    assert candidates(contexts.function_for_context, held) == []
