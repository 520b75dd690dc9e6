"""What a function takes and gives, as a run of it told: tensors by shape and dtype, containers by their items.

Decision: only what decides how a call and its reference are written is kept; everything that is no tensor and holds
none is one thing, a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TensorValue:
    """A tensor. ``dtype`` is without the ``torch.``"""

    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def floating(self) -> bool:
        """Whether it is real and can be differentiated."""
        return "float" in self.dtype

    @property
    def complex(self) -> bool:
        """Whether it is complex."""
        return "complex" in self.dtype

    @property
    def size(self) -> int:
        """How many numbers it has."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    def describe(self) -> str:
        """In words, for messages."""
        return f"{'an' if self.dtype[0] in 'iu' else 'a'} {self.dtype} tensor of shape {self.shape}"


@dataclass(frozen=True)
class ItemsValue:
    """A tuple, list or dict; each item with its index or key."""

    kind: str
    items: tuple[tuple[int | str, Value], ...]

    def describe(self) -> str:
        """In words, for messages."""
        return f"a {self.kind} of {len(self.items)}"


@dataclass(frozen=True)
class OtherValue:
    """Anything else."""

    type: str

    def describe(self) -> str:
        """In words, for messages."""
        return f"a {self.type}" if self.type != "NoneType" else "None"


Value = TensorValue | ItemsValue | OtherValue


def value_of(wire: dict[str, Any]) -> Value:
    """The value that a probe described."""
    if "shape" in wire:
        return TensorValue(tuple(wire["shape"]), wire["dtype"])
    if "items" in wire:
        return ItemsValue(wire["kind"], tuple((key, value_of(item)) for key, item in wire["items"]))
    return OtherValue(wire["type"])


def leaves_of(value: Value, path: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], TensorValue]]:
    """The tensors in ``value``, each with the keys that lead to it."""
    if isinstance(value, TensorValue):
        yield path, value
    elif isinstance(value, ItemsValue):
        for key, item in value.items:
            yield from leaves_of(item, (*path, key))
