"""The peers: how each is set up, and how each is started as a careful user would.

Decision: each lives in an environment of its own below ``build/peers``, so that none meets another's dependencies, nor
ours; what cannot be set up is skipped with one line, and so is what a machine lacks when the rows are made.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
CANDIDATE = "candidate.py"


@dataclass(frozen=True)
class Place:
    """Where one run takes place: ``folder`` has the candidate, the client and the socket; ``home`` is the peer's."""

    home: Path
    folder: Path
    client: Path
    socket: Path
    seconds: int  # that one query may take

    @property
    def candidate(self) -> Path:
        """The file to be reduced."""
        return self.folder / CANDIDATE


@dataclass(frozen=True)
class Peer:
    """One reducer. ``packages`` are what pip installs for it (none: the system's package); ``program`` is what is there
    once it is set up, below its home or as an absolute path."""

    name: str
    title: str
    packages: tuple[str, ...]
    program: str
    version: tuple[str, ...]  # a command that prints it; the first word is below the home
    command: Callable[[Place], Sequence[str]]
    alone: str = ""  # what pip installs without its dependencies
    python: str = ""  # a newer interpreter that it needs, by name

    def installed(self, home: Path) -> bool:
        """Whether it can be run."""
        return (home / self.program).exists()

    def version_of(self, home: Path) -> str:
        """Its version, as it says itself."""
        first, *rest = self.version
        found = subprocess.run([str(home / first), *rest], capture_output=True, text=True, check=False, timeout=60)
        words = (found.stdout or found.stderr).split()
        return next((word for word in words if word[:1].isdigit()), "unknown")


def _metadata(package: str) -> tuple[str, ...]:
    return ("bin/python", "-c", f"from importlib.metadata import version; print(version({package!r}))")


def _shrink_ray(place: Place) -> Sequence[str]:
    options = ["--no-llm", "--ui", "basic", "--volume", "quiet", "--no-history", "--parallelism", "1"]
    start = [str(place.home / "bin/python"), str(DRIVERS / "shrink_ray.py")]
    return [*start, *options, "--timeout", str(place.seconds), "--input-type", "arg", str(place.client), CANDIDATE]


def _pysource(place: Place) -> Sequence[str]:
    return [str(place.home / "bin/python"), str(DRIVERS / "pysource.py"), CANDIDATE, str(place.socket)]


def _cvise(place: Place) -> Sequence[str]:
    return ["/usr/bin/cvise", "--not-c", "-n", "1", "--timeout", str(place.seconds), str(place.client), CANDIDATE]


def _picire(place: Place) -> Sequence[str]:
    start = [str(place.home / "bin/picire"), "--quiet", "--atom", "both", "--cache", "content"]
    return [*start, "-i", CANDIDATE, "--test", str(place.client), "-o", "picire"]


def _lithium(place: Place) -> Sequence[str]:
    test, program = str(DRIVERS / "lithium_test.py"), str(place.home / "bin/lithium")
    return ["sh", "-c", '"$0" --lines "$1" "$2" && "$0" --char "$1" "$2"', program, test, str(place.candidate)]


# Shrink Ray's dependencies but for the language model's, which is compiled from source and is not asked here.
_SHRINK_RAY = (
    "click",
    "chardet",
    "trio",
    "textual",
    "textual-plotext",
    "humanize",
    "libcst",
    "exceptiongroup",
    "binaryornot",
    "black",
    "tree-sitter",
    "tree-sitter-language-pack",
    "huggingface-hub",
    "tree-sitter-python",
)

PEERS = (
    Peer(
        "shrinkray",
        "Shrink Ray",
        _SHRINK_RAY,
        "bin/shrinkray",
        _metadata("shrinkray"),
        _shrink_ray,
        "shrinkray",
        "python3.12",
    ),
    Peer(
        "pysource-minimize",
        "pysource-minimize",
        ("pysource-minimize",),
        "bin/pysource-minimize",
        _metadata("pysource-minimize"),
        _pysource,
    ),
    Peer("cvise", "C-Vise", (), "/usr/bin/cvise", ("/usr/bin/cvise", "--version"), _cvise),
    Peer("picire", "picire", ("picire",), "bin/picire", _metadata("picire"), _picire),
    Peer("lithium", "Lithium", ("lithium-reducer",), "bin/lithium", _metadata("lithium-reducer"), _lithium),
)


def named(names: Sequence[str]) -> tuple[Peer, ...]:
    """The peers of these names, in their order here; all, if there are none.

    Raises:
        ValueError: no peer has such a name.
    """
    known = {peer.name for peer in PEERS}
    for name in names:
        if name not in known:
            raise ValueError(f"no peer is called {name!r}; peers: {', '.join(sorted(known))}")
    return tuple(peer for peer in PEERS if not names or peer.name in names)
