"""Mode OBSERVE: runs the instrumented program and collects the facts that ``core.facts`` documents.

Decision: the first value of an expression is described in full and later ones are compared with it only
until they differ or have been equal often enough, so a loop costs counting and little more. First values and lines
are also written to a file as they come, so that a crash leaves facts behind.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import os
import sys
import time
import types
import weakref
from typing import Any, Dict, Iterator, List, Optional, Tuple

from shrinkrepro.target.describe import Describer, Description
from shrinkrepro.target.instrument import LINE, VALUE, Instrumented

JOURNAL = "facts"  # the file, in the child's folder
COMPARED = 32  # evaluations of one expression that are compared with its first
FOLLOWED = 8  # evaluations whose values are told where they differ
DESCRIBE_SECONDS = 5.0  # spent on descriptions in one run; after that values are only counted


class _Fact:
    __slots__ = ("count", "identity", "later", "open", "order", "same", "value")

    def __init__(self, value: Optional[Description], identity: Optional[int], order: int) -> None:
        self.count = 1
        self.same = True
        self.value = value
        self.later: List[Tuple[int, Optional[Description]]] = []  # when the next evaluations were, and their values
        self.identity = identity
        self.order = order
        self.open = value is not None  # later values are still compared


def observer_of(source: str, path: str) -> Optional[Observer]:
    """An observer for ``source``; None for a text that cannot be instrumented (it is then run as it is)."""
    try:
        observer = Observer(source, path)
        observer.compile()
    except (SyntaxError, ValueError, RecursionError):
        return None
    return observer


def open_journal(folder: str) -> int:
    """A new file in ``folder`` for what a crash would lose."""
    return os.open(os.path.join(folder, JOURNAL), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)


def read_journal(folder: str) -> Optional[Dict[str, Any]]:
    """The facts that a program left in ``folder`` when it died, in ``core.facts``' wire form, or None."""
    wire: Dict[str, Dict[str, Any]] = {"lines": {}, "exprs": {}}
    try:
        with open(os.path.join(folder, JOURNAL), encoding="utf-8") as file:
            for text in file:
                if text.endswith("\n"):
                    key, entry = json.loads(text)
                    wire["exprs" if ":" in key else "lines"][key] = entry
    except (OSError, ValueError):
        return None
    return wire


class Observer:
    """Observes one run of ``source``, which is in the file ``path``."""

    def __init__(self, source: str, path: str) -> None:
        self.path = path
        self.program = Instrumented(source)
        self.describe = Describer(path, self.program.class_lines)
        self.facts: Dict[int, _Fact] = {}
        self.lines: Dict[int, int] = {}
        self.spent = 0.0
        self.clock = 0  # evaluations described
        self.journal = -1  # descriptor of the file for first values and lines
        self._identities: Dict[int, Tuple[Any, int]] = {}
        self._identity_count = 0
        self._busy = False

    def compile(self) -> types.CodeType:
        """The instrumented program's code."""
        return compile(self.program.tree, self.path, "exec", dont_inherit=True)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Make the recorders known to the program while it runs."""
        value, line = _recorders(self)
        setattr(builtins, VALUE, value)
        setattr(builtins, LINE, line)
        _watch_tracing(self.path, self.lines)
        try:
            yield
        finally:
            # The program's functions may still be called (by a hook, at exit), but no longer observed.
            setattr(builtins, VALUE, lambda number, value: value)
            setattr(builtins, LINE, lambda number: None)

    def first(self, number: int, value: Any) -> None:
        """Record the first evaluation of an expression."""
        if self._busy:  # describing called back into the program
            return
        order = self.clock = self.clock + 1
        self.facts[number] = fact = _Fact(None, None, order)
        if self.spent > DESCRIBE_SECONDS:
            return
        fact.value = self._description(value)
        fact.identity = self._identity(value)
        fact.open = fact.value is not None
        if fact.value is not None:
            self.note(self._entry(number, fact), self.program.keys[number])

    def note(self, entry: Any, key: str) -> None:
        """Write a first value, or a first line, to the journal."""
        if self.journal >= 0:
            try:
                os.write(self.journal, json.dumps([key, entry]).encode() + b"\n")
            except OSError:  # the program closed what it had not opened
                self.journal = -1

    def again(self, fact: _Fact, value: Any) -> None:
        """Describe a later evaluation, and compare it with the first."""
        if self._busy:
            return
        if fact.count > (COMPARED if fact.same else FOLLOWED) or self.spent > DESCRIBE_SECONDS:
            fact.open = False
        else:
            self.clock += 1
            new = self._description(value)
            fact.same = fact.same and new == fact.value
            if fact.count <= FOLLOWED:
                fact.later.append((self.clock, fact.value if new == fact.value else new))

    def wire(self) -> Dict[str, Any]:
        """What was seen, in ``core.facts``' wire form."""
        exprs: Dict[str, Any] = {}
        for number, fact in self.facts.items():
            if fact.value is None:
                continue
            exprs[self.program.keys[number]] = self._entry(number, fact)
        return {"lines": {str(line): count for line, count in self.lines.items()}, "exprs": exprs}

    def _entry(self, number: int, fact: _Fact) -> Dict[str, Any]:
        entry: Dict[str, Any] = {"n": fact.count, "same": fact.same, "v": fact.value, "t": fact.order}
        if fact.identity is not None:
            entry["o"] = fact.identity
        if not fact.same and all(value is not None for _, value in fact.later):
            entry["w"] = fact.later
        called = self.facts.get(self.program.callee.get(number, -1))
        if called is not None and called.value is not None and called.value.get("line") is not None:
            entry["callee"] = called.value["line"]
        return entry

    def _description(self, value: Any) -> Optional[Description]:
        self._busy = True
        start = time.perf_counter()
        try:
            return self.describe(value)
        except Exception:  # an odd object; nothing is known of it
            return None
        finally:
            self.spent += time.perf_counter() - start
            self._busy = False

    def _identity(self, value: Any) -> Optional[int]:
        """A number for the object itself, which a later object at the same address does not share."""
        if type(value) in _WITHOUT_IDENTITY:
            return None
        known = self._identities.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        try:
            reference = weakref.ref(value)
        except TypeError:
            return None
        self._identity_count += 1
        self._identities[id(value)] = (reference, self._identity_count)
        return self._identity_count


_WITHOUT_IDENTITY = (type(None), bool, int, float, complex, str, bytes, tuple, list, dict, slice, types.FunctionType)


def _watch_tracing(path: str, lines: Dict[int, int]) -> None:
    """Count the program's lines that Dynamo traces: they run, though never as Python.

    ``scan``, ``while_loop`` and ``cond`` trace what they are given even without ``torch.compile``.
    """
    module = sys.modules.get("torch._dynamo.symbolic_convert")
    if module is None:
        try:
            module = importlib.import_module("torch._dynamo.symbolic_convert")
        except Exception:
            return
    translator = getattr(module, "InstructionTranslatorBase", None)
    original = getattr(translator, "starts_line", None)
    if translator is None or original is None:
        return

    def starts_line(self: Any, lineno: int, *args: Any, **kwargs: Any) -> Any:
        if self.f_code.co_filename == path and self.lineno != lineno:
            lines[lineno] = lines.get(lineno, 0) + 1
        return original(self, lineno, *args, **kwargs)

    translator.starts_line = starts_line


def _recorders(observer: Observer) -> List[Any]:
    """The two functions that the program calls; under a compiler's tracing they do nothing."""
    import torch

    facts, lines = observer.facts, observer.lines
    first, again = observer.first, observer.again
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)

    def value(number: int, value: Any) -> Any:
        if compiling():
            return value
        fact = facts.get(number)
        if fact is None:
            first(number, value)
        else:
            fact.count += 1
            if fact.open:
                again(fact, value)
        return value

    def line(number: int) -> None:
        if compiling():
            return
        count = lines.get(number, 0)
        lines[number] = count + 1
        if not count:
            observer.note(1, str(number))

    return [value, line]
