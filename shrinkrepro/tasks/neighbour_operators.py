"""Neighbours with another operator in the place of each that the program calls.

Decision: operators that are called alike stand in one family; what is in none is exchanged for a plain operator with as
many tensors, so that also an operator that nobody has listed is told apart from its surroundings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.tasks.neighbour_text import FACTORIES, Neighbour, Text

_FAMILIES = (
    ("exp", "sin", "tanh", "abs", "sqrt", "sigmoid", "erf", "relu", "floor", "sign", "log", "cos"),
    ("sum", "mean", "prod", "amax", "logsumexp", "median", "var", "std", "cumsum", "cumprod"),
    ("add", "mul", "sub", "div", "maximum", "atan2", "pow", "fmod"),
    ("nn.GRU", "nn.LSTM", "nn.RNN"),
    ("nn.BatchNorm1d", "nn.InstanceNorm1d"),
    ("nn.BatchNorm2d", "nn.InstanceNorm2d"),
    ("nn.BatchNorm3d", "nn.InstanceNorm3d"),
    ("nn.LayerNorm", "nn.RMSNorm"),
    ("nn.functional.softmax", "nn.functional.log_softmax", "nn.functional.softmin"),
    ("nn.functional.gelu", "nn.functional.silu", "nn.functional.elu", "nn.functional.relu"),
    ("nn.functional.mse_loss", "nn.functional.l1_loss", "nn.functional.smooth_l1_loss"),
    ("nn.functional.dropout", "nn.functional.alpha_dropout"),
    ("linalg.svd", "linalg.qr"),
    ("linalg.inv", "linalg.cholesky", "linalg.matrix_exp", "cholesky_inverse"),
    ("linalg.eigh", "linalg.eig"),
    ("bernoulli", "clone"),
    ("sort", "unique_consecutive", "unique"),
    ("matmul", "mm", "bmm"),
    ("cdist", "matmul"),
)
_PLAIN = {1: ("exp", "clone"), 2: ("mul", "add")}  # by the number of tensors
_METHODS = {"item": "sum", "tolist": "sum", "numpy": "sum", "nonzero": "exp", "unique": "exp"}
_NO_OPERATORS = ("torch.testing", "torch.func", "torch.autograd", "torch._", "torch.utils", "torch.library",
                 "torch.manual_seed", "torch.set_", "torch.Generator", "torch.no_grad", "torch.compile",
                 "torch.vmap", "torch.allclose", "torch.amp", "torch.autocast", "torch.ones_like",
                 "torch.zeros_like", "torch.nn.Parameter")  # fmt: skip
_DTYPES = frozenset({"float", "double", "half", "int", "long", "short", "bool", "strided", "sparse_coo", "device",
                     "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
                     "complex64", "complex128", "cfloat", "cdouble"})  # fmt: skip
_OTHERS = 3  # of one family that are tried
_MOST = 8  # operators of one program


def operators(text: Text) -> list[tuple[ast.expr, str]]:
    """The operators that the program names, each node with its full name; a custom Function's ``apply`` among them."""
    found: list[tuple[ast.expr, str]] = []
    inner = {id(node.value) for node in ast.walk(text.tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        name = text.dotted(node) if id(node) not in inner else ""
        if isinstance(node, ast.Attribute) and node.attr == "apply" and isinstance(node.value, ast.Name) and not name:
            found.append((node, f"{node.value.id}.apply"))
        elif name.startswith("torch.") and _is_operator(text, node, name):
            found.append((node, name))
    return sorted(found, key=lambda pair: text.span(pair[0])[0])


def operator_neighbours(text: Text) -> Iterator[Neighbour]:
    """One operator exchanged at a time."""
    for node, name in operators(text)[:_MOST]:
        short = name.removeprefix("torch.")
        for other in _others(text, node, short):
            title = f"torch.{other} in place of {name}"
            yield Neighbour("operator", title, text.replaced({node: f"{text.torch}.{other}"}))
    for call in ast.walk(text.tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and not call.args:
            method = call.func.attr
            if method in _METHODS and not text.dotted(call.func):
                new = f"{text.of(call.func.value)}.{_METHODS[method]}()"
                yield Neighbour("operator", f"{_METHODS[method]}() in place of {method}()", text.replaced({call: new}))


def _others(text: Text, node: ast.expr, short: str) -> list[str]:
    for family in _FAMILIES:
        if short in family:
            return [other for other in family if other != short][:_OTHERS]
    call = text.parents.get(node)
    if short.startswith("nn.") and short.rpartition(".")[2][:1].isupper():
        return ["nn.Identity"]  # it takes whatever a module is made with
    if not isinstance(call, ast.Call) or call.func is not node:
        return list(_PLAIN[1])  # given to a transform by name
    if call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    return list(_PLAIN.get(len(call.args), ()))


def _is_operator(text: Text, node: ast.expr, name: str) -> bool:
    last = name.rpartition(".")[2]
    if name.startswith(_NO_OPERATORS) or (last in FACTORIES | _DTYPES and name.count(".") == 1):
        return False
    return isinstance(text.parents.get(node), ast.Call)  # called, or given to a transform
