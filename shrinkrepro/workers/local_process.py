"""What runs in a process of the local executor: works come in by one pipe, events go out by the other.

Decision: a process whose executor is gone ends by itself, with its servers, because nobody else would end it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn

from shrinkrepro.workers.executor import Event, Work, load_worker
from shrinkrepro.workers.local import STOP_SECONDS


class _Stopped(BaseException):
    """This process is no longer needed."""


def main() -> NoReturn:
    """Serve until the executor is gone or says stop. Arguments: the worker's path and the two descriptors."""
    path, request, reply = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGTERM, _stop)
    works: queue.SimpleQueue[Work] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(request, works), daemon=True).start()
    lock = threading.Lock()

    def tell(event: Event) -> None:
        data = json.dumps(event.to_wire()).encode() + b"\n"
        with lock:
            while data:
                data = data[os.write(reply, data) :]

    worker = load_worker(path)
    try:
        while True:
            worker.run(works.get(), tell)
    except (_Stopped, BrokenPipeError):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        worker.close()
    os._exit(0)  # what threads still do is for nobody


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped


def _receive(request: int, works: queue.SimpleQueue[Work]) -> None:
    with open(request, encoding="utf-8") as lines:
        for line in lines:
            works.put(Work.from_wire(json.loads(line)))
    os.kill(os.getpid(), signal.SIGTERM)  # the executor is gone
    threading.Event().wait(STOP_SECONDS)
    os._exit(1)
