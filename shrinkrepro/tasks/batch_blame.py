"""What a comparison fails by, found before anything is reduced: operators, transforms, or the call of a transform.

Decision: a failing comparison says of itself only that two values differ, so its signature tells no bugs apart. But a
script that compares two ways to the same numbers still agrees with itself when an operator is exchanged in both ways;
an operator without which it passes is what the two ways differ by. A dozen forks of a warm server tell; a reduction
costs hundreds.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shrinkrepro.oracles.signature import EXCEPTION, EXIT, MISMATCH, Signature, program_line
from shrinkrepro.protocol import (
    CONTROL_FORWARD,
    CONTROL_REFERENCE,
    CONTROL_VMAP,
    NEUTRAL,
    OK,
    SANITIZE,
    Execution,
    Job,
)
from shrinkrepro.workers.pool import Pool

MOST = 60  # operators of one script that are tried
SECONDS = 60.0  # of a sanitized run
_DERIVATIVE = "derivative"
# Without them there is often no error to see, as they carry it, or without them values are lost: blamed last.
_CARRIERS = frozenset({"sum", "mean", "stack", "cat", "matmul", "__matmul__", "__rmatmul__", "dot"})
_ARITHMETIC = frozenset(
    {"add", "sub", "mul", "div", "true_divide", "neg", "rsub", "pow", "__add__", "__radd__", "__sub__", "__rsub__",
     "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__rdiv__", "__neg__", "__pow__", "__rpow__", "__getitem__",
     "reshape", "view", "unsqueeze", "squeeze", "expand", "clone", "to", "movedim", "select"}
)  # fmt: skip
_COMPARING = frozenset({"allclose", "isclose", "equal", "assert_close", "assert_equal", "assert_allclose"})
_WHERE = {"vmap": "under vmap", "forward": "in forward mode"}
_CONTROLS = {"vmap": CONTROL_VMAP, "forward": CONTROL_FORWARD, "all": CONTROL_REFERENCE}


@dataclass(frozen=True)
class Blame:
    """What a script needs in order to fail. All empty: not known."""

    operators: tuple[str, ...] = ()  # without any one of which it passes, short names
    transforms: tuple[str, ...] = ()  # which, replaced by loops or plain reverse mode, let it pass
    calls: tuple[str, ...] = ()  # of transforms that differ from their references, where no operator is to blame
    used: tuple[str, ...] = field(default=(), compare=False)  # operators that transforms reached

    @property
    def known(self) -> bool:
        """Whether it says what the script fails by."""
        return bool(self.operators or self.calls)

    def words(self) -> str:
        """What is to blame, in words; empty where it is not known."""
        if not self.operators:
            return "; ".join(self.calls)
        names = " or ".join(self.operators)
        where = [_WHERE[one] for one in self.transforms if one in _WHERE]
        return f"{names} {' and '.join(where)}" if where else f"the derivative of {names}"

    def wire(self) -> dict[str, Any]:
        """As JSON types."""
        return {name: list(getattr(self, name)) for name in ("operators", "transforms", "calls", "used")}

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> Blame:
        """The inverse of ``wire``."""
        return cls(**{name: tuple(values) for name, values in wire.items()})


def is_comparison(signature: Signature, execution: Execution, text: str) -> bool:
    """Whether it is the program's own check that fails, or torch's, and nothing in the library.

    ``execution`` is the run of ``text`` that failed so.
    """
    if signature.kind != EXCEPTION:
        return signature.kind in (MISMATCH, EXIT)
    if signature.where is not None or signature.levels or signature.own_work:
        return False
    line = program_line(execution)
    at = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and _covers(node, line)]
    inner = max(at, key=lambda node: node.lineno, default=None)
    if inner is None or isinstance(inner, ast.Raise):
        return inner is not None
    head = getattr(inner, "test", inner)  # of a branch: its condition alone
    return any(isinstance(node, ast.Attribute | ast.Name) and _name(node) in _COMPARING for node in ast.walk(head))


def _covers(node: ast.stmt, line: int | None) -> bool:
    return line is not None and node.lineno <= line <= (node.end_lineno or node.lineno)


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def blame(pool: Pool, text: str, limit: float) -> Blame:
    """What the comparison in ``text`` fails by; ``limit`` in seconds, of each run."""

    def run(*modes: str) -> list[Execution]:
        return pool.run([Job(text, mode, limit, alone=True) for mode in modes])

    [seen] = run(f"{NEUTRAL};;")
    reached = {str(found["operator"]): found["lines"] for found in seen.findings}
    controls = run(*_CONTROLS.values())
    transforms = tuple(name for name, execution in zip(_CONTROLS, controls) if execution.status == OK)
    if seen.status == OK or not transforms or not reached or len(reached) > MOST:
        return Blame((), transforms, (), _short(reached))
    lines = ",".join(map(str, sorted({line for those in reached.values() for line in those})))
    guilty = _passing(reached, run(*(f"{NEUTRAL};{lines};{name}" for name in reached)))
    names = [name for name in _short(guilty) if name not in _ARITHMETIC]
    if len(names) != 1:
        asked = guilty or list(reached)
        derived = _passing(asked, run(*(f"{NEUTRAL}{_DERIVATIVE};{lines};{name}" for name in asked)))
        # With a derivative alone exchanged values are kept, so arithmetic counts like any other operator.
        names = [name for name in _short(derived) if name not in _ARITHMETIC] or list(_short(derived)) or names
    operators = tuple(name for name in names if name not in _CARRIERS) or tuple(names)
    calls = () if operators else _calls(pool, text)
    return Blame(operators if operators or calls else _short(guilty), transforms, calls, _short(reached))


def _passing(names: Sequence[str] | Mapping[str, Any], runs: Sequence[Execution]) -> list[str]:
    return [name for name, execution in zip(names, runs) if execution.status == OK]


def _short(names: Sequence[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """``softmax`` for ``torch.Tensor.softmax`` and ``torch.nn.functional.softmax``: they are one operator."""
    return tuple(sorted({name.rpartition(".")[2] for name in names}))


def _calls(pool: Pool, text: str) -> tuple[str, ...]:
    """The statements in which a transform gives another value than its reference does, in canonical form."""
    [execution] = pool.run([Job(text, SANITIZE, SECONDS, alone=True)])
    lines = {int(found["line"]) for found in execution.findings if not found["file"]}
    statements = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign | ast.Return | ast.Expr | ast.Assert | ast.AnnAssign | ast.AugAssign)
    ]
    found = {_innermost(statements, line) for line in lines}
    values = [_value(node) for node in found if node is not None]
    return tuple(sorted(ast.unparse(value) for value in values if _is_special(value)))


def _is_special(value: ast.AST) -> bool:
    """Whether it has more than a plain ``vmap(f)(x)``, which any bug may show."""
    for node in ast.walk(value):
        name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if name in _SPECIAL or (isinstance(node, ast.Call) and name in _TRANSFORMS and node.keywords):
            return True
    return False


def _innermost(statements: Sequence[ast.stmt], line: int) -> ast.stmt | None:
    return max((node for node in statements if _covers(node, line)), key=lambda node: node.lineno, default=None)


def _value(node: ast.stmt) -> ast.AST:
    """The statement's expression with every name of the script's own put alike."""
    value = getattr(node, "value", None)
    return _Alike().visit(value if isinstance(value, ast.expr) else node)  # type: ignore[no-any-return]


class _Alike(ast.NodeTransformer):
    """Puts ``_`` for names; what is looked up in them (``torch.vmap``) and called as a function of torch's stays."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        kept = node.id in _TRANSFORMS
        return node if kept else ast.Name("_", node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg("_")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr in _TRANSFORMS:
            return ast.Name(node.attr, node.ctx)  # however it is spelled
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        large = type(node.value) in (int, float) and node.value not in (0, 1)
        return ast.Constant(2) if large else node  # a size


_SPECIAL = frozenset({"functional_call", "stack_module_state"})
_TRANSFORMS = frozenset(
    {"vmap", "grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize", "functional_call",
     "stack_module_state", "compile", "functionalize", "jacobian", "vhp", "hvp"}
)  # fmt: skip
