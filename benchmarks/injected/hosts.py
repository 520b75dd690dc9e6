"""Draws host programs: scripts as users have them, with one operator somewhere inside and one use of transforms.

Decision: what is drawn (theme, helpers, model, loops, configuration, dead code, the kind of check) is told apart from
what a bug needs to show (the operator, the use, shapes and values); the text follows from the seed alone.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.injected.comparisons import HELPERS, USES

Lines = list[str]


@dataclass(frozen=True)
class Need:
    """What a bug needs of its host: an expression of the vector ``{v}`` with the operator, and a use of transforms."""

    expression: str
    use: str
    dtype: str = "float32"
    width: int = 4  # of a vector
    rows: int = 5  # of the batch
    values: str = "normal"  # normal | positive | zeros (some entries are zero)


_THEMES = (
    ("retrieval scores for a small recommender", "embed", "rank", "users"),
    ("a toy climate column", "advect", "column", "cells"),
    ("options on a basket of assets", "discount", "basket", "paths"),
    ("contact forces of a gripper", "press", "grip", "fingers"),
    ("dose response of a drug panel", "bind", "panel", "assays"),
    ("a learned cost of a planner", "shape", "cost", "states"),
    ("spectra of a detector", "fold", "detector", "events"),
)

# Helpers of the model; each takes a vector to one of the same length.
_HELPERS = (
    ("squash", "    return v / (1.0 + v.abs())"),
    ("gate", "    weight = torch.sigmoid(v * CONFIG['gain'])\n    return v * weight + CONFIG['bias']"),
    ("centre", "    mean = v.mean()\n    return v - CONFIG['shrink'] * mean"),
    ("mix", "    kernel = torch.eye(v.shape[0], dtype=v.dtype) + 0.1\n    return kernel @ v"),
    ("roll_in", "    left = torch.roll(v, 1)\n    return 0.75 * v + 0.25 * left"),
    ("soften", "    if CONFIG['soft']:\n        return torch.nn.functional.softplus(v)\n    return v.clamp(min=0)"),
    ("wave", "    return v + 0.3 * torch.sin(2.0 * v)"),
)

_DEAD = (
    """
class History:
    def __init__(self, keep=10):
        self.keep = keep
        self.rows = []

    def add(self, step, **values):
        self.rows.append({"step": step, **values})
        self.rows = self.rows[-self.keep :]

    def last(self, name, default=float("nan")):
        return self.rows[-1].get(name, default) if self.rows else default
""",
    """
def describe(name, tensor):
    flat = tensor.detach().reshape(-1).double()
    low, high = flat.min().item(), flat.max().item()
    return f"{name:12s} {tuple(tensor.shape)!s:14s} {low:+.3f} .. {high:+.3f}"
""",
    """
def learning_rate(step, total=200, peak=3e-3):
    warm = max(1, total // 10)
    if step < warm:
        return peak * step / warm
    done = (step - warm) / (total - warm)
    return 0.5 * peak * (1 + math.cos(math.pi * done))
""",
    """
def clip(values, limit=5.0):
    norm = sum(float(v.norm()) ** 2 for v in values) ** 0.5
    if norm <= limit:
        return list(values)
    return [v * (limit / norm) for v in values]
""",
)

_CHECKS = {
    "close": "torch.testing.assert_close(got, want, rtol={rtol}, atol={atol})",
    "allclose": 'assert torch.allclose(got, want, rtol={rtol}, atol={atol}), "the two ways disagree"',
    "worst": (
        "worst = (got - want).abs().max().item()\nprint('largest difference', worst)\n"
        "if not worst < {wide}:\n    raise AssertionError(f'off by {{worst:.3e}}')"
    ),
    "rows": (
        "failed = []\nfor number, (a, b) in enumerate(zip(got, want)):\n"
        "    if not torch.allclose(a, b, rtol={rtol}, atol={atol}):\n        failed.append(number)\n"
        "assert not failed, f'rows {{failed}} differ'"
    ),
    "function": (
        "def verify(name, left, right, tolerance={wide}):\n    gap = (left - right).norm() / (right.norm() + 1e-12)\n"
        "    print(name, 'relative gap', gap.item())\n    assert gap < tolerance, name\n\n\n"
        "verify('transform', got, want)"
    ),
    "raise": (
        "if not torch.allclose(got, want, rtol={rtol}, atol={atol}):\n"
        "    raise RuntimeError(f'the results differ by {{(got - want).abs().max().item():.2e}}')"
    ),
    "quit": (
        "gap = (got - want).abs().max().item()\nprint('gap', gap)\nif not gap < {wide}:\n"
        "    sys.exit(f'FAILED: {{gap}}')"
    ),
    "exit": (
        "try:\n    torch.testing.assert_close(got, want, rtol={rtol}, atol={atol})\nexcept AssertionError as error:\n"
        "    print('MISMATCH', error)\n    sys.exit(1)"
    ),
}
_TOLERANCES = {"float32": ("1e-3", "1e-4", "1e-2"), "float64": ("1e-4", "1e-5", "1e-3")}


def draw(need: Need, seed: str) -> str:
    """The host program for ``need`` that ``seed`` gives, of 30 to 100 lines."""
    texts = (_drawn(need, random.Random(f"{seed} {number}")) for number in itertools.count())
    return next(text for text in texts if 30 <= text.count("\n") <= 100)


def _drawn(need: Need, chance: random.Random) -> str:
    theme, verb, noun, things = chance.choice(_THEMES)
    helpers = chance.sample(_HELPERS, chance.randint(2, 3))
    use = USES[need.use]
    dead = chance.sample(_DEAD, chance.randint(1, 2))
    parts = [f'"""Numbers behind {theme}: compares two ways to get them."""\n']
    parts.append("import math\nimport sys\n\nimport torch")
    if use.imports:
        parts.append(f"from torch.func import {', '.join(use.imports)}")
    parts.append(_config(need, things, chance))
    parts += [f"\n\ndef {name}(v):\n{body}" for name, body in helpers]
    parts += ["\n" + text.rstrip() for text in dead[:1]]
    parts.append("\n" + _core(need, verb, chance))
    parts.append("\n" + _model(verb, noun, [name for name, _ in helpers], chance))
    parts += ["\n" + text.rstrip() for text in dead[1:]]
    parts += ["\n" + HELPERS[name].rstrip() for name in use.helpers]
    parts.append("\n\n" + _data(need, things, chance))
    parts.append(use.got.strip("\n") if not use.got.startswith("\n") else "\n" + use.got)
    parts.append(use.want)
    if chance.random() < 0.6:
        parts.append(f"print({things!r}, tuple(got.shape), got.dtype)")
    rtol, atol, wide = _TOLERANCES[need.dtype]
    style = chance.choice([name for name in _CHECKS if name != "rows" or "vmap" in need.use])
    parts.append(_CHECKS[style].format(rtol=rtol, atol=atol, wide=wide))
    parts.append(f"print('{noun}: both ways agree')")
    return "\n".join(parts) + "\n"


def _config(need: Need, things: str, chance: random.Random) -> str:
    entries = {
        things: need.rows,
        "width": need.width,
        "depth": chance.randint(1, 2),
        "gain": round(chance.uniform(0.5, 1.5), 2),
        "bias": round(chance.uniform(0.05, 0.3), 2),
        "shrink": round(chance.uniform(0.1, 0.5), 2),
        "soft": chance.random() < 0.7,
        "seed": chance.randint(0, 99),
        "verbose": False,
    }
    body = "".join(f"    {name!r}: {value!r},\n" for name, value in entries.items())
    return f"\nCONFIG = {{\n{body}}}\nDTYPE = torch.{need.dtype}"


def _core(need: Need, verb: str, chance: random.Random) -> str:
    """The function that has the operator inside."""
    expression = need.expression.format(v="v")
    forms = (
        f"\ndef {verb}(v):\n    return {expression}",
        f"\ndef {verb}(v, scale=1.0):\n    out = {expression}\n    return scale * out",
        f"\ndef {verb}(v):\n    inner = {expression}\n    if CONFIG['verbose']:\n        print({verb!r}, inner)\n"
        "    return inner",
    )
    return chance.choice(forms)


def _model(verb: str, noun: str, helpers: Sequence[str], chance: random.Random) -> str:
    """``features`` and ``score``, by way of a function, a module or a table of steps."""
    first, *others = helpers
    steps = "".join(f"        v = {name}(v)\n" for name in others)
    weight = round(chance.uniform(0.3, 0.9), 2)
    score = f"\n\ndef score(v):\n    out = features(v)\n    return {chance.choice(_SCORES)}"
    if chance.random() < 0.34:
        names = ", ".join(helpers[1:]) + ","
        return (
            f"\nclass {noun.title()}(torch.nn.Module):\n    def __init__(self, depth, steps):\n"
            "        super().__init__()\n        self.depth = depth\n        self.steps = steps\n\n"
            f"    def forward(self, v):\n        for _ in range(self.depth):\n            v = {first}(v)\n"
            f"            for step in self.steps:\n                v = step(v)\n        return {verb}(v) * {weight}\n"
            f"\n\n{noun} = {noun.title()}(CONFIG['depth'], ({names}))\n\n\ndef features(v):\n    return {noun}(v)\n"
            + score
        )
    if chance.random() < 0.5:
        return (
            f"\ndef features(v):\n    for layer in range(CONFIG['depth']):\n        v = {first}(v)\n{steps}"
            f"    out = {verb}(v)\n    return {weight} * out + v\n" + score
        )
    table = ", ".join(f"{name!r}: {name}" for name in (first, *others))
    return (
        f"\nSTEPS = {{{table}}}\n\n\ndef features(v):\n    state = {{'v': v, 'seen': []}}\n"
        "    for name, step in STEPS.items():\n        state['v'] = step(state['v'])\n"
        f"        state['seen'].append(name)\n    return {verb}(state['v']) * {weight}\n" + score
    )


_SCORES = (
    "(out**2).sum()",
    "(out * torch.arange(1, out.shape[0] + 1, dtype=out.dtype)).sum()",
    "torch.logsumexp(out, 0) + out.sum()",
    "0.5 * out @ out + out[0]",
)


def _data(need: Need, things: str, chance: random.Random) -> str:
    shape = f"CONFIG[{things!r}], CONFIG['width']"
    if need.values == "zeros":  # nothing that a model does with a vector before the operator may hide them
        made = f"batch = torch.arange({need.rows * need.width}, dtype=DTYPE).reshape({shape}) % 3"
    elif chance.random() < 0.5:
        made = f"torch.manual_seed(CONFIG['seed'])\nbatch = torch.randn({shape}, dtype=DTYPE)"
    else:
        made = f"grid = torch.linspace(-1.5, 1.5, {need.rows * need.width}, dtype=DTYPE)\n"
        made += f"batch = torch.cos(3 * grid).reshape({shape}) + 0.1 * grid.reshape({shape})"
    if need.values == "positive":
        made += "\nbatch = batch.abs() + 0.5"
    return f"{made}\npoint = batch[1].clone()\ntangent = torch.linspace(0.5, 1.5, CONFIG['width'], dtype=DTYPE)"
