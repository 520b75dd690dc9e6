"""A Ray cluster to connect to: the one at an address, or one of this machine's own.

Decision: whether anything answers at an address is found out by ourselves, in a second: Ray waits for minutes, and
tells of it in traces.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import socket
from typing import Any

from shrinkrepro.errors import TargetError, UsageError

SECONDS = 5.0  # for a head to answer
STORE_BYTES = 128 << 20  # of a cluster that starts here: texts are small, and Ray would take a third of the memory
# The first words of a client of HTTP/2, and empty settings: RFC 9113, 3.4.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS = 4  # the type of the frame that a server of gRPC, which Ray's head is, sends first
_HINT = "give the address that `ray start --head` printed, as in --address HOST:6379; without --address Ray runs here"


def connect(address: str | None) -> Any:
    """The module ``ray``, connected to the cluster at ``address``; None: RAY_ADDRESS, else one that is started here.

    Raises:
        UsageError: Ray is not installed, or nothing of Ray's answers at the address.
    """
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--executor ray: Ray is not installed here", "pip install 'shrinkrepro[ray]'")
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address not in (None, "local"):
        check_address(str(address))
    ray: Any = importlib.import_module("ray")
    logging.getLogger("ray").setLevel(logging.ERROR)  # it has a word to say about each cluster that it starts
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if address in (None, "local"):  # never the last cluster of this machine, which may be gone: that is waited for
        options |= {"address": "local", "include_dashboard": False, "object_store_memory": STORE_BYTES}
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(f"--address {address or 'local'}: no connection to Ray ({told})", _HINT) from error
    _silence()
    return ray


def check_address(address: str) -> None:
    """Make sure that the head of a cluster is at ``address``.

    Raises:
        UsageError: the address is none, or something else or nothing answers there.
    """
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit() or int(port) >= 1 << 16:
        raise UsageError(f"--address {address} is not HOST:PORT", _HINT)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS", "0") != "0":
                return
            connection.settimeout(SECONDS)
            connection.sendall(_GREETING)
            frame = connection.recv(9)
    except OSError as error:
        told = error.strerror or str(error)
        raise UsageError(f"--address {address}: nothing of Ray's answers there ({told})", _HINT) from error
    if len(frame) < 4 or frame[3] != _SETTINGS:
        raise UsageError(f"--address {address}: what answers there is not Ray's", _HINT)


def slots(ray: Any, resources: dict[str, float]) -> int:
    """How many workers that need ``resources`` (Ray's names) the nodes that live now have room for together.

    Raises:
        TargetError: none has room for one.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    needs = {name: need for name, need in resources.items() if need > 0}
    rooms = [min((int(node.get(name, 0.0) // need) for name, need in needs.items()), default=1) for node in nodes]
    if not sum(rooms):
        wanted = ", ".join(f"{name} {need:g}" for name, need in needs.items())
        raise TargetError(
            f"no node of the cluster has room for a worker ({wanted})",
            "ask for less with --cpus-per-worker, --gpus-per-worker or --memory",
        )
    return sum(rooms)


def _silence() -> None:
    """Ray prints pages about each process of its own that dies into a driver's output; we tell of it in a line.

    There is no setting for that; where a later Ray has it elsewhere, its pages are seen.
    """
    with contextlib.suppress(ImportError):
        worker: Any = importlib.import_module("ray._private.worker")
        if hasattr(worker, "print_to_stdstream"):
            worker.print_to_stdstream = lambda *args, **kwargs: None
