"""The task behind ``--function``: put a function under transforms, compare it with its reference, reduce what differs.

Decision: the function's call becomes the last lines of the script's own text, and from there on it is a script like any
other: the same reduction, the same controls, the same result file.
"""

from __future__ import annotations

import ast
import shlex
from dataclasses import dataclass, replace

from shrinkrepro import session
from shrinkrepro.core.function_call import FunctionCall, read_call
from shrinkrepro.core.function_text import Observed
from shrinkrepro.core.function_values import TensorValue, Value
from shrinkrepro.core.transform_spec import ALL, TRIED, parse_transform, written
from shrinkrepro.errors import NotFailingError, UsageError
from shrinkrepro.session import Progress, Reduction, Request
from shrinkrepro.session.original import read_script
from shrinkrepro.tasks import check as checks
from shrinkrepro.tasks.check import CheckResult
from shrinkrepro.tasks.function_probe import Probed
from shrinkrepro.tasks.function_trials import AGREES, FAILS, NO_REFERENCE, NOT_APPLICABLE, ROUNDING, Trial, Trials
from shrinkrepro.tasks.inputs import checked

SECONDS = 60.0  # what one of all transforms may take when no --timeout is given


@dataclass(frozen=True)
class Under:
    """A function under a transform, as a user asks for it: texts, in the names of the script."""

    function: str
    transform: str
    inputs: str | None = None
    in_dims: str | None = None
    argnums: str | None = None
    tangents: str | None = None


@dataclass(frozen=True)
class TransformRow:
    """How the function fared under one transform. ``outcome`` is one of ``function_trials``' words."""

    transform: str
    outcome: str
    detail: str = ""
    command: str = ""  # to type next, where it fails


@dataclass(frozen=True)
class TransformsResult:
    """What every transform did to a function."""

    function: str
    rows: tuple[TransformRow, ...]

    @property
    def failing(self) -> int:
        """Under how many transforms it fails."""
        return sum(row.outcome == FAILS for row in self.rows)


def reduce(request: Request, under: Under, progress: Progress) -> Reduction:
    """Reduce the failure of a function under a transform.

    Raises:
        ShrinkReproError: the request cannot work, or the function agrees with its reference.
    """
    return session.run(_prepared(request, under, progress), progress)


def check(request: Request, under: Under, progress: Progress) -> CheckResult:
    """Say how a function fails under a transform.

    Raises:
        ShrinkReproError: the request cannot work, or the function agrees with its reference.
    """
    return checks.check(_prepared(request, under, progress), progress)


def _prepared(request: Request, under: Under, progress: Progress) -> Request:
    """The request for the script with the call at its end, which fails."""
    request = checked(request)
    if request.differs is not None:
        raise UsageError(
            "--function and --differs do not go together", "compare a function, or two values of the script"
        )
    script = read_script(request)
    transforms = parse_transform(under.transform)
    call = _read(script.text, under, transforms)
    progress.phase(f"looking at {under.function}")
    with Trials(request) as trials:
        depth = transforms.count("vmap")
        observed = trials.probe(call, (depth,)).observed(call, depth)
        progress.phase(f"putting it under {written(transforms)}")
        [trial] = trials.try_calls([(call, observed)])
    if trial.outcome == NOT_APPLICABLE:
        raise UsageError(trial.detail, trial.hint)
    if trial.outcome == AGREES:
        raise NotFailingError(
            f"{call.name} agrees with its reference",
            "try other inputs, or --transform all to see which transforms fail",
        )
    if trial.outcome == NO_REFERENCE:
        raise NotFailingError(
            f"{call.name} runs, and has no reference to compare with, as plain autograd raises: {trial.detail}",
            "compare it in the script with a value that you know, by torch.testing.assert_close",
        )
    if trial.outcome == ROUNDING:
        raise NotFailingError(
            f"{call.name} and its reference differ by rounding alone: {trial.detail}",
            "give float64 inputs to be sure; a comparison of your own in the script is reduced all the same",
        )
    return replace(request, text=trial.text)


def _read(text: str, under: Under, transforms: tuple[str, ...], inputs: str | None = None) -> FunctionCall:
    in_dims = under.in_dims if "vmap" in transforms or under.transform != ALL else None
    return read_call(text, under.function, inputs or under.inputs, transforms, in_dims, under.argnums, under.tangents)


def try_all(request: Request, under: Under, progress: Progress) -> TransformsResult:
    """Try every transform on a function, each in one query.

    Raises:
        ShrinkReproError: the request cannot work.
    """
    request = checked(request)
    _read(read_script(request).text, under, ("vmap",))  # what is wrong with it is told at once
    progress.phase(f"looking at {under.function}")
    with Trials(request, SECONDS) as trials:
        return all_of(trials, request, under, progress)


def all_of(trials: Trials, request: Request, under: Under, progress: Progress) -> TransformsResult:
    """``try_all`` on a server that runs already."""
    text = trials.script.text
    first = _read(text, under, ("vmap",))
    probed = trials.probe(first, (0, 1))
    if 0 in probed.errors and 1 in probed.errors:
        probed.observed(first, 0)
    progress.phase(f"putting it under {len(TRIED)} transforms")
    calls = [_fitted(text, under, transforms, first, probed) for transforms in TRIED]
    tried = trials.try_calls([pair for pair in calls if pair is not None])
    return TransformsResult(under.function, tuple(_row(request, under, trial) for trial in tried))


def _fitted(
    text: str, under: Under, transforms: tuple[str, ...], given: FunctionCall, probed: Probed
) -> tuple[FunctionCall, Observed] | None:
    """The call under ``transforms`` of inputs as they are, batched or one sample, as the transforms need them."""
    depth = transforms.count("vmap")
    batched = 0 in probed.errors or under.in_dims is not None
    have = 1 if batched else 0
    output = probed.outputs[have]
    values = probed.inputs
    if depth == have:
        return _read(text, under, transforms), Observed(values, output, probed.changes)
    if depth < have:
        pairs = [_sample(e, v, d) for e, v, d in zip(given.inputs, values, given.in_dims or ("auto",) * len(values))]
    else:
        pairs = [_batch(e, v, depth - have) for e, v in zip(given.inputs, values)]
    expressions = [expression for expression, _ in pairs] + [f"{key}={value}" for key, value in given.keywords]
    call = _read(text, replace(under, in_dims=None), transforms, ", ".join(expressions))
    if depth > have and any(expression == old for (expression, _), old in zip(pairs, given.inputs)):
        if depth > 1 and batched:
            return None  # what is mapped at each level would differ
        call = replace(call, in_dims=tuple(None if e == old else 0 for (e, _), old in zip(pairs, given.inputs)))
    return call, Observed(tuple(value for _, value in pairs), output, probed.changes)


def _sample(expression: str, value: Value, dim: object) -> tuple[str, Value]:
    """The first sample of a batch."""
    if not isinstance(value, TensorValue) or dim is None or not value.shape:
        return expression, value
    at = dim % len(value.shape) if isinstance(dim, int) else 0
    shape = value.shape[:at] + value.shape[at + 1 :]
    text = expression if _is_primary(expression) else f"({expression})"
    return f"{text}[0]" if at == 0 else f"{text}.select({at}, 0)", replace(value, shape=shape)


def _batch(expression: str, value: Value, depth: int) -> tuple[str, Value]:
    """A batch of an input: it, its half, and so on, which stays in the domain of most functions."""
    if not isinstance(value, TensorValue):
        return expression, value
    if value.dtype == "bool":
        samples = [expression, f"~({expression})"] * depth
    else:
        by = "/" if value.floating or value.complex else "//"
        name = expression if _is_primary(expression) else f"({expression})"
        samples = [expression, *(f"{name} {by} {k}" for k in range(2, 2**depth + 1))]
    text = f"torch.stack([{', '.join(samples)}])"
    sizes = (2,) * depth
    return text if depth == 1 else f"{text}.unflatten(0, {sizes})", replace(value, shape=sizes + value.shape)


def _is_primary(expression: str) -> bool:
    return isinstance(ast.parse(expression, mode="eval").body, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def _row(request: Request, under: Under, trial: Trial) -> TransformRow:
    return TransformRow(
        written(trial.call.transforms),
        trial.outcome,
        trial.detail.removeprefix(f"{trial.call.name}: "),
        _command(request, under, trial.call) if trial.outcome == FAILS else "",
    )


def _command(request: Request, under: Under, call: FunctionCall) -> str:
    """What to type to reduce one failing call."""
    words = ["shrinkrepro", "reduce"]
    words += ["-m", request.module] if request.module is not None else [str(request.script)]
    words += ["--function", call.function, "--transform", written(call.transforms)]
    words += ["--inputs", ", ".join([*call.inputs, *(f"{key}={value}" for key, value in call.keywords)])]
    if call.in_dims is not None:
        words += ["--in-dims", ", ".join(map(str, call.in_dims))]
    for option, value in (("--argnums", under.argnums), ("--tangents", under.tangents)):
        words += [option, value] if value is not None else []
    for option, path in (("--python", request.python), ("--device", request.device), ("--preload", request.preload)):
        words += [option, str(path)] if path is not None else []
    return shlex.join([*words, *(["--", *request.args] if request.args else [])])
