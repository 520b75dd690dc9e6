"""The oracle of one reduction: is a run the same failure as the original?

Decision: what may change and what must stay is written here and nowhere else. A candidate may call the library more
directly, and it may lose levels; it may not change its message, nor raise in another library function, nor
lose its last level or its custom Function. Controls are the caller's: INTERESTING here means "the same signature".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shrinkrepro import protocol
from shrinkrepro.core.verdict import Outcome, Verdict
from shrinkrepro.oracles import places
from shrinkrepro.oracles import signature as kinds
from shrinkrepro.oracles.matching import compiled, output_of, pattern_of
from shrinkrepro.oracles.mismatch import Difference, change
from shrinkrepro.oracles.normalise import normalise
from shrinkrepro.oracles.signature import Signature, signature_of, warning_signature
from shrinkrepro.protocol import Execution

# Messages whose cause is the one call that raised, whatever called the program's code: what calls it may then go.
_LOCAL_CAUSE = re.compile(
    r"^vmap: It looks like you're|^vmap: called random operation|^vmap over |dynamic shape|"
    r"^Batching rule not implemented for|does not yet have a batching rule|vmap fallback which is currently disabled"
)
# Messages that name the operator which the library lacks something for, or the line of C++ that broke: any way there
# is the same bug.
_NAMES_OPERATOR = re.compile(
    r"INTERNAL ASSERT FAILED at |"
    r"^Batching rule not implemented for aten::|^Trying to use forward AD with \w|^aten::\S+ requires special handling|"
    r"Attempted to vmap over aten::|^Could not run 'aten::|^derivative for aten::|^the derivative for '"
)


# What torch.testing says of values, in its own words, and of what else differs. A text of the program's own may go.
_COMPARED = re.compile(r"are not (?:close|equal)$")
_COMPARED_OTHERWISE = re.compile(r"^The values for attribute|^The .* do not match|^Boolean")
_NOT_COMPILED = ("SyntaxError", "IndentationError", "TabError")


@dataclass(frozen=True)
class Oracle:
    """Judges executions against one failure. ``match`` is signature, message, type, or a regex between slashes."""

    signature: Signature
    match: str = "signature"
    exclude: str | None = None
    shown: Signature | None = None  # what a fresh run shows of it, where the script catches it and exits
    difference: Difference | None = None  # of the original's values, where a run under the harness told it
    anywhere: bool = False  # whether the place in the library is chance, as where threads race

    def __post_init__(self) -> None:
        self.pattern  # noqa: B018  (a bad regex is told at once)
        self._exclude_pattern  # noqa: B018

    @classmethod
    def of(cls, execution: Execution, match: str = "signature", exclude: str | None = None) -> Oracle | None:
        """The oracle of the original's run; None when that run shows nothing that ``match`` could hold on to.

        Raises:
            UsageError: ``match`` is no known word and no regex between slashes, or a regex is wrong.
        """
        found = signature_of(execution, match)
        return cls(found, match, exclude) if found is not None else None

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The regex of ``match``, if it is one."""
        return pattern_of(self.match)

    @property
    def _exclude_pattern(self) -> re.Pattern[str] | None:
        return compiled(self.exclude) if self.exclude else None

    def judge(self, execution: Execution, source: str = "") -> Verdict:
        """The verdict on one run of the candidate ``source``.

        The source is looked at only where the run cannot tell which operator was called straight from the program.
        """
        if execution.status == protocol.LOST:
            return Verdict(Outcome.UNRESOLVED, "", execution.detail or "the worker was lost")
        if execution.status == protocol.TIMEOUT and self.signature.kind != kinds.HANG:
            return Verdict(Outcome.UNRESOLVED, "", "timed out")
        found = signature_of(execution)
        label = found.describe() if found else ""
        if found is not None and self.signature.type != found.type in _NOT_COMPILED and not _ran(execution):
            return Verdict(Outcome.INVALID, label, "does not compile")
        exclude = self._exclude_pattern
        if exclude is not None and exclude.search(output_of(execution)):
            return Verdict(Outcome.SLIPPED, label, f"matches the excluded {self.exclude}")
        if self.signature.kind == kinds.WARNING:
            return self._judge_warning(execution, found)
        if found is None:
            return Verdict(Outcome.PASSED)
        if self.pattern is not None:
            if not self.pattern.search(output_of(execution)):
                return Verdict(Outcome.SLIPPED, label, f"does not match {self.match}")
            reason = "" if found.kind == self.signature.kind else _differ("kind", self.signature.kind, found.kind)
        else:
            reason = self._difference(found, execution, source)
        if reason:
            return Verdict(Outcome.SLIPPED, label, reason)
        return Verdict(Outcome.INTERESTING, label)

    def _judge_warning(self, execution: Execution, found: Signature | None) -> Verdict:
        pattern = self.pattern
        if found is not None:
            return Verdict(Outcome.SLIPPED, found.describe(), "fails, where the original only warned")
        if self.signature.type == kinds.OUTPUT:
            same = pattern is not None and pattern.search(output_of(execution)) is not None
        else:
            same = any(
                warning_signature(w) == self.signature or (pattern is not None and pattern.search(w) is not None)
                for w in execution.warnings
            )
        return Verdict(Outcome.INTERESTING, self.signature.describe()) if same else Verdict(Outcome.PASSED)

    def _difference(self, found: Signature, execution: Execution, source: str) -> str:
        """What makes ``found`` another failure, one line; empty when it is the same."""
        want = self.signature
        if want.kind == kinds.EXIT and found.kind in (kinds.EXIT, kinds.EXCEPTION, kinds.MISMATCH):
            return _exit_difference(want, execution)  # a harness may see what was raised before the exit
        if found.kind != want.kind:
            if found.kind == kinds.EXIT and want.kind in (kinds.EXCEPTION, kinds.MISMATCH) and _tells(execution, want):
                return ""  # caught, printed and turned into an exit, without a traceback
            if self.shown is not None and found.kind == kinds.EXIT and not execution.watched:
                return _exit_difference(self.shown, execution)
            return _differ("kind", want.kind, found.kind)
        if want.kind == kinds.CRASH:
            return self._crash_difference(found, source)
        if want.kind == kinds.HANG:
            return (
                "" if found.where == want.where or not found.crash_frames else _differ("place", want.where, found.where)
            )
        if found.type != want.type:
            return _differ("type", want.type, found.type)
        if self.match == "type":
            return ""
        if found.sentence != want.sentence and not self._message_may_go(found):
            return _differ("message", want.sentence, found.sentence)
        if self.match == "message":
            return ""
        if found.tracer_broke != want.tracer_broke:
            return "Dynamo itself no longer breaks" if want.tracer_broke else "Dynamo itself breaks"
        if want.kind == kinds.MISMATCH:
            changed = change(self.difference, Difference.of(execution))
            if changed:
                return changed
        place = "" if self.anywhere else self._place_difference(found, source)
        return place or level_difference(want, found)

    def _message_may_go(self, found: Signature) -> bool:
        """The text of the program's own ``assert`` is the program's; that of torch.testing says what differs."""
        want = self.signature
        if want.kind != kinds.MISMATCH or want.by_program != found.by_program:
            return False
        if want.by_program:
            return not found.sentence
        return _COMPARED.search(found.sentence) is not None and not _COMPARED_OTHERWISE.search(want.sentence)

    def _place_difference(self, found: Signature, source: str) -> str:
        want = self.signature
        if bool(found.own_work) != bool(want.own_work):
            return (
                "raised by a transform's own code" if found.own_work else "no longer raised by a transform's own code"
            )
        if _place_key(found) == _place_key(want):
            return ""
        if want.where is None:
            return _differ("place", None, found.where)
        local = _LOCAL_CAUSE.search(want.sentence) is not None
        direct = False
        if not want.where.inside:  # the library only called back: that may go when the cause is the program's own call
            direct = local and (found.where is None or not found.where.inside)
        elif found.where is None:
            foreign = not want.where.file.startswith("torch/")  # a third party's code, which called torch
            named = _NAMES_OPERATOR.search(want.sentence) is not None
            direct = named or (foreign and local) or names_call(source, want.where.function)
        if direct:
            return ""
        return _differ("place", want.where, found.where)

    def _crash_difference(self, found: Signature, source: str) -> str:
        want = self.signature
        if found.signal != want.signal:
            return _differ("signal", kinds.signal_name(want.signal), kinds.signal_name(found.signal))
        if found.assertion != want.assertion:
            return _differ("assertion", want.assertion, found.assertion)
        if found.overflow != want.overflow:
            return "the stack ran over" if found.overflow else "the stack no longer runs over"
        if self.match != "signature" or (found.where is not None and _place_key(found) == _place_key(want)):
            return ""
        if want.where is not None and found.where is None and names_call(source, want.where.function):
            return ""
        if found.where is not None or (want.where is not None and not want.levels):
            return _differ("place", want.where, found.where)
        # Crashed straight in an operator, which faulthandler does not name: a level must vouch for it.
        return level_difference(want, found) if want.levels else ""


def _exit_difference(want: Signature, execution: Execution) -> str:
    if execution.code != want.code:
        return _differ("exit code", want.code, execution.code)
    if want.sentence and not _printed(execution, want.sentence):
        return f"does not print {want.sentence!r}"
    return ""


def level_difference(want: Signature, found: Signature) -> str:
    """Levels may go, but some must stay if there were any, and a custom Function must; empty when that holds."""
    before, after = set(want.levels), set(found.levels)
    if places.FUNCTION in before and places.FUNCTION not in after:
        return "no longer in a custom autograd.Function"
    transforms = before - {places.FUNCTION}
    if transforms and not transforms & after:
        return f"no longer under {' or '.join(sorted(transforms))}"
    return ""


def names_call(source: str, function: str) -> bool:
    """Whether the text names ``function`` as an attribute or a name of its own: ``torch.ctc_loss`` for ``ctc_loss``."""
    return (
        function.isidentifier() and re.search(rf"(?<!\w){function}(?!\w)", source) is not None and function != "forward"
    )


def _differ(what: str, want: object, found: object) -> str:
    return f"{what}: {want or 'none'} became {found or 'none'}"


def _place_key(signature: Signature) -> tuple[str, str] | None:
    return (signature.where.file, signature.where.function) if signature.where else None


def _ran(execution: Execution) -> bool:
    return any(raised.frames for raised in execution.chain)


def _tells(execution: Execution, want: Signature) -> bool:
    return bool(want.sentence) and _printed(execution, want.sentence)


def _printed(execution: Execution, sentence: str) -> bool:
    """Whether a printed line holds the sentence, after whatever the program puts before it."""
    for line in (execution.stderr + "\n" + execution.stdout).splitlines():
        if line.strip() and sentence in normalise(line):
            return True
    return False
