"""Raises the messages of torch's transforms for real, each twice with other shapes, names and levels; prints JSON.

Run by test_normalise.py in a target interpreter. One line an entry: ``[entry, type, message, message]``.
"""

import json
import warnings

import torch
import torch.autograd.forward_ad as fw
from torch.func import grad, jacrev, jvp, vjp, vmap

warnings.simplefilter("ignore")


def function(name, **methods):
    """A new-style autograd.Function that clones, of that name and with these static methods."""
    body = {
        "forward": staticmethod(lambda x: x.clone()),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
    }
    body.update({key: m if isinstance(m, bool) else staticmethod(m) for key, m in methods.items()})
    return type(name, (torch.autograd.Function,), body)


def old_style(name):
    return type(name, (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x.clone())})


def nested(f, n):
    """``f`` under n further levels of vmap, and an input that has the dimensions for them."""
    for _ in range(n):
        f = vmap(f)
    return f


def leak(*shape):
    seen = []
    vmap(seen.append, out_dims=None)(torch.ones(*shape))
    return seen[0] + 1


def inplace_error(*shape):
    x = torch.ones(*shape, requires_grad=True)
    y = x.sigmoid()
    y.mul_(2)
    y.sum().backward()


def escaped_dual(*shape):
    with fw.dual_level(), fw.dual_level():
        pass


def captured(*shape):
    y = torch.ones(*shape)
    return lambda x: y.add_(x)


def one_hot(n):
    return vmap(lambda i: torch.nn.functional.one_hot(i))(torch.zeros(n, 2, dtype=torch.long))


def wrong_vmap_rule(name, *shape):
    vmap(function(name, vmap=lambda info, dims, x: x).apply)(torch.ones(*shape))


def forward_ad_size(*shape):
    with fw.dual_level():
        fw.make_dual(torch.ones(*shape), torch.ones(7))


def inner_shape(a, b):
    torch.compile(lambda x: jvp(lambda x: x @ torch.ones(b), (x,), (x,)), backend="eager")(torch.ones(a))


ones = torch.ones
CATALOGUE = {
    "item": (lambda: vmap(lambda x: x.item())(ones(3)), lambda: nested(lambda y: float(y), 2)(ones(2, 4))),
    "control flow": (
        lambda: vmap(lambda x: x if x else 2 * x)(ones(3)),
        lambda: vmap(vmap(lambda v: v if v > 0 else -v))(ones(2, 5)),
    ),
    "control flow within grad": (
        lambda: vmap(grad(lambda x: x if x else 2 * x))(ones(3)),
        lambda: vmap(vmap(grad(lambda v: v if v > 0 else -v)))(ones(2, 5)),
    ),
    "dynamic shape": (lambda: vmap(torch.nonzero)(ones(3, 2)), lambda: vmap(vmap(torch.nonzero))(ones(3, 2, 4))),
    "dynamic shape of unique": (
        lambda: vmap(torch.Tensor.unique)(ones(3, 2)),
        lambda: vmap(lambda y: torch.unique(y))(ones(2, 4)),
    ),
    "mask": (lambda: vmap(lambda x: x[x > 0])(ones(3, 2)), lambda: vmap(vmap(lambda y: y[y > 1]))(ones(2, 2, 4))),
    "random": (lambda: vmap(lambda x: x + torch.rand(2))(ones(3, 2)), lambda: vmap(torch.rand_like)(ones(5))),
    "inplace into unbatched": (
        lambda: vmap(ones(2).copy_)(ones(3, 2)),
        lambda: vmap(vmap(ones(4).copy_))(ones(3, 2, 4)),
    ),
    "allclose": (lambda: vmap(torch.allclose)(ones(2, 1), ones(2, 1)), lambda: vmap(torch.allclose)(ones(5), ones(5))),
    "one_hot": (lambda: one_hot(3), lambda: one_hot(5)),
    "no batching rule": (
        lambda: vmap(torch.nn.GRU(1, 1))(ones(2, 1, 1)),
        lambda: vmap(torch.nn.GRU(3, 2))(ones(4, 2, 3)),
    ),
    "captured": (lambda: grad(captured(1))(ones(1)), lambda: vmap(grad(captured(2, 3)))(ones(4, 2, 3))),
    "requires_grad_": (
        lambda: grad(lambda x: x.requires_grad_())(ones(())),
        lambda: vmap(grad(lambda y: y.requires_grad_().sum()))(ones(2, 3)),
    ),
    "forward AD": (
        lambda: jvp(torch.nn.LSTM(1, 1), (ones(1, 1),), (ones(1, 1),)),
        lambda: jvp(torch.nn.LSTM(3, 2), (ones(4, 3),), (ones(4, 3),)),
    ),
    "tangent size": (lambda: forward_ad_size(2), lambda: forward_ad_size(3, 4)),
    "nested dual": (lambda: escaped_dual(1), lambda: escaped_dual(2, 2)),
    "old style": (lambda: grad(old_style("A").apply)(ones(())), lambda: vmap(old_style("Square").apply)(ones(3, 2))),
    "no vmap": (lambda: vmap(function("A").apply)(ones(3)), lambda: vmap(function("Square").apply)(ones(5, 2))),
    "both rules": (
        lambda: vmap(function("A", generate_vmap_rule=True, vmap=lambda i, d, x: (x, 0)).apply)(ones(3)),
        lambda: vmap(function("Square", generate_vmap_rule=True, vmap=lambda i, d, x: (x, 0)).apply)(ones(2, 2)),
    ),
    "two returns": (lambda: wrong_vmap_rule("A", 3), lambda: wrong_vmap_rule("Square", 4, 2)),
    "no jvp": (
        lambda: jvp(function("A").apply, (ones(1),), (ones(1),)),
        lambda: jvp(function("Square").apply, (ones(2, 3),), (ones(2, 3),)),
    ),
    "gradients": (
        lambda: grad(lambda x: function("A", backward=lambda ctx, g: (g, g)).apply(x).sum())(ones(3)),
        lambda: grad(lambda y: function("Square", backward=lambda ctx, g: (g, g)).apply(y).sum())(ones(4, 2)),
    ),
    "gradient shape": (
        lambda: grad(lambda x: function("A", backward=lambda ctx, g: g[0]).apply(x).sum())(ones(3, 2)),
        lambda: grad(lambda y: function("Square", backward=lambda ctx, g: g[0]).apply(y).sum())(ones(4, 3, 5)),
    ),
    "returned as is": (
        lambda: grad(
            function("A", forward=lambda x: x, setup_context=lambda ctx, i, o: ctx.save_for_backward(o)).apply
        )(ones(())),
        lambda: vjp(
            function("Square", forward=lambda x: x, setup_context=lambda ctx, i, o: ctx.save_for_backward(o)).apply,
            ones(2, 3),
        ),
    ),
    "no scalar": (lambda: grad(lambda x: x * 2)(ones(3)), lambda: grad(lambda y: y + 1)(ones(2, 4))),
    "sizes differ": (
        lambda: vmap(torch.add)(ones(2, 3), ones(4, 3)),
        lambda: vmap(lambda a, b: a * b)(ones(5), ones(7)),
    ),
    "in_dim": (
        lambda: vmap(torch.sin, in_dims=4)(ones(2, 3)),
        lambda: vmap(lambda y: y, in_dims=7)(ones(5)),
    ),
    "in_dims structure": (
        lambda: vmap(lambda d: d["a"], in_dims=({"b": 0},))({"a": ones(2)}),
        lambda: vmap(lambda d: d["xx"], in_dims=({"y": 0},))({"xx": ones(3, 2)}),
    ),
    "no tensor output": (lambda: vmap(lambda x: 1)(ones(2)), lambda: vmap(vmap(lambda y: 7))(ones(3, 2))),
    "storage": (
        lambda: vmap(lambda x: x.untyped_storage())(ones(3)),
        lambda: vmap(vmap(lambda y: y.untyped_storage()))(ones(2, 3)),
    ),
    "numpy": (lambda: vmap(lambda x: x.data_ptr())(ones(3)), lambda: vmap(vmap(lambda y: y.data_ptr()))(ones(2, 3))),
    "no grad": (lambda: torch.autograd.grad(ones(1), ones(1)), lambda: torch.autograd.grad(ones(()), ones(3, 2))),
    "modified in place": (lambda: inplace_error(3), lambda: inplace_error(4, 2)),
    "broadcast": (lambda: vmap(lambda x: x + ones(3))(ones(2, 2)), lambda: vmap(lambda y: ones(5) + y)(ones(7, 4))),
    "matmul": (lambda: ones(2, 3) @ ones(2, 3), lambda: ones(5, 4) @ ones(7, 1)),
    "dtypes": (
        lambda: ones(2, 2) @ ones(2, 2).double(),
        lambda: ones(3, 5) @ ones(5, 4).double(),
    ),
    "escaped": (lambda: leak(3), lambda: leak(4, 2)),
    "complex": (
        lambda: jacrev(lambda x: x)(ones(2, dtype=torch.cfloat)),
        lambda: jacrev(lambda x: x)(ones(3, 4, dtype=torch.cfloat)),
    ),
    "compiled": (lambda: inner_shape(1, 3), lambda: inner_shape(2, 5)),
}


def raised(thunk):
    try:
        thunk()
    except Exception as error:
        return error
    return None


for entry, thunks in CATALOGUE.items():
    first, second = map(raised, thunks)
    kinds = sorted({f"{type(error).__module__}.{type(error).__qualname__}" for error in (first, second)})
    print(json.dumps([entry, kinds, str(first), str(second)]), flush=True)
