"""``python -m shrinkrepro``: the same as the ``shrinkrepro`` command."""

from __future__ import annotations

import sys

from shrinkrepro.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
