"""The search and the engine: what they end with, and what it costs in queries."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.core.edits import Edit, delete, replace
from shrinkrepro.core.engine import Engine, Step
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.search import Group, search
from shrinkrepro.core.static import refusal
from shrinkrepro.core.strategy import Tier, strategy


def accepted_by(n: int, holds: Callable[[frozenset[int]], bool], chunked: bool) -> tuple[frozenset[int], int]:
    """What the search accepts of n proposals, and how many sets it asked about."""
    asked = 0

    def probe(groups: Sequence[Group]) -> list[bool]:
        nonlocal asked
        asked += len(groups)
        return [holds(frozenset(group)) for group in groups]

    def confirm(group: Group) -> bool:
        nonlocal asked
        asked += 1
        return holds(frozenset(group))

    best: Group = ()
    for best, _ in search(n, probe, confirm, chunked=chunked):
        assert holds(frozenset(best))
    return frozenset(best), asked


@given(st.integers(0, 40), st.sets(st.integers(0, 39)), st.booleans())
def test_independent_proposals_are_all_found(n: int, needed: set[int], chunked: bool) -> None:
    needed &= set(range(n))
    found, asked = accepted_by(n, lambda group: not group & needed, chunked)
    assert found == set(range(n)) - needed
    assert asked <= 3 * n + 2


@given(st.integers(1, 12), st.sets(st.frozensets(st.integers(0, 11), min_size=1, max_size=3), max_size=4))
def test_the_end_holds_and_nothing_was_taken_twice(n: int, forbidden: set[frozenset[int]]) -> None:
    def holds(group: frozenset[int]) -> bool:
        return not any(bad <= group for bad in forbidden)

    found, _ = accepted_by(n, holds, chunked=True)
    assert holds(found)
    left = set(range(n)) - found
    # a conflict may keep a proposal out, but not one that conflicts with nothing
    assert all(any(i in bad for bad in forbidden) for i in left)


def test_all_at_once_needs_one_query_and_its_confirmation() -> None:
    assert accepted_by(100, lambda group: True, chunked=True) == (frozenset(range(100)), 2)


@given(st.integers(1, 30), st.sets(st.integers(0, 29)), st.sets(st.integers(0, 29)))
def test_what_only_looked_interesting_is_never_accepted(n: int, needed: set[int], lied_about: set[int]) -> None:
    needed &= set(range(n))

    def probe(groups: Sequence[Group]) -> list[bool]:
        return [not set(group) & (needed - lied_about) for group in groups]

    best: Group = ()
    for best, _ in search(n, probe, lambda group: not set(group) & needed, chunked=True):
        assert not set(best) & needed
    assert set(best) == set(range(n)) - needed


@strategy("drop-statement", tier=Tier.COARSE, independent=True)
def drop_statement(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete statements."""
    for path, _ in program.walk(ast.stmt):
        yield delete(path)


@strategy("drop-argument", tier=Tier.FINE)
def drop_argument(program: Program, facts: Facts) -> Iterator[Edit]:
    """Delete arguments."""
    for path, node in program.walk(ast.Call):
        for i in range(len(node.args)):
            yield delete((*path, "args", i))


@strategy("wrap", tier=Tier.MEDIUM, grows=True)
def wrap(program: Program, facts: Facts) -> Iterator[Edit]:
    """Replace an addition by a call with both of its operands."""
    for path, node in program.walk(ast.BinOp):
        yield replace(path, f"both({ast.unparse(node.left)}, {ast.unparse(node.right)})")


@strategy("broken", tier=Tier.COARSE)
def broken(program: Program, facts: Facts) -> Iterator[Edit]:
    """Raise."""
    yield delete(("body", 0))
    raise RuntimeError("a bug of ours")


class Fake:
    """A judge with a condition on the text, which counts its queries and answers in any number of workers."""

    def __init__(self, condition: Callable[[str], bool]) -> None:
        self.condition = condition
        self.queries = 0

    def judge(self, sources: Sequence[str], strategy: str, alone: bool) -> list[bool]:
        verdicts = []
        for source in sources:
            if refusal(source):
                verdicts.append(False)
                continue
            self.queries += 1
            verdicts.append(self.condition(source))
        return verdicts

    def confirm(self, source: str, strategy: str) -> bool:
        self.queries += 1
        return not refusal(source) and self.condition(source)

    def observe(self, program: Program) -> Facts:
        return Facts.none()


def reduce_with(
    strategies: Sequence[object], source: str, condition: Callable[[str], bool]
) -> tuple[str, Fake, Engine]:
    judge = Fake(condition)
    engine = Engine(strategies, judge)  # type: ignore[arg-type]
    program = Program.parse(source)
    for step in engine.run(program):
        assert isinstance(step, Step)
        program = step.program
    return program.source, judge, engine


STATEMENTS = st.lists(
    st.sampled_from(["a = 1", "print(2)", "if 1:\n    b = 2", "def f():\n    c = 3", "d = [4]"]), max_size=25
)


@given(STATEMENTS, STATEMENTS)
@settings(max_examples=60, deadline=None)
def test_only_the_needle_is_left(before: list[str], after: list[str]) -> None:
    source = "\n".join([*before, "def g():\n    x = needle(1)\n    y = 2", *after, "needle = g"])
    end, judge, engine = reduce_with([drop_statement], source, lambda text: "needle(" in text)
    assert end == "def g():\n    x = needle(1)\nneedle = g"
    assert engine.minimal
    assert judge.queries <= 60


def test_a_finished_reduction_makes_no_further_progress() -> None:
    end, _, _ = reduce_with(
        [drop_statement, drop_argument], "a = 1\nprint(a, 2, 3)\nprint(4)", lambda t: "print(a" in t
    )
    assert end == "a = 1\nprint(a)"
    again, _, _ = reduce_with([drop_statement, drop_argument], end, lambda t: "print(a" in t)
    assert again == end


def test_a_strategy_that_raises_is_named_and_the_run_goes_on() -> None:
    end, _, engine = reduce_with([broken, drop_statement], "a = 1\nb = 2", lambda text: "b" in text)
    assert end == "b = 2"
    assert [(fault.strategy, fault.error) for fault in engine.faults] == [("broken", "RuntimeError: a bug of ours")]


def test_a_branch_may_grow_when_it_ends_below_its_start() -> None:
    source = "both = print\nx = 'aaaa' + ('b' + 'c' + 'd' + 'e')"
    end, _, _ = reduce_with([wrap, drop_argument], source, lambda text: "'aaaa'" in text)
    assert end == "both = print\nx = both('aaaa')"


def test_what_is_adopted_is_always_simpler() -> None:
    sizes = []
    judge = Fake(lambda text: "keep" in text)
    engine = Engine([drop_statement, drop_argument], judge)
    for step in engine.run(
        Program.parse(
            "x = 1\nkeep(x, 2)\ny = 3\nprint(x, y)".replace("keep", "print").replace(
                "print(x, 2)", "keep = print(x, 2)"
            )
        )
    ):
        sizes.append(step.program.tokens)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes
