"""Neighbours with other tensors: their dtype, device, sizes, values, strides, and whether they require a gradient.

Decision: only what the text itself fixes is exchanged (the calls that make a tensor from plain numbers, and the dtypes
it names), each time everywhere alike, so that what has to agree goes on agreeing.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from shrinkrepro.core.devices import on_device
from shrinkrepro.tasks.neighbour_text import Neighbour, Text, with_keyword

REAL = ("float64", "float32", "bfloat16")
COMPLEX = "complex64"
_FLOATS = frozenset({"float64", "float32", "bfloat16", "float16", "double", "float", "half"})
_CASTS = frozenset({"double", "float", "half", "bfloat16"})
_SHAPED = frozenset({"zeros", "ones", "rand", "randn", "empty", "full", "eye"})
_FILLED = frozenset({"zeros", "ones", "rand", "randn", "empty"})
_KEYWORDS = frozenset({"dtype", "device", "requires_grad", "layout"})  # that every factory takes
_SIZES = (0, 1, 2)
_LITERALS = 6  # numbers that are exchanged one by one
_LAID_OUT = frozenset({"t", "transpose", "permute", "expand", "movedim", "swapaxes"})


def dtype_neighbours(text: Text) -> Iterator[Neighbour]:
    """All floating-point tensors in another precision, or complex."""
    at = _first_statement(text)
    named = [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Attribute)
        and text.dotted(node).startswith("torch.")
        and text.dotted(node).count(".") == 1
        and node.attr in _FLOATS
    ]
    casts = [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS
        and not node.args and not text.dotted(node.func)
    ]  # fmt: skip
    for dtype in REAL:
        full = f"{text.torch}.{dtype}"
        new = {text.span(node): full for node in named}
        for node in casts:
            assert isinstance(node.func, ast.Attribute)
            new[text.span(node.func.value)[1], text.span(node)[1]] = f".to({full})"
        if text.imported:
            new[(at, at)] = f"{text.torch}.set_default_dtype({full})\n"
        yield Neighbour("dtype", dtype, text.spliced(new))
    floats = [(call, name) for call, name in text.factories() if _floating(text, call, name)]
    if floats:
        new_calls: dict[ast.AST, str] = {
            call: with_keyword(text, call, "dtype", f"{text.torch}.{COMPLEX}") for call, _ in floats
        }
        yield Neighbour("dtype", COMPLEX, text.replaced(new_calls))


def device_neighbours(text: Text, devices: Sequence[str], own: str) -> Iterator[Neighbour]:
    """The program on each of ``devices`` but its ``own``."""
    for device in devices:
        if device != own:
            yield Neighbour("device", device, on_device(text.source, device))


def size_neighbours(text: Text) -> Iterator[Neighbour]:
    """Each size of the text as 0, 1 and 2; a larger one also halved, and one less and one more."""
    places: dict[int, list[ast.Constant]] = {}
    for call, name in text.factories():
        if name in _SHAPED:
            for constant in _sizes_of(call, name):
                places.setdefault(constant.value, []).append(constant)  # type: ignore[arg-type]
    for size, constants in places.items():
        more = (size // 2, size - 1, size + 1) if size > 2 else ()
        for other in dict.fromkeys((*_SIZES, *more)):
            if other != size:
                title = f"{'the' if len(constants) == 1 else 'every'} size {size} made {other}"
                yield Neighbour("size", title, text.replaced(dict.fromkeys(constants, str(other))))
        if len(constants) > 1:
            other = 3 if size == 2 else 2
            for i, constant in enumerate(constants):
                title = f"the {_ordinal(i)} size {size} alone made {other}"
                yield Neighbour("size", title, text.replaced({constant: str(other)}))


def layout_neighbours(text: Text) -> Iterator[Neighbour]:
    """Every tensor of the same values with strides, and what the program lays out otherwise made contiguous."""
    calls = [call for call, _ in text.factories()]
    if calls:
        strided: dict[ast.AST, str] = {
            call: f"{text.torch}.stack(({text.of(call)}, {text.of(call)}), -1)[..., 0]" for call in calls
        }
        yield Neighbour("layout", "every tensor with strides, not contiguous", text.replaced(strided))
    turned = [
        node
        for node in ast.walk(text.tree)
        if (isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH"))
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LAID_OUT)
    ]  # fmt: skip
    if turned:
        new: dict[ast.AST, str] = {node: f"{text.of(node)}.contiguous()" for node in turned}
        yield Neighbour("layout", "contiguous", text.replaced(new))


def gradient_neighbours(text: Text) -> Iterator[Neighbour]:
    """Every floating-point tensor with a gradient of its own, or without the one it asks for."""
    floats = [call for call, name in text.factories() if _floating(text, call, name)]
    asked = [c for c in floats if any(k.arg == "requires_grad" for k in c.keywords)]
    if asked:
        off: dict[ast.AST, str] = {call: with_keyword(text, call, "requires_grad", "False") for call in asked}
        yield Neighbour("requires_grad", "no tensor requires a gradient", text.replaced(off))
    if len(asked) < len(floats):
        on: dict[ast.AST, str] = {call: with_keyword(text, call, "requires_grad", "True") for call in floats}
        yield Neighbour("requires_grad", "every tensor requires a gradient", text.replaced(on))


def value_neighbours(text: Text) -> Iterator[Neighbour]:
    """Other numbers in the same tensors."""
    filled = [(call, name) for call, name in text.factories() if name in _FILLED]
    for other in ("zeros", "ones"):
        new: dict[ast.AST, str] = {call: _like(text, call, other) for call, name in filled if name != other}
        if new:
            yield Neighbour("values", f"{other} in every tensor", text.replaced(new))
    halves: dict[ast.AST, str] = {
        call: _like(text, call, "full", "0.5") for call, name in filled if _floating(text, call, name)
    }
    if halves:
        yield Neighbour("values", "0.5 in every tensor", text.replaced(halves))
    numbers = [
        node
        for call, name in text.factories()
        if name == "tensor" and call.args
        for node in ast.walk(call.args[0])
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ]
    if numbers:
        new_numbers: dict[ast.AST, str] = {node: repr(node.value + 1) for node in numbers}  # type: ignore[operator]
        yield Neighbour("values", "every number in torch.tensor one more", text.replaced(new_numbers))


def literal_neighbours(text: Text) -> Iterator[Neighbour]:
    """Each number that stands elsewhere than in a tensor's making or an index: 0, 1, and one more than it is."""
    made = {id(node) for call, _ in text.factories() for node in ast.walk(call)}
    made |= {id(node) for one in ast.walk(text.tree) if isinstance(one, ast.Subscript) for node in ast.walk(one.slice)}
    numbers = [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float) and id(node) not in made
    ]
    alike = Counter((node.lineno, repr(node.value)) for node in numbers)
    seen: Counter[tuple[int, str]] = Counter()
    for node in sorted(numbers, key=text.span)[:_LITERALS]:
        value = node.value
        assert isinstance(value, int | float)
        key = (node.lineno, repr(value))
        which = f"{_ordinal(seen[key])} " if alike[key] > 1 else ""
        seen[key] += 1
        for other in dict.fromkeys((0, 1, value + 1)):
            if other != value:
                where = f"the {which}number {value!r} in line {node.lineno} made {other!r}"
                yield Neighbour("values", where, text.replaced({node: repr(other)}))


def _like(text: Text, call: ast.Call, other: str, value: str = "") -> str:
    """A call that makes what ``call`` makes, filled by the factory ``other`` with ``value``.

    Where the text does not tell a size from a shape, or passes what ``other`` does not take, ``call`` itself is what
    the new tensor is made like.
    """
    keywords = [k for k in call.keywords if k.arg == "requires_grad"]
    if any(k.arg not in _KEYWORDS for k in call.keywords) or not _shape_is_plain(call):
        given = ", ".join([text.of(call), *filter(None, [value]), *map(text.of, keywords)])
        return f"{text.torch}.{other}_like({given})"
    sizes = [text.of(argument) for argument in call.args]
    if value and not isinstance(call.args[0], ast.Tuple | ast.List):
        sizes = [f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"]
    return f"{text.torch}.{other}({', '.join([*sizes, *filter(None, [value]), *map(text.of, call.keywords)])})"


def _shape_is_plain(call: ast.Call) -> bool:
    """Whether the arguments of ``call`` are sizes one by one, or one tuple of them."""
    if len(call.args) == 1:
        return isinstance(call.args[0], ast.Tuple | ast.List | ast.Constant)
    return len(call.args) > 1 and not any(isinstance(a, ast.Tuple | ast.List | ast.Starred) for a in call.args)


def _floating(text: Text, call: ast.Call, name: str) -> bool:
    """Whether ``call`` makes a tensor of a floating-point dtype, as far as its text tells."""
    for keyword in call.keywords:
        if keyword.arg == "dtype":
            return text.dotted(keyword.value).rpartition(".")[2] in _FLOATS
    if name in ("tensor", "full", "arange"):
        return any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in ast.walk(call))
    return True


def _sizes_of(call: ast.Call, name: str) -> Iterator[ast.Constant]:
    arguments = call.args[:1] if name == "full" else call.args
    for argument in arguments:
        for node in argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]:
            if isinstance(node, ast.Constant) and type(node.value) is int:
                yield node


def _first_statement(text: Text) -> int:
    """Where the first statement after the imports at the top begins."""
    for statement in text.tree.body:
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not docstring and not isinstance(statement, ast.Import | ast.ImportFrom):
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
            return sum(len(line) for line in text.source.splitlines(keepends=True)[: first - 1])
    return len(text.source)


def _ordinal(index: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    return words[index] if index < len(words) else f"{index + 1}th"
