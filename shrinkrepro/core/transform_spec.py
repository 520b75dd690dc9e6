"""How a user writes transforms: ``vmap``, ``jvp(grad)``, ``vmap(vmap(jacrev))``.

Decision: a nesting is a tuple of names, outermost first, and each name is one that has a reference to compare with.
"""

from __future__ import annotations

import difflib
import re

from shrinkrepro.errors import UsageError

ALL = "all"

DERIVATIVES = ("grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian")
NAMES = ("vmap", *DERIVATIVES, "functionalize", "compile")

# What ``all`` tries: each alone, and what people nest.
TRIED = (
    ("vmap",),
    ("grad",),
    ("vjp",),
    ("jvp",),
    ("jacrev",),
    ("jacfwd",),
    ("hessian",),
    ("vmap", "vmap"),
    ("vmap", "grad"),
    ("vmap", "vjp"),
    ("vmap", "jvp"),
    ("vmap", "jacrev"),
    ("vmap", "jacfwd"),
    ("vmap", "hessian"),
    ("jvp", "vmap"),
    ("vjp", "vmap"),
    ("jvp", "grad"),
    ("jvp", "jvp"),
    ("jvp", "vjp"),
    ("jacfwd", "grad"),
    ("jacrev", "grad"),
    ("jacfwd", "jacfwd"),
    ("jacrev", "jacfwd"),
    ("jacrev", "jacrev"),
)


def parse_transform(text: str) -> tuple[str, ...]:
    """The names in ``text``, outermost first.

    Raises:
        UsageError: it is no nesting of known names.
    """
    plain = re.sub(r"\s+", "", text)
    names = plain.rstrip(")").split("(")
    closing = len(plain) - len(plain.rstrip(")"))
    if closing != len(names) - 1 or not all(re.fullmatch(r"[\w.]+", name) for name in names):
        raise UsageError(f"--transform {text!r} is no nesting of transforms", "write it as vmap, jvp(grad), or all")
    names = [name.rpartition(".")[2] for name in names]
    for name in names:
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1)
            hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(NAMES)}, a nesting of them, or all"
            raise UsageError(f"--transform {text!r}: {name} is not known", hint)
    return tuple(names)


def written(transforms: tuple[str, ...]) -> str:
    """The nesting as users write it."""
    return "(".join(transforms) + ")" * (len(transforms) - 1)
