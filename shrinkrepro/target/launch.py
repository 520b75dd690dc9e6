"""The script that the host starts in the target interpreter: ``launch.py serve|once REQUEST_FD REPLY_FD``,
``launch.py plain ORDER_FILE``, or ``launch.py audited WRITABLE PROGRAM ARGS``.

Decision: the package is made known under its own name by location, so the host's site-packages never get
onto the target's path, and this folder (which Python put first there) leaves it before anything is imported.
"""

import sys

if __name__ == "__main__":
    sys.path.pop(0)
    sys.dont_write_bytecode = True

import os
import types
from typing import List


def main(arguments: List[str]) -> None:
    """Load the package by location, then serve requests or run the one program that was handed over."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package = types.ModuleType("shrinkrepro")
    package.__path__ = [folder]
    sys.modules["shrinkrepro"] = package
    if arguments[0] == "serve":
        from shrinkrepro.target.server import serve

        serve(int(arguments[1]), int(arguments[2]))
    elif arguments[0] == "once":
        from shrinkrepro.target.child import run_once

        run_once(int(arguments[1]), int(arguments[2]))
    elif arguments[0] == "audited":
        from shrinkrepro.target.audit import main as run_audited

        run_audited(arguments[1:])
    else:
        from shrinkrepro.target.child import run_plain

        run_plain(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
