"""A day's harvest of a fuzzer, drawn by seed: many scripts, few bugs, and which script has which.

Decision: a planted script is taken only if it fails in a torch that has all the planted bugs and passes in one that has
all but its own; so the ground truth is what runs gave, not what was meant.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.index import Case
from benchmarks.injected.hosts import draw
from benchmarks.injected.index import INJECTIONS, Injection, healthy

PLANTED, HOSTS, CASES, UNFIT = 10, 10, 10, 10  # bugs, scripts of each, scripts of cases, scripts with no failure
SPARE = 12  # draws beyond those needed, of each bug: some do not show it

_NO_FAILURE = {  # what a folder has beside failing scripts, and cannot be reduced
    "half_written": "import torch\n\nx = torch.ones(3\nprint(x)\n",
    "merge_left_over": "import torch\n<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
    "python2": "import torch\nprint torch.ones(3)\n",
    "empty": "",
    "missing_module": "import torch\nimport a_module_that_nobody_has\n\ntorch.func.vmap(torch.sin)(torch.ones(3))\n",
    "leaves_early": "import sys\n\nimport torch\n\nif not torch.backends.mps.is_available():\n    sys.exit(0)\n",
}

# Runs each file of a list in a fork, in a torch with the plants given; prints the exit codes.
_RUN = """\
import json, os, runpy, sys
asked = json.load(sys.stdin)
import torch, torch.func, torch._dynamo, torch._decomp.decompositions_for_jvp  # what each fork would import
for plant in asked["plants"]:
    runpy.run_path(plant)
codes = []
for path in asked["files"]:
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        code = 1
        try:
            runpy.run_path(path, run_name="__main__")
            code = 0
        except SystemExit as leaving:
            code = 0 if leaving.code in (None, 0) else 1
        finally:
            os._exit(code)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


@dataclass(frozen=True)
class Script:
    """One script. ``bug`` is its ground truth; None: it has no failure that could be reduced."""

    name: str
    text: str
    bug: str | None

    @property
    def planted(self) -> bool:
        """Whether the bug is one of ours, not torch's."""
        return self.bug is not None and self.bug.startswith("plant ")


@dataclass(frozen=True)
class Harvest:
    """What ``harvest`` drew. ``preload`` is the text of one file that plants every bug."""

    scripts: tuple[Script, ...]
    preload: str


def harvest(seed: int, cases: Sequence[Case], planted: int = PLANTED, hosts: int = HOSTS, real: int = CASES) -> Harvest:
    """Draw ``planted`` bugs with ``hosts`` scripts each, ``real`` of ``cases``, and ten scripts that do not fail.

    Raises:
        ValueError: too few bugs or cases to draw from, or a bug that no draw shows.
    """
    chance = random.Random(f"batch {seed}")
    chosen = _plants(chance, planted)
    plants = [injection.preload for injection in chosen]
    scripts = _hosts(chosen, plants, hosts, seed)
    scripts += _from_cases(chance, cases, plants, real)
    names = sorted(name for name in healthy() if name.startswith("drawn_"))
    unfit = {name: healthy()[name] for name in chance.sample(names, UNFIT - len(_NO_FAILURE))} | _NO_FAILURE
    scripts += [Script(name, text, None) for name, text in unfit.items()]
    chance.shuffle(scripts)
    numbered = (Script(f"{n:03}_{script.name}", script.text, script.bug) for n, script in enumerate(scripts))
    return Harvest(tuple(numbered), preload_of(plants))


def preload_of(plants: Sequence[Path]) -> str:
    """A file that plants all of ``plants``."""
    runs = "".join(f"runpy.run_path({str(plant)!r})\n" for plant in plants)
    return f'"""Plants {len(plants)} bugs."""\n\nimport runpy\n\n{runs}'


def run_all(files: Sequence[Path], plants: Sequence[Path], seconds: float = 600.0) -> list[int]:
    """The exit codes of ``files`` (a negative one is a signal) in a torch that has ``plants``."""
    asked = json.dumps({"plants": [str(plant) for plant in plants], "files": [str(file) for file in files]})
    done = subprocess.run(
        [sys.executable, "-c", _RUN], input=asked, capture_output=True, text=True, timeout=seconds, check=True
    )
    codes: list[int] = json.loads(done.stdout)
    return codes


def _plants(chance: random.Random, count: int) -> list[Injection]:
    """Bugs of drawn hosts, one of each operator at most. None in compiled functions, whose runs take many seconds, and
    none of plain formulas, which err in the scripts of the other bugs too."""
    able = [i for i in INJECTIONS if not isinstance(i.need, str) and not i.plant.startswith(("compile", "backward"))]
    chance.shuffle(able)
    chosen: dict[str, Injection] = {}
    for injection in able:
        chosen.setdefault(_operator(injection), injection)
    if len(chosen) < count:
        raise ValueError(f"there are {len(chosen)} planted bugs to draw from, not {count}")
    return list(itertools.islice(chosen.values(), count))


def _operator(injection: Injection) -> str:
    return injection.plant.split("_")[1]


def _hosts(chosen: Sequence[Injection], plants: Sequence[Path], count: int, seed: int) -> list[Script]:
    """``count`` scripts for each bug of ``chosen``, which fail with ``plants``, and only because of their own."""
    found: list[Script] = []
    with tempfile.TemporaryDirectory(prefix="harvest-") as folder:
        drawn = {i.plant: _written(i, count + SPARE, seed, Path(folder)) for i in chosen}
        codes = run_all([file for files in drawn.values() for file in files], plants)
        failing = dict(zip((file for files in drawn.values() for file in files), codes, strict=True))
        for injection in chosen:
            files = [file for file in drawn[injection.plant] if failing[file] != 0]
            right = run_all(files, [plant for plant in plants if plant != injection.preload])
            shown = [file for file, code in zip(files, right, strict=True) if code == 0][:count]
            if len(shown) < count:
                raise ValueError(f"{injection.plant}: only {len(shown)} draws show it and nothing else; another --seed")
            found += [Script("drawn", file.read_text(encoding="utf-8"), f"plant {injection.plant}") for file in shown]
    return found


def _written(injection: Injection, count: int, seed: int, folder: Path) -> list[Path]:
    assert not isinstance(injection.need, str)
    files = [folder / f"{injection.plant}{n}.py" for n in range(count)]
    for n, file in enumerate(files):
        file.write_text(draw(injection.need, f"{injection.plant} batch {seed} {n}"), encoding="utf-8")
    return files


def _from_cases(chance: random.Random, cases: Sequence[Case], plants: Sequence[Path], count: int) -> list[Script]:
    """``count`` scripts of ``cases`` that still fail with ``plants``; each has a bug of its own."""
    able = [case for case in cases if not case.args and len(case.sources) == 1]
    chance.shuffle(able)
    if len(able) < count:
        raise ValueError(f"there are {len(able)} cases of one file and no arguments, not {count}")
    able = able[: count + SPARE]
    codes = run_all([case.script for case in able], plants)
    failing = [case for case, code in zip(able, codes, strict=True) if code != 0][:count]
    if len(failing) < count:
        raise ValueError(f"{len(failing)} cases fail with the planted bugs, not {count}")
    return [Script(case.name, case.script.read_text(encoding="utf-8"), f"case {case.name}") for case in failing]


def rand_index(found: Mapping[str, str], truth: Mapping[str, str]) -> float:
    """The adjusted Rand index of two partitions of the same names; 1 for equal ones, about 0 for chance.

    Source: Hubert & Arabie 1985, doi:10.1007/BF01908075.
    """
    pairs = [(found[name], truth[name]) for name in truth]

    def twos(labels: Sequence[object]) -> float:
        counts: dict[object, int] = {}
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
        return sum(n * (n - 1) / 2 for n in counts.values())

    both, one, other = twos(pairs), twos([a for a, _ in pairs]), twos([b for _, b in pairs])
    expected = one * other / max(1.0, len(pairs) * (len(pairs) - 1) / 2)
    largest = (one + other) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)
