"""Mode PRIMAL: puts the plain stand-ins in the place of every transform."""

from __future__ import annotations

from shrinkrepro.target import eager, plain
from shrinkrepro.target.exchange import Entry, compiler, everywhere, exchange, without_module_compile

_TRANSFORMS = (
    "vmap",
    "grad",
    "grad_and_value",
    "vjp",
    "jvp",
    "linearize",
    "jacrev",
    "jacfwd",
    "hessian",
    "functionalize",
)
_OTHERS: tuple[Entry, ...] = (
    ("torch.autograd.functional", "jacobian", plain.autograd_jacobian),
    ("torch.autograd.functional", "hessian", plain.autograd_hessian),
    ("torch.autograd.functional", "vjp", plain.autograd_pull),
    ("torch.autograd.functional", "vhp", plain.autograd_pull),
    ("torch.autograd.functional", "hvp", plain.autograd_pull),
    ("torch.autograd.functional", "jvp", plain.autograd_push),
)


def install(observed: bool = False, strict: bool = False) -> None:
    """Exchange the transforms in this process, for good; if it is ``observed``, control-flow operators too."""
    import torch

    plain.strict = strict
    forward_ad = torch.autograd.forward_ad
    exchange(
        [
            *everywhere({name: getattr(plain, name) for name in _TRANSFORMS}),
            *compiler(plain.compile),
            *_OTHERS,
            ("torch.autograd", "grad", plain.keep_graph(torch.autograd.grad, 3)),
            ("torch.autograd", "backward", plain.keep_graph(torch.autograd.backward, 2)),
            ("torch.autograd.forward_ad", "make_dual", plain.make_dual(forward_ad.make_dual)),
            ("torch.autograd.forward_ad", "unpack_dual", plain.unpack_dual(forward_ad.unpack_dual)),
        ]
    )
    if observed:
        exchange(eager.STAND_INS, load=True)
    without_module_compile()
