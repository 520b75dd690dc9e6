"""Cases: what is written is read again, and every wrong file is one clear line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.corpus import block
from shrinkrepro.corpus.case import STATUSES, Case, CaseError, Expectation, read
from shrinkrepro.corpus.digest import digest
from shrinkrepro.corpus.folder import find, parse_shard
from shrinkrepro.corpus.versions import allows, requirement
from shrinkrepro.corpus.write import render, with_expectations
from shrinkrepro.errors import UsageError
from shrinkrepro.oracles.places import Place
from shrinkrepro.oracles.signature import Signature
from shrinkrepro.tasks.case_signature import signature_from, table_of

PROGRAM = "import torch\n\ntorch.vmap(lambda x: x.item())(torch.ones(3))\n"
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SIGNATURES = st.builds(
    Signature,
    kind=st.sampled_from(["exception", "mismatch", "crash"]),
    type=WORDS,
    sentence=WORDS,
    where=st.none() | st.builds(Place, WORDS, WORDS, st.booleans()),
    levels=st.lists(WORDS, max_size=3).map(tuple),
    signal=st.integers(0, 64),
    crash_frames=st.lists(WORDS, max_size=3).map(tuple),
    by_program=st.booleans(),
)
EXPECTATIONS = st.builds(
    Expectation,
    st.sampled_from(STATUSES),
    st.sampled_from(["", "<2.1", ">=2.0,<2.5"]),
    st.sampled_from(["", "cuda"]),
    WORDS,
)


def make(folder: Path, name: str = "one", **fields: object) -> Case:
    """Write a case and read it again."""
    case = Case(name, folder / f"{name}.py", PROGRAM, {"kind": "exception", "type": "RuntimeError"}, "words")
    case.path.write_text(render(replace(case, **fields)), encoding="utf-8")  # type: ignore[arg-type]
    return read(case.path)


@settings(max_examples=30)
@given(SIGNATURES, WORDS, WORDS, st.lists(EXPECTATIONS, max_size=3))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, signature: Signature, title: str, origin: str, on: list[Expectation]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    case = make(folder, signature=table_of(signature), title=title, origin=origin, on=tuple(on), timeout=2.5)
    assert signature_from(case.signature) == signature
    assert (case.title, case.origin, case.on, case.timeout) == (title, origin, tuple(on), 2.5)
    assert not case.edited
    assert block.program(case.text) == PROGRAM
    assert render(case) == case.text


def test_new_expectations_change_nothing_else(tmp_path: Path) -> None:
    case = make(tmp_path, title="a title", on=(Expectation("fixed", "<2.1"),))
    text = case.text.replace('title = "a title"', "title = 'a title' # mine").replace(
        "# ///\n", "#\n# [tool.uv]\n# x = 1\n# ///\n"
    )
    new = with_expectations(text, "fixed", (Expectation("changed", ">=2.9", failure="other"),))
    case.path.write_text(new)
    again = read(case.path)
    assert (again.expected, again.on) == ("fixed", (Expectation("changed", ">=2.9", failure="other"),))
    assert "title = 'a title' # mine" in new
    assert with_expectations(new, case.expected, case.on) == text


def test_an_own_block_is_kept(tmp_path: Path) -> None:
    text = block.with_block(PROGRAM, 'requires-python = ">=3.11"\ndependencies = ["numpy"] # mine\n[tool.uv]\nx = 1')
    case = make(tmp_path, text=text)
    assert (case.requires_python, case.dependencies) == (">=3.11", ("numpy", "torch>=2.0"))
    assert "[tool.uv]" in case.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("# format = 1", "# format = 2"), ("format is 2", "reads format 1", "upgrade")),
        (("# format = 1", "# format = 'new'"), ("format is 'new'", "reads format 1")),
        (("# format = 1", "# format = = 1"), ("broken TOML", "line 5")),
        (('expected = "fails"', 'expected = "green"'), ("expected is 'green'", "fails, fixed")),
        (('match = "signature"', "match = 3"), ("match must be a str, not 3", "")),
        (('kind = "exception"', "#"), ("signature has no kind", "")),
        (("[tool.shrinkrepro", "[tool.other"), ("is no case", "shrinkrepro add")),
        (("# format", "format"), ("block is broken", "")),
        (
            ('requires-python = ">=3.10"', 'requires-python = "new"'),
            ("requires-python 'new' is no version specifier", ""),
        ),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, change: tuple[str, str], words: tuple[str, str]) -> None:
    case = make(tmp_path)
    case.path.write_text(case.text.replace(*change))
    with pytest.raises(CaseError) as caught:
        read(case.path)
    error = caught.value
    assert "\n" not in error.message + error.hint
    assert str(case.path) in error.message
    assert error.hint
    assert all(word in error.message + error.hint for word in (words[0], words[1]))


def test_an_unknown_field_of_a_signature_is_refused() -> None:
    with pytest.raises(ValueError, match="'colour' is not known"):
        signature_from({"kind": "crash", "colour": "red"})


def test_cases_are_found_and_wrong_ones_are_told(tmp_path: Path) -> None:
    make(tmp_path, "good", title="about vmap")
    (tmp_path / "sub").mkdir()
    twin = make(tmp_path / "sub", "good")
    edited = make(tmp_path, "edited")
    edited.path.write_text(edited.text.replace("ones(3)", "ones(4)"))
    (tmp_path / "none.py").write_text("x = 1\n")
    (tmp_path / "conftest.py").write_text("x = 1\n")
    found = find([tmp_path])
    assert [case.name for case in found.cases] == ["good"]
    told = {problem.path.name: problem.message for problem in found.problems if problem.path != twin.path}
    assert "was edited" in told["edited.py"]
    assert "is no case" in told["none.py"]
    assert [p.message for p in found.problems if p.path == twin.path] == [
        f"{twin.path} has the name of {tmp_path / 'good.py'}"
    ]
    assert [case.name for case in found.selected("vmap and not jvp", "").cases] == ["good"]
    shares = [found.selected("", f"{i}/3") for i in (1, 2, 3)]
    assert sum(len(share.cases) + len(share.problems) for share in shares) == 4


@pytest.mark.parametrize("paths", [["nowhere"], ["."]])
def test_nothing_to_replay_is_a_usage_error(tmp_path: Path, paths: list[str]) -> None:
    with pytest.raises(UsageError):
        find([tmp_path / path for path in paths])


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_wrong_shard(text: str) -> None:
    with pytest.raises(UsageError, match="--shard"):
        parse_shard(text)


@pytest.mark.parametrize("expression", ["and", "a or", "(a", "a b", "not", ")"])
def test_a_wrong_keyword(tmp_path: Path, expression: str) -> None:
    make(tmp_path)
    with pytest.raises(UsageError, match="-k"):
        find([tmp_path]).selected(expression, "")


@pytest.mark.parametrize(
    ("specifier", "version", "holds"),
    [
        (">=2.1", "2.1.0+cpu", True),
        (">=2.14", "2.14.0.dev20270101+cu128", True),
        ("<2.1", "2.0.1", True),
        ("==2.0.*", "2.0.1", True),
        ("!=2.0.*", "2.0.1", False),
        ("~=2.1", "2.9", True),
        ("~=2.1", "3.0", False),
        (">2.1,<=2.3", "2.3.0", True),
        (">2.1,<=2.3", "2.1", False),
    ],
)
def test_version_specifiers(specifier: str, version: str, holds: bool) -> None:
    assert allows(specifier, version) is holds


def test_requirements() -> None:
    assert requirement("torch[opt] >= 2.4 ; python_version > '3'") == ("torch", ">= 2.4")
    assert requirement("torch @ https://x/y") == ("torch", "")


def test_what_a_target_lacks(tmp_path: Path) -> None:
    case = make(tmp_path, dependencies=("torch>=2.4",), requires_python=">=3.11")
    assert case.lacks("3.10.1", "2.13") == "it needs Python >=3.11, this is 3.10.1"
    assert case.lacks("3.12.1", "2.0.1") == "it needs torch >=2.4, this is 2.0.1"
    assert case.lacks("3.12.1", "2.4.0+cpu") == ""


def test_the_digest_is_of_the_program(tmp_path: Path) -> None:
    case = make(tmp_path)
    assert case.program == digest(PROGRAM)
