"""What is wrong with a command line is one clear line, before anything is started."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Done, says_one_error, shrinkrepro

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text("raise SystemExit(1)\n")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "broken.py").write_text("import torch\n\ndef f(:\n    pass\n")
    (tmp_path / "latin.py").write_bytes(b"name = '\xe9'\n")
    (tmp_path / "taken.py").write_text("mine = 1\n")
    (tmp_path / "data").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nope.py", ("nope.py", "does not exist")),
        ("good", ("good does not exist", "good.py")),
        ("pkg.mod", ("pkg.mod", "-m")),
        ("data", ("data is a folder",)),
        ("/dev/null", ("not a regular file",)),
        ("empty.py", ("empty.py is empty",)),
        ("broken.py", ("broken.py", "syntax error", "line 3")),
        ("latin.py", ("latin.py", "not UTF-8", "line 1")),
        ("", ("SCRIPT",)),
        ("-m a..b", ("a..b",)),
        ("-m no_such_module", ("no_such_module", "--cwd")),
        ("good.py --keep (", ("--keep", "(")),
        ("good.py --exclude [", ("--exclude", "[")),
        ("good.py --match /(/", ("--match",)),
        ("good.py --match same", ("same", "signature")),
        ("good.py --budget soon", ("--budget", "soon", "10m")),
        ("good.py --budget 0", ("--budget",)),
        ("good.py --timeout never", ("--timeout", "never")),
        ("good.py --jobs 0", ("--jobs 0",)),
        ("good.py --jobs two", ("--jobs",)),
        ("good.py --isolation none", ("none", "fork or spawn")),
        ("good.py --device 8", ("8", "cuda:0")),
        ("good.py --python /no/such/python", ("/no/such/python",)),
        ("good.py --python good.py", ("good.py", "interpreter")),
        ("good.py --cwd nowhere", ("nowhere",)),
        ("good.py --preload nope.py", ("--preload nope.py",)),
        ("good.py -o taken.py", ("taken.py", "--force")),
        ("good.py -o good.py --force", ("good.py is the input",)),
        ("good.py -o data", ("data is a folder",)),
        ("good.py -o no/out.py", ("no/out.py", "mkdir")),
        ("good.py --json data", ("--json data is a folder",)),
        ("good.py --control eagre", ("eagre", "eager", "finite-difference", "python=PATH")),
        ("good.py --control none --control vmap", ("none",)),
        ("good.py --control python=/no/such/python", ("--control python=/no/such/python",)),
        ("good.py --rate 3", ("--rate", "--")),
        ("good.py --no-such-option", ("--no-such-option",)),
    ],
)
def test_a_bad_command_line(folder: Path, line: str, words: tuple[str, ...]) -> None:
    says_one_error(shrinkrepro("reduce", *line.split(), cwd=folder), 2, *words)
    assert not (folder / "good_reduced.py").exists()
    assert (folder / "taken.py").read_text() == "mine = 1\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(folder: Path) -> None:
    (folder / "good.py").chmod(0)
    says_one_error(shrinkrepro("reduce", "good.py", cwd=folder), 2, "good.py", "cannot be read")


def test_an_unknown_command(folder: Path) -> None:
    says_one_error(shrinkrepro("shrink", "good.py", cwd=folder), 2, "shrink")


def test_check_answers_in_the_same_words(folder: Path) -> None:
    says_one_error(shrinkrepro("check", "nope.py", cwd=folder), 2, "nope.py does not exist")
    says_one_error(shrinkrepro("check", "broken.py", cwd=folder), 2, "line 3")


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, shrinkrepro.cli.main as m; code = m.main(['--help']); "
        "print(sorted({'torch', 'numpy', 'astor', 'rich', 'shrinkrepro.session'} & set(sys.modules)), "
        "file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["[]"]
    assert "reduce" in done.stdout


def test_importing_the_library_imports_no_torch(tmp_path: Path) -> None:
    code = "import sys; from shrinkrepro import reduce; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_name_of_the_library_is_there() -> None:
    import shrinkrepro as library
    from shrinkrepro import api

    assert set(library.__all__) == set(api.__all__)
    assert all(getattr(library, name) is getattr(api, name) for name in library.__all__)
    assert not hasattr(library, "no_such_name")


def test_every_option_of_the_readme_exists(tmp_path: Path) -> None:
    helps: dict[str, Done] = {}
    for command in ("reduce", "check", "strategies"):
        helps[command] = shrinkrepro(command, "--help", cwd=tmp_path, COLUMNS="200")
        assert helps[command].code == 0
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", helps["reduce"].out))
    table = re.findall(r"^\| (`-[^|]*) \|", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(table) > 15
    named = {option for cell in table for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", cell)}
    assert named <= known
    assert known - named <= {"-h", "--help"}


def test_strategies_lists_each_with_its_summary(tmp_path: Path) -> None:
    from shrinkrepro.core.registry import load_strategies

    done = shrinkrepro("strategies", cwd=tmp_path, SHRINKREPRO_NO_PLUGINS="1")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    for strategy in load_strategies():
        assert any(strategy.name in line and strategy.summary in line for line in lines)


def test_a_broken_plugin_is_named(tmp_path: Path) -> None:
    info = tmp_path / "acme_repro-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-repro\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[shrinkrepro.strategies]\nacme = acme_repro_missing:STRATEGIES\n")
    says_one_error(shrinkrepro("strategies", cwd=tmp_path, PYTHONPATH=str(tmp_path)), 2, "acme", "NO_PLUGINS=1")
    done = shrinkrepro("strategies", cwd=tmp_path, PYTHONPATH=str(tmp_path), SHRINKREPRO_NO_PLUGINS="1")
    assert done.code == 0


def test_a_plugin_comes_in_by_its_entry_point(tmp_path: Path) -> None:
    info = tmp_path / "acme_repro-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-repro\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[shrinkrepro.strategies]\nacme = acme_repro:STRATEGIES\n")
    (tmp_path / "acme_repro.py").write_text(
        "from shrinkrepro import Tier, strategy\n"
        "@strategy('drop-acme', tier=Tier.FINE)\n"
        "def drop_acme(program, facts):\n"
        "    'Delete what Acme adds.'\n"
        "    yield from ()\n"
        "STRATEGIES = (drop_acme,)\n"
    )
    done = shrinkrepro("strategies", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^fine +drop-acme +Delete what Acme adds\.$", done.out, flags=re.MULTILINE)


def test_version(tmp_path: Path) -> None:
    done = shrinkrepro("--version", cwd=tmp_path)
    assert done.code == 0
    assert re.fullmatch(r"shrinkrepro \d+\.\d+\.\d+\S*\n", done.out)
