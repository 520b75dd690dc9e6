"""Neighbours with other transforms: without each of them, in another order, by another way to the same derivative, and
compiled or not.

Decision: of a failed check only such neighbours are made whose values should be the same (a loop for ``vmap``, reverse
mode for forward mode); dropping a transform there changes what is compared, and says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shrinkrepro.tasks.neighbour_text import Neighbour, Text, with_keyword

_HOMES = ("torch", "torch.func", "functorch", "torch._functorch.apis", "torch._functorch.eager_transforms")
WRAPPERS = frozenset({"vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize"})
DIRECT = frozenset({"jvp", "vjp", "linearize"})
COMPILE = "compile"
_ROWS = (
    "plain reverse mode, one row at a time: autograd.functional.jacobian",
    "(lambda *args: {torch}.autograd.functional.jacobian({f}, args if len(args) > 1 else args[0]))",
)
_TWICE = (
    "plain reverse mode twice: autograd.functional.hessian",
    "(lambda *args: {torch}.autograd.functional.hessian({f}, args if len(args) > 1 else args[0]))",
)
_LOOP = ("a loop and stack for vmap", "(lambda *args: {torch}.stack([{c}(*each) for each in zip(*args)]))")
# Other ways to the same value, in words and as a template of the function's text.
_OTHER_WAYS: dict[str, tuple[tuple[str, str], ...]] = {
    "jacfwd": (("reverse mode for forward mode: jacrev", "{func}.jacrev({f})"), _ROWS),
    "jacrev": (("forward mode for reverse mode: jacfwd", "{func}.jacfwd({f})"), _ROWS),
    "hessian": (
        ("reverse over reverse mode: jacrev of jacrev", "{func}.jacrev({func}.jacrev({f}))"),
        ("forward over forward mode: jacfwd of jacfwd", "{func}.jacfwd({func}.jacfwd({f}))"),
        ("reverse over forward mode: jacrev of jacfwd", "{func}.jacrev({func}.jacfwd({f}))"),
        _TWICE,
    ),
    "grad": (("jacrev for grad", "{func}.jacrev({f})"), ("jacfwd for grad", "{func}.jacfwd({f})")),
    "vmap": (_LOOP,),
}
BACKENDS = ("eager", "aot_eager", "inductor")


@dataclass(frozen=True)
class Site:
    """One use of a transform: ``name`` of the call ``node``, whose first argument is the function."""

    name: str
    node: ast.Call

    @property
    def function(self) -> ast.expr:
        return self.node.args[0]


def sites(text: Text) -> list[Site]:
    """The transforms that ``text`` calls with a function, outermost first where one holds another."""
    found = []
    for call, full in text.calls():
        home, _, name = full.rpartition(".")
        known = name in WRAPPERS | DIRECT and home in _HOMES
        if (known or full == "torch.compile") and call.args and not isinstance(call.args[0], ast.Starred):
            found.append(Site(name, call))
    return found


def decorators(text: Text) -> Iterator[tuple[str, ast.expr]]:
    """The transforms that stand as decorators, each with its node."""
    for node in ast.walk(text.tree):
        for decorator in getattr(node, "decorator_list", ()):
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            home, _, name = text.dotted(named).rpartition(".")
            if (name in WRAPPERS and home in _HOMES) or (home, name) == ("torch", COMPILE):
                yield name, decorator


def stack(text: Text) -> list[str]:
    """The names of the transforms of the program, in the order of its text, compile among them."""
    found = [(text.span(site.node)[0], site.name) for site in sites(text)]
    found += [(text.span(call)[0], name) for call, name in _functional(text)]
    found += [(text.span(node)[0], name) for name, node in decorators(text)]
    return [name for _, name in sorted(found)]


def transform_neighbours(text: Text, checked: bool) -> Iterator[Neighbour]:
    """Neighbours with other transforms; ``checked``: the failure is one of the program's own check."""
    found = [site for site in sites(text) if site.name != COMPILE]
    if not checked:
        yield from _dropped(text, found)
        yield from _alone(text, found)
        yield from _swapped(text, found)
    yield from _of_autograd(text, checked)
    for site in found:
        for title, template in _OTHER_WAYS.get(site.name, ()):
            plain = len(site.node.args) == 1 and not site.node.keywords
            if plain:
                yield Neighbour("reference", title, text.replaced({site.node: _filled(text, site, template)}))
        if site.name == "jvp" and len(site.node.args) == 3 and not site.node.keywords:
            name = f"{text.torch}.autograd.functional.jvp"
            new = text.replaced({site.node.func: name})
            yield Neighbour("reference", "reverse mode twice for forward mode: autograd.functional.jvp", new)


def _functional(text: Text) -> Iterator[tuple[ast.Call, str]]:
    """The calls of ``torch.autograd.functional``, each with its short name."""
    for call, full in text.calls():
        home, _, name = full.rpartition(".")
        if home == "torch.autograd.functional" and len(call.args) >= 2:
            yield call, name


def _of_autograd(text: Text, checked: bool) -> Iterator[Neighbour]:
    """The function as it is, and the transforms of ``torch.func``, for what ``torch.autograd.functional`` is called."""
    for call, name in _functional(text):
        given = call.args[1]
        several = isinstance(given, ast.Tuple)
        inputs = ", ".join(map(text.of, given.elts)) if isinstance(given, ast.Tuple) else text.of(given)
        function = call.args[0]
        if not checked:
            plain = f"{text.operand(function)}({inputs})"
            yield Neighbour("transforms", f"the function as it is, without {name}", text.replaced({call: plain}))
        for other in {"jacobian": ("jacrev", "jacfwd"), "hessian": ("hessian",)}.get(name, ()) if not several else ():
            new = f"{text.torch}.func.{other}({text.of(function)})({inputs})"
            yield Neighbour("reference", f"func.{other} for autograd.functional.{name}", text.replaced({call: new}))


def _filled(text: Text, site: Site, template: str) -> str:
    called, given = text.operand(site.function), text.of(site.function)
    return template.format(c=called, f=given, torch=text.torch, func=f"{text.torch}.func")


def _plain(text: Text, site: Site) -> str:
    """What stands in the place of ``site`` when the function is run as it is."""
    function = text.operand(site.function)
    if site.name in WRAPPERS:
        called = isinstance(text.parents.get(site.node), ast.Call)
        return function if called else text.of(site.function)
    if site.name in ("vjp", "linearize"):
        return f"{function}({', '.join(text.of(argument) for argument in site.node.args[1:])})"
    given = site.node.args[1] if len(site.node.args) > 1 else None
    if isinstance(given, ast.Tuple):
        return f"{function}({', '.join(text.of(element) for element in given.elts)})"
    return f"{function}(*{text.operand(given)})" if given is not None else function


def _dropped(text: Text, found: list[Site]) -> Iterator[Neighbour]:
    direct_value = [s for s in found if s.name in DIRECT and not isinstance(text.parents[s.node], ast.Expr)]
    usable = [site for site in found if site not in direct_value]
    if len(usable) > 1 and not direct_value:
        yield Neighbour("transforms", "no transform at all, the function as it is", _all_dropped(text, usable))
    for site in usable:
        title = f"without {site.name}" if len(found) > 1 else f"the function as it is, without {site.name}"
        yield Neighbour("transforms", title, text.replaced({site.node: _plain(text, site)}))
    for name, node in decorators(text):
        if name != COMPILE:
            yield Neighbour("transforms", f"without {name}", text.without_decorator(node))


def _all_dropped(text: Text, found: list[Site]) -> str:
    """One after the other, since they stand inside each other."""
    source = text.source
    for _ in found:
        again = Text(source)
        left = [site for site in sites(again) if site.name != COMPILE]
        if not left:
            break
        source = again.replaced({left[0].node: _plain(again, left[0])})
    return source


def _alone(text: Text, found: list[Site]) -> Iterator[Neighbour]:
    """What a transform that is made of others is made of, each by itself, where its arguments are known."""
    func = f"{text.torch}.func"
    for site in found:
        call = text.parents.get(site.node)
        if not isinstance(call, ast.Call) or call.func is not site.node or len(site.node.args) != 1:
            continue
        if site.node.keywords or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        arguments = [text.of(argument) for argument in call.args]
        primals = ", ".join(arguments) + ","
        tangents = ", ".join(f"{text.torch}.ones_like({argument})" for argument in arguments) + ","
        function = text.of(site.function)
        jvp = f"{func}.jvp({function}, ({primals}), ({tangents}))"
        if site.name in ("jacfwd", "hessian"):
            yield Neighbour("transforms", f"jvp alone, for {site.name}", text.replaced({call: jvp}))
        if site.name in ("jacrev", "grad", "hessian"):
            vjp = f"{func}.vjp({function}, {', '.join(arguments)})"
            yield Neighbour("transforms", f"vjp alone, for {site.name}", text.replaced({call: vjp}))
            yield Neighbour("transforms", f"jvp for {site.name}", text.replaced({call: jvp}))
        if site.name == "vmap":
            yield Neighbour("transforms", "jvp for vmap", text.replaced({call: jvp}))
        else:
            new: dict[ast.AST, str] = {site.node: f"{text.torch}.vmap({function})"}
            yield Neighbour("transforms", f"vmap for {site.name}", text.replaced(new))


def _swapped(text: Text, found: list[Site]) -> Iterator[Neighbour]:
    """Two transforms that stand directly inside each other, the other way round."""
    by_node = {site.node: site for site in found}
    for outer in found:
        inner = by_node.get(outer.function) if isinstance(outer.function, ast.Call) else None
        if inner is None or {outer.name, inner.name} - WRAPPERS or outer.name == inner.name:
            continue
        mine = _rest(text, outer)
        its = _rest(text, inner)
        new = f"{text.of(inner.node.func)}({text.of(outer.node.func)}({text.of(inner.function)}{mine}){its})"
        title = f"{inner.name} of {outer.name} for {outer.name} of {inner.name}"
        yield Neighbour("transforms", title, text.replaced({outer.node: new}))


def _rest(text: Text, site: Site) -> str:
    """What stands behind the function in the call of a transform."""
    _, end = text.span(site.function)
    return text.source[end : text.span(site.node)[1] - 1].rstrip()


def compile_neighbours(text: Text, compiler: bool) -> Iterator[Neighbour]:
    """Compiled by each backend, or not at all; ``compiler``: inductor finds one for C++."""
    backends = BACKENDS if compiler else BACKENDS[:2]
    calls = [node for node, full in text.calls() if full == "torch.compile"]
    named = [node for name, node in decorators(text) if name == COMPILE]
    if calls or named:
        yield from _other_backends(text, calls, named, backends)
        return
    outer = next(iter(sites(text)), None)
    if outer is None:
        return
    for backend in backends:
        if outer.name in WRAPPERS:
            new = f'{text.torch}.compile({text.of(outer.node)}, backend="{backend}")'
        else:
            new = f'{text.torch}.compile(lambda: {text.of(outer.node)}, backend="{backend}")()'
        yield Neighbour("compile", f"compiled, backend {backend}", text.replaced({outer.node: new}), slow=True)


def _other_backends(
    text: Text, calls: list[ast.Call], named: list[ast.expr], backends: tuple[str, ...]
) -> Iterator[Neighbour]:
    for node in named:
        yield Neighbour("compile", "not compiled", text.without_decorator(node))
    for call in calls:
        if call.args and call not in named:
            called = isinstance(text.parents.get(call), ast.Call)
            plain = text.operand(call.args[0]) if called else text.of(call.args[0])
            yield Neighbour("compile", "not compiled", text.replaced({call: plain}))
    for backend in backends:
        new: dict[ast.AST, str] = {}
        for node in {*calls, *named}:
            value = f'"{backend}"'
            if isinstance(node, ast.Call):
                new[node] = with_keyword(text, node, "backend", value)
            else:
                new[node] = f"{text.of(node)}(backend={value})"
        yield Neighbour("compile", f"backend {backend}", text.replaced(new), slow=True)
