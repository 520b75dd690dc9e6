"""Signatures as a case's table holds them, and back.

Decision: the tables follow the fields of ``Signature``, and a field at its default is left out; so a field that joins
the class needs no change here, and old cases stay readable.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from shrinkrepro.corpus.case import Case, CaseError
from shrinkrepro.oracles.faces import Faces
from shrinkrepro.oracles.mismatch import Difference
from shrinkrepro.oracles.oracle import Oracle
from shrinkrepro.oracles.signature import Signature


def table_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, in TOML's types."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        entry = getattr(value, field.name)
        if entry is not None and (field.default is dataclasses.MISSING or entry != field.default):
            found[field.name] = _plain(entry)
    return found


def signature_from(table: Mapping[str, Any]) -> Signature:
    """The inverse of ``table_of``.

    Raises:
        ValueError: a field is unknown or of another type.
    """
    built = _build(Signature, table)
    assert isinstance(built, Signature)
    return built


def oracle_of(case: Case) -> Oracle | Faces:
    """What judges the runs of ``case``.

    Raises:
        CaseError: its table is of no signature.
    """
    try:
        difference = _build(Difference, case.difference) if case.difference else None
        tables = (case.signature, *case.faces)
        oracles = [Oracle(signature_from(table), case.match, difference=difference) for table in tables]
    except ValueError as error:
        raise CaseError(
            f"{case.path}: signature: {error}", "write the case anew with shrinkrepro add --force"
        ) from None
    return oracles[0] if len(oracles) == 1 else Faces(tuple(oracles))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return table_of(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return value


def _build(kind: Any, value: Any) -> Any:
    """``value`` as a ``kind``: a dataclass, a tuple, an optional one of these, or a plain type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        [inner] = [argument for argument in arguments if argument is not type(None)]
        return _build(inner, value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, Mapping):
            raise ValueError(f"{value!r} is no table")
        hints = typing.get_type_hints(kind)
        unknown = sorted(set(value) - set(hints))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not known to this version")
        try:
            return kind(**{name: _build(hints[name], entry) for name, entry in value.items()})
        except TypeError as error:
            raise ValueError(str(error)) from None
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{value!r} is no list")
        kinds = [arguments[0]] * len(value) if arguments[1:] == (Ellipsis,) else arguments
        return tuple(_build(one, entry) for one, entry in zip(kinds, value))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(kind, type) and not isinstance(value, kind):
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value
