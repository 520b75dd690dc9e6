"""``python -m benchmarks`` is ``python -m benchmarks.bench``."""

from __future__ import annotations

import typer

from benchmarks.bench import main

typer.run(main)
