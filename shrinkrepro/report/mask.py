"""Masks what is nobody else's business: home folders, user and host names, tokens, passwords, e-mail addresses.

Decision: a pure function of the text and of the names that it is given. Only what is surely no Python is taken for a
secret (``x @ weight.grad`` is no e-mail address), for a program that was masked has to run as before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|"
    r"AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|pypi-[\w-]{16,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{12,}")
_SECRET_WORD = r"[\w.-]*(?:token|secret|passw(?:or)?d|api_?key|access_?key|credential)s?"
_ASSIGNED = re.compile(rf"(?i)((?<![\w.]){_SECRET_WORD}['\"]?\]?\s*[=:]\s*)(['\"])[^'\"\s]{{6,}}\2")
_VARIABLE = re.compile(
    r"(?<!\w)([A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY)[A-Z0-9_]*=)([^\s'\"]{4,})"
)
_URL = re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)")
_EMAIL = re.compile(
    r"(?<![\w.+-])[\w+-][\w.+-]*@(?:[A-Za-z0-9-]+\.)+"
    r"(?:com|org|net|edu|gov|info|dev|ai|io|[a-z]{2}(?<!mm)(?<!mv))(?![\w(.@\[])"
)
_HOMES = re.compile(r"(?P<root>/home/|/Users/|(?i:[a-z]:\\+Users\\+))(?P<name>[^/\\\s'\":,;]+)")
_COMMON = frozenset(
    {
        "root",
        "user",
        "users",
        "ubuntu",
        "debian",
        "admin",
        "runner",
        "python",
        "torch",
        "pytorch",
        "test",
        "tests",
        "main",
        "build",
        "docker",
        "conda",
        "home",
        "work",
        "localhost",
        "data",
        "model",
        "code",
        "app",
        "nobody",
        "guest",
        "default",
        "linux",
        "ec2-user",
        "vscode",
    }
)
_SHORTEST = 3  # characters of a user's or host's name that is looked for


@dataclass(frozen=True)
class Mask:
    """What is masked beside what has a form of its own: ``homes`` are folders, ``users`` and ``hosts`` names."""

    homes: Sequence[str] = ()
    users: Sequence[str] = ()
    hosts: Sequence[str] = ()
    found: set[str] = field(default_factory=set, compare=False)  # the kinds of things that were masked so far

    def __call__(self, text: str) -> str:
        """``text`` with what is private replaced by what kind of thing stood there."""
        for kind, pattern, new in (
            ("credentials in an address", _URL, "<credentials>"),
            ("a token", _TOKEN, "<token>"),
            ("a token", _BEARER, r"\1\2<token>"),
            ("a secret", _ASSIGNED, r"\1\2<secret>\2"),
            ("a secret", _VARIABLE, r"\1<secret>"),
            ("an e-mail address", _EMAIL, "<email>"),
        ):
            text = self._sub(kind, pattern, new, text)
        for home in sorted(filter(None, self.homes), key=len, reverse=True):
            if len(home) > 1:
                pattern = re.compile(rf"(?<![\w.-]){re.escape(home.rstrip('/'))}(?=[/\\\s'\":,;)]|$)")
                text = self._sub("a home folder", pattern, "~", text)
        text = self._sub("a home folder", _HOMES, r"\g<root><user>", text)
        for kind, names in (("user", self.users), ("host", self.hosts)):
            for name in names:
                if len(name) >= _SHORTEST and name.lower() not in _COMMON:
                    pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
                    text = self._sub(f"a {kind} name", pattern, f"<{kind}>", text)
        return text

    def _sub(self, kind: str, pattern: re.Pattern[str], new: str, text: str) -> str:
        changed, _ = pattern.subn(new, text)
        if changed != text:
            self.found.add(kind)
        return changed
