"""Wrappers: compile, checkpoint, autocast, hooks and partial application, around something that may fail without.

Decision: a wrapper goes whole and leaves what it wrapped; only then its options go to the plainest one by one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkrepro.core.edits import Change, Edit, Path
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program
from shrinkrepro.core.strategy import Tier, strategy
from shrinkrepro_strategies import calls
from shrinkrepro_strategies.slices import Slicer

_COMPILERS = frozenset(
    {"torch.compile", "torch._dynamo.optimize", "torch.jit.script", "torch.jit.trace", "torch._dynamo.disable",
     "torch.compiler.disable", "torch.func.functionalize", "torch.fx.symbolic_trace", "torch.no_grad",
     "torch.fx.experimental.proxy_tensor.make_fx", "copy.deepcopy", "torch.nn.utils.parametrizations.spectral_norm",
     "torch.nn.DataParallel", "torch.nn.Parameter", "torch.nn.parameter.Parameter", "functools.lru_cache",
     "functools.wraps", "functools.cache", "torch.jit.ignore", "torch.compiler.allow_in_graph",
     "torch._dynamo.allow_in_graph"}
)  # fmt: skip
_CALLERS = frozenset({"torch.utils.checkpoint.checkpoint"})
_AUTOCASTS = ("torch.autocast", "torch.amp.autocast", "torch.cpu.amp.autocast", "torch.cuda.amp.autocast",
              "torch.amp.autocast_mode.autocast")  # fmt: skip
_BACKENDS = ("eager", "aot_eager")


@strategy("unwrap-compile", tier=Tier.COARSE, independent=True)
def unwrap_compile(program: Program, facts: Facts) -> Iterator[Edit]:
    """Put the function or module for its compiled, traced or copied self: ``torch.compile(f)`` -> ``f``."""
    for path, node in program.walk(ast.Call):
        if "decorator_list" not in path and calls.callee(program, path) in _COMPILERS and node.args:
            yield Edit((Change(path, program.text(node.args[0])),))
    for path, definition in program.walk(ast.stmt):
        for i, decorator in enumerate(getattr(definition, "decorator_list", ())):
            at: Path = (*path, "decorator_list", i)
            target = (*at, "func") if isinstance(decorator, ast.Call) else at
            if isinstance(decorator, ast.Call) and calls.library_name(program, target) == "functools.partial":
                target = (*at, "args", 0)
            if calls.library_name(program, target) in _COMPILERS:
                yield Edit((Change(at),))


@strategy("plainer-compile", tier=Tier.COARSE)
def plainer_compile(program: Program, facts: Facts) -> Iterator[Edit]:
    """Compile more plainly: no options, the backend ``eager`` or else ``aot_eager``, one at a time.

    Early, for it makes every later query cheaper. A call without a backend has the dearest one: there it is added.
    """
    for path, node in program.walk(ast.Call):
        name = calls.callee(program, path)
        if name == "functools.partial" and node.args:
            name = calls.library_name(program, (*path, "args", 0))
        if name != "torch.compile":
            continue
        found = calls.keyword(node, "backend")
        rest = tuple(Change((*path, "keywords", i)) for i, w in enumerate(node.keywords) if w.arg != "backend")
        if rest:
            yield Edit(rest)
        for backend in _BACKENDS:
            if found is None and all(word.arg is not None for word in node.keywords):
                kept = [program.text(argument) for argument in node.args]
                yield Edit((Change(path, f"{program.text(node.func)}({', '.join([*kept, f'backend={backend!r}'])})"),))
            elif found is not None and ast.unparse(found[1]) != repr(backend):
                yield Edit((Change((*path, "keywords", found[0], "value"), repr(backend)), *rest))
        for i in range(len(node.keywords)):
            yield Edit((Change((*path, "keywords", i)),))
    for path, definition in program.walk(ast.stmt):
        for i, decorator in enumerate(getattr(definition, "decorator_list", ())):
            at: Path = (*path, "decorator_list", i)
            if not isinstance(decorator, ast.Call) and calls.library_name(program, at) == "torch.compile":
                for backend in _BACKENDS:
                    yield Edit((Change(at, f"{program.text(decorator)}(backend={backend!r})"),))


@strategy("unwrap-checkpoint", tier=Tier.MEDIUM, independent=True)
def unwrap_checkpoint(program: Program, facts: Facts) -> Iterator[Edit]:
    """Call what a checkpoint calls: ``checkpoint(f, x, use_reentrant=False)`` -> ``f(x)``."""
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call):
        if calls.callee(program, path) in _CALLERS and node.args:
            inputs = ", ".join(map(program.text, node.args[1:]))
            function = program.text(node.args[0])
            if isinstance(node.args[0], ast.Lambda):
                function = f"({function})"
            yield Edit(slicer.with_dead(Change(path, f"{function}({inputs})")))


@strategy("unwrap-autocast", tier=Tier.MEDIUM, independent=True)
def unwrap_autocast(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop an autocast context or its options, so that its device alone stays."""
    for path, node in program.walk(ast.With):
        for i, item in enumerate(node.items):
            at: Path = (*path, "items", i)
            call = item.context_expr
            if not isinstance(call, ast.Call) or calls.callee(program, (*at, "context_expr")) not in _AUTOCASTS:
                continue
            yield Edit((Change(at),))
            options: list[Path] = [(*at, "context_expr", "keywords", k) for k in range(len(call.keywords))]
            options += [(*at, "context_expr", "args", k) for k in range(1, len(call.args))]
            for option in options:
                yield Edit((Change(option),))
            device = calls.keyword(call, "device_type")
            if device is not None and not call.args:
                yield Edit((Change((*at, "context_expr"), f"{program.text(call.func)}({program.text(device[1])})"),))


@strategy("drop-hook", tier=Tier.MEDIUM, independent=True)
def drop_hook(program: Program, facts: Facts) -> Iterator[Edit]:
    """Drop the registration of a hook, and the hook."""
    slicer = Slicer(program)
    for path, node in program.walk(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("register_") and "hook" in node.func.attr:
            at, statement = program.statement_of(path)
            if isinstance(statement, ast.Expr | ast.Assign):
                yield Edit(slicer.with_dead(Change(at)))


STRATEGIES = (unwrap_compile, unwrap_checkpoint, unwrap_autocast, plainer_compile, drop_hook)
