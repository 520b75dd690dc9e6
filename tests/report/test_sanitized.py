"""What a sanitized run says, and with which command to go on."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

from rich.console import Console

from shrinkrepro.oracles.pairs import Pair
from shrinkrepro.report.sanitized import print_sanitized
from shrinkrepro.session import Request
from shrinkrepro.session.original import Script
from shrinkrepro.tasks.sanitize import SanitizeResult, _finding, _suggestion

SCRIPT = Script(Path("/tmp/a.py"), "from torch.func import vmap\ny = vmap(f, in_dims=(0, None))(x, w)\n")
REQUEST = Request(Path("my scripts/a.py"), args=("--steps", "3"), preload=Path("plant.py"))
FOUND = {
    "file": "",
    "line": 2,
    "transform": "vmap",
    "kind": "nan",
    "times": 3,
    "actual": ["nan", 1.0],
    "expected": [2.0, 1.0],
    "error": 1.0,
    "by": "reference",
}


def printed(result: SanitizeResult) -> str:
    stream = io.StringIO()
    print_sanitized(Console(file=stream, width=30, highlight=False, markup=False), result)
    return stream.getvalue()


def test_a_finding_has_its_line_its_values_and_a_command() -> None:
    finding = _finding(FOUND, SCRIPT, REQUEST)
    text = printed(SanitizeResult("a.py", "", (finding,), (), 1.0)).splitlines()
    assert text[0] == "a.py:2: vmap gives NaN (3 times)"
    assert text[1].strip() == "y = vmap(f, in_dims=(0, None))(x, w)"
    assert text[2].strip() == "got [nan, 1], where loops and plain reverse-mode autograd give [2, 1]"
    assert shlex.split(text[3]) == [
        *("shrinkrepro", "reduce", "my scripts/a.py", "--function", "f", "--transform", "vmap", "--inputs", "x, w"),
        *("--in-dims", "(0, None)", "--preload", "plant.py", "--", "--steps", "3"),
    ]


def test_a_finding_in_a_local_module_has_no_line_of_the_script() -> None:
    finding = _finding({**FOUND, "file": "model.py", "times": 1}, SCRIPT, REQUEST)
    assert (finding.file, finding.text, finding.command) == ("model.py", "", "")


def test_pairs_come_with_their_commands_and_no_finding_is_said() -> None:
    pair = _suggestion(Pair("rows['a'][0]", "want", "they differ", 3.0), REQUEST)
    text = printed(SanitizeResult("a.py", "exit code 1", (), (pair,), 1.0))
    assert "no transform call differs from its reference" in text
    assert "the script itself fails: exit code 1" in text
    assert shlex.split(text.splitlines()[-1])[:6] == [
        *("shrinkrepro", "reduce", "my scripts/a.py", "--differs", "rows['a'][0]", "want")
    ]
