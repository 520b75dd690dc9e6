"""What the plants of this folder are made of; each of them puts the folder on the path and takes this from it.

Decision: a bug is planted where torch keeps its rules, in the dispatcher: an operator's kernel for autograd or for
vmap is exchanged for one that calls the old one and errs. So it acts wherever the operator is reached, from
composites, backward formulas and other transforms too, and a call that no transform reaches stays right.
"""

import warnings
from functools import partial

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd.forward_ad import _set_fwd_grad_enabled
from torch.autograd.function import _SingleLevelFunction

AUTOGRAD, VMAP = "AutogradCPU", "FuncTorchBatched"

functorch = torch._C._functorch
_library = torch.library.Library("aten", "IMPL")


def override(operator, key, kernel):
    """Exchange the kernel of ``operator`` for ``key``; ``kernel`` is called with the old one and the arguments."""
    old = torch.library.get_kernel("aten::" + operator, key)

    def run(keys, *args, **kwargs):
        return kernel(partial(old.call_boxed, keys), *args, **kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _library.impl(operator, run, key, with_keyset=True)


def levels():
    """The transforms that are active, outermost first: ``["vmap", "grad"]`` within ``vmap(grad(f))``."""
    return [str(level.key()).split(".")[-1].lower() for level in functorch.get_interpreter_stack() or ()]


def faulty(backward=None, jvp=None):
    """A function that is the identity, but for a wrong derivative: ``backward(g, x)``, ``jvp(t, x)``."""

    class Identity(_SingleLevelFunction):
        @staticmethod
        def forward(x):
            # outer transforms go on recording
            with torch.enable_grad(), _set_fwd_grad_enabled(True), torch._C._AutoDispatchBelowAutograd():
                return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g if backward is None else backward(g, *ctx.saved_tensors)

        @staticmethod
        def jvp(ctx, t):
            return t.clone() if jvp is None else jvp(t, *ctx.saved_tensors)

    def apply(x):
        if not x.is_floating_point():
            return x
        with enable_single_level_autograd_function():
            return Identity.apply(x)

    return apply


def batch_dim(x):
    """Where the batch dimension of ``x`` at the current level is, or None."""
    level = functorch.maybe_current_level()
    batched = functorch.is_batchedtensor(x) and functorch.maybe_get_level(x) == level
    return functorch.maybe_get_bdim(x) if batched else None


def physical(x):
    """``x`` with its batch dimension at the current level in front, or ``x`` where it has none."""
    dim = batch_dim(x)
    return x if dim is None else functorch._unwrap_batched(x, functorch.maybe_current_level())[0].movedim(dim, 0)


def below_vmap():
    """A context in which operators act on tensors that are no longer batched at the current level."""
    return torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchBatched))


def batched(x):
    """``x``, whose first dimension is the batch, as a batched tensor of the current level."""
    return functorch._add_batch_dim(x, 0, functorch.maybe_current_level())


def lowered(operator, wrong):
    """Let compiled functions call ``wrong`` where they call ``operator``, as a backend would that lowers it wrongly."""
    compiled = torch.compile

    def compile(model=None, *, backend="inductor", **options):
        chosen = torch._dynamo.lookup_backend(backend)

        def wrongly(module, inputs):
            for node in module.graph.nodes:
                if node.target is operator:
                    node.target = wrong
            module.recompile()
            return chosen(module, inputs)

        return compiled(model, backend=wrongly, **options)

    torch.compile = compile
