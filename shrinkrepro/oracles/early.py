"""Failures that come before anything of torch's: something that the script needs is not there.

Decision: only what the user can give (a module, a file, an argument, an input, a variable, the network) counts. A
plain bug of the script's own is a failure like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shrinkrepro import protocol
from shrinkrepro.oracles import places
from shrinkrepro.protocol import Execution, Raised

_MODULE = re.compile(r"No module named '?([\w.]+)'?")
_FILE = re.compile(
    r"(?:No such file or directory|cannot find the file specified|Is a directory|Permission denied): (?P<file>.+)$"
)
_QUOTED = re.compile(r"['\"]([^'\"]+)['\"]")
NETWORK = frozenset({"URLError", "HTTPError", "gaierror", "ConnectionError", "ConnectionRefusedError", "MaxRetryError",
                      "ConnectTimeout", "LocalEntryNotFoundError", "SSLError", "ConnectionResetError"})  # fmt: skip
_FILES = frozenset(
    {"FileNotFoundError", "IsADirectoryError", "NotADirectoryError", "PermissionError", "FileExistsError"}
)
_DEVICE = re.compile(
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available|"
    r"MPS backend is supported|PyTorch is not linked with support for (\w+) devices|Attempting to deserialize object on"
)
_USAGE = re.compile(r"^usage: ", re.MULTILINE)
_USAGE_ERROR = re.compile(r"^\S*: ?error: (.+)$|^Error: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Early:
    """What is missing, one line, and how to give it."""

    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})"


def before_torch(execution: Execution) -> Early | None:
    """What the script misses when it fails before anything of torch's; None when it fails for another reason."""
    if execution.status not in (protocol.EXCEPTION, protocol.EXIT):
        return None
    if execution.code == 2 and _USAGE.search(execution.stderr):
        found = _USAGE_ERROR.search(execution.stderr)
        said = (found[1] or found[2]) if found else "a usage error"
        return Early(
            f"the script's own command line refused to start: {said}",
            "give its arguments after --, as in: reduce SCRIPT -- ARGS",
        )
    for error in reversed(execution.chain):  # the innermost one is what is missing
        early = _missing(error, execution)
        if early is not None and not _within_transform(execution.chain):
            return early
    return None


def _within_transform(chain: tuple[Raised, ...]) -> bool:
    return any(places.levels_of(error.frames) for error in chain)


def _missing(error: Raised, execution: Execution) -> Early | None:
    name = error.type.rsplit(".", 1)[-1]
    quoted = _QUOTED.search(error.message)
    if name in ("ModuleNotFoundError", "ImportError"):
        module = _MODULE.search(error.message)
        if module:
            return Early(
                f"the target has no module {module[1]!r}",
                "install it there, name another interpreter with --python, or run from the folder that has it (--cwd)",
            )
        if any(frame.lib and frame.file.startswith("torch/") for frame in error.frames):
            return None
        return Early(
            f"an import fails on the target: {_line(error)}",
            "check the installed versions, or name another interpreter with --python",
        )
    if name in _FILES:
        what = quoted[1] if quoted else error.message
        return Early(
            f"the script needs a file that cannot be read: {what}",
            "put it there, or name the folder to run in with --cwd",
        )
    if name == "EOFError" and any(word in error.message for word in ("EOF when reading", "EOF while reading")):
        return Early(
            "the script reads from its standard input, which is closed",
            "put the input into the script, or read it from a file",
        )
    what = environment_variable(error)
    if what:
        return Early(f"the environment variable {what!r} is not set", f"set it: {what}=... shrinkrepro reduce ...")
    if name == "IndexError" and "sys.argv" in execution.stderr:
        return Early(
            "the script takes an argument from sys.argv that was not given",
            "give its arguments after --, as in: reduce SCRIPT -- ARGS",
        )
    if name in NETWORK:
        return Early(
            f"the script needs the network: {_line(error)}", "download what it needs first, and read it from a file"
        )
    if _DEVICE.search(error.message) and name in ("AssertionError", "RuntimeError"):
        return Early(
            f"the target has no such device: {_line(error)}",
            "name one that it has with --device, for instance --device cpu",
        )
    return None


def environment_variable(error: Raised) -> str:
    """The variable that a KeyError from os.environ is about; empty when it is another error."""
    last = error.frames[-1] if error.frames else None
    if error.type != "KeyError" or last is None or not last.lib or last.file not in ("os.py", "<frozen os>"):
        return ""
    quoted = _QUOTED.search(error.message)
    return quoted[1] if quoted else error.message


def _line(error: Raised) -> str:
    first = error.message.strip().splitlines()
    return first[0] if first else error.type
