"""Attends one child: passes its verdicts on, keeps the time, and says how it died.

Decision: a crash, an exit or a hang is ascribed to the program that had begun and had no verdict; programs
that had not begun are simply not done, and the caller gives them to a new child.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from shrinkrepro.protocol import EXIT, LOST, OK, SIGNAL, TIMEOUT, Execution, Job, to_wire
from shrinkrepro.target.child import HANG_SIGNAL, HARNESS_FAILED, tail
from shrinkrepro.target.observe import read_journal
from shrinkrepro.target.processes import LOOK_SECONDS, Watch
from shrinkrepro.target.raised import place

SETUP_SECONDS = 30.0  # for a child to begin its first program, or the next one
LAST_WORDS_SECONDS = 0.1  # between the wish to write the frames and the kill
MOST_UNREAD = 256 << 20  # bytes of a line; a program that floods our descriptor has no use for more
MOST_WAITING = 3.0  # times its limit, that a program may stand in the queue for a core without being charged


class HostGone(Exception):
    """The host has ended, or closed the request pipe."""


@dataclasses.dataclass
class _State:
    pid: int
    begun: Optional[int] = None
    since: float = 0.0
    queued: float = 0.0  # the child's, when ``since`` was
    buffer: bytes = b""
    killed: bool = False
    excess: str = ""  # what its processes took too much of

    def restart(self, begun: Optional[int] = None) -> None:
        """Let the time start anew, for a program or between two."""
        self.begun, self.since, self.queued = begun, time.monotonic(), queued(self.pid)


def attend(
    pid: int,
    pipe: int,
    host: int,
    jobs: Sequence[Tuple[int, Job]],
    folder: str,
    forward: Callable[[Dict[str, Any]], None],
    taken: Watch,
) -> Set[int]:
    """Follow child ``pid`` to its end; return the indices of the jobs that have a verdict now.

    ``host`` is the descriptor of the host's requests: it ends when the host does. ``taken`` tells when it takes too
    much.

    Raises:
        HostGone: nobody waits for verdicts any more; the child has been killed.
    """
    timeouts = {index: job.timeout for index, job in jobs}
    done: Set[int] = set()
    state = _State(pid)
    state.restart()
    watch = _Watch(pid, pipe, host)
    while True:
        limit = SETUP_SECONDS if state.begun is None else timeouts[state.begun]
        left = state.since + limit - time.monotonic()
        if left <= 0:
            left += min(queued(pid) - state.queued, MOST_WAITING * limit)
        if left <= 0:
            state.killed = True
            _last_words(pid, watch)
            break
        state.excess = taken.excess()
        if state.excess:
            break
        readable, ended = watch.wait(min(left, LOOK_SECONDS))
        if watch.host_gone:
            _signal_group(pid, signal.SIGKILL)
            raise HostGone
        if readable:
            open_still = _read(pipe, state, timeouts, done, forward)
            if not open_still:
                watch.drop_pipe()
        elif ended:
            break
    _signal_group(pid, signal.SIGKILL)
    code = _wait_code(pid)
    while not watch.dropped and _read(pipe, state, timeouts, done, forward, block=False):
        pass
    if state.begun is not None:
        forward({"index": state.begun, "execution": to_wire(_death(code, state, folder, time.monotonic()))})
        done.add(state.begun)
    return done


def queued(pid: int) -> float:
    """Seconds that the process was ready to run and no core was free; 0 where the system does not tell."""
    try:
        with open("/proc/%d/schedstat" % pid) as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class _Watch:
    """Waits for a message or for the child's end, whichever comes first."""

    def __init__(self, pid: int, pipe: int, host: int) -> None:
        self.pid = pid
        self.pipe = pipe
        self.host = host
        self.host_gone = False
        self.dropped = False
        self.handle = -1
        if hasattr(os, "pidfd_open"):
            try:
                self.handle = os.pidfd_open(pid)
            except OSError:
                self.handle = -1

    def wait(self, seconds: float) -> Tuple[bool, bool]:
        """(a message can be read, the child has ended)."""
        watched = [self.host] if self.dropped else [self.pipe, self.host]
        if self.handle >= 0:
            watched.append(self.handle)
        else:
            seconds = min(seconds, 0.01)
        ready = select.select(watched, [], [], seconds)[0]
        self.host_gone = self.host in ready  # it sends nothing while a request is served
        ended = self.handle in ready if self.handle >= 0 else self._peek()
        return self.pipe in ready, ended

    def drop_pipe(self) -> None:
        self.dropped = True

    def _peek(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def __del__(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)


def _read(
    pipe: int,
    state: _State,
    timeouts: Dict[int, float],
    done: Set[int],
    forward: Callable[[Dict[str, Any]], None],
    block: bool = True,
) -> bool:
    """Take in what the child sent; False at the end of its messages."""
    if not block and not select.select([pipe], [], [], 0)[0]:
        return False
    data = os.read(pipe, 1 << 20)
    if not data:
        return False
    *lines, state.buffer = (state.buffer + data).split(b"\n")
    if len(state.buffer) > MOST_UNREAD:
        state.buffer = b""
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:  # the program wrote to our descriptor
            continue
        if not isinstance(message, dict):
            continue
        if message.get("begin") in timeouts:
            state.restart(message["begin"])
            forward(message)
        elif "execution" in message and message.get("index") == state.begun is not None:
            done.add(message["index"])
            state.restart()
            forward(message)
        elif "learned" in message or "leak" in message:
            forward(message)
    return True


def _death(code: int, state: _State, folder: str, now: float) -> Execution:
    """The verdict on a program whose process ended under it."""
    fault = tail(os.path.join(folder, "fault"))
    common = {
        "stdout": tail(os.path.join(folder, "out")),
        "stderr": tail(os.path.join(folder, "err")) + fault,
        "crash_frames": fault_frames(fault),
        "seconds": now - state.since,
        "facts": read_journal(folder),
    }
    if state.excess:
        return Execution(status=LOST, detail=state.excess, **common)  # type: ignore[arg-type]
    if state.killed:
        return Execution(status=TIMEOUT, code=int(signal.SIGKILL), **common)  # type: ignore[arg-type]
    if code < 0:
        return Execution(status=SIGNAL, code=-code, **common)  # type: ignore[arg-type]
    if code == HARNESS_FAILED:
        return Execution(status=LOST, detail="the program broke what tells its verdict", **common)  # type: ignore[arg-type]
    return Execution(status=EXIT if code else OK, code=code, **common)  # type: ignore[arg-type]


def lost(detail: str) -> Execution:
    """An execution without a verdict."""
    return Execution(status=LOST, detail=detail)


def fault_frames(text: str) -> Tuple[str, ...]:
    """faulthandler's frames of the current thread as ``file:function``, innermost first."""
    frames: List[str] = []
    for line in text.splitlines():
        if line.startswith("  File "):
            file, _, rest = line[len('  File "') :].partition('", line ')
            name = place(file)[0]
            if not name.startswith("shrinkrepro/target/"):
                frames.append("%s:%s" % (name, rest.partition(" in ")[2]))
        elif frames:
            break
    return tuple(frames)


def _last_words(pid: int, watch: _Watch) -> None:
    """Let a hanging program write its frames before it is killed."""
    try:
        os.kill(pid, HANG_SIGNAL)
    except ProcessLookupError:
        return
    time.sleep(LAST_WORDS_SECONDS)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _wait_code(pid: int) -> int:
    status = os.waitpid(pid, 0)[1]
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
