"""An exception object as ``protocol.Raised`` values: the chain, with frames told apart into library and user.

Decision: a file is a library's when it lies under the interpreter's own library folders or torch's; its
name is then given relative to that folder, so that two interpreters name the same place alike.
"""

from __future__ import annotations

import linecache
import os
import site
import sys
import sysconfig
import types
from typing import Dict, List, Optional, Tuple

from shrinkrepro.protocol import Frame, Raised

MESSAGE_CHARS = 20_000  # a message longer than this keeps its two ends
FRAMES_KEPT = 200  # at each end of a deep traceback; a recursion error has thousands
CHAIN_KEPT = 20

_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
_places: Dict[str, Tuple[str, bool]] = {}
_roots: List[str] = []


def place(file: str) -> Tuple[str, bool]:
    """The name of ``file`` as a frame shows it, and whether it is a library's."""
    known = _places.get(file)
    if known is None:
        known = _places[file] = _place(file)
    return known


def _place(file: str) -> Tuple[str, bool]:
    if file.startswith("<"):  # made from text: by the import system, or by exec, a dataclass, an fx graph
        return file, file.startswith("<frozen ")
    if file.startswith(_OWN_FOLDER):
        return "shrinkrepro/target/" + os.path.basename(file), True
    for marker in ("/site-packages/", "/dist-packages/"):
        if marker in file:
            return file.rsplit(marker, 1)[1], True
    real = os.path.realpath(file)
    for root in _library_roots():
        for candidate in (file, real):
            if candidate.startswith(root):
                return candidate[len(root) :], True
    torch_file = getattr(sys.modules.get("torch"), "__file__", None)
    if torch_file:  # a source build, outside every library folder
        folder = os.path.dirname(os.path.abspath(torch_file))
        if file.startswith(folder + os.sep):
            return file[len(os.path.dirname(folder)) + 1 :], True
    return os.path.basename(file), False


def _library_roots() -> List[str]:
    if not _roots:
        paths = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")]
        paths += site.getsitepackages() if hasattr(site, "getsitepackages") else []
        if getattr(site, "USER_SITE", None):
            paths.append(str(site.USER_SITE))
        found = {p.rstrip(os.sep) + os.sep for p in paths if p}
        found |= {os.path.realpath(p) + os.sep for p in paths if p}
        _roots.extend(sorted(found, key=len, reverse=True))
    return _roots


def chain_of(error: BaseException) -> Tuple[Raised, ...]:
    """``error`` and what it came from, the one that was raised last first."""
    chain: List[Raised] = []
    seen = set()
    current: Optional[BaseException] = error
    while current is not None and id(current) not in seen and len(chain) < CHAIN_KEPT:
        seen.add(id(current))
        chain.append(Raised(type_name(type(current)), message_of(current), _frames(current.__traceback__)))
        current = source_of(current)
    return tuple(chain)


def source_of(error: BaseException) -> Optional[BaseException]:
    """The exception that ``error`` came from, as a traceback would show it."""
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def type_name(cls: type) -> str:
    """The name that a traceback prints: qualified, bare for built-ins and for the program's own."""
    module = getattr(cls, "__module__", None)
    name = getattr(cls, "__qualname__", cls.__name__)
    return name if module in (None, "builtins", "__main__") else "%s.%s" % (module, name)


def message_of(error: BaseException) -> str:
    """``str(error)``, bounded, whatever the program's own ``__str__`` does."""
    try:
        text = str(error)
    except Exception as failure:
        text = "<unprintable: %s>" % type(failure).__name__
    if len(text) > MESSAGE_CHARS:
        half = MESSAGE_CHARS // 2
        text = text[:half] + "\n...\n" + text[-half:]
    return text.encode("utf-8", "replace").decode("utf-8")


def _frames(trace: Optional[types.TracebackType]) -> Tuple[Frame, ...]:
    frames: List[Frame] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if frames or not code.co_filename.startswith(_OWN_FOLDER):  # the harness stands at the top
            file, lib = place(code.co_filename)
            text = ""
            if trace.tb_next is None and file.startswith("torch/_functorch/"):
                text = linecache.getline(code.co_filename, trace.tb_lineno or 0).strip()
            frames.append(Frame(file, trace.tb_lineno or 0, code.co_name, lib, text))
        trace = trace.tb_next
    if len(frames) > 2 * FRAMES_KEPT:
        frames = frames[:FRAMES_KEPT] + frames[-FRAMES_KEPT:]
    return tuple(frames)


def as_text(chain: Tuple[Raised, ...]) -> str:
    """The chain as a traceback without source lines (reading torch's sources would cost milliseconds)."""
    parts = []
    for raised in reversed(chain):
        lines = ["Traceback (most recent call last):"]
        lines += ['  File "%s", line %d, in %s' % (f.file, f.line, f.function) for f in raised.frames]
        lines.append("%s: %s" % (raised.type, raised.message) if raised.message else raised.type)
        parts.append("\n".join(lines) + "\n")
    return "\nDuring handling of the above exception, another exception occurred:\n\n".join(parts)
