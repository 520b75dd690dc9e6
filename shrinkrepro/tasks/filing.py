"""Files a report as an issue by way of GitHub's own command line tool.

Decision: it is called only when the user named a repository, and only with words that a person wrote.
"""

from __future__ import annotations

import re
import shutil
import subprocess

from shrinkrepro.errors import UsageError
from shrinkrepro.report.bug import Bug
from shrinkrepro.report.issue import github

SECONDS = 60.0
_REPOSITORY = re.compile(r"(?:[\w.-]+/)?[\w.-]+/[\w.-]+")


def check_filing(repository: str, words: str) -> None:
    """Make sure that an issue can be filed, before anything is run.

    Raises:
        UsageError: ``repository`` is none, there are no words by a person, or ``gh`` is not there.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"--gh {repository!r} is no repository", "write it as OWNER/NAME")
    if not words.strip():
        raise UsageError("--gh files an issue, and an issue needs words by a person", "write them with --words TEXT")
    if shutil.which("gh") is None:
        raise UsageError("--gh needs GitHub's command line tool gh, which is not there", "--open needs none")


def file_issue(bug: Bug, repository: str) -> str:
    """File ``bug`` as an issue of ``repository``; its address.

    Raises:
        UsageError: ``gh`` refused.
    """
    command = ["gh", "issue", "create", "--repo", repository, "--title", bug.title, "--body-file", "-"]
    try:
        done = subprocess.run(command, input=github(bug), capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"gh could not be run: {error}", "nothing is known to have been sent; look first") from None
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise UsageError(f"gh refused: {said}", "try gh auth status; or --open, which needs no gh")
    return done.stdout.strip()
