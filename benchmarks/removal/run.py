"""Run a program with its bug taken out: ``python -m benchmarks.removal.run KIND PROGRAM [ARGS...]``, or by path.

Kinds: primal, vmap, compile, functionalize, jacfwd, reference, op:NAME, none. The exit code is the
program's own.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any


def replacements(kind: str) -> dict[str, Any]:
    """By dotted path, what ``kind`` puts in the place of what. Methods are patched on the way."""
    from benchmarks.removal import loops, operators, primal, reference

    if kind == "none":
        return {}
    if kind.startswith("op:"):
        return operators.install(kind[3:])
    if kind in ("primal", "reference", "compile"):
        loops.patch_module_compile()
    if kind == "primal":
        return primal.replacements()
    if kind == "reference":
        return reference.replacements()
    if kind == "vmap":
        return loops.vmap_replacements()
    if kind == "compile":
        return loops.compile_replacements()
    transforms = {"functionalize": primal.functionalize, "jacfwd": None}
    if kind in transforms:
        import torch

        new = transforms[kind] or torch.func.jacrev
        holders = ("torch.func", "functorch", "torch._functorch.apis", "torch._functorch.eager_transforms")
        return {f"{holder}.{kind}": new for holder in holders}
    raise SystemExit(f"removal: unknown kind {kind!r}")


def main() -> None:
    """Patch torch, then become the program."""
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    kind, program = sys.argv[1], sys.argv[2]
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    sys.path.insert(0, root)
    from benchmarks.removal import install

    install.load_holders()
    install.everywhere(install.named(replacements(kind)))
    sys.path.remove(root)  # the program must not find what lies in our root
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    sys.argv[:] = sys.argv[2:]
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
