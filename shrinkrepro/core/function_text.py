"""A call of a function under transforms and its reference, written out as a reader would by hand.

Decision: the reference is made of loops and of ``torch.autograd.functional``, which is plain reverse mode: a line for
each level, the inner levels small functions. It shares no code with what it is compared with, and leaves the reduction
little to do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from shrinkrepro.core.function_base import Leaf, Names, base_of, lines_of_inputs
from shrinkrepro.core.function_call import FunctionCall
from shrinkrepro.core.function_values import TensorValue, Value
from shrinkrepro.core.transform_spec import DERIVATIVES, written
from shrinkrepro.errors import UsageError

ROWS = 64  # results up to which jvp's reference is the jacobian times the tangent; above, reverse mode twice
_JACOBIANS = ("grad", "jacrev", "jacfwd", "hessian")


@dataclass(frozen=True)
class Observed:
    """What a run told of the function: its positional inputs, and its result on what its innermost call gets."""

    inputs: tuple[Value, ...]
    output: Value
    changes: bool = False  # it writes to its inputs


@dataclass(frozen=True)
class Block:
    """The statements to append: a line each at the top level, the call's at ``call`` and the check's at ``check`` (from
    0); all others are there for the reference."""

    text: str
    call: int
    check: int


@dataclass(frozen=True)
class _Level:
    """What has been written so far, from the inside: the transformed function and its reference, as expressions."""

    actual: str
    reference: str
    outputs: tuple[TensorValue, ...]
    single: bool  # it gives one tensor, not a tuple of them


@dataclass(frozen=True)
class _Reference:
    """The reference of one level: statements, an expression after them, and what that gives."""

    lines: list[str]
    value: str
    outputs: tuple[TensorValue, ...]
    single: bool


def function_block(script: str, call: FunctionCall, observed: Observed, *, compared: bool = True) -> Block:
    """The statements for ``call``; without ``compared`` the call alone.

    Raises:
        UsageError: the transforms do not fit the function.
    """
    return _Writer(script, call, observed, compared).write()


@dataclass
class _Writer:
    script: str
    call: FunctionCall
    observed: Observed
    compared: bool
    setup: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)  # the outermost level's, which stand at the top level
    leaves: tuple[Leaf, ...] = ()
    vectors: dict[tuple[str, int, str], list[str]] = field(default_factory=dict)  # (co)tangents of each level

    def write(self) -> Block:
        self.names = Names(self.script, self.call)
        self.setup, function, inputs = lines_of_inputs(self.script, self.call, self.observed.inputs, self.names)
        differentiates = any(name in DERIVATIVES for name in self.call.transforms)
        base = base_of(function, inputs, self.call, self.observed, self.names, differentiates)
        self.leaves = base.leaves
        self.setup += base.lines
        level = _Level(base.actual, base.reference, base.outputs, base.single)
        for i in reversed(range(1, len(self.call.transforms))):
            level = self._inner(level, i)
        return self._joined(*self._outermost(level, self.call.transforms[0]))

    def _joined(self, actual: str, expected: str) -> Block:
        got, want = self.names.fresh("actual"), self.names.fresh("expected")
        lines = [*self.setup, *self.reference]
        called, reference = f"{got} = {actual}", [*self.last, f"{want} = {expected}"]
        if not self.compared:
            return Block("\n".join([*lines, called]), len(lines), len(lines))
        # The call comes first, so that one that raises does not wait for its reference.
        lines += [*reference, called] if self.observed.changes else [called, *reference]
        check = f"torch.testing.assert_close({got}, {want}, equal_nan=True)"
        return Block("\n".join([*lines, check]), lines.index(called), len(lines))

    @property
    def _params(self) -> list[str]:
        return [leaf.name for leaf in self.leaves]

    # one level

    def _inner(self, level: _Level, i: int) -> _Level:
        kind = self.call.transforms[i]
        depth = self.call.transforms[:i].count("vmap")
        nested = any(outer in DERIVATIVES for outer in self.call.transforms[:i])
        found = self._expected(level, kind, depth, nested=nested, inner=True)
        reference = self._define(f"{kind}_reference", found)
        actual = self._callable(level, kind, depth)
        if actual is None:
            actual = f"lambda {', '.join(self._params)}: {self._applied(level, kind, depth)}"
        if kind in _JACOBIANS and self._nesting(level, kind) > 1:  # a tuple of tuples becomes one tuple
            actual = f"lambda {', '.join(self._params)}: sum({_called(actual, self._params)}, ())"
        return _Level(actual, reference, found.outputs, found.single)

    def _outermost(self, level: _Level, kind: str) -> tuple[str, str]:
        found = self._expected(level, kind, 0, nested=False, inner=False)
        self.last = found.lines
        actual = self._callable(level, kind, 0)
        return self._applied(level, kind, 0) if actual is None else f"{actual}({', '.join(self._params)})", found.value

    def _define(self, name: str, body: _Reference) -> str:
        name = self.names.fresh(name)
        lines = [f"    {line}" for line in [*body.lines, f"return {body.value}"]]
        self.reference += [f"def {name}({', '.join(self._params)}):", *lines]
        return name

    # the transformed function

    def _callable(self, level: _Level, kind: str, depth: int) -> str | None:
        """The transformed function as an expression; None where the transform is not one of functions alone."""
        if kind == "vmap":
            dims = [self._dim(leaf, depth) for leaf in self.leaves]
            text = "" if all(dim == 0 for dim in dims) else f", in_dims={_tuple(map(str, dims))}"
            return f"torch.func.vmap({level.actual}{text})"
        if kind in _JACOBIANS:
            return f"torch.func.{kind}({level.actual}{self._argnums()})"
        if kind == "functionalize":
            return f"torch.func.functionalize({level.actual})"
        return f"torch.compile({level.actual})" if kind == "compile" else None

    def _argnums(self) -> str:
        numbers = [self.leaves.index(leaf) for leaf in self._by("grad")]
        if numbers == [0]:
            return ""
        return f", argnums={numbers[0] if len(numbers) == 1 else tuple(numbers)}"

    def _applied(self, level: _Level, kind: str, depth: int) -> str:
        """jvp or vjp of the function at its parameters."""
        by = [leaf.name for leaf in self._by(kind)]
        inner = self._of(level.actual, kind)
        vectors = self.vectors[(kind, depth, level.reference)]
        if kind == "jvp":
            return f"torch.func.jvp({inner}, {_tuple(by)}, {_tuple(vectors)})[1]"
        given = vectors[0] if level.single else _tuple(vectors)
        return f"torch.func.vjp({inner}, {', '.join(by)})[1]({given}){'[0]' * (len(by) == 1)}"

    def _of(self, function: str, kind: str) -> str:
        """``function`` as one of what it is differentiated by alone."""
        by = [leaf.name for leaf in self._by(kind)]
        return function if by == self._params else f"lambda {', '.join(by)}: {_called(function, self._params)}"

    # the reference

    def _expected(self, level: _Level, kind: str, depth: int, *, nested: bool, inner: bool) -> _Reference:
        """The reference of one level. ``nested``: it will be differentiated; ``inner``: it is not the outermost."""
        if kind == "vmap":
            return self._loop(level, depth)
        if kind in ("functionalize", "compile"):
            return _Reference([], f"{level.reference}({', '.join(self._params)})", level.outputs, level.single)
        self._check_outputs(level, kind)
        if kind == "jvp":
            return self._jvp(level, depth, nested)
        if kind == "vjp":
            return self._vjp(level, depth, nested)
        flat = self._nesting(level, kind) > 1 and inner
        if kind == "hessian":
            return self._hessian(level, depth, nested, flat)
        value = self._functional("jacobian", level.reference, kind, nested)
        return self._jacobian(level.outputs, level.single, depth, value, flat)

    def _functional(self, name: str, function: str, kind: str, nested: bool, *vectors: str) -> str:
        """A call of ``torch.autograd.functional``, by one tensor or a tuple of them."""
        by = [leaf.name for leaf in self._by(kind)]
        given = [by[0] if len(by) == 1 else _tuple(by), *vectors]
        flag = ", create_graph=True" if nested else ""
        return f"torch.autograd.functional.{name}({self._of(function, kind)}, {', '.join(given)}{flag})"

    def _nesting(self, level: _Level, kind: str) -> int:
        """How deep the tuples are that a derivative of the function gives.

        Raises:
            UsageError: deeper than two.
        """
        several = len(self._by(kind)) > 1
        depth = (not level.single) + several * (2 if kind == "hessian" else 1)
        if depth > 2:
            raise UsageError(
                f"{self.call.name}: there are several results and several inputs to differentiate by",
                "name one input with --argnums",
            )
        return depth

    def _jacobian(
        self, outputs: tuple[TensorValue, ...], single: bool, depth: int, value: str, flat: bool
    ) -> _Reference:
        """The reference of a jacobian, a tuple of tuples made one tuple where it is ``flat``."""
        by = [replace(leaf.value, shape=self._shape(leaf, depth)) for leaf in self._by("grad")]
        shapes = tuple(replace(x, shape=y.shape + x.shape) for y in outputs for x in by)
        return _Reference([], f"sum({value}, ())" if flat else value, shapes, single and len(by) == 1)

    def _hessian(self, level: _Level, depth: int, nested: bool, flat: bool) -> _Reference:
        value = self._functional("jacobian", level.reference, "hessian", True)
        first = self._jacobian(level.outputs, level.single, depth, value, False)
        if level.single and level.outputs[0].shape == ():
            value = self._functional("hessian", level.reference, "hessian", nested)
        else:
            value = self._functional("jacobian", self._define("jacobian", first), "hessian", nested)
        return self._jacobian(first.outputs, first.single, depth, value, flat)

    def _vjp(self, level: _Level, depth: int, nested: bool) -> _Reference:
        names = [self.names.fresh("cotangent") for _ in level.outputs]
        self.vectors[("vjp", depth, level.reference)] = names
        made = f"{level.reference}({', '.join(self._sample(leaf, depth) for leaf in self.leaves)})"
        for i, name in enumerate(names):
            self.reference.append(f"{name} = torch.randn_like({made}{'' if level.single else f'[{i}]'})")
        by = self._by("vjp")
        given = names[0] if level.single else _tuple(names)
        value = f"{self._functional('vjp', level.reference, 'vjp', nested, given)}[1]"
        shapes = tuple(replace(leaf.value, shape=self._shape(leaf, depth)) for leaf in by)
        return _Reference([], value, shapes, len(by) == 1)

    def _jvp(self, level: _Level, depth: int, nested: bool) -> _Reference:
        by = self._by("jvp")
        tangents = self._tangents(by, depth)
        self.vectors[("jvp", depth, level.reference)] = tangents
        if sum(value.size for value in level.outputs) > ROWS:
            given = tangents[0] if len(by) == 1 else _tuple(tangents)
            value = f"{self._functional('jvp', level.reference, 'jvp', nested, given)}[1]"
            return _Reference([], value, level.outputs, level.single)
        jacobian = self._functional("jacobian", level.reference, "jvp", nested)
        if level.single and len(by) == 1:
            return _Reference([], self._times(jacobian, by[0], depth, tangents[0]), level.outputs, True)
        name = self.names.fresh("jacobian")
        parts = []
        for i in range(len(level.outputs)):
            own = name if level.single else f"{name}[{i}]"
            items = [own] if len(by) == 1 else [f"{own}[{k}]" for k in range(len(by))]
            products = [self._times(item, leaf, depth, t) for item, leaf, t in zip(items, by, tangents)]
            parts.append(" + ".join(products))
        value = parts[0] if level.single else _tuple(parts)
        return _Reference([f"{name} = {jacobian}"], value, level.outputs, level.single)

    def _times(self, jacobian: str, leaf: Leaf, depth: int, tangent: str) -> str:
        """A jacobian by one input times its tangent."""
        dims = len(self._shape(leaf, depth))
        if dims == 0:
            return f"{jacobian} * {tangent}"
        if dims == 1:
            return f"{jacobian} @ {tangent}"
        return f"torch.tensordot({jacobian}, {tangent}, {dims})"

    def _tangents(self, by: list[Leaf], depth: int) -> list[str]:
        """Names of a jvp's tangents, which are made before everything else."""
        given = self.call.tangents
        if given and len(given) != len(by):
            told = ", ".join(leaf.name for leaf in by)
            raise UsageError(
                f"--tangents has {len(given)} entries, and {self.call.name} differentiates by {len(by)}: {told}",
                "give one for each",
            )
        names = [self.names.fresh("tangent") for _ in by]
        for i, leaf in enumerate(by):
            made = given[i] if given else f"torch.randn_like({self._sample(leaf, depth)})"
            self.setup.append(f"{names[i]} = {made}")
        return names

    def _loop(self, level: _Level, depth: int) -> _Reference:
        mapped = [leaf for leaf in self.leaves if self._dim(leaf, depth) is not None]
        if not mapped:
            raise UsageError(f"{self.call.name}: no input has a dimension to map over", "give larger --inputs")
        sizes = {leaf.name: self._shape(leaf, depth)[self._dim(leaf, depth) or 0] for leaf in mapped}
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{name} has {size}" for name, size in sizes.items())
            raise UsageError(
                f"{self.call.name}: the inputs have different sizes in the dimension that vmap maps: {told}",
                "say which to map: --in-dims '0, None'",
            )
        rows = {leaf.name: self.names.fresh("row" if len(mapped) == 1 else f"{leaf.name}_row") for leaf in mapped}
        dims = [(leaf.name, self._dim(leaf, depth)) for leaf in mapped]
        over = [name if dim == 0 else f"{name}.unbind({dim})" for name, dim in dims]
        call = f"{level.reference}({', '.join(rows.get(leaf.name, leaf.name) for leaf in self.leaves)})"
        source = over[0] if len(over) == 1 else f"zip({', '.join(over)})"
        each = f"{call} for {', '.join(rows.values())} in {source}"
        count = next(iter(sizes.values()))
        outputs = tuple(replace(value, shape=(count, *value.shape)) for value in level.outputs)
        if level.single:
            return _Reference([], f"torch.stack([{each}])", outputs, True)
        return _Reference([], f"tuple(torch.stack(parts) for parts in zip(*[{each}]))", outputs, False)

    # what it is differentiated by, and what a level gets

    def _by(self, kind: str) -> list[Leaf]:
        """The leaves that a transform of ``kind`` differentiates by."""
        floating = [leaf for leaf in self.leaves if leaf.value.floating]
        if self.call.argnums is not None:
            chosen = [leaf for leaf in floating if leaf.position in self.call.argnums]
        elif kind in ("jvp", "vjp"):
            chosen = floating
        else:
            chosen = [leaf for leaf in floating if leaf.position == floating[0].position]
        if not chosen:
            raise UsageError(
                f"{self.call.name}: there is no floating-point tensor to differentiate by",
                "look at --inputs" + (" and --argnums" if self.call.argnums is not None else ""),
            )
        return chosen

    def _check_outputs(self, level: _Level, kind: str) -> None:
        for value in level.outputs:
            if not value.floating:
                raise UsageError(
                    f"{self.call.name}: {kind} needs real floating-point results, and there is {value.describe()}",
                    "give a function with one",
                )
        if kind == "grad" and not (level.single and level.outputs[0].shape == ()):
            what = level.outputs[0].describe() if level.single else f"a tuple of {len(level.outputs)} tensors"
            raise UsageError(
                f"{self.call.name}: grad needs one number to differentiate, and this gives {what}",
                "try --transform " + written(tuple("jacrev" if n == "grad" else n for n in self.call.transforms)),
            )

    def _dim(self, leaf: Leaf, depth: int) -> int | None:
        """The dimension that the vmap at ``depth`` vmaps maps of a leaf."""
        return mapped_dim(self.call, leaf.position, self._shape(leaf, depth))

    def _shape(self, leaf: Leaf, depth: int) -> tuple[int, ...]:
        """The leaf's shape inside ``depth`` vmaps."""
        shape = leaf.value.shape
        for _ in range(depth):
            dim = mapped_dim(self.call, leaf.position, shape)
            if dim is not None:
                dim %= len(shape)
                shape = shape[:dim] + shape[dim + 1 :]
        return shape

    def _sample(self, leaf: Leaf, depth: int) -> str:
        """The leaf as a call inside ``depth`` vmaps gets it first."""
        text = leaf.name
        for k in range(depth):
            dim = self._dim(leaf, k)
            if dim is not None:
                text += "[0]" if dim == 0 else f".select({dim}, 0)"
        return text


def mapped_dim(call: FunctionCall, position: int, shape: tuple[int, ...]) -> int | None:
    """The dimension of an input of ``shape`` that a vmap maps: as the user says, else the first if there is one.

    Raises:
        UsageError: it has no such dimension.
    """
    dim = 0 if call.in_dims is None else call.in_dims[position]
    if dim is None or (call.in_dims is None and not shape):
        return None
    if not -len(shape) <= dim < len(shape):
        raise UsageError(
            f"{call.name}: input {position} has the shape {shape} there, and no dimension {dim} to map",
            "give other --in-dims or larger --inputs",
        )
    return dim


def _tuple(parts: Iterable[str]) -> str:
    items = list(parts)
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _called(function: str, arguments: list[str]) -> str:
    simple = not isinstance(ast.parse(function, mode="eval").body, ast.Lambda)
    return f"{function if simple else f'({function})'}({', '.join(arguments)})"
