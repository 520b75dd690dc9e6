"""``python -m benchmarks.kill_test``: one reduction killed with SIGKILL at random moments and resumed each time.

Decision: the whole command is killed as a user's machine would, at moments drawn over the time that an unbroken run
takes, its start and its end among them. After each kill what is on the disk must be whole; a run that comes to its end
must give the unbroken run's text, byte for byte, and is then begun anew until all kills were made.
"""

from __future__ import annotations

import ast
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "pinn" / "poisson.py"


def start(script: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start the reduction, its journal in a folder beside ``out``."""
    command = [
        sys.executable,
        "-m",
        "shrinkrepro",
        "reduce",
        str(script),
        "-o",
        str(out),
        "--jobs",
        "1",
        "--quiet",
        "--force",
    ]
    return subprocess.Popen(
        [*command, "--budget", "1h"],
        env={**os.environ, "XDG_CACHE_HOME": str(out.parent / "cache")},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def whole(folder: Path) -> str:
    """What is wrong with a file that a killed run left; empty when all are whole."""
    for path in folder.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        try:
            ast.parse(text)
        except SyntaxError as error:
            return f"{path.name} is torn: {error}"
        if not text.strip():
            return f"{path.name} is empty"
    return ""


def kill_test(
    script: Annotated[Path, typer.Argument(help="The script to reduce.")] = EXAMPLE,
    kills: Annotated[int, typer.Option(help="How often it is killed.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
) -> None:
    """Kill one reduction again and again, and compare its end with that of a run that was left alone."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "alone").mkdir()
        (folder / "killed").mkdir()
        begun = time.monotonic()
        if start(script, folder / "alone" / "out.py").wait() != 0:
            raise typer.Exit(1)
        seconds = time.monotonic() - begun
        want = (folder / "alone" / "out.py").read_bytes()
        print(f"unbroken: {seconds:.0f} s, {len(want)} bytes", flush=True)
        out = folder / "killed" / "out.py"
        done = ends = 0
        while done < kills or not ends:
            process = start(script, out)
            try:
                process.wait(moments.uniform(0, seconds) if done < kills else None)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                done += 1
            else:
                if process.returncode != 0 or out.read_bytes() != want:
                    print(f"after {done} kills: exit {process.returncode}, another end:\n{out.read_text()}")
                    raise typer.Exit(1)
                ends += 1
            torn = whole(folder / "killed")
            if torn:
                print(f"after {done} kills: {torn}")
                raise typer.Exit(1)
            if process.returncode == 0:
                out.unlink()
        print(f"{done} kills, {ends} ends: each with the unbroken run's text, and no torn file")


if __name__ == "__main__":
    typer.run(kill_test)
