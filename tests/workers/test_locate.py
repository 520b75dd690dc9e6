"""Which modules are the user's own: the target is asked, in a real process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shrinkrepro.workers.locate import locate
from shrinkrepro.workers.target import Target


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_siblings_and_packages_are_local_and_libraries_are_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.py": "import json, torch, helper\nfrom pkg.deep import thing\nfrom pkg import other",
            "helper.py": "import second\nimport os.path",
            "second.py": "",
            "pkg/__init__.py": "",
            "pkg/deep.py": "from . import far\nthing = 1",
            "pkg/far.py": "",
            "pkg/other.py": "",
            "never.py": "",
        },
    )
    main = tmp_path / "main.py"
    found = locate(Target(sys.executable, main, tmp_path), main.read_text())
    assert set(found.sources) == {"helper", "second", "pkg", "pkg.deep", "pkg.far", "pkg.other"}
    assert found.packages == {"pkg"}
    assert found.sources["pkg.deep"].endswith("thing = 1")


def test_an_editable_install_is_local(tmp_path: Path) -> None:
    write(tmp_path, {"project/src/mine/__init__.py": "value = 1", "scripts/main.py": "import mine", "venv/marker": ""})
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    [site] = venv.glob("lib/python*/site-packages")
    (site / "mine.pth").write_text(str(tmp_path / "project" / "src"))
    main = tmp_path / "scripts" / "main.py"
    found = locate(Target(str(venv / "bin" / "python"), main, tmp_path), main.read_text())
    assert found.sources == {"mine": "value = 1"}
    assert found.packages == {"mine"}


def test_a_target_that_cannot_answer_has_no_local_modules(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert locate(Target(str(broken), tmp_path / "main.py", tmp_path), "import helper").sources == {}
