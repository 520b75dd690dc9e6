"""What confinement refused is told from what the script does wrong by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkrepro.oracles.refused import out_of_memory, refused
from shrinkrepro.protocol import EXCEPTION, EXIT, LOST, Execution, Frame, Raised

OS_FRAME = Frame("os.py", 680, "__getitem__", True)


def hint(error: Raised, network: bool = False, writable: bool = True) -> str:
    execution = Execution(status=EXCEPTION, chain=(error,), code=1)
    found = refused(execution, network=network, withheld={"HF_TOKEN"}, can_write=lambda path: writable)
    return found.hint if found is not None else ""


@pytest.mark.parametrize(
    ("error", "option"),
    [
        (Raised("PermissionError", "[Errno 13] Permission denied: '/data/run/log.txt'"), "--allow-write /data/run"),
        (Raised("OSError", "[Errno 30] Read-only file system: '/data/run/log.txt'"), "--allow-write /data/run"),
        (Raised("RuntimeError", "open file failed with strerror: Read-only file system"), "--allow-write PATH"),
        (Raised("urllib.error.URLError", "<urlopen error [Errno 101] Network is unreachable>"), "--allow-network"),
        (Raised("OSError", "[Errno 101] Network is unreachable"), "--allow-network"),
        (Raised("KeyError", "'HF_TOKEN'", (OS_FRAME,)), "--no-sandbox"),
    ],
)
def test_what_is_refused_names_the_option(error: Raised, option: str) -> None:
    assert option in hint(error)


@pytest.mark.parametrize(
    ("printed", "option"),
    [
        ("no server: [Errno 101] Network is unreachable\ngiving up\n", "--allow-network"),
        ("no data: [Errno 111] Connection refused", "--allow-network"),
        ("[Errno 30] Read-only file system: '/data/run/log.txt'", "--allow-write /data/run"),
        ("all done\n", ""),
        ("Network is unreachable\n" + "retrying\n" * 3, ""),
    ],
)
def test_an_exit_says_what_it_was_refused_in_its_last_lines(printed: str, option: str) -> None:
    for execution in (
        Execution(status=EXIT, code=1, stdout=printed),
        Execution(status=EXIT, code=1, stderr=printed),
    ):
        found = refused(execution, network=False, withheld=(), can_write=lambda path: True)
        assert (found is not None) == bool(option)
        assert found is None or option in found.hint


@pytest.mark.parametrize(
    "error",
    [
        Raised("KeyError", "'HOME_OF_DATA'", (OS_FRAME,)),
        Raised("KeyError", "'HF_TOKEN'", (Frame("script.py", 1, "<module>", False),)),
        Raised("RuntimeError", "vmap: It looks like you're calling .item() on a Tensor."),
        Raised("FileNotFoundError", "[Errno 2] No such file or directory: '/data/x'"),
    ],
)
def test_other_failures_are_the_script_s_own(error: Raised) -> None:
    assert hint(error) == ""


def test_what_the_user_cannot_do_either_is_not_refused_by_us() -> None:
    assert hint(Raised("PermissionError", "[Errno 13] Permission denied: '/etc/shadow'"), writable=False) == ""
    assert hint(Raised("OSError", "[Errno 101] Network is unreachable"), network=True) == ""


def test_limits_name_their_option() -> None:
    def said(detail: str) -> str:
        found = refused(
            Execution(status=LOST, detail=detail),
            network=False,
            withheld=(),
            can_write=lambda path: Path(path).exists(),
        )
        return found.hint if found is not None else ""

    assert "--memory" in said("its processes took more than 4.0 GB of memory")
    assert "--no-sandbox" in said("it started more than 256 processes")
    assert said("no verdict came back") == ""
    no_memory = Raised("RuntimeError", "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
    assert out_of_memory(Execution(status=EXCEPTION, chain=(no_memory,)))
    assert not out_of_memory(Execution(status=EXCEPTION, chain=(Raised("ValueError", "no"),)))
