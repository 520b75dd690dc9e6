"""The status of one run of a case: a pure function of what a worker saw.

Decision: a run is asked first whether it is the case's own failure, so that a case about a missing attribute stays
``fails``; only then whether what it lacks is something that this torch simply has not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shrinkrepro import protocol
from shrinkrepro.core.verdict import Outcome
from shrinkrepro.corpus.case import CHANGED, ERROR, FAILS, FIXED, UNSUPPORTED
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import culprit, signature_of
from shrinkrepro.protocol import Execution, Raised

_NO_ATTRIBUTE = re.compile(
    r"^module 'torch[\w.]*' has no attribute|^'_Op\w*' '[\w:.]+' object has no attribute|"
    r"^'?_OpNamespace|^'Tensor' object has no attribute|^type object '\w+' has no attribute"
)
_NO_OPERATOR = re.compile(r"^No such operator |^Could not find schema for |^operator \S+ does not exist")
_NO_ARGUMENT = re.compile(r"\(\) got an unexpected keyword argument|received an invalid combination of arguments")
_NO_DEVICE = re.compile(
    r"not compiled with CUDA|No CUDA GPUs are available|Found no NVIDIA driver|not linked with support for \w+ devices|"
    r"not compiled with XPU|MPS backend is supported on|Cannot access accelerator device|"
    r"device type at start of device string|Attempting to deserialize object on a CUDA device"
)
_NO_MODULE = ("ModuleNotFoundError", "ImportError")
_DOORS = ("__getattr__", "__getattribute__", "_lazy_init", "import_module")  # library code that looks a name up


@dataclass(frozen=True)
class Status:
    """How one run ended. ``failure`` is its signature in words; ``detail`` one line on what it lacks."""

    word: str
    failure: str = ""
    detail: str = ""


def status_of(execution: Execution, oracle: Oracle | Faces, source: str) -> Status:
    """The status of one run of the case whose text is ``source``."""
    if execution.status == protocol.LOST:
        return Status(ERROR, "", execution.detail or "the worker was lost")
    verdict = oracle.judge(execution, source)
    found = signature_of(execution)
    words = found.describe() if found is not None else ""
    if verdict.interesting:
        return Status(FAILS, words or oracle.signature.describe())
    if execution.status == protocol.OK:
        return Status(FIXED)
    lacks = missing(execution)
    if lacks:
        return Status(UNSUPPORTED, words, lacks)
    if verdict.outcome is Outcome.INVALID:
        return Status(ERROR, words, verdict.reason)
    return Status(CHANGED, words, verdict.reason)


def missing(execution: Execution) -> str:
    """What a run lacked that the program asked for: an operator, an argument, a module, a device; empty if nothing."""
    if not execution.chain:
        return ""
    error = execution.chain[culprit(execution.chain)]
    message = error.message.strip().splitlines()[0] if error.message.strip() else ""
    kind = error.type.rpartition(".")[2]
    if _NO_DEVICE.search(message):
        return f"this target has no such device: {message}"
    if kind in _NO_MODULE and _asked_by_program(error):
        return message
    if kind == "AttributeError" and _NO_ATTRIBUTE.search(message) and _asked_by_program(error):
        return message
    if kind == "TypeError" and _NO_ARGUMENT.search(message) and _asked_by_program(error):
        return message
    if _NO_OPERATOR.search(message):
        return message
    return ""


def _asked_by_program(error: Raised) -> bool:
    frames = list(error.frames)
    while frames and frames[-1].lib and (frames[-1].function in _DOORS or "importlib" in frames[-1].file):
        frames.pop()
    return not frames or not frames[-1].lib
