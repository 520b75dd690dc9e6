"""The Ray executor on virtual nodes of this machine: what dies goes on elsewhere, what cannot be used is named."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shrinkrepro.errors import TargetError, UsageError
from shrinkrepro.workers.executor import ACCEPTED, DONE, ENDS, NOTE, STARTED, Event, Work
from shrinkrepro.workers.ray import RayExecutor
from shrinkrepro.workers.ray_actor import describe
from shrinkrepro.workers.ray_cluster import check_address
from tests.workers.steps_worker import WORKER

pytest.importorskip("ray", reason="Ray is not installed: pip install 'shrinkrepro[ray]'")

# An interpreter whose torch is another on nodes that have the variable.
_INTERPRETER = """\
#!/bin/sh
if [ -n "$SHRINKREPRO_OTHER" ]; then echo '["3.11.0", "2.0.1", "abcdef0123"]'; else echo '["3.11.0", "2.13.0", ""]'; fi
"""


def _work(name: str, steps: int, pause: float = 0.0) -> Work:
    return Work(name, "count", "n.txt", {"n.txt": "0"}, options={"steps": steps, "pause": pause})


class Cluster:
    """A head that is also the first node, with one processor; a test may add others."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as Made

        self._small = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 << 20}
        self._made: Any = Made(initialize_head=True, head_node_args=self._small)
        self.address: str = self._made.address
        self.head: str = self._made.head_node.node_id

    def add(self, **options: Any) -> Any:
        return self._made.add_node(**self._small, **options)

    def remove(self, node: Any) -> None:
        self._made.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        self._made.shutdown()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def _ends(events: list[Event]) -> list[str]:
    return sorted(event.work for event in events if event.kind in ENDS)


def test_a_cluster_of_which_no_node_has_the_target_is_told(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"no node of the cluster can be used .*there is no interpreter") as failure:
        RayExecutor(WORKER, address=cluster.address, python=str(tmp_path / "none")).__enter__()
    assert "--python" in failure.value.hint


def test_what_dies_goes_on_elsewhere_from_what_was_accepted_last(cluster: Cluster) -> None:
    second = cluster.add()
    names = ["a", "b", "c", "d"]
    events: list[Event] = []
    with RayExecutor(WORKER, address=cluster.address) as executor:
        assert executor.slots == 2
        for name in names:
            executor.submit(_work(name, 12, 0.1))
        killed = removed = False
        for event in executor.events():
            events.append(event)
            if event.kind != ACCEPTED or int(event.data["text"]) < 3:
                continue
            where = next(actor.where for actor in executor._actors if actor.work and actor.work.name == event.work)
            assert where is not None
            if not killed and where["node"] == cluster.head:
                killed = True
                os.kill(int(where["pid"]), signal.SIGKILL)
            elif not removed and where["node"] != cluster.head:
                removed = True
                cluster.remove(second)
    assert killed
    assert removed
    assert _ends(events) == names
    ends = {event.work: event for event in events if event.kind == DONE}
    assert sorted(ends) == names
    accepted: dict[str, int] = {}
    resumed: dict[str, int] = {}  # where each that went on in another had got to
    for event in events:
        if event.kind == ACCEPTED:
            accepted[event.work] = int(event.data["text"])
        if event.kind == NOTE and "goes on in another" in event.data["text"]:
            resumed[event.work] = accepted.get(event.work, 0)
    assert len(resumed) >= 1
    assert max(resumed.values()) >= 3
    assert {name: ends[name].data["first"] for name in names} == dict.fromkeys(names, 0) | resumed
    for name in names:
        assert [e.data["text"] for e in events if e.work == name and e.kind == ACCEPTED][-1] == "12"


def test_a_node_with_another_torch_is_named_and_not_used(cluster: Cluster, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(_INTERPRETER)
    python.chmod(0o755)
    other = cluster.add(env_vars={"SHRINKREPRO_OTHER": "1"})
    with RayExecutor(WORKER, address=cluster.address, python=str(python)) as executor:
        for name in ("a", "b", "c"):
            executor.submit(_work(name, 10, 0.1))
        events = list(executor.events())
        assert {actor.where["node"] for actor in executor._actors if actor.where} == {cluster.head}
    cluster.remove(other)
    assert _ends(events) == ["a", "b", "c"]
    [note] = [event.data["text"] for event in events if event.kind == NOTE]
    assert note.endswith("is not used: its torch is 2.0.1 (abcdef0), not 2.13.0")


def test_more_than_any_node_has_is_told(cluster: Cluster) -> None:
    with pytest.raises(TargetError, match="no node of the cluster has room for a worker"):
        RayExecutor(WORKER, address=cluster.address, cpus=64.0).__enter__()


def test_events_come_in_order_and_works_may_be_given_meanwhile(cluster: Cluster) -> None:
    with RayExecutor(WORKER, address=cluster.address) as executor:
        executor.submit(_work("a", 3))
        events = []
        for event in executor.events():
            events.append(event)
            if event.work == "a" and event.kind == DONE:
                executor.submit(_work("b", 1))
    assert [(event.work, event.kind) for event in events] == [
        ("a", STARTED), ("a", ACCEPTED), ("a", ACCEPTED), ("a", ACCEPTED), ("a", DONE),
        ("b", STARTED), ("b", ACCEPTED), ("b", DONE),
    ]  # fmt: skip


@pytest.mark.parametrize("address", ["nonsense", "host:", ":70000", "ray://host:10001", "host:port"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(UsageError, match="is not HOST:PORT"):
        check_address(address)


def test_an_address_where_nothing_answers_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UsageError, match="nothing of Ray's answers there"):
        check_address(f"127.0.0.1:{port}")


def test_an_address_where_something_else_answers_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UsageError, match="is not Ray's"):
            check_address(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()


def test_an_interpreter_is_described_without_starting_torch(tmp_path: Path) -> None:
    import importlib.metadata

    found = describe(sys.executable)
    assert found["torch"].startswith(importlib.metadata.version("torch").split("+")[0])
    assert not found["fault"]
    assert "no interpreter" in describe(str(tmp_path / "none"))["fault"]
