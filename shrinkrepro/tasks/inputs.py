"""Checks what the user asked for, before anything is started.

Decision: every way to ask (command line, library) passes through ``checked``, so a bad path, pattern or
number is one clear error at once, not a failure in the middle of a run.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

from shrinkrepro.core.notebook import NotebookError, script_of
from shrinkrepro.errors import UsageError
from shrinkrepro.oracles import controls
from shrinkrepro.session import Request

_DURATION = re.compile(r"(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m)?(?:(?P<s>\d+(?:\.\d+)?)s?)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DEVICE = re.compile(r"[a-z_]+(:\d+)?")
_MATCHES = ("signature", "message", "type")


def parse_duration(text: str, option: str) -> float:
    """Seconds of ``90``, ``90s``, ``10m``, ``1h`` or ``1h30m``.

    Raises:
        UsageError: it is none of these, or not above zero.
    """
    match = _DURATION.fullmatch(text.strip())
    parts = {unit: float(value) for unit, value in match.groupdict().items() if value} if match else {}
    seconds = 3600 * parts.get("h", 0) + 60 * parts.get("m", 0) + parts.get("s", 0)
    if seconds <= 0:
        raise UsageError(f"{option} {text!r} is not a time above zero", "write it as 90, 90s, 10m or 1h")
    return seconds


def parse_size(text: str, option: str) -> int:
    """Bytes of ``4G``, ``500M``, ``4GiB``, ``2.5GB`` or ``4096``; units are powers of 1024.

    Raises:
        UsageError: it is none of these, or not above zero.
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")) if match else 0
    if size <= 0:
        raise UsageError(f"{option} {text!r} is not a size above zero", "write it as 4G, 500M or a number of bytes")
    return size


def checked(request: Request) -> Request:
    """``request`` with its interpreter found, once everything in it has been looked at.

    Raises:
        UsageError: something in it cannot work.
    """
    request = _read_notebook(request)
    _check_program(request)
    _check_pattern("--keep", request.keep)
    _check_pattern("--exclude", request.exclude)
    _check_match(request.match)
    _check_numbers(request)
    if request.cwd is not None and not request.cwd.is_dir():
        raise UsageError(f"--cwd {request.cwd} is not a folder", "name one that exists")
    _check_confinement(request)
    if request.preload is not None:
        _compile(read_source(request.preload, "--preload "), str(request.preload))
    return replace(request, python=_find_python(request.python), controls=_checked_controls(request.controls))


def read_source(path: Path, option: str = "") -> str:
    """The text of a Python file.

    Raises:
        UsageError: it does not exist, is no file, cannot be read, or is not UTF-8.
    """
    name = f"{option}{path}"
    if path.is_dir():
        raise UsageError(f"{name} is a folder, not a script", "name the script in it, or run a package with -m")
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{name} is not a regular file", "save the script in a file first")
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{name} does not exist", _nearest(path)) from None
    except (OSError, ValueError) as error:  # a ValueError for a name with a null byte
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{name} cannot be read: {reason}", "look at its permissions") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name} is not UTF-8 (line {line})", "save it as UTF-8 first") from None
    return text


def _nearest(path: Path) -> str:
    if path.suffix != ".py" and path.with_name(path.name + ".py").is_file():
        return f"did you mean {path}.py?"
    if re.fullmatch(_MODULE, str(path)) and "." in str(path) and path.suffix != ".py":
        return f"to run a module, write -m {path}"
    return f"paths are taken from {os.getcwd()}"


def _read_notebook(request: Request) -> Request:
    """``request`` with the script that its notebook is, where it names one."""
    if request.script is None or request.script.suffix != ".ipynb" or request.text is not None:
        return request
    try:
        return replace(request, text=script_of(read_source(request.script)))
    except NotebookError as error:
        raise UsageError(
            f"{request.script} cannot be read: {error}", "export it as a script: jupyter nbconvert"
        ) from None


def _check_program(request: Request) -> None:
    named = (request.script is not None) + (request.module is not None)
    if named > 1 or (named == 0 and request.text is None):
        raise UsageError("name one script, or one module with -m", "shrinkrepro reduce SCRIPT [-- ARGS...]")
    if request.module is not None:
        if not _MODULE.fullmatch(request.module):
            raise UsageError(f"-m {request.module!r} is not a module's name", "write it with dots: -m pkg.mod")
        return
    name = str(request.script) if request.script is not None else "the source"
    text = request.text if request.text is not None else read_source(request.script or Path())
    if not text.strip():
        raise UsageError(f"{name} is empty", "give a script that fails")
    _compile(text, name)


def _compile(text: str, name: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the script's own business: an invalid escape is no error
            ast.parse(text)
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno is not None else "somewhere"
        raise UsageError(
            f"{name} has a syntax error in {where}: {error.msg}",
            "install shrinkrepro on the Python that the script is written for" if "version" in error.msg else _SYNTAX,
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{name} cannot be parsed: {error}", _SYNTAX) from None


_SYNTAX = "only a script that starts to run can be reduced"


def _check_pattern(option: str, pattern: str | None) -> None:
    if pattern is None:
        return
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"{option} {pattern!r} is not a regular expression: {error}", "a literal ( [ . * + ? needs a \\ before it"
        ) from None


def _check_match(match: str) -> None:
    if len(match) > 2 and match.startswith("/") and match.endswith("/"):
        _check_pattern("--match", match[1:-1])
    elif match not in _MATCHES:
        raise UsageError(
            f"--match {match!r} is not known", f"it is one of {', '.join(_MATCHES)}, or a regex between slashes: /.../"
        )


def _check_numbers(request: Request) -> None:
    if request.jobs is not None and request.jobs < 1:
        raise UsageError(f"--jobs {request.jobs} is not a number of workers", "it must be 1 or more")
    for option, seconds in (("--budget", request.budget), ("--timeout", request.timeout)):
        if seconds is not None and seconds <= 0:
            raise UsageError(f"{option} {seconds:g} is not a time above zero", "write it as 90, 90s, 10m or 1h")
    if not 0 <= request.seed < 2**32:
        raise UsageError(f"--seed {request.seed} is out of range", "it must lie in 0 ... 2**32 - 1")
    if request.isolation not in (None, "fork", "spawn"):
        raise UsageError(f"--isolation {request.isolation!r} is not known", "it is fork or spawn")
    if request.device is not None and not _DEVICE.fullmatch(request.device):
        raise UsageError(f"--device {request.device!r} is not a device", "write it as torch does: cpu, cuda:0, mps")


def _check_confinement(request: Request) -> None:
    asked = request.confinement
    for path in asked.allow_write:
        if not path.exists():
            raise UsageError(f"--allow-write {path} does not exist", "name a file or a folder that is there")
        if path.resolve() == Path(path.anchor or "/").resolve():
            raise UsageError(f"--allow-write {path} is everything", "to run without confinement, say --no-sandbox")
    if asked.memory is not None and asked.memory <= 0:
        raise UsageError(f"--memory {asked.memory} is not a size above zero", "write it as 4G or 500M")
    if not asked.sandbox and (asked.allow_write or asked.network):
        option = "--allow-write" if asked.allow_write else "--allow-network"
        raise UsageError(f"{option} has no place beside --no-sandbox", "without confinement everything is allowed")


def _find_python(python: str | None) -> str | None:
    return None if python is None else found_python(python, "--python ")


def found_python(python: str, option: str) -> str:
    """The path of the interpreter ``python``, which ``option`` names.

    Raises:
        UsageError: there is none.
    """
    found = shutil.which(python)
    if found is None:
        raise UsageError(f"{option}{python} is not an interpreter that can be run", "give the path of a python")
    return os.path.abspath(found)


def _checked_controls(names: tuple[str, ...]) -> tuple[str, ...]:
    """``names`` with the interpreters in them found."""
    controls.named(names)
    start = controls.PYTHON
    return tuple(
        start + found_python(name[len(start) :], f"--control {start}") if name.startswith(start) else name
        for name in names
    )
