"""Groups of scripts, before and after reduction."""

from __future__ import annotations

from shrinkrepro.tasks.batch_blame import Blame
from shrinkrepro.tasks.batch_check import Checked
from shrinkrepro.tasks.batch_groups import key_of, merged, same_after


def compares(*operators: str, transforms: tuple[str, ...] = ("vmap", "all"), calls: tuple[str, ...] = ()) -> Checked:
    blame = Blame(operators, transforms, calls)
    return Checked("values differ", {"kind": "mismatch"}, True, blame, 100, 1.0)


def raises(sentence: str) -> Checked:
    return Checked(sentence, {"kind": "exception", "sentence": sentence}, False, Blame(), 100, 1.0)


def test_comparisons_are_told_apart_by_what_is_to_blame() -> None:
    softmax, sqrt, same = (
        key_of(compares("softmax"), "a"),
        key_of(compares("sqrt"), "b"),
        key_of(compares("softmax"), "c"),
    )
    assert softmax == same != sqrt
    assert key_of(compares("softmax", transforms=("forward", "all")), "a") != softmax


def test_a_comparison_of_which_nothing_is_known_stands_alone() -> None:
    assert key_of(compares(), "x = 1\n") != key_of(compares(), "x = 1\ny = 2\n")
    assert key_of(compares(), "x = 1\n") == key_of(compares(), "other = 3\n")  # but for its names and numbers the same


def test_exceptions_are_grouped_by_their_signature() -> None:
    assert key_of(raises("no rule for aten::x"), "a") == key_of(raises("no rule for aten::x"), "b")
    assert key_of(raises("no rule for aten::x"), "a") != key_of(raises("no rule for aten::y"), "a")


def test_one_of_several_to_blame_is_chosen_by_what_others_show() -> None:
    found = {key_of(one, ""): one for one in (compares("sqrt"), compares("add", "sqrt"), compares("exp", "tanh"))}
    single, several, unknown = found
    stands = merged(found, found)
    assert stands == {single: single, several: single, unknown: unknown}


def test_nothing_is_merged_where_two_could_be_meant() -> None:
    found = {key_of(one, ""): one for one in (compares("sqrt"), compares("exp"), compares("exp", "sqrt"))}
    assert merged(found, found) == {key: key for key in found}


def test_equal_results_make_one_group() -> None:
    stands = same_after({
        "a": [("import torch\nf(torch.ones(2))\n", None)],
        "b": [("import torch\nf(torch.ones(3))\n", None), ("import torch\ng(torch.ones(3))\n", None)],
        "c": [("import torch\ng(torch.ones(7))\n", None)],
        "d": [("import torch\nh(torch.ones(7))\n", None)],
        "e": [],
    })  # fmt: skip
    assert stands == {"a": "a", "b": "a", "c": "a", "d": "d", "e": "e"}


def test_results_with_the_same_operator_to_blame_make_one_group() -> None:
    stands = same_after({
        "a": [("f(1)\n", compares("sqrt"))],
        "b": [("g(2, 3)\n", compares("sqrt"))],
        "c": [("h()\n", compares("sqrt", transforms=("forward", "all")))],
    })  # fmt: skip
    assert stands == {"a": "a", "b": "a", "c": "c"}


def test_what_a_check_found_comes_back_from_its_wire() -> None:
    found = compares("sqrt", calls=("vmap(_)",))
    assert Checked.of(found.wire()) == found
