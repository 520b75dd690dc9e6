"""Signatures: what makes two failures the same.

Decision: a signature is made only of what a fresh run without any harness shows too, so that the one that a
server saw and the one that the end is confirmed with are equal.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Sequence
from dataclasses import dataclass

from shrinkrepro import protocol
from shrinkrepro.oracles import places
from shrinkrepro.oracles.matching import output_of, pattern_of
from shrinkrepro.oracles.normalise import inner_text, normalise, sentence_of
from shrinkrepro.oracles.places import Place
from shrinkrepro.protocol import Execution, Frame, Raised

EXCEPTION = "exception"
CRASH = "crash"
HANG = "hang"
EXIT = "exit"
WARNING = "warning"
MISMATCH = "mismatch"

OUTPUT = "output"  # the type of a warning that is no Python warning, only text that matches

CRASH_FRAMES = 3  # library frames of a crash that are kept, innermost first
STACK_OVERFLOW = 100  # frames; faulthandler prints no more, and no honest crash stands that deep
_COMPARISON = "torch/testing/"
_LOOKUPS = frozenset(
    {"KeyError", "AttributeError", "IndexError", "StopIteration", "ImportError", "ModuleNotFoundError", "NameError"}
)
_ASSERTION = re.compile(r".*(?:INTERNAL ASSERT FAILED|Assertion .* failed|CUDA error: |what\(\):).*")
_LOG_LINE = re.compile(r"^(\[?[VDIWEFC]\d{4} |\S+:\d+: \w*Warning: |  )")


@dataclass(frozen=True)
class Signature:
    """One failure, without what is accidental in it. Fields that a kind does not have are empty."""

    kind: str  # exception, crash, hang, exit, warning or mismatch
    type: str = ""  # of the exception: qualified, builtins and the program's own bare
    sentence: str = ""  # normal form of the first sentence of its message (exit: of the last line printed)
    where: Place | None = None  # None: raised in the program's own code, or straight from C++
    levels: tuple[str, ...] = ()  # kinds, outermost first
    signal: int = 0
    assertion: str = ""  # of a crash: the line that an abort prints
    crash_frames: tuple[str, ...] = ()  # of a crash or hang: library part of the innermost ones, innermost first
    code: int = 0
    by_program: bool = False  # of a mismatch: raised by the program's own check, not by torch.testing
    overflow: bool = False  # of a crash: the stack ran over
    own_work: str = ""  # of an exception: the transform that raised in its own code, before or after the function
    tracer_broke: bool = False  # Dynamo itself went wrong, beyond what it says of the program

    def describe(self) -> str:
        """The signature in words, one line."""
        return _What(self).words() + self._under()

    def _under(self) -> str:
        kinds = [kind for kind in self.levels if kind != places.FUNCTION]
        parts = []
        if places.FUNCTION in self.levels:
            parts.append("in a custom autograd.Function")
        if kinds:
            parts.append("under " + " of ".join(kinds))
        return "".join(f", {part}" for part in parts)


@dataclass(frozen=True)
class _What:
    """The words for the part of a signature that depends on its kind."""

    of: Signature

    def words(self) -> str:
        text: str = getattr(self, "_" + self.of.kind)()
        return text

    def _exception(self) -> str:
        text = f"{self.of.type}: {self.of.sentence}" if self.of.sentence else self.of.type
        return f"{text}, {self._place('raised')}"

    def _mismatch(self) -> str:
        by = "by the program's own check" if self.of.by_program else "by torch.testing"
        text = f"{self.of.type}: {self.of.sentence}" if self.of.sentence else self.of.type
        return f"{text}, {by}"

    def _crash(self) -> str:
        text = f"crash by {signal_name(self.of.signal)}"
        if self.of.assertion:
            text += f" ({self.of.assertion})"
        if self.of.overflow:
            return text + ", the stack ran over"
        return f"{text}, {self._place('')}".replace(", in ", " in ")

    def _hang(self) -> str:
        return f"hang, {self._place('')}"

    def _exit(self) -> str:
        return f"exit code {self.of.code}" + (f" after {self.of.sentence!r}" if self.of.sentence else "")

    def _warning(self) -> str:
        return f"{self.of.type}: {self.of.sentence}"

    def _place(self, verb: str) -> str:
        if self.of.own_work:
            return f"{verb} in the own code of {self.of.own_work}"
        if self.of.where is None:
            return f"{verb} in the program's own code".strip()
        verb = verb if self.of.where.inside or not verb else f"{verb} in code called"
        by = "in" if self.of.where.inside else "by"
        return f"{verb} {by} {self.of.where}".strip()


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11."""
    try:
        return signals.Signals(abs(number)).name
    except ValueError:
        return f"signal {abs(number)}"


def signature_of(execution: Execution, match: str = "signature") -> Signature | None:
    """The signature of a failed run; None when it did not fail or the infrastructure did.

    With a regex for ``match``, a run that says nothing that matches has none, and one that ends well can have
    one: of the warning that matches, or of the text.
    """
    pattern = pattern_of(match)
    if pattern is None:
        return _failure(execution)
    if execution.status == protocol.LOST or not pattern.search(output_of(execution)):
        return None
    failure = _failure(execution)
    if failure is None:
        warned = next((w for w in execution.warnings if pattern.search(w)), None)
        return warning_signature(warned) if warned else Signature(WARNING, OUTPUT, match)
    return failure


def _failure(execution: Execution) -> Signature | None:
    if execution.status == protocol.SIGNAL:
        return _crash(execution)
    if execution.status == protocol.TIMEOUT:
        frames = _library_part(execution.crash_frames)
        return Signature(HANG, where=_crash_place(execution.crash_frames), crash_frames=frames)
    if execution.status in (protocol.EXCEPTION, protocol.EXIT):
        chain = execution.chain
        if chain and chain[0].type == "SystemExit":
            chain = chain[1:]
        if chain:
            return _raised(chain)
        return Signature(EXIT, code=execution.code, sentence=normalise(last_line(execution)))
    return None


def warning_signature(warning: str) -> Signature:
    """The signature of one of ``Execution.warnings``, "Category: message"."""
    category, _, message = warning.partition(": ")
    return Signature(WARNING, type=category, sentence=normalise(message))


def culprit(chain: Sequence[Raised]) -> int:
    """The index of the exception that a chain is about: the innermost that the ones before it only wrap.

    A context is not always a cause: with ``try: cached except KeyError: compute()`` what ``compute`` raises is
    the failure, not the KeyError. The outer one is a wrapper when its text quotes the inner one, when it is a
    compiler's, or when it was raised in the very function that caught the inner one.
    """
    chosen = 0
    while chosen + 1 < len(chain) and _wraps(chain[chosen], chain[chosen + 1]):
        chosen += 1
    return chosen


def program_line(execution: Execution) -> int | None:
    """The line of the program's file at which the failure left it; None when the run does not tell."""
    if not execution.chain:
        return None
    own = [frame for frame in execution.chain[culprit(execution.chain)].frames if not frame.lib]
    return next((frame.line for frame in reversed(own) if frame.file == own[0].file), None)


def _wraps(outer: Raised, inner: Raised) -> bool:
    if not inner.frames:
        return False  # made for the text, never raised
    quoted = inner.message.strip().splitlines()[0].strip() if inner.message.strip() else ""
    if len(quoted) >= 8 and quoted in outer.message:
        return True
    lookup = inner.type.rsplit(".", 1)[-1] in _LOOKUPS
    if outer.type.startswith(("torch._dynamo.", "torch._inductor.")):
        return not lookup and not inner.type.startswith("torch._dynamo.exc.Observed")
    if lookup and not any(_torch(frame) for frame in inner.frames):
        return False
    if not outer.frames:
        return True
    last, first = outer.frames[-1], inner.frames[0]
    return (last.file, last.function) == (first.file, first.function)


def _torch(frame: Frame) -> bool:
    return frame.lib and frame.file.startswith("torch/")


def _raised(chain: Sequence[Raised]) -> Signature:
    index = culprit(chain)
    error = chain[index]
    traced = places.traced_frames(error.message)
    path = [frame for outer in chain[: index + 1] for frame in outer.frames] + list(traced)
    levels = places.levels_of(path)
    # What Dynamo was tracing says more than where in Dynamo it gave up, unless Dynamo itself went wrong.
    broke = any(outer.type.endswith("InternalTorchDynamoError") for outer in chain[: index + 1])
    stacks = [error.frames, traced] if broke else [traced, error.frames]
    where = next(filter(None, map(places.place_of, stacks)), None)
    kind, message = error.type, error.message
    inner = inner_text(kind, message)
    sentence = sentence_of(*inner) if inner else sentence_of(kind, message)
    if inner:
        kind = inner[0]
    kind = kind.removeprefix("__main__.").removeprefix("builtins.")
    if kind == "AssertionError" and not inner:
        comparison = where is not None and where.inside and where.file.startswith(_COMPARISON)
        if comparison or where is None or not where.inside:
            return Signature(MISMATCH, kind, sentence, None, levels, by_program=not comparison)
    work = places.own_work(error.frames)
    return Signature(EXCEPTION, kind, sentence, where, levels, tracer_broke=broke, own_work=work)


def _crash(execution: Execution) -> Signature:
    frames = execution.crash_frames
    return Signature(
        CRASH,
        where=_crash_place(frames),
        levels=tuple(places.levels_of(_as_frames(frames))),
        signal=abs(execution.code),
        assertion=_assertion(execution.stderr),
        crash_frames=_library_part(frames),
        overflow=len(frames) >= STACK_OVERFLOW,
    )


def _as_frames(crash_frames: Sequence[str]) -> list[Frame]:
    """faulthandler's frames, outermost first."""
    frames = []
    for text in reversed(crash_frames):
        file, _, function = text.rpartition(":")
        frames.append(Frame(file, 0, function, "/" in file or file.startswith("<frozen")))
    return frames


def _crash_place(crash_frames: Sequence[str]) -> Place | None:
    if crash_frames and places.is_native_door(crash_frames[0]):
        file, _, function = crash_frames[0].rpartition(":")
        return Place(file, function)
    return places.place_of(_as_frames(crash_frames))


def _library_part(crash_frames: Sequence[str]) -> tuple[str, ...]:
    kept = [f"{frame.file}:{frame.function}" for frame in reversed(_as_frames(crash_frames)) if places.is_place(frame)]
    return tuple(kept[:CRASH_FRAMES])


def _assertion(stderr: str) -> str:
    found = _ASSERTION.search(stderr)
    return normalise(found[0]) if found else ""


def last_line(execution: Execution) -> str:
    """The last line that a run printed for its user: on stderr, else on stdout; logs and warnings do not count."""
    for text in (execution.stderr, execution.stdout):
        lines = [line for line in text.splitlines() if line.strip() and not _LOG_LINE.match(line)]
        if lines:
            return lines[-1]
    return ""
