"""Pairs of values: agreement is never listed, and what looks like got and want comes first."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from shrinkrepro.oracles.pairs import Value, ranked


def value(expression: str, *sample: float, function: str = "", dtype: str = "float32", kind: str = "tensor") -> Value:
    name = expression.partition("[")[0].partition(".")[0]
    return Value(expression, name, function, kind, (len(sample),), dtype, sample, math.fsum(sample))


def first(source: str, *values: Value) -> set[str]:
    pair = ranked(values, source)[0]
    return {pair.got, pair.want}


def test_names_decide_and_the_result_comes_first() -> None:
    values = [value(n, *s) for n, s in (("weights", (1, 2)), ("expected", (3, 4)), ("bias", (3, 5)), ("out", (3, 4.5)))]
    pair = ranked(values, "")[0]
    assert (pair.got, pair.want) == ("out", "expected")


def test_what_is_printed_side_by_side_comes_before_what_is_not() -> None:
    values = [value("a", 1, 2), value("b", 1, 3), value("c", 1, 2.5)]
    assert first("print('difference', b, c)\n", *values) == {"b", "c"}
    assert first("print(f'{a} {c}')\n", *values) == {"a", "c"}


def test_a_transform_on_one_side_counts() -> None:
    source = "from torch.func import vmap\na1 = vmap(f)(x)\nb = a1 + 1\nb1 = f(x)\nc1 = g(x)\n"
    assert "a1" in first(source, value("b1", 1, 2), value("c1", 1, 3), value("a1", 1, 2.5))


def test_the_same_quantity_of_two_runs_is_a_pair() -> None:
    values = [
        value("runs[0].loss[0]", 1.0),
        value("runs[1].loss[0]", math.nan),
        value("scale", 3.0),
        value("rate", 0.1),
    ]
    assert first("", *values) == {"runs[0].loss[0]", "runs[1].loss[0]"}


def test_values_of_two_functions_or_shapes_are_no_pair() -> None:
    assert not ranked([value("got", 1, function="f"), value("want", 2, function="g")], "")
    assert not ranked([value("got", 1), value("want", 1, 2)], "")


def test_integers_and_flags_are_no_results() -> None:
    assert not ranked([value("got", 1, dtype="bool"), value("want", 0, dtype="bool")], "")


finite = st.floats(-1e3, 1e3, width=32)


@given(st.lists(finite, min_size=1, max_size=8), st.floats(-1e-7, 1e-7))
def test_what_agrees_to_rounding_is_never_listed(sample: list[float], rounding: float) -> None:
    scale = max(map(abs, sample))
    moved = [v + rounding * scale for v in sample]
    assert not ranked([value("got", *sample), value("want", *moved)], "print(got, want)")


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=6), st.permutations(range(4)))
def test_the_order_does_not_depend_on_the_order_of_unlike_values(
    pairs: list[tuple[float, float]], order: list[int]
) -> None:
    one, other = zip(*pairs)
    values = [value("got", *one), value("want", *other), value("p.q", *one[::-1]), value("z", *other)]
    listed = ranked([values[k] for k in order], "print(got, want)")
    assert {frozenset((p.got, p.want)) for p in listed} == {
        frozenset((p.got, p.want)) for p in ranked(values, "print(got, want)")
    }


def test_at_most_ten_and_two_of_the_same_names() -> None:
    values = [value(f"rows[{k}].x[0]", float(k)) for k in range(30)] + [value(f"v{k}", float(k)) for k in range(1, 9)]
    listed = ranked(values, "")
    assert len(listed) == 10
    assert sum(p.got.startswith("rows") and p.want.startswith("rows") for p in listed) <= 2
