"""The words of a bug report that are made from facts: title, summary, expectation, search query, labels.

Decision: each sentence is put together from a signature, the program's own text and what runs gave, so that it cannot
say more than was seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shrinkrepro.oracles import places
from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.signature import CRASH, EXCEPTION, EXIT, HANG, MISMATCH, WARNING, Signature, signal_name
from shrinkrepro.protocol import Execution
from shrinkrepro.tasks.neighbour_operators import operators
from shrinkrepro.tasks.neighbour_text import Text
from shrinkrepro.tasks.neighbour_transforms import stack

_TITLE = 140  # characters; GitHub cuts a title at 256
_SENTENCE = 90
_QUERY = 200  # characters; GitHub refuses queries above 256
_PLACEHOLDER = re.compile(r"<[\w ]+>|VAR\b")
_FULL = {"compile": "torch.compile"}  # what reads as no name of a transform by itself
_LEVELS = {  # of a transform, where they are not called as it is
    "vjp": ("grad",),
    "grad_and_value": ("grad",),
    "jacrev": ("grad",),
    "linearize": ("jvp",),
    "jacfwd": ("vmap", "jvp"),
    "hessian": ("vmap", "jvp", "grad"),
}
_FORWARD = frozenset({"jvp", "jacfwd", "hessian", "linearize"})
_LABELS_OF_OPERATORS = (
    ("torch.linalg.", "module: linear algebra"),
    ("torch.cholesky", "module: linear algebra"),
    ("torch.sparse", "module: sparse"),
    ("torch.nn.GRU", "module: rnn"),
    ("torch.nn.LSTM", "module: rnn"),
    ("torch.nn.RNN", "module: rnn"),
    ("torch.nn.", "module: nn"),
    ("torch.distributions", "module: distributions"),
    ("torch.fft", "module: fft"),
)
_FORWARD_UMBRELLA = (
    "the umbrella issue on forward and higher-order AD: https://github.com/pytorch/pytorch/issues/198017"
)
_SHAPES_UMBRELLA = "the umbrella issue on missing shape checks: https://github.com/pytorch/pytorch/issues/195547"


class Words:
    """What can be said of the failure ``signature`` of the program ``source``."""

    def __init__(
        self, source: str, signature: Signature, difference: Difference | None = None, message: str = ""
    ) -> None:
        """``message``: the failure's own, which the signature has without what is accidental in it."""
        text = Text(source)
        self.signature = signature
        self.transforms = stack(text)
        self.operator = _operator(text, signature)
        self._operators = [name for _, name in operators(text)]
        self._difference = difference
        lost = _PLACEHOLDER.search(signature.sentence) is not None
        self._sentence = message.strip().partition("\n")[0] if lost and message.strip() else signature.sentence

    def title(self) -> str:
        """The title, one line."""
        found = f"{self._subject(plain=True)}: {self._what(_SENTENCE)}" if self._subject() else self._what(_SENTENCE)
        return _short(found, _TITLE)

    def summary(self, nearest: str = "") -> str:
        """One sentence, and a second one on the nearest neighbour that passes."""
        subject = self._subject() or "The program"
        sentence = f"{subject} {self._verb()}{self._where()}{self._said()}"
        sentence += "" if sentence.endswith("…") else "."
        return sentence + (f" With one thing exchanged ({nearest}) it passes." if nearest else "")

    def expected(self, others: Sequence[str]) -> str:
        """What should happen; ``others`` do so, in words: other torches, neighbours of which the same is expected."""
        known = f" as it does {'' if others[0].startswith('not ') else 'with '}{others[0]}" if others else ""
        if self.signature.kind == MISMATCH:
            return f"the two values agree{',' + known.replace('it does', 'they do') if known else ''}."
        if self.signature.kind == WARNING:
            return f"no warning{',' + known if known else ''}."
        if self.signature.kind == CRASH:
            return "no crash: the program ends normally or raises an exception" + (f",{known}." if known else ".")
        return f"the program ends normally{',' + known if known else ''}."

    def query(self) -> str:
        """What to search the tracker for: the fixed part of the message, and the operator."""
        words = ["repo:pytorch/pytorch", "is:issue"]
        fixed = max(_PLACEHOLDER.split(self.signature.sentence or self.signature.assertion), key=len, default="")
        fixed = " ".join(fixed.replace('"', " ").split())
        if fixed and not self.signature.by_program and self.signature.kind != MISMATCH:
            words.append(f'"{_short(fixed, 80).rstrip("…")}"')
        else:
            words += self.transforms[:2]
        last = self.operator.rpartition(".")[2]
        if last and last != "apply" and last not in fixed:
            words.append(last)
        return " ".join(words)[:_QUERY]

    def labels(self, regression: bool) -> tuple[str, ...]:
        """Labels of PyTorch's tracker that may fit."""
        names, levels = set(self.transforms), set(self.signature.levels)
        compiled = "compile" in names or places.COMPILE in levels
        functional = bool(names - {"compile"}) or bool(levels & {places.VMAP, places.JVP})
        found = ["module: functorch"] if functional else []
        found += ["module: vmap"] if "vmap" in names or places.VMAP in levels else []
        found += ["module: forward ad"] if names & _FORWARD or places.JVP in levels else []
        found += ["module: autograd"] if places.FUNCTION in levels or "grad" in levels else []
        found += ["oncall: pt2"] + ["dynamo-functorch"] * functional if compiled else []
        found += ["module: correctness (silent)"] if self.signature.kind == MISMATCH else []
        found += ["module: crash"] if self.signature.kind == CRASH else []
        found += ["module: regression"] if regression else []
        for start, label in _LABELS_OF_OPERATORS:
            if any(name.startswith(start) for name in self._operators):
                found.append(label)
        return tuple(dict.fromkeys(found))

    def umbrellas(self) -> tuple[str, ...]:
        """Collecting issues that this may belong to."""
        found = []
        forward = set(self.transforms) & _FORWARD
        if "Trying to use forward AD with" in self.signature.sentence or (forward and self.signature.kind == MISMATCH):
            found.append(_FORWARD_UMBRELLA)
        if self.signature.kind == CRASH:
            found.append(_SHAPES_UMBRELLA)
        return tuple(found)

    def _subject(self, plain: bool = False) -> str:
        mark = "" if plain else "`"
        names = [f"{mark}{_FULL.get(name, name) if mark else name}{mark}" for name in self.transforms]
        last = self.operator.removeprefix("torch.")
        if places.FUNCTION in self.signature.levels:
            last_words = "a custom autograd.Function" if plain else "a custom `autograd.Function`"
        else:
            last_words = f"{mark}{last if plain else self.operator}{mark}" if self.operator else ""
        return " of ".join([*names, *([last_words] if last_words else [])])

    def _what(self, length: int) -> str:
        s = self.signature
        if s.kind == MISMATCH:
            return f"wrong result ({self._difference.describe()})" if self._difference else "wrong result"
        if s.kind == EXCEPTION:
            kind = s.type.rpartition(".")[2]
            return f"{kind}: {_short(self._sentence, length)}" if self._sentence else kind
        if s.kind == CRASH:
            return f"crash by {signal_name(s.signal)}"
        if s.kind == WARNING:
            return f"{s.type}: {_short(s.sentence, length)}"
        return "hang" if s.kind == HANG else f"exit code {s.code}"

    def _verb(self) -> str:
        s = self.signature
        if s.kind == EXCEPTION:
            return f"raises `{s.type}`"
        if s.kind == MISMATCH:
            differ = f" ({self._difference.describe()})" if self._difference is not None else ""
            return f"gives a wrong result{differ}"
        if s.kind == EXIT:
            return f"ends with exit code {s.code}"
        return {CRASH: f"crashes by {signal_name(s.signal)}", HANG: "does not end"}.get(s.kind, f"warns `{s.type}`")

    def _said(self) -> str:
        """The message of an exception, which names the kind of bug where its type does not."""
        if self.signature.kind != EXCEPTION or not self._sentence:
            return ""
        return f": {_short(self._sentence, 2 * _SENTENCE).rstrip('.')}"

    def _where(self) -> str:
        s = self.signature
        found = f" in `{s.where.function}` ({s.where.file})" if s.where is not None and s.where.inside else ""
        levels = [level for level in s.levels if level != places.FUNCTION]
        meant = [level for name in self.transforms for level in _LEVELS.get(name, (name,))]
        told = levels and levels != meant
        return found + (f", under {' of '.join(levels)}" if told else "")


def telling(execution: Execution) -> str:
    """The message of a failure and the frames that matter: the program's own, and where in the library it was."""
    if not execution.chain:
        lines = (execution.stderr.strip() or execution.stdout.strip()).splitlines()
        return "\n".join([line for line in lines if not line.startswith("Extension modules:")][-20:]).strip()
    lines = []
    for raised in execution.chain:
        for frame in raised.frames:
            if not frame.lib or places.is_place(frame):
                lines.append(f"{frame.file}:{frame.line} in {frame.function}")
        lines.append(f"{raised.type}: {raised.message.rstrip()}" if raised.message.strip() else raised.type)
    return "\n".join(lines)


def _operator(text: Text, signature: Signature) -> str:
    """The operator that the failure names, or else the innermost one of the program."""
    found = [name for _, name in operators(text)]
    told = f"{signature.sentence} {signature.where.function if signature.where is not None else ''}".lower()
    named = [name for name in found if re.search(rf"(?<![a-z]){re.escape(name.rpartition('.')[2].lower())}", told)]
    return (named or found or [""])[-1]


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rsplit(" ", 1)[0] + "…"
