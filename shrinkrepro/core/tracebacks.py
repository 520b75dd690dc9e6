"""Tracebacks read back from text: what the stderr of a fresh run says, as the protocol's exceptions.

Decision: a fresh run has no harness of ours in it, so its printed text is all there is. The parser
gives the same chain that a harness would send (outermost first), and where the text is cut, mixed with
other output or of a form that it does not know, it gives less, never something made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from shrinkrepro.protocol import Frame, Raised

_HEADER = re.compile(r"^Traceback \(most recent call last\):\s*$")
_GROUP_HEADER = re.compile(r"^(\s*)\+ Exception Group Traceback \(most recent call last\):\s*$")
_LINK = re.compile(
    r"^(The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):\s*$"
)
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.+)$')
_PLACE = re.compile(r'^  File "(?P<file>.*)", line \d+$')  # of a SyntaxError: no frame
_REPEATED = re.compile(r"^  \[Previous line repeated (\d+) more times?\]$")
_LAST_LINE = re.compile(r"^(?P<type>[^\W\d]\w*(?:\.(?:[^\W\d]\w*|<locals>))*)(?:: (?P<message>.*)|:)?$")
_LOOKS_RAISED = re.compile(r"(Error|Exception|Warning|Interrupt|Exit|Iteration|Unsupported|Group)$")
_IGNORED = re.compile(r"^(Exception ignored |Error in atexit\._run_exitfuncs)")
# Lines that end a message: what else a run writes to stderr. torch's loggers start with a letter, a date and a time.
_NOISE = re.compile(
    r"^(\[?[VDIWEFC]\d{4} \d\d:\d\d:\d\d|\[rank\d+\]:|\S.*:\d+: \w*Warning: |Fatal Python error: |Exception in thread "
    r"|(DEBUG|INFO|WARNING|ERROR|CRITICAL):)"
)
# What torch.distributed puts before each line of what its processes raise.
_RANK = re.compile(r"^\[rank\d+\]: ?")

_CRASH_THREAD = re.compile(r"^Current thread .*most recent call first\):")
_ANY_THREAD = re.compile(r"^Thread .*most recent call first\):")
_CRASH_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?:\d+|\?\?\?) in (?P<function>.+)$')

_SITE = re.compile(r"^.*/(?:site|dist)-packages/(?P<rest>.+)$")
_STDLIB = re.compile(r"^.*(?:/lib(?:64)?/python3(?:\.\d+)?t?/|/python3\d+\.zip/|/[Pp]ython[^/]*/Lib/)(?P<rest>.+)$")
# A torch built in place lives in a checkout; these are folders that only torch's own package has.
_SOURCE_BUILD = re.compile(
    r"^.*?/(?P<rest>torch/(?:_[a-z]\w*|ao|autograd|amp|backends|compiler|cuda|distributed|distributions|export|fft|func|futures"
    r"|fx|jit|library|linalg|masked|mps|multiprocessing|nested|nn|onnx|optim|overrides|package|profiler|quantization"
    r"|serialization|signal|sparse|special|storage|testing|utils|xpu)(?:/.+|\.py))$"
)

TRANSFORMS = "torch/_functorch/"  # frames of which the source line is kept: it tells the transform's work from the call
_MAX_REPEATS = 100_000  # frames; a recursion limit above that has never been seen


def parse_tracebacks(text: str, program_file: str) -> tuple[Raised, ...]:
    """The last traceback in ``text`` with its causes and contexts, outermost (printed last) first.

    ``program_file`` is the path of the script that ran. Empty when no traceback is there. What Python prints of
    exceptions that it ignored (in a ``__del__``, at exit) counts only when there is nothing else. Of an
    exception group only the group itself is read.
    """
    lines = text.splitlines()
    chains = _Reader(program_file).read(lines)
    if not chains and any(_RANK.match(line) for line in lines):
        chains = _Reader(program_file).read([_RANK.sub("", line) for line in lines])
    return tuple(reversed(chains)) if chains else ()


def parse_crash(text: str) -> tuple[str, ...]:
    """faulthandler's frames of the thread that crashed, innermost first, as ``file:function``.

    A library's file is relative to its site-packages (``torch/nn/functional.py``), the program's is its base name.
    """
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if _CRASH_THREAD.match(line)), None)
    if start is None:
        start = next((i for i, line in enumerate(lines) if _ANY_THREAD.match(line)), None)
    if start is None:
        return ()
    frames: list[str] = []
    for line in lines[start + 1 :]:
        found = _CRASH_FRAME.match(line)
        if not found:
            break
        file, _ = locate(found["file"])
        frames.append(f"{file}:{found['function']}")
    return tuple(frames)


def locate(path: str, program_file: str = "") -> tuple[str, bool]:
    """A frame's file as the protocol names it, and whether it belongs to a library.

    ``.../site-packages/torch/func.py`` is ``("torch/func.py", True)``, the program's own is its base name.
    """
    plain = path.replace("\\", "/")
    base = plain.rsplit("/", 1)[-1]
    if plain == program_file.replace("\\", "/"):
        return base, False
    if plain.startswith("<frozen "):
        return plain, True
    for pattern in (_SITE, _STDLIB, _SOURCE_BUILD):
        found = pattern.match(plain)
        if found:
            return found["rest"], True
    return (plain if plain.startswith("<") else base), False


@dataclass
class _Block:
    """One exception as it is read: its frames, then its last line and what follows of the message."""

    linked: bool  # the text says that it belongs to the block before
    ignored: bool
    frames: list[Frame] = field(default_factory=list)
    type: str | None = None
    message: list[str] = field(default_factory=list)

    def raised(self) -> Raised:
        lines = list(self.message)
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
        return Raised(self.type or "", "\n".join(lines), tuple(self.frames))


class _Reader:
    """Reads line by line; ``read`` gives the last chain, innermost cause first."""

    def __init__(self, program_file: str) -> None:
        self.program_file = program_file
        self.blocks: list[_Block] = []
        self.open: _Block | None = None
        self.loose: list[str] = []  # lines outside any block since the last one
        self.linked = False  # the next block follows a linking line

    def read(self, lines: Iterable[str]) -> list[Raised]:
        for line in _without_groups(lines):
            self._line(line)
        self._close()
        if self.linked:
            self._take_loose()
        chains: list[list[_Block]] = []
        for block in self.blocks:
            if block.linked and chains:
                chains[-1].append(block)
            else:
                chains.append([block])
        chosen = [c for c in chains if not c[0].ignored] or chains
        return [block.raised() for block in chosen[-1]] if chosen else []

    def _line(self, line: str) -> None:
        if _LINK.match(line):
            self._close()
            self._take_loose()
            self.linked = True
        elif _HEADER.match(line):
            self._close()
            self._start()
        elif self.open is not None and self.open.type is not None:
            self._message_line(line)
        elif self.open is not None:
            self._frame_line(line)
        elif _FRAME.match(line) or _PLACE.match(line):  # a cut text, or a SyntaxError of the script itself
            self._start()
            self._frame_line(line)
        else:
            self.loose.append(line)

    def _start(self) -> None:
        before = next((line for line in reversed(self.loose) if line.strip()), "")
        self.open = _Block(self.linked, bool(_IGNORED.match(before)))
        self.linked = False
        self.loose = []

    def _close(self) -> None:
        if self.open is not None and self.open.type is not None:
            self.blocks.append(self.open)
        self.open = None

    def _take_loose(self) -> None:
        """An exception that was never raised has no header: its one line stands before the linking line."""
        for number, line in enumerate(self.loose):
            found = _LAST_LINE.match(line)
            if found and _LOOKS_RAISED.search(found["type"]):
                block = _Block(
                    self.linked, False, [], found["type"], [found["message"] or "", *self.loose[number + 1 :]]
                )
                self.blocks.append(block)
                break
        self.loose = []

    def _message_line(self, line: str) -> None:
        assert self.open is not None
        if _NOISE.match(line) or _IGNORED.match(line):
            self._close()
            self.loose = [line]
        else:
            self.open.message.append(line)

    def _frame_line(self, line: str) -> None:
        assert self.open is not None
        frame = _FRAME.match(line)
        repeated = _REPEATED.match(line)
        if frame:
            file, lib = locate(frame["file"], self.program_file)
            self.open.frames.append(Frame(file, int(frame["line"]), frame["function"], lib))
        elif line.startswith("    ") and self.open.frames and self.open.frames[-1].file.startswith(TRANSFORMS):
            if not self.open.frames[-1].text:
                self.open.frames[-1] = replace(self.open.frames[-1], text=line.strip())
        elif repeated and self.open.frames:
            self.open.frames.extend([self.open.frames[-1]] * min(int(repeated[1]), _MAX_REPEATS))
        elif line and not line[0].isspace():
            last = _LAST_LINE.match(line)
            if last:
                self.open.type = last["type"].removeprefix("__main__.")  # which Python 3.10 prints
                self.open.message = [last["message"] or ""]
            else:  # no exception follows these frames: a printed stack, or a line of another stream in between
                self.loose.append(line)


def _without_groups(lines: Iterable[str]) -> Iterable[str]:
    """The lines with each exception group laid out as a plain traceback, its members left out."""
    prefix: str | None = None
    for line in lines:
        header = _GROUP_HEADER.match(line)
        if header and prefix is None:
            prefix = header[1] + "| "
            yield "Traceback (most recent call last):"
        elif prefix is None:
            yield line
        elif line.startswith(prefix):
            yield line[len(prefix) :]
        elif not line.strip().startswith(("|", "+")):
            prefix = None
            yield line
