"""Scripts of any length around one failure: what ``make bench-growth`` reduces.

Decision: the failing part is the same at every length, and so is how many blocks it rests on; what grows is code
that runs beside it, before and after: classes, modules, tables, loops, training steps. Everything follows from a
seed, so that two machines reduce the same script.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

WHERE = 0.7  # of the script stands before the failing call
LINKS = 5  # blocks that the failing part's data passes through

HEAD = '''\
"""Study {seed}: fits, summaries and sensitivities of a family of small models."""
import json
import math
from collections import defaultdict
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.func import functional_call, grad, jvp, vmap

torch.manual_seed({seed})


@dataclass
class Settings:
    width: int = 4
    points: int = 6
    rate: float = 0.05
    names: list = field(default_factory=lambda: ["train", "test"])


settings = Settings()
report = defaultdict(list)
signal = torch.linspace(0.5, 2.0, settings.points)
'''

_NOUNS = ("flux", "mass", "drift", "phase", "load", "yield", "depth", "speed", "cost", "heat", "rain", "wind", "tide")
_VERBS = ("fit", "scale", "smooth", "score", "weigh", "track", "blend", "trace", "rate", "probe")


def _model(name: str, rng: random.Random) -> str:
    width = rng.choice((3, 4, 5))
    act = rng.choice(("tanh", "relu", "sigmoid", "softplus"))
    call = f"nn.functional.{act}" if act == "softplus" else f"torch.{act}"
    return f'''
class Net{name.title().replace("_", "")}(nn.Module):
    """A small model of {name}."""

    def __init__(self, width={width}):
        super().__init__()
        self.inner = nn.Linear(settings.width, width)
        self.outer = nn.Linear(width, 1)

    def forward(self, x):
        hidden = {call}(self.inner(x))
        return self.outer(hidden).squeeze(-1)


net_{name} = Net{name.title().replace("_", "")}()
rows_{name} = torch.randn(settings.points, settings.width)
with torch.no_grad():
    report["{name}"].append(float(net_{name}(rows_{name}).mean()))
'''


def _table(name: str, rng: random.Random) -> str:
    rows = "\n".join(
        f'    {{"key": "{rng.choice(_NOUNS)}", "low": {rng.randint(1, 9)}, "high": {rng.randint(10, 99)}}},'
        for _ in range(rng.randint(4, 8))
    )
    return f'''
TABLE_{name.upper()} = [
{rows}
]


def middle_of_{name}(rows=TABLE_{name.upper()}):
    total = 0.0
    for row in rows:
        if row["high"] > {rng.randint(20, 60)}:
            total += 0.5 * (row["low"] + row["high"])
        else:
            total += row["low"]
    return total / len(rows)


report["{name}"].append(middle_of_{name}())
'''


def _statistics(name: str, rng: random.Random) -> str:
    return f'''
def {rng.choice(_VERBS)}_{name}(values, order={rng.randint(2, 4)}):
    """Moments of {name}."""
    centred = values - values.mean()
    moments = []
    for power in range(1, order):
        moments.append((centred ** power).mean())
    if any(not math.isfinite(float(m)) for m in moments):
        raise ValueError("{name} is not finite")
    return torch.stack(moments)


class Summary{name.title().replace("_", "")}:
    def __init__(self, data):
        self.data = data
        self.low, self.high = data.min(), data.max()

    def span(self):
        return float(self.high - self.low)


summary_{name} = Summary{name.title().replace("_", "")}(torch.randn({rng.randint(4, 9)}) * {rng.randint(1, 5)})
report["{name}"].append(summary_{name}.span())
'''


def _fit(name: str, rng: random.Random) -> str:
    return f'''
weight_{name} = torch.zeros(settings.width, requires_grad=True)
inputs_{name} = torch.randn(settings.points, settings.width)
targets_{name} = inputs_{name}.sum(1) * {rng.randint(1, 4)}


def loss_{name}(weight, inputs, targets):
    residual = inputs @ weight - targets
    return (residual ** 2).mean()


for step in range({rng.randint(2, 4)}):
    (slope,) = torch.autograd.grad(loss_{name}(weight_{name}, inputs_{name}, targets_{name}), weight_{name})
    with torch.no_grad():
        weight_{name} -= settings.rate * slope
    if step % 2 == 0:
        report["{name}"].append(float(slope.norm()))
'''


def _per_sample(name: str, rng: random.Random) -> str:
    return f'''
def energy_{name}(x, stiffness={rng.randint(1, 9)}.0):
    return 0.5 * stiffness * (x ** 2).sum()


states_{name} = torch.randn(settings.points, {rng.randint(2, 4)})
forces_{name} = vmap(grad(energy_{name}))(states_{name})
report["{name}"].append(forces_{name}.abs().amax().item())
text_{name} = json.dumps({{"name": "{name}", "size": list(forces_{name}.shape)}})
'''


BLOCKS: tuple[Callable[[str, random.Random], str], ...] = (_model, _table, _statistics, _fit, _per_sample)


def _link(name: str, rng: random.Random) -> str:
    """A block that the failing part's data passes through."""
    return f'''
def prepare_{name}(values, factor=0.{rng.randint(5, 9)}):
    kept = values.clone()
    for _ in range({rng.randint(2, 4)}):
        kept = factor * kept + (1 - factor) * kept.mean()
    return kept


signal = prepare_{name}(signal)
report["{name}"].append(float(signal.sum()))
'''


_ITEM = """
class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        y = self.mix(x)
        if y.sum() > 0:
            return y
        return torch.zeros_like(y)


gate = Gate(settings.width)
weights = dict(gate.named_parameters())
batch = signal.unsqueeze(1).repeat(1, settings.width)


def gated_loss(weights, x):
    return functional_call(gate, weights, (x,)).square().sum()


slopes = vmap(grad(gated_loss), in_dims=(None, 0))(weights, batch)
report["gate"].append({name: float(slope.norm()) for name, slope in slopes.items()})
"""

_MISMATCH = """
size = 2


def precision(flat):
    lower = torch.tril(flat.reshape(size, size)) + 2 * torch.eye(size, dtype=flat.dtype)
    return torch.cholesky_inverse(lower)


point = signal[: size * size].double()
direction = torch.ones_like(point)
value, tangent = jvp(precision, (point,), (direction,))
step_size = 1e-6
plus, minus = precision(point + step_size * direction), precision(point - step_size * direction)
expected = (plus - minus) / (2 * step_size)
torch.testing.assert_close(tangent, expected, rtol=1e-3, atol=1e-3)
report["sensitivity"].append(float(tangent.norm()))
"""

_FUNCTION = """
class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(x, step):
        return torch.round(x / step) * step

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, step = inputs
        ctx.save_for_backward(x)
        ctx.step = step

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return upstream * (x.abs() < 10 * ctx.step), None


class Quantiser:
    def __init__(self, step):
        self.step = step

    def __call__(self, x):
        return StraightThrough.apply(x, self.step)


quantiser = Quantiser(step=0.25)


def rounding_error(x):
    return (quantiser(x) - x).square().sum()


errors = vmap(rounding_error)(signal.reshape(2, -1))
report["rounding"].append(errors.tolist())
"""

FAILURES = {"item": _ITEM, "mismatch": _MISMATCH, "function": _FUNCTION}

TAIL = """
for key, values in sorted(report.items()):
    print(key, len(values), values[:2])
"""


@dataclass(frozen=True)
class Script:
    """A generated script."""

    failure: str
    lines: int
    source: str


def make(failure: str, lines: int, seed: int = 0) -> Script:
    """A script of about ``lines`` lines (never fewer than the failing part needs) around one of ``FAILURES``.

    Raises:
        ValueError: there is no such failure.
    """
    if failure not in FAILURES:
        raise ValueError(f"no failure is called {failure!r}; there are {', '.join(FAILURES)}")
    rng = random.Random(f"{seed} {lines}")
    failing = FAILURES[failure]
    head = HEAD.format(seed=seed)
    room = lines - sum(text.count("\n") for text in (head, failing, TAIL)) - LINKS * _link("x", rng).count("\n")
    blocks: list[str] = []
    while room > 0:
        name = f"{rng.choice(_NOUNS)}_{len(blocks)}"
        block = rng.choice(BLOCKS)(name, rng)
        room -= block.count("\n") + 1  # and the line that joins it to the next
        blocks.append(block)
    place = round(WHERE * len(blocks))
    before, after = blocks[:place], blocks[place:]
    for k in range(LINKS):
        before.insert(round((k + 0.5) / LINKS * len(before)), _link(f"stage_{k}", random.Random(k)))
    text = "\n".join([head, *before, failing, *after, TAIL])
    return Script(failure, text.count("\n"), text)
