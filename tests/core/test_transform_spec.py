"""How users write transforms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.core.transform_spec import NAMES, TRIED, parse_transform, written
from shrinkrepro.errors import UsageError


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_what_is_written_is_read_again(names: list[str]) -> None:
    assert parse_transform(written(tuple(names))) == tuple(names)


def test_library_names_and_spaces_are_taken() -> None:
    assert parse_transform(" torch.func.vmap( grad )") == ("vmap", "grad")


def test_all_tries_only_known_names_once() -> None:
    assert len(set(TRIED)) == len(TRIED)
    assert {name for names in TRIED for name in names} <= set(NAMES)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("hess", "hess is not known", "hessian"),
        ("vmap(gard)", "gard is not known", "grad"),
        ("", "no nesting", "jvp(grad)"),
        ("vmap(grad", "no nesting", "jvp(grad)"),
        ("vmap)grad(", "no nesting", "jvp(grad)"),
        ("vmap(grad, jvp)", "no nesting", "jvp(grad)"),
    ],
)
def test_anything_else_is_told(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_transform(text)
    assert message in told.value.message
    assert hint in told.value.hint
