"""Masking: what is private goes, and what is Python stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkrepro.corpus import block
from shrinkrepro.report.mask import Mask

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
ALNUM = st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=127)

PLANTED = {
    "ghp_" + "a1B2" * 9: "a token",
    "github_pat_11ABCDEFG0" + "x" * 20: "a token",
    "hf_" + "AbCd" * 8: "a token",
    "AKIA" + "Z7" * 8: "a token",
    "xoxb-123456789012-abcdefghij": "a token",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.sflKxwRJSMeK": "a token",
    "jane.doe+bugs@mail.example.com": "an e-mail address",
    "/home/jane/models/w.pt": "a home folder",
    "/Users/jane/models/w.pt": "a home folder",
    "C:\\Users\\jane\\w.pt": "a home folder",
    "node-17.cluster": "a host name",
    "janedoe": "a user name",
}
SECRETS = ("jane", "ghp_", "github_pat_", "hf_Ab", "AKIA", "xoxb", "eyJ", "node-17", "hunter2")


def mask() -> Mask:
    return Mask(homes=("/srv/people/janedoe",), users=("janedoe",), hosts=("node-17.cluster", "node-17"))


@pytest.mark.parametrize(("secret", "kind"), PLANTED.items())
def test_a_planted_secret_is_gone_wherever_it_stands(secret: str, kind: str) -> None:
    for text in (
        secret,
        f'x = torch.load("{secret}")',
        f"  File '{secret}', line 3",
        f"RuntimeError: no {secret}: sorry",
    ):
        made = mask()
        shown = made(text)
        assert secret not in shown
        assert not any(word in shown for word in SECRETS), shown
        assert made.found == {kind}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://jane:hunter22@host.example/x.git", "https://<credentials>@host.example/x.git"),
        ('os.environ["WANDB_API_KEY"] = "hunter22222"', 'os.environ["WANDB_API_KEY"] = "<secret>"'),
        ("MY_TOKEN=hunter2222 python train.py", "MY_TOKEN=<secret> python train.py"),
        ("password: 'hunter2222'", "password: '<secret>'"),
        ("Authorization: Bearer abc123def456ghi789", "Authorization: Bearer <token>"),
        ("/srv/people/janedoe/w.pt", "~/w.pt"),
        ("/srv/people/janedoes/w.pt", "/srv/people/janedoes/w.pt"),
    ],
)
def test_what_stands_in_its_place(text: str, shown: str) -> None:
    assert mask()(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "y = x@w.T",
        "y = x@layer.weight.grad",
        "y = a@b.mm(c)",
        "y = x @ w.mean()",
        "token = torch.zeros(1)",
        "tokens = tokenizer(text)",
        "secret = secrets[0]",
        "password_length = 8",
        "key = torch.randn(1, 2)",
        "torch.nn.functional.scaled_dot_product_attention(query, key, value)",
        "@torch.compile",
        "def f(user): return user",
    ],
)
def test_python_stays_as_it_is(text: str) -> None:
    assert mask()(text) == text


def test_no_case_of_the_corpus_is_touched() -> None:
    programs = [block.program(path.read_text(encoding="utf-8")) for path in CORPUS.glob("*.py")]
    assert len(programs) >= 40
    assert [mask()(program) for program in programs] == programs


@settings(max_examples=30)
@given(st.text(ALNUM, min_size=20, max_size=36), st.text(max_size=40), st.text(max_size=40))
def test_a_token_goes_out_of_any_text(token: str, before: str, after: str) -> None:
    planted = f"ghp_{token}"
    assert planted not in mask()(f"{before} {planted} {after}")


@settings(max_examples=40)
@given(st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = mask()(text)
    assert mask()(once) == once
