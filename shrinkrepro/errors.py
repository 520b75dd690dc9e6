"""The one family of errors that users see: a line that says what is wrong, a hint, an exit code.

Decision: exit codes live on the classes, so the command line maps no error by hand and the
library raises the very objects that the commands print.
"""

from __future__ import annotations

UNCONFIRMED = 1  # reduced, but not every fresh run of the end failed the same
OUR_FAULT = 70  # EX_SOFTWARE of sysexits.h: a strategy of ours, or we ourselves, raised
INTERRUPTED = 130  # what a shell gives for a process that Ctrl-C ended


class ShrinkReproError(Exception):
    """Something that the user can understand and act on.

    ``message`` names the value that is wrong; ``hint`` (one line, may be empty) says what to do.
    """

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ShrinkReproError):
    """The command was called with something that cannot work (exit 2)."""


class NotFailingError(ShrinkReproError):
    """The script does not fail, so there is nothing to reduce (exit 3)."""

    exit_code = 3


class TooFlakyError(ShrinkReproError):
    """The script fails too rarely for its failure to be judged (exit 4)."""

    exit_code = 4


class TargetError(ShrinkReproError):
    """The target interpreter cannot run the script at all (exit 5)."""

    exit_code = 5


class FailsEarlyError(ShrinkReproError):
    """The script fails before anything of torch's: a missing file, module or argument (exit 6)."""

    exit_code = 6
