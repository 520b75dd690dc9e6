"""The engine: strategies and a judge -> a stream of accepted steps.

Decision: the engine alone compares, combines and adopts programs. It is a generator; the last step that it yielded
is the best program so far, so that an interrupt, a spent budget or a crash loses nothing. It learns about the world
through ``Judge`` only. Whatever is adopted is strictly simpler in ``core.order``, which is why it terminates.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from shrinkrepro.core import order
from shrinkrepro.core.apply import Inapplicable, apply
from shrinkrepro.core.edits import Edit
from shrinkrepro.core.facts import Facts
from shrinkrepro.core.program import Program, count_tokens
from shrinkrepro.core.search import Group, search
from shrinkrepro.core.strategy import Strategy, Tier

EDITS_PER_PASS = 5000  # proposals; a strategy that yields more is cut, and goes on in the next round
BRANCHES_PER_PASS = 6  # side branches followed; each costs up to BRANCH_QUERIES
BRANCH_QUERIES = 80


class Judge(Protocol):
    """What the engine needs of the world."""

    def judge(self, sources: Sequence[str], strategy: str, alone: bool) -> Sequence[bool]:
        """Which of ``sources`` look interesting, in order. ``alone``: in a process of its own each.

        Raises whatever ends the run (a spent budget, an interrupt); the engine lets it pass.
        """

    def confirm(self, source: str, strategy: str) -> bool:
        """Whether ``source`` is interesting: alone, and with its control."""

    def observe(self, program: Program) -> Facts:
        """Facts of ``program``, or none."""

    def compare(self, program: Program) -> Facts:
        """Facts of ``program`` beside those of a run without the bug, as far as there are any."""


@dataclass(frozen=True)
class Step:
    """An accepted reduction."""

    strategy: str
    program: Program


@dataclass(frozen=True)
class Fault:
    """A strategy that raised, and the program that it raised on."""

    strategy: str
    error: str
    source: str


class Engine:
    """One reduction. ``faults`` names the strategies that raised and were switched off."""

    def __init__(self, strategies: Sequence[Strategy], judge: Judge) -> None:
        self._strategies = tuple(strategies)
        self._judge = judge
        self._facts: tuple[Program, Facts] | None = None
        self._tried: set[tuple[object, ...]] = set()
        self._fruitless: set[tuple[str, str, bool]] = set()
        self._off: set[str] = set()
        self.faults: list[Fault] = []
        self.minimal = False

    def run(self, program: Program) -> Iterator[Step]:
        """Reduce ``program``, which must be interesting, until no edit of any strategy is."""
        best = program
        while True:
            for step in self._rounds(best):
                best = step.program
                yield step
            swept = best
            for step in self._sweep(best):
                best = step.program
                yield step
            if best is swept:
                break
        self.minimal = True

    def _rounds(self, best: Program) -> Iterator[Step]:
        """Tier by tier; back to the first after a success of a later one; edits that failed before are skipped."""
        tier = Tier.COARSE
        while True:
            progress = False
            for strategy in self._strategies:
                if strategy.tier is not tier or strategy.name in self._off:
                    continue
                for step in self._repeat(strategy, best):
                    best = step.program
                    progress = True
                    yield step
            if progress:
                tier = Tier.COARSE
            elif tier is Tier.POLISH:
                return
            else:
                tier = Tier(tier + 1)

    def _repeat(self, strategy: Strategy, best: Program) -> Iterator[Step]:
        while (strategy.name, best.source, False) not in self._fruitless:
            before = best
            for step in self._pass(strategy, best, fresh_only=True, alone=False):
                best = step.program
                yield step
            if best is before:
                self._fruitless.add((strategy.name, best.source, False))
                return

    def _sweep(self, best: Program) -> Iterator[Step]:
        """Every edit of every strategy once more, one process each: the claim that the result is 1-minimal."""
        for strategy in self._strategies:
            if strategy.name in self._off or (strategy.name, best.source, True) in self._fruitless:
                continue
            before = best
            for step in self._pass(strategy, best, fresh_only=False, alone=True):
                best = step.program
                yield step
            if best is before:
                self._fruitless.add((strategy.name, best.source, True))

    def _observed(self, program: Program) -> Facts:
        if self._facts is None or self._facts[0] != program:
            self._facts = (program, self._judge.observe(program))
        return self._facts[1]

    def _proposals(self, strategy: Strategy, program: Program) -> list[Edit]:
        facts = self._observed(program)
        if strategy.against_reference and facts.known and not facts.compared:
            facts = self._judge.compare(program)
            self._facts = (program, facts)
        try:
            edits = list(itertools.islice(strategy.propose(program, facts), EDITS_PER_PASS))
            for edit in edits:
                if not isinstance(edit, Edit):
                    raise TypeError(f"it proposed a {type(edit).__name__}, which is no Edit")
        except Exception as error:  # a bug in a strategy, ours or another's: named, switched off, the run goes on
            self._off.add(strategy.name)
            self.faults.append(Fault(strategy.name, f"{type(error).__name__}: {error}", program.source))
            return []
        return list(dict.fromkeys(edits))

    def _pass(self, strategy: Strategy, best: Program, fresh_only: bool, alone: bool) -> Iterator[Step]:
        edits = self._proposals(strategy, best)
        if fresh_only:
            edits = [e for e in edits if self._key(strategy, best, e) not in self._tried]
        if not edits:
            return
        if strategy.grows:
            yield from self._branches(strategy, best, edits, alone)
            return
        gains = [_gain(best, edit) for edit in edits]
        singles = sorted(range(len(edits)), key=lambda i: -gains[i])
        current = [best]

        def probe(groups: Sequence[Group]) -> Sequence[bool]:
            return self._probe(strategy, best, current[0], edits, gains, groups, alone)

        def confirm(group: Group) -> bool:
            try:
                text = apply(best, [edits[i] for i in group])
            except Inapplicable:
                return False
            return self._judge.confirm(text, strategy.name)

        for accepted, _ in search(len(edits), probe, confirm, chunked=strategy.independent, singles=singles):
            try:
                new = Program.parse(apply(best, [edits[i] for i in accepted]))
            except (Inapplicable, SyntaxError):
                continue
            if order.key(new) < order.key(current[0]):
                current[0] = new
                yield Step(strategy.name, new)
        self._tried.update(self._key(strategy, best, edit) for edit in edits)

    def _probe(
        self,
        strategy: Strategy,
        base: Program,
        current: Program,
        edits: Sequence[Edit],
        gains: Sequence[int],
        groups: Sequence[Group],
        alone: bool,
    ) -> Sequence[bool]:
        texts: list[str] = []
        at: list[int] = []
        verdicts = [False] * len(groups)
        for k, group in enumerate(groups):
            try:
                text = apply(base, [edits[i] for i in group])
            except Inapplicable:
                continue
            if text == current.source or (gains[group[-1]] < 3 and not _simpler(text, current)):
                continue
            texts.append(text)
            at.append(k)
        for k, hit in zip(at, self._judge.judge(texts, strategy.name, alone) if texts else ()):
            verdicts[k] = hit
        return verdicts

    def _branches(self, strategy: Strategy, best: Program, edits: Sequence[Edit], alone: bool) -> Iterator[Step]:
        """Follow growing edits: adopt the first whose branch ends simpler than ``best``."""
        texts: list[str] = []
        for edit in edits[: 4 * BRANCHES_PER_PASS]:
            try:
                texts.append(apply(best, [edit]))
            except Inapplicable:
                texts.append("")
        wanted = [t for t in dict.fromkeys(texts) if t and t != best.source]
        hits = [t for t, hit in zip(wanted, self._judge.judge(wanted, strategy.name, alone)) if hit]
        self._tried.update(self._key(strategy, best, edit) for edit in edits[: 4 * BRANCHES_PER_PASS])
        for text in hits[:BRANCHES_PER_PASS]:
            if not self._judge.confirm(text, strategy.name):
                continue
            end = self._descend(Program.parse(text), best)
            if end is not None:
                yield Step(strategy.name, end)
                return

    def _descend(self, program: Program, goal: Program) -> Program | None:
        """The first program below ``goal`` that the non-growing strategies reach from ``program``."""
        counter = _Limited(self._judge, BRANCH_QUERIES)
        inner = Engine([s for s in self._strategies if not s.grows and s.name not in self._off], counter)
        best = program
        target = order.key(goal)
        try:
            if order.key(best) < target:
                return best
            for step in inner._rounds(best):
                best = step.program
                if order.key(best) < target:
                    return best
        except _BranchSpent:
            pass
        finally:
            self._off |= inner._off
            self.faults += inner.faults
        return None

    def _key(self, strategy: Strategy, program: Program, edit: Edit) -> tuple[object, ...]:
        """What an edit does, without where: an edit that failed is not tried again before the final sweep."""
        parts: list[object] = [strategy.name]
        for change in edit.changes:
            try:
                parts.append((_local_text(program, change.path), change.text))
            except KeyError:
                parts.append((change.path, change.text))
        return tuple(parts)


class _BranchSpent(Exception):
    """A side branch has used its queries."""


class _Limited:
    """A judge with a bounded number of queries."""

    def __init__(self, judge: Judge, limit: int) -> None:
        self._judge, self._left = judge, limit

    def judge(self, sources: Sequence[str], strategy: str, alone: bool) -> Sequence[bool]:
        if self._left <= 0:
            raise _BranchSpent
        self._left -= len(sources)
        return self._judge.judge(sources, strategy, alone)

    def confirm(self, source: str, strategy: str) -> bool:
        self._left -= 2
        return self._judge.confirm(source, strategy)

    def observe(self, program: Program) -> Facts:
        if self._left <= 0:
            raise _BranchSpent
        self._left -= 1
        return self._judge.observe(program)

    def compare(self, program: Program) -> Facts:
        self._left -= 1
        return self._judge.compare(program)


def _gain(program: Program, edit: Edit) -> int:
    """Tokens that an edit takes away, estimated from spans."""
    gain = -4 * len(edit.imports)
    for change in edit.changes:
        try:
            gain += program.size(change.path)
        except KeyError:
            gain += 1  # an identifier field
        if change.text is not None:
            try:
                gain -= count_tokens(change.text)
            except Exception:  # the tokenizer's errors differ between versions; the filter refuses the text anyway
                gain -= len(change.text) // 4
    return gain


def _simpler(text: str, than: Program) -> bool:
    try:
        return order.key(Program.parse(text)) < order.key(than)
    except SyntaxError:
        return False


def _local_text(program: Program, path: tuple[str | int, ...]) -> str:
    """The changed node's own text within its statement: what makes two proposals the same."""
    node = program.node(path)
    text = program.written(node) if isinstance(node, ast.stmt) else program.text(node)
    if len(text) > 60 or len(path) < 3:
        return text
    _, statement = program.statement_of(path)
    return f"{text} in {program.written(statement)[:200]}"
