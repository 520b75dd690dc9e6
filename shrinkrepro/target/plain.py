"""Plain stand-ins for the transforms: each runs the function as it is and gives zeros of the right shapes.

Decision: a stand-in takes what the real transform would refuse (outputs that are no tensors), for the question is
whether the program is healthy when nothing is transformed. But a program in which nothing is transformed any more, or
whose function has no result, is not: ``strict`` refuses those, where the original has none of them.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

strict = False  # refuse transforms without inputs, functions without a result, and gradients of what is no scalar

turns_allowed = 4096  # of all loops of one run; after that a loop runs one sample and repeats its result
loop_depth = 0  # how many vmap loops are running: there, a graph is used once per turn
turns_made = 0


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: Optional[int] = None,
) -> Callable[..., Any]:
    """vmap by a Python loop over the batch, and stack."""

    def looped(*args: Any, **kwargs: Any) -> Any:
        from torch._functorch.vmap import _process_batched_inputs

        size, flat_dims, flat_args, spec = _process_batched_inputs(in_dims, args, func)
        turns: List[Any] = []
        random_state = torch.get_rng_state() if randomness == "same" else None
        global loop_depth, turns_made
        loop_depth += 1
        try:
            for i in range(max(1, size)):
                turns_made += 1
                if turns and turns_made > turns_allowed:
                    turns.extend(turns[-1:] * (size - i))
                    break
                if random_state is not None:
                    torch.set_rng_state(random_state)
                sample = [a if d is None else _sample(a, d, i, size) for a, d in zip(flat_args, flat_dims)]
                output = func(*tree_unflatten(sample, spec), **kwargs)
                turns.append(output if out_dims is None else _result(output))
        finally:
            loop_depth -= 1
        return _stack(turns, out_dims, size)

    return _named(looped, func)


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """grad: the function is run, the gradient is zero."""

    def run(*args: Any, **kwargs: Any) -> Any:
        output, aux = _split(differentiable(func, args, kwargs), has_aux)
        zeros = _zeros_like(_chosen(args, argnums), _scalar(output))
        return (zeros, aux) if has_aux else zeros

    return _named(run, func)


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """grad_and_value: the value, and a zero gradient."""

    def run(*args: Any, **kwargs: Any) -> Any:
        result = differentiable(func, args, kwargs)
        output, _ = _split(result, has_aux)
        return _zeros_like(_chosen(args, argnums), _scalar(output)), result

    return _named(run, func)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """vjp: the output, and a pullback that gives zeros."""
    output, aux = _split(differentiable(func, _inputs(primals), {}), has_aux)
    _result(output)

    def pullback(*cotangents: Any, **kwargs: Any) -> Any:
        return _zeros_like(primals, output)

    return (output, pullback, aux) if has_aux else (output, pullback)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """jvp: the output, and a zero tangent."""
    output, aux = _split(func(*_inputs(primals)), has_aux)
    zeros = _zeros_like(_result(output), output)
    return (output, zeros, aux) if has_aux else (output, zeros)


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """linearize: the output, and a function that gives zeros."""
    output = _result(func(*_inputs(primals)))
    return output, lambda *tangents: _zeros_like(output, output)


def jacrev(func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """jacrev: a zero Jacobian."""
    return _jacobian(func, argnums, has_aux, differentiable)


def jacfwd(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """jacfwd: a zero Jacobian."""
    return _jacobian(func, argnums, has_aux, _as_it_is)


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """hessian, as torch composes it."""
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """functionalize is the identity."""
    return func


def compile(model: Any = None, *args: Any, **options: Any) -> Any:
    """torch.compile is the identity; also as a decorator with options."""
    return (lambda function: function) if model is None else model


def autograd_jacobian(func: Callable[..., Any], inputs: Any, *args: Any, **options: Any) -> Any:
    """torch.autograd.functional.jacobian: zeros."""
    output = _on_inputs(func, inputs)
    rows = tuple(tuple(_block(o, i) for i in _tuple(inputs)) for o in _tuple(output))
    if not isinstance(inputs, tuple):
        rows = tuple(row[0] for row in rows)
    return rows if isinstance(output, tuple) else rows[0]


def autograd_hessian(func: Callable[..., Any], inputs: Any, *args: Any, **options: Any) -> Any:
    """torch.autograd.functional.hessian: zeros."""
    _on_inputs(func, inputs)
    if not isinstance(inputs, tuple):
        return _block(inputs, inputs)
    return tuple(tuple(_block(a, b) for b in inputs) for a in inputs)


def autograd_pull(func: Callable[..., Any], inputs: Any, *args: Any, **options: Any) -> Any:
    """torch.autograd.functional.vjp, vhp and hvp: the output, and zeros like the inputs."""
    output = _on_inputs(func, inputs)
    return output, _zeros_like(inputs, output)


def autograd_push(func: Callable[..., Any], inputs: Any, *args: Any, **options: Any) -> Any:
    """torch.autograd.functional.jvp: the output, and zeros like it."""
    output = _on_inputs(func, inputs)
    return output, _zeros_like(output, output)


def keep_graph(original: Callable[..., Any], position: int) -> Callable[..., Any]:
    """``torch.autograd.grad`` or ``backward`` that keeps the graph inside a loop, where vmap used it once."""

    def run(*args: Any, **kwargs: Any) -> Any:
        looped = loop_depth or kwargs.get("is_grads_batched")
        if looped and len(args) <= position and kwargs.get("retain_graph") is None:
            kwargs["retain_graph"] = True
        return original(*args, **kwargs)

    return functools.wraps(original)(run)


def make_dual(original: Callable[..., Any]) -> Callable[..., Any]:
    """forward_ad.make_dual for a program: the tensor without its tangent. Torch's own calls go on as they are."""

    def run(tensor: Any, tangent: Any, *, level: Any = None) -> Any:
        if _caller_is_torch():
            return original(tensor, tangent, level=level)
        return tensor.view_as(tensor)

    return functools.wraps(original)(run)


def unpack_dual(original: Callable[..., Any]) -> Callable[..., Any]:
    """forward_ad.unpack_dual for a program: the tensor, and inside a dual level a zero tangent."""

    def run(tensor: Any, *, level: Any = None) -> Any:
        from torch.autograd import forward_ad

        if _caller_is_torch() or forward_ad._current_level < 0:  # printing a tensor unpacks it
            return original(tensor, level=level)
        return forward_ad.UnpackedDualTensor(tensor, torch.zeros_like(tensor))

    return functools.wraps(original)(run)


def _caller_is_torch() -> bool:
    return str(sys._getframe(2).f_globals.get("__name__", "")).partition(".")[0] == "torch"


def _jacobian(
    func: Callable[..., Any], argnums: Any, has_aux: bool, run_function: Callable[..., Any]
) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        output, aux = _split(run_function(func, args, kwargs), has_aux)
        _result(output)
        chosen = _chosen(args, argnums)
        result = tree_map(lambda o: tree_map(lambda i: _block(o, i), chosen), output)
        return (result, aux) if has_aux else result

    return _named(run, func)


def _inputs(primals: Any) -> Any:
    if strict and not primals:
        raise ValueError("nothing is transformed: there are no inputs")
    return primals


def _result(output: Any) -> Any:
    if strict and all(leaf is None for leaf in tree_flatten(output)[0]):
        raise ValueError("the transformed function has no result")
    return output


def _scalar(output: Any) -> Any:
    if strict and isinstance(output, torch.Tensor) and output.dim():
        raise ValueError("the gradient of a tensor of shape %s" % (tuple(output.shape),))
    return _result(output)


def _as_it_is(func: Callable[..., Any], args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    return func(*args, **kwargs)


def differentiable(func: Callable[..., Any], args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    """Run ``func``; if it differentiates its inputs itself, as it may inside a reverse-mode transform, let them
    require a gradient."""
    try:
        return func(*args, **kwargs)
    except RuntimeError as error:
        if "does not require grad" not in str(error) and "to not have been used" not in str(error):
            raise
    return func(*tree_map(_tracked, tuple(args)), **kwargs)


def _tracked(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not value.requires_grad and _can_require_grad(value):
        return value.detach().requires_grad_().clone()
    return value


def _can_require_grad(value: torch.Tensor) -> bool:
    return bool(value.is_floating_point() or value.is_complex())


def _on_inputs(func: Callable[..., Any], inputs: Any) -> Any:
    return differentiable(func, _tuple(inputs), {})


def _tuple(value: Any) -> Tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _split(result: Any, has_aux: bool) -> Tuple[Any, Any]:
    if has_aux:
        output, aux = result
        return output, aux
    return result, None


def _chosen(args: Sequence[Any], argnums: Any) -> Any:
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)


def _zeros_like(tree: Any, output: Any) -> Any:
    """Zeros like the tensors of ``tree``, which depend on them and on ``output`` as far as autograd can tell."""
    sources = [t for t in tree_flatten(output)[0] if isinstance(t, torch.Tensor)]
    return tree_map(
        lambda t: _linked(torch.zeros_like(t), [t, *sources]) if isinstance(t, torch.Tensor) else t,
        tree,
    )


def _block(output: Any, source: Any) -> Any:
    """A zero Jacobian block of one output for one input."""
    if not isinstance(output, torch.Tensor) or not isinstance(source, torch.Tensor):
        return output
    return _linked(output.new_zeros(tuple(output.shape) + tuple(source.shape)), [output, source])


def _linked(zeros: Any, sources: Sequence[Any]) -> Any:
    """``zeros`` as a function of those ``sources`` that require a gradient: a program may go on to differentiate."""
    if not torch.is_grad_enabled() or zeros.layout is not torch.strided or not _can_require_grad(zeros):
        return zeros
    for source in sources:
        if source.requires_grad and source.layout is torch.strided:
            total = source.sum()
            if total.is_complex() and not zeros.is_complex():
                total = total.real
            never = torch.zeros((), dtype=torch.bool, device=source.device)
            link = torch.where(never, total, torch.zeros_like(total))  # unlike 0 * total, never NaN
            zeros = zeros + link.to(device=zeros.device, dtype=zeros.dtype)
    return zeros


def _sample(value: Any, dim: int, index: int, size: int) -> Any:
    if size == 0:  # the shapes of an empty batch are those of any sample
        shape = list(value.shape)
        del shape[dim]
        return value.new_zeros(shape)
    return value.select(dim, index)


def _stack(turns: List[Any], out_dims: Any, size: int) -> Any:
    from torch.utils._pytree import _broadcast_to_and_flatten

    leaves, spec = tree_flatten(turns[0])
    columns = [leaves] + [tree_flatten(turn)[0] for turn in turns[1:]]
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        dims = [out_dims if isinstance(out_dims, int) else 0] * len(leaves)
    stacked = []
    for position, dim in enumerate(dims):
        values = [_as_tensor(column[position]) for column in columns]
        if dim is None or all(v is None for v in values):
            stacked.append(values[0])
            continue
        if not all(isinstance(v, torch.Tensor) for v in values):
            stacked.append(values)
            continue
        whole = torch.stack(values, dim)
        stacked.append(whole.narrow(dim, 0, 0) if size == 0 else whole)
    return tree_unflatten(stacked, spec)


def _as_tensor(value: Any) -> Any:
    return torch.tensor(value) if isinstance(value, (bool, int, float, complex)) else value


def _named(run: Callable[..., Any], func: Any) -> Callable[..., Any]:
    return functools.update_wrapper(run, func, updated=())
