"""What a warm server shows is looked at in a fresh interpreter at milestones, and nothing wrong is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.session.milestones import APART, Drifted, Milestones


def program(tokens: int) -> str:
    return "\n".join("x" for _ in range(tokens // 2))  # a name and the end of its line


def test_few_of_many_steps_are_looked_at() -> None:
    asked: list[str] = []

    def shows(text: str) -> bool:
        asked.append(text)
        return True

    milestones = Milestones(shows)
    steps = [program(2 * n) for n in range(300, 20, -1)]
    assert all(milestones.holds(step) for step in steps)
    assert asked[0] == steps[0]
    assert len(asked) <= len(steps) // APART + 10
    assert milestones.last_good(steps) == len(steps) - 1


def test_a_candidate_that_does_not_hold_is_refused_alone() -> None:
    good, bad = program(100), program(20)
    milestones = Milestones(lambda text: text != bad)
    assert milestones.holds(good)
    assert not milestones.holds(bad)
    assert milestones.holds(program(22))


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.lists(st.integers(1, 60), min_size=40, max_size=40))
def test_the_end_is_one_that_a_fresh_interpreter_shows(shown: list[bool], sizes: list[int]) -> None:
    programs = [f"{program(2 * size)}\ny{k}" for k, size in enumerate(sizes)]
    showing = {text for text, ok in zip(programs, [True, *shown]) if ok}
    asked: list[str] = []

    def shows(text: str) -> bool:
        asked.append(text)
        return text in showing

    milestones = Milestones(shows)
    steps: list[str] = []
    for text in programs[: len(shown) + 1]:
        try:
            if milestones.holds(text):
                steps.append(text)
        except Drifted:
            del steps[milestones.last_good(steps) + 1 :]
    del steps[milestones.last_good(steps) + 1 :]
    assert steps[0] == programs[0]
    assert steps[-1] in showing
    assert len([text for text in asked if text in showing]) == len({text for text in asked if text in showing})
