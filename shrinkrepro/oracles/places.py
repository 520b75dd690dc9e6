"""Where in the library a failure was raised, and under which transforms: read from traceback frames.

Decision: frames are sorted by function, not by file. A frame is a *level* (it says that a transform is
active), *plumbing* (it stands there whatever fails: dispatch, module calls, wrappers, the tracer's interpreter
loop), or a *place*. The innermost place is what a failure is known by; a legitimate reduction takes away what
is around it and keeps it. Generated code and the standard library are never places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shrinkrepro.core.tracebacks import locate
from shrinkrepro.protocol import Frame

VMAP = "vmap"
GRAD = "grad"
JVP = "jvp"
FUNCTIONALIZE = "functionalize"
COMPILE = "compile"
FUNCTION = "function"  # a custom autograd.Function

# (file, function) -> the kind of level that the frame shows. Entries are per function and hold for torch 2.0 to 2.13.
_LEVELS: dict[tuple[str, str], str] = {
    ("torch/_functorch/vmap.py", "_flat_vmap"): VMAP,
    ("torch/_functorch/vmap.py", "restore_vmap"): VMAP,
    ("torch/_vmap_internals.py", "wrapped"): VMAP,
    ("torch/_functorch/eager_transforms.py", "grad_and_value_impl"): GRAD,
    ("torch/_functorch/eager_transforms.py", "_vjp_with_argnums"): GRAD,
    ("torch/_functorch/eager_transforms.py", "_autograd_grad"): GRAD,
    ("torch/_functorch/eager_transforms.py", "_jvp_with_argnums"): JVP,
    ("torch/_functorch/eager_transforms.py", "linearize"): JVP,
    ("torch/_functorch/eager_transforms.py", "wrapped"): FUNCTIONALIZE,
    ("torch/autograd/functional.py", "jvp"): JVP,
    ("torch/autograd/functional.py", "vjp"): GRAD,
    ("torch/autograd/functional.py", "jacobian"): GRAD,
    ("torch/autograd/functional.py", "hessian"): GRAD,
    ("torch/autograd/functional.py", "hvp"): GRAD,
    ("torch/autograd/functional.py", "vhp"): GRAD,
    ("torch/_dynamo/eval_frame.py", "compile_wrapper"): COMPILE,
    ("torch/_dynamo/eval_frame.py", "catch_errors"): COMPILE,
    ("torch/_dynamo/convert_frame.py", "_compile"): COMPILE,
    ("torch/_dynamo/convert_frame.py", "catch_errors"): COMPILE,
}
_LEVEL_FILES = (("torch/_functorch/_aot_autograd/", COMPILE), ("torch/_inductor/", COMPILE))
_FUNCTION_CALL = re.compile(r"^custom_function_call")
_FUNCTION_APPLY = frozenset({"apply", "apply_jvp", "apply_boxed"})

# Files of which every function named here is plumbing; None stands for all of its functions.
_PLUMBING: dict[str, frozenset[str] | None] = {
    "torch/_functorch/apis.py": None,
    "torch/_functorch/pyfunctorch.py": None,
    "torch/_functorch/predispatch.py": None,
    "torch/_functorch/autograd_function.py": None,
    "torch/_functorch/utils.py": None,
    "torch/_functorch/vmap.py": frozenset(
        {"vmap_impl", "_chunked_vmap", "fn", "inner", "doesnt_support_saved_tensors_hooks"}
    ),
    "torch/_functorch/functional_call.py": frozenset({"functional_call"}),
    "torch/_functorch/deprecated.py": None,
    "torch/_functorch/eager_transforms.py": frozenset(
        {"grad_impl", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "push_jvp", "wrapper", "wrapper_fn", "functionalize",
         "jvp_fn", "grad_and_value", "compute_jacobian_stacked", "compute_jacobian_preallocate_and_copy", "trace_fn"}
    ),
    "torch/_vmap_internals.py": frozenset({"vmap", "_vmap"}),
    "torch/autograd/functional.py": frozenset(
        {"_autograd_grad", "_jacfwd", "ensure_single_output_function", "func", "jac_func"}
    ),
    "torch/autograd/__init__.py": frozenset({"grad", "backward"}),
    "torch/autograd/function.py": _FUNCTION_APPLY,
    "torch/autograd/grad_mode.py": None,
    "torch/nn/modules/module.py": frozenset({"_call_impl", "_wrapped_call_impl", "__call__", "_slow_forward"}),
    "torch/nn/modules/container.py": frozenset({"forward"}),
    "torch/nn/utils/stateless.py": None,
    "torch/nn/parallel/data_parallel.py": None,
    "torch/_ops.py": None,
    "torch/ops.py": None,
    "torch/_library/custom_ops.py": None,
    "torch/_compile.py": None,
    "torch/_utils_internal.py": None,
    "torch/_jit_internal.py": None,
    "torch/overrides.py": None,
    "torch/utils/_contextlib.py": None,
    "torch/utils/_pytree.py": None,
    "torch/utils/_cxx_pytree.py": None,
    "torch/utils/_python_dispatch.py": None,
    "torch/utils/_stats.py": None,
    "torch/utils/_traceback.py": None,
    "torch/utils/_device.py": None,
    "torch/amp/autocast_mode.py": None,
    "torch/_tensor.py": frozenset({"wrapped", "backward", "_convert"}),
    "torch/__init__.py": frozenset(
        {"_check", "_check_with", "_check_is_size", "_check_value", "_check_type", "_check_index", "_check_tensor_all",
         "_check_not_implemented", "compile", "__call__", "inner"}
    ),
    "torch/_prims_common/wrappers.py": None,
    "torch/fx/graph_module.py": None,
    "torch/fx/_symbolic_trace.py": None,
    "torch/fx/interpreter.py": None,
    "torch/fx/traceback.py": None,
    "torch/fx/experimental/proxy_tensor.py": None,
    "torch/fx/_lazy_graph_module.py": None,
    "torch/_subclasses/fake_tensor.py": None,
    "torch/_subclasses/functional_tensor.py": None,
    "torch/_higher_order_ops/utils.py": None,
    "torch/_dynamo/symbolic_convert.py": None,
    "torch/_dynamo/convert_frame.py": None,
    "torch/_dynamo/eval_frame.py": None,
    "torch/_dynamo/output_graph.py": None,
    "torch/_dynamo/bytecode_transformation.py": None,
    "torch/_dynamo/exc.py": None,
    "torch/_dynamo/utils.py": None,
    "torch/_dynamo/backends/common.py": None,
    "torch/_dynamo/repro/after_dynamo.py": None,
    "torch/_dynamo/repro/after_aot.py": None,
    "torch/_dynamo/external_utils.py": None,
    "torch/_dynamo/variables/builder.py": None,
    "torch/_dynamo/variables/lazy.py": None,
    "torch/_dynamo/variables/base.py": None,
}  # fmt: skip
# Functions that are plumbing wherever they stand: dispatch hooks, and the closures of decorators.
_PLUMBING_NAMES = frozenset(
    {"__torch_function__", "__torch_dispatch__", "wrapper", "wrapped", "inner", "inner_fn", "_fn", "fn", "_wrap",
     "wrap", "wrapper_fn", "decorate_context", "decorate_autocast", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>",
     "<setcomp>", "<module>", "call_function", "call_method", "call_wrapped", "wrapper_function", "var_getattr",
     "inline_user_function_return", "wrapped_call_function", "_call_function"}
)  # fmt: skip
# What only drives the program's code: it is a place when it raises, not when what it called does.
_DRIVERS = ("torch/optim/", "torch/utils/data/", "torch/utils/benchmark/", "torch/testing/")
_TRACED = re.compile(r'^ {2,3}File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """A library function. ``inside``: it raised, or called what did, with no code of the program's in between."""

    file: str
    function: str
    inside: bool = True

    def __str__(self) -> str:
        return f"{self.function} ({self.file})"


def level_of(frame: Frame, inner: Frame | None) -> str | None:
    """The kind of level that ``frame`` shows, or None; ``inner`` is the frame that it called."""
    if not frame.lib:
        return None
    if frame.function == "jacobian" and inner is not None and inner.function == "_jacfwd":
        return None  # forward mode: its own level follows
    kind = _LEVELS.get((frame.file, frame.function))
    if kind:
        return kind
    if frame.file == "torch/_functorch/autograd_function.py" and _FUNCTION_CALL.match(frame.function):
        return FUNCTION
    if frame.file == "torch/autograd/function.py" and frame.function in _FUNCTION_APPLY:
        return FUNCTION if inner is not None and not inner.lib and not inner.file.startswith("<") else None
    return next((kind for start, kind in _LEVEL_FILES if frame.file.startswith(start)), None)


def levels_of(frames: Sequence[Frame]) -> tuple[str, ...]:
    """The kinds of the active levels, outermost first, each level once."""
    kinds: list[str] = []
    for number, frame in enumerate(frames):
        kind = level_of(frame, frames[number + 1] if number + 1 < len(frames) else None)
        # One compile and one custom Function show as many frames, and a grad's own backward pass is no second grad.
        again = kinds and kinds[-1] == kind and (kind in (COMPILE, FUNCTION) or frame.function == "_autograd_grad")
        if kind and not again:
            kinds.append(kind)
    return tuple(kinds)


def own_work(frames: Sequence[Frame]) -> str:
    """The transform whose own code raised, before or after it called the function; empty when the function did.

    The line of a level that calls the function stands for a function without a frame of its own (an operator).
    """
    innermost = next((frame for frame in reversed(frames) if not frame.file.startswith("<")), None)
    if innermost is None or not innermost.lib or not innermost.text or "func(" in innermost.text:
        return ""
    kind = level_of(innermost, None)
    return kind if kind in (VMAP, GRAD, JVP) and innermost.function != "_autograd_grad" else ""


def place_of(frames: Sequence[Frame]) -> Place | None:
    """The innermost library function that is neither a level nor plumbing; None when the program itself raised.

    What called the code in which the program entered a transform does not count: a failure under
    ``vmap`` in the closure of an optimizer is no failure of the optimizer.
    """
    inside, entered = True, False
    for number in range(len(frames) - 1, -1, -1):
        frame = frames[number]
        if frame.file.startswith("<"):
            continue
        if not frame.lib:
            if entered:
                return None
            inside = False
        elif is_place(frame):
            if inside or not frame.file.startswith(_DRIVERS):
                return Place(frame.file, frame.function, inside)
        elif level_of(frame, frames[number + 1] if number + 1 < len(frames) else None):
            entered = True
    return None


def is_place(frame: Frame) -> bool:
    """Whether a library frame can be what a failure is known by."""
    if "/" not in frame.file or frame.file.startswith(("<", "shrinkrepro/")):
        return False  # the standard library's own files, and generated code
    if (frame.file.startswith("torch/") and frame.function in _PLUMBING_NAMES) or _is_stdlib(frame.file):
        return False
    if (frame.file, frame.function) in _LEVELS:
        return False
    if frame.file in _PLUMBING:
        names = _PLUMBING[frame.file]
        return names is not None and frame.function not in names
    return True


_STDLIB_PACKAGES = (
    "asyncio/", "collections/", "concurrent/", "ctypes/", "email/", "encodings/", "http/", "importlib/", "json/",
    "logging/", "multiprocessing/", "pathlib/", "re/", "sqlite3/", "sysconfig/", "unittest/", "urllib/", "xml/",
    "zoneinfo/",
)  # fmt: skip


def is_native_door(crash_frame: str) -> bool:
    """Whether a crash in this frame (``file:function``) is one of foreign code called by ctypes."""
    return crash_frame.startswith("ctypes/")


def _is_stdlib(file: str) -> bool:
    return file.startswith(_STDLIB_PACKAGES)


def traced_frames(message: str) -> tuple[Frame, ...]:
    """The frames that Dynamo lists under "from user code": the program that it was tracing, outermost first."""
    _, marker, rest = message.partition("from user code:")
    if not marker:
        return ()
    frames = []
    for found in _TRACED.finditer(rest):
        file, lib = locate(found["file"])
        frames.append(Frame(file, int(found["line"]), found["function"].strip(), lib))
    return tuple(frames)
